//! What moves in the examples, and how drivers of several things see it.

use eigenskin_core::driver::{FeatureGroup, FeatureScale, Representation};
use eigenskin_core::mover::Mover;
use eigenskin_core::rig::Rig;

use crate::displacements::Observations;

/// Smaller motions (radians, share of the size, control values) are noise of `f32` transforms.
const MOVED: f64 = 1e-4;

/// Something that moves in some example, and how drivers see it.
pub(super) struct MovingThing {
    pub mover: Mover,
    pub groups: Vec<FeatureGroup>,
}

/// All that moves, described by rotation vectors, translations in bone lengths (the angle under
/// which the reference joint sees them) and controls in their range.
pub(super) fn moving_things(seen: &Observations) -> Vec<MovingThing> {
    let movers = Mover::all(&seen.rig).into_iter();
    let things = movers.map(|mover| MovingThing { mover, groups: groups_of(seen, mover) });
    things.filter(|thing| !thing.groups.is_empty()).collect()
}

fn groups_of(seen: &Observations, mover: Mover) -> Vec<FeatureGroup> {
    let (rig, poses) = (&seen.rig, || seen.poses.iter());
    match mover {
        Mover::Control(control) => {
            let rest = rig.controls()[control].default;
            let range = poses().map(|pose| (pose.controls[control] - rest).abs()).fold(0.0, f64::max);
            let group = || FeatureGroup::control(control, rest).scaled(FeatureScale::One(1.0 / range));
            (range > MOVED).then(group).into_iter().collect()
        }
        Mover::Joint(joint) => {
            let motions: Vec<_> = poses().map(|pose| pose.motion_of(rig.skeleton(), joint)).collect();
            let size = rig.mesh().size();
            let turns = motions.iter().any(|motion| motion.shortest_turn().length() > MOVED);
            let shifts = motions.iter().any(|motion| motion.translation.length() > MOVED * size);
            let group = |representation| FeatureGroup::joint(rig.skeleton(), joint, representation);
            let rotation = turns.then(|| group(Representation::RotationVector)).flatten();
            let translation = shifts.then(|| group(Representation::Translation)).flatten();
            let scale = FeatureScale::One(1.0 / bone_length(rig, joint));
            rotation.into_iter().chain(translation.map(|group| group.scaled(scale))).collect()
        }
    }
}

/// Distance of a joint from its reference joint at rest; a quarter of the size where they coincide.
fn bone_length(rig: &Rig, joint: usize) -> f64 {
    let skeleton = rig.skeleton();
    let reference = skeleton.joints()[joint].reference.unwrap_or(joint);
    let length = skeleton.rest_position(joint).distance(skeleton.rest_position(reference));
    if length > 0.02 * rig.mesh().size() { length } else { 0.25 * rig.mesh().size() }
}
