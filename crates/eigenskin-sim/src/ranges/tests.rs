//! Ranges must bend bodies the way bodies bend, whatever the axes of the file.

use super::*;
use eigenskin_characters::hand;
use eigenskin_core::articulation::Articulation;
use eigenskin_core::glam::{DAffine3, DQuat, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};

/// A stick figure in T-pose: +Y up, +Z front, then turned as a whole, with unlike joint axes.
fn figure(turned: DQuat) -> Rig {
    let joints: [(&str, Option<usize>, [f64; 3]); 15] = [
        ("mixamorig:Hips", None, [0.0, 1.0, 0.0]),
        ("mixamorig:Spine", Some(0), [0.0, 1.2, 0.0]),
        ("mixamorig:Head", Some(1), [0.0, 1.6, 0.0]),
        ("mixamorig:LeftArm", Some(1), [0.2, 1.5, 0.0]),
        ("mixamorig:LeftForeArm", Some(3), [0.5, 1.5, 0.0]),
        ("mixamorig:LeftHand", Some(4), [0.8, 1.5, 0.0]),
        ("mixamorig:RightArm", Some(1), [-0.2, 1.5, 0.0]),
        ("mixamorig:RightForeArm", Some(6), [-0.5, 1.5, 0.0]),
        ("mixamorig:RightHand", Some(7), [-0.8, 1.5, 0.0]),
        ("mixamorig:LeftUpLeg", Some(0), [0.1, 0.9, 0.0]),
        ("mixamorig:LeftLeg", Some(9), [0.1, 0.5, 0.0]),
        ("mixamorig:LeftFoot", Some(10), [0.1, 0.1, 0.0]),
        ("mixamorig:RightUpLeg", Some(0), [-0.1, 0.9, 0.0]),
        ("mixamorig:RightLeg", Some(12), [-0.1, 0.5, 0.0]),
        ("mixamorig:RightFoot", Some(13), [-0.1, 0.1, 0.0]),
    ];
    let skeleton = Skeleton::new(
        joints
            .iter()
            .enumerate()
            .map(|(index, &(name, parent, at))| {
                let own = DQuat::from_scaled_axis(DVec3::new(0.7, index as f64, -0.3));
                let rest = DAffine3::from_rotation_translation(own, turned * DVec3::from_array(at));
                Joint { name: name.into(), parent, reference: None, joint_from_rest: rest.inverse() }
            })
            .collect(),
    )
    .unwrap();
    let corners: Vec<Vec3> = (0..15).map(|j| skeleton.rest_position(j).as_vec3()).collect();
    let mesh = Mesh::new(corners, vec![[0, 3, 9], [0, 6, 12]], None).unwrap();
    let weights = (0..15).map(|joint| vec![Influence { joint, weight: 1.0 }]);
    let weights = SkinWeights::new(15, weights).unwrap().0;
    Rig::new(mesh, skeleton, weights, vec![]).unwrap()
}

/// Where `end` goes when `joint` turns in a direction by half a radian.
fn moved(rig: &Rig, joint: &str, turn: Turn, end: &str) -> DVec3 {
    let given = GivenRanges::from([(
        joint.to_string(),
        vec![GivenRange { axis: GivenAxis::Turn(turn), lowest: 0.0, highest: 40.0 }],
    )]);
    let found = ranges(rig, &given, 1.0).unwrap();
    let joint = rig.skeleton().joint_named(joint).unwrap();
    let index = found.degrees.iter().position(|degree| degree.joint == joint).unwrap();
    let degree = found.degrees[index];
    let mut angles = vec![0.0; index + 1];
    angles[index] = if degree.highest > 0.0 { degree.highest } else { degree.lowest };
    let pose = Articulation { rig, degrees: &found.degrees }.pose(&angles);
    let end = rig.skeleton().joint_named(end).unwrap();
    pose.world_from_joint[end].translation - rig.skeleton().rest_position(end)
}

#[test]
fn bodies_bend_the_way_bodies_do() {
    // +Y up; z up as Blender has it; looking along x.
    let z_up = DQuat::from_rotation_x(90f64.to_radians());
    for turned in [
        DQuat::IDENTITY,
        z_up,
        DQuat::from_rotation_y(90f64.to_radians()),
        z_up * DQuat::from_rotation_y(3.1),
    ] {
        let rig = figure(turned);
        let towards = |joint: &str, turn: Turn, end: &str, expected: DVec3| {
            let motion = turned.inverse() * moved(&rig, joint, turn, end);
            assert!(motion.normalize().dot(expected) > 0.7, "{joint} {turn:?}: {motion} is not {expected}");
        };
        towards("mixamorig:LeftLeg", Turn::Flex, "mixamorig:LeftFoot", DVec3::NEG_Z);
        towards("mixamorig:LeftUpLeg", Turn::Flex, "mixamorig:LeftLeg", DVec3::Z);
        towards("mixamorig:LeftUpLeg", Turn::Side, "mixamorig:LeftLeg", DVec3::X);
        towards("mixamorig:RightUpLeg", Turn::Side, "mixamorig:RightLeg", DVec3::NEG_X);
        towards("mixamorig:LeftForeArm", Turn::Flex, "mixamorig:LeftHand", DVec3::Z);
        towards("mixamorig:RightForeArm", Turn::Flex, "mixamorig:RightHand", DVec3::Z);
        towards("mixamorig:LeftArm", Turn::Side, "mixamorig:LeftForeArm", DVec3::Y);
        towards("mixamorig:RightArm", Turn::Side, "mixamorig:RightForeArm", DVec3::Y);
        towards("mixamorig:RightArm", Turn::Flex, "mixamorig:RightForeArm", DVec3::Z);
        towards("mixamorig:Spine", Turn::Flex, "mixamorig:Head", DVec3::Z);
    }
}

#[test]
fn hanging_arms_are_raised_rather_than_pressed_into_the_body() {
    assert_eq!(raised(0.0, -60.0, 30.0), (-60.0, 30.0));
    assert_eq!(raised(-80.0, -60.0, 30.0), (-10.0, 45.0));
    assert_eq!(raised(40.0, -60.0, 30.0), (-60.0, 15.0));
}

#[test]
fn fingers_close_into_the_palm() {
    let hand = hand(1500).unwrap();
    let found = ranges(&hand.rig, &GivenRanges::new(), 1.0).unwrap();
    let skeleton = hand.rig.skeleton();
    let knuckle = skeleton.joint_named("middle-finger-phalanx-proximal").unwrap();
    let flex = found.degrees.iter().find(|degree| degree.joint == knuckle).unwrap();
    // WebXR: x points to the right of a finger, and a negative turn about it closes the hand.
    assert_eq!(flex.axis, DVec3::X);
    assert!((flex.lowest + 90f64.to_radians()).abs() < 1e-9 && flex.highest.abs() < 1e-9);
    // The built-in hand says its own ranges; the table names the same joints.
    let mut expected: Vec<usize> = hand.degrees_of_freedom.iter().map(|degree| degree.joint).collect();
    let mut joints: Vec<usize> = found.degrees.iter().map(|degree| degree.joint).collect();
    expected.sort_unstable();
    joints.sort_unstable();
    assert_eq!(joints, expected);
}

#[test]
fn what_people_say_comes_first_and_is_checked() {
    let rig = figure(DQuat::IDENTITY);
    let given = |name: &str, lowest: f64, highest: f64| {
        let range = GivenRange { axis: GivenAxis::Own(DVec3::X), lowest, highest };
        GivenRanges::from([(name.to_string(), vec![range])])
    };
    let found = ranges(&rig, &given("mixamorig:LeftLeg", -5.0, 60.0), 0.5).unwrap();
    let knee = rig.skeleton().joint_named("mixamorig:LeftLeg").unwrap();
    let said: Vec<&DegreeOfFreedom> = found.degrees.iter().filter(|d| d.joint == knee).collect();
    assert_eq!((said.len(), said[0].axis), (1, DVec3::X));
    assert!((said[0].highest.to_degrees() - 60.0).abs() < 1e-9);
    assert_eq!(found.sources[knee], RangeSource::Said);
    // Others are halved.
    let other = rig.skeleton().joint_named("mixamorig:RightLeg").unwrap();
    let widest = found.degrees.iter().find(|d| d.joint == other).unwrap();
    assert!((widest.highest.max(-widest.lowest).to_degrees() - 52.5).abs() < 1e-6);
    // None at all for a joint that is to stay still.
    let still = GivenRanges::from([("mixamorig:LeftLeg".to_string(), vec![])]);
    assert!(ranges(&rig, &still, 1.0).unwrap().degrees.iter().all(|d| d.joint != knee));

    for (name, lowest, highest, expected) in [
        ("knee", 0.0, 1.0, "which the rig does not have"),
        ("mixamorig:LeftLeg", 10.0, 20.0, "does not contain rest"),
        ("mixamorig:LeftLeg", 0.0, 200.0, "beyond half a turn"),
        ("mixamorig:Hips", -1.0, 1.0, "moves the whole character"),
    ] {
        let error = ranges(&rig, &given(name, lowest, highest), 1.0).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
