//! Radial basis interpolation of coordinates over poses (EigenSkin §2.4, Lewis §3.2, Kim §3).
//!
//! ```text
//! ⎡ Φ + R  Q ⎤ ⎡ coefficients ⎤   ⎡ values ⎤
//! ⎣  Qᵀ    0 ⎦ ⎣     tail     ⎦ = ⎣   0    ⎦
//! ```
//! Φ is not always positive definite (geodesic distances, widths that differ per centre), hence
//! pivoted LU. R is the smoothing (a smoothing): zero in the row of rest, so that rest stays exact while examples
//! may give way. Q spans the tail's polynomials at the samples, cut at their numerical rank.

use eigenskin_core::driver::{Clamp, Combine, Driver, Interpolant, Kernel, Tail};
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::samples::Samples;
use crate::names::{KernelName, auto};
use crate::numeric::{self, Matrix};

/// How to interpolate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RbfParams {
    /// radial function; default Gaussian
    #[serde(with = "KernelName")]
    pub kernel: Kernel,
    /// width of the kernels; default by leave-one-out
    pub width: Width,
    /// how much smoothing; default automatic
    pub smoothing: Smoothing,
    /// polynomial part; default the least that the kernel needs
    pub tail: TailChoice,
}

impl Default for RbfParams {
    fn default() -> Self {
        Self {
            kernel: Kernel::Gaussian,
            width: Width::LeaveOneOut,
            smoothing: Smoothing::Automatic,
            tail: TailChoice::Automatic,
        }
    }
}

/// How much smoothing: a number added to the diagonal of Φ, where φ(0) is 1 for the
/// kernels that decay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Smoothing {
    /// Exact, unless there are many examples (more than 20), the width is automatic too, and smoothing
    /// takes a quarter off the leave-one-out error: crowded, contradictory motion data.
    #[serde(with = "auto")]
    Automatic,
    /// this much; 0 is exact
    Fixed(f64),
}

/// Up to this number, examples are taken to be made with care and are hit exactly.
pub(crate) const MANY: usize = 20;
/// What automatic smoothing tries.
pub(super) const SMOOTHINGS: [f64; 4] = [1e-8, 1e-6, 1e-4, 1e-2];

/// The width of the kernels, in feature units (radians for rotations).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Width {
    /// the one that predicts left-out examples best
    #[serde(with = "auto")]
    LeaveOneOut,
    /// one for all
    Fixed(f64),
    /// `sample`, rest first
    PerCentre(Vec<f64>),
}

/// The polynomial part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TailChoice {
    /// the least that the kernel needs
    #[serde(rename = "auto")]
    Automatic,
    /// none
    None,
    /// a constant
    Constant,
    /// a constant and slopes
    Linear,
}

/// A fitted driver and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RbfFit {
    /// from a pose to one coordinate per output
    pub driver: Driver,
    /// smoothing; 0 passes exactly through every example
    pub smoothing: f64,
    /// 1-norm condition number of the system
    pub condition: f64,
    /// √(mean over samples of ‖leave-one-out error‖²), rest not left out, in the values' unit;
    /// zero for a single example, which predicts nothing
    pub leave_one_out: f64,
}

/// Why an interpolant could not be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RbfError {
    /// Two samples are (nearly) one.
    #[error(
        "poses {first} and {second} are too close for exact interpolation (condition {condition:.1e}); leave one out or give smoothing such as 0.001"
    )]
    Singular {
        /// the closest pair: the one
        first: usize,
        /// the closest pair: the other
        second: usize,
        /// condition of the system
        condition: f64,
    },
    /// A width or smoothing that makes no sense.
    #[error("{what} must be a finite number {bound}, not {value}")]
    BadParameter {
        /// which one
        what: &'static str,
        /// what it must be
        bound: &'static str,
        /// what it is
        value: f64,
    },
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Beyond this condition the solution has lost too many digits to reproduce the examples.
const WORST_CONDITION: f64 = 1e14;
/// Automatic widths stay below this condition.
const COMFORTABLE_CONDITION: f64 = 1e9;

/// Directions that the poses span by less than this share of the widest are noise of `f32`
/// transforms; a slope fitted to noise would run away.
const TAIL_RANK: f64 = 1e-4;

/// What is said while drivers are fitted.
pub(super) const INTERPOLATING: &str = "fitting drivers";

/// Interpolates `values` (`sample × output`, rest first and zero) over the samples.
///
/// ```
/// use eigenskin_core::driver::FeatureGroup;
/// use eigenskin_core::{Pose, Skeleton, Unwatched};
/// use eigenskin_fit::drivers::{RbfParams, Samples, fit_rbf};
///
/// let at = |smile: f64| Pose { world_from_joint: Vec::new(), controls: vec![smile] };
/// let samples = Samples::measure(vec![FeatureGroup::control(0, 0.0)], &Skeleton::empty(), &[at(0.5), at(1.0)]);
/// let fit = fit_rbf(&samples, &[0.0, 0.3, 2.0], &RbfParams::default(), &Unwatched)?;
/// let mut amount = [0.0];
/// fit.driver.evaluate_features(&[1.0], &[0.0], &mut amount);
/// assert!((amount[0] - 2.0).abs() < 1e-6);
/// # Ok::<(), eigenskin_fit::drivers::RbfError>(())
/// ```
pub fn fit_rbf(
    samples: &Samples,
    values: &[f64],
    params: &RbfParams,
    progress: &dyn Progress,
) -> Result<RbfFit, RbfError> {
    progress.doing(INTERPOLATING)?;
    let count = samples.count();
    let bad = |what, bound, value| Err(RbfError::BadParameter { what, bound, value });
    let exact_or_given = match params.smoothing {
        Smoothing::Automatic => 0.0,
        Smoothing::Fixed(smoothing) if smoothing.is_finite() && smoothing >= 0.0 => smoothing,
        Smoothing::Fixed(smoothing) => return bad("the smoothing", "that is not negative", smoothing),
    };
    let given = match &params.width {
        Width::LeaveOneOut => &[][..],
        Width::Fixed(width) => std::slice::from_ref(width),
        Width::PerCentre(widths) => widths,
    };
    if let Some(&width) = given.iter().find(|&&w| !(w.is_finite() && w > 0.0)) {
        return bad("a kernel width", "above zero", width);
    }
    let system = System::new(samples, values, params);
    let solution = match &params.width {
        Width::Fixed(width) => system.solve(vec![*width; count], exact_or_given),
        Width::PerCentre(widths) => system.solve(widths.clone(), exact_or_given),
        Width::LeaveOneOut => {
            let exact = system.best_width(exact_or_given, progress)?;
            let smoothings =
                if params.smoothing == Smoothing::Automatic && count > MANY { &SMOOTHINGS[..] } else { &[] };
            let with_smoothing: Vec<Solution> = smoothings
                .iter()
                .map(|&smoothing| system.best_width(smoothing, progress))
                .collect::<Result<_, Cancelled>>()?;
            let with_smoothing =
                with_smoothing.into_iter().min_by(|a, b| a.leave_one_out.total_cmp(&b.leave_one_out));
            match with_smoothing {
                Some(other) if other.leave_one_out < 0.75 * exact.leave_one_out => other,
                _ => exact,
            }
        }
    };
    if solution.condition > WORST_CONDITION {
        let (first, second) = closest_pair(samples);
        return Err(RbfError::Singular { first, second, condition: solution.condition });
    }
    Ok(system.into_fit(solution))
}

/// What does not depend on the width.
struct System<'a> {
    samples: &'a Samples,
    params: &'a RbfParams,
    /// `sample × output`
    values: Matrix,
    /// `sample × sample`
    distances: Matrix,
    /// `sample × tail term`, orthonormal columns
    tail_basis: Matrix,
    /// `polynomial × tail term`: polynomial coefficients of the columns above
    polynomials: Matrix,
    tail: TailChoice,
}

struct Solution {
    widths: Vec<f64>,
    smoothing: f64,
    /// `(sample + tail term) × output`
    unknowns: Matrix,
    condition: f64,
    leave_one_out: f64,
}

impl<'a> System<'a> {
    fn new(samples: &'a Samples, values: &[f64], params: &'a RbfParams) -> Self {
        let count = samples.count();
        let outputs = values.len() / count;
        let tail = params.tail.for_kernel(params.kernel);
        let (tail_basis, polynomials) = spanned(&polynomials_at(samples, tail));
        Self {
            samples,
            params,
            values: Matrix::from_fn(count, outputs, |sample, output| values[sample * outputs + output]),
            distances: Matrix::from_fn(count, count, |a, b| samples.distance(a, b)),
            tail_basis,
            polynomials,
            tail,
        }
    }

    fn solve(&self, widths: Vec<f64>, smoothing: f64) -> Solution {
        let (count, terms) = (self.tail_basis.nrows(), self.tail_basis.ncols());
        let matrix = Matrix::from_fn(count + terms, count + terms, |row, column| {
            match (row < count, column < count) {
                (true, true) => {
                    let smoothing = if row == column && row != 0 { smoothing } else { 0.0 };
                    self.params.kernel.value(self.distances[(row, column)], widths[column]) + smoothing
                }
                (true, false) => self.tail_basis[(row, column - count)],
                (false, true) => self.tail_basis[(column, row - count)],
                (false, false) => 0.0,
            }
        });
        let inverse = numeric::invert(&matrix);
        let unknowns = inverse.matrix.get(.., ..count) * &self.values;
        // Left-out errors without refitting: e_k = c_k / (M⁻¹)_kk.
        let mut sum = 0.0;
        for sample in 1..count {
            let pivot = inverse.matrix[(sample, sample)];
            for output in 0..self.values.ncols() {
                let error = unknowns[(sample, output)] / pivot;
                // A tail that alone interpolates has c = 0 and pivot 0: it says nothing about itself.
                sum += if pivot == 0.0 { 0.0 } else { error * error };
            }
        }
        let leave_one_out = if count > 2 { (sum / (count - 1) as f64).sqrt() } else { 0.0 };
        Solution { widths, smoothing, unknowns, condition: inverse.condition, leave_one_out }
    }

    /// The width with the smallest leave-one-out error among those of comfortable condition, on
    /// a fixed grid from half the smallest to the largest distance: wider kernels are polynomials
    /// in disguise, which run away outside the examples.
    fn best_width(&self, smoothing: f64, progress: &dyn Progress) -> Result<Solution, Cancelled> {
        const STEPS: usize = 32;
        let count = self.samples.count();
        if !self.params.kernel.has_width() {
            return Ok(self.solve(vec![1.0; count], smoothing));
        }
        let (mut nearest, mut furthest) = (f64::INFINITY, 0.0f64);
        for a in 0..count {
            for b in 0..a {
                let distance = self.distances[(a, b)];
                furthest = furthest.max(distance);
                if distance > 0.0 {
                    nearest = nearest.min(distance);
                }
            }
        }
        if !nearest.is_finite() {
            return Ok(self.solve(vec![1.0; count], smoothing));
        }
        let (low, high) = (0.5 * nearest.max(1e-3 * furthest), furthest);
        let mut best: Option<Solution> = None;
        let solutions: Vec<Solution> = (0..=STEPS)
            .into_par_iter()
            .map(|step| {
                progress.doing(INTERPOLATING)?;
                let width = low * (high / low).powf(step as f64 / STEPS as f64);
                Ok(self.solve(vec![width; count], smoothing))
            })
            .collect::<Result<_, Cancelled>>()?;
        for next in solutions {
            let better = best.as_ref().is_none_or(|best| {
                match (next.condition <= COMFORTABLE_CONDITION, best.condition <= COMFORTABLE_CONDITION) {
                    // Two examples or fewer predict nothing: the widest comfortable kernel is smoothest.
                    (true, true) => next.leave_one_out <= best.leave_one_out,
                    (false, false) => next.condition < best.condition,
                    (comfortable, _) => comfortable,
                }
            });
            if better {
                best = Some(next);
            }
        }
        Ok(best.unwrap_or_else(|| self.solve(vec![1.0; count], smoothing)))
    }

    fn into_fit(self, solution: Solution) -> RbfFit {
        let (count, outputs) = (self.samples.count(), self.values.ncols());
        let row_major = |matrix: &Matrix, rows: usize| -> Vec<f64> {
            (0..rows).flat_map(|row| (0..outputs).map(move |output| matrix[(row, output)])).collect()
        };
        let coefficients = row_major(&solution.unknowns, count);
        let tail_coefficients = &self.polynomials * solution.unknowns.get(count.., ..);
        let flat = row_major(&tail_coefficients, tail_coefficients.nrows());
        let tail = match self.tail {
            TailChoice::None | TailChoice::Automatic => Tail::None,
            TailChoice::Constant => Tail::Constant(flat),
            TailChoice::Linear => Tail::Linear(flat),
        };
        let driver = Driver {
            groups: self.samples.groups.clone(),
            combine: Combine::Distance,
            interpolant: Interpolant::Rbf {
                kernel: self.params.kernel,
                centres: self.samples.features.clone(),
                widths: solution.widths,
                coefficients,
                tail,
            },
            clamp: Clamp::None,
        };
        RbfFit {
            driver,
            smoothing: solution.smoothing,
            condition: solution.condition,
            leave_one_out: solution.leave_one_out,
        }
    }
}

impl TailChoice {
    /// The choice with `Automatic` replaced by what the kernel needs.
    pub(super) fn for_kernel(self, kernel: Kernel) -> Self {
        match (self, kernel.least_tail_degree()) {
            (Self::Automatic, -1) => Self::None,
            (Self::Automatic, 0) => Self::Constant,
            (Self::Automatic, _) => Self::Linear,
            (chosen, _) => chosen,
        }
    }
}

/// The tail's polynomials at the samples, `sample × polynomial`.
pub(super) fn polynomials_at(samples: &Samples, tail: TailChoice) -> Matrix {
    let terms = match tail {
        TailChoice::None | TailChoice::Automatic => 0,
        TailChoice::Constant => 1,
        TailChoice::Linear => 1 + samples.linear_of(0).len(),
    };
    let value = |sample, term: usize| if term == 0 { 1.0 } else { samples.linear_of(sample)[term - 1] };
    Matrix::from_fn(samples.count(), terms, value)
}

/// An orthonormal basis of the columns' span, and the combination of columns that makes each
/// basis vector (`column × basis vector`). Poses that do not span all features (a hinge described
/// by a rotation vector) get the tail of minimum norm.
pub(super) fn spanned(columns: &Matrix) -> (Matrix, Matrix) {
    if columns.ncols() == 0 {
        return (Matrix::zeros(columns.nrows(), 0), Matrix::zeros(0, 0));
    }
    let (u, values, v) = numeric::thin_svd(columns);
    let rank = values.iter().filter(|&&value| value > TAIL_RANK * values[0]).count();
    let basis = u.get(.., ..rank).to_owned();
    let combination = Matrix::from_fn(columns.ncols(), rank, |row, column| v[(row, column)] / values[column]);
    (basis, combination)
}

fn closest_pair(samples: &Samples) -> (usize, usize) {
    let count = samples.count();
    let pairs = (0..count).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.min_by(|a, b| samples.distance(a.0, a.1).total_cmp(&samples.distance(b.0, b.1))).unwrap_or((0, 0))
}
