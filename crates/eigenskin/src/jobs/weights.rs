//! Weights: skin weights from examples, with joints known.

use std::path::Path;
use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_fit::solve_weights::{SolveWeightsError, SolveWeightsParams, SolvedWeights, solve_weights};
use eigenskin_gltf::RigFile;
use eigenskin_io::{ReadError, WriteError};
use serde::{Serialize, Serializer};

use crate::example_source::{ExampleSource, ExampleSourceError, Examples};
use crate::frame_slice::FrameSlice;
use crate::rig_source::RigSource;

/// Where a rig and its examples are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightsInputs {
    /// the rig
    pub rig: RigSource,
    /// the examples
    pub examples: ExampleSource,
    /// which of them; default all
    pub frames: Option<FrameSlice>,
}

/// A rig with examples.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::example_source::ExampleSource;
/// use eigenskin::jobs::weights::{Weights, WeightsInputs};
/// use eigenskin::rig_source::RigSource;
/// use eigenskin::solve_weights::SolveWeightsParams;
///
/// let examples = ExampleSource::Set("poses.glb".into());
/// let inputs = WeightsInputs { rig: RigSource::new("hand.glb"), examples, frames: None };
/// Weights::open(&inputs, SolveWeightsParams::default())?.run(&Unwatched)?.write("better.glb")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Weights {
    /// the rig's file, which the weights are written into
    pub rig: RigFile,
    /// the examples
    pub examples: Arc<ExampleSet>,
    /// what was mended or left out while reading the examples, one sentence each
    pub notes: Vec<String>,
    /// how weights are solved
    pub settings: SolveWeightsParams,
}

/// New weights in the rig's file. Serialises as what the command prints for machines.
#[derive(Debug, Clone)]
pub struct WeightsOutcome {
    /// the weights, and what they are good for
    pub solved: SolvedWeights,
    /// the rig's file with them
    pub rig: RigFile,
}

/// Why there are no weights.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The rig cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The examples cannot be used.
    #[error(transparent)]
    Source(#[from] ExampleSourceError),
    /// They could not be solved.
    #[error(transparent)]
    Solve(SolveWeightsError),
    /// The rig cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<SolveWeightsError> for WeightsError {
    fn from(error: SolveWeightsError) -> Self {
        match error {
            SolveWeightsError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Solve(error),
        }
    }
}

impl Weights {
    /// Reads both.
    pub fn open(inputs: &WeightsInputs, settings: SolveWeightsParams) -> Result<Self, WeightsError> {
        let options = inputs.rig.read_options();
        let rig = eigenskin_io::read_rig(&inputs.rig.path, &options)?;
        let opened = inputs.examples.read(&rig, &options)?;
        let opened = opened.settle(&inputs.examples, rig.rig(), inputs.frames)?;
        let Examples::InMemory(examples) = opened.examples else {
            let path = inputs.examples.path().into();
            return Err(ExampleSourceError::NotStreamable { path }.into());
        };
        Ok(Self { rig, examples, notes: opened.notes, settings })
    }

    /// Solves.
    pub fn run(&self, progress: &dyn Progress) -> Result<WeightsOutcome, WeightsError> {
        let solved = solve_weights(&self.examples, &self.settings, progress)?;
        let rig = self.rig.clone().with_weights(solved.rig.clone()).map_err(WriteError::from)?;
        Ok(WeightsOutcome { solved, rig })
    }
}

impl WeightsOutcome {
    /// Writes the rig with its new weights as GLB.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), WeightsError> {
        Ok(eigenskin_io::write_rig(path, &self.rig)?)
    }
}

impl Serialize for WeightsOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.solved.serialize(serializer)
    }
}
