//! Styles carried between hands: from skinning to skinning on a hand of others.

use std::sync::Arc;

use eigenskin_characters::hand;
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, skinned_shape};
use eigenskin_fit::style::match_joints;

use crate::carried::left;
use crate::data;
use crate::rigs::rig_at;

fn skinned(rig: &Arc<Rig>, poses: &[(String, Pose)], base: BaseSkinning) -> ExampleSet {
    let example = |(name, pose): &(String, Pose)| {
        let positions = skinned_shape(base, rig, pose);
        Example { name: name.clone(), pose: pose.clone(), positions, normals: None, inverted: None }
    };
    ExampleSet::new(rig.clone(), poses.iter().map(example).collect()).unwrap()
}

fn named(poses: Vec<NamedPose>) -> Vec<(String, Pose)> {
    poses.into_iter().map(|named| (named.name, named.pose)).collect()
}

#[test]
fn dual_quaternions_are_carried_from_a_hand_of_others() {
    let rig = Arc::new(rig_at(&data().join("webxr-hand/left.glb")));
    let target = hand(4000).unwrap();
    let joints = match_joints(rig.skeleton(), target.rig.skeleton(), None).unwrap();
    let sampled = [
        ("one joint at a time", named(target.single_joint_poses(3))),
        ("30 poses of all joints", named(target.multi_joint_poses(24, 1))),
        ("66 poses of all joints", named(target.multi_joint_poses(60, 1))),
    ];
    for (label, poses) in sampled {
        let carried: Vec<(String, Pose)> =
            poses.iter().map(|(name, pose)| (name.clone(), joints.carry(&rig, &target.rig, pose))).collect();
        let bases = [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion];
        let [x1, x2] = bases.map(|base| skinned(&rig, &carried, base));
        let [y1, truth] = bases.map(|base| skinned(&target.rig, &poses, base));
        let [whole, by_joint] = left(label, [&x1, &x2], &y1, &truth);
        assert!(whole < 0.5 && by_joint < 0.4, "{label}: {whole} {by_joint}");
    }
}
