//! Cardinal drivers: one weight per example of a pose space, 1 at its own pose, 0 at rest, at all
//! others and at the anchors.

use std::collections::BTreeMap;

use eigenskin_core::driver::{Clamp, Combine, Driver, Interpolant};
use eigenskin_core::progress::Progress;

use super::spaces::MeasuredSpace;
use super::{DriverReport, PsdInterpolation, PsdParams};
use crate::drivers::{RbfError, RbfParams, Samples, Targets, Width, clamp_beyond, fit_targets};
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
    let mut added = vec![0.0; samples.count() * count];
    added[count..(count + 1) * count].copy_from_slice(&isometric_coordinates(gram));
    let (driver, report) = match &params.interpolation {
        PsdInterpolation::Rbf(rbf) => {
            radial(space, names, &samples, &identity, &added, rbf, &params.radii, progress)?
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
    let miss = largest_miss(&driver, &samples, &added, count);
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
    added: &[f64],
    rbf: &RbfParams,
    radii: &BTreeMap<String, f64>,
    progress: &dyn Progress,
) -> Result<(Driver, DriverReport), FitError> {
    let failed = |error: RbfError| {
        let name = |sample: usize| match space.samples[sample] {
            0 => "rest".to_string(),
            sample => names[sample - 1].to_string(),
        };
        FitError::interpolating(Interpolated::PoseSpace(space.name.clone()), error, name)
    };
    if let Width::PerCentre(_) = rbf.width {
        return Err(FitError::WidthPerCentre);
    }
    let own = space.space.examples.iter().enumerate();
    let radii = own.filter_map(|(place, &example)| Some((place + 1, *radii.get(names[example])?))).collect();
    let targets = Targets { values: identity, judged_by: added, own: space.space.examples.len(), radii };
    let fit = fit_targets(samples, &targets, rbf, progress).map_err(failed)?;
    let leave_one_out = if rbf.width == Width::LeaveOneOut { fit.leave_one_out } else { 0.0 };
    let report = DriverReport { width: fit.width, condition: fit.condition, leave_one_out, miss: 0.0 };
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

/// The largest error of what the examples add (`sample × number`) at a sample, as a share of the largest of
/// them.
fn largest_miss(driver: &Driver, samples: &Samples, added: &[f64], count: usize) -> f64 {
    let mut weights = vec![0.0; count];
    let length = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    let (mut miss, mut largest) = (0f64, 0f64);
    for (sample, wanted) in added.chunks_exact(count).enumerate() {
        samples.evaluate(driver, sample, &mut weights);
        let found =
            |number: usize| (0..count).map(|e| weights[e] * added[(e + 1) * count + number]).sum::<f64>();
        miss = miss.max(length(&mut (0..count).map(|number| wanted[number] - found(number))));
        largest = largest.max(length(&mut wanted.iter().copied()));
    }
    if largest > 0.0 { miss / largest } else { 0.0 }
}
