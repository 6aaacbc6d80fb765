//! Parameterization on a simulated soft bone with six joints, two of them roots.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{Fit, ParameterizationParams, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_examples;

use crate::data;

fn bone() -> ExampleSet {
    read_examples(data().join("dem-bones/bone_anim.npz"), &ReadOptions::default()).unwrap().1
}

/// Trains on the frames that `trained` picks and measures on all others.
fn left_out(
    all: &ExampleSet,
    trained: impl Fn(usize) -> bool,
    params: &ParameterizationParams,
) -> (f64, Fit) {
    let pick = |wanted: bool| (0..all.len()).filter(|&f| trained(f) == wanted).collect::<Vec<_>>();
    let (seen, method) = (all.select(&pick(true)).unwrap(), params.clone().into());
    let fit = fit_examples(&seen, &Base::default(), &method, &Unwatched).unwrap();
    let model = Arc::new(fit.model.clone());
    let unseen = all.select(&pick(false)).unwrap();
    let error = evaluate_against(&model, &unseen, &Unwatched).unwrap().relative_error.unwrap();
    (error, fit)
}

/// Frames that were not seen, between those that were (even, every tenth) and beyond them (a half).
#[test]
fn frames_left_out_are_predicted() {
    let all = bone();
    let splits: [(&str, &dyn Fn(usize) -> bool); 3] = [
        ("even frames", &|f| f % 2 == 0),
        ("every tenth frame", &|f| f % 10 == 0),
        ("the first half", &|f| f < 200),
    ];
    let mut worst = 0f64;
    let limits = [(Some(12), [0.03, 0.05, 0.15]), (None, [0.005, 0.03, 0.10])];
    for (signals_per_vertex, bounds) in limits {
        let params = ParameterizationParams { signals_per_vertex, ..ParameterizationParams::default() };
        for ((name, trained), bound) in splits.iter().zip(bounds) {
            let start = std::time::Instant::now();
            let (error, fit) = left_out(&all, trained, &params);
            let learnt = fit.learnt.parameterization().unwrap();
            println!(
                "{name}, {signals_per_vertex:?} signals: {error:.4} of {bound}, {:.2} s, expected {:?}, lost {:.4}",
                start.elapsed().as_secs_f64(),
                learnt.cross_validation,
                learnt.rest_space_error
            );
            for part in &learnt.parts {
                println!(
                    "    {} {:?}: {} signals, smoothing {}, cv {:.4?}, {} vertices, condition {:.1e}",
                    part.name,
                    part.drivers,
                    part.signal_count,
                    part.smoothing,
                    part.cross_validation,
                    part.vertex_count,
                    part.condition
                );
            }
            if let Some(limit) = signals_per_vertex {
                assert!(fit.model.most_components_per_vertex() <= limit);
            }
            worst = worst.max(error / bound);
        }
    }
    assert!(worst <= 1.0, "{worst} of what is allowed");
}
