//! Sweeps over the skin: each point in turn gets its best weights, given those of its neighbours.
//!
//! Every step is the minimum over one point, so the whole only falls. Points of one colour are no
//! neighbours of each other and are solved at once: the result does not depend on threads.

use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use super::evidence::{Candidates, Evidence};
use super::simplex::Quadratic;
use super::{SOLVING, SolveWeightsParams};
use crate::during::Small;

/// Joints that may share a point while it is solved, before the heaviest are kept.
const MOST_CANDIDATES: usize = 12;
/// Sweeps with all candidates, and with those that are kept.
const MOST_SWEEPS: usize = 40;
/// Weights that move less than this have settled.
const SETTLED: f64 = 1e-5;
/// Neighbours of a point in a regular mesh: smoothing does not depend on how many there are.
const USUAL_NEIGHBOURS: f64 = 6.0;

/// The weights of all points while they are solved.
pub(super) struct Sweeps<'a> {
    neighbours: &'a [Vec<u32>],
    influences: usize,
    /// what an edge holds
    hold: f64,
    /// `point`
    points: Vec<Point>,
    /// points of each colour
    colours: Vec<Vec<u32>>,
}

struct Point {
    candidates: Candidates,
    /// without neighbours
    form: Quadratic,
    /// `candidate`
    weights: Vec<f64>,
    /// `candidate`: may be above zero
    allowed: Vec<bool>,
}

impl Point {
    fn weight_of(&self, joint: u32) -> f64 {
        self.candidates.joints.iter().position(|&j| j == joint).map_or(0.0, |place| self.weights[place])
    }
}

impl<'a> Sweeps<'a> {
    pub fn new(
        evidence: &Evidence,
        neighbours: &'a [Vec<u32>],
        params: &SolveWeightsParams,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let hold = params.smooth * evidence.noise / (USUAL_NEIGHBOURS * evidence.example_count() as f64);
        let small = Small::new(progress, SOLVING, neighbours.len());
        let points = (0..neighbours.len())
            .into_par_iter()
            .map(|point| {
                small.next()?;
                let joints = candidate_joints(evidence, neighbours, point);
                let candidates = evidence.candidates(point, &joints);
                let count = candidates.joints.len();
                let form = candidates.form(evidence.noise, evidence.example_count(), hold * USUAL_NEIGHBOURS);
                let mut weights = vec![0.0; count];
                for &(joint, weight) in &evidence.best[point] {
                    if let Some(place) = joints.iter().position(|&j| j == joint) {
                        weights[place] = weight;
                    }
                }
                let sum: f64 = weights.iter().sum();
                if sum > 0.0 {
                    scale(&mut weights, 1.0 / sum);
                } else {
                    weights.clone_from(&candidates.input);
                }
                Ok(Point { candidates, form, weights, allowed: vec![true; count] })
            })
            .collect::<Result<_, Cancelled>>()?;
        let influences = params.influences;
        Ok(Self { neighbours, influences, hold, points, colours: colours(neighbours) })
    }

    /// The weights of all points, heaviest first: `point` → (joint, weight).
    pub fn solve(mut self, progress: &dyn Progress) -> Result<Vec<Vec<(u32, f64)>>, Cancelled> {
        self.sweep(progress)?;
        let kept: Vec<(Vec<f64>, Vec<bool>)> = watched(self.points.len(), |point| self.few(point), progress)?;
        for (point, (weights, allowed)) in self.points.iter_mut().zip(kept) {
            (point.weights, point.allowed) = (weights, allowed);
        }
        self.sweep(progress)?;
        watched(self.points.len(), |point| self.never_worse(point), progress)
    }

    fn sweep(&mut self, progress: &dyn Progress) -> Result<(), Cancelled> {
        for _ in 0..MOST_SWEEPS {
            let mut change = 0.0f64;
            for colour in 0..self.colours.len() {
                let points = &self.colours[colour];
                let minimum = |place: usize| self.minimum(points[place] as usize, self.hold);
                let solved: Vec<Vec<f64>> = watched(points.len(), minimum, progress)?;
                for (&point, weights) in self.colours[colour].iter().zip(solved) {
                    let old = &mut self.points[point as usize].weights;
                    change = old.iter().zip(&weights).fold(change, |c, (a, b)| c.max((a - b).abs()));
                    *old = weights;
                }
            }
            if change < SETTLED {
                break;
            }
        }
        Ok(())
    }

    /// The best weights of a point, held by its neighbours.
    fn minimum(&self, index: usize, hold: f64) -> Vec<f64> {
        let point = &self.points[index];
        let form = self.held(index, hold);
        let mut weights = point.weights.clone();
        form.minimise(&mut weights, &point.allowed);
        weights
    }

    fn held(&self, index: usize, hold: f64) -> Quadratic {
        let point = &self.points[index];
        let mut form = point.form.clone();
        for &neighbour in &self.neighbours[index] {
            let neighbour = &self.points[neighbour as usize];
            for (place, &joint) in point.candidates.joints.iter().enumerate() {
                form.curvature[place * (form.count + 1)] += hold;
                form.pull[place] += hold * neighbour.weight_of(joint);
            }
        }
        form
    }

    /// Takes the lightest joint away until few enough are left.
    fn few(&self, index: usize) -> (Vec<f64>, Vec<bool>) {
        let point = &self.points[index];
        let form = self.held(index, self.hold);
        let mut weights = point.weights.clone();
        let mut allowed = vec![true; weights.len()];
        loop {
            let used = weights.iter().filter(|&&w| w > 0.0).count();
            if used <= self.influences {
                // What was left out on the way stays out; what was never used may still come in
                // where there is room.
                if used == self.influences {
                    allowed = weights.iter().map(|&w| w > 0.0).collect();
                } else {
                    self.fill(index, &weights, &mut allowed);
                }
                return (weights, allowed);
            }
            let positive = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
            let Some((lightest, _)) = positive.min_by(|a, b| a.1.total_cmp(b.1)) else {
                return (weights, allowed);
            };
            allowed[lightest] = false;
            weights[lightest] = 0.0;
            let sum: f64 = weights.iter().sum();
            scale(&mut weights, 1.0 / sum);
            form.minimise(&mut weights, &allowed);
        }
    }

    /// Joints in use, then those that neighbours use most, as far as there is room.
    fn fill(&self, index: usize, weights: &[f64], allowed: &mut [bool]) {
        let point = &self.points[index];
        let around = |place: usize| -> f64 {
            let joint = point.candidates.joints[place];
            self.neighbours[index].iter().map(|&n| self.points[n as usize].weight_of(joint)).sum()
        };
        let mut order: Vec<usize> = (0..weights.len()).filter(|&place| allowed[place]).collect();
        order.sort_by(|&a, &b| {
            (weights[b] > 0.0).cmp(&(weights[a] > 0.0)).then(around(b).total_cmp(&around(a))).then(a.cmp(&b))
        });
        allowed.fill(false);
        order.iter().take(self.influences).for_each(|&place| allowed[place] = true);
    }

    /// The weights of a point, held less by its neighbours where they would make it worse than its
    /// input; in the end the best that its input's joints can do.
    fn never_worse(&self, index: usize) -> Vec<(u32, f64)> {
        let point = &self.points[index];
        let before = point.candidates.error(&point.candidates.input);
        let mut weights = point.weights.clone();
        for share in [0.1, 0.01, 0.0] {
            if point.candidates.error(&weights) <= before {
                break;
            }
            weights = self.minimum(index, share * self.hold);
        }
        let had = point.candidates.input.iter().filter(|&&w| w > 0.0).count();
        if point.candidates.error(&weights) > before && had <= self.influences {
            let own: Vec<bool> = point.candidates.input.iter().map(|&w| w > 0.0).collect();
            weights.clone_from(&point.candidates.input);
            let form = point.candidates.form(0.0, 1, 0.0);
            form.minimise(&mut weights, &own);
        }
        let mut list: Vec<(u32, f64)> =
            point.candidates.joints.iter().copied().zip(weights).filter(|&(_, w)| w > LIGHTEST).collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        list
    }
}

/// Does something for all of `count` points, several at once.
fn watched<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    progress: &dyn Progress,
) -> Result<Vec<T>, Cancelled> {
    let small = Small::new(progress, SOLVING, count);
    let work = |point: usize| {
        small.next()?;
        Ok(work(point))
    };
    (0..count).into_par_iter().map(work).collect()
}

fn scale(weights: &mut [f64], factor: f64) {
    for weight in weights {
        *weight *= factor;
    }
}

/// Weights below this are nothing.
const LIGHTEST: f64 = 1e-7;

/// The input's joints, then those that this point and its neighbours like best.
fn candidate_joints(evidence: &Evidence, neighbours: &[Vec<u32>], point: usize) -> Vec<u32> {
    let mut joints: Vec<u32> = evidence.input(point).iter().take(MOST_CANDIDATES).map(|i| i.joint).collect();
    let mut liked: Vec<(u32, f64)> = Vec::new();
    let own = evidence.best[point].iter().map(|&(joint, weight)| (joint, 10.0 * weight));
    let others = neighbours[point].iter().flat_map(|&n| evidence.best[n as usize].iter().copied());
    for (joint, weight) in own.chain(others) {
        match liked.iter_mut().find(|(j, _)| *j == joint) {
            Some((_, sum)) => *sum += weight,
            None => liked.push((joint, weight)),
        }
    }
    liked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (joint, _) in liked {
        if joints.len() < MOST_CANDIDATES && !joints.contains(&joint) {
            joints.push(joint);
        }
    }
    joints
}

/// Points put into colours so that no neighbours share one.
fn colours(neighbours: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut colour_of = vec![usize::MAX; neighbours.len()];
    let mut colours: Vec<Vec<u32>> = Vec::new();
    for (point, list) in neighbours.iter().enumerate() {
        let taken: Vec<usize> = list.iter().map(|&n| colour_of[n as usize]).collect();
        let colour = (0..=taken.len()).find(|colour| !taken.contains(colour)).unwrap_or(0);
        colour_of[point] = colour;
        if colour == colours.len() {
            colours.push(Vec::new());
        }
        colours[colour].push(point as u32);
    }
    colours
}
