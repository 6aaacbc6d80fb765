//! Why a style cannot be captured or transferred.

use eigenskin_core::examples::ExamplesError;
use eigenskin_core::progress::Cancelled;

use crate::method::FitError;

/// Why a style cannot be captured or transferred.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StyleError {
    /// X1 and X2 must be one mesh.
    #[error("the two deformations that show the style are not of one character: {0}")]
    DifferentMeshes(ExamplesError),
    /// A joint without counterpart.
    #[error(
        "joint {joint:?} of the target has no counterpart in the character that shows the style; rename it, or say which joint it is with a joint map"
    )]
    NoCounterpart {
        /// the joint of Y
        joint: String,
    },
    /// Joints hang on each other differently.
    #[error(
        "joint {joint:?} hangs on {target_parent:?} in the target, but its counterpart {source_joint:?} hangs on {source_parent:?}; both characters need the same hierarchy of joints"
    )]
    Hierarchy {
        /// the joint of Y
        joint: String,
        /// what it hangs on in Y
        target_parent: String,
        /// its counterpart in X
        source_joint: String,
        /// what that hangs on
        source_parent: String,
    },
    /// A joint map with a name that does not exist.
    #[error("the joint map names joint {joint:?}, which the {side} does not have")]
    UnknownJoint {
        /// the name
        joint: String,
        /// "target" or "character that shows the style"
        side: &'static str,
    },
    /// Two joints of Y with one counterpart.
    #[error(
        "joints {first:?} and {second:?} of the target both have the counterpart {joint:?}; map one only"
    )]
    SharedCounterpart {
        /// one joint of Y
        first: String,
        /// the other
        second: String,
        /// the joint of X
        joint: String,
    },
    /// One pose has no signals.
    #[error(
        "the target has {found} of the at least {needed} different poses away from rest that a style needs; give more poses"
    )]
    TooFewPoses {
        /// poses away from rest
        found: usize,
        /// poses needed
        needed: usize,
    },
    /// Poses that would have to be made up from nothing.
    #[error(
        "{missing} of the target's poses are not among those of {set}, and its {found} poses are too few to interpolate between; give both characters the same poses, or {set} at least {needed}"
    )]
    TooFewToInterpolate {
        /// "the first deformation" or "the second deformation"
        set: &'static str,
        /// poses of the target that it lacks
        missing: usize,
        /// poses there
        found: usize,
        /// poses needed
        needed: usize,
    },
    /// X1 or X2 could not be parameterized.
    #[error("{set} has no shape in pose {pose:?} and could not be interpolated: {error}")]
    Resampling {
        /// "the first deformation" or "the second deformation"
        set: &'static str,
        /// a pose of Y that it lacks
        pose: String,
        /// what is wrong
        error: Box<FitError>,
    },
    /// X1 does not deform.
    #[error(
        "the first deformation moves no vertex away from {space} in any of the target's poses, so it has no signals that could carry a style; take displacements in another space"
    )]
    NoSignals {
        /// what displacements are measured from
        space: &'static str,
    },
    /// The map was captured for other poses.
    #[error(
        "the style was captured for {expected} poses, the target has {found}; capture it for this target"
    )]
    OtherPoses {
        /// poses of the map
        expected: usize,
        /// poses of the target
        found: usize,
    },
    /// The map was captured for another skeleton.
    #[error(
        "the style was captured for {expected} joints, the target has {found}; capture it for this target"
    )]
    OtherJoints {
        /// joints of the map
        expected: usize,
        /// joints of the target
        found: usize,
    },
    /// A parameter that makes no sense.
    #[error("{what} must be {bound}, not {value}")]
    BadParameter {
        /// which one
        what: &'static str,
        /// what it must be
        bound: &'static str,
        /// what it is
        value: f64,
    },
    /// The result is no example set.
    #[error("the transferred shapes cannot be used: {0}")]
    Result(ExamplesError),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
