//! Newton steps of all vertices at once, each with its own step control.

use glam::DVec3;

use super::objective::{broyden, newton_step};
use super::probe::{jacobians_at, probe_step};
use super::{Inverse, InversionStage, VertexClass};
use eigenskin_core::deformers::BlackBoxError;

/// Steps per Jacobian. Each step also mends it (Broyden), which costs nothing; a new one costs three
/// calls.
const STEPS: usize = 3;
/// A step that is answered otherwise than foreseen, by more than this share: the vertex is not affine.
const AFFINE: f64 = 1e-3;

/// A vertex under way.
struct Walker {
    vertex: usize,
    /// share of the Newton step to take
    share: f64,
}

impl Inverse<'_> {
    /// Steps of some vertices, from where they are; returns those that it could not solve. `renew`: the
    /// Jacobians are of another place.
    pub(super) fn newton(&mut self, vertices: Vec<usize>, renew: bool) -> Result<Vec<usize>, BlackBoxError> {
        let mut walkers: Vec<Walker> =
            vertices.into_iter().map(|vertex| Walker { vertex, share: 1.0 }).collect();
        for round in 0..self.params.newton_rounds {
            let renew = renew || round > 0;
            if walkers.is_empty() || (renew && self.calls_left() < 3 + STEPS) {
                break;
            }
            if renew {
                self.renew_jacobians(&walkers)?;
            }
            for _ in 0..STEPS {
                self.settle(&mut walkers, self.tolerance());
                if walkers.is_empty() || self.calls_left() == 0 {
                    break;
                }
                self.step(&mut walkers)?;
            }
            self.settle(&mut walkers, self.tolerance());
        }
        // What makes no difference in the end is not worth hundreds of calls: a box that rounds may
        // never get nearer.
        self.settle(&mut walkers, self.params.residual_tolerance * self.size);
        Ok(walkers.into_iter().map(|walker| walker.vertex).collect())
    }

    /// Lets go of vertices that no step would bring nearer by more than a distance.
    fn settle(&mut self, walkers: &mut Vec<Walker>, nearer: f64) {
        walkers.retain(|&Walker { vertex, .. }| {
            let (_, decrease) = self.foreseen(vertex);
            self.converged[vertex] = decrease <= nearer * nearer;
            !self.converged[vertex]
        });
    }

    fn foreseen(&self, vertex: usize) -> (DVec3, f64) {
        let (jacobian, damping) = (&self.jacobians[vertex], &self.dampings[vertex]);
        newton_step(jacobian, damping, self.residuals[vertex], self.deltas[vertex])
    }

    fn step(&mut self, walkers: &mut [Walker]) -> Result<(), BlackBoxError> {
        let mut trial = self.deltas.clone();
        for walker in &*walkers {
            trial[walker.vertex] += walker.share * self.foreseen(walker.vertex).0;
        }
        let residuals = self.residuals_at(&trial)?;
        for walker in &mut *walkers {
            let vertex = walker.vertex;
            let moved = trial[vertex] - self.deltas[vertex];
            let answered = self.residuals[vertex] - residuals[vertex];
            let foreseen = self.jacobians[vertex] * moved;
            if answered.distance(foreseen) > AFFINE * foreseen.length() + self.tolerance() {
                self.bends(vertex);
            }
            // Shorter moves than the probe's say less than the probe did.
            if moved.length() >= probe_step(self.size) {
                self.jacobians[vertex] = broyden(&self.jacobians[vertex], moved, answered);
            }
            let better = self.keep_if_better(vertex, trial[vertex], residuals[vertex]);
            walker.share = if better { (2.0 * walker.share).min(1.0) } else { 0.25 * walker.share };
        }
        self.tell(InversionStage::Newton, walkers.len());
        Ok(())
    }

    fn bends(&mut self, vertex: usize) {
        if self.classes[vertex] == VertexClass::Affine {
            self.classes[vertex] = VertexClass::Nonlinear;
        }
    }

    fn renew_jacobians(&mut self, walkers: &[Walker]) -> Result<(), BlackBoxError> {
        let points: Vec<DVec3> = self.rest.iter().zip(&self.deltas).map(|(&r, &d)| r + d).collect();
        let posed: Vec<DVec3> = self.target.iter().zip(&self.residuals).map(|(&t, &r)| t - r).collect();
        let jacobians = jacobians_at(&mut self.calls, &points, &posed, self.size)?;
        for walker in walkers {
            self.bends(walker.vertex);
            self.jacobians[walker.vertex] = jacobians[walker.vertex];
        }
        self.tell(InversionStage::Newton, walkers.len());
        Ok(())
    }
}
