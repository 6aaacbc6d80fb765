//! A model transferred to other meshes of the same character.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail and say why")]

use std::sync::Arc;

use eigenskin_characters::truth::SweptSkin;
use eigenskin_characters::{Character, arm, hand};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::Model;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::weights::SkinWeights;
use eigenskin_fit::method::{Budget, EigenSkinParams, PsdParams};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::solve_weights::{SolveWeightsParams, solve_weights};
use eigenskin_fit::transfer::{TransferError, TransferParams, transfer_examples, transfer_model};

use crate::support::learn;

/// The swept skin in poses of one joint each.
fn truth(character: &Character, poses: Vec<eigenskin_core::articulation::NamedPose>) -> ExampleSet {
    SweptSkin::new(character).examples(poses).unwrap()
}

fn fit(set: &ExampleSet, per_vertex: usize) -> Model {
    let budget = Budget { per_vertex: Some(per_vertex), ..Budget::default() };
    learn(set, &EigenSkinParams { budget, ..EigenSkinParams::default() }).unwrap().model
}

fn within(per_vertex: Option<usize>) -> Budget {
    Budget { per_vertex, per_joint: None, total: None }
}

#[test]
fn coarse_levels_are_nearly_as_good_as_fitted_ones() {
    let fine = hand(55_904).unwrap();
    let trained = truth(&fine, fine.single_joint_poses(4));
    let model = Arc::new(fit(&trained, 10));
    let on_fine =
        evaluate_against(&model, &truth(&fine, fine.single_joint_poses_between(4)), &Unwatched).unwrap();
    println!(
        "55904 triangles: skinning {:.4}, fitted {:.4} of 100",
        on_fine.skinning.rmse_of_100, on_fine.model.rmse_of_100
    );
    for (triangles, per_vertex) in [(13_976, 10), (3_500, 10), (3_500, 5)] {
        let coarse = hand(triangles).unwrap();
        let held_out = truth(&coarse, coarse.single_joint_poses_between(4));
        let direct = Arc::new(fit(&truth(&coarse, coarse.single_joint_poses(4)), per_vertex));
        let direct = evaluate_against(&direct, &held_out, &Unwatched).unwrap();
        let start = std::time::Instant::now();
        let params = TransferParams { budget: within(Some(per_vertex)), ..TransferParams::default() };
        let transferred = transfer_model(&model, &coarse.rig, &params, &[], &Unwatched).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        assert!(transferred.model.most_components_per_vertex() <= per_vertex);
        let error = evaluate_against(&Arc::new(transferred.model.clone()), &held_out, &Unwatched).unwrap();
        println!(
            "{triangles} triangles, {per_vertex} per vertex: skinning {:.4}, fitted {:.4}, transferred {:.4} of 100 ({:.3} ×), {} of {} components, {seconds:.2} s",
            error.skinning.rmse_of_100,
            direct.model.rmse_of_100,
            error.model.rmse_of_100,
            error.model.rmse / direct.model.rmse,
            transferred.model.component_count(),
            transferred.source_components,
        );
        assert!(error.model.rmse <= 1.3 * direct.model.rmse, "{triangles}");
        assert_eq!(transferred.correspondence.against, 0);
        // Skinning is measured with the weights that the coarse rig has.
        assert_eq!(error.skinning, direct.skinning);
    }
}

fn shapes(model: &Model, set: &ExampleSet) -> Vec<(Vec<Vec3>, Vec<Vec3>)> {
    let mut evaluator = Evaluator::new(Arc::new(model.clone()));
    let shape = |example: &Example| {
        let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
        let mut normals = positions.clone();
        evaluator.evaluate(&example.pose, &mut positions, Some(&mut normals));
        (positions, normals)
    };
    set.examples().iter().map(shape).collect()
}

/// The largest difference of positions and of normals.
fn difference(a: &[(Vec<Vec3>, Vec<Vec3>)], b: &[(Vec<Vec3>, Vec<Vec3>)]) -> [f32; 2] {
    let far = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    let pairs = a.iter().zip(b);
    pairs.fold([0.0; 2], |[p, n], (a, b)| [p.max(far(&a.0, &b.0)), n.max(far(&a.1, &b.1))])
}

#[test]
fn on_the_same_mesh_it_is_the_same_model() {
    let character = hand(3_000).unwrap();
    let set = truth(&character, character.single_joint_poses(2));
    let eigenskin = fit(&set, 10);
    // Layers after skinning, in the frames of joints.
    let forward =
        eigenskin_fit::method::DeltaSpace::Forward { frame: eigenskin_core::model::Frame::HeaviestJoint };
    let psd = learn(&set, &PsdParams { deltas: forward, ..PsdParams::default() }).unwrap().model;
    let solved = solve_weights(&set, &SolveWeightsParams::default(), &Unwatched).unwrap();
    let on_solved = fit(&set.clone().for_rig(&solved.rig).unwrap(), 10);
    let on_solved = on_solved.with_input_rig(character.rig.clone()).unwrap();
    for (name, model) in [("eigenskin", eigenskin), ("forward psd", psd), ("solved weights", on_solved)] {
        for averaging in [0.0, 1.0] {
            let params = TransferParams { averaging, ..TransferParams::default() };
            let transferred = transfer_model(&model, &character.rig, &params, &[], &Unwatched).unwrap();
            let [positions, normals] = difference(&shapes(&model, &set), &shapes(&transferred.model, &set));
            let size = character.rig.mesh().size() as f32;
            assert!(positions <= 1e-6 * size && normals <= 1e-6, "{name}: {positions} {normals}");
            assert_eq!(transferred.model.component_count(), model.component_count(), "{name}");
            assert_eq!(transferred.model.rig().weights(), model.rig().weights(), "{name}");
            assert_eq!(transferred.model.input_rig(), model.input_rig(), "{name}");
        }
    }
}

/// The tube with more rings than the one that was learnt on, other triangles, and a seam elsewhere.
fn finer_tube(coarse: &Rig) -> Arc<Rig> {
    let (rings, around) = (31, 17);
    let mut positions = Vec::new();
    for ring in 0..rings {
        let x = 6.0 * ring as f32 / (rings - 1) as f32;
        for k in 0..around {
            let angle = std::f32::consts::TAU * (0.3 + (k % (around - 1)) as f32 / (around - 1) as f32);
            positions.push(Vec3::new(x, 0.5 * angle.cos(), 0.5 * angle.sin()));
        }
    }
    let at = |ring: usize, k: usize| (ring * around + k) as u32;
    let quads = (0..rings - 1).flat_map(|ring| (0..around - 1).map(move |k| (ring, k)));
    let triangles = quads
        .flat_map(|(r, k)| {
            [[at(r, k), at(r, k + 1), at(r + 1, k + 1)], [at(r, k), at(r + 1, k + 1), at(r + 1, k)]]
        })
        .collect();
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let all_root =
        vec![vec![eigenskin_core::weights::Influence { joint: 0, weight: 1.0 }]; mesh.vertex_count()];
    let weights = SkinWeights::new(3, all_root).unwrap().0;
    let controls = coarse.controls().to_vec();
    Arc::new(Rig::new(mesh, coarse.skeleton().clone(), weights, controls).unwrap())
}

#[test]
fn seams_stay_closed_and_a_finer_mesh_follows_the_coarse_one() {
    let rig = eigenskin_characters::tube::tube();
    let set = eigenskin_characters::tube::sweeps(&rig);
    let model = fit(&set, 20);
    let fine = finer_tube(&rig);
    let transferred = transfer_model(&model, &fine, &TransferParams::default(), &[], &Unwatched).unwrap();
    let shown = shapes(&transferred.model, &set);
    let around = 17;
    for (positions, normals) in &shown {
        for ring in 0..31 {
            let (first, last) = (ring * around, ring * around + around - 1);
            assert_eq!(positions[first], positions[last], "the seam opens at ring {ring}");
            assert!(normals[first].distance(normals[last]) < 1e-3);
        }
    }
    // The transferred truth is where the coarse truth is: on the same curve at the rings that both have.
    let truth = transfer_examples(&set, &transferred, &fine, &Unwatched).unwrap();
    let error = evaluate_against(&Arc::new(transferred.model.clone()), &truth, &Unwatched).unwrap();
    let own = evaluate_against(&Arc::new(model), &set, &Unwatched).unwrap();
    println!("coarse {:.4} of 100, on the finer tube {:.4}", own.model.rmse_of_100, error.model.rmse_of_100);
    assert!(error.model.rmse < 0.35 * own.skinning.rmse, "{} {}", error.model.rmse, own.skinning.rmse);
}

#[test]
fn averaging_calms_noisy_fields() {
    let fine = hand(13_976).unwrap();
    let model = fit(&truth(&fine, fine.single_joint_poses(2)), 10);
    let mut random = 1u32;
    let mut noise = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let mut layers = model.layers().to_vec();
    for layer in &mut layers {
        let largest = layer.basis.positions.iter().map(|d| d.length()).fold(0.0, f32::max);
        for displacement in &mut layer.basis.positions {
            *displacement += 0.5 * largest * Vec3::new(noise(), noise(), noise());
        }
    }
    let noisy = Model::new(model.rig().clone(), model.base().clone(), layers).unwrap();
    let coarse = hand(2_000).unwrap();
    let held_out = truth(&coarse, coarse.single_joint_poses_between(2));
    let [point, mean] = [0.0, 1.0].map(|averaging| {
        let params = TransferParams { averaging, ..TransferParams::default() };
        let transferred = transfer_model(&noisy, &coarse.rig, &params, &[], &Unwatched).unwrap();
        evaluate_against(&Arc::new(transferred.model), &held_out, &Unwatched).unwrap().model.rmse_of_100
    });
    println!("noisy fields: point {point:.4}, mean {mean:.4} of 100");
    assert!(mean < 0.8 * point);
}

#[test]
fn other_characters_and_other_binds_are_refused() {
    let character = hand(3_000).unwrap();
    let model = fit(&truth(&character, character.single_joint_poses(2)), 10);
    let params = TransferParams::default();
    let arm = arm(3_000).unwrap();
    let error = transfer_model(&model, &arm.rig, &params, &[], &Unwatched).unwrap_err();
    assert!(matches!(error, TransferError::MissingJoint { .. }), "{error}");
    // The same joints, but a skin that lies elsewhere.
    let rig = &character.rig;
    let with_positions = |change: &dyn Fn(Vec3) -> Vec3| {
        let positions = rig.mesh().positions().iter().map(|&p| change(p)).collect();
        let mesh = Mesh::new(positions, rig.mesh().triangles().to_vec(), None).unwrap();
        Arc::new(Rig::new(mesh, rig.skeleton().clone(), rig.weights().clone(), Vec::new()).unwrap())
    };
    let error =
        transfer_model(&model, &with_positions(&|p| 100.0 * p), &params, &[], &Unwatched).unwrap_err();
    assert!(
        matches!(error, TransferError::NoOverlap { .. }) && error.to_string().contains("unit"),
        "{error}"
    );
    // A joint that rests elsewhere.
    let mut joints = rig.skeleton().joints().to_vec();
    joints[5].joint_from_rest *= eigenskin_core::glam::DAffine3::from_rotation_x(0.2);
    let skeleton = eigenskin_core::skeleton::Skeleton::new(joints).unwrap();
    let moved = Rig::new(rig.mesh().clone(), skeleton, rig.weights().clone(), Vec::new()).unwrap();
    let error = transfer_model(&model, &Arc::new(moved), &params, &[], &Unwatched).unwrap_err();
    assert!(
        matches!(&error, TransferError::OtherBind { name, .. } if *name == rig.skeleton().joints()[5].name)
    );
}

/// A sheet of 9 × 9 vertices at height `z`, with its normals up or down.
fn sheet(z: f32, up: bool) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let positions = (0..81).map(|k| Vec3::new((k % 9) as f32 / 8.0, (k / 9) as f32 / 8.0, z)).collect();
    let cells = (0..64).map(|k| (k / 8 * 9 + k % 8) as u32);
    let halves = cells.flat_map(|k| [[k, k + 1, k + 10], [k, k + 10, k + 9]]);
    (positions, halves.map(|[a, b, c]| if up { [a, b, c] } else { [a, c, b] }).collect())
}

/// Two sheets, one facing up and one down.
fn two_sheets(upper: f32, lower: f32) -> Arc<Rig> {
    let ((mut positions, mut triangles), (more, others)) = (sheet(upper, true), sheet(lower, false));
    positions.extend(more);
    triangles.extend(others.iter().map(|t| t.map(|v| v + 81)));
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let weights = SkinWeights::none(162);
    let controls = vec![eigenskin_core::rig::Control { name: "lift".into(), default: 0.0 }];
    Arc::new(Rig::new(mesh, eigenskin_core::skeleton::Skeleton::empty(), weights, controls).unwrap())
}

/// Two sides that lie close, as fingers do: the nearest point is on the wrong one.
#[test]
fn a_vertex_does_not_jump_to_the_other_side() {
    use eigenskin_core::driver::{Clamp, Combine, Driver, FeatureGroup, Interpolant};
    use eigenskin_core::model::{DisplacementBasis, Layer, Stage};
    let source = two_sheets(0.01, -0.01);
    let layer = Layer {
        name: "lift".into(),
        support: (0..81).collect(),
        basis: DisplacementBasis { positions: vec![Vec3::Z; 81], normals: Vec::new() },
        driver: Driver {
            groups: vec![FeatureGroup::control(0, 0.0)],
            combine: Combine::Distance,
            interpolant: Interpolant::Linear { coefficients: vec![1.0] },
            clamp: Clamp::None,
        },
        stage: Stage::BeforeSkinning,
    };
    let base = eigenskin_core::skinning::BaseSkinning::LinearBlend;
    let model = Model::new(source, base, vec![layer]).unwrap();
    // Both sheets of the target lie nearer to the other sheet of the source.
    let target = two_sheets(-0.004, 0.004);
    let transferred = transfer_model(&model, &target, &TransferParams::default(), &[], &Unwatched).unwrap();
    assert_eq!(transferred.model.layers()[0].support, (0..81).collect::<Vec<u32>>());
    assert_eq!(transferred.correspondence.against, 0);
    let nameless = Rig::new(target.mesh().clone(), target.skeleton().clone(), SkinWeights::none(162), vec![]);
    let error =
        transfer_model(&model, &Arc::new(nameless.unwrap()), &TransferParams::default(), &[], &Unwatched)
            .unwrap_err();
    assert_eq!(error, TransferError::MissingControl { name: "lift".into() });
}
