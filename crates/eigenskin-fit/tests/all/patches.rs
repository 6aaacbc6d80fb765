//! Patches: poses of one joint and of several in one kernel.

use std::sync::Arc;

use eigenskin_characters::tube::tube;
use eigenskin_core::deformers::Base;
use eigenskin_core::driver::Combine;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::random::SplitMix64;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::method::{
    EigenSkinParams, Fit, FitError, Learnt, Method, PatchesParams, fit, fit_examples,
};
use eigenskin_fit::metrics::evaluate_against;

use crate::support::coupled::{held_out, set_of, training};
use crate::support::{furthest, learn, shape};

const FEW: PatchesParams = PatchesParams { patches: 6, per_vertex: 8, normals: true };

fn patches(set: &ExampleSet, params: &PatchesParams) -> Fit {
    fit_examples(set, &Base::default(), &params.clone().into(), &Unwatched).unwrap()
}

fn error(fit: &Fit, truth: &ExampleSet) -> f64 {
    evaluate_against(&Arc::new(fit.model.clone()), truth, &Unwatched).unwrap().relative_error.unwrap()
}

#[test]
fn what_joints_do_together_is_learnt_without_a_search() {
    let rig = tube();
    let (training, held_out) = (training(&rig, 0.3), held_out(&rig, 0.3));
    let sum = learn(&training, &EigenSkinParams::default());
    let (of_sum, found) = (error(&sum.unwrap(), &held_out), patches(&training, &FEW));
    let of_patches = error(&found, &held_out);
    assert!(of_sum > 0.15 && of_patches < 0.05 && of_patches < 0.25 * of_sum, "{of_sum} {of_patches}");
    assert!(found.model.layers().iter().all(|layer| layer.driver.combine == Combine::Subsets));
    assert!(found.model.most_components_per_vertex() <= 8);

    // Fields of a patch are perpendicular and of unit length, so that errors of coordinates are errors of the skin.
    let at = |vertex: u32| rig.mesh().positions()[vertex as usize];
    for layer in found.model.layers() {
        // Copies of a vertex at a seam are one point.
        let copies = |vertex: u32| {
            layer.support.iter().filter(|&&other| at(other).distance(at(vertex)) < 1e-5).count() as f64
        };
        let copies: Vec<f64> = layer.support.iter().map(|&vertex| copies(vertex)).collect();
        let fields: Vec<&[Vec3]> = layer.basis.positions.chunks_exact(layer.support.len()).collect();
        for (a, field) in fields.iter().enumerate() {
            for (b, other) in fields.iter().enumerate().take(a + 1) {
                let pairs = field.iter().zip(*other).zip(&copies);
                let product: f64 =
                    pairs.map(|((x, y), copies)| x.as_dvec3().dot(y.as_dvec3()) / copies).sum();
                let wanted = if a == b { 1.0 } else { 0.0 };
                let is_empty = a == b && product == 0.0;
                assert!(is_empty || (product - wanted).abs() < 1e-5, "{} {a} {b}: {product}", layer.name);
            }
        }
    }

    // At rest nothing happens.
    let model = Arc::new(found.model.clone());
    let (rest, _) = shape(&model, &rig.rest_pose());
    assert!(furthest(&rest, rig.mesh().positions()) < 1e-6 * rig.mesh().size());
    // The same examples give the same model, whatever the threads do.
    assert_eq!(patches(&training, &FEW).model, *model);
}

/// Without poses of single joints, joints matter where their skin is.
#[test]
fn poses_of_several_joints_alone_are_enough() {
    let rig = tube();
    let angles = || (1..=5).map(|i| 0.3 * f64::from(i));
    let grid: Vec<(f64, f64)> =
        angles().flat_map(|elbow| angles().map(move |wrist| (elbow, wrist))).collect();
    let found = patches(&set_of(&rig, &grid, 0.3), &FEW);
    let left = error(&found, &held_out(&rig, 0.3));
    assert!(left < 0.1, "{left}");
}

/// Five bones in a row, one long and .2 thick, each with skin of its own.
fn finger() -> Arc<Rig> {
    let joints = (0..5).map(|joint| Joint {
        name: format!("bone {joint}"),
        parent: usize::checked_sub(joint, 1),
        reference: None,
        joint_from_rest: DAffine3::from_translation(DVec3::new(-(joint as f64), 0.0, 0.0)),
    });
    let skeleton = Skeleton::new(joints.collect()).unwrap();
    let (mut skin, mut weights) = (Vec::new(), Vec::new());
    for slice in 0..40u32 {
        for side in 0..8u32 {
            let angle = std::f32::consts::TAU * side as f32 / 8.0;
            skin.push(Vec3::new((slice as f32 + 0.5) / 8.0, 0.2 * angle.cos(), 0.2 * angle.sin()));
            weights.push(vec![Influence { joint: slice / 8, weight: 1.0 }]);
        }
    }
    let triangles = (0..skin.len() as u32 - 2).map(|vertex| [vertex, vertex + 1, vertex + 2]).collect();
    let weights = SkinWeights::new(5, weights).unwrap().0;
    Arc::new(Rig::new(Mesh::new(skin, triangles, None).unwrap(), skeleton, weights, Vec::new()).unwrap())
}

/// A finger that curls by three angles of its own each time, many times so that it touches itself. The skin of its
/// first bone does what `truth` says of the pose (its joints' places) and of the angles.
fn curling(rig: &Arc<Rig>, seed: u64, count: usize, truth: impl Fn(&[DVec3], [f64; 3]) -> f64) -> ExampleSet {
    let mut random = SplitMix64::new(seed);
    let examples = (0..count).map(|index| {
        let angles = [0, 1, 2].map(|_| random.between(1.35, 1.55));
        let local = (0..5).map(|joint| {
            let turn = DQuat::from_rotation_z(if (1..4).contains(&joint) { angles[joint - 1] } else { 0.0 });
            DAffine3::from_rotation_translation(turn, if joint == 0 { DVec3::ZERO } else { DVec3::X })
        });
        let world_from_joint = rig.skeleton().forward_kinematics(&local.collect::<Vec<_>>());
        let pose = Pose { world_from_joint, controls: Vec::new() };
        let places: Vec<DVec3> = pose.world_from_joint.iter().map(|joint| joint.translation).collect();
        let amount = truth(&places, angles) as f32;
        let posed: Vec<DAffine3> = pose.posed_from_rest(rig.skeleton()).collect();
        let moved = rig.mesh().positions().iter().enumerate().map(|(vertex, &point)| {
            let joint = rig.weights().of(vertex)[0].joint as usize;
            let pushed = if joint == 0 { point + amount * Vec3::Y * point.x } else { point };
            posed[joint].transform_point3(pushed.as_dvec3()).as_vec3()
        });
        let positions = moved.collect();
        Example { name: index.to_string(), pose, positions, normals: None, inverted: None }
    });
    ExampleSet::new(rig.clone(), examples.collect()).unwrap()
}

/// How deep the fourth bone presses into the first, by looking at many points of both.
fn depth(places: &[DVec3]) -> f64 {
    let on = |from: usize, step: u32| places[from].lerp(places[from + 1], f64::from(step) / 100.0);
    let gaps = (0..=100).flat_map(|a| (0..=100).map(move |b| on(0, a).distance(on(3, b))));
    (0.4 - gaps.fold(f64::INFINITY, f64::min)).max(0.0)
}

#[test]
fn contact_drives_what_follows_it_and_nothing_else() {
    let rig = finger();
    let contacts = |fit: &Fit| -> Vec<usize> {
        let Learnt::Patches(report) = &fit.learnt else { panic!("another method") };
        report.patches.iter().map(|patch| patch.contacts).collect()
    };
    let pressed = |places: &[DVec3], _| -0.5 * depth(places);
    let (training, held_out) = (curling(&rig, 1, 100, pressed), curling(&rig, 2, 100, pressed));
    let touching = held_out
        .examples()
        .iter()
        .filter(|e| depth(&e.pose.world_from_joint.iter().map(|j| j.translation).collect::<Vec<_>>()) > 0.05);
    let touching = touching.count();
    assert!((20..60).contains(&touching), "{touching}");
    let found = patches(&training, &FEW);
    assert!(contacts(&found).iter().any(|&count| count > 0));
    let left = error(&found, &held_out);
    assert!(left < 0.1, "{left}");

    // The same poses, with skin that follows the angles.
    let bent = |_: &[DVec3], angles: [f64; 3]| 0.1 * (angles[0] - 0.5 * angles[1]);
    let found = patches(&curling(&rig, 1, 100, bent), &FEW);
    assert!(contacts(&found).iter().all(|&count| count == 0), "{:?}", contacts(&found));
    assert!(error(&found, &curling(&rig, 2, 100, bent)) < 0.05);
}

#[test]
fn limits_hold_and_nonsense_is_refused() {
    let training = training(&tube(), 0.3);
    let seen = Observations::of(&training, &Base::default(), true, &Unwatched).unwrap();
    for most in [1, 3, 4, 11, 24] {
        let small = fit(&seen, &Method::Patches(FEW), Some(most), &Unwatched).unwrap().model;
        assert!((1..=most).contains(&small.component_count()), "{most}: {}", small.component_count());
    }
    for params in [PatchesParams { patches: 0, ..FEW }, PatchesParams { per_vertex: 0, ..FEW }] {
        let refused = fit(&seen, &Method::Patches(params), None, &Unwatched).unwrap_err();
        assert!(matches!(refused, FitError::Parameter { .. }), "{refused}");
    }
    // More patches than points are as many as there are points.
    let many = PatchesParams { patches: 100_000, per_vertex: 2, normals: false };
    assert!(patches(&training, &many).model.component_count() <= training.rig().vertex_count());
}
