//! Poses in which parts of a character press against each other.

use eigenskin_core::contact::Capsules;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

/// Capsules around bones that overlap by less than this share of the size are not in contact.
const LEAST_DEPTH: f64 = 0.005;

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
