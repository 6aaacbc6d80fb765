//! How the coordinates of a patch follow the joints: one kernel for poses of one joint and of many.

use eigenskin_core::contact::{CapsulePair, Capsules};
use eigenskin_core::driver::{Combine, Driver, FeatureGroup, FeatureScale, Interpolant, Kernel, Tail};
use eigenskin_core::mover::Mover;
use glam::DVec3;
use rayon::prelude::*;

use crate::displacements::Observations;
use crate::drivers::clamp_beyond;
use crate::method::moving_things::MovingThing;
use crate::numeric::{Matrix, gram, symmetric_eigen};

/// Width of the Gaussian, radians.
const WIDTH: f64 = 1.5;
/// Joints that turn less than this count as if they turned so far.
const LEAST_RANGE: f64 = 0.3;
/// What is tried: how strongly joints act, how much the most relevant ones stand out, and smoothing as a share
/// of the kernel's mean diagonal.
const STRENGTHS: [f64; 3] = [0.3, 1.0, 3.0];
const POWERS: [i32; 2] = [1, 2];
const SMOOTHINGS: [f64; 5] = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1];
/// How strongly contact acts, and the overlap over which its effect changes as a share of the size.
const TOUCHES: [Touch; 5] = [
    Touch { amount: 0.3, length: 0.02 },
    Touch { amount: 0.3, length: 0.04 },
    Touch { amount: 1.0, length: 0.02 },
    Touch { amount: 1.0, length: 0.04 },
    Touch { amount: 3.0, length: 0.04 },
];
/// Bones that never press deeper than this share of the size do not touch.
const LEAST_OVERLAP: f64 = 0.005;
/// Of fewer examples none is smoothed, but for rounding.
const MANY: usize = 30;
const OF_FEW: [f64; 1] = [1e-8];
/// Poses of several joints decide, where there are so many.
const ENOUGH: usize = 10;
/// Examples that others are compared with, at most; the rest is fitted by least squares.
const MOST_CENTRES: usize = 256;
/// Directions in which centres differ less than this share of the most are the same.
const LEAST_DIFFERENCE: f64 = 1e-12;
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
    /// examples that all are compared with, rising
    centres: Vec<usize>,
    /// `feature group`: `example × centre`, divided by the norm
    matrices: Vec<Matrix>,
    /// pairs of bones that touch in some example
    contacts: Vec<TouchingPair>,
    /// of the rest shape
    size: f64,
    /// (example, what moves) of those that move one thing
    of_one: Vec<(usize, Mover)>,
    /// `example`: whether several things move
    of_several: Vec<bool>,
    /// `joint`
    references: Vec<Option<usize>>,
}

/// Two bones that touch in some example.
struct TouchingPair {
    pair: CapsulePair,
    /// examples in which they do, with the overlap
    overlaps: Vec<(usize, DVec3)>,
}

/// How contact acts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Touch {
    pub amount: f64,
    /// share of the size
    pub length: f64,
}

/// What is chosen for a patch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// how strongly joints act
    pub strength: f64,
    /// how much the most relevant ones stand out
    pub power: i32,
    /// none where contact does not help
    pub touch: Option<Touch>,
    /// share of the kernel's mean diagonal
    pub smoothing: f64,
}

/// What drives a patch.
pub(super) struct Movers {
    /// `feature group`: how much it matters, 1 for the one that matters most
    pub relevance: Vec<f64>,
    /// pairs of bones that press on it
    pub contacts: Vec<usize>,
}

/// A fitted driver and how it was chosen.
#[derive(Debug, Clone)]
pub(super) struct PatchDriver {
    pub driver: Driver,
    /// things that drive it, by feature group
    pub movers: Vec<Mover>,
    /// pairs of bones that press on it
    pub contacts: usize,
    pub choice: Choice,
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
        let centres = centres_of(&groups, &features, seen.len());
        let matrices = (0..groups.len())
            .map(|g| {
                Matrix::from_fn(seen.len(), centres.len(), |a, b| {
                    centred(&groups[g], &features[g][a], &features[g][centres[b]]) / norms[g]
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
            contacts: touching_pairs(seen),
            size: seen.rig.mesh().size(),
            groups,
            movers,
            features,
            norms,
            centres,
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

    /// The pairs of bones that touch in some example: the own one.
    pub fn contact_joints(&self) -> impl Iterator<Item = usize> {
        self.contacts.iter().map(|contact| contact.pair.own.joint)
    }

    /// The driver of coordinates (`example × component`) that predicts those best that are left out.
    pub fn fit(&self, movers: &Movers, coordinates: &Matrix) -> PatchDriver {
        let judged = self.judged();
        let energy: f64 = judged
            .iter()
            .flat_map(|&e| (0..coordinates.ncols()).map(move |k| coordinates[(e, k)].powi(2)))
            .sum();
        let start = Choice { strength: 1.0, power: 1, touch: None, smoothing: SMOOTHINGS[0] };
        let mut best = (f64::INFINITY, start);
        let mut tried: Vec<(f64, i32, Option<Touch>)> = Vec::new();
        let mut attempt = |strength: f64, power: i32, touch: Option<Touch>, best: &mut (f64, Choice)| {
            if tried.contains(&(strength, power, touch)) {
                return;
            }
            tried.push((strength, power, touch));
            let (kernel, _) =
                self.kernel(&amounts(&movers.relevance, strength, power), &movers.contacts, touch);
            let ridge = Ridge::new(&kernel, &self.centres, coordinates);
            for &smoothing in self.smoothings() {
                let left = ridge.left_out_error(smoothing, &judged);
                if left < best.0 {
                    *best = (left, Choice { strength, power, touch, smoothing });
                }
            }
        };
        // Joints alone, contact on top of the best, joints again beside it.
        let joints = || STRENGTHS.into_iter().flat_map(|strength| POWERS.map(|power| (strength, power)));
        for (strength, power) in joints() {
            attempt(strength, power, None, &mut best);
        }
        if !movers.contacts.is_empty() {
            let Choice { strength, power, .. } = best.1;
            for touch in TOUCHES {
                attempt(strength, power, Some(touch), &mut best);
            }
            if let touch @ Some(_) = best.1.touch {
                for (strength, power) in joints() {
                    attempt(strength, power, touch, &mut best);
                }
            }
        }
        let (left, choice) = best;
        let amounts = amounts(&movers.relevance, choice.strength, choice.power);
        PatchDriver {
            driver: self.driver(&amounts, &movers.contacts, choice, coordinates),
            movers: used(&amounts).map(|group| self.movers[group]).collect(),
            contacts: if choice.touch.is_some() { movers.contacts.len() } else { 0 },
            choice,
            cross_validation: if energy > 0.0 { (left / energy).sqrt() } else { 0.0 },
        }
    }

    /// What is tried. Few examples are met as closely as can be: leaving one of them out says little.
    fn smoothings(&self) -> &'static [f64] {
        if self.of_several.len() < MANY { &OF_FEW } else { &SMOOTHINGS }
    }

    /// Examples whose prediction decides: those of several joints, where there are enough.
    fn judged(&self) -> Vec<usize> {
        let all = || 0..self.of_several.len();
        let several: Vec<usize> = all().filter(|&example| self.of_several[example]).collect();
        if several.len() >= ENOUGH { several } else { all().collect() }
    }

    /// K of the examples and the centres (`example × centre`) for given amounts of the feature groups and given
    /// contacts, divided by its mean diagonal; and that.
    fn kernel(&self, amounts: &[f64], contacts: &[usize], touch: Option<Touch>) -> (Matrix, f64) {
        let (examples, centres) = (self.of_several.len(), self.centres.len());
        let mut product = Matrix::from_fn(examples, centres, |_, _| 1.0);
        for group in used(amounts) {
            let (amount, own) = (amounts[group], &self.matrices[group]);
            for b in 0..centres {
                for a in 0..examples {
                    product[(a, b)] *= 1.0 + amount * own[(a, b)];
                }
            }
        }
        if let Some(touch) = touch {
            for &contact in contacts {
                let group = self.contact_group(contact, touch);
                let overlaps = &self.contacts[contact].overlaps;
                let touching =
                    overlaps.iter().filter_map(|(e, overlap)| Some((self.centre_of(*e)?, overlap)));
                for (b, of_b) in touching {
                    for &(a, of_a) in overlaps {
                        let moved = centred(&group, &of_a.to_array(), &of_b.to_array());
                        product[(a, b)] *= 1.0 + touch.amount * moved;
                    }
                }
            }
        }
        let at = |(b, &a): (usize, &usize)| product[(a, b)] - 1.0;
        let diagonal = self.centres.iter().enumerate().map(at).sum::<f64>() / centres as f64;
        let diagonal = if diagonal > 0.0 { diagonal } else { 1.0 };
        (Matrix::from_fn(examples, centres, |a, b| (product[(a, b)] - 1.0) / diagonal), diagonal)
    }

    /// The place of an example among the centres.
    fn centre_of(&self, example: usize) -> Option<usize> {
        self.centres.binary_search(&example).ok()
    }

    /// How a driver sees a contact.
    fn contact_group(&self, contact: usize, touch: Touch) -> FeatureGroup {
        let scale = FeatureScale::One(WIDTH / (touch.length * self.size));
        FeatureGroup {
            weight: touch.amount,
            ..FeatureGroup::contact(self.contacts[contact].pair).scaled(scale)
        }
    }

    fn driver(&self, amounts: &[f64], contacts: &[usize], choice: Choice, coordinates: &Matrix) -> Driver {
        let (kernel, diagonal) = self.kernel(amounts, contacts, choice.touch);
        let (examples, outputs) = (coordinates.nrows(), coordinates.ncols());
        let solved = Ridge::new(&kernel, &self.centres, coordinates).coefficients(choice.smoothing);
        let groups: Vec<usize> = used(amounts).collect();
        let contacts = if choice.touch.is_some() { contacts } else { &[] };
        let of_joints = groups
            .iter()
            .map(|&g| FeatureGroup { weight: amounts[g] / self.norms[g], ..self.groups[g].clone() });
        let of_contacts = contacts
            .iter()
            .filter_map(|&contact| choice.touch.map(|touch| self.contact_group(contact, touch)));
        let ranges = (0..outputs).map(|k| {
            let values = (0..examples).map(|e| coordinates[(e, k)]);
            values.fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
        });
        let centre = |example: usize| {
            let joints = groups.iter().flat_map(move |&g| self.features[g][example].iter().copied());
            joints.chain(contacts.iter().flat_map(move |&c| self.contacts[c].overlap(example).to_array()))
        };
        Driver {
            groups: of_joints.chain(of_contacts).collect(),
            combine: Combine::Subsets,
            interpolant: Interpolant::Rbf {
                kernel: Kernel::Gaussian,
                centres: self.centres.iter().flat_map(|&example| centre(example)).collect(),
                widths: vec![WIDTH; self.centres.len()],
                coefficients: (0..self.centres.len())
                    .flat_map(|c| (0..outputs).map(move |k| (c, k)))
                    .map(|(c, k)| solved[(c, k)] / diagonal)
                    .collect(),
                tail: Tail::None,
            },
            clamp: clamp_beyond(ranges, |low, high| ROOM * (high - low)),
        }
    }
}

impl TouchingPair {
    /// Zero where they do not touch.
    fn overlap(&self, example: usize) -> DVec3 {
        let own = self.overlaps.binary_search_by_key(&example, |(example, _)| *example);
        own.map_or(DVec3::ZERO, |place| self.overlaps[place].1)
    }
}

/// All pairs of bones that touch in some example.
fn touching_pairs(seen: &Observations) -> Vec<TouchingPair> {
    let skeleton = seen.rig.skeleton();
    let least = LEAST_OVERLAP * seen.rig.mesh().size();
    let pairs: Vec<CapsulePair> = Capsules::of(&seen.rig).pairs().collect();
    let overlaps = |pair: CapsulePair| TouchingPair {
        pair,
        overlaps: (0..seen.len())
            .map(|example| (example, pair.overlap(skeleton, &seen.poses[example])))
            .filter(|(_, overlap)| *overlap != DVec3::ZERO)
            .collect(),
    };
    let touches = |found: &TouchingPair| found.overlaps.iter().any(|(_, overlap)| overlap.length() > least);
    pairs.into_par_iter().map(overlaps).filter(touches).collect()
}

fn phi(distance: f64) -> f64 {
    Kernel::Gaussian.value(distance, WIDTH)
}

/// A kernel of one group that is zero where either is at rest.
fn centred(group: &FeatureGroup, a: &[f64], b: &[f64]) -> f64 {
    phi(group.distance(a, b)) - phi(group.distance_to_rest(a)) - phi(group.distance_to_rest(b)) + 1.0
}

fn amounts(relevance: &[f64], strength: f64, power: i32) -> Vec<f64> {
    relevance.iter().map(|relevance| strength * relevance.powi(power)).collect()
}

/// Groups that act.
fn used(amounts: &[f64]) -> impl Iterator<Item = usize> {
    (0..amounts.len()).filter(|&group| amounts[group] > LEAST_AMOUNT)
}

/// Examples far from each other: rest or what is nearest to it, then again and again the one furthest from all
/// before; all where there are few.
fn centres_of(groups: &[FeatureGroup], features: &[Vec<Vec<f64>>], examples: usize) -> Vec<usize> {
    if examples <= MOST_CENTRES {
        return (0..examples).collect();
    }
    let squared =
        |distance: &dyn Fn(usize) -> f64| (0..groups.len()).map(|g| distance(g).powi(2)).sum::<f64>();
    let to_rest = |e: usize| squared(&|g| groups[g].distance_to_rest(&features[g][e]));
    let between = |a: usize, b: usize| squared(&|g| groups[g].distance(&features[g][a], &features[g][b]));
    let mut left: Vec<f64> = (0..examples).map(to_rest).collect();
    let mut chosen = Vec::with_capacity(MOST_CENTRES);
    while chosen.len() < MOST_CENTRES {
        let furthest =
            (0..examples).max_by(|&a, &b| left[a].total_cmp(&left[b]).then(b.cmp(&a))).unwrap_or(0);
        if left[furthest] <= 0.0 {
            break;
        }
        chosen.push(furthest);
        left.par_iter_mut().enumerate().for_each(|(e, left)| *left = left.min(between(e, furthest)));
    }
    chosen.sort_unstable();
    chosen
}

/// Kernel ridge regression: with K_c the rows of the centres and Kᵀ all columns, the coefficients c minimise
/// ‖Y − K·c‖² + λ·cᵀ·K_c·c. With K_c = V·S·Vᵀ, K·V·S^(−½) = Z·Qᵀ and Zᵀ·Z = Λ this is one division for each
/// λ. Where all examples are centres, it is (K + λ)⁻¹·Y.
struct Ridge {
    /// `example × direction`
    turned: Matrix,
    /// `direction`: Λ
    values: Vec<f64>,
    /// `centre × direction`: V·S^(−½)·Q
    back: Matrix,
    /// `direction × output`: Zᵀ·Y
    projected: Matrix,
    /// Y, `example × output`
    coordinates: Matrix,
}

impl Ridge {
    /// Of a kernel (`example × centre`).
    fn new(kernel: &Matrix, centres: &[usize], coordinates: &Matrix) -> Self {
        let (examples, count) = (kernel.nrows(), centres.len());
        let (values, vectors) =
            symmetric_eigen(&Matrix::from_fn(count, count, |a, b| kernel[(centres[a], b)]));
        let largest = values.first().copied().unwrap_or(0.0);
        let kept = values.iter().take_while(|value| **value > LEAST_DIFFERENCE * largest).count();
        let scaled = Matrix::from_fn(count, kept, |c, k| vectors[(c, k)] / values[k].sqrt());
        let (turned, values, back) = if count == examples {
            let turned = Matrix::from_fn(count, kept, |c, k| vectors[(c, k)] * values[k].sqrt());
            (turned, values[..kept].to_vec(), scaled)
        } else {
            let whitened = kernel * &scaled;
            let (values, turn) = symmetric_eigen(&gram(&whitened));
            (&whitened * &turn, values, &scaled * &turn)
        };
        let projected = turned.transpose() * coordinates;
        Self { turned, values, back, projected, coordinates: coordinates.clone() }
    }

    /// The squared error of the examples `judged`, each predicted from all others, in closed form: the residual
    /// of each divided by one minus its own share in its prediction.
    fn left_out_error(&self, smoothing: f64, judged: &[usize]) -> f64 {
        let weights: Vec<f64> = self.values.iter().map(|value| 1.0 / (value.max(0.0) + smoothing)).collect();
        let error = |&example: &usize| {
            let own = |k: usize| self.turned[(example, k)] * weights[k];
            let share: f64 = (0..weights.len()).map(|k| own(k) * self.turned[(example, k)]).sum();
            let residual = |output: usize| {
                let predicted: f64 = (0..weights.len()).map(|k| own(k) * self.projected[(k, output)]).sum();
                (self.coordinates[(example, output)] - predicted) / (1.0 - share)
            };
            (0..self.coordinates.ncols()).map(|output| residual(output).powi(2)).sum::<f64>()
        };
        judged.iter().map(error).sum()
    }

    /// `centre × output`
    fn coefficients(&self, smoothing: f64) -> Matrix {
        let (directions, outputs) = (self.values.len(), self.coordinates.ncols());
        let divided = Matrix::from_fn(directions, outputs, |k, output| {
            self.projected[(k, output)] / (self.values[k].max(0.0) + smoothing)
        });
        &self.back * &divided
    }
}

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod against_numpy;

#[cfg(test)]
mod tests {
    use super::*;

    fn example_kernel() -> Matrix {
        Matrix::from_fn(9, 9, |a, b| {
            (-0.1 * (a as f64 - b as f64).powi(2)).exp()
                + 0.3 * (a as f64 * 0.7).sin() * (b as f64 * 0.7).sin()
        })
    }

    /// The minimum of ‖Y − K·c‖² + λ·cᵀ·K_c·c by its normal equations, for the examples `kept`.
    fn direct(kernel: &Matrix, centres: &[usize], kept: &[usize], y: &Matrix, smoothing: f64) -> Matrix {
        let own = Matrix::from_fn(kept.len(), centres.len(), |a, c| kernel[(kept[a], centres[c])]);
        let right = Matrix::from_fn(kept.len(), y.ncols(), |a, k| y[(kept[a], k)]);
        let normal = gram(&own)
            + Matrix::from_fn(centres.len(), centres.len(), |a, b| {
                smoothing * kernel[(centres[a], centres[b])]
            });
        crate::numeric::solve_positive(&normal, &(own.transpose() * &right))
    }

    /// The closed forms are what leaving out each example and solving again gives, for all centres and for some.
    #[test]
    fn left_out_errors_are_those_of_leaving_out() {
        let (kernel, judged) = (example_kernel(), [1, 4, 7]);
        let coordinates = Matrix::from_fn(9, 2, |e, k| (e as f64 * (1.3 + k as f64)).cos());
        for centres in [(0..9).collect::<Vec<usize>>(), vec![0, 2, 3, 6, 8]] {
            let against = Matrix::from_fn(9, centres.len(), |a, c| kernel[(a, centres[c])]);
            let ridge = Ridge::new(&against, &centres, &coordinates);
            for smoothing in SMOOTHINGS {
                let all: Vec<usize> = (0..9).collect();
                let expected = direct(&kernel, &centres, &all, &coordinates, smoothing);
                let found = ridge.coefficients(smoothing);
                for c in 0..centres.len() {
                    assert!((found[(c, 0)] - expected[(c, 0)]).abs() < 1e-6 * expected.norm_max());
                }
                // An example that is left out may still be compared with: then it is a centre without a shape.
                let mut expected = 0.0;
                for left in judged {
                    let kept: Vec<usize> = (0..9).filter(|&e| e != left).collect();
                    let solved = direct(&kernel, &centres, &kept, &coordinates, smoothing);
                    for k in 0..2 {
                        let predicted: f64 =
                            (0..centres.len()).map(|c| kernel[(left, centres[c])] * solved[(c, k)]).sum();
                        expected += (predicted - coordinates[(left, k)]).powi(2);
                    }
                }
                let found = ridge.left_out_error(smoothing, &judged);
                assert!((found / expected - 1.0).abs() < 1e-6, "{smoothing}: {found} {expected}");
            }
        }
    }
}
