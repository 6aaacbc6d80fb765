//! Evaluate: errors of plain skinning and of a model against true shapes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_fit::metrics::{Evaluation, evaluate_each};
use eigenskin_io::ReadError;

use crate::base::{BaseChoice, BaseError, OpenBase};
use crate::example_source::{ExampleSource, ExampleSourceError, Examples};
use crate::frame_slice::FrameSlice;
use crate::large_set::{LARGE, LargeSetError, Scratch, ScratchError};
use crate::rig_source::read_options;

/// Where a model and the shapes it should have are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluateInputs {
    /// a model's file
    pub model: PathBuf,
    /// true shapes
    pub truth: ExampleSource,
    /// which of them; default all
    pub frames: Option<FrameSlice>,
    /// the base of a model that needs another program; default as the model says
    pub base: Option<BaseChoice>,
}

/// A model and true shapes of the rig it was made for.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::example_source::ExampleSource;
/// use eigenskin::jobs::evaluate::{Evaluate, EvaluateInputs};
///
/// let truth = ExampleSource::Set("held-out.glb".into());
/// let inputs = EvaluateInputs { model: "model.glb".into(), truth, frames: None, base: None };
/// let errors = Evaluate::open(&inputs)?.run(&Unwatched)?.evaluation;
/// println!("{:?} of plain skinning's error is left", errors.relative_error);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Evaluate {
    /// the model
    pub model: Arc<Model>,
    /// true shapes
    pub truth: Examples,
    /// what was mended or left out while reading, one sentence each
    pub notes: Vec<String>,
    base: Mutex<OpenBase>,
    /// where a compressed bundle was unpacked to
    scratch: Option<Scratch>,
}

/// The errors. Serialises as the errors themselves.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub struct EvaluateOutcome {
    /// the errors
    pub evaluation: Evaluation,
}

/// Why a model cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The model cannot be read.
    #[error(transparent)]
    Model(#[from] ReadError),
    /// The true shapes cannot be read, or are of another character.
    #[error(transparent)]
    Truth(#[from] ExampleSourceError),
    /// The model's base cannot be used.
    #[error(transparent)]
    Base(BaseError),
    /// Shapes on disk cannot be read again.
    #[error(transparent)]
    OnDisk(#[from] LargeSetError),
    /// No place for what is unpacked.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// Too much for memory, where all must be there at once.
    #[error(
        "{what} needs the true shapes in memory, where they take {bytes} bytes; choose some of the poses"
    )]
    NeedsMemory {
        /// what needs it
        what: &'static str,
        /// how much it is
        bytes: u64,
    },
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<BaseError> for EvaluateError {
    fn from(error: BaseError) -> Self {
        match error {
            BaseError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            other => Self::Base(other),
        }
    }
}

impl Evaluate {
    /// A model with true shapes in memory.
    pub fn new(model: Arc<Model>, truth: Arc<ExampleSet>) -> Result<Self, EvaluateError> {
        let base = OpenBase::of(model.base(), model.rig(), THE_MODEL)?;
        Ok(Self {
            model,
            truth: Examples::InMemory(truth),
            notes: Vec::new(),
            base: Mutex::new(base),
            scratch: None,
        })
    }

    /// Reads both. True shapes that take much memory stay on disk.
    pub fn open(inputs: &EvaluateInputs) -> Result<Self, EvaluateError> {
        let (file, model) = eigenskin_io::read_model(&inputs.model)?;
        let model = Arc::new(model);
        let base = OpenBase::of_or_chosen(model.base(), inputs.base.as_ref(), model.rig(), THE_MODEL)?;
        let source = &inputs.truth;
        let scratch = source.is_large().then(|| Scratch::new(&Scratch::temporary_folder())).transpose()?;
        let opened = match &scratch {
            Some(scratch) => source.open_on_disk(&file, scratch.folder())?,
            None => source.read(&file, &read_options(None))?,
        };
        let opened = opened.settle(source, model.input_rig(), inputs.frames)?;
        let truth = match opened.examples {
            // As many as fit in memory are treated as a set.
            Examples::OnDisk(set) if set.bytes() <= LARGE => {
                Examples::InMemory(Arc::new(set.in_memory(&(0..set.poses().len()).collect::<Vec<_>>())?))
            }
            examples => examples,
        };
        Ok(Self { model, truth, notes: opened.notes, base: Mutex::new(base), scratch })
    }

    /// Compares.
    pub fn run(&self, progress: &dyn Progress) -> Result<EvaluateOutcome, EvaluateError> {
        let evaluation = match &self.truth {
            Examples::InMemory(set) => {
                let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
                base.measure(&self.model, set, progress)?
            }
            Examples::OnDisk(set) => {
                if self.model.base().skinning().is_none() {
                    let what = "a model on a stack of deformers";
                    return Err(EvaluateError::NeedsMemory { what, bytes: set.bytes() });
                }
                let shape = |index| Ok::<_, EvaluateError>(set.example(index)?);
                evaluate_each(&self.model, set.poses().len(), shape, progress)?
            }
        };
        Ok(EvaluateOutcome { evaluation })
    }

    /// The true shapes in memory, for a report.
    pub fn truth_in_memory(&self) -> Result<&Arc<ExampleSet>, EvaluateError> {
        match &self.truth {
            Examples::InMemory(set) => Ok(set),
            Examples::OnDisk(set) => {
                Err(EvaluateError::NeedsMemory { what: "the report", bytes: set.bytes() })
            }
        }
    }
}

impl Drop for Evaluate {
    fn drop(&mut self) {
        if let Some(scratch) = self.scratch.take() {
            scratch.remove();
        }
    }
}

/// What errors call the model.
const THE_MODEL: &str = "the model";
