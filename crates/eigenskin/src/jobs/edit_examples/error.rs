//! Why examples cannot be edited.

use std::path::PathBuf;

use eigenskin_core::examples::ExamplesError;
use eigenskin_core::progress::Cancelled;
use eigenskin_fit::mirror::MirrorError;
use eigenskin_gltf::EditError;
use eigenskin_io::vertex_cache::SculptError;
use eigenskin_io::{ReadError, WriteError};

use crate::base::BaseError;
use crate::pose_source::PoseSourceError;
use crate::rig_source::RigSourceError;

/// Why examples cannot be edited so. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum EditExamplesError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The rig that a set begins from cannot be used.
    #[error(transparent)]
    Rig(#[from] RigSourceError),
    /// A rig where a set is needed.
    #[error("{} is a plain rig without examples; add one first", path.display())]
    PlainRig {
        /// the file
        path: PathBuf,
    },
    /// A model where a set is needed.
    #[error("{} is a model; give the example set it was fitted to", path.display())]
    IsModel {
        /// the file
        path: PathBuf,
    },
    /// Only adding can begin a set.
    #[error("there are no examples yet; add one first")]
    NoExamples,
    /// A set that begins has no file yet.
    #[error("{} is a plain rig; name a file for the example set that begins here", path.display())]
    BeginsNowhere {
        /// the rig
        path: PathBuf,
    },
    /// Only GLB is written.
    #[error("{} cannot be edited in place; name a .glb file for the result", path.display())]
    NotInPlace {
        /// the set
        path: PathBuf,
    },
    /// Nothing to call the example by.
    #[error("give the example of {} a name", path.display())]
    NoName {
        /// the sculpt
        path: PathBuf,
    },
    /// A sculpt alone does not say how the joints stand.
    #[error("the pose of the sculpt is missing; give a moment of a clip, or a file of poses")]
    NoPose,
    /// There is no such pose.
    #[error(transparent)]
    Pose(#[from] PoseSourceError),
    /// The file is no sculpt of the rig.
    #[error(transparent)]
    Sculpt(#[from] SculptError),
    /// Something about what it was made after.
    #[error(transparent)]
    Base(BaseError),
    /// The set does not allow it.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The example was refused.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// The rig has no two sides.
    #[error(transparent)]
    Mirror(MirrorError),
    /// One example has no other side.
    #[error("example {example:?}: {error}")]
    MirrorExample {
        /// the example
        example: String,
        /// what is wrong
        error: MirrorError,
    },
    /// Both sides would change places.
    #[error(
        "to replace examples of the other side, name the examples to mirror, else both sides would change places"
    )]
    ReplaceNeedsNames,
    /// The other side is there, and differs.
    #[error(
        "the other side of {example:?} is there already: {other:?}, with another {differs}; rename it, or replace it to make it anew"
    )]
    OtherSideDiffers {
        /// the example
        example: String,
        /// the one on the other side
        other: String,
        /// "pose" or "shape"
        differs: &'static str,
    },
    /// The other side is there under another name, and differs.
    #[error("the other side of {example:?} is there already: {error}")]
    OtherSideTaken {
        /// the example
        example: String,
        /// what is wrong
        error: EditError,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<MirrorError> for EditExamplesError {
    fn from(error: MirrorError) -> Self {
        match error {
            MirrorError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Mirror(other),
        }
    }
}

impl From<BaseError> for EditExamplesError {
    fn from(error: BaseError) -> Self {
        match error {
            BaseError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Base(other),
        }
    }
}
