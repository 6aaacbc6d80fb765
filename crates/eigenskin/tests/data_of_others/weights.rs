//! Skin weights from the examples of others: a simulated soft bone, and a hand bent by finite
//! elements.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_fit::method::{ParameterizationParams, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::solve_weights::{SolveWeightsParams, skinning_error, solve_weights};
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_examples;

use crate::data;

fn set(path: &str) -> ExampleSet {
    read_examples(data().join(path), &ReadOptions::default()).unwrap().1
}

/// Errors of 100 of skinning and of skinning with 8 signals per vertex learnt from `training`, on
/// both sets.
fn errors(training: &ExampleSet, rig: &Arc<Rig>, held_out: &ExampleSet) -> [[f64; 2]; 2] {
    let params = ParameterizationParams { signals_per_vertex: Some(8), ..ParameterizationParams::default() };
    let weighted = training.clone().for_rig(rig).unwrap();
    let fit = fit_examples(&weighted, &Base::default(), &params.into(), &Unwatched).unwrap();
    let model = Arc::new(fit.model);
    assert!(model.most_components_per_vertex() <= 8);
    [training, held_out].map(|set| {
        let corrected = evaluate_against(&model, set, &Unwatched).unwrap().model;
        [skinning_error(rig, set, &Unwatched).unwrap().rmse_of_100, corrected.rmse_of_100]
    })
}

#[test]
fn solved_weights_are_better_and_a_correction_on_them_is_better_still() {
    let bone = set("dem-bones/bone_anim.npz");
    let every = |step: usize, first: usize| (first..bone.len()).step_by(step).collect::<Vec<_>>();
    let odd = bone.select(&every(2, 1)).unwrap();
    let hand = set("fem-hand/train.npz");
    let held_out = set("fem-hand/held_out.npz").for_rig(hand.rig()).unwrap();
    for (name, training, held_out) in [
        ("bone, even frames", bone.select(&every(2, 0)).unwrap(), &odd),
        ("bone, every tenth", bone.select(&every(10, 0)).unwrap(), &odd),
        ("hand", hand, &held_out),
    ] {
        let solved = solve_weights(&training, &SolveWeightsParams::default(), &Unwatched).unwrap();
        let given = errors(&training, training.rig(), held_out);
        let own = errors(&training, &solved.rig, held_out);
        println!("{name}: [skinning, with 8] on training and held out, of 100: {given:.4?} → {own:.4?}");
        for (given, own) in given.iter().zip(&own) {
            assert!(own[0] < given[0] && own[1] < given[1] && own[1] < own[0], "{name}");
        }
        let many = SolveWeightsParams { influences: 12, ..Default::default() };
        let limited = solve_weights(&training, &many, &Unwatched).unwrap();
        assert!(limited.after.rmse <= limited.before.rmse && solved.after.rmse <= solved.before.rmse);
    }
}
