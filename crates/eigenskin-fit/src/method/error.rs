//! What can go wrong while learning.

use std::fmt;

use eigenskin_core::examples::ExamplesError;
use eigenskin_core::model::ModelError;
use eigenskin_core::progress::Cancelled;

use crate::displacements::{ObservationsError, PullBackError, StoreError, TileError};
use crate::drivers::RbfError;

/// Why nothing was learnt.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Something about the examples: their size, one pose with two shapes, another shape at rest.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// An example that was not inverted through the deformers.
    #[error(transparent)]
    PullBack(PullBackError),
    /// No example moves anything.
    #[error("no example moves a joint other than the root, or a control; pose the character in the examples")]
    NothingMoves,
    /// Coordinates, signals or weights cannot be interpolated exactly.
    #[error(
        "{of}: the poses of {first:?} and {second:?} are too close for exact interpolation (condition {condition:.1e}); leave one out, or allow some smoothing such as 0.001"
    )]
    TooClose {
        /// whose
        of: Interpolated,
        /// one of the closest pair; "rest" is the rest shape
        first: String,
        /// the other
        second: String,
        /// condition of the interpolation
        condition: f64,
    },
    /// A width or smoothing of the interpolation that makes no sense.
    #[error(transparent)]
    Interpolation(RbfError),
    /// Another parameter that makes no sense.
    #[error("{what} must be {bound}, not {value}")]
    Parameter {
        /// which one
        what: &'static str,
        /// what it must be
        bound: &'static str,
        /// what it is
        value: f64,
    },
    /// A name that the rig does not have.
    #[error(
        "{asked_by} names {name:?}, but the rig has no such control and no such joint besides the first root; known are {known}"
    )]
    UnknownMover {
        /// which parameter
        asked_by: &'static str,
        /// the name at fault
        name: String,
        /// what the rig has
        known: String,
    },
    /// A name that no example has.
    #[error("there is no example {name:?}; known are {known}")]
    UnknownExample {
        /// the name at fault
        name: String,
        /// what there is
        known: String,
    },
    /// A radius that is no length.
    #[error("the radius of example {example:?} must be a finite number above zero, not {radius}")]
    Radius {
        /// the example at fault
        example: String,
        /// its radius
        radius: f64,
    },
    /// A description that does not suit what it describes.
    #[error("the feature of {name:?} {problem}")]
    Feature {
        /// the joint or control
        name: String,
        /// what is wrong, and what would be right
        problem: &'static str,
    },
    /// A later pose space cannot tell an earlier example from its own.
    #[error(
        "pose space {space:?} comes after example {earlier:?} and would change it: to this space it has the same pose as example {later:?}; put {space:?} earlier in the order, or take the default order"
    )]
    LayerConflict {
        /// the space that cannot tell them apart
        space: String,
        /// the example of an earlier space
        earlier: String,
        /// the example of this space
        later: String,
    },
    /// The features of a pose space do not tell two of its examples apart.
    #[error(
        "examples {first:?} and {second:?} have the same pose in space {space:?} as its features see it; describe its joints by other features, or leave one out"
    )]
    Indistinct {
        /// the space
        space: String,
        /// one of the two; "rest" is the rest shape
        first: String,
        /// the other
        second: String,
    },
    /// Widths per centre, which only the fit itself could number.
    #[error("widths per centre cannot be given to pose space deformation; name examples and their radii")]
    WidthPerCentre,
    /// Forward deltas on a chain of deformers.
    #[error("forward deltas cannot be added to a chain of deformers; use inverse deltas")]
    ForwardOnDeformers,
    /// Forward deltas of examples that are not in memory.
    #[error("forward deltas are taken of examples in memory; use inverse deltas")]
    ForwardOnDisk,
    /// Displacements that cannot be read again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The layers do not fit the rig.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What is interpolated over poses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpolated {
    /// coordinates of a joint or control, or of several
    Joint(String),
    /// weights of a pose space
    PoseSpace(String),
    /// signals of a part of the skin
    Part(String),
}

impl fmt::Display for Interpolated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joint(name) => write!(f, "joint {name:?}"),
            Self::PoseSpace(name) => write!(f, "pose space {name:?}"),
            Self::Part(name) => write!(f, "part {name:?}"),
        }
    }
}

impl FitError {
    /// What interpolation says of `of`, with the samples' names.
    pub(crate) fn interpolating(of: Interpolated, error: RbfError, name: impl Fn(usize) -> String) -> Self {
        match error {
            RbfError::Singular { first, second, condition } => {
                Self::TooClose { of, first: name(first), second: name(second), condition }
            }
            RbfError::BadParameter { .. } => Self::Interpolation(error),
            RbfError::Cancelled(cancelled) => Self::Cancelled(cancelled),
        }
    }

    pub(super) fn check_clamp_margin(margin: Option<f64>) -> Result<(), Self> {
        match margin.filter(|margin| !(margin.is_finite() && *margin >= 0.0)) {
            Some(value) => {
                let (what, bound) = ("the clamp margin", "a finite number that is not negative");
                Err(Self::Parameter { what, bound, value })
            }
            None => Ok(()),
        }
    }
}

impl From<ObservationsError> for FitError {
    fn from(error: ObservationsError) -> Self {
        match error {
            // Sets are not empty, so all their examples were at rest.
            ObservationsError::Examples(ExamplesError::Empty) => Self::NothingMoves,
            ObservationsError::Examples(error) => Self::Examples(error),
            ObservationsError::PullBack(error) => Self::PullBack(error),
            ObservationsError::Cancelled(cancelled) => Self::Cancelled(cancelled),
        }
    }
}

impl From<TileError> for FitError {
    fn from(error: TileError) -> Self {
        match error {
            TileError::Store(error) => Self::Store(error),
            TileError::Cancelled(cancelled) => Self::Cancelled(cancelled),
        }
    }
}
