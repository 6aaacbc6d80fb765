//! Why a fit failed.

use std::path::PathBuf;

use eigenskin_core::examples::ExamplesError;
use eigenskin_core::progress::Cancelled;
use eigenskin_core::rig::RigError;
use eigenskin_fit::displacements::ObservationsError;
use eigenskin_fit::method::{BudgetError, FitError, SizeLimit};
use eigenskin_fit::solve_weights::SolveWeightsError;
use eigenskin_gltf::{self as gltf, GltfError};
use eigenskin_io::{ReadError, WriteError};

use crate::base::BaseError;
use crate::example_source::ExampleSourceError;
use crate::large_set::{LargeSetError, ScratchError};
use crate::rig_source::RigSourceError;

/// Why a fit failed.
#[derive(Debug, thiserror::Error)]
pub enum FitJobError {
    /// The rig cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The rig cannot be used.
    #[error(transparent)]
    Rig(#[from] RigSourceError),
    /// The examples cannot be used.
    #[error(transparent)]
    Source(#[from] ExampleSourceError),
    /// Nothing can drive a correction.
    #[error(
        "{} has neither joints nor controls, so nothing can drive a correction; bind the mesh to a skeleton, or add a node named control:NAME whose translation.x is the control's value",
        path.display()
    )]
    NothingDrives {
        /// the rig's file
        path: PathBuf,
    },
    /// Something about the base.
    #[error(transparent)]
    Base(BaseError),
    /// Examples do not agree what they were pulled back through.
    #[error(
        "example {first:?} was pulled back through {first_base:?}, example {second:?} through {second_base:?}; choose the base of the model"
    )]
    SeveralBases {
        /// an example
        first: String,
        /// its base
        first_base: String,
        /// another
        second: String,
        /// its base
        second_base: String,
    },
    /// Many models through another program.
    #[error(
        "leaving out examples and limits on size or error try many models, which takes too long through another program"
    )]
    ManyModelsThroughProgram,
    /// Weights for another base.
    #[error(
        "skin weights are solved for linear blending, but the model's base is {base:?}; leave one of them out"
    )]
    WeightsOfOtherBase {
        /// name of the base
        base: String,
    },
    /// Shapes that stay on disk are not enough.
    #[error("{what} needs all shapes in memory; choose some of the poses")]
    NeedsMemory {
        /// what needs it
        what: ManyModels,
    },
    /// Pose space deformation of shapes on disk.
    #[error(
        "pose space deformation keeps one component per pose, which would be as large as the shapes on disk; limit the number of morph targets to merge them, or choose some of the poses"
    )]
    PsdNeedsLimit,
    /// Deformers and shapes on disk.
    #[error(
        "shapes that stay on disk are pulled back through a skinning, not through the deformers {name:?}; choose the base linear, dual-quaternion or rigid"
    )]
    DeformersOnDisk {
        /// name of the stack
        name: String,
    },
    /// Shapes on disk without a folder; a job that was put together by hand.
    #[error("shapes that stay on disk need a folder for scratch files")]
    NoScratch,
    /// The rig alone is beyond a limit.
    #[error("without any correction the file has {found} {} already; allow more than {}", limit.unit(), limit.amount())]
    LimitBelowRig {
        /// the limit
        limit: SizeLimit,
        /// what the rig has
        found: usize,
    },
    /// Nothing was learnt.
    #[error(transparent)]
    Learn(FitError),
    /// Weights could not be solved.
    #[error(transparent)]
    Weights(SolveWeightsError),
    /// The examples were refused.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// The model belongs to another rig; a bug.
    #[error(transparent)]
    OtherRig(#[from] RigError),
    /// Something about shapes on disk.
    #[error(transparent)]
    OnDisk(LargeSetError),
    /// No place for scratch files.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The rig's document is damaged.
    #[error(transparent)]
    Gltf(#[from] GltfError),
    /// The model cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<gltf::WriteError> for FitJobError {
    fn from(error: gltf::WriteError) -> Self {
        Self::Write(error.into())
    }
}

impl From<FitError> for FitJobError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Learn(error),
        }
    }
}

impl From<ObservationsError> for FitJobError {
    fn from(error: ObservationsError) -> Self {
        FitError::from(error).into()
    }
}

impl From<BudgetError<gltf::WriteError>> for FitJobError {
    fn from(error: BudgetError<gltf::WriteError>) -> Self {
        match error {
            BudgetError::Fit(error) => error.into(),
            BudgetError::TooSmall { limit, found } => Self::LimitBelowRig { limit, found },
            BudgetError::Write(error) => error.into(),
        }
    }
}

impl From<SolveWeightsError> for FitJobError {
    fn from(error: SolveWeightsError) -> Self {
        match error {
            SolveWeightsError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Weights(error),
        }
    }
}

impl From<LargeSetError> for FitJobError {
    fn from(error: LargeSetError) -> Self {
        match error {
            LargeSetError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::OnDisk(error),
        }
    }
}

impl From<BaseError> for FitJobError {
    fn from(error: BaseError) -> Self {
        match error {
            BaseError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Base(error),
        }
    }
}

/// What tries many models, or looks at all shapes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManyModels {
    /// leaving out one example at a time
    LeaveOneOut,
    /// limits on size or error
    Limits,
    /// solving skin weights
    Weights,
}

impl std::fmt::Display for ManyModels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::LeaveOneOut => "leaving out one example at a time",
            Self::Limits => "a limit on size or error",
            Self::Weights => "solving skin weights",
        })
    }
}
