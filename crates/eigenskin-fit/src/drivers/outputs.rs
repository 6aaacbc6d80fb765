//! Drivers with other outputs.

use eigenskin_core::driver::{Clamp, Driver, Interpolant};

/// The driver with only some of its outputs, in the given order.
pub(crate) fn with_outputs(driver: &Driver, output_count: usize, kept: &[usize]) -> Driver {
    let chosen = |rows: &[f64]| -> Vec<f64> {
        rows.chunks_exact(output_count).flat_map(|row| kept.iter().map(|&output| row[output])).collect()
    };
    let interpolant = match &driver.interpolant {
        Interpolant::Rbf { kernel, centres, widths, coefficients, tail } => Interpolant::Rbf {
            kernel: *kernel,
            centres: centres.clone(),
            widths: widths.clone(),
            coefficients: chosen(coefficients),
            tail: tail.map(chosen),
        },
        Interpolant::Shepard { centres, values, power, epsilon } => Interpolant::Shepard {
            centres: centres.clone(),
            values: chosen(values),
            power: *power,
            epsilon: *epsilon,
        },
        Interpolant::Linear { coefficients } => Interpolant::Linear { coefficients: chosen(coefficients) },
    };
    let clamp = match &driver.clamp {
        Clamp::None => Clamp::None,
        Clamp::Range { lowest, highest } => Clamp::Range { lowest: chosen(lowest), highest: chosen(highest) },
    };
    Driver { groups: driver.groups.clone(), combine: driver.combine, interpolant, clamp }
}
