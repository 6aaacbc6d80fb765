//! Radial basis interpolation of coordinates over poses (EigenSkin §2.4, Lewis §3.2, Kim §3).
//!
//! The equations are in [`super::system`], automatic widths in [`super::widths`].

use std::collections::BTreeMap;

use eigenskin_core::driver::{Driver, Kernel};
use eigenskin_core::progress::{Cancelled, Progress};
use serde::{Deserialize, Serialize};

use super::samples::Samples;
use super::system::{Solution, System};
use super::widths;
use crate::names::auto;
use crate::numeric::Matrix;

/// How to interpolate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RbfParams {
    /// radial function; default automatic
    pub kernel: KernelChoice,
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
            kernel: KernelChoice::Automatic,
            width: Width::LeaveOneOut,
            smoothing: Smoothing::Automatic,
            tail: TailChoice::Automatic,
        }
    }
}

impl RbfParams {
    /// The same with a kernel that is the same for any number of examples.
    #[must_use]
    pub(crate) fn radial(&self) -> Self {
        Self { kernel: self.kernel.or_gaussian().into(), ..self.clone() }
    }
}

/// The radial function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum KernelChoice {
    /// Gaussians; where the width is automatic too, whatever suits the number of examples
    Automatic,
    /// this one
    Fixed(Kernel),
}

impl From<KernelChoice> for String {
    fn from(choice: KernelChoice) -> Self {
        match choice {
            KernelChoice::Automatic => "auto".to_string(),
            KernelChoice::Fixed(kernel) => kernel.name().to_string(),
        }
    }
}

/// A name that no kernel has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no kernel is called {0:?}")]
pub struct UnknownKernel(String);

impl TryFrom<String> for KernelChoice {
    type Error = UnknownKernel;

    fn try_from(name: String) -> Result<Self, UnknownKernel> {
        match Kernel::named(&name) {
            Some(kernel) => Ok(Self::Fixed(kernel)),
            None if name == "auto" => Ok(Self::Automatic),
            None => Err(UnknownKernel(name)),
        }
    }
}

impl KernelChoice {
    /// The kernel asked for, or a Gaussian.
    pub fn or_gaussian(self) -> Kernel {
        match self {
            Self::Automatic => Kernel::Gaussian,
            Self::Fixed(kernel) => kernel,
        }
    }
}

impl From<Kernel> for KernelChoice {
    fn from(kernel: Kernel) -> Self {
        Self::Fixed(kernel)
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
    /// width of the kernels without a radius of their own
    pub width: f64,
    /// smoothing; 0 passes exactly through every example
    pub smoothing: f64,
    /// 1-norm condition number of the system
    pub condition: f64,
    /// √(mean over samples of ‖leave-one-out error‖²), rest not left out, in the values' unit;
    /// zero for a single example, which predicts nothing
    pub leave_one_out: f64,
    /// left-out errors, `sample after rest × number judged by`
    pub(crate) left_out: Matrix,
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
    let own = samples.count().saturating_sub(1);
    let targets = Targets { values, judged_by: values, own, radii: BTreeMap::new() };
    fit_targets(samples, &targets, params, progress)
}

/// What is to be met at the samples.
pub(crate) struct Targets<'a> {
    /// `sample × output`, rest first and zero
    pub values: &'a [f64],
    /// `sample × number`, rest first and zero: what left-out errors are measured in
    pub judged_by: &'a [f64],
    /// how many samples after rest are examples; those behind them are anchors, held at zero, and are never
    /// left out to judge a width
    pub own: usize,
    /// `sample` → a width of its own
    pub radii: BTreeMap<usize, f64>,
}

/// Interpolates targets over the samples.
pub(crate) fn fit_targets(
    samples: &Samples,
    targets: &Targets<'_>,
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
    let radial = || System::radial(samples, targets, params.kernel.or_gaussian(), params.tail);
    let (system, solution) = match &params.width {
        Width::Fixed(width) => {
            let system = radial();
            let solution = system.solve(targets.with_radii(vec![*width; count]), exact_or_given);
            (system, solution)
        }
        Width::PerCentre(widths) => {
            let system = radial();
            let solution = system.solve(targets.with_radii(widths.clone()), exact_or_given);
            (system, solution)
        }
        Width::LeaveOneOut => widths::choose(samples, targets, params, exact_or_given, progress)?,
    };
    checked(samples, &system, &solution)
}

fn checked(samples: &Samples, system: &System<'_>, solution: &Solution) -> Result<RbfFit, RbfError> {
    if solution.condition > WORST_CONDITION {
        let (first, second) = closest_pair(samples);
        return Err(RbfError::Singular { first, second, condition: solution.condition });
    }
    Ok(RbfFit {
        driver: system.driver(solution),
        width: solution.widths[0],
        smoothing: solution.smoothing,
        condition: solution.condition,
        leave_one_out: solution.leave_one_out,
        left_out: system.left_out_errors(&solution.inverse),
    })
}

impl Targets<'_> {
    /// Widths (`sample`) with those of single samples in place.
    pub(super) fn with_radii(&self, mut widths: Vec<f64>) -> Vec<f64> {
        for (&sample, &radius) in &self.radii {
            widths[sample] = radius;
        }
        widths
    }
}

fn closest_pair(samples: &Samples) -> (usize, usize) {
    let count = samples.count();
    let pairs = (0..count).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.min_by(|a, b| samples.distance(a.0, a.1).total_cmp(&samples.distance(b.0, b.1))).unwrap_or((0, 0))
}
