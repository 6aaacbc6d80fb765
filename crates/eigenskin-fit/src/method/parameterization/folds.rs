//! What a part would lose on examples it has not seen.
//!
//! Whole stretches of the examples are left out, one after the other, and components as well as
//! drivers are found anew: frames of a motion resemble their neighbours, so leaving out single ones,
//! or drivers alone, flatters. The examples' coordinates on the components of all are enough for that.

use eigenskin_core::driver::{Driver, Interpolant};
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use super::params::ParameterizationParams;
use super::signals::PartComponents;
use crate::drivers::{RbfError, RbfParams, Samples, Smoothing, Width, fit_rbf_on_centres};
use crate::method::joint_driver::without_repeats;
use crate::numeric::{Matrix, symmetric_eigen};

/// Stretches that are left out one after the other.
const FOLDS: usize = 5;
/// Squared directions weaker than this share of the strongest are rounding.
const RANK_CUT: f64 = 1e-14;
/// Fewer examples say nothing about each other.
const FEWEST: usize = 4;

/// What is said while examples are left out.
const LEAVING_OUT: &str = "leaving out examples";

/// One stretch of the examples left out.
pub(super) struct Fold {
    /// examples left out
    left_out: std::ops::Range<usize>,
    component_count: usize,
    /// `example kept × component`
    kept: Vec<f64>,
    /// `example left out × component`: where they are in the components of the others
    expected: Vec<f64>,
    /// squared displacements of those left out that the components of the others cannot show
    lost: f64,
}

/// How signals are interpolated.
pub(super) struct Interpolation<'a> {
    pub params: &'a RbfParams,
    pub most_centres: usize,
    progress: &'a dyn Progress,
}

/// The folds of one part, with as many components as it keeps; none with too few examples.
pub(super) fn folds_of(
    components: &PartComponents,
    example_count: usize,
    progress: &dyn Progress,
) -> Result<Vec<Fold>, Cancelled> {
    if example_count < FEWEST {
        return Ok(Vec::new());
    }
    let count = FOLDS.min(example_count);
    let bound = |fold: usize| fold * example_count / count;
    (0..count)
        .into_par_iter()
        .map(|fold| {
            progress.doing(LEAVING_OUT)?;
            Ok(Fold::new(components, example_count, bound(fold)..bound(fold + 1)))
        })
        .collect()
}

impl Fold {
    fn new(components: &PartComponents, example_count: usize, left_out: std::ops::Range<usize>) -> Self {
        let others: Vec<usize> = (0..example_count).filter(|example| !left_out.contains(example)).collect();
        let mut signals: Vec<Vec<f64>> = Vec::new();
        let mut expected: Vec<Vec<f64>> = Vec::new();
        let mut lost = 0.0;
        for (all, &count) in components.kinds.iter().zip(&components.counts) {
            // Examples as columns of coordinates on all components: these are orthonormal, so that what
            // the others have in common is found among them.
            let coordinates = |examples: &[usize]| {
                Matrix::from_fn(all.count(), examples.len(), |component, e| {
                    all.singular_values[component] * all.right[component][examples[e]]
                })
            };
            let seen = coordinates(&others);
            let (values, vectors) = symmetric_eigen(&(&seen * seen.transpose()));
            let strongest = values.first().copied().unwrap_or(0.0);
            let rank = values.iter().filter(|&&value| value > RANK_CUT * strongest).count();
            let found = vectors.get(.., ..count.min(rank)).transpose().to_owned();
            let unseen: Vec<usize> = left_out.clone().collect();
            let (kept, tested) = (&found * &seen, &found * coordinates(&unseen));
            lost += unseen.iter().map(|&example| all.energies[example]).sum::<f64>();
            lost -= tested.squared_norm_l2();
            let row = |m: &Matrix, component: usize| m.row(component).iter().copied().collect::<Vec<f64>>();
            for component in 0..found.nrows() {
                expected.push(row(&tested, component));
                signals.push(row(&kept, component));
            }
        }
        let by_example = |signals: &[Vec<f64>], count: usize| -> Vec<f64> {
            (0..count).flat_map(|example| signals.iter().map(move |signal| signal[example])).collect()
        };
        Self {
            component_count: signals.len(),
            kept: by_example(&signals, others.len()),
            expected: by_example(&expected, left_out.len()),
            lost: lost.max(0.0),
            left_out,
        }
    }
}

impl<'a> Interpolation<'a> {
    pub fn of(params: &'a ParameterizationParams, progress: &'a dyn Progress) -> Self {
        Self { params: &params.interpolation, most_centres: params.most_centres, progress }
    }

    /// Squared error over all examples (`samples`, rest first), each left out with its stretch; `None` when
    /// some fold cannot be interpolated. Automatic widths are found once, in the first fold.
    pub fn error_unseen(
        &self,
        samples: &Samples,
        folds: &[Fold],
        smoothing: Smoothing,
    ) -> Result<Option<f64>, Cancelled> {
        let mut params = RbfParams { smoothing, ..self.params.radial() };
        if params.kernel.or_gaussian().has_width() && params.width == Width::LeaveOneOut {
            let Some(first) = folds.first() else { return Ok(None) };
            let Some(fit) = self.fit_fold(samples, first, &params)? else { return Ok(None) };
            if let Interpolant::Rbf { widths, .. } = &fit.interpolant {
                params.width = Width::Fixed(widths[0]);
            }
        }
        if let Width::PerCentre(widths) = &params.width {
            let Some(&width) = widths.first() else { return Ok(None) };
            params.width = Width::Fixed(width);
        }
        let errors: Vec<Option<f64>> = folds
            .par_iter()
            .map(|fold| self.error_of_fold(samples, fold, &params))
            .collect::<Result<_, Cancelled>>()?;
        Ok(errors.into_iter().sum())
    }

    fn fit_fold(
        &self,
        samples: &Samples,
        fold: &Fold,
        params: &RbfParams,
    ) -> Result<Option<Driver>, Cancelled> {
        let is_kept = |sample: &usize| *sample == 0 || !fold.left_out.contains(&(sample - 1));
        let others: Vec<usize> = (0..samples.count()).filter(is_kept).collect();
        let all = samples.select(&others);
        let (kept, values) = without_repeats(&all, &fold.kept, fold.component_count);
        let samples = all.select(&kept);
        match fit_rbf_on_centres(&samples, &values, params, self.most_centres, self.progress) {
            Ok(fit) => Ok(Some(fit.driver)),
            Err(RbfError::Cancelled(cancelled)) => Err(cancelled),
            Err(_) => Ok(None),
        }
    }

    fn error_of_fold(
        &self,
        samples: &Samples,
        fold: &Fold,
        params: &RbfParams,
    ) -> Result<Option<f64>, Cancelled> {
        let count = fold.component_count;
        if count == 0 {
            return Ok(Some(fold.lost));
        }
        let Some(driver) = self.fit_fold(samples, fold, params)? else { return Ok(None) };
        let mut found = vec![0.0; count];
        let mut error = fold.lost;
        for (example, expected) in fold.left_out.clone().zip(fold.expected.chunks_exact(count)) {
            driver.evaluate_features(
                samples.features_of(example + 1),
                samples.linear_of(example + 1),
                &mut found,
            );
            error += found.iter().zip(expected).map(|(f, e)| (f - e).powi(2)).sum::<f64>();
        }
        Ok(Some(error))
    }
}
