//! Tests of what all characters share: poses, names, motion.

use super::*;
use crate::test_support::{is_closed_and_outward, small_hand};
use glam::DQuat;

#[test]
fn angles_turn_joints_in_the_listed_order() {
    let arm = arm(600).unwrap();
    let (bend, swing) = (-0.6, 0.4);
    let pose = arm.pose(&[bend, swing]);
    let motion = pose.motion_of(arm.rig.skeleton(), 1);
    let expected = DQuat::from_rotation_x(bend) * DQuat::from_rotation_y(swing);
    assert!(motion.rotation.dot(expected).abs() > 1.0 - 1e-12);
    assert!(
        motion.rotation.dot(DQuat::from_rotation_y(swing) * DQuat::from_rotation_x(bend)).abs() < 1.0 - 1e-4
    );
    // The elbow follows, and its own motion stays zero.
    assert!(pose.motion_of(arm.rig.skeleton(), 2).rotation.w > 1.0 - 1e-12);
    assert_eq!(arm.pose(&[]), arm.rig.rest_pose());
}

#[test]
fn the_elbow_bends_forward_and_the_forearm_twists_about_itself() {
    let arm = arm(600).unwrap();
    let hand = arm.rig.skeleton().joint_named("hand").unwrap();
    let rest = arm.rig.skeleton().rest_position(hand);
    let bent = arm.pose(&[0.0, 0.0, -90f64.to_radians()]).world_from_joint[hand].translation;
    assert!((bent - DVec3::new(0.40, 0.0, 0.26)).length() < 1e-6, "{bent}");
    let twisted = arm.pose(&[0.0, 0.0, 0.0, 1.0]).world_from_joint[hand];
    assert!((twisted.translation - rest).length() < 1e-6);
}

#[test]
fn sweeps_cover_the_range_without_rest() {
    let hand = small_hand();
    let poses = hand.single_joint_poses(6);
    assert_eq!(poses.len(), 120);
    let names: Vec<&str> = poses.iter().map(|p| p.name.as_str()).collect();
    for name in [
        "index-finger-phalanx-proximal:x-45",
        "index-finger-phalanx-proximal:x-90",
        "index-finger-phalanx-proximal:y+3.333",
        "index-finger-phalanx-proximal:y-10",
    ] {
        assert!(names.contains(&name), "{name} is missing");
    }
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    let rest = hand.rig.rest_pose();
    assert!(poses.iter().all(|p| p.pose != rest));
}

#[test]
fn random_poses_stay_in_range_and_follow_the_seed() {
    let hand = small_hand();
    let poses = hand.multi_joint_poses(5, 11);
    let named = poses.len() - 5;
    assert!(["fist", "point", "pinch", "spread"].iter().all(|n| poses[..named].iter().any(|p| p.name == *n)));
    assert_eq!(poses, hand.multi_joint_poses(5, 11));
    assert_ne!(poses[named..], hand.multi_joint_poses(5, 12)[named..]);
    let skeleton = hand.rig.skeleton();
    for NamedPose { name, pose } in &poses {
        for degree in hand.degrees_of_freedom.iter().filter(|d| d.axis == DVec3::X) {
            let others = hand.degrees_of_freedom.iter().filter(|d| d.joint == degree.joint).count();
            if others > 1 {
                continue;
            }
            let turned = pose.motion_of(skeleton, degree.joint).rotation;
            // One rotation has two quaternions of opposite sign.
            let angle = 2.0 * (turned.x * turned.w.signum()).atan2(turned.w.abs());
            assert!(angle > degree.lowest - 1e-6 && angle < degree.highest + 1e-6, "{name}");
        }
    }
}

#[test]
fn named_poses_and_motion_stay_within_the_joints_ranges() {
    let hand = small_hand();
    let keys =
        hand.motion_keys.iter().map(|key| &key.1).chain(hand.named_angles.iter().map(|named| &named.1));
    for angles in keys {
        assert_eq!(angles.len(), hand.degrees_of_freedom.len());
        for (angle, degree) in angles.iter().zip(&hand.degrees_of_freedom) {
            assert!(*angle >= degree.lowest - 1e-9 && *angle <= degree.highest + 1e-9);
        }
    }
}

#[test]
fn the_demo_motion_is_smooth_and_returns_to_rest() {
    let hand = small_hand();
    let (times, poses) = hand.demo_motion();
    assert_eq!(times.len(), poses.len());
    assert!(times.windows(2).all(|t| (t[1] - t[0] - 1.0 / 30.0).abs() < 1e-9));
    assert!((4.0..=6.0).contains(times.last().unwrap()));
    let rest = hand.rig.rest_pose();
    let same = |a: &Pose, b: &Pose| {
        a.world_from_joint.iter().zip(&b.world_from_joint).all(|(a, b)| a.abs_diff_eq(*b, 1e-9))
    };
    assert!(same(&poses[0], &rest) && same(poses.last().unwrap(), &rest));
    for pair in poses.windows(2) {
        for joint in 0..hand.rig.skeleton().joint_count() {
            let [a, b] = [&pair[0], &pair[1]].map(|p| p.motion_of(hand.rig.skeleton(), joint).rotation);
            assert!(a.angle_between(b) < 0.3, "joint {joint} jumps");
        }
    }
}

#[test]
fn arms_of_any_even_count_are_closed() {
    for triangles in [300, 2002, 8000] {
        let arm = arm(triangles).unwrap();
        assert_eq!(arm.rig.mesh().triangles().len(), triangles);
        assert!(is_closed_and_outward(arm.rig.mesh()));
    }
    assert_eq!(arm(301).unwrap_err(), CharacterError::TriangleCount { triangles: 301, fewest: 300 });
}
