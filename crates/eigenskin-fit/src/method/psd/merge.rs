//! Fewer fields for files with a limit: principal components of each layer's fields.
//!
//! Layers keep their drivers' centres; each gives up the directions of its fields that matter least,
//! measured over its own examples, where the weights of a pose space deformation are 0 and 1.

use eigenskin_core::driver::{Clamp, Driver, Interpolant};

use crate::drivers::clamp_beyond;
use crate::numeric::Matrix;

/// How many directions each layer keeps of `most`: those that matter most, by their squared lengths
/// (`layer` → falling).
pub(super) fn kept_directions<'a>(values: impl Iterator<Item = &'a [f64]>, most: usize) -> Vec<usize> {
    let mut strongest: Vec<(f64, usize)> = Vec::new();
    let mut count = 0;
    for (layer, values) in values.enumerate() {
        strongest.extend(values.iter().map(|&value| (value, layer)));
        count = layer + 1;
    }
    strongest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut kept = vec![0; count];
    for &(_, layer) in &strongest[..most.min(strongest.len())] {
        kept[layer] += 1;
    }
    kept
}

/// The first columns of `vectors` (`component × direction`), with signs that save morph targets: most
/// weights are positive between examples, so a sum of shares that is positive is good.
pub(super) fn signed_directions(vectors: &Matrix, kept: usize) -> Matrix {
    let components = vectors.nrows();
    let sign =
        |d: usize| if (0..components).map(|c| vectors[(c, d)]).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
    let signs: Vec<f64> = (0..kept).map(sign).collect();
    Matrix::from_fn(components, kept, |component, direction| {
        signs[direction] * vectors[(component, direction)]
    })
}

/// The driver with its outputs mixed, `output × mixture`.
pub(super) fn mixed_driver(driver: &Driver, shares: &Matrix) -> Driver {
    let (outputs, kept) = (shares.nrows(), shares.ncols());
    let share = |output: usize, mixture: usize| shares[(output, mixture)];
    let mix = |rows: &[f64]| -> Vec<f64> {
        let mix_row = |row: &[f64], direction| (0..outputs).map(|o| row[o] * share(o, direction)).sum();
        rows.chunks_exact(outputs).flat_map(|row| (0..kept).map(move |d| mix_row(row, d))).collect()
    };
    let interpolant = match &driver.interpolant {
        Interpolant::Rbf { kernel, centres, widths, coefficients, tail } => Interpolant::Rbf {
            kernel: *kernel,
            centres: centres.clone(),
            widths: widths.clone(),
            coefficients: mix(coefficients),
            tail: tail.map(mix),
        },
        Interpolant::Shepard { centres, values, power, epsilon } => Interpolant::Shepard {
            centres: centres.clone(),
            values: mix(values),
            power: *power,
            epsilon: *epsilon,
        },
        Interpolant::Linear { coefficients } => Interpolant::Linear { coefficients: mix(coefficients) },
    };
    // Weights of examples go up to 1 + margin; their mixtures go as far beyond their own range over
    // the examples.
    let clamp = match &driver.clamp {
        Clamp::None => Clamp::None,
        Clamp::Range { highest, .. } => {
            let margin = highest.first().map_or(0.0, |highest| highest - 1.0);
            let range = |direction: usize| {
                let shares = (0..outputs).map(|output| share(output, direction));
                shares.fold((0.0, 0.0), |(low, high): (f64, f64), s| (low.min(s), high.max(s)))
            };
            clamp_beyond((0..kept).map(range), |low, high| margin * (high - low))
        }
    };
    Driver { groups: driver.groups.clone(), combine: driver.combine, interpolant, clamp }
}
