//! How large corrections are expected to be, and how much poses have in common.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::Mover;
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;

use super::motions::Motions;
use super::{COMPARING, NearestPose, SuggestParams};
use crate::displacements::skinned_displacements;
use crate::numeric::{Matrix, invert};

/// The covariance of corrections between poses.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// `mover`: mean square of the correction over the skin, for a motion by one
    energies: Vec<f64>,
    /// pairs of movers that bend the same skin, with how much they are expected to do together
    couplings: Vec<(usize, usize, f64)>,
    /// `mover`: root of the mean square of the leave-one-out errors of its examples
    left_out: Vec<Option<f64>>,
    length: f64,
}

/// Variance that an example leaves at its own pose, as a share: corrections are never quite smooth.
const NOISE: f64 = 1e-3;
/// Leave-one-out errors change what is expected by at most this factor.
const MOST_CORRECTION: f64 = 10.0;

impl Expectation {
    /// From the skin weights, then from the examples (whose motions are `known`).
    pub fn new(
        rig: &Rig,
        movers: &[Mover],
        examples: Option<&ExampleSet>,
        known: &[Motions],
        params: &SuggestParams,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let bends: Vec<Vec<f64>> = movers
            .iter()
            .map(|&mover| {
                progress.doing(COMPARING)?;
                Ok(bend(rig, mover))
            })
            .collect::<Result<_, Cancelled>>()?;
        let vertices = rig.vertex_count() as f64;
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / vertices;
        let mut energies: Vec<f64> = bends.iter().map(|bend| product(bend, bend)).collect();
        fill_controls(rig, movers, &mut energies);
        let mut couplings = Vec::new();
        for a in 0..movers.len() {
            progress.doing(COMPARING)?;
            for b in a + 1..movers.len() {
                let shared = product(&bends[a], &bends[b]);
                if params.coupling > 0.0 && shared > 0.0 {
                    couplings.push((a, b, params.coupling * shared));
                }
            }
        }
        let left_out = vec![None; movers.len()];
        let mut expectation = Self { energies, couplings, left_out, length: params.length };
        if let Some(examples) = examples {
            expectation.learn(&inner_products(examples, progress)?, known, progress)?;
        }
        Ok(expectation)
    }

    /// The covariance of two poses.
    pub fn covariance(&self, a: &Motions, b: &Motions) -> f64 {
        let likeness: Vec<f64> =
            (0..self.energies.len()).map(|mover| a.likeness(b, mover, self.length)).collect();
        let alone: f64 = self.energies.iter().zip(&likeness).map(|(energy, like)| energy * like).sum();
        let together: f64 =
            self.couplings.iter().map(|&(a, b, share)| share * likeness[a] * likeness[b]).sum();
        alone + together
    }

    /// The variance of a pose, before any example.
    pub fn variance(&self, motions: &Motions) -> f64 {
        self.covariance(motions, motions)
    }

    /// What an example leaves open at its own pose.
    pub fn noise(&self, motions: &Motions) -> f64 {
        NOISE * self.variance(motions)
    }

    /// Leave-one-out error of the examples that move a mover.
    pub fn leave_one_out(&self, mover: usize) -> Option<f64> {
        self.left_out[mover]
    }

    /// Covariances of `free` poses, `free × free`, given examples at `known` ones.
    pub fn given_examples(
        &self,
        known: &[Motions],
        free: &[Motions],
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, Cancelled> {
        let counted = Counted::new(progress, COMPARING, known.len() + free.len());
        let all: Vec<&Motions> = known.iter().chain(free).collect();
        let count = all.len();
        let mut covariance = vec![0.0; count * count];
        for a in 0..count {
            counted.next()?;
            for b in a..count {
                let value = self.covariance(all[a], all[b]);
                covariance[a * count + b] = value;
                covariance[b * count + a] = value;
            }
        }
        for (pivot, motions) in known.iter().enumerate() {
            progress.doing(COMPARING)?;
            super::condition_on(&mut covariance, count, pivot, self.noise(motions));
        }
        let rows = covariance.chunks_exact(count).skip(known.len());
        Ok(rows.flat_map(|row| row[known.len()..].iter().copied()).collect())
    }

    /// The mover that makes a pose worth while, and the pose among `others` that moves it most alike.
    pub fn reason<'a>(
        &self,
        motions: &Motions,
        others: impl Iterator<Item = (&'a Motions, &'a str)>,
    ) -> (usize, Option<NearestPose>) {
        let others: Vec<(&Motions, &str)> = others.collect();
        let nearest = |mover: usize| {
            let moving = others.iter().filter(|(other, _)| other.size_of(mover) > 0.0);
            let distances = moving.map(|(other, name)| (name, motions.distance(other, mover)));
            distances.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let news = |mover: usize| {
            let distance = nearest(mover).map_or(f64::INFINITY, |(_, distance)| distance);
            self.energies[mover] * distance.min(motions.size_of(mover)).powi(2)
        };
        let mover = motions.moved().max_by(|&a, &b| news(a).total_cmp(&news(b)).then(b.cmp(&a))).unwrap_or(0);
        let nearest = nearest(mover);
        (mover, nearest.map(|(name, distance)| NearestPose { name: (*name).to_string(), distance }))
    }

    /// Replaces guesses by what examples show; `products` are the mean inner products of their
    /// corrections, `example × example`.
    fn learn(
        &mut self,
        products: &Matrix,
        known: &[Motions],
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let count = known.len();
        let expected: Vec<f64> = known.iter().map(|motions| self.variance(motions)).collect();
        let (seen, guessed) =
            ((0..count).map(|e| products[(e, e)]).sum::<f64>(), expected.iter().sum::<f64>());
        if !(seen > 0.0 && guessed > 0.0) {
            return Ok(());
        }
        // All guesses are off by about the same factor: how soft the character is.
        let factor = seen / guessed;
        let guess = self.energies.clone();
        for (mover, energy) in self.energies.iter_mut().enumerate() {
            let (mut share_of_seen, mut reach, mut examples) = (0.0, 0.0, 0.0);
            for (example, motions) in known.iter().enumerate() {
                let own = motions.likeness(motions, mover, self.length);
                if own > 0.0 && expected[example] > 0.0 {
                    share_of_seen += products[(example, example)] * guess[mover] * own / expected[example];
                    reach += own;
                    examples += 1.0;
                }
            }
            let prior = factor * guess[mover];
            *energy = if reach > 0.0 {
                (examples * share_of_seen / reach + prior) / (examples + 1.0)
            } else {
                prior
            };
        }
        self.couplings.iter_mut().for_each(|coupling| coupling.2 *= factor);
        self.learn_from_leave_one_out(products, known, progress)
    }

    /// Where examples are predicted worse by the others than expected, more is expected.
    fn learn_from_leave_one_out(
        &mut self,
        products: &Matrix,
        known: &[Motions],
        progress: &dyn Progress,
    ) -> Result<(), Cancelled> {
        let count = known.len();
        let moving: Vec<usize> = (0..count).filter(|&e| self.variance(&known[e]) > 0.0).collect();
        let covariance = Matrix::from_fn(moving.len(), moving.len(), |a, b| {
            let (a, b) = (&known[moving[a]], &known[moving[b]]);
            self.covariance(a, b) + if std::ptr::eq(a, b) { self.noise(a) } else { 0.0 }
        });
        let inverse = invert(&covariance).matrix;
        // e = diag(K⁻¹)⁻¹ K⁻¹ u; its square needs only the inner products of the u.
        let errors: Vec<(f64, f64)> = (0..moving.len())
            .map(|k| {
                progress.doing(COMPARING)?;
                let mut squared = 0.0;
                for a in 0..moving.len() {
                    for b in 0..moving.len() {
                        squared += inverse[(k, a)] * products[(moving[a], moving[b])] * inverse[(k, b)];
                    }
                }
                Ok((squared.max(0.0) / inverse[(k, k)].powi(2), 1.0 / inverse[(k, k)]))
            })
            .collect::<Result<_, Cancelled>>()?;
        let usual = errors.iter().map(|(_, expected)| expected).sum::<f64>() / errors.len().max(1) as f64;
        for mover in 0..self.energies.len() {
            let own = || (0..moving.len()).filter(|&k| known[moving[k]].size_of(mover) > 0.0);
            let examples = own().count();
            if examples == 0 {
                continue;
            }
            let seen: f64 = own().map(|k| errors[k].0).sum();
            let expected: f64 = own().map(|k| errors[k].1).sum();
            self.left_out[mover] = Some((seen / examples as f64).sqrt());
            let correction = (seen + usual) / (expected + usual);
            if correction.is_finite() {
                self.energies[mover] *= correction.clamp(1.0 / MOST_CORRECTION, MOST_CORRECTION);
            }
        }
        Ok(())
    }
}

/// Where and how much a joint bends the skin, `vertex`: half-way weights far from the joint lose most.
fn bend(rig: &Rig, mover: Mover) -> Vec<f64> {
    let Mover::Joint(joint) = mover else { return vec![0.0; rig.vertex_count()] };
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

/// Nothing is known of what controls do: as much as a joint does on average.
fn fill_controls(rig: &Rig, movers: &[Mover], energies: &mut [f64]) {
    let joints = movers.iter().filter(|mover| matches!(mover, Mover::Joint(_))).count();
    let sum: f64 = energies.iter().sum();
    let usual =
        if joints > 0 && sum > 0.0 { sum / joints as f64 } else { (0.01 * rig.mesh().size()).powi(2) };
    for (mover, energy) in movers.iter().zip(energies) {
        if matches!(mover, Mover::Control(_)) {
            *energy = usual;
        }
    }
}

/// Mean inner products of the examples' corrections at rest, `example × example`.
fn inner_products(examples: &ExampleSet, progress: &dyn Progress) -> Result<Matrix, Cancelled> {
    let displacements = skinned_displacements(examples, BaseSkinning::LinearBlend, progress)?;
    let points = displacements.points.group_count() as f64;
    let mut products = Matrix::zeros(examples.len(), examples.len());
    for a in 0..examples.len() {
        progress.doing(COMPARING)?;
        for b in 0..examples.len() {
            let pairs = displacements.positions.held_of(a).iter().zip(displacements.positions.held_of(b));
            products[(a, b)] = pairs.map(|(a, b)| a.as_dvec3().dot(b.as_dvec3())).sum::<f64>() / points;
        }
    }
    Ok(products)
}
