//! The kernel, left-out errors and predictions against numpy, which worked them out apart from this code
//! (`fixtures/patches/make.py`).

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};
use serde::Deserialize;

use super::*;
use crate::method::moving_things::moving_things;

#[derive(Deserialize)]
struct Fixture {
    skin: Vec<[f32; 3]>,
    owner: Vec<u32>,
    poses: Vec<Vec<[f64; 3]>>,
    others: Vec<Vec<[f64; 3]>>,
    relevance: Vec<f64>,
    pairs: Vec<(usize, usize)>,
    overlaps: Vec<Vec<[f64; 3]>>,
    strength: f64,
    power: i32,
    amount: f64,
    length: f64,
    kernel: Vec<Vec<f64>>,
    coordinates: Vec<Vec<f64>>,
    left_out: Vec<f64>,
    predicted: Vec<Vec<f64>>,
}

fn matrix(rows: &[Vec<f64>]) -> Matrix {
    Matrix::from_fn(rows.len(), rows[0].len(), |a, b| rows[a][b])
}

/// Joints one apart along x, and skin that each holds alone.
fn chain(fixture: &Fixture) -> Arc<Rig> {
    let joints = (0..fixture.poses[0].len()).map(|joint| Joint {
        name: format!("j{joint}"),
        parent: joint.checked_sub(1),
        reference: None,
        joint_from_rest: DAffine3::from_translation(DVec3::new(-(joint as f64), 0.0, 0.0)),
    });
    let skin: Vec<Vec3> = fixture.skin.iter().map(|&point| Vec3::from_array(point)).collect();
    let triangles = (0..skin.len() as u32 - 2).map(|v| [v, v + 1, v + 2]).collect();
    let skeleton = Skeleton::new(joints.collect()).unwrap();
    let own = fixture.owner.iter().map(|&joint| vec![Influence { joint, weight: 1.0 }]);
    let weights = SkinWeights::new(skeleton.joint_count(), own).unwrap().0;
    Arc::new(Rig::new(Mesh::new(skin, triangles, None).unwrap(), skeleton, weights, Vec::new()).unwrap())
}

fn pose(rig: &Rig, turns: &[[f64; 3]]) -> Pose {
    let local = turns.iter().enumerate().map(|(joint, &turn)| {
        let along = if joint == 0 { DVec3::ZERO } else { DVec3::X };
        DAffine3::from_rotation_translation(DQuat::from_scaled_axis(DVec3::from_array(turn)), along)
    });
    let world_from_joint = rig.skeleton().forward_kinematics(&local.collect::<Vec<_>>());
    Pose { world_from_joint, controls: Vec::new() }
}

#[test]
fn kernels_left_out_errors_and_predictions_are_those_of_numpy() {
    let fixture: Fixture =
        serde_json::from_str(include_str!("../../../../../fixtures/patches/kernel.json")).unwrap();
    let rig = chain(&fixture);
    let examples = fixture.poses.iter().enumerate().map(|(index, turns)| {
        let pose = pose(&rig, turns);
        let posed: Vec<DAffine3> = pose.posed_from_rest(rig.skeleton()).collect();
        let at = |(point, &joint): (&Vec3, &u32)| {
            posed[joint as usize].transform_point3(point.as_dvec3()).as_vec3()
        };
        let positions = rig.mesh().positions().iter().zip(&fixture.owner).map(at).collect();
        Example { name: format!("{index}"), pose, positions, normals: None, inverted: None }
    });
    let set = ExampleSet::new(rig.clone(), examples.collect()).unwrap();
    let seen = Observations::of(&set, &Base::default(), false, &Unwatched).unwrap();
    let kernels = JointKernels::new(&seen, &moving_things(&seen));

    let near = |found: f64, expected: f64, what: &str| {
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{what}: {found} {expected}");
    };
    let pairs: Vec<(usize, usize)> =
        kernels.contacts.iter().map(|found| (found.pair.own.joint, found.pair.other.joint)).collect();
    assert_eq!(pairs, fixture.pairs);
    for (found, expected) in kernels.contacts.iter().zip(&fixture.overlaps) {
        for (example, expected) in expected.iter().enumerate() {
            let apart = found.overlap(example).distance(DVec3::from_array(*expected));
            assert!(apart < 1e-6, "{apart:e}");
        }
    }
    let touch = Touch { amount: fixture.amount, length: fixture.length };
    let all: Vec<usize> = (0..pairs.len()).collect();
    let amounts = amounts(&fixture.relevance, fixture.strength, fixture.power);
    let (found, expected) = (kernels.kernel(&amounts, &all, Some(touch)).0, matrix(&fixture.kernel));
    for a in 0..expected.nrows() {
        for b in 0..expected.ncols() {
            near(found[(a, b)], expected[(a, b)], "kernel");
        }
    }
    let coordinates = matrix(&fixture.coordinates);
    let ridge = kernels.ridge(&found, &coordinates);
    let judged: Vec<usize> = (0..coordinates.nrows()).collect();
    for (smoothing, &expected) in
        crate::method::patches::selection::SMOOTHINGS.into_iter().zip(&fixture.left_out)
    {
        near(ridge.left_out(smoothing, &judged).iter().sum(), expected, "left out");
    }
    let Fixture { strength, power, .. } = fixture;
    let choice = Choice { strength, power, touch: Some(touch), smoothing: 1e-3 };
    let driver = kernels.driver(&amounts, &all, choice, &coordinates);
    let mut scratch = vec![0.0; driver.scratch_count()];
    for (turns, expected) in fixture.others.iter().zip(&fixture.predicted) {
        let mut found = vec![0.0; expected.len()];
        driver.evaluate(rig.skeleton(), &pose(&rig, turns), &mut scratch, &mut found);
        for (found, &expected) in found.into_iter().zip(expected) {
            near(found, expected, "predicted");
        }
    }
}
