//! How much of the difference between two styles a style map leaves.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::metrics::vertex_errors;
use eigenskin_fit::style::{Regions, StyleMap, StyleParams};

/// Errors left of the gap between target and truth, by region.
pub fn left(label: &str, x: [&ExampleSet; 2], y1: &ExampleSet, truth: &ExampleSet) -> [f64; 2] {
    let gap = rmse(y1, truth);
    [Regions::Whole, Regions::joints()].map(|regions| {
        let params = StyleParams { regions, ..StyleParams::default() };
        let map = StyleMap::capture(x[0], x[1], y1, &params, &Unwatched).unwrap();
        let found = rmse(&map.transfer(y1, 1.0, &Unwatched).unwrap().set, truth);
        println!(
            "{label}, {regions:?}: {found:.3e} of a gap of {gap:.3e}, {:.3}; rank {}, carried {:.3}",
            found / gap,
            map.report.rank,
            map.report.carried
        );
        found / gap
    })
}

fn rmse(a: &ExampleSet, b: &ExampleSet) -> f64 {
    let errors: Vec<f32> = a
        .examples()
        .iter()
        .zip(b.examples())
        .flat_map(|(a, b)| vertex_errors(&a.positions, &b.positions))
        .collect();
    (errors.iter().map(|&e| f64::from(e).powi(2)).sum::<f64>() / errors.len() as f64).sqrt()
}
