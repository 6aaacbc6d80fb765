//! Poses in which parts of a character press against each other.

use eigenskin_core::contact::{Capsules, LEAST_DEPTH};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

/// Tells poses with contact from the others.
pub(super) struct Contact<'a> {
    rig: &'a Rig,
    capsules: Capsules,
    /// rest shape's unit
    least: f64,
}

impl<'a> Contact<'a> {
    pub fn of(rig: &'a Rig) -> Self {
        Self { rig, capsules: Capsules::of(rig), least: LEAST_DEPTH * rig.mesh().size() }
    }

    /// Whether parts that are not neighbours press into each other, more than they do at rest.
    pub fn is_in(&self, pose: &Pose) -> bool {
        self.capsules.deepest(self.rig.skeleton(), pose) > self.least
    }
}
