//! Joints that move together: what a sum of joints cannot express is learnt by layers of pairs.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, sweeps, tube};
use eigenskin_core::driver::Combine;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{Budget, Coupling, EigenSkinParams, Fit};
use eigenskin_fit::metrics::evaluate_against;

use crate::support::coupled::{held_out, training, true_shape};
use crate::support::{furthest, learn, shape};

fn fit(set: &ExampleSet, coupling: Coupling) -> Fit {
    learn(set, &EigenSkinParams { coupling, ..EigenSkinParams::default() }).unwrap()
}

fn error(fit: &Fit, truth: &ExampleSet) -> f64 {
    evaluate_against(&Arc::new(fit.model.clone()), truth, &Unwatched).unwrap().relative_error.unwrap()
}

fn is_product(model: &Model) -> bool {
    model.layers().iter().any(|layer| layer.driver.combine == Combine::Product)
}

#[test]
fn a_product_is_learnt_by_the_pair_and_not_by_the_sum() {
    let rig = tube();
    let (training, held_out) = (training(&rig, 0.3), held_out(&rig, 0.3));
    let (additive, coupled) = (fit(&training, Coupling::Additive), fit(&training, Coupling::Automatic));
    assert!(!is_product(&additive.model) && is_product(&coupled.model));
    let (of_sum, of_pair) = (error(&additive, &held_out), error(&coupled, &held_out));
    assert!(of_sum > 0.15 && of_pair < 0.05 && of_pair < 0.25 * of_sum, "sum {of_sum}, pair {of_pair}");
    let report = coupled.learnt.eigenskin().unwrap().coupling.as_ref().unwrap();
    assert_eq!(report.multi_joint_examples, 16);
    assert_eq!(report.pairs.len(), 1);
    assert_eq!(report.pairs[0].names, ["elbow", "wrist"]);
    assert!(report.pairs[0].gain > 0.5 && report.coupled_error < 0.5 * report.additive_error);
}

/// A load makes what two joints do together larger: no pair says that, three do.
#[test]
fn what_three_do_together_is_learnt_by_a_layer_of_three() {
    let rig = tube();
    let set = |angles: &[f64], loads: &[f64], alone: bool| {
        let mut examples = Vec::new();
        let mut add = |elbow: f64, wrist: f64, load: f64| {
            let pose = pose(&rig, DVec3::Y * elbow, DVec3::Z * wrist, load);
            // At rest the load is 0.25.
            let positions = true_shape(&rig, &pose, elbow, wrist, 0.2 + 0.8 * (load - 0.25));
            let name = format!("{elbow:.2} {wrist:.2} {load:.2}");
            examples.push(Example { name, pose, positions, normals: None, inverted: None });
        };
        for &angle in angles.iter().filter(|_| alone) {
            add(angle, 0.0, 0.25);
            add(0.0, angle, 0.25);
        }
        for &load in loads {
            for &elbow in angles {
                for &wrist in angles {
                    add(elbow, wrist, load);
                }
            }
        }
        ExampleSet::new(rig.clone(), examples).unwrap()
    };
    let training = set(&[0.4, 0.8, 1.15, 1.5], &[0.25, 0.6, 1.0], true);
    let held_out = set(&[0.25, 0.6, 1.3], &[0.4, 0.8], false);
    let coupled = fit(&training, Coupling::Automatic);
    let report = coupled.learnt.eigenskin().unwrap().coupling.clone().unwrap();
    assert!(
        report.pairs.iter().any(|group| group.names == ["elbow", "wrist", "heavy"]),
        "{:?}",
        report.pairs
    );
    let (sum, three) = (error(&fit(&training, Coupling::Additive), &held_out), error(&coupled, &held_out));
    println!("sum {sum:.3}, pairs and three {three:.3}");
    assert!(three < 0.4 * sum, "{sum} {three}");
}

#[test]
fn a_sum_is_left_a_sum() {
    let rig = tube();
    let coupled = fit(&training(&rig, 0.0), Coupling::Automatic);
    assert!(!is_product(&coupled.model), "{:?}", coupled.learnt.eigenskin().unwrap().coupling);
    let left = error(&coupled, &held_out(&rig, 0.0));
    assert!(left < 0.05, "{left}");
}

/// What the paper's recipe gives is what all give while every example moves one joint.
#[test]
fn sets_of_single_joints_do_not_change() {
    let rig = tube();
    let set = sweeps(&rig);
    let paper = fit(&set, Coupling::None);
    for coupling in Coupling::ALL {
        let other = fit(&set, coupling);
        assert_eq!(other.model, paper.model);
        assert_eq!(other.learnt.eigenskin().unwrap().coupling, None);
    }
}

#[test]
fn rest_is_rest_and_the_whole_character_moves_along() {
    let rig = tube();
    let model = Arc::new(fit(&training(&rig, 0.3), Coupling::Automatic).model);
    let size = rig.mesh().size();
    let (positions, normals) = shape(&model, &rig.rest_pose());
    assert!(furthest(&positions, rig.mesh().positions()) < 1e-6 * size);
    assert!(furthest(&normals, rig.mesh().normals()) < 1e-5);
    let here = pose(&rig, DVec3::Y * 0.8, DVec3::Z * 1.1, 0.25);
    let moved =
        DAffine3::from_rotation_translation(DQuat::from_scaled_axis(DVec3::new(0.4, -1.0, 2.0)), DVec3::ONE);
    let along: Vec<Vec3> =
        shape(&model, &here).0.iter().map(|p| moved.transform_point3(p.as_dvec3()).as_vec3()).collect();
    assert!(furthest(&shape(&model, &here.moved_by(moved)).0, &along) < 1e-5 * size);
}

#[test]
fn budgets_hold_for_joints_and_pairs_together() {
    let rig = tube();
    let set = training(&rig, 0.3);
    for limit in 0..6 {
        let budget = Budget { per_vertex: Some(limit), per_joint: None, total: Some(5) };
        let fit = learn(&set, &EigenSkinParams { budget, ..EigenSkinParams::default() }).unwrap();
        assert!(fit.model.most_components_per_vertex() <= limit && fit.model.component_count() <= 5);
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let rig = tube();
    let set = training(&rig, 0.3);
    let fit_with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool.install(|| fit(&set, Coupling::Automatic));
        (fit.model, fit.learnt)
    };
    assert_eq!(fit_with(1), fit_with(2));
}

/// Normals follow the shape better than skinning lets them.
#[test]
fn normals_are_corrected_too() {
    let rig = tube();
    let fit = fit(&training(&rig, 0.3), Coupling::Automatic);
    let evaluation = evaluate_against(&Arc::new(fit.model), &held_out(&rig, 0.3), &Unwatched).unwrap();
    let angles = &evaluation.normal_angles;
    assert!(angles.model_mean < 0.5 * angles.skinning_mean, "{angles:?}");
}
