//! Motions retargeted from one set of joints to another.

use std::sync::Arc;

use eigenskin_characters::{Character, arm};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_gltf::{Motion, MotionError, Orientation, RigFile};
use eigenskin_io::retarget::{retarget_bvh, retarget_clip};
use eigenskin_io::{Bvh, JointMap, RetargetOptions};

fn arm_file() -> (Character, RigFile) {
    let character = arm(400).unwrap();
    let (times, poses) = character.demo_motion();
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    let file = file.with_clip("demo", &times, &poses).unwrap();
    (character, file)
}

/// An upright arm in centimetres, its elbow 30 from the shoulder along x, its hand 26 further.
fn capture(frames: &str, count: usize) -> Bvh {
    Bvh::parse(&format!(
        "HIERARCHY\nROOT chest\n{{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\nJOINT clavicle\n{{\nOFFSET 5 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nJOINT shoulder\n{{\nOFFSET 5 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nJOINT elbow\n{{\nOFFSET 30 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nJOINT hand\n{{\nOFFSET 26 0 0\nCHANNELS 0\n}}\n}}\n}}\n}}\n}}\nMOTION\nFrames: {count}\nFrame Time: 0.1\n{frames}\n"
    ))
    .unwrap()
}

fn map(pairs: &[(&str, &str)]) -> JointMap {
    pairs.iter().map(|&(joint, source)| (joint.to_string(), source.to_string())).collect()
}

fn by(map: JointMap) -> RetargetOptions {
    RetargetOptions { map: Some(map), ..RetargetOptions::default() }
}

fn all_joints() -> JointMap {
    map(&[("shoulder", "chest"), ("upper-arm", "shoulder"), ("forearm", "elbow"), ("hand", "hand")])
}

fn place(file: &RigFile, pose: &Pose, joint: &str) -> DVec3 {
    let joint = file.rig().skeleton().joint_named(joint).unwrap();
    file.layout().scene_from_mesh.transform_point3(pose.world_from_joint[joint].translation)
}

/// Clavicle and shoulder turn by 30° and 60° about z, the elbow by 90° about y: the map leaves the
/// clavicle out, so the upper arm turns by both. Positions by hand.
#[test]
fn turns_add_up_over_joints_left_out() {
    let (_, file) = arm_file();
    let frames = "100 50 7  0 0 0  0 0 0  0 0 0  0 0 0\n100 62 7  0 0 0  30 0 0  60 0 0  0 0 90";
    let (motion, matching) = retarget_bvh(&file, &capture(frames, 2), "wave", &by(all_joints())).unwrap();
    assert_eq!(matching.unmatched, ["forearm-twist"]);
    assert_eq!(matching.unused, ["clavicle"]);
    // Bones of 0.1, 0.3 and 0.26 against 10, 30 and 26.
    assert!((matching.scale - 0.01).abs() < 1e-7, "{}", matching.scale);
    let rest = file.rig().rest_pose();
    for (found, expected) in motion.poses[0].world_from_joint.iter().zip(&rest.world_from_joint) {
        assert!(found.abs_diff_eq(*expected, 1e-7));
    }
    let bent = &motion.poses[1];
    let at = |joint: &str| place(&file, bent, joint);
    assert!((at("shoulder") - DVec3::new(0.0, 0.12, 0.0)).length() < 1e-6);
    assert!((at("forearm") - DVec3::new(0.1, 0.42, 0.0)).length() < 1e-6, "{}", at("forearm"));
    // The forearm points along x at rest; Ry(90°) turns that to −z, Rz(90°) leaves −z.
    assert!((at("hand") - DVec3::new(0.1, 0.42, -0.26)).length() < 1e-6, "{}", at("hand"));
    assert!((at("forearm-twist") - DVec3::new(0.1, 0.42, -0.13)).length() < 1e-6);
}

/// A joint with no matched joint above it takes its own turn only, and no travel.
#[test]
fn a_joint_alone_takes_its_local_turn() {
    let (_, file) = arm_file();
    let frames = "0 0 0  0 0 0  0 0 0  0 0 0  0 0 0\n9 9 9  77 0 0  30 0 0  60 0 0  0 0 90";
    let only = map(&[("forearm", "elbow")]);
    let (motion, matching) = retarget_bvh(&file, &capture(frames, 2), "x", &by(only)).unwrap();
    assert_eq!(matching.scale, 1.0);
    let bent = &motion.poses[1];
    assert!((place(&file, bent, "forearm") - DVec3::new(0.4, 0.0, 0.0)).length() < 1e-6);
    assert!((place(&file, bent, "hand") - DVec3::new(0.4, 0.0, -0.26)).length() < 1e-6);
}

/// An arm that rests bent, aligned with a capture whose zero pose is straight: its joints are where
/// a straight arm's would be.
#[test]
fn aligned_bones_point_where_the_captures_do() {
    let (character, straight) = arm_file();
    let count = character.degrees_of_freedom.len();
    let mut angles = vec![0.0; count];
    (angles[0], angles[2]) = (0.4, -0.9);
    let bent = bound_in(&character.rig, &character.pose(&angles));
    let bent = RigFile::from_rig(Arc::new(bent), "bent").unwrap();
    let frames = "0 0 0  0 0 0  0 0 0  0 0 0  0 0 0\n1 2 3  10 20 30  30 0 0  60 0 0  0 40 90";
    let bvh = capture(frames, 2);
    let options = RetargetOptions { align: true, ..by(all_joints()) };
    let (expected, _) = retarget_bvh(&straight, &bvh, "x", &by(all_joints())).unwrap();
    let (aligned, _) = retarget_bvh(&bent, &bvh, "x", &options).unwrap();
    let (turned, _) = retarget_bvh(&bent, &bvh, "x", &by(all_joints())).unwrap();
    for key in 0..2 {
        for joint in ["shoulder", "upper-arm", "forearm", "forearm-twist", "hand"] {
            let wanted = place(&straight, &expected.poses[key], joint);
            let found = place(&bent, &aligned.poses[key], joint);
            assert!((found - wanted).length() < 1e-5, "{joint}: {found} for {wanted}");
        }
        let hand = |file: &RigFile, motion: &Motion| place(file, &motion.poses[key], "hand");
        assert!(hand(&bent, &turned).distance(hand(&straight, &expected)) > 0.05);
    }
}

/// The rig with another pose as its rest.
fn bound_in(rig: &Rig, pose: &Pose) -> Rig {
    let skinning = eigenskin_core::skinning::PosedSkinning::new(
        eigenskin_core::skinning::BaseSkinning::LinearBlend,
        rig,
        pose,
    );
    let positions = rig.mesh().positions().iter().enumerate();
    let positions = positions.map(|(v, p)| skinning.position(v, p.as_dvec3()).as_vec3()).collect();
    let mesh = eigenskin_core::mesh::Mesh::new(positions, rig.mesh().triangles().to_vec(), None).unwrap();
    let joints = rig.skeleton().joints().iter().zip(&pose.world_from_joint);
    let joints = joints.map(|(joint, at)| Joint { joint_from_rest: at.inverse(), ..joint.clone() });
    Rig::new(mesh, Skeleton::new(joints.collect()).unwrap(), rig.weights().clone(), vec![]).unwrap()
}

/// The same capture on the same arm lying in other axes and another unit shows the same turns in
/// the scene.
#[test]
fn turns_are_those_of_the_scene() {
    let (_, file) = arm_file();
    let file = file.with_orientation(Orientation { z_up: true, metres_per_unit: 0.01 }).unwrap();
    let frames = "0 0 0  0 0 0  0 0 0  0 0 0  0 0 0\n0 10 0  0 0 0  0 0 0  90 0 0  0 0 0";
    let (motion, matching) = retarget_bvh(&file, &capture(frames, 2), "x", &by(all_joints())).unwrap();
    assert!((matching.scale - 1e-4).abs() < 1e-9);
    let at = |joint: &str| place(&file, &motion.poses[1], joint);
    assert!((at("shoulder") - DVec3::new(0.0, 0.001, 0.0)).length() < 1e-8);
    assert!((at("forearm") - DVec3::new(0.001, 0.004, 0.0)).length() < 1e-8, "{}", at("forearm"));
}

#[test]
fn a_clip_on_its_own_rig_is_itself() {
    let (_, file) = arm_file();
    let clip = &file.clips()[0];
    let (motion, matching) = retarget_clip(&file, &file, clip, &RetargetOptions::default()).unwrap();
    assert!(matching.unmatched.is_empty() && matching.unused.is_empty());
    assert!((matching.scale - 1.0).abs() < 1e-12);
    let own = Motion::from_clip(&file, clip, None).unwrap();
    assert_eq!(motion.times, own.times);
    for (found, expected) in motion.poses.iter().zip(&own.poses) {
        for (a, b) in found.world_from_joint.iter().zip(&expected.world_from_joint) {
            assert!(a.abs_diff_eq(*b, 1e-6));
        }
    }
}

/// Twice as large, every joint with other axes, standing elsewhere, turned as a whole: the same
/// turns, twice the steps.
#[test]
fn a_clip_on_a_larger_arm_with_other_axes() {
    let (character, _) = arm_file();
    let count = character.degrees_of_freedom.len();
    let mut angles = vec![0.3; count];
    angles[2] = -1.0;
    let away = DAffine3::from_rotation_translation(DQuat::from_rotation_y(0.4), DVec3::new(0.1, 0.2, 0.3));
    let poses = [character.pose(&vec![0.0; count]), character.pose(&angles).moved_by(away)];
    let source = RigFile::from_rig(character.rig.clone(), "small")
        .unwrap()
        .with_clip("move", &[0.0, 1.0], &poses)
        .unwrap();
    let larger = other_axes(&character.rig);
    let target = RigFile::from_rig(Arc::new(larger), "large").unwrap();
    let (motion, matching) =
        retarget_clip(&target, &source, &source.clips()[0], &RetargetOptions::default()).unwrap();
    assert!((matching.scale - 2.0).abs() < 1e-6, "{}", matching.scale);
    let shift = DVec3::new(1.0, 2.0, 3.0);
    for (pose, original) in motion.poses.iter().zip(&poses) {
        for joint in source.rig().skeleton().joints() {
            let expected = 2.0 * place(&source, original, &joint.name) + shift;
            let found = place(&target, pose, &joint.name);
            assert!((found - expected).length() < 1e-5, "{}: {found} for {expected}", joint.name);
        }
    }
}

/// The rig twice as large at another place, each joint's own axes turned at random.
fn other_axes(rig: &Rig) -> Rig {
    let shift = DVec3::new(1.0, 2.0, 3.0);
    let joints = rig.skeleton().joints().iter().enumerate().map(|(index, joint)| {
        let at = 2.0 * rig.skeleton().rest_position(index) + shift;
        let axes =
            DQuat::from_euler(eigenskin_core::glam::EulerRot::XYZ, index as f64, 2.0, 0.5 * index as f64);
        let joint_from_rest = DAffine3::from_rotation_translation(axes, at).inverse();
        Joint { joint_from_rest, ..joint.clone() }
    });
    let positions = rig.mesh().positions().iter().map(|p| 2.0 * *p + shift.as_vec3()).collect();
    let mesh = eigenskin_core::mesh::Mesh::new(positions, rig.mesh().triangles().to_vec(), None).unwrap();
    let skeleton = Skeleton::new(joints.collect()).unwrap();
    Rig::new(mesh, skeleton, rig.weights().clone(), vec![]).unwrap()
}

/// All joints siblings: what they refer to takes the place of parents.
#[test]
fn flat_rigs_move_as_a_chain() {
    let (character, _) = arm_file();
    let rig = &character.rig;
    let flat = rig.skeleton().joints().iter().enumerate();
    let flat =
        flat.map(|(index, joint)| Joint { parent: None, reference: index.checked_sub(1), ..joint.clone() });
    let skeleton = Skeleton::new(flat.collect()).unwrap();
    let flat = Rig::new(rig.mesh().clone(), skeleton, rig.weights().clone(), vec![]).unwrap();
    let flat = RigFile::from_rig(Arc::new(flat), "flat").unwrap();
    let chain = RigFile::from_rig(rig.clone(), "chain").unwrap();
    let frames = "0 0 0  0 0 0  0 0 0  0 0 0  0 0 0\n1 2 3  10 20 30  30 0 0  60 0 0  0 0 90";
    let retarget =
        |file: &RigFile| retarget_bvh(file, &capture(frames, 2), "x", &by(all_joints())).unwrap().0;
    let (flat_motion, chain_motion) = (retarget(&flat), retarget(&chain));
    for (a, b) in flat_motion.poses.iter().zip(&chain_motion.poses) {
        for (a, b) in a.world_from_joint.iter().zip(&b.world_from_joint) {
            assert!(a.abs_diff_eq(*b, 1e-9));
        }
    }
    // And the file holds it.
    let written = flat.with_motion(&flat_motion).unwrap();
    let back = written.sample(&written.clips()[0], written.clips()[0].duration());
    for (a, b) in back.world_from_joint.iter().zip(&flat_motion.poses[1].world_from_joint) {
        assert!(a.abs_diff_eq(*b, 1e-6));
    }
}

#[test]
fn loops_stay_closed_and_rates_are_kept() {
    let (character, _) = arm_file();
    let count = character.degrees_of_freedom.len();
    let pose = |angle: f64| character.pose(&vec![angle; count]);
    let file = RigFile::from_rig(character.rig.clone(), "arm")
        .unwrap()
        .with_clip("loop", &[0.5, 0.8, 1.56], &[pose(0.1), pose(0.5), pose(0.1)])
        .unwrap();
    let motion = Motion::from_clip(&file, &file.clips()[0], None).unwrap();
    assert!(motion.times.len() == 3 && !motion.is_even());
    let motion = Motion::from_clip(&file, &file.clips()[0], Some(10.0)).unwrap();
    // 1.06 s are ten steps of exactly 0.1 s and a shorter one.
    assert!(motion.times.len() == 12 && motion.is_even());
    for (frame, time) in motion.times[..11].iter().enumerate() {
        assert!((time - (0.5 + 0.1 * frame as f64)).abs() < 1e-12, "{frame}: {time}");
    }
    assert!((motion.short_last_step().unwrap() - 0.06).abs() < 1e-6);
    assert_eq!(motion.poses[0], motion.poses[11]);
    assert!((motion.duration() - 1.06).abs() < 1e-6);
    // Keys as f32 are not quite where a rate puts them: no frame is made of the difference.
    let at_rate =
        Motion::resampled(vec![0.0, f64::from(1.0f32 / 24.0), f64::from(2.0f32 / 24.0)], Some(24.0)).unwrap();
    assert_eq!(at_rate.len(), 3);
    assert_eq!(Motion { times: at_rate, ..motion.clone() }.short_last_step(), None);
    let refused = |rate: f64| Motion::from_clip(&file, &file.clips()[0], Some(rate)).unwrap_err();
    assert!(matches!(refused(0.0), MotionError::Rate { .. }));
    assert!(matches!(refused(f64::NAN), MotionError::Rate { .. }));
    assert!(matches!(refused(1e9), MotionError::TooLong { .. }));

    // Replaced by name: one clip, the other keys.
    let clips = file.with_motion(&motion).unwrap();
    assert_eq!(clips.clips().len(), 1);
    assert_eq!(clips.clips()[0].key_times(clips.layout()).len(), 12);
}

#[test]
fn a_replaced_clip_keeps_what_is_not_the_rigs() {
    let (_, file) = arm_file();
    let mut document = file.document().clone();
    let camera = document.json["nodes"].as_array().unwrap().len();
    document.array_mut("nodes").unwrap().push(serde_json::json!({"name": "camera"}));
    document.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(camera.into());
    let animation = &mut document.json["animations"][0];
    let moved = animation["channels"].as_array().unwrap().iter().find(|c| c["target"]["path"] == "rotation");
    let sampler = moved.unwrap()["sampler"].clone();
    let channel = serde_json::json!({"sampler": sampler, "target": {"node": camera, "path": "rotation"}});
    animation["channels"].as_array_mut().unwrap().push(channel);
    let file = eigenskin_gltf::rig_of(document, &eigenskin_gltf::ReadOptions::default()).unwrap();
    let find = |file: &RigFile| {
        let clip = file.clips()[0].clone();
        clip.channels.into_iter().find(|channel| channel.node == camera)
    };
    let before = find(&file).unwrap();
    let motion = Motion::from_clip(&file, &file.clips()[0], Some(5.0)).unwrap();
    let file = file.with_motion(&motion).unwrap();
    assert_eq!(find(&file).unwrap(), before);
    let back = Motion::from_clip(&file, &file.clips()[0], None).unwrap();
    // The camera's keys are none of the rig's.
    assert_eq!(back.times.len(), motion.times.len());
    for (a, b) in back.poses.iter().zip(&motion.poses) {
        assert!(a.world_from_joint.iter().zip(&b.world_from_joint).all(|(a, b)| a.abs_diff_eq(*b, 1e-6)));
    }
}

#[test]
fn joints_that_are_not_there_are_named() {
    let (_, file) = arm_file();
    let bvh = capture("0 0 0  0 0 0  0 0 0  0 0 0  0 0 0", 1);
    let retarget = |pairs: &[(&str, &str)]| retarget_bvh(&file, &bvh, "x", &by(map(pairs)));
    assert!(
        matches!(retarget(&[("elbow", "elbow")]), Err(MotionError::NoTargetJoint { name, .. }) if name == "elbow")
    );
    assert!(
        matches!(retarget(&[("forearm", "knee")]), Err(MotionError::NoSourceJoint { name, .. }) if name == "knee")
    );
    assert!(matches!(retarget(&[]), Err(MotionError::NoneMatched { .. })));
    // By equal names: "shoulder" and "hand".
    let matched = retarget_bvh(&file, &bvh, "x", &RetargetOptions::default()).unwrap().1.matched;
    assert_eq!(matched.len(), 2);
}
