//! How the coordinates of a patch follow the joints: one kernel for poses of one joint and of many.

use eigenskin_core::driver::{Combine, Driver, FeatureGroup, FeatureScale, Interpolant, Kernel, Tail};
use eigenskin_core::mover::Mover;
use rayon::prelude::*;

use super::contacts::{TouchingPair, touching_pairs};
use super::ridge::Ridge;
use super::selection::{Choice, Touch};
use crate::displacements::Observations;
use crate::drivers::clamp_beyond;
use crate::method::moving_things::MovingThing;
use crate::numeric::Matrix;

/// Width of the Gaussian, radians.
const WIDTH: f64 = 1.5;
/// Smaller features are noise of `f32` transforms.
const AT_REST: f64 = 1e-4;
/// Joints that turn less than this count as if they turned so far.
pub(super) const LEAST_RANGE: f64 = 0.3;
/// Examples that others are compared with, at most; the rest is fitted by least squares.
const MOST_CENTRES: usize = 256;
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

/// What drives a patch.
pub(super) struct Movers {
    /// `feature group`: how much it matters, 1 for the one that matters most
    pub relevance: Vec<f64>,
    /// pairs of bones that press on it
    pub contacts: Vec<usize>,
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
                    // Runtimes leave out what is at rest exactly.
                    if group.distance_to_rest(&features) < AT_REST {
                        group.write_rest_features(&mut features);
                    }
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

    /// K of the examples and the centres (`example × centre`) for given amounts of the feature groups and given
    /// contacts, divided by its mean diagonal; and that.
    pub fn kernel(&self, amounts: &[f64], contacts: &[usize], touch: Option<Touch>) -> (Matrix, f64) {
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

    /// Left-out errors of a kernel's choice are read from this.
    pub fn ridge(&self, kernel: &Matrix, coordinates: &Matrix) -> Ridge {
        Ridge::new(kernel, &self.centres, coordinates)
    }

    /// `example`: whether it moves several things.
    pub fn of_several(&self) -> &[bool] {
        &self.of_several
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

    /// The driver of coordinates (`example × component`), with the kernel that was chosen.
    pub fn driver(
        &self,
        amounts: &[f64],
        contacts: &[usize],
        choice: Choice,
        coordinates: &Matrix,
    ) -> Driver {
        let (kernel, diagonal) = self.kernel(amounts, contacts, choice.touch);
        let (examples, outputs) = (coordinates.nrows(), coordinates.ncols());
        let solved = self.ridge(&kernel, coordinates).coefficients(choice.smoothing);
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

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod against_numpy;
