//! The paper's method on a hand bent by finite elements: supports and components that predict.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{Budget, EigenSkinParams, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::supports::SupportParams;
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_examples;

use crate::data;

fn read(path: &str) -> ExampleSet {
    read_examples(data().join(path), &ReadOptions::default()).unwrap().1
}

/// Learnt from poses of one joint, judged by poses of many. With five components per vertex the best cut leaves two
/// joints without any, and gains from that: corrections of neighbours do not simply add. Poses of one joint cannot
/// tell.
#[test]
fn supports_and_budgets_that_predict() {
    let training = read("fem-hand/train.npz");
    let held_out = read("fem-hand/held_out.npz").for_rig(training.rig()).unwrap();
    let left = |per_vertex: usize, threshold: Option<f64>| {
        let params = EigenSkinParams {
            support: SupportParams { threshold, ..SupportParams::default() },
            budget: Budget { per_vertex: Some(per_vertex), ..Budget::default() },
            ..EigenSkinParams::default()
        };
        let fit = fit_examples(&training, &Base::default(), &params.into(), &Unwatched).unwrap();
        let found = evaluate_against(&Arc::new(fit.model), &held_out, &Unwatched).unwrap();
        found.relative_error.unwrap()
    };
    let mut smaller_budget = f64::INFINITY;
    for (per_vertex, allowed) in [(3, 1.05), (5, 1.17), (8, 1.05), (10, 1.05), (15, 1.05)] {
        let chosen = left(per_vertex, None);
        let cuts = [0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5].map(|cut| left(per_vertex, Some(cut)));
        let best = cuts.into_iter().fold(f64::INFINITY, f64::min);
        println!("{per_vertex} per vertex: {chosen:.3}, best cut {best:.3}");
        assert!(chosen <= allowed * best, "{per_vertex} per vertex: {chosen} instead of {best}");
        assert!(chosen <= 1.02 * smaller_budget, "{per_vertex} per vertex: {chosen} after {smaller_budget}");
        smaller_budget = chosen;
    }
    // Without prediction: .376 with eight per vertex, .342 with ten.
    assert!(left(8, None) < 0.35 && left(10, None) < 0.34);
}
