//! The cheap methods that a model is compared with.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;

use eigenskin::baselines::{LinearMap, Method, learnt_baselines, skinning_baselines};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::fit::EigenSkinParams;
use eigenskin::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use eigenskin::metrics::evaluate_against;
use eigenskin::model::Model;
use eigenskin::skinning::BaseSkinning;
use support::{pose, set_of, sweeps, tube};

/// Farthest distance of two shapes.
fn farthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// Linear blending is linear in the joints' transforms: a map learnt from enough blended shapes
/// must give blended shapes in poses that it has not seen, wherever the character stands.
#[test]
fn linear_map_finds_linear_blending() {
    let rig = tube();
    let blended = |elbow: DVec3, wrist: DVec3, motion: DAffine3| {
        let pose = pose(&rig, elbow, wrist, 0.25).moved_by(motion);
        let joints: Vec<DAffine3> = (0..3)
            .map(|j| pose.world_from_joint[j] * rig.skeleton().rest_from_joint()[j].inverse())
            .collect();
        let positions = (0..rig.vertex_count())
            .map(|vertex| {
                let rest = rig.mesh().positions()[vertex].as_dvec3();
                let influences = rig.weights().of(vertex).iter();
                influences
                    .map(|i| f64::from(i.weight) * joints[i.joint as usize].transform_point3(rest))
                    .sum::<DVec3>()
                    .as_vec3()
            })
            .collect();
        Example { name: format!("{elbow} {wrist}"), pose, positions, normals: None }
    };
    let turn = |i: usize, k: f64| {
        let t = i as f64 * k;
        DVec3::new(t.sin(), (1.7 * t + 1.0).cos(), (2.3 * t + 0.4).sin())
    };
    let motion = |i: usize| {
        DAffine3::from_rotation_translation(DQuat::from_scaled_axis(turn(i, 3.1)), 9.0 * turn(i, 0.3))
    };
    let examples = (0..60).map(|i| blended(turn(i, 0.9), turn(i, 1.3), motion(i))).collect();
    let map = LinearMap::fit(&ExampleSet::new(rig.clone(), examples).unwrap());
    assert_eq!(map.feature_count(), 2 * 12 + 1);
    for i in 100..110 {
        let unseen = blended(turn(i, 0.9), turn(i, 1.3), motion(i));
        let off = farthest(&map.shape(&unseen.pose), &unseen.positions);
        assert!(off < 1e-3, "pose {i} is {off} off");
    }
}

/// With one example the map of least norm is a projection onto it, computed here by hand.
#[test]
fn one_example_is_projected_on() {
    let rig = tube();
    let at = |elbow: f64, heavy: f64| (DVec3::Y * elbow, DVec3::ZERO, heavy);
    let (elbow, wrist, heavy) = at(0.9, 0.75);
    let set = set_of(&rig, vec![("bent".into(), elbow, wrist, heavy)]);
    let map = LinearMap::fit(&set);
    let example = &set.examples()[0];
    assert!(farthest(&map.shape(&example.pose), &example.positions) < 1e-5, "not hit");
    assert!(farthest(&map.shape(&rig.rest_pose()), rig.mesh().positions()) < 1e-6, "rest moves");

    let (elbow, wrist, heavy) = at(0.3, 0.35);
    let other = pose(&rig, elbow, wrist, heavy);
    let features = |pose: &eigenskin::pose::Pose| -> Vec<f64> {
        let mut all = Vec::new();
        for joint in [1, 2] {
            let moved = pose.world_from_joint[joint] * rig.skeleton().rest_from_joint()[joint].inverse();
            all.extend((moved.matrix3 - DMat3::IDENTITY).to_cols_array());
            all.extend((moved.translation / rig.mesh().size()).to_array());
        }
        all.push(pose.controls[0] - 0.25);
        all
    };
    let (f, g) = (features(&example.pose), features(&other));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let share = product(&f, &g) / product(&f, &f);
    assert!(share > 0.1 && share < 0.9, "a share that says nothing: {share}");
    let by_hand: Vec<Vec3> = rig
        .mesh()
        .positions()
        .iter()
        .zip(&example.positions)
        .map(|(r, p)| r.lerp(*p, share as f32))
        .collect();
    assert!(farthest(&map.shape(&other), &by_hand) < 1e-5);
}

/// The rows of a table: what each method stores, and errors that agree with the evaluation.
#[test]
fn rows_agree_with_the_evaluation() {
    let rig = tube();
    let training = sweeps(&rig);
    let unseen = set_of(
        &rig,
        vec![
            ("both".into(), DVec3::Y * 0.7, DVec3::Z * 0.9, 0.5),
            ("elbow".into(), DVec3::X * -0.6, DVec3::ZERO, 0.25),
        ],
    );
    let sets = [&training, &unseen];
    let params = EigenSkinParams::default();
    let plain = skinning_baselines(&sets);
    let learnt = learnt_baselines(&training, &params, 2, &sets).unwrap();
    for row in &plain {
        let Method::Skinning(base) = row.method else { panic!("{:?} is no skinning", row.method) };
        for (errors, set) in row.on.iter().zip(sets) {
            let model = Arc::new(Model::without_corrections(rig.clone(), base));
            let expected = evaluate_against(&model, set);
            assert_eq!(errors.errors, expected.model);
            assert!((errors.relative_error.unwrap() - expected.relative_error.unwrap()).abs() < 1e-9);
        }
    }
    let linear = plain.iter().find(|row| row.method == Method::Skinning(BaseSkinning::LinearBlend)).unwrap();
    let methods: Vec<Method> = learnt.iter().map(|row| row.method).collect();
    assert_eq!(
        methods,
        [
            Method::LinearMap,
            Method::Components(0),
            Method::Components(1),
            Method::Components(2),
            Method::AllComponents
        ]
    );
    assert_eq!(learnt[1].on, linear.on, "no components are plain skinning");
    let on_training: Vec<f64> = learnt[1..].iter().map(|row| row.on[0].relative_error.unwrap()).collect();
    assert!(on_training.windows(2).all(|pair| pair[1] < pair[0]), "{on_training:?}");
    assert_eq!(learnt[0].fields, 25);
    assert_eq!(learnt[0].bytes, 25 * 12 * rig.vertex_count());
    // Elbow, wrist and the control; what some of them do has only one direction.
    assert_eq!(learnt[2].fields, 3);
    assert!(learnt[3].fields > 3 && learnt[3].fields <= 6);
    assert!(learnt[3].bytes <= 6 * 12 * rig.vertex_count());
}
