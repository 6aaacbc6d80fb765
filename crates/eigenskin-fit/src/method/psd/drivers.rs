//! Cardinal drivers: one weight per example of a pose space, 1 at its own pose, 0 at rest, at all
//! others and at the anchors.

use std::collections::BTreeMap;

use eigenskin_core::driver::{Clamp, Combine, Driver, Interpolant};
use eigenskin_core::progress::Progress;

use super::spaces::MeasuredSpace;
use super::{DriverReport, PsdInterpolation, PsdParams};
use crate::drivers::{RbfError, RbfParams, Samples, Width, clamp_beyond, fit_rbf};
use crate::method::isometric::isometric_coordinates;
use crate::method::{FitError, Interpolated};
use crate::numeric::{Matrix, thin_svd};

/// Weights of a space's examples.
#[derive(Debug, Clone)]
pub struct CardinalDriver {
    /// outputs in the order of the space's examples
    pub driver: Driver,
    /// how it was found
    pub report: DriverReport,
}

/// Directions that the poses span by less than this share of the widest are noise.
const LINEAR_RANK: f64 = 1e-4;

/// Interpolates the weights of a space. `group_weights` (`group`) are factors of the squared
/// distances; `gram` are inner products of what its examples add (`example × example`), which
/// automatic widths look at.
pub fn cardinal_driver(
    space: &MeasuredSpace,
    names: &[&str],
    group_weights: &[f64],
    gram: &Matrix,
    params: &PsdParams,
    progress: &dyn Progress,
) -> Result<CardinalDriver, FitError> {
    let mut samples = space.all.select(&space.samples);
    for (group, &weight) in samples.groups.iter_mut().zip(group_weights) {
        group.weight = weight;
    }
    let count = space.space.examples.len();
    let mut identity = vec![0.0; samples.count() * count];
    for example in 0..count {
        identity[(example + 1) * count + example] = 1.0;
    }
    let (driver, report) = match &params.interpolation {
        PsdInterpolation::Rbf(rbf) => {
            radial(space, names, &samples, &identity, gram, rbf, &params.radii, progress)?
        }
        PsdInterpolation::Shepard { power, epsilon } => {
            let interpolant = Interpolant::Shepard {
                centres: samples.features.clone(),
                values: identity.clone(),
                power: *power,
                epsilon: *epsilon,
            };
            (unclamped(&samples, interpolant), PLAIN)
        }
        PsdInterpolation::Linear => {
            let coefficients = linear_weights(&samples, &identity, count);
            (unclamped(&samples, Interpolant::Linear { coefficients }), PLAIN)
        }
    };
    let miss = largest_miss(&driver, &samples, &identity, count);
    let clamp = params
        .clamp_margin
        .map_or(Clamp::None, |margin| clamp_beyond(std::iter::repeat_n((0.0, 1.0), count), |_, _| margin));
    Ok(CardinalDriver { driver: Driver { clamp, ..driver }, report: DriverReport { miss, ..report } })
}

/// What is said of interpolants without kernels.
const PLAIN: DriverReport = DriverReport { width: 0.0, condition: 1.0, leave_one_out: 0.0, miss: 0.0 };

fn unclamped(samples: &Samples, interpolant: Interpolant) -> Driver {
    Driver { groups: samples.groups.clone(), combine: Combine::Distance, interpolant, clamp: Clamp::None }
}

fn radial(
    space: &MeasuredSpace,
    names: &[&str],
    samples: &Samples,
    identity: &[f64],
    gram: &Matrix,
    rbf: &RbfParams,
    radii: &BTreeMap<String, f64>,
    progress: &dyn Progress,
) -> Result<(Driver, DriverReport), FitError> {
    let count = space.space.examples.len();
    let failed = |error: RbfError| {
        let name = |sample: usize| match space.samples[sample] {
            0 => "rest".to_string(),
            sample => names[sample - 1].to_string(),
        };
        FitError::interpolating(Interpolated::PoseSpace(space.name.clone()), error, name)
    };
    // The common width and smoothing are those that predict left-out shapes best.
    let (width, smoothing, leave_one_out) = match rbf.width {
        Width::Fixed(width) => (width, rbf.smoothing, 0.0),
        Width::PerCentre(_) => return Err(FitError::WidthPerCentre),
        Width::LeaveOneOut => {
            let mut values = vec![0.0; samples.count() * count];
            values[count..(count + 1) * count].copy_from_slice(&isometric_coordinates(gram));
            let chosen = fit_rbf(samples, &values, rbf, progress).map_err(failed)?;
            let width = match &chosen.driver.interpolant {
                Interpolant::Rbf { widths, .. } => widths[0],
                _ => 1.0,
            };
            (width, crate::drivers::Smoothing::Fixed(chosen.smoothing), chosen.leave_one_out)
        }
    };
    let mut widths = vec![width; samples.count()];
    for (place, &example) in space.space.examples.iter().enumerate() {
        if let Some(&radius) = radii.get(names[example]) {
            widths[place + 1] = radius;
        }
    }
    let exact = RbfParams { width: Width::PerCentre(widths), smoothing, ..rbf.clone() };
    let fit = fit_rbf(samples, identity, &exact, progress).map_err(failed)?;
    let report = DriverReport { width, condition: fit.condition, leave_one_out, miss: 0.0 };
    Ok((fit.driver, report))
}

/// Least-squares weights of minimum norm that are linear in the features,
/// `linear coordinate × output`.
fn linear_weights(samples: &Samples, identity: &[f64], count: usize) -> Vec<f64> {
    let coordinates = samples.linear_of(0).len();
    let poses = Matrix::from_fn(samples.count(), coordinates, |s, c| samples.linear_of(s)[c]);
    let (u, values, v) = thin_svd(&poses);
    let mut weights = vec![0.0; coordinates * count];
    for (component, &value) in values.iter().enumerate().filter(|(_, v)| **v > LINEAR_RANK * values[0]) {
        for output in 0..count {
            let along: f64 =
                (0..samples.count()).map(|s| u[(s, component)] * identity[s * count + output]).sum();
            for coordinate in 0..coordinates {
                weights[coordinate * count + output] += v[(coordinate, component)] * along / value;
            }
        }
    }
    weights
}

fn largest_miss(driver: &Driver, samples: &Samples, identity: &[f64], count: usize) -> f64 {
    let mut weights = vec![0.0; count];
    let mut miss = 0f64;
    for (sample, wanted) in identity.chunks_exact(count).enumerate() {
        driver.evaluate_features(samples.features_of(sample), samples.linear_of(sample), &mut weights);
        miss = weights.iter().zip(wanted).fold(miss, |miss, (a, b)| miss.max((a - b).abs()));
    }
    miss
}
