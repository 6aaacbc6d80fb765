//! Interpolation on fewer centres than samples: least squares with smoothing, for motions of
//! hundreds or thousands of frames.
//!
//! Kernels and tail have their value at rest taken away, so that rest stays exact:
//! ```text
//! α(pose) = Σ_c coefficient_c · (φ_c(pose) − φ_c(rest)) + slopes · linear(pose)
//! ```
//! The coefficients keep the side conditions of the tail at the centres, so that thin plates end
//! in their linear part far outside.

use eigenskin_core::driver::{Clamp, Combine, Driver, Interpolant, Tail};
use eigenskin_core::progress::Progress;

use super::rbf::{INTERPOLATING, SMOOTHINGS};
use super::system::{polynomials_at, root_mean_square, spanned};
use super::{RbfError, RbfFit, RbfParams, Samples, Smoothing, TailChoice, Width, fit_rbf};
use crate::numeric::{Matrix, least_squares, symmetric_eigen};

/// Without any smoothing, crowded centres would cancel each other.
const LEAST_SMOOTHING: f64 = 1e-10;
/// Widths that are tried.
const WIDTHS: usize = 8;

/// Interpolates `values` (`sample × output`, rest first and zero): exactly, as [`fit_rbf`] does,
/// up to `most_centres` samples; by least squares on so many of them where there are more.
pub fn fit_rbf_on_centres(
    samples: &Samples,
    values: &[f64],
    params: &RbfParams,
    most_centres: usize,
    progress: &dyn Progress,
) -> Result<RbfFit, RbfError> {
    if samples.count() <= most_centres.max(2) {
        return fit_rbf(samples, values, params, progress);
    }
    let smoothings = match params.smoothing {
        Smoothing::Automatic => SMOOTHINGS.to_vec(),
        Smoothing::Fixed(smoothing) if smoothing.is_finite() && smoothing >= 0.0 => {
            vec![smoothing.max(LEAST_SMOOTHING)]
        }
        Smoothing::Fixed(value) => {
            return Err(RbfError::BadParameter {
                what: "the smoothing",
                bound: "that is not negative",
                value,
            });
        }
    };
    let problem = Problem::new(samples, values, params, most_centres.max(2));
    let widths = problem.widths(params)?;
    let mut best: Option<RbfFit> = None;
    for &width in &widths {
        for &smoothing in &smoothings {
            progress.doing(INTERPOLATING)?;
            let next = problem.solve(width, smoothing);
            if best.as_ref().is_none_or(|best| next.leave_one_out < best.leave_one_out) {
                best = Some(next);
            }
        }
    }
    Ok(best.unwrap_or_else(|| problem.solve(1.0, LEAST_SMOOTHING)))
}

/// Samples far from each other: rest, then again and again the one furthest from all before.
pub fn farthest_samples(samples: &Samples, count: usize) -> Vec<usize> {
    let mut chosen = vec![0];
    let mut nearest: Vec<f64> = (0..samples.count()).map(|s| samples.distance(0, s)).collect();
    while chosen.len() < count.min(samples.count()) {
        let next = (0..nearest.len()).fold(0, |far, s| if nearest[s] > nearest[far] { s } else { far });
        if nearest[next] <= 0.0 {
            break;
        }
        chosen.push(next);
        for (sample, nearest) in nearest.iter_mut().enumerate() {
            *nearest = nearest.min(samples.distance(next, sample));
        }
    }
    chosen
}

struct Problem<'a> {
    samples: &'a Samples,
    params: &'a RbfParams,
    centres: Samples,
    /// `sample × centre`
    distances: Matrix,
    /// `sample × output`
    values: Matrix,
    /// `centre × free coefficient`: what the side conditions leave, orthonormal
    free: Matrix,
    /// `sample × slope direction`, orthonormal
    slopes: Matrix,
    /// `linear coordinate × slope direction`
    slope_coefficients: Matrix,
    tail: TailChoice,
}

impl<'a> Problem<'a> {
    fn new(samples: &'a Samples, values: &[f64], params: &'a RbfParams, most_centres: usize) -> Self {
        let chosen = farthest_samples(samples, most_centres);
        let centres = samples.select(&chosen);
        let outputs = values.len() / samples.count();
        let tail = params.tail.for_kernel(params.kernel.or_gaussian());
        let (conditions, _) = spanned(&polynomials_at(&centres, tail));
        let linear = match tail {
            TailChoice::Linear => samples.linear_of(0).len(),
            _ => 0,
        };
        let (slopes, slope_coefficients) =
            spanned(&Matrix::from_fn(samples.count(), linear, |s, l| samples.linear_of(s)[l]));
        Self {
            samples,
            params,
            distances: Matrix::from_fn(samples.count(), chosen.len(), |s, c| samples.distance(s, chosen[c])),
            values: Matrix::from_fn(samples.count(), outputs, |s, o| values[s * outputs + o]),
            free: complement(&conditions),
            slopes,
            slope_coefficients,
            centres,
            tail,
        }
    }

    fn widths(&self, params: &RbfParams) -> Result<Vec<f64>, RbfError> {
        let given = match &params.width {
            Width::Fixed(width) => Some(*width),
            Width::PerCentre(widths) => widths.first().copied(),
            Width::LeaveOneOut if !params.kernel.or_gaussian().has_width() => Some(1.0),
            Width::LeaveOneOut => None,
        };
        if let Some(width) = given {
            let is_good = width.is_finite() && width > 0.0;
            let bad = RbfError::BadParameter { what: "a kernel width", bound: "above zero", value: width };
            return if is_good { Ok(vec![width]) } else { Err(bad) };
        }
        let furthest = self.distances.col_iter().flat_map(|c| c.iter().copied()).fold(0.0, f64::max);
        let furthest = if furthest > 0.0 { furthest } else { 1.0 };
        Ok((0..WIDTHS).map(|step| furthest * 0.02f64.powf(step as f64 / (WIDTHS - 1) as f64)).collect())
    }

    fn solve(&self, width: f64, smoothing: f64) -> RbfFit {
        let (count, centre_count) = (self.distances.nrows(), self.distances.ncols());
        let kernel =
            |s: usize, c: usize| self.params.kernel.or_gaussian().value(self.distances[(s, c)], width);
        let away = Matrix::from_fn(count, centre_count, |s, c| kernel(s, c) - kernel(0, c)) * &self.free;
        let (free, slopes) = (self.free.ncols(), self.slopes.ncols());
        // Below the samples, one row per coefficient: its square costs the smoothing.
        let matrix =
            Matrix::from_fn(count + free, free + slopes, |row, column| match (row < count, column < free) {
                (true, true) => away[(row, column)],
                (true, false) => self.slopes[(row, column - free)],
                (false, true) if row - count == column => smoothing.sqrt(),
                (false, _) => 0.0,
            });
        let outputs = self.values.ncols();
        let right =
            Matrix::from_fn(count + free, outputs, |r, o| if r < count { self.values[(r, o)] } else { 0.0 });
        let solved = least_squares(&matrix, &right);
        let predicted = &matrix * &solved.solution;
        let left_out = Matrix::from_fn(count - 1, outputs, |row, output| {
            let sample = row + 1;
            let left = (1.0 - solved.leverages[sample]).max(1e-9);
            (self.values[(sample, output)] - predicted[(sample, output)]) / left
        });
        let coefficients = &self.free * solved.solution.get(..free, ..);
        let slopes = &self.slope_coefficients * solved.solution.get(free.., ..);
        let constant = (0..outputs)
            .map(|o| -(0..centre_count).map(|c| coefficients[(c, o)] * kernel(0, c)).sum::<f64>())
            .collect::<Vec<f64>>();
        let row_major = |m: &Matrix| -> Vec<f64> {
            (0..m.nrows()).flat_map(|r| (0..outputs).map(move |o| m[(r, o)])).collect()
        };
        // Also kernels without a tail need the constant: their own value at rest.
        let tail = match self.tail {
            TailChoice::Linear => Tail::Linear([constant, row_major(&slopes)].concat()),
            _ => Tail::Constant(constant),
        };
        let driver = Driver {
            groups: self.samples.groups.clone(),
            combine: Combine::Distance,
            interpolant: Interpolant::Rbf {
                kernel: self.params.kernel.or_gaussian(),
                centres: self.centres.features.clone(),
                widths: vec![width; centre_count],
                coefficients: row_major(&coefficients),
                tail,
            },
            clamp: Clamp::None,
        };
        let leave_one_out = root_mean_square(&left_out);
        RbfFit { driver, width, smoothing, condition: solved.condition, leave_one_out, left_out }
    }
}

/// An orthonormal basis of what is perpendicular to some orthonormal columns.
fn complement(columns: &Matrix) -> Matrix {
    let count = columns.nrows();
    if columns.ncols() == 0 {
        return Matrix::identity(count, count);
    }
    let (_, vectors) = symmetric_eigen(&(Matrix::identity(count, count) - columns * columns.transpose()));
    Matrix::from_fn(count, count - columns.ncols(), |r, c| vectors[(r, c)])
}
