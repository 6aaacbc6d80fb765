//! Every vertex follows its heaviest joint.

use glam::DAffine3;

use crate::weights::Influence;

/// The map of a vertex, given where each joint carries the rest shape (`joint`).
pub fn transform(influences: &[Influence], joints: &[DAffine3]) -> DAffine3 {
    influences.first().map_or(DAffine3::IDENTITY, |heaviest| joints[heaviest.joint as usize])
}
