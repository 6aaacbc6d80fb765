//! Overlapping patches of the skin: neighbourhoods in position and skin weights.

use std::cmp::Ordering;

use eigenskin_core::mover::Mover;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::random::SplitMix64;
use rayon::prelude::*;

use super::kernel::{JointKernels, Movers};
use super::params::PatchesParams;
use crate::displacements::Observations;

/// How much position counts beside skin weights: the longest extent is this long.
const EXTENT: f64 = 8.0;
/// Starts of the search for patches, and rounds of each.
const STARTS: u64 = 4;
const ROUNDS: usize = 60;
/// Points nearer to the middle of their patch than this are as good as in it.
const MIDDLE: f64 = 0.05;
/// A joint that no example moves alone matters where it or its reference joint holds this share of the skin.
const HOLDS: f64 = 0.01;
/// How much all joints matter together that no example moves alone, at most.
const MOST_GUESSED: f64 = 3.0;
/// How much other joints matter that no example moves alone.
const ELSEWHERE: f64 = 0.1;

/// What presses on a bone is felt by patches of which it holds this share of what the heaviest bone does.
const PRESSED: f64 = 0.15;

/// Patches of the skin, each with the points it has.
#[derive(Debug)]
pub(super) struct Patches {
    /// `patch → point of the patch`: points of the skin, rising
    points: Vec<Vec<u32>>,
    /// `patch → point of the patch`: its share; shares of a point sum to one
    masks: Vec<Vec<f64>>,
    /// `point`: its patches, rising
    of_point: Vec<Vec<u32>>,
    names: Vec<String>,
    /// `patch → joint`: how much of the patch it holds, summed over points
    held: Vec<Vec<f64>>,
}

impl Patches {
    /// Cuts the skin of what was observed: small patches where it moves much, large ones where it does not.
    /// `motion`: how much each point counts.
    pub fn find(
        seen: &Observations,
        motion: &[f64],
        params: &PatchesParams,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let described = described_points(seen);
        let count = params.patches.min(described.len()).max(1);
        let mut best: Option<(f64, Vec<Vec<f64>>)> = None;
        for start in 0..STARTS {
            progress.doing("cutting the skin into patches")?;
            let found = middles(&described, motion, count, start);
            if best.as_ref().is_none_or(|(spread, _)| found.0 < *spread) {
                best = Some(found);
            }
        }
        let middles = best.map_or_else(Vec::new, |(_, middles)| middles);
        Ok(Self::around(seen, &described, &middles, params.overlap()))
    }

    /// Each point in the patches whose middles are nearest.
    fn around(seen: &Observations, described: &[Vec<f64>], middles: &[Vec<f64>], overlap: usize) -> Self {
        let mut patches = Self {
            points: vec![Vec::new(); middles.len()],
            masks: vec![Vec::new(); middles.len()],
            of_point: Vec::with_capacity(described.len()),
            names: Vec::new(),
            held: vec![vec![0.0; seen.rig.skeleton().joint_count()]; middles.len()],
        };
        for (point, place) in described.iter().enumerate() {
            let mut near: Vec<(f64, u32)> =
                middles.iter().zip(0..).map(|(middle, patch)| (distance(place, middle), patch)).collect();
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(overlap);
            let unit = near[0].0.max(MIDDLE);
            let shares: Vec<f64> =
                near.iter().map(|(distance, _)| (-(distance / unit).powi(2)).exp()).collect();
            let sum: f64 = shares.iter().sum();
            for (&(_, patch), share) in near.iter().zip(&shares) {
                patches.points[patch as usize].push(point as u32);
                patches.masks[patch as usize].push(share / sum);
                for influence in seen.rig.weights().of(seen.displacements.points.first_vertex(point)) {
                    patches.held[patch as usize][influence.joint as usize] +=
                        share / sum * f64::from(influence.weight);
                }
            }
            let mut own: Vec<u32> = near.into_iter().map(|(_, patch)| patch).collect();
            own.sort_unstable();
            patches.of_point.push(own);
        }
        patches.names = patches.named(seen);
        patches
    }

    /// Named after the joint that holds most of each; numbered where several have one joint.
    fn named(&self, seen: &Observations) -> Vec<String> {
        let joints = seen.rig.skeleton().joints();
        let heaviest = |held: &Vec<f64>| held.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let stems: Vec<String> = self
            .held
            .iter()
            .map(|held| heaviest(held).map_or("skin".to_string(), |(joint, _)| joints[joint].name.clone()))
            .collect();
        let number = |patch: usize| stems[..=patch].iter().filter(|stem| **stem == stems[patch]).count();
        let is_alone = |patch: usize| stems.iter().filter(|stem| **stem == stems[patch]).count() == 1;
        (0..stems.len())
            .map(|patch| {
                let stem = &stems[patch];
                if is_alone(patch) { stem.clone() } else { format!("{stem} {}", number(patch)) }
            })
            .collect()
    }

    pub fn count(&self) -> usize {
        self.points.len()
    }

    pub fn name(&self, patch: usize) -> &str {
        &self.names[patch]
    }

    /// The points of a patch, rising.
    pub fn points(&self, patch: usize) -> &[u32] {
        &self.points[patch]
    }

    /// The shares of its points.
    pub fn mask(&self, patch: usize) -> &[f64] {
        &self.masks[patch]
    }

    /// The patches of each point of the skin.
    pub fn of_points(&self) -> &[Vec<u32>] {
        &self.of_point
    }

    /// What drives a patch.
    /// `energies`: mean square of what the patch does, `example`.
    pub fn movers(&self, patch: usize, energies: &[f64], kernels: &JointKernels) -> Movers {
        let held = &self.held[patch];
        let heaviest = held.iter().copied().fold(0.0, f64::max);
        let pressed =
            kernels.contact_joints().enumerate().filter(|&(_, joint)| held[joint] > PRESSED * heaviest);
        Movers {
            contacts: pressed.map(|(contact, _)| contact).collect(),
            relevance: self.relevance(patch, energies, kernels),
        }
    }

    /// How much each joint or control matters for a patch, `feature group`, 1 for the one that matters most:
    /// the root of the largest mean square of what it does alone. Where no example moves it alone, by where its
    /// skin is.
    fn relevance(&self, patch: usize, energies: &[f64], kernels: &JointKernels) -> Vec<f64> {
        let alone = kernels.examples_of_one();
        let largest = |mover: Mover| {
            let own = alone.iter().filter(|(_, by)| *by == mover).map(|&(example, _)| energies[example]);
            own.fold(None, |most: Option<f64>, energy| Some(most.map_or(energy, |most| most.max(energy))))
        };
        let measured: Vec<Option<f64>> =
            kernels.movers().iter().map(|&mover| largest(mover).map(f64::sqrt)).collect();
        let most = measured.iter().flatten().copied().fold(0.0, f64::max);
        let held: f64 = self.held[patch].iter().sum();
        let guessed = |mover: Mover| {
            let Mover::Joint(joint) = mover else { return 1.0 };
            let holds = |joint: usize| self.held[patch][joint] > HOLDS * held;
            let reference = kernels.reference_of(joint);
            if holds(joint) || reference.is_some_and(holds) { 1.0 } else { ELSEWHERE }
        };
        let guesses: Vec<f64> = kernels.movers().iter().map(|&mover| guessed(mover)).collect();
        let unmeasured = measured.iter().zip(&guesses).filter(|(measured, _)| measured.is_none());
        let sum: f64 = unmeasured.map(|(_, guess)| guess).sum();
        // Products over very many joints would leave nothing of poses that move less than others.
        let share = (MOST_GUESSED / sum.max(f64::MIN_POSITIVE)).min(1.0);
        let of_group = |(measured, guess): (Option<f64>, &f64)| match measured {
            Some(own) if most > 0.0 => own / most,
            Some(_) => 0.0,
            None => share * guess,
        };
        measured.into_iter().zip(&guesses).map(of_group).collect()
    }
}

/// Position and skin weights of every point of the skin.
fn described_points(seen: &Observations) -> Vec<Vec<f64>> {
    let (rig, points) = (&seen.rig, &seen.displacements.points);
    let vertices: Vec<usize> = (0..points.group_count()).map(|point| points.first_vertex(point)).collect();
    let positions = || vertices.iter().map(|&vertex| rig.mesh().positions()[vertex]);
    let low = positions().reduce(glam::Vec3::min).unwrap_or_default();
    let high = positions().reduce(glam::Vec3::max).unwrap_or_default();
    let extent = f64::from((high - low).max_element()).max(f64::MIN_POSITIVE);
    let describe = |&vertex: &usize| {
        let position = rig.mesh().positions()[vertex] - low;
        let mut described: Vec<f64> =
            position.to_array().iter().map(|&value| EXTENT * f64::from(value) / extent).collect();
        let mut weights = vec![0.0; rig.skeleton().joint_count()];
        for influence in rig.weights().of(vertex) {
            weights[influence.joint as usize] += f64::from(influence.weight);
        }
        described.extend(weights);
        described
    };
    vertices.iter().map(describe).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    squared(a, b).sqrt()
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Middles of neighbourhoods (k-means of points that count differently, begun with points that are far from each
/// other), and the squared distances that are left.
fn middles(points: &[Vec<f64>], motion: &[f64], count: usize, seed: u64) -> (f64, Vec<Vec<f64>>) {
    let mut random = SplitMix64::new(seed);
    let mut middles = vec![points[random.below(points.len())].clone()];
    let mut left: Vec<f64> =
        points.iter().zip(motion).map(|(point, motion)| motion * squared(point, &middles[0])).collect();
    while middles.len() < count {
        let mut target = random.between(0.0, left.iter().sum::<f64>());
        let chosen = left.iter().position(|own| {
            target -= own;
            target <= 0.0
        });
        let middle = points[chosen.unwrap_or(points.len() - 1)].clone();
        for ((left, point), motion) in left.iter_mut().zip(points).zip(motion) {
            *left = left.min(motion * squared(point, &middle));
        }
        middles.push(middle);
    }
    let mut spread = f64::INFINITY;
    for _ in 0..ROUNDS {
        let nearest: Vec<(f64, usize)> = points.par_iter().map(|point| nearest(point, &middles)).collect();
        let now: f64 = nearest.iter().zip(motion).map(|((squared, _), motion)| motion * squared).sum();
        let mut sums = vec![vec![0.0; points[0].len()]; count];
        let mut counted = vec![0.0; count];
        for ((point, motion), &(_, middle)) in points.iter().zip(motion).zip(&nearest) {
            counted[middle] += motion;
            sums[middle].iter_mut().zip(point).for_each(|(sum, value)| *sum += motion * value);
        }
        for ((middle, sum), &counted) in
            middles.iter_mut().zip(sums).zip(&counted).filter(|(_, counted)| **counted > 0.0)
        {
            *middle = sum.into_iter().map(|sum| sum / counted).collect();
        }
        if now >= spread * (1.0 - 1e-6) {
            spread = now;
            break;
        }
        spread = now;
    }
    (spread, middles)
}

fn nearest(point: &[f64], middles: &[Vec<f64>]) -> (f64, usize) {
    let distances = middles.iter().enumerate().map(|(index, middle)| (squared(point, middle), index));
    let nearer = |a: &(f64, usize), b: &(f64, usize)| -> Ordering { a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)) };
    distances.min_by(nearer).unwrap_or((0.0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred points on a line, of which the last ten move ten times as far as the others.
    #[test]
    fn patches_are_small_where_the_skin_moves_much() {
        let points: Vec<Vec<f64>> = (0..100).map(|point| vec![f64::from(point)]).collect();
        let motion: Vec<f64> = (0..100).map(|point| if point >= 90 { 100.0 } else { 1.0 }).collect();
        let among_the_last = |motion: &[f64], start: u64| {
            let (_, middles) = middles(&points, motion, 10, start);
            middles.iter().filter(|middle| middle[0] >= 89.5).count()
        };
        for start in 0..STARTS {
            let (many, even) = (among_the_last(&motion, start), among_the_last(&[1.0; 100], start));
            assert!((3..=6).contains(&many) && even <= 2, "start {start}: {many} {even}");
        }
        // One patch lies where most of the motion is: (90·44.5 + 1000·94.5) / 1090.
        let middle = middles(&points, &motion, 1, 0).1[0][0];
        assert!((middle - (90.0 * 44.5 + 1000.0 * 94.5) / 1090.0).abs() < 1e-9, "{middle}");
    }
}
