//! Patches: poses of one joint and of several in one kernel.

use std::sync::Arc;

use eigenskin_characters::tube::tube;
use eigenskin_core::deformers::Base;
use eigenskin_core::driver::Combine;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::method::{EigenSkinParams, Fit, FitError, Method, PatchesParams, fit, fit_examples};
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
