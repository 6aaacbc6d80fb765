//! What is not known of some poses, and which example would tell most about all of them.

use eigenskin_core::progress::{Cancelled, Counted, Progress};
use rayon::prelude::*;

use crate::method::patches::expectation::{COMPARING, Expectation, PatchCovariance};
use crate::numeric::{Matrix, solve_positive};

/// Covariances of the free poses on every patch, given examples.
pub(super) struct Uncertainty {
    count: usize,
    patches: Vec<PatchUncertainty>,
    /// before any example
    prior: f64,
}

struct PatchUncertainty {
    /// `free pose × free pose`, symmetric, row by row
    covariance: Vec<f64>,
    /// what an example leaves open at its own pose
    noise: f64,
}

impl Uncertainty {
    /// Of all poses but the first `known`, given examples of those.
    pub fn new(expectation: &Expectation, known: usize, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let count = expectation.pose_count() - known;
        let moving = expectation.moving_patches();
        let counted = Counted::new(progress, COMPARING, moving.len());
        let found: Vec<(PatchUncertainty, f64)> = moving
            .into_par_iter()
            .map(|patch| {
                let all = expectation.covariance(patch, known + count);
                let prior = (known..known + count).map(|pose| all.matrix[(pose, pose)]).sum();
                counted.next()?;
                Ok((PatchUncertainty::given(&all, known), prior))
            })
            .collect::<Result<_, Cancelled>>()?;
        let prior = found.iter().map(|(_, prior)| prior).sum();
        Ok(Self { count, patches: found.into_iter().map(|(patch, _)| patch).collect(), prior })
    }

    /// Sum of the variances of all free poses before any example.
    pub fn prior(&self) -> f64 {
        self.prior
    }

    /// Sum of the variances of all free poses.
    pub fn total(&self) -> f64 {
        (0..self.count).map(|pose| self.variance(pose)).sum()
    }

    /// The variance of a pose: the squared error to expect there, summed over the points of the skin.
    pub fn variance(&self, pose: usize) -> f64 {
        self.patches.iter().map(|patch| patch.covariance[pose * self.count + pose].max(0.0)).sum()
    }

    /// The open pose whose example would take away most of the sum of all variances, and how much. Of equal ones
    /// the first.
    pub fn best(&self, open: &[bool]) -> Option<(usize, f64)> {
        let of_patches: Vec<Vec<f64>> = self.patches.par_iter().map(|patch| patch.gains(open)).collect();
        let gain = |pose: usize| of_patches.iter().map(|gains| gains[pose]).sum::<f64>();
        let gains = (0..self.count).filter(|&pose| open[pose]).map(|pose| (pose, gain(pose)));
        gains.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// Once there is an example of a pose.
    pub fn know(&mut self, pose: usize) {
        self.patches.par_iter_mut().for_each(|patch| patch.know(pose));
    }
}

impl PatchUncertainty {
    /// Covariances of what follows the first `known` poses, given examples of those.
    fn given(all: &PatchCovariance, known: usize) -> Self {
        let count = all.matrix.nrows() - known;
        let block = |row: usize, column: usize, rows: usize, columns: usize| {
            Matrix::from_fn(rows, columns, |a, b| all.matrix[(row + a, column + b)])
        };
        let mut inner = block(0, 0, known, known);
        (0..known).for_each(|pose| inner[(pose, pose)] += all.noise.max(f64::MIN_POSITIVE));
        let across = block(0, known, known, count);
        let told = across.transpose() * solve_positive(&inner, &across);
        let value =
            |a: usize, b: usize| all.matrix[(known + a, known + b)] - 0.5 * (told[(a, b)] + told[(b, a)]);
        let covariance = (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).map(|(a, b)| value(a, b));
        Self { covariance: covariance.collect(), noise: all.noise }
    }

    /// What an example of each open pose takes away from the sum of all variances; 0 for others.
    fn gains(&self, open: &[bool]) -> Vec<f64> {
        let rows = self.covariance.chunks_exact(open.len()).enumerate();
        rows.map(|(pose, row)| {
            let own = row[pose].max(0.0) + self.noise;
            if open[pose] && own > 0.0 { row.iter().map(|x| x * x).sum::<f64>() / own } else { 0.0 }
        })
        .collect()
    }

    fn know(&mut self, pose: usize) {
        let count = self.covariance.len().isqrt();
        let row: Vec<f64> = self.covariance[pose * count..(pose + 1) * count].to_vec();
        let own = row[pose].max(0.0) + self.noise;
        if own <= 0.0 {
            return;
        }
        for (values, other) in self.covariance.chunks_exact_mut(count).zip(&row) {
            let share = other / own;
            values.iter_mut().zip(&row).for_each(|(value, other)| *value -= share * other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::invert;
    use eigenskin_characters::hand;
    use eigenskin_core::progress::Unwatched;

    /// After every pick: variances and gains as they follow from all known poses at once.
    #[test]
    fn picks_are_those_of_computing_everything_anew() {
        let hand = hand(1500).unwrap();
        let articulation = hand.articulation();
        let mut angles = articulation.sweeps(2, 0.0);
        let known = angles.len();
        angles.extend(articulation.random(9, 0.75, 5));
        let poses = articulation.poses(&angles).into_iter().map(|named| named.pose).collect();
        let expectation = Expectation::new(&hand.rig, poses, None, &Unwatched).unwrap();
        let mut found = Uncertainty::new(&expectation, known, &Unwatched).unwrap();
        let all: Vec<PatchCovariance> = expectation
            .moving_patches()
            .into_iter()
            .map(|patch| expectation.covariance(patch, expectation.pose_count()))
            .collect();
        assert!(all.len() > 10);
        // Sum of the variances of the free poses, given examples.
        let total = |given: &[usize]| -> f64 {
            let of_patch = |patch: &PatchCovariance| -> f64 {
                let inner = Matrix::from_fn(given.len(), given.len(), |a, b| {
                    patch.matrix[(given[a], given[b])] + if a == b { patch.noise } else { 0.0 }
                });
                let inverse = invert(&inner).matrix;
                let left = |pose: usize| {
                    let mut left = patch.matrix[(pose, pose)];
                    for (a, &known_a) in given.iter().enumerate() {
                        for (b, &known_b) in given.iter().enumerate() {
                            left -= patch.matrix[(pose, known_a)]
                                * inverse[(a, b)]
                                * patch.matrix[(known_b, pose)];
                        }
                    }
                    left
                };
                (known..expectation.pose_count()).map(left).sum()
            };
            all.iter().map(of_patch).sum()
        };
        let mut given: Vec<usize> = (0..known).collect();
        let mut open = vec![true; 9];
        for _ in 0..4 {
            let now = total(&given);
            assert!((found.total() / now - 1.0).abs() < 1e-6, "{} {now}", found.total());
            let (pick, gain) = found.best(&open).unwrap();
            let direct = |pose: usize| now - total(&[&given[..], &[known + pose]].concat());
            let most = (0..9).filter(|&pose| open[pose]).map(direct).fold(0.0, f64::max);
            assert!((gain / most - 1.0).abs() < 1e-6, "{gain} {most}");
            assert!((direct(pick) / most - 1.0).abs() < 1e-6);
            found.know(pick);
            open[pick] = false;
            given.push(known + pick);
        }
    }
}
