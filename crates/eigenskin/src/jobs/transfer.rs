//! Transfer: a model → another mesh of the same character, such as a level of detail.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::examples::{ExampleSet, ExamplesError};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_fit::method::Budget;
use eigenskin_fit::metrics::{Evaluation, evaluate_against};
use eigenskin_fit::transfer::{
    TransferError, TransferParams, TransferredModel, transfer_examples, transfer_model,
};
use eigenskin_gltf::{ModelWarning, ModelWriteOptions, ModelWriteReport, RigFile, model_glb};
use eigenskin_io::{ReadError, WriteError};
use serde::{Deserialize, Serialize, Serializer};

use crate::base::{BaseError, OpenBase};
use crate::frame_slice::{FrameSlice, FrameSliceError};
use crate::rig_source::{OpenedRig, RigSource, RigSourceError, read_options};

/// Where a model and the rig that gets it are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferInputs {
    /// a model's file
    pub model: PathBuf,
    /// the rig that gets it
    pub target: RigSource,
    /// true shapes of the target, or of the model's own mesh, to measure the result with
    pub truth: Option<PathBuf>,
    /// which of them; default all
    pub frames: Option<FrameSlice>,
}

/// How to transfer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransferSettings {
    /// most components that may move one vertex: those that move the target most are kept; default no
    /// limit
    pub per_vertex: Option<usize>,
    /// most components in all; each becomes one or two morph targets; default no limit
    pub max_components: Option<usize>,
    /// whether the target keeps its own skin weights; default no: corrections belong to the weights they
    /// were learnt with
    pub keep_weights: bool,
    /// how much the area-weighted average around a coarse vertex counts against the nearest point, 0 to
    /// 1: for noisy models; default 0
    pub averaging: f64,
    /// how the model's file is written
    pub file: ModelWriteOptions,
}

/// A model and the rig that gets it.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::transfer::{Transfer, TransferInputs, TransferSettings};
/// use eigenskin::rig_source::RigSource;
///
/// let target = RigSource::new("hand-lod1.glb");
/// let inputs = TransferInputs { model: "model.glb".into(), target, truth: None, frames: None };
/// let settings = TransferSettings { per_vertex: Some(5), ..TransferSettings::default() };
/// Transfer::open(&inputs, settings)?.run(&Unwatched)?.write("model-lod1.glb")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Transfer {
    /// the model
    pub model: Arc<Model>,
    /// the rig that gets it, in the file that it is written into
    pub target: OpenedRig,
    /// true shapes of the target, or of the model's own mesh
    pub truth: Option<Arc<ExampleSet>>,
    /// how to transfer
    pub settings: TransferSettings,
}

/// A model on its new mesh. Serialises as what the command prints for machines.
#[derive(Debug, Clone)]
pub struct TransferOutcome {
    /// the model, and where the target lies on the model's mesh
    pub transferred: TransferredModel,
    /// the model as GLB
    pub glb: Vec<u8>,
    /// what is in it
    pub written: ModelWriteReport,
    /// errors on the true shapes
    pub evaluation: Option<Evaluation>,
}

/// What deserves attention.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferWarning {
    /// near some vertices the model's surface faces another way
    FacesAway {
        /// how many
        vertices: usize,
    },
    /// what the writer of models says
    Model(ModelWarning),
}

/// Why a model cannot be transferred.
#[derive(Debug, thiserror::Error)]
pub enum TransferJobError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The target cannot be used.
    #[error(transparent)]
    Rig(#[from] RigSourceError),
    /// A share that is none.
    #[error("averaging is a share from 0 to 1, not {share}")]
    Averaging {
        /// what was given
        share: f64,
    },
    /// The target is no mesh of the character.
    #[error(transparent)]
    Transfer(TransferError),
    /// The poses chosen do not exist.
    #[error(transparent)]
    Frames(#[from] FrameSliceError),
    /// The true shapes are of another character.
    #[error("the true shapes: {0}")]
    Truth(ExamplesError),
    /// The true shapes of the model's own mesh do not fit the target.
    #[error("the true shapes: {0}")]
    TruthOfModel(TransferError),
    /// The errors can only be measured with another program.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<TransferError> for TransferJobError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Transfer(error),
        }
    }
}

impl Transfer {
    /// Reads all files.
    pub fn open(inputs: &TransferInputs, settings: TransferSettings) -> Result<Self, TransferJobError> {
        let (_, model) = eigenskin_io::read_model(&inputs.model)?;
        let target = eigenskin_io::read_rig(&inputs.target.path, &inputs.target.read_options())?;
        let target = inputs.target.settle(target, Some(model.rig()))?;
        let truth = match &inputs.truth {
            Some(path) => {
                let set = eigenskin_io::read_examples(path, &read_options(None))?.1;
                Some(Arc::new(match inputs.frames {
                    Some(frames) => frames.select(&set)?,
                    None => set,
                }))
            }
            None => None,
        };
        Ok(Self { model: Arc::new(model), target, truth, settings })
    }

    /// Transfers, and measures where there are true shapes.
    pub fn run(&self, progress: &dyn Progress) -> Result<TransferOutcome, TransferJobError> {
        let settings = &self.settings;
        if !(0.0..=1.0).contains(&settings.averaging) {
            return Err(TransferJobError::Averaging { share: settings.averaging });
        }
        let file = &self.target.file;
        let params = TransferParams {
            budget: Budget {
                per_vertex: settings.per_vertex,
                per_joint: None,
                total: settings.max_components,
            },
            weights: !settings.keep_weights,
            averaging: settings.averaging,
            ..TransferParams::default()
        };
        let transferred = transfer_model(&self.model, file.rig(), &params, &sampled(file), progress)?;
        let evaluation = match &self.truth {
            Some(truth) => Some(self.measured(&transferred, truth, progress)?),
            None => None,
        };
        progress.doing("writing")?;
        let (glb, written) = model_glb(file, &transferred.model, &settings.file).map_err(WriteError::from)?;
        Ok(TransferOutcome { transferred, glb, written, evaluation })
    }

    fn measured(
        &self,
        transferred: &TransferredModel,
        truth: &ExampleSet,
        progress: &dyn Progress,
    ) -> Result<Evaluation, TransferJobError> {
        let model = Arc::new(transferred.model.clone());
        // Refuses models whose shapes only another program knows.
        OpenBase::of(model.base(), model.rig(), "the model")?;
        let (target, own) = (model.input_rig(), self.model.input_rig());
        let count = truth.rig().vertex_count();
        let truth = truth.clone();
        let on_target = if count != target.vertex_count() && count == own.vertex_count() {
            let truth = truth.for_rig(own).map_err(TransferJobError::Truth)?;
            transfer_examples(&truth, transferred, target, progress).map_err(|error| match error {
                TransferError::Cancelled(cancelled) => TransferJobError::Cancelled(cancelled),
                error => TransferJobError::TruthOfModel(error),
            })?
        } else {
            truth.for_rig(target).map_err(TransferJobError::Truth)?
        };
        Ok(evaluate_against(&model, &on_target, progress)?)
    }
}

impl TransferOutcome {
    /// Largest distance of a vertex from the model's surface.
    pub fn largest_gap(&self) -> f64 {
        self.transferred.correspondence.gaps().iter().copied().fold(0.0, f64::max)
    }

    /// What deserves attention.
    pub fn warnings(&self) -> Vec<TransferWarning> {
        let vertices = self.transferred.correspondence.against;
        let faces_away = (vertices > 0).then_some(TransferWarning::FacesAway { vertices });
        let of_model = self.written.warnings.iter().cloned().map(TransferWarning::Model);
        faces_away.into_iter().chain(of_model).collect()
    }

    /// Writes the model as GLB.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), TransferJobError> {
        Ok(eigenskin_io::write_glb(path, &self.glb)?)
    }
}

impl fmt::Display for TransferWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FacesAway { vertices } => {
                let noun = if *vertices == 1 { "vertex" } else { "vertices" };
                write!(
                    f,
                    "near {vertices} {noun} the model's surface faces another way; they take the nearest point"
                )
            }
            Self::Model(warning) => warning.fmt(f),
        }
    }
}

impl Serialize for TransferOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TransferredModel { model, correspondence, source_components } = &self.transferred;
        Figures {
            components: model.component_count(),
            source_components: *source_components,
            most_per_vertex: model.most_components_per_vertex(),
            targets: self.written.targets,
            bytes: self.written.bytes,
            vertices: correspondence.gaps().len(),
            largest_gap: self.largest_gap(),
            against: correspondence.against,
            evaluation: self.evaluation.as_ref(),
        }
        .serialize(serializer)
    }
}

/// A transferred model for machines.
#[derive(Serialize)]
struct Figures<'a> {
    components: usize,
    source_components: usize,
    most_per_vertex: usize,
    targets: usize,
    bytes: usize,
    vertices: usize,
    largest_gap: f64,
    against: usize,
    evaluation: Option<&'a Evaluation>,
}

/// Where clips are looked at, as shares of their duration.
const SAMPLED: [f64; 9] = [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0];

/// Poses of the target's clips: they say which components matter, and how large weights become.
fn sampled(file: &RigFile) -> Vec<Pose> {
    let of_clip = |clip| SAMPLED.map(|share| file.sample(clip, share * clip.duration()));
    file.clips().iter().flat_map(of_clip).collect()
}
