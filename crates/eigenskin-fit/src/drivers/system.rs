//! The linear system of an interpolation over samples, for any width and smoothing.
//!
//! ```text
//! ⎡ K + R  Q ⎤ ⎡ coefficients ⎤   ⎡ values ⎤
//! ⎣  Qᵀ    0 ⎦ ⎣     tail     ⎦ = ⎣   0    ⎦
//! ```
//! Two kinds of K. *Radial*: φ of the distance; rest is one of the samples. *From rest*: a kernel that is
//! zero where pose or centre is at rest ([`Combine::Subsets`]), so rest needs no sample and is exact under
//! any smoothing:
//! ```text
//! K(p, c) = Π_g (1 + weight_g · k_g(p, c) / k_R)ⁿ − 1,    k = φ(p, c) − φ(p, rest) − φ(rest, c) + φ(0)
//! ```
//! k_R = 2φ(0) − 2φ(R) is k of a centre with itself at the range R from rest, so that weights mean the same
//! for all widths; n is 1 or 2 (all groups once or twice). K is not always positive definite (geodesic distances, widths
//! that differ per centre), hence pivoted LU. R is the smoothing: zero in the row of rest. Q spans the
//! tail's polynomials at the samples, cut at their numerical rank.

use eigenskin_core::driver::{Clamp, Combine, Driver, FeatureGroup, Interpolant, Kernel, Tail};

use super::rbf::{TailChoice, Targets};
use super::samples::Samples;
use crate::numeric::{self, Matrix};

/// Directions that the poses span by less than this share of the widest are noise of `f32`
/// transforms; a slope fitted to noise would run away.
const TAIL_RANK: f64 = 1e-4;

/// What does not depend on width and smoothing.
pub(super) struct System<'a> {
    kernel: Kernel,
    /// none for a radial kernel
    shape: Option<ShapeFromRest>,
    /// the samples that are centres, rest first if it is one
    centres: Samples,
    targets: &'a Targets<'a>,
    /// `centre × output`
    values: Matrix,
    /// `centre × number`
    judged_by: Matrix,
    /// radial: one matrix of all groups together; from rest: `group` → distances before its weight. Each
    /// `sample × sample`, rest first
    distances: Vec<Matrix>,
    /// `centre × tail term`, orthonormal columns
    tail_basis: Matrix,
    /// `polynomial × tail term`: polynomial coefficients of the columns above
    polynomials: Matrix,
    tail: TailChoice,
}

/// A kernel from rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShapeFromRest {
    /// R: how far own examples are from rest, as the groups measure it
    pub range: f64,
    /// n: all groups so many times
    pub times: usize,
}

/// A system with its widths, for any smoothing.
pub(super) struct WithWidths<'s, 'a> {
    system: &'s System<'a>,
    /// `sample`, rest first
    widths: Vec<f64>,
    /// K, `centre × centre`
    kernels: Matrix,
}

/// A system solved.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    /// `sample`, rest first
    pub widths: Vec<f64>,
    pub smoothing: f64,
    /// `(centre + tail term) × (centre + tail term)`
    pub inverse: Matrix,
    pub condition: f64,
    /// √(mean over own examples of ‖left-out error‖²); zero for a single one
    pub leave_one_out: f64,
}

impl<'a> System<'a> {
    /// Radial functions of the distance.
    pub fn radial(samples: &Samples, targets: &'a Targets<'a>, kernel: Kernel, tail: TailChoice) -> Self {
        let count = samples.count();
        let tail = tail.for_kernel(kernel);
        let (tail_basis, polynomials) = spanned(&polynomials_at(samples, tail));
        Self {
            kernel,
            shape: None,
            centres: samples.clone(),
            values: rows_from(targets.values, count, 0),
            judged_by: rows_from(targets.judged_by, count, 0),
            targets,
            distances: vec![Matrix::from_fn(count, count, |a, b| samples.distance(a, b))],
            tail_basis,
            polynomials,
            tail,
        }
    }

    /// A kernel from rest, with the groups of the samples as they are.
    pub fn from_rest(
        samples: &Samples,
        targets: &'a Targets<'a>,
        kernel: Kernel,
        shape: ShapeFromRest,
    ) -> Self {
        let count = samples.count();
        let centres: Vec<usize> = (1..count).collect();
        Self {
            kernel,
            shape: Some(shape),
            centres: samples.select(&centres),
            values: rows_from(targets.values, count, 1),
            judged_by: rows_from(targets.judged_by, count, 1),
            targets,
            distances: samples
                .group_slices()
                .map(|(group, range)| {
                    let of = |sample: usize| &samples.features_of(sample)[range.clone()];
                    Matrix::from_fn(count, count, |a, b| group.distance(of(a), of(b)))
                })
                .collect(),
            tail_basis: Matrix::zeros(count - 1, 0),
            polynomials: Matrix::zeros(0, 0),
            tail: TailChoice::None,
        }
    }

    /// The first sample that is a centre.
    fn first(&self) -> usize {
        usize::from(self.shape.is_some())
    }

    /// K, `centre × centre`, with the width of the second.
    fn kernels(&self, widths: &[f64]) -> Matrix {
        let (count, first) = (self.values.nrows(), self.first());
        let Some(shape) = self.shape else {
            let value = |row, column| self.kernel.value(self.distances[0][(row, column)], widths[column]);
            return Matrix::from_fn(count, count, value);
        };
        Matrix::from_fn(count, count, |row, column| {
            let (row, column) = (row + first, column + first);
            let width = widths[column];
            let phi = |distance: f64| self.kernel.value(distance, width);
            let unit = self.kernel_at_range(shape, width);
            let factor = |(distances, group): (&Matrix, &FeatureGroup)| {
                let moved =
                    phi(distances[(row, column)]) - phi(distances[(row, 0)]) - phi(distances[(0, column)])
                        + phi(0.0);
                1.0 + group.weight / unit * moved
            };
            self.distances
                .iter()
                .zip(&self.centres.groups)
                .map(factor)
                .product::<f64>()
                .powi(shape.times as i32)
                - 1.0
        })
    }

    /// k_R
    fn kernel_at_range(&self, shape: ShapeFromRest, width: f64) -> f64 {
        2.0 * (self.kernel.value(0.0, width) - self.kernel.value(shape.range, width))
    }

    /// With given widths (`sample`).
    pub fn with_widths(&self, widths: Vec<f64>) -> WithWidths<'_, 'a> {
        WithWidths { kernels: self.kernels(&widths), system: self, widths }
    }

    /// With given widths (`sample`) and smoothing.
    pub fn solve(&self, widths: Vec<f64>, smoothing: f64) -> Solution {
        self.with_widths(widths).solve(smoothing)
    }

    /// Left-out errors without refitting, e_k = c_k / (M⁻¹)_kk, of own examples only: an anchor that is left
    /// out is predicted best by kernels that reach nowhere. `own example × number judged by`; zero for a single
    /// example.
    pub fn left_out_errors(&self, inverse: &Matrix) -> Matrix {
        let (own, numbers) = (self.targets.own, self.judged_by.ncols());
        if own < 2 {
            return Matrix::zeros(own, numbers);
        }
        let before = 1 - self.first();
        let rows = before..before + own;
        let coefficients = inverse.get(rows, ..self.judged_by.nrows()) * &self.judged_by;
        Matrix::from_fn(own, numbers, |example, number| {
            let pivot = inverse[(before + example, before + example)];
            // A tail that alone interpolates has c = 0 and pivot 0: it says nothing about itself.
            if pivot == 0.0 { 0.0 } else { coefficients[(example, number)] / pivot }
        })
    }

    /// The driver of the targets.
    pub fn driver(&self, solution: &Solution) -> Driver {
        self.driver_of(&(solution.inverse.get(.., ..self.values.nrows()) * &self.values), &solution.widths)
    }

    /// The driver that has one weight per own example: 1 at its own pose, 0 at all other samples.
    pub fn cardinal_driver(&self, solution: &Solution) -> Driver {
        let before = 1 - self.first();
        let own = solution.inverse.get(.., before..before + self.targets.own).to_owned();
        self.driver_of(&own, &solution.widths)
    }

    /// Of unknowns, `(centre + tail term) × output`.
    fn driver_of(&self, unknowns: &Matrix, widths: &[f64]) -> Driver {
        let (count, outputs) = (self.values.nrows(), unknowns.ncols());
        let row_major = |matrix: &Matrix, rows: usize| -> Vec<f64> {
            (0..rows).flat_map(|row| (0..outputs).map(move |output| matrix[(row, output)])).collect()
        };
        let tail_coefficients = &self.polynomials * unknowns.get(count.., ..);
        let flat = row_major(&tail_coefficients, tail_coefficients.nrows());
        let tail = match self.tail {
            TailChoice::None | TailChoice::Automatic => Tail::None,
            TailChoice::Constant => Tail::Constant(flat),
            TailChoice::Linear => Tail::Linear(flat),
        };
        let times = self.shape.map_or(1, |shape| shape.times);
        let mut groups: Vec<FeatureGroup> = (0..times).flat_map(|_| self.centres.groups.clone()).collect();
        if let Some(shape) = self.shape {
            // One width for all centres: weights belong to groups.
            let unit = self.kernel_at_range(shape, widths[self.first()]);
            for group in &mut groups {
                group.weight /= unit;
            }
        }
        Driver {
            groups,
            combine: if self.shape.is_some() { Combine::Subsets } else { Combine::Distance },
            interpolant: Interpolant::Rbf {
                kernel: self.kernel,
                centres: (0..count)
                    .flat_map(|centre| self.centres.features_of(centre).repeat(times))
                    .collect(),
                widths: widths[self.first()..].to_vec(),
                coefficients: row_major(unknowns, count),
                tail,
            },
            clamp: Clamp::None,
        }
    }
}

impl WithWidths<'_, '_> {
    /// With so much smoothing.
    pub fn solve(&self, smoothing: f64) -> Solution {
        let Self { system, widths, kernels } = self;
        let (count, terms, first) = (system.values.nrows(), system.tail_basis.ncols(), system.first());
        // Smoothing is told for kernels that are 1 at their centres.
        let unit = if system.shape.is_some() {
            (0..count).map(|centre| kernels[(centre, centre)]).sum::<f64>() / count.max(1) as f64
        } else {
            1.0
        };
        let matrix = Matrix::from_fn(count + terms, count + terms, |row, column| {
            match (row < count, column < count) {
                (true, true) if row == column && first + row != 0 => {
                    kernels[(row, column)] + smoothing * unit
                }
                (true, true) => kernels[(row, column)],
                (true, false) => system.tail_basis[(row, column - count)],
                (false, true) => system.tail_basis[(column, row - count)],
                (false, false) => 0.0,
            }
        });
        let inverse = numeric::invert(&matrix);
        Solution {
            widths: widths.clone(),
            smoothing,
            leave_one_out: root_mean_square(&system.left_out_errors(&inverse.matrix)),
            inverse: inverse.matrix,
            condition: inverse.condition,
        }
    }

    /// The largest error of the numbers judged by, at any sample, as a share of the largest of them.
    pub fn miss(&self, solution: &Solution) -> f64 {
        let judged_by = &self.system.judged_by;
        let count = judged_by.nrows();
        let unknowns = solution.inverse.get(.., ..count) * judged_by;
        let found =
            &self.kernels * unknowns.get(..count, ..) + &self.system.tail_basis * unknowns.get(count.., ..);
        let length = |row: usize, of: &dyn Fn(usize, usize) -> f64| {
            (0..judged_by.ncols()).map(|number| of(row, number).powi(2)).sum::<f64>().sqrt()
        };
        let largest =
            |of: &dyn Fn(usize, usize) -> f64| (0..count).map(|row| length(row, of)).fold(0.0, f64::max);
        let size = largest(&|row, number| judged_by[(row, number)]);
        let off = largest(&|row, number| judged_by[(row, number)] - found[(row, number)]);
        if size > 0.0 { off / size } else { 0.0 }
    }
}

/// √(mean over rows of ‖row‖²); zero without rows.
pub(super) fn root_mean_square(errors: &Matrix) -> f64 {
    (errors.squared_norm_l2() / errors.nrows().max(1) as f64).sqrt()
}

/// Rows of a `sample × number` list from the sample `first` on.
fn rows_from(list: &[f64], count: usize, first: usize) -> Matrix {
    let numbers = list.len() / count;
    Matrix::from_fn(count - first, numbers, |row, number| list[(first + row) * numbers + number])
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use eigenskin_core::driver::FeatureGroup;
    use eigenskin_core::pose::Pose;
    use eigenskin_core::skeleton::Skeleton;

    use super::*;

    fn samples() -> Samples {
        let at =
            |first: f64, second: f64| Pose { world_from_joint: Vec::new(), controls: vec![first, second] };
        let groups = vec![FeatureGroup::control(0, 0.0), FeatureGroup::control(1, 0.0)];
        let poses = [at(0.9, 0.8), at(0.4, 0.9), at(0.7, 0.3), at(0.9, 0.0), at(0.0, 0.8)];
        Samples::measure(groups, &Skeleton::empty(), &poses)
    }

    /// Three own examples of two numbers, and two anchors.
    const VALUES: [f64; 12] = [0.0, 0.0, 1.0, 0.3, 0.5, -0.2, 0.4, 0.1, 0.0, 0.0, 0.0, 0.0];

    fn targets(values: &[f64], own: usize) -> Targets<'_> {
        Targets { values, judged_by: values, own, radii: BTreeMap::new() }
    }

    fn systems<'a>(samples: &Samples, targets: &'a Targets<'a>) -> [System<'a>; 3] {
        let shape = |times| ShapeFromRest { range: 0.9, times };
        [
            System::radial(samples, targets, Kernel::Gaussian, TailChoice::Automatic),
            System::from_rest(samples, targets, Kernel::Multiquadric, shape(1)),
            System::from_rest(samples, targets, Kernel::Multiquadric, shape(2)),
        ]
    }

    /// What a driver makes of every sample, `sample × output`: values where it is exact, and the evaluator of
    /// the core agrees with the kernels that were solved for.
    #[test]
    fn drivers_meet_all_samples() {
        let (samples, targets) = (samples(), targets(&VALUES, 3));
        for system in systems(&samples, &targets) {
            let driver = system.driver(&system.solve(vec![0.5; 6], 0.0));
            for sample in 0..6 {
                let mut found = [0.0; 2];
                samples.evaluate(&driver, sample, &mut found);
                for output in 0..2 {
                    assert!(
                        (found[output] - VALUES[2 * sample + output]).abs() < 1e-10,
                        "{sample}: {found:?}"
                    );
                }
            }
        }
    }

    /// Left-out errors are those of refitting without each own example, anchors kept.
    #[test]
    fn own_examples_are_left_out_and_anchors_are_not() {
        let (all, targets) = (samples(), targets(&VALUES, 3));
        for (which, system) in systems(&all, &targets).iter().enumerate() {
            let mut sum = 0.0;
            for left_out in 1..=3 {
                let kept: Vec<usize> = (0..6).filter(|&sample| sample != left_out).collect();
                let values: Vec<f64> = kept.iter().flat_map(|&s| VALUES[2 * s..2 * s + 2].to_vec()).collect();
                let others = all.select(&kept);
                let targets = super::tests::targets(&values, 2);
                let refitted = &systems(&others, &targets)[which];
                let driver = refitted.driver(&refitted.solve(vec![0.5; 5], 0.0));
                let mut found = [0.0; 2];
                all.evaluate(&driver, left_out, &mut found);
                sum += (0..2).map(|o| (found[o] - VALUES[2 * left_out + o]).powi(2)).sum::<f64>();
            }
            let (found, expected) = (system.solve(vec![0.5; 6], 0.0).leave_one_out, (sum / 3.0).sqrt());
            assert!((found - expected).abs() < 1e-9 * expected, "{found} instead of {expected}");
        }
    }

    /// Smoothing gives way at examples, never at rest.
    #[test]
    fn rest_stays_exact_under_smoothing() {
        let (samples, targets) = (samples(), targets(&VALUES, 3));
        for system in systems(&samples, &targets) {
            let with_widths = system.with_widths(vec![0.5; 6]);
            let solution = with_widths.solve(0.1);
            let mut found = [1.0; 2];
            samples.evaluate(&system.driver(&solution), 0, &mut found);
            assert!(found.iter().all(|value| value.abs() < 1e-12), "{found:?}");
            assert!(with_widths.miss(&solution) > 1e-3);
        }
    }
}
