//! A model carried to other meshes of the same character.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod support;

use std::sync::Arc;

use eigenskin::carry::{CarryError, CarryParams, carry_examples, carry_model};
use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, arm, hand};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::fit::{Budget, EigenSkinParams, PsdParams, fit_eigenskin, fit_psd};
use eigenskin::glam::Vec3;
use eigenskin::mesh::Mesh;
use eigenskin::metrics::evaluate_against;
use eigenskin::model::Model;
use eigenskin::rig::Rig;
use eigenskin::solve_weights::{SolveWeightsParams, solve_weights};
use eigenskin::weights::SkinWeights;

/// The swept skin in poses of one joint each.
fn truth(character: &Character, poses: Vec<eigenskin::articulation::NamedPose>) -> ExampleSet {
    let skin = SweptSkin::new(character);
    let examples = poses.into_iter().map(|posed| Example {
        positions: skin.shape(&posed.pose),
        name: posed.name,
        pose: posed.pose,
        normals: None,
        inverted: None,
    });
    ExampleSet::new(character.rig.clone(), examples.collect()).unwrap()
}

fn fit(set: &ExampleSet, per_vertex: usize) -> Model {
    let budget = Budget { per_vertex: Some(per_vertex), ..Budget::default() };
    fit_eigenskin(set, &EigenSkinParams { budget, ..EigenSkinParams::default() }).unwrap().model
}

fn within(per_vertex: Option<usize>) -> Budget {
    Budget { per_vertex, per_joint: None, total: None }
}

#[test]
fn coarse_levels_are_nearly_as_good_as_fitted_ones() {
    let fine = hand(55_904).unwrap();
    let trained = truth(&fine, fine.single_joint_poses(4));
    let model = Arc::new(fit(&trained, 10));
    let on_fine = evaluate_against(&model, &truth(&fine, fine.single_joint_poses_between(4)));
    println!(
        "55904 triangles: skinning {:.4}, fitted {:.4} of 100",
        on_fine.skinning.rmse_of_100, on_fine.model.rmse_of_100
    );
    for (triangles, per_vertex) in [(13_976, 10), (3_500, 10), (3_500, 5)] {
        let coarse = hand(triangles).unwrap();
        let held_out = truth(&coarse, coarse.single_joint_poses_between(4));
        let direct = Arc::new(fit(&truth(&coarse, coarse.single_joint_poses(4)), per_vertex));
        let direct = evaluate_against(&direct, &held_out);
        for averaging in [0.0, 1.0] {
            let start = std::time::Instant::now();
            let params =
                CarryParams { budget: within(Some(per_vertex)), averaging, ..CarryParams::default() };
            let carried = carry_model(&model, &coarse.rig, &params).unwrap();
            let seconds = start.elapsed().as_secs_f64();
            assert!(carried.model.most_tuples_per_vertex() <= per_vertex);
            let error = evaluate_against(&Arc::new(carried.model.clone()), &held_out);
            println!(
                "{triangles} triangles, {per_vertex} per vertex, averaging {averaging}: skinning {:.4}, fitted {:.4}, carried {:.4} of 100 ({:.3} ×), {} of {} components, gap {:.2e}, {} against, {seconds:.2} s",
                error.skinning.rmse_of_100,
                direct.model.rmse_of_100,
                error.model.rmse_of_100,
                error.model.rmse / direct.model.rmse,
                carried.model.component_count(),
                carried.source_components,
                carried.correspondence.gaps().iter().copied().fold(0.0, f64::max),
                carried.correspondence.against,
            );
        }
    }
}
