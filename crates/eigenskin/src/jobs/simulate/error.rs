//! Why there is no simulation.

use std::path::PathBuf;

use eigenskin_core::examples::ExamplesError;
use eigenskin_core::mesh::MeshError;
use eigenskin_core::progress::Cancelled;
use eigenskin_io::{ReadError, WriteError};
use eigenskin_report::picture::PictureError;
use eigenskin_sim::ranges::RangeError;
use eigenskin_sim::simulation::SimulationError;

use super::parts::PartsError;
use super::ranges::JointRangesError;
use crate::example_source::ExampleSourceError;
use crate::rig_source::RigSourceError;

/// Why a rig cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// The rig cannot be read.
    #[error(transparent)]
    Rig(#[from] RigSourceError),
    /// A set to go on with cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is nothing to go on with.
    #[error("{} has no examples to go on with; give an example set that was simulated", path.display())]
    NoExamples {
        /// the file
        path: PathBuf,
    },
    /// A set that cannot be gone on with.
    #[error("{} cannot get more poses: {problem}; simulate its rig again", path.display())]
    UnknownSettings {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
    /// The same settings give other tissue.
    #[error("the examples were simulated in other tissue ({before}, now {now}); simulate all of them again")]
    OtherTissue {
        /// what the set says
        before: String,
        /// what there is
        now: String,
    },
    /// The poses to simulate cannot be read, or are of another character.
    #[error(transparent)]
    Poses(#[from] ExampleSourceError),
    /// Ranges that make no sense, whatever the rig.
    #[error(transparent)]
    JointRanges(#[from] JointRangesError),
    /// Ranges that do not fit the rig.
    #[error(transparent)]
    Ranges(#[from] RangeError),
    /// A setting out of its range.
    #[error("{name} {value} is not possible; give {needed}")]
    BadSetting {
        /// name of the setting
        name: &'static str,
        /// as given
        value: f64,
        /// what it may be
        needed: &'static str,
    },
    /// A part to leave out that is not there.
    #[error("{name:?} is no mesh, node or material of the rig; there are: {}", known.join(", "))]
    UnknownPart {
        /// the name given
        name: String,
        /// the names there are
        known: Vec<String>,
    },
    /// Skin, bones or equations.
    #[error(transparent)]
    Simulation(SimulationError),
    /// A job beyond the last one.
    #[error("there is no job {job}: there are {count} jobs, counted from 0")]
    NoSuchJob {
        /// the number given
        job: usize,
        /// how many there are
        count: usize,
    },
    /// Kept jobs cannot be read or written.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// All poses were dropped.
    #[error("none of {count} poses is good enough to use; the first, {first:?}: {reason}")]
    NothingKept {
        /// poses there were
        count: usize,
        /// name of the first
        first: String,
        /// why it was dropped
        reason: String,
    },
    /// There were no poses for this.
    #[error("there are no poses to learn from; ask for some poses per degree of freedom")]
    NoPoses,
    /// The examples were refused.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// Threads could not be started.
    #[error("threads could not be started: {problem}")]
    Threads {
        /// what the system says
        problem: String,
    },
    /// The lattice makes no mesh to draw.
    #[error("the plan cannot be drawn: {0}")]
    Drawing(#[from] MeshError),
    /// The picture of the plan could not be painted.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<SimulationError> for SimulateError {
    fn from(error: SimulationError) -> Self {
        match error {
            SimulationError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Simulation(error),
        }
    }
}
