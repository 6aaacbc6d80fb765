//! Says what is in a file, what is wrong with it, which engines will hit a limit, and, where asked, in
//! which poses it can be sculpted.

mod findings;
mod remarks;
mod skins;

use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gltf::{FileKind, RigFile};
use eigenskin_io::{ReadError, WriteError};

use crate::base::{BaseChoice, BaseError};
use crate::jobs::invert::{InvertError, Invertibility};
use crate::pose_source::{PoseSource, PoseSourceError};
use crate::rig_source::{RigSource, RigSourceError};

pub use findings::{ClipFound, ControlFound, InspectOutcome, JointFound, LimitFound, ModelFound};
pub use remarks::Remark;
pub use skins::{InspectSkinsOutcome, SkinFound};

/// A file to look at.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::inspect::{Inspect, InspectInputs};
///
/// let inputs = InspectInputs { file: "hand.glb".into(), ..InspectInputs::default() };
/// for remark in Inspect::open(&inputs)?.run(&Unwatched)?.remarks {
///     println!("{remark}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Inspect {
    /// the rig that every file has
    pub file: RigFile,
    /// its examples, where it is an example set; muted ones are left out
    pub examples: Option<Arc<ExampleSet>>,
    /// its model, where it is one
    pub model: Option<Arc<Model>>,
    /// where poses can be sculpted, where that is asked
    pub invertibility: Option<Invertibility>,
}

/// What to open.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InspectInputs {
    /// a rig, an example set or a model
    pub file: PathBuf,
    /// which skin, when the file has several
    pub skin: Option<String>,
    /// poses of which to say where they can be sculpted
    pub poses: Option<PoseSource>,
    /// what sculpts of these poses will be made after; default: linear blending
    pub base: Option<BaseChoice>,
}

/// Why a file cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The rig cannot be used.
    #[error(transparent)]
    Rig(#[from] RigSourceError),
    /// There are no such poses.
    #[error(transparent)]
    Pose(#[from] PoseSourceError),
    /// Something about the base.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// Poses cannot be probed.
    #[error(transparent)]
    Invert(InvertError),
    /// The picture cannot be painted.
    #[error(transparent)]
    Picture(#[from] eigenskin_report::picture::PictureError),
    /// The picture cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<InvertError> for InspectError {
    fn from(error: InvertError) -> Self {
        match error {
            InvertError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Invert(other),
        }
    }
}

impl Inspect {
    /// Reads the file as what it is. A file with several skins needs a choice, or
    /// [`InspectSkinsOutcome::of`].
    pub fn open(inputs: &InspectInputs) -> Result<Self, InspectError> {
        let source = RigSource { skin: inputs.skin.clone(), ..RigSource::new(&inputs.file) };
        let options = source.read_options();
        let (file, examples, model) = match eigenskin_io::file_kind(&inputs.file)? {
            FileKind::Rig => (eigenskin_io::read_rig(&inputs.file, &options)?, None, None),
            FileKind::Examples => {
                let (file, set) = eigenskin_io::read_examples(&inputs.file, &options)?;
                (file, Some(Arc::new(set)), None)
            }
            FileKind::Model => {
                let (file, model) = eigenskin_io::read_model(&inputs.file)?;
                (file, None, Some(Arc::new(model)))
            }
        };
        let invertibility = match &inputs.poses {
            None => None,
            Some(poses) => {
                // Poses mean what they will mean when a sculpt is added.
                let settled = source.settle(file.clone(), None)?;
                let base = inputs.base.as_ref().map(BaseChoice::read).transpose()?;
                Some(Invertibility {
                    rig: settled.rig().clone(),
                    base: base.unwrap_or_else(|| BaseSkinning::LinearBlend.into()),
                    poses: poses.read_all(&settled.file)?,
                })
            }
        };
        Ok(Self { file, examples, model, invertibility })
    }

    /// Looks at it.
    pub fn run(&self, progress: &dyn Progress) -> Result<InspectOutcome, InspectError> {
        progress.doing("looking at the file")?;
        let invertibility = self.invertibility.as_ref().map(|poses| poses.run(progress)).transpose()?;
        Ok(InspectOutcome { invertibility, ..InspectOutcome::of(self) })
    }
}
