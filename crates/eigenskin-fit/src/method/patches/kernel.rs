//! How the coordinates of a patch follow the joints: one kernel for poses of one joint and of many.

use eigenskin_core::driver::{Combine, Driver, FeatureGroup, Interpolant, Kernel, Tail};
use eigenskin_core::mover::Mover;

use crate::displacements::Observations;
use crate::drivers::clamp_beyond;
use crate::method::moving_things::MovingThing;
use crate::numeric::{Matrix, solve_positive, symmetric_eigen};

/// Width of the Gaussian, radians.
const WIDTH: f64 = 1.5;
/// Joints that turn less than this count as if they turned so far.
pub(super) const LEAST_RANGE: f64 = 0.3;
/// What is tried: how strongly joints act, how much the most relevant ones stand out, and smoothing as a share
/// of the kernel's mean diagonal.
const STRENGTHS: [f64; 3] = [0.3, 1.0, 3.0];
const POWERS: [i32; 2] = [1, 2];
const SMOOTHINGS: [f64; 4] = [1e-4, 1e-3, 1e-2, 3e-2];
/// Poses of several joints decide, where there are so many.
const ENOUGH: usize = 10;
/// Joints that act less than this are left out.
const LEAST_AMOUNT: f64 = 1e-3;
/// Room beyond the range of a coordinate over the examples, as a share of it.
const ROOM: f64 = 0.5;

/// Kernels of all that moves, over the examples.
pub(super) struct JointKernels {
    groups: Vec<FeatureGroup>,
    /// `feature group`
    movers: Vec<Mover>,
    /// `feature group → example`: features
    features: Vec<Vec<Vec<f64>>>,
    /// `feature group`: about k at the end of its range
    norms: Vec<f64>,
    /// `feature group`: `example × example`, divided by the norm
    matrices: Vec<Matrix>,
    /// (example, what moves) of those that move one thing
    of_one: Vec<(usize, Mover)>,
    /// `example`: whether several things move
    of_several: Vec<bool>,
    /// `joint`
    references: Vec<Option<usize>>,
}

/// A fitted driver and how it was chosen.
#[derive(Debug, Clone)]
pub(super) struct PatchDriver {
    pub driver: Driver,
    /// things that drive it, by feature group
    pub movers: Vec<Mover>,
    pub strength: f64,
    pub power: i32,
    pub smoothing: f64,
    /// error of coordinates that are left out, relative to them
    pub cross_validation: f64,
}

impl JointKernels {
    pub fn new(seen: &Observations, things: &[MovingThing]) -> Self {
        let with_mover = |thing: &MovingThing| {
            let mover = thing.mover;
            thing.groups.iter().map(move |group| (group.clone(), mover)).collect::<Vec<_>>()
        };
        let (groups, movers): (Vec<FeatureGroup>, Vec<Mover>) = things.iter().flat_map(with_mover).unzip();
        let features: Vec<Vec<Vec<f64>>> = groups
            .iter()
            .map(|group| {
                let of_pose = |pose| {
                    let mut features = vec![0.0; group.feature_count()];
                    group.write_features(&group.measure(seen.rig.skeleton(), pose), &mut features);
                    features
                };
                seen.poses.iter().map(of_pose).collect()
            })
            .collect();
        let norm = |(group, features): (&FeatureGroup, &Vec<Vec<f64>>)| {
            let range = features.iter().map(|own| group.distance_to_rest(own)).fold(LEAST_RANGE, f64::max);
            2.0 - 2.0 * phi(range)
        };
        let norms: Vec<f64> = groups.iter().zip(&features).map(norm).collect();
        let matrices = (0..groups.len())
            .map(|g| {
                Matrix::from_fn(seen.len(), seen.len(), |a, b| {
                    centred(&groups[g], &features[g][a], &features[g][b]) / norms[g]
                })
            })
            .collect();
        let moved = |example: usize| -> Vec<Mover> {
            let pose = &seen.poses[example];
            things.iter().map(|thing| thing.mover).filter(|mover| mover.is_moved(&seen.rig, pose)).collect()
        };
        let moved: Vec<Vec<Mover>> = (0..seen.len()).map(moved).collect();
        let of_one =
            moved.iter().enumerate().filter(|(_, by)| by.len() == 1).map(|(e, by)| (e, by[0])).collect();
        Self {
            groups,
            movers,
            features,
            norms,
            matrices,
            of_one,
            of_several: moved.iter().map(|by| by.len() > 1).collect(),
            references: seen.rig.skeleton().joints().iter().map(|joint| joint.reference).collect(),
        }
    }

    /// What each feature group looks at.
    pub fn movers(&self) -> &[Mover] {
        &self.movers
    }

    /// Examples that move one thing, and what.
    pub fn examples_of_one(&self) -> &[(usize, Mover)] {
        &self.of_one
    }

    pub fn reference_of(&self, joint: usize) -> Option<usize> {
        self.references[joint]
    }

    /// The driver of coordinates (`example × component`) that predicts those best that are left out, for given
    /// relevances of the feature groups.
    pub fn fit(&self, relevance: &[f64], coordinates: &Matrix) -> PatchDriver {
        let judged: Vec<usize> = if self.of_several.iter().filter(|several| **several).count() >= ENOUGH {
            (0..self.of_several.len()).filter(|&example| self.of_several[example]).collect()
        } else {
            (0..self.of_several.len()).collect()
        };
        let energy: f64 = judged
            .iter()
            .flat_map(|&e| (0..coordinates.ncols()).map(move |k| coordinates[(e, k)].powi(2)))
            .sum();
        let mut best: Option<(f64, f64, i32, f64)> = None;
        for strength in STRENGTHS {
            for power in POWERS {
                let (kernel, _) = self.kernel(&amounts(relevance, strength, power));
                for (smoothing, left) in left_out_errors(&kernel, coordinates, &judged) {
                    if best.is_none_or(|(least, ..)| left < least) {
                        best = Some((left, strength, power, smoothing));
                    }
                }
            }
        }
        let (left, strength, power, smoothing) = best.unwrap_or((0.0, 1.0, 1, SMOOTHINGS[0]));
        let amounts = amounts(relevance, strength, power);
        PatchDriver {
            driver: self.driver(&amounts, coordinates, smoothing),
            movers: used(&amounts).map(|group| self.movers[group]).collect(),
            strength,
            power,
            smoothing,
            cross_validation: if energy > 0.0 { (left / energy).sqrt() } else { 0.0 },
        }
    }

    /// K over the examples for given amounts of the feature groups, divided by its mean diagonal; and that.
    fn kernel(&self, amounts: &[f64]) -> (Matrix, f64) {
        let count = self.of_several.len();
        let mut product = Matrix::from_fn(count, count, |_, _| 1.0);
        for group in used(amounts) {
            let (amount, own) = (amounts[group], &self.matrices[group]);
            for b in 0..count {
                for a in 0..count {
                    product[(a, b)] *= 1.0 + amount * own[(a, b)];
                }
            }
        }
        let diagonal = (0..count).map(|e| product[(e, e)] - 1.0).sum::<f64>() / count as f64;
        let diagonal = if diagonal > 0.0 { diagonal } else { 1.0 };
        (Matrix::from_fn(count, count, |a, b| (product[(a, b)] - 1.0) / diagonal), diagonal)
    }

    fn driver(&self, amounts: &[f64], coordinates: &Matrix, smoothing: f64) -> Driver {
        let (mut kernel, diagonal) = self.kernel(amounts);
        let (examples, outputs) = (coordinates.nrows(), coordinates.ncols());
        for example in 0..examples {
            kernel[(example, example)] += smoothing;
        }
        let solved = solve_positive(&kernel, coordinates);
        let groups: Vec<usize> = used(amounts).collect();
        let ranges = (0..outputs).map(|k| {
            let values = (0..examples).map(|e| coordinates[(e, k)]);
            values.fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
        });
        Driver {
            groups: groups
                .iter()
                .map(|&g| FeatureGroup { weight: amounts[g] / self.norms[g], ..self.groups[g].clone() })
                .collect(),
            combine: Combine::Subsets,
            interpolant: Interpolant::Rbf {
                kernel: Kernel::Gaussian,
                centres: (0..examples)
                    .flat_map(|e| groups.iter().flat_map(move |&g| self.features[g][e].iter().copied()))
                    .collect(),
                widths: vec![WIDTH; examples],
                coefficients: (0..examples)
                    .flat_map(|e| (0..outputs).map(move |k| (e, k)))
                    .map(|(e, k)| solved[(e, k)] / diagonal)
                    .collect(),
                tail: Tail::None,
            },
            clamp: clamp_beyond(ranges, |low, high| ROOM * (high - low)),
        }
    }
}

pub(super) fn phi(distance: f64) -> f64 {
    Kernel::Gaussian.value(distance, WIDTH)
}

/// A kernel of one group that is zero where either is at rest.
fn centred(group: &FeatureGroup, a: &[f64], b: &[f64]) -> f64 {
    phi(group.distance(a, b)) - phi(group.distance_to_rest(a)) - phi(group.distance_to_rest(b)) + 1.0
}

pub(super) fn amounts(relevance: &[f64], strength: f64, power: i32) -> Vec<f64> {
    relevance.iter().map(|relevance| strength * relevance.powi(power)).collect()
}

/// Groups that act.
pub(super) fn used(amounts: &[f64]) -> impl Iterator<Item = usize> {
    (0..amounts.len()).filter(|&group| amounts[group] > LEAST_AMOUNT)
}

/// For each smoothing the squared error of coordinates (`example × component`) in the examples `judged` when each
/// is left out, in closed form: with K = QΛQᵀ, residuals of all are (Q(Λ+λ)⁻¹QᵀY)_i / (Q(Λ+λ)⁻¹Qᵀ)_ii.
fn left_out_errors(kernel: &Matrix, coordinates: &Matrix, judged: &[usize]) -> Vec<(f64, f64)> {
    let (values, vectors) = symmetric_eigen(kernel);
    let (examples, outputs) = (coordinates.nrows(), coordinates.ncols());
    let rotated = vectors.transpose() * coordinates;
    let errors = |smoothing: f64| -> f64 {
        let weights: Vec<f64> = values.iter().map(|value| 1.0 / (value.max(0.0) + smoothing)).collect();
        judged
            .iter()
            .map(|&example| {
                let own = |i: usize| vectors[(example, i)] * weights[i];
                let diagonal: f64 = (0..examples).map(|i| own(i) * vectors[(example, i)]).sum();
                (0..outputs)
                    .map(|k| (0..examples).map(|i| own(i) * rotated[(i, k)]).sum::<f64>() / diagonal)
                    .map(|residual| residual * residual)
                    .sum::<f64>()
            })
            .sum()
    };
    SMOOTHINGS.into_iter().map(|smoothing| (smoothing, errors(smoothing))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed form is what leaving out each example and solving again gives.
    #[test]
    fn left_out_errors_are_those_of_leaving_out() {
        let count = 9;
        let kernel = Matrix::from_fn(count, count, |a, b| {
            (-0.1 * (a as f64 - b as f64).powi(2)).exp()
                + 0.3 * (a as f64 * 0.7).sin() * (b as f64 * 0.7).sin()
        });
        let coordinates = Matrix::from_fn(count, 2, |e, k| (e as f64 * (1.3 + k as f64)).cos());
        let judged = [1, 4, 7];
        for (smoothing, found) in left_out_errors(&kernel, &coordinates, &judged) {
            let mut expected = 0.0;
            for left in judged {
                let kept: Vec<usize> = (0..count).filter(|&e| e != left).collect();
                let inner = Matrix::from_fn(count - 1, count - 1, |a, b| {
                    kernel[(kept[a], kept[b])] + if a == b { smoothing } else { 0.0 }
                });
                let right = Matrix::from_fn(count - 1, 2, |a, k| coordinates[(kept[a], k)]);
                let solved = solve_positive(&inner, &right);
                for k in 0..2 {
                    let predicted: f64 =
                        (0..count - 1).map(|a| kernel[(left, kept[a])] * solved[(a, k)]).sum();
                    expected += (predicted - coordinates[(left, k)]).powi(2);
                }
            }
            assert!((found / expected - 1.0).abs() < 1e-6, "{smoothing}: {found} {expected}");
        }
    }
}
