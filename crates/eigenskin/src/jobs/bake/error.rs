//! Why a motion cannot be baked, and what deserves attention when it can.

use std::fmt;
use std::path::PathBuf;

use eigenskin_core::progress::Cancelled;
use eigenskin_gltf::{GltfError, ModelWarning, MotionError};
use eigenskin_io::{BvhError, ReadError, WriteError};

use crate::base::BaseError;
use crate::rig_source::RigSourceError;

/// Why a motion cannot be baked.
#[derive(Debug, thiserror::Error)]
pub enum BakeError {
    /// The model cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A rig cannot be used.
    #[error(transparent)]
    Rig(#[from] RigSourceError),
    /// The motion capture cannot be read.
    #[error("{}: {error}", path.display())]
    Capture {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: BvhError,
    },
    /// There is no motion.
    #[error("{} has no clips; give another rig with a clip, or motion capture", path.display())]
    NoClips {
        /// the file
        path: PathBuf,
    },
    /// A clip that is not there.
    #[error("{} has no clip {clip:?}; its clips are {}", path.display(), quoted(known))]
    UnknownClip {
        /// the file
        path: PathBuf,
        /// the name given
        clip: String,
        /// what there is
        known: Vec<String>,
    },
    /// No clip was chosen.
    #[error("{} has several clips: {}; choose one of them", path.display(), quoted(known))]
    SeveralClips {
        /// the file
        path: PathBuf,
        /// what there is
        known: Vec<String>,
    },
    /// Retargeting was asked for where there is nothing to retarget.
    #[error(
        "a joint map and alignment only work with the motion of another rig or with motion capture; the model's own clips fit as they are"
    )]
    OwnClipFits,
    /// What a plain rig may leave open was chosen for a model.
    #[error(
        "{} is a model, whose skin and reference joints are settled; choose them for plain rigs only",
        path.display()
    )]
    ModelIsSettled {
        /// the model's file
        path: PathBuf,
    },
    /// The clip cannot be sampled.
    #[error(transparent)]
    Motion(#[from] MotionError),
    /// The motion of another does not fit.
    #[error("{}: {error}", path.display())]
    Retarget {
        /// the motion's file
        path: PathBuf,
        /// what is wrong
        error: MotionError,
    },
    /// The shapes need another program.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The rig's file is damaged.
    #[error(transparent)]
    Gltf(#[from] GltfError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What deserves attention.
#[derive(Debug, Clone, PartialEq)]
pub enum BakeWarning {
    /// a clip of jumps has straight lines between its new keys
    StepsRamp {
        /// the clip
        clip: String,
    },
    /// the file's own morph targets are left out of posed shapes
    OwnTargets,
    /// a point cache of keys that are not equally far apart
    UnevenKeys,
    /// a point cache whose last frame comes early
    ShortLastStep {
        /// after how long
        seconds: f64,
    },
    /// the folder has frames that were not written now
    OlderFrames {
        /// the folder
        folder: PathBuf,
    },
    /// what the writer of models says
    Model(ModelWarning),
}

impl fmt::Display for BakeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepsRamp { clip } => {
                write!(f, "clip {clip:?} jumps from key to key; at another rate it ramps")
            }
            Self::OwnTargets => write!(f, "the file's own morph targets are not part of the posed shapes"),
            Self::UnevenKeys => write!(
                f,
                "the keys are not equally far apart, but a point cache knows no times; choose a rate"
            ),
            Self::ShortLastStep { seconds } => write!(
                f,
                "the last frame comes after {seconds:.4} s, earlier than the others, but a point cache knows no times"
            ),
            Self::OlderFrames { folder } => {
                write!(f, "{} also has frames of an earlier, longer motion", folder.display())
            }
            Self::Model(warning) => warning.fmt(f),
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
