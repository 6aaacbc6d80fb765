//! What the examples say about the weights of each point.

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::skinning::linear_blend;
use eigenskin_core::vertex_groups::VertexGroups;
use eigenskin_core::weights::Influence;
use glam::{DAffine3, DVec3};
use rayon::prelude::*;

use super::simplex::Quadratic;
use super::{ROUNDING, SOLVING, SolveWeightsParams, WORTH_CHANGING};
use crate::during::Small;
use crate::numeric::{Matrix, invert};

/// Joints that are tried at a point before a few are kept: those it has, then those that alone come
/// nearest to what was seen.
const MOST_TRIED: usize = 48;

/// The examples, seen from the points of the skin; lengths in sizes of the rest shape.
pub(super) struct Evidence<'a> {
    set: &'a ExampleSet,
    points: &'a VertexGroups,
    /// `example` → `joint`: where joints carry the rest shape
    joints: Vec<Vec<DAffine3>>,
    size: f64,
    /// mean squared error that the best weights leave, over points
    pub noise: f64,
    /// `point`: the best weights of each for itself, heaviest first
    pub best: Vec<Vec<(u32, f64)>>,
}

/// Weights of one point on some joints.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    /// joint, none twice
    pub joints: Vec<u32>,
    /// input weights, `candidate`; they sum to one
    pub input: Vec<f64>,
    /// what was seen, `candidate × candidate`: wᵀ·seen·w is the mean squared error
    pub seen: Vec<f64>,
}

impl<'a> Evidence<'a> {
    pub fn new(
        set: &'a ExampleSet,
        points: &'a VertexGroups,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let skeleton = set.rig().skeleton();
        let joints = set.examples().iter().map(|e| e.pose.posed_from_rest(skeleton).collect()).collect();
        let size = set.rig().mesh().size();
        let mut evidence = Self { set, points, joints, size, noise: 0.0, best: Vec::new() };
        let small = Small::new(progress, SOLVING, points.group_count());
        let alone: Vec<(Vec<(u32, f64)>, f64)> = (0..points.group_count())
            .into_par_iter()
            .map(|point| {
                small.next()?;
                Ok(evidence.alone(point))
            })
            .collect::<Result<_, Cancelled>>()?;
        evidence.noise = alone.iter().map(|(_, error)| error).sum::<f64>() / alone.len().max(1) as f64;
        evidence.best = alone.into_iter().map(|(weights, _)| weights).collect();
        Ok(evidence)
    }

    /// Input weights of a point, heaviest first.
    pub fn input(&self, point: usize) -> &[Influence] {
        self.set.rig().weights().of(self.points.first_vertex(point))
    }

    fn rest(&self, point: usize) -> DVec3 {
        self.set.rig().mesh().positions()[self.points.first_vertex(point)].as_dvec3()
    }

    /// Where an example shows a point.
    fn observed(&self, example: usize, point: usize) -> DVec3 {
        self.set.examples()[example].positions[self.points.first_vertex(point)].as_dvec3()
    }

    /// The best weights of a point for itself, and their mean squared error.
    fn alone(&self, point: usize) -> (Vec<(u32, f64)>, f64) {
        let candidates = self.candidates(point, &self.tried(point));
        let count = candidates.joints.len();
        let form = candidates.form(0.0, 1, 0.0);
        let mut weights = candidates.input.clone();
        form.minimise(&mut weights, &vec![true; count]);
        let error = candidates.error(&weights);
        let mut list: Vec<(u32, f64)> =
            candidates.joints.iter().copied().zip(weights).filter(|&(_, w)| w > 0.0).collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        (list, error)
    }

    /// The joints that are tried at a point.
    fn tried(&self, point: usize) -> Vec<u32> {
        let count = self.set.rig().skeleton().joint_count();
        if count <= MOST_TRIED {
            return (0..count as u32).collect();
        }
        let rest = self.rest(point);
        let mut errors = vec![0.0; count];
        for (example, joints) in self.joints.iter().enumerate() {
            let observed = self.observed(example, point);
            for (error, joint) in errors.iter_mut().zip(joints) {
                *error += joint.transform_point3(rest).distance_squared(observed);
            }
        }
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by(|&a, &b| errors[a as usize].total_cmp(&errors[b as usize]).then(a.cmp(&b)));
        let mut tried: Vec<u32> = self.input(point).iter().map(|i| i.joint).collect();
        for joint in order {
            if tried.len() < MOST_TRIED && !tried.contains(&joint) {
                tried.push(joint);
            }
        }
        tried
    }

    /// What was seen of a point, for some joints, among which are all of its input.
    pub fn candidates(&self, point: usize, joints: &[u32]) -> Candidates {
        let (rest, count) = (self.rest(point), joints.len());
        let mut seen = vec![0.0; count * count];
        let mut columns = vec![DVec3::ZERO; count];
        for (example, transforms) in self.joints.iter().enumerate() {
            let observed = self.observed(example, point);
            for (column, &joint) in columns.iter_mut().zip(joints) {
                *column = (transforms[joint as usize].transform_point3(rest) - observed) / self.size;
            }
            for a in 0..count {
                for b in 0..=a {
                    seen[a * count + b] += columns[a].dot(columns[b]);
                }
            }
        }
        // Rest is an example too: there every joint says the same, zero.
        let share = 1.0 / (self.joints.len() + 1) as f64;
        for a in 0..count {
            for b in 0..=a {
                seen[a * count + b] *= share;
                seen[b * count + a] = seen[a * count + b];
            }
        }
        let mut input = vec![0.0; count];
        for influence in self.input(point) {
            if let Some(place) = joints.iter().position(|&joint| joint == influence.joint) {
                input[place] = f64::from(influence.weight);
            }
        }
        let sum: f64 = input.iter().sum();
        for weight in &mut input {
            *weight /= sum;
        }
        Candidates { joints: joints.to_vec(), input, seen }
    }

    /// Poses that count for how well a direction is known.
    pub fn example_count(&self) -> usize {
        self.joints.len()
    }

    /// The solved weights where they are better than the input, else the input as it was.
    pub fn better(&self, point: usize, solved: &[(u32, f64)], params: &SolveWeightsParams) -> Vec<Influence> {
        let list: Vec<Influence> =
            solved.iter().map(|&(joint, weight)| Influence { joint, weight: weight as f32 }).collect();
        let input = self.input(point);
        if input.len() > params.influences {
            return list;
        }
        let before = self.squared_error(point, input);
        let rounding = self.example_count() as f64 * (ROUNDING * self.size).powi(2);
        let worth = before > rounding && self.squared_error(point, &list) < (1.0 - WORTH_CHANGING) * before;
        if worth { list } else { input.to_vec() }
    }

    /// Of linear blending as it is stored, over all examples.
    fn squared_error(&self, point: usize, list: &[Influence]) -> f64 {
        let rest = self.rest(point);
        let blended = |joints: &[DAffine3]| linear_blend::transform(list, joints).transform_point3(rest);
        let errors = self.joints.iter().enumerate();
        errors.map(|(e, joints)| blended(joints).distance_squared(self.observed(e, point))).sum()
    }
}

/// Curvature, in squared sizes, that even exact data in `f32` do not show.
const UNSEEN: f64 = 1e-12;
/// A direction is quite open when noise would move it ten times as far as weights can go.
const QUITE_OPEN: f64 = 0.01;
/// How much more than neighbours the input holds a direction that is quite open.
const INPUT_HOLDS: f64 = 10.0;
/// Pull towards the input where nothing was seen and nothing is smoothed.
const FAINT: f64 = 1e-13;

impl Candidates {
    /// Mean squared error of weights (`candidate`).
    pub fn error(&self, weights: &[f64]) -> f64 {
        let count = self.joints.len();
        let row =
            |a: usize| (0..count).map(|b| self.seen[a * count + b] * weights[b]).sum::<f64>() * weights[a];
        (0..count).map(row).sum::<f64>().max(0.0)
    }

    /// What was seen, with a pull to the input in the directions that were not: those that the
    /// examples, with this mean squared noise, leave quite open. Neighbours are added by the caller,
    /// who holds them with `hold`; the input holds more, as what was not seen should not change.
    pub fn form(&self, noise: f64, examples: usize, hold: f64) -> Quadratic {
        let count = self.joints.len();
        let mut form = Quadratic::new(count);
        form.curvature.clone_from(&self.seen);
        let unseen = UNSEEN + QUITE_OPEN * noise / examples as f64;
        // Weights sum to one: only differences between joints can be seen.
        let at = |a: usize, b: usize| self.seen[a * count + b];
        let mean = |a: usize| (0..count).map(|b| at(a, b)).sum::<f64>() / count as f64;
        let means: Vec<f64> = (0..count).map(mean).collect();
        let all = means.iter().sum::<f64>() / count as f64;
        let open = Matrix::from_fn(count, count, |a, b| {
            at(a, b) - means[a] - means[b] + all + if a == b { unseen } else { 0.0 }
        });
        let inverse = invert(&open).matrix;
        let strength = (FAINT + INPUT_HOLDS * hold) * unseen;
        for a in 0..count {
            for b in 0..count {
                let pull = strength * 0.5 * (inverse[(a, b)] + inverse[(b, a)]);
                form.curvature[a * count + b] += pull;
                form.pull[a] += pull * self.input[b];
            }
        }
        form
    }
}
