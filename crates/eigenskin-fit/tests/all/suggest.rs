//! Suggestions on the built-in arm, and on a face without joints.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use eigenskin_characters::arm;
use eigenskin_characters::truth::{SweptSkin, coupled_bulge};
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::weights::SkinWeights;
use eigenskin_fit::suggest::{
    KnownPoses, NearestPose, Outlook, SuggestError, SuggestParams, choose_poses, outlook, suggest_poses,
};

fn params(count: usize) -> SuggestParams {
    SuggestParams { count }
}

#[test]
fn what_no_example_moves_comes_first_and_nothing_twice() {
    let arm = arm(600).unwrap();
    let candidates = arm.single_joint_poses(6);
    let all = suggest_poses(&arm.rig, None, &candidates, &params(100), &Unwatched).unwrap();
    let mut seen: Vec<usize> = all.iter().map(|s| s.candidate).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all.len());
    let gained: f64 = all.iter().map(|s| s.gain).sum();
    assert!(gained > 0.95 && gained <= 1.0 + 1e-9, "{gained}");
    // Each gain is the best that was left, so they fall but for what they have in common.
    assert!(all[0].gain >= all[1].gain && all[1].gain >= all[4].gain);
    assert_eq!(all, suggest_poses(&arm.rig, None, &candidates, &params(100), &Unwatched).unwrap());

    // One example moves nothing of most patches; all figures are numbers all the same.
    let one = candidates[0].clone();
    let skin = SweptSkin::new(&arm);
    let example = Example {
        positions: skin.shape(&one.pose),
        name: one.name,
        pose: one.pose,
        normals: None,
        inverted: None,
    };
    let set = ExampleSet::new(arm.rig.clone(), vec![example]).unwrap();
    let after_one = suggest_poses(&arm.rig, Some(&set), &candidates, &params(100), &Unwatched).unwrap();
    assert!(after_one.iter().all(|s| s.expected_error.is_finite() && s.gain.is_finite()));
    assert!(after_one.iter().filter_map(|s| s.leave_one_out).all(f64::is_finite));

    // With examples of one joint at hand, the next pose moves another.
    let skin = SweptSkin::new(&arm);
    let first = all[0].mover;
    let examples: Vec<Example> = candidates
        .iter()
        .filter(|c| first.is_moved(&arm.rig, &c.pose))
        .map(|c| Example {
            name: c.name.clone(),
            positions: skin.shape(&c.pose),
            pose: c.pose.clone(),
            normals: None,
            inverted: None,
        })
        .collect();
    assert!(examples.len() < candidates.len());
    let set = ExampleSet::new(arm.rig.clone(), examples).unwrap();
    let next = suggest_poses(&arm.rig, Some(&set), &candidates, &params(2), &Unwatched).unwrap();
    assert_ne!(next[0].mover, first);
    assert!(next[0].nearest.is_none() && next[0].reason().starts_with("no example moves"));
    // The second one is measured against the first.
    let known: Vec<&str> =
        set.examples().iter().map(|e| e.name.as_str()).chain([next[0].name.as_str()]).collect();
    if let Some(NearestPose { name: nearest, distance }) = &next[1].nearest {
        assert!(known.contains(&nearest.as_str()) && *distance > 0.0);
    }
    assert!(!known.contains(&next[1].name.as_str()));
}

#[test]
fn a_joint_whose_examples_predict_each_other_badly_gets_more() {
    let arm = arm(600).unwrap();
    let skin = SweptSkin::new(&arm);
    let candidates = arm.single_joint_poses(8);
    let chosen: Vec<&NamedPose> = candidates.iter().step_by(2).collect();
    let set = |spoilt: Mover| {
        let example = |c: &&NamedPose| {
            let mut positions = skin.shape(&c.pose);
            if spoilt.is_moved(&arm.rig, &c.pose) {
                // A ripple that is another in every pose.
                let seed = c.name.len() as f32 + c.name.bytes().map(f32::from).sum::<f32>();
                for (vertex, p) in positions.iter_mut().enumerate() {
                    *p += Vec3::Y * 0.05 * (seed * 3.1 + vertex as f32 * (1.0 + seed.sin())).sin();
                }
            }
            Example { name: c.name.clone(), pose: c.pose.clone(), positions, normals: None, inverted: None }
        };
        ExampleSet::new(arm.rig.clone(), chosen.iter().map(example).collect()).unwrap()
    };
    let movers: Vec<Mover> = Mover::all(&arm.rig)
        .into_iter()
        .filter(|mover| chosen.iter().any(|c| mover.is_moved(&arm.rig, &c.pose)))
        .collect();
    assert!(movers.len() > 1);
    for &spoilt in &movers {
        let found = suggest_poses(&arm.rig, Some(&set(spoilt)), &candidates, &params(1), &Unwatched).unwrap();
        assert_eq!(found[0].mover, spoilt, "{}", found[0].name);
        assert!(found[0].leave_one_out.unwrap() > 0.0);
    }
}

#[test]
fn controls_are_suggested_and_bad_input_is_named() {
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
    let mesh = Mesh::new(positions, vec![[0, 1, 2]], None).unwrap();
    let control = |name: &str| Control { name: name.to_string(), default: 0.0 };
    let rig =
        Rig::new(mesh, Skeleton::empty(), SkinWeights::none(3), vec![control("smile"), control("frown")]);
    let rig = Arc::new(rig.unwrap());
    let at = |name: &str, values: [f64; 2]| {
        let mut pose = rig.rest_pose();
        pose.controls = values.to_vec();
        NamedPose { name: name.to_string(), pose }
    };
    let candidates =
        [at("rest", [0.0, 0.0]), at("smile", [1.0, 0.0]), at("half", [0.5, 0.0]), at("frown", [0.0, 0.9])];
    let found = suggest_poses(&rig, None, &candidates, &params(2), &Unwatched).unwrap();
    let names: Vec<&str> = found.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["smile", "frown"]);

    let error = |candidates: &[NamedPose], params: &SuggestParams| {
        suggest_poses(&rig, None, candidates, params, &Unwatched).unwrap_err()
    };
    assert_eq!(error(&[], &params(1)), SuggestError::NoCandidates);
    assert_eq!(error(&candidates[..1], &params(1)), SuggestError::NothingMoves);
    let mut other = candidates[1].clone();
    other.pose.controls.push(1.0);
    assert!(matches!(error(&[other], &params(1)), SuggestError::OtherRig { found: 3, expected: 2, .. }));
    let many = vec![candidates[1].clone(); 1001];
    assert_eq!(error(&many, &params(1)), SuggestError::TooManyCandidates { found: 1001, limit: 1000 });
}

#[test]
fn chosen_poses_tell_something_new_and_are_always_the_same() {
    let arm = arm(600).unwrap();
    let articulation = arm.articulation();
    let poses = |angles: &[_]| -> Vec<Pose> {
        articulation.poses(angles).into_iter().map(|named| named.pose).collect()
    };
    let planned = poses(&articulation.sweeps(3, 0.0));
    let mut candidates = poses(&articulation.random(20, 0.75, 3));
    // One that is planned, one that was there before, and one where nothing moves.
    candidates.extend([planned[0].clone(), candidates[4].clone(), arm.rig.rest_pose()]);
    let choose =
        |count| choose_poses(&arm.rig, KnownPoses::Planned(&planned), &candidates, count, &Unwatched);
    let all = choose(100).unwrap();
    assert_eq!(all, choose(100).unwrap());
    assert_eq!(all[..7], choose(7).unwrap());
    let mut sorted = all.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..candidates.len()).collect::<Vec<_>>());
    // Rest says nothing; what is planned or chosen says little. Of two equal ones the first comes first.
    let place = |pose: usize| all.iter().position(|&chosen| chosen == pose).unwrap();
    assert_eq!(all[22], 22);
    assert!(place(20) > 10 && place(21) > place(4) + 3, "{all:?}");
}

/// A pose that has an example tells less than others do.
#[test]
fn more_poses_are_other_poses() {
    let arm = arm(600).unwrap();
    let articulation = arm.articulation();
    let named = articulation.poses(&articulation.random(12, 0.75, 3));
    let example = |named: &NamedPose| Example {
        name: named.name.clone(),
        positions: coupled_bulge(&arm, &named.pose),
        pose: named.pose.clone(),
        normals: None,
        inverted: None,
    };
    let set = ExampleSet::new(arm.rig.clone(), named[..8].iter().map(example).collect()).unwrap();
    let candidates: Vec<Pose> = named.iter().map(|named| named.pose.clone()).collect();
    let chosen = choose_poses(&arm.rig, KnownPoses::Examples(&set), &candidates, 2, &Unwatched).unwrap();
    assert!(chosen.iter().all(|&pose| pose >= 8), "{chosen:?}");
}

#[test]
fn the_outlook_is_what_leaving_out_shows() {
    let arm = arm(600).unwrap();
    let articulation = arm.articulation();
    let set = |angles: &[_]| {
        let example = |named: NamedPose| Example {
            positions: coupled_bulge(&arm, &named.pose),
            name: named.name,
            pose: named.pose,
            normals: None,
            inverted: None,
        };
        let examples = articulation.poses(angles).into_iter().map(example).collect();
        ExampleSet::new(arm.rig.clone(), examples).unwrap()
    };
    let mut angles = articulation.sweeps(4, 0.0);
    assert_eq!(outlook(&set(&angles), &Unwatched).unwrap(), None);
    angles.extend(articulation.random(24, 0.75, 3));
    let found = outlook(&set(&angles), &Unwatched).unwrap().unwrap();
    assert_eq!(found.poses, 24);
    // The more are known, the less is left.
    assert!(0.0 < found.with_all && found.with_all < found.with_half && found.with_half < 1.0, "{found:?}");
    assert!(found.with_more(0) == found.with_all && found.with_more(24) < found.with_all);
    let twice = found.with_all * found.with_all / found.with_half;
    assert!((found.with_more(24) / twice - 1.0).abs() < 1e-12);
    // What did not help before is not expected to help.
    let flat = Outlook { poses: 10, with_half: 0.2, with_all: 0.3 };
    assert_eq!(flat.with_more(10), 0.3);
}
