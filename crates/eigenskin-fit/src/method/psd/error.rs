//! What can go wrong in pose space deformation.

use crate::displacements::{PullBackError, StoreError};
use crate::drivers::RbfError;
use eigenskin_core::examples::ExamplesError;
use eigenskin_core::model::ModelError;

/// Why a pose space deformation could not be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PsdError {
    /// Something about the examples: their size, one pose with two shapes, another shape at rest.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// Nothing to learn from.
    #[error(
        "no example that is not muted moves a joint other than the root, or a control; pose the character in the examples"
    )]
    NothingMoves,
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
    /// A later space cannot tell an earlier example from its own.
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
    /// The features of a space do not tell two of its examples apart.
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
    /// An interpolation that has lost its digits.
    #[error("pose space {space:?}, {first:?} and {second:?}: {error}")]
    TooClose {
        /// the space
        space: String,
        /// one of the closest pair
        first: String,
        /// the other
        second: String,
        /// what is wrong
        error: RbfError,
    },
    /// A parameter of the interpolation that makes no sense.
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
    /// Widths per centre, which only the fit itself could number.
    #[error("widths per centre cannot be given to pose space deformation; name examples and their radii")]
    WidthPerCentre,
    /// An example that was not inverted through the deformers.
    #[error(transparent)]
    PullBack(#[from] PullBackError),
    /// Forward deltas on a chain of deformers.
    #[error("forward deltas cannot sit on a chain of deformers; use inverse deltas")]
    ForwardOnDeformers,
    /// Forward deltas of examples that are not in memory.
    #[error("forward deltas are taken of examples in memory; use inverse deltas")]
    ForwardOnObservations,
    /// Displacements that cannot be read again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The layers do not fit the rig.
    #[error(transparent)]
    Model(#[from] ModelError),
}
