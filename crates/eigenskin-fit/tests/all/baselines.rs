//! The cheap methods that a model is compared with.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, set_of, sweeps, tube};
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::baselines::{
    Baseline, ExampleTargets, LinearMap, MethodErrors, PoseWeights, ShapeInterpolation, learnt_baselines,
    skinning_baselines,
};
use eigenskin_fit::drivers::{RbfParams, Smoothing, Width};
use eigenskin_fit::method::EigenSkinParams;
use eigenskin_fit::metrics::evaluate_against;

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
        Example { name: format!("{elbow} {wrist}"), pose, positions, normals: None, inverted: None }
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
    let features = |pose: &Pose| -> Vec<f64> {
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

/// Σ w T of a vertex, from the joints' transforms.
fn blended_matrix(rig: &Rig, pose: &Pose, vertex: usize) -> DAffine3 {
    let mut sum = DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ZERO };
    for influence in rig.weights().of(vertex) {
        let joint = influence.joint as usize;
        let moved = pose.world_from_joint[joint] * rig.skeleton().rest_from_joint()[joint].inverse();
        sum.matrix3 += f64::from(influence.weight) * moved.matrix3;
        sum.translation += f64::from(influence.weight) * moved.translation;
    }
    sum
}

/// Gaussian weights over one angle: rest at 0 and examples at `angles`; the weight of rest is left out.
fn cardinal_weights(angles: &[f64], at: f64, width: f64) -> Vec<f64> {
    let nodes: Vec<f64> = std::iter::once(0.0).chain(angles.iter().copied()).collect();
    let kernel = |a: f64, b: f64| (-(a - b).powi(2) / (2.0 * width * width)).exp();
    let count = nodes.len();
    // Gauss elimination of [Φ | φ(at)]: Φ is symmetric and positive.
    let mut rows: Vec<Vec<f64>> =
        nodes.iter().map(|&a| nodes.iter().map(|&b| kernel(a, b)).chain([kernel(a, at)]).collect()).collect();
    for pivot in 0..count {
        let line = rows[pivot].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            let factor = row[pivot] / line[pivot];
            if index != pivot {
                row.iter_mut().zip(&line).for_each(|(value, l)| *value -= factor * l);
            }
        }
    }
    (1..count).map(|k| rows[k][count] / rows[k][k]).collect()
}

/// Whole examples, weighed and posed by hand: as corrections before skinning, and as shapes.
#[test]
fn whole_examples_blend_as_computed_by_hand() {
    let rig = tube();
    let motion = |k: f64| {
        let turn = DQuat::from_scaled_axis(DVec3::new(0.4 * k, -1.1, 0.3));
        DAffine3::from_rotation_translation(turn, DVec3::new(k, 2.0, -3.0))
    };
    let settings = [(0.5, 0.0), (1.0, 0.0), (0.0, 0.8)];
    let named =
        settings.map(|(elbow, wrist)| (format!("{elbow} {wrist}"), DVec3::Y * elbow, DVec3::Z * wrist, 0.25));
    // The whole character stands elsewhere in every example.
    let examples: Vec<Example> = set_of(&rig, named.to_vec())
        .examples()
        .iter()
        .enumerate()
        .map(|(index, example)| {
            let motion = motion(index as f64);
            let moved = example.positions.iter().map(|p| motion.transform_point3(p.as_dvec3()).as_vec3());
            Example { pose: example.pose.moved_by(motion), positions: moved.collect(), ..example.clone() }
        })
        .collect();
    let set = ExampleSet::new(rig.clone(), examples).unwrap();
    let width = 0.7;
    let interpolation =
        RbfParams { width: Width::Fixed(width), smoothing: Smoothing::Fixed(0.0), ..RbfParams::default() };
    let pose_weights = PoseWeights::fit(&set, BaseSkinning::LinearBlend, &interpolation, &Unwatched).unwrap();
    let targets =
        ExampleTargets::new(&set, BaseSkinning::LinearBlend, pose_weights.clone(), &Unwatched).unwrap();
    let shapes = ShapeInterpolation::new(&set, pose_weights.clone());

    let here = pose(&rig, DVec3::Y * 0.7, DVec3::Z * 0.35, 0.25).moved_by(motion(5.0));
    // Elbow and wrist never move together in the examples: each has its own weights.
    let mut weights = cardinal_weights(&[0.5, 1.0], 0.7, width);
    weights.extend(cardinal_weights(&[0.8], 0.35, width));
    assert!(weights.iter().all(|w| *w > 0.2 && *w < 0.9), "weights that say nothing: {weights:?}");
    for (found, expected) in pose_weights.at(&here).iter().zip(&weights) {
        assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
    }

    let root = |pose: &Pose| pose.world_from_joint[0] * rig.skeleton().rest_from_joint()[0].inverse();
    let by_hand = |shape_of: &dyn Fn(&Pose, usize) -> DAffine3| -> Vec<Vec3> {
        (0..rig.vertex_count())
            .map(|vertex| {
                let rest = rig.mesh().positions()[vertex].as_dvec3();
                let moved = set.examples().iter().zip(&weights).map(|(example, &weight)| {
                    let seen = example.positions[vertex].as_dvec3();
                    weight * (shape_of(&example.pose, vertex).inverse().transform_point3(seen) - rest)
                });
                shape_of(&here, vertex).transform_point3(rest + moved.sum::<DVec3>()).as_vec3()
            })
            .collect()
    };
    let before_skinning = by_hand(&|pose, vertex| blended_matrix(&rig, pose, vertex));
    let as_they_stand = by_hand(&|pose, _| root(pose));
    assert!(farthest(&targets.shape(&here), &before_skinning) < 1e-5);
    assert!(farthest(&shapes.shape(&here), &as_they_stand) < 1e-5);
    assert!(farthest(&before_skinning, &as_they_stand) > 0.1, "the two methods must differ");
    for example in set.examples() {
        assert!(farthest(&targets.shape(&example.pose), &example.positions) < 1e-5, "{}", example.name);
        assert!(farthest(&shapes.shape(&example.pose), &example.positions) < 1e-5, "{}", example.name);
    }
}

/// Examples that move joints together share one pose space, so all of them are met.
#[test]
fn examples_of_many_joints_are_met() {
    let rig = tube();
    let at = |elbow: f64, wrist: f64, heavy: f64| {
        (format!("{elbow} {wrist} {heavy}"), DVec3::Y * elbow, DVec3::Z * wrist, heavy)
    };
    let set = set_of(
        &rig,
        vec![
            at(0.6, 0.0, 0.25),
            at(0.6, 0.7, 0.25),
            at(0.0, 0.7, 0.25),
            at(0.0, 0.0, 0.9),
            at(1.1, 0.2, 0.25),
        ],
    );
    let weights =
        PoseWeights::fit(&set, BaseSkinning::LinearBlend, &RbfParams::default(), &Unwatched).unwrap();
    for (index, example) in set.examples().iter().enumerate() {
        for (other, weight) in weights.at(&example.pose).into_iter().enumerate() {
            let expected = if other == index { 1.0 } else { 0.0 };
            assert!((weight - expected).abs() < 1e-5, "example {index}: weight {weight} of {other}");
        }
    }
    assert!(weights.at(&rig.rest_pose()).iter().all(|weight| weight.abs() < 1e-6), "rest moves");
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
    let plain = skinning_baselines(&sets, &Unwatched).unwrap();
    let learnt =
        learnt_baselines(&training, BaseSkinning::LinearBlend, &params, 2, &sets, &Unwatched).unwrap();
    for row in &plain {
        let Baseline::Skinning(base) = row.method else { panic!("{:?} is no skinning", row.method) };
        for (errors, set) in row.on.iter().zip(sets) {
            let model = Arc::new(Model::without_corrections(rig.clone(), base));
            let expected = evaluate_against(&model, set, &Unwatched).unwrap();
            assert_eq!(errors.errors, expected.model);
            assert!((errors.relative_error.unwrap() - expected.relative_error.unwrap()).abs() < 1e-9);
        }
    }
    let linear =
        plain.iter().find(|row| row.method == Baseline::Skinning(BaseSkinning::LinearBlend)).unwrap();
    let methods: Vec<Baseline> = learnt.iter().map(|row| row.method).collect();
    assert_eq!(
        methods,
        [
            Baseline::LinearMap,
            Baseline::ShapeInterpolation,
            Baseline::Components(0),
            Baseline::Components(1),
            Baseline::Components(2),
            Baseline::AllComponents,
            Baseline::ExampleTargets
        ]
    );
    let [map, shapes, none, one, two, .., targets] = &learnt[..] else { panic!("too few rows") };
    assert_eq!(none.on, linear.on, "no components are plain skinning");
    let on_training: Vec<f64> = learnt[2..].iter().map(|row| row.on[0].relative_error.unwrap()).collect();
    assert!(on_training.windows(2).all(|pair| pair[1] < pair[0]), "{on_training:?}");
    assert_eq!(map.fields, 25);
    assert_eq!(map.bytes, 25 * 12 * rig.vertex_count());
    // Elbow, wrist and the control; what some of them do has only one direction.
    assert_eq!(one.fields, 3);
    assert!(two.fields > 3 && two.fields <= 6);
    assert!(two.bytes <= 6 * 12 * rig.vertex_count());
    // One whole field per example, at every vertex, hits the examples.
    for row in [shapes, targets] {
        assert_eq!((row.fields, row.most_per_vertex), (16, 16));
        assert_eq!(row.bytes, 16 * 12 * rig.vertex_count());
        assert!(row.on[0].relative_error.unwrap() < 1e-4, "{:?}", row.on[0]);
    }
    let unseen = |row: &MethodErrors| row.on[1].relative_error.unwrap();
    assert!(unseen(targets) < 1.0 && unseen(shapes) > 1.0, "{} {}", unseen(targets), unseen(shapes));
}
