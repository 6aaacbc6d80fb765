//! What the skin is expected to do in poses that nobody has seen: the kernel of the method as the covariance of a
//! random field, patch by patch.
//!
//! ```text
//! e_cj           how much joint j alone moves patch c at the end of its range, squared and summed over the points:
//!                from the examples that move j alone, else guessed from the skin weights
//! K_c            = Π_j (1 + e_cj / max_j e_cj · k_j) − 1
//! covariance     of what patch c does in two poses: max_j e_cj · K_c
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::driver::FeatureGroup;
use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::rig::Rig;
use rayon::prelude::*;

use super::kernel::{LEAST_RANGE, amounts, phi, used};
use super::params::PatchesParams;
use super::regions::Patches;
use crate::displacements::{Fields, Observations, RestDisplacements, SkinPoints};
use crate::during::During;
use crate::method::moving_things::moving_things;
use crate::numeric::{Matrix, invert};

/// What is said while poses are compared.
pub(crate) const COMPARING: &str = "comparing poses";

/// How strongly joints act, and how much the most relevant ones stand out.
const STRENGTH: f64 = 1.0;
const POWER: i32 = 2;
/// Smoothing as a share of the kernel's mean diagonal: corrections are never quite smooth.
const SMOOTHING: f64 = 1e-3;
/// Where hardly any pose moves a patch, smoothing is as if they moved it by this much.
const LEAST_DIAGONAL: f64 = 0.01;
/// Skin that a joint does not hold moves with it too, by so much of what it moves most: little enough to change
/// nothing before examples show it.
const ELSEWHERE: f64 = 1e-4;
/// Points of a patch that are looked at, where shapes are compared.
const MOST_POINTS: usize = 150;
/// So many examples of a joint say together that it is predicted badly; of fewer, each is simply new.
const ENOUGH_TO_CORRECT: usize = 4;
/// Errors of examples that are left out change what is expected by at most this factor.
const MOST_CORRECTION: f64 = 10.0;
/// Without a joint to compare with, controls move the skin by this share of its size.
const USUAL_MOTION: f64 = 0.01;

/// What is expected of a list of poses.
pub(crate) struct Expectation {
    seen: Observations,
    patches: Patches,
    groups: Vec<FeatureGroup>,
    /// `feature group`: place in `movers`
    mover_of: Vec<usize>,
    movers: Vec<Mover>,
    /// `feature group → pose`: features
    features: Vec<Vec<Vec<f64>>>,
    /// `feature group → pose`: φ of the distance to rest
    at_rest: Vec<Vec<f64>>,
    /// `feature group`: about k at the end of its range
    norms: Vec<f64>,
    /// `patch → mover`
    energies: Vec<Vec<f64>>,
    /// `patch`: covariance is this times the kernel
    scales: Vec<f64>,
    /// what examples leave open when they are left out in turn
    left_out: BTreeMap<Mover, f64>,
}

/// The covariance of some poses on one patch, and what an example leaves open.
pub(crate) struct PatchCovariance {
    /// `pose × pose`, squared length summed over the points of the patch
    pub matrix: Matrix,
    pub noise: f64,
}

/// Squared error on a patch, summed over its points, of an example that the others predict.
pub(crate) struct LeftOut {
    pub shown: f64,
    pub expected: f64,
}

impl Expectation {
    /// Of `poses`, of which the first ones have shapes where `shapes` are given.
    pub fn new(
        rig: &Arc<Rig>,
        poses: Vec<Pose>,
        shapes: Option<RestDisplacements>,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let progress = &During::new(progress, COMPARING);
        let with_shape = shapes.as_ref().map_or(0, |shapes| shapes.positions.example_count());
        let seen = Observations {
            rig: rig.clone(),
            names: Vec::new(),
            poses,
            base: Base::default(),
            displacements: shapes.unwrap_or_else(|| no_shapes(rig)),
            merged: Vec::new(),
        };
        let things = moving_things(&seen);
        // All of the skin counts: what will move is not known yet.
        let even = vec![1.0; seen.displacements.points.group_count()];
        let patches = Patches::find(&seen, &even, &PatchesParams::default(), progress)?;
        let (mut groups, mut mover_of) = (Vec::new(), Vec::new());
        for (place, thing) in things.iter().enumerate() {
            groups.extend(thing.groups.iter().cloned());
            mover_of.extend(thing.groups.iter().map(|_| place));
        }
        let features: Vec<Vec<Vec<f64>>> = groups.iter().map(|group| features_of(group, &seen)).collect();
        let distances: Vec<Vec<f64>> = groups
            .iter()
            .zip(&features)
            .map(|(group, own)| own.iter().map(|features| group.distance_to_rest(features)).collect())
            .collect();
        let ranges: Vec<f64> =
            distances.iter().map(|own| own.iter().copied().fold(LEAST_RANGE, f64::max)).collect();
        let mut expectation = Self {
            patches,
            movers: things.iter().map(|thing| thing.mover).collect(),
            at_rest: distances
                .iter()
                .map(|own| own.iter().map(|&distance| phi(distance)).collect())
                .collect(),
            norms: ranges.iter().map(|&range| 2.0 - 2.0 * phi(range)).collect(),
            seen,
            groups,
            mover_of,
            features,
            energies: Vec::new(),
            scales: Vec::new(),
            left_out: BTreeMap::new(),
        };
        expectation.guess(&ranges, progress)?;
        if with_shape > 0 {
            expectation.learn(with_shape, progress)?;
        }
        Ok(expectation)
    }

    /// Number of poses.
    pub fn pose_count(&self) -> usize {
        self.seen.poses.len()
    }

    /// Number of points of the skin.
    pub fn point_count(&self) -> usize {
        self.seen.displacements.points.group_count()
    }

    /// How much a joint or control alone moves all of the skin at the end of its range, squared and summed over
    /// the points.
    pub fn energy_of(&self, mover: Mover) -> f64 {
        let place = self.movers.iter().position(|own| *own == mover);
        place.map_or(0.0, |place| self.energies.iter().map(|of_patch| of_patch[place]).sum())
    }

    /// Mean square over the skin of what is left of the examples that move something, each left out in turn.
    pub fn left_out(&self, mover: Mover) -> Option<f64> {
        self.left_out.get(&mover).copied()
    }

    /// Whether each of the first `count` poses moves several joints or controls.
    pub fn of_several(&self, count: usize) -> Vec<bool> {
        let moved = moved_by_poses(&self.seen.rig, &self.seen.poses[..count], &self.movers);
        moved.iter().map(|by| by.len() > 1).collect()
    }

    /// Patches that are expected to move.
    pub fn moving_patches(&self) -> Vec<usize> {
        (0..self.patches.count()).filter(|&patch| self.scales[patch] > 0.0).collect()
    }

    /// Covariances of the first `count` poses on a patch.
    pub fn covariance(&self, patch: usize, count: usize) -> PatchCovariance {
        let (mut matrix, diagonal) = self.kernel(patch, count);
        let scale = self.scales[patch];
        for column in 0..count {
            for row in 0..count {
                matrix[(row, column)] *= scale;
            }
        }
        PatchCovariance { matrix, noise: SMOOTHING * scale * diagonal.max(LEAST_DIAGONAL) }
    }

    /// Inner products of what the first `count` examples do on a patch, summed over its points.
    pub fn inner_products(&self, patch: usize, count: usize) -> Matrix {
        let (points, mask) = (self.patches.points(patch), self.patches.mask(patch));
        let step = points.len().div_ceil(MOST_POINTS).max(1);
        let total: f64 = mask.iter().sum();
        let chosen: Vec<(u32, f64)> =
            points.iter().copied().zip(mask.iter().copied()).step_by(step).collect();
        let looked_at: f64 = chosen.iter().map(|(_, share)| share).sum();
        let fields = &self.seen.displacements.positions;
        let shapes = Matrix::from_fn(3 * chosen.len(), count, |row, example| {
            let (point, share) = chosen[row / 3];
            let own = fields.held_of(example)[point as usize];
            (share * total / looked_at).sqrt() * f64::from(own[row % 3])
        });
        shapes.transpose() * &shapes
    }

    /// K of the first `count` poses on a patch, and its mean diagonal.
    fn kernel(&self, patch: usize, count: usize) -> (Matrix, f64) {
        let most = self.energies[patch].iter().copied().fold(0.0, f64::max);
        let relevance: Vec<f64> = self
            .mover_of
            .iter()
            .map(|&mover| if most > 0.0 { (self.energies[patch][mover] / most).sqrt() } else { 0.0 })
            .collect();
        let amounts = amounts(&relevance, STRENGTH, POWER);
        let mut product = Matrix::from_fn(count, count, |_, _| 1.0);
        for group in used(&amounts) {
            let share = amounts[group] / self.norms[group];
            let (described, own, at_rest) =
                (&self.groups[group], &self.features[group], &self.at_rest[group]);
            for b in 0..count {
                for a in 0..=b {
                    // Where one is at rest the kernel is zero.
                    if at_rest[a] < 1.0 && at_rest[b] < 1.0 {
                        let near = phi(described.distance(&own[a], &own[b]));
                        product[(a, b)] *= 1.0 + share * (near - at_rest[a] - at_rest[b] + 1.0);
                    }
                }
            }
        }
        let kernel = Matrix::from_fn(count, count, |a, b| product[(a.min(b), a.max(b))] - 1.0);
        let diagonal = (0..count).map(|pose| kernel[(pose, pose)]).sum::<f64>() / count.max(1) as f64;
        (kernel, diagonal)
    }

    /// Energies by skin weights alone.
    fn guess(&mut self, ranges: &[f64], progress: &dyn Progress) -> Result<(), Cancelled> {
        let mut energies = vec![vec![0.0; self.movers.len()]; self.patches.count()];
        let points = &self.seen.displacements.points;
        for (place, &mover) in self.movers.iter().enumerate() {
            progress.doing(COMPARING)?;
            let Mover::Joint(joint) = mover else { continue };
            let own = ranges.iter().zip(&self.mover_of).filter(|(_, of)| **of == place);
            let range = own.map(|(range, _)| *range).fold(0.0, f64::max).min(std::f64::consts::PI);
            let bend = bend(&self.seen.rig, joint);
            let moved = |point: u32| 2.0 * (0.5 * range).sin() * bend[points.first_vertex(point as usize)];
            for (patch, of_patch) in energies.iter_mut().enumerate() {
                let own = self.patches.points(patch).iter().zip(self.patches.mask(patch));
                of_patch[place] = own.map(|(&point, share)| share * moved(point).powi(2)).sum();
            }
            let most = energies.iter().map(|of_patch| of_patch[place]).fold(0.0, f64::max);
            for of_patch in &mut energies {
                of_patch[place] = of_patch[place].max(ELSEWHERE * most);
            }
        }
        // Nothing is known of what controls do: as much as a joint does on average, everywhere.
        let joints = self.movers.iter().filter(|mover| matches!(mover, Mover::Joint(_))).count();
        let sum: f64 = energies.iter().flatten().sum();
        let usual = if joints > 0 && sum > 0.0 {
            sum / joints as f64 / self.point_count() as f64
        } else {
            (USUAL_MOTION * self.seen.rig.mesh().size()).powi(2)
        };
        for (patch, of_patch) in energies.iter_mut().enumerate() {
            let size: f64 = self.patches.mask(patch).iter().sum();
            for (energy, mover) in of_patch.iter_mut().zip(&self.movers) {
                if matches!(mover, Mover::Control(_)) {
                    *energy = usual * size;
                }
            }
        }
        self.set_energies(energies);
        Ok(())
    }

    /// Replaces guesses by what the first `count` poses show.
    fn learn(&mut self, count: usize, progress: &dyn Progress) -> Result<(), Cancelled> {
        let counted = Counted::new(progress, COMPARING, self.patches.count());
        let products: Vec<Matrix> = (0..self.patches.count())
            .into_par_iter()
            .map(|patch| {
                counted.next()?;
                Ok(self.inner_products(patch, count))
            })
            .collect::<Result<_, Cancelled>>()?;
        let moved = moved_by_poses(&self.seen.rig, &self.seen.poses[..count], &self.movers);
        self.learn_energies(&products, &moved);
        self.learn_from_left_out(&products, &moved, progress)
    }

    /// Energies of what examples move alone; of the rest, guesses in the same unit.
    fn learn_energies(&mut self, products: &[Matrix], moved: &[Vec<usize>]) {
        let of_pose = |products: &Matrix, example: usize| products[(example, example)];
        // k where a thing is, 1 at the end of its range
        let motion = |mover: usize, example: usize| -> f64 {
            let groups = (0..self.groups.len()).filter(|&group| self.mover_of[group] == mover);
            groups.map(|group| (2.0 - 2.0 * self.at_rest[group][example]) / self.norms[group]).sum()
        };
        let alone: Vec<Vec<usize>> = (0..self.movers.len())
            .map(|mover| (0..moved.len()).filter(|&example| moved[example] == [mover]).collect())
            .collect();
        let reach: Vec<f64> = (0..self.movers.len())
            .map(|mover| alone[mover].iter().map(|&example| motion(mover, example)).sum())
            .collect();
        let (mut shown, mut guessed) = (0.0, 0.0);
        for (products, guess) in products.iter().zip(&self.energies) {
            for mover in 0..self.movers.len() {
                shown += alone[mover].iter().map(|&example| of_pose(products, example)).sum::<f64>();
                guessed += guess[mover] * reach[mover];
            }
        }
        if shown <= 0.0 || guessed <= 0.0 {
            // No example moves one thing: all of them together say how soft the character is.
            let things = |example: usize| moved[example].iter().map(move |&mover| (mover, example));
            shown = (0..moved.len()).flat_map(|e| products.iter().map(move |p| of_pose(p, e))).sum();
            guessed = (0..moved.len())
                .flat_map(things)
                .map(|(mover, e)| motion(mover, e) * self.energies.iter().map(|own| own[mover]).sum::<f64>())
                .sum();
        }
        let factor = if shown > 0.0 && guessed > 0.0 { shown / guessed } else { 1.0 };
        let energies = products
            .iter()
            .zip(&self.energies)
            .map(|(products, guess)| {
                (0..self.movers.len())
                    .map(|mover| {
                        let examples = alone[mover].len() as f64;
                        let prior = factor * guess[mover];
                        if reach[mover] <= 0.0 {
                            return prior;
                        }
                        let shown: f64 = alone[mover].iter().map(|&example| of_pose(products, example)).sum();
                        with_guess(shown / reach[mover], examples, prior)
                    })
                    .collect()
            })
            .collect();
        self.set_energies(energies);
    }

    /// What the others leave of each example that moves a joint or control. Where several examples are predicted worse
    /// than expected, more is expected of what moves in them.
    fn learn_from_left_out(
        &mut self,
        products: &[Matrix],
        moved: &[Vec<usize>],
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let examples: Vec<usize> = (0..moved.len()).collect();
        let found = (0..self.patches.count())
            .into_par_iter()
            .map(|patch| {
                progress.doing(COMPARING)?;
                Ok(self.left_one_out(patch, &products[patch], &examples))
            })
            .collect::<Result<Vec<Vec<LeftOut>>, Cancelled>>()?;
        let mut energies = self.energies.clone();
        for (place, &mover) in self.movers.iter().enumerate() {
            let own: Vec<usize> = (0..moved.len()).filter(|&e| moved[e].contains(&place)).collect();
            if own.is_empty() {
                continue;
            }
            let left: f64 = found.iter().flat_map(|of_patch| own.iter().map(|&e| of_patch[e].shown)).sum();
            self.left_out.insert(mover, left / own.len() as f64 / self.point_count() as f64);
            if own.len() < ENOUGH_TO_CORRECT {
                continue;
            }
            for (of_patch, left) in energies.iter_mut().zip(&found) {
                let usual = left.iter().map(|left| left.expected).sum::<f64>() / moved.len() as f64;
                let shown: f64 = own.iter().map(|&e| left[e].shown).sum();
                let expected: f64 = own.iter().map(|&e| left[e].expected).sum();
                let correction = (shown + usual) / (expected + usual);
                if correction.is_finite() {
                    of_patch[place] *= correction.clamp(1.0 / MOST_CORRECTION, MOST_CORRECTION);
                }
            }
        }
        self.set_energies(energies);
        Ok(())
    }

    /// Squared error of some `examples` on a patch, each left out in turn: e = diag(K⁻¹)⁻¹ K⁻¹ u, of which the inner
    /// `products` of all u (`example × example`) are enough.
    pub fn left_one_out(&self, patch: usize, products: &Matrix, examples: &[usize]) -> Vec<LeftOut> {
        let count = products.nrows();
        if self.scales[patch] <= 0.0 {
            return examples.iter().map(|&e| LeftOut { shown: products[(e, e)], expected: 0.0 }).collect();
        }
        let inverse = self.inverse(patch, count);
        let weighed = &inverse * products;
        let left = |&e: &usize| {
            let squared: f64 = (0..count).map(|b| weighed[(e, b)] * inverse[(b, e)]).sum();
            LeftOut { shown: squared.max(0.0) / inverse[(e, e)].powi(2), expected: 1.0 / inverse[(e, e)] }
        };
        examples.iter().map(left).collect()
    }

    /// The inverse of the covariance of the first `count` poses with what examples leave open.
    fn inverse(&self, patch: usize, count: usize) -> Matrix {
        let PatchCovariance { mut matrix, noise } = self.covariance(patch, count);
        (0..count).for_each(|pose| matrix[(pose, pose)] += noise.max(f64::MIN_POSITIVE));
        invert(&matrix).matrix
    }

    fn set_energies(&mut self, energies: Vec<Vec<f64>>) {
        self.scales = energies.iter().map(|own| own.iter().copied().fold(0.0, f64::max)).collect();
        self.energies = energies;
    }
}

/// The mean of what `examples` show and of a guess that counts as one more. Orders of magnitude are averaged: one
/// joint that moves the skin far more than guessed must not make all others look idle.
fn with_guess(shown: f64, examples: f64, guess: f64) -> f64 {
    let mean = |shown: f64, guess: f64| (examples * shown + guess) / (examples + 1.0);
    if shown > 0.0 && guess > 0.0 { mean(shown.ln(), guess.ln()).exp() } else { mean(shown, guess) }
}

fn features_of(group: &FeatureGroup, seen: &Observations) -> Vec<Vec<f64>> {
    let of_pose = |pose| {
        let mut features = vec![0.0; group.feature_count()];
        group.write_features(&group.measure(seen.rig.skeleton(), pose), &mut features);
        features
    };
    seen.poses.iter().map(of_pose).collect()
}

fn no_shapes(rig: &Rig) -> RestDisplacements {
    let points = SkinPoints::new(rig).groups();
    RestDisplacements {
        positions: Fields::held(Vec::new(), points.group_count()),
        normals: Fields::held(Vec::new(), rig.vertex_count()),
        residuals: Vec::new(),
        points,
    }
}

/// Where and how much a joint bends the skin, `vertex`: half-way weights far from the joint lose most.
fn bend(rig: &Rig, joint: usize) -> Vec<f64> {
    let skeleton = rig.skeleton();
    let mut follows = vec![false; skeleton.joint_count()];
    for &other in skeleton.references_first() {
        follows[other] = other == joint || skeleton.joints()[other].reference.is_some_and(|r| follows[r]);
    }
    let at = skeleton.rest_position(joint);
    let amount = |vertex: usize| {
        let influences = rig.weights().of(vertex).iter();
        let share: f64 = influences.filter(|i| follows[i.joint as usize]).map(|i| f64::from(i.weight)).sum();
        (share * (1.0 - share)).max(0.0) * rig.mesh().positions()[vertex].as_dvec3().distance(at)
    };
    (0..rig.vertex_count()).map(amount).collect()
}
