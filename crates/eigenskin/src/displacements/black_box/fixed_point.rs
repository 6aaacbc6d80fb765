//! The fixed point of vertices that follow others: d += J⁻¹ (target − SKIN(rest + d)), accelerated by
//! Anderson's method (1965), taken only where it brings the shape nearer.
//!
//! A box that smooths removes detail, so not every target can be reached; the first steps reach what
//! can be, further ones would buy little with large displacements.

use std::collections::VecDeque;

use glam::DVec3;

use super::objective::{newton_step, value};
use super::{Inverse, InversionStage};
use crate::deformers::BlackBoxError;
use crate::numeric::{Matrix, symmetric_pseudo_inverse};

/// It ends when as many calls ...
const PATIENCE: usize = 6;
/// ... lower the error by less than this share.
const STAGNATION: f64 = 0.05;
/// Former steps are alike below this share of the most different ones.
const INDEPENDENT: f64 = 1e-12;

/// A former step: how displacements and residuals of the coupled vertices changed.
struct Secant {
    deltas: Vec<DVec3>,
    residuals: Vec<DVec3>,
}

impl Inverse<'_> {
    /// Solves all vertices that follow others, the rest staying where it is.
    pub(super) fn fixed_point(&mut self) -> Result<(), BlackBoxError> {
        let vertices: Vec<usize> = (0..self.rest.len()).filter(|&vertex| self.coupled[vertex]).collect();
        let enough = self.tolerance() * self.tolerance();
        let mut memory: VecDeque<Secant> = VecDeque::new();
        let mut errors = vec![self.sum_of_values(&vertices)];
        let mut share = 1.0;
        for _ in 0..self.params.fixed_point_steps {
            let error = errors[errors.len() - 1];
            let reached = vertices.iter().all(|&vertex| self.values[vertex] <= enough);
            if reached || stagnates(&errors) || self.calls_left() == 0 {
                break;
            }
            let step = self.accelerated_step(&vertices, &memory, share);
            let mut trial = self.deltas.clone();
            for (&vertex, &step) in vertices.iter().zip(&step) {
                trial[vertex] += step;
            }
            let residuals = self.residuals_at(&trial)?;
            memory.push_back(Secant {
                residuals: vertices.iter().map(|&v| residuals[v] - self.residuals[v]).collect(),
                deltas: step,
            });
            if memory.len() > self.params.fixed_point_memory {
                memory.pop_front();
            }
            let new: f64 = vertices.iter().map(|&v| value(&self.dampings[v], residuals[v], trial[v])).sum();
            if new < error {
                for &vertex in &vertices {
                    self.values[vertex] = value(&self.dampings[vertex], residuals[vertex], trial[vertex]);
                }
                self.deltas = trial;
                self.residuals = residuals;
                share = 1.0;
            } else {
                share *= 0.5;
            }
            errors.push(new.min(error));
            self.tell(InversionStage::FixedPoint, vertices.len());
        }
        Ok(())
    }

    fn sum_of_values(&self, vertices: &[usize]) -> f64 {
        vertices.iter().map(|&vertex| self.values[vertex]).sum()
    }

    /// The step of the coupled vertices. Former steps are combined so that what they would leave of
    /// the residual is least; the rest goes by J⁻¹, or a share of it after steps that led nowhere.
    fn accelerated_step(&self, vertices: &[usize], memory: &VecDeque<Secant>, share: f64) -> Vec<DVec3> {
        let mut deltas: Vec<DVec3> = vertices.iter().map(|&vertex| self.deltas[vertex]).collect();
        let mut residuals: Vec<DVec3> = vertices.iter().map(|&vertex| self.residuals[vertex]).collect();
        for (amount, secant) in self.combination(vertices, memory).into_iter().zip(memory) {
            for place in 0..vertices.len() {
                deltas[place] += amount * secant.deltas[place];
                residuals[place] += amount * secant.residuals[place];
            }
        }
        vertices
            .iter()
            .enumerate()
            .map(|(place, &vertex)| {
                let (jacobian, damping) = (&self.jacobians[vertex], &self.dampings[vertex]);
                let (plain, _) = newton_step(jacobian, damping, residuals[place], deltas[place]);
                deltas[place] + share * plain - self.deltas[vertex]
            })
            .collect()
    }

    /// How much of each former step to add: least squares on residuals and damping.
    fn combination(&self, vertices: &[usize], memory: &VecDeque<Secant>) -> Vec<f64> {
        let count = memory.len();
        if count == 0 {
            return Vec::new();
        }
        let product = |a: (&dyn Fn(usize) -> DVec3, &dyn Fn(usize) -> DVec3), b: &Secant| -> f64 {
            vertices
                .iter()
                .enumerate()
                .map(|(place, &vertex)| {
                    (a.0)(place).dot(b.residuals[place])
                        + (a.1)(place).dot(self.dampings[vertex] * b.deltas[place])
                })
                .sum()
        };
        let mut gram = Matrix::zeros(count, count);
        let mut now = vec![0.0; count];
        for (row, a) in memory.iter().enumerate() {
            for (column, b) in memory.iter().enumerate().take(row + 1) {
                let entry = product((&|p| a.residuals[p], &|p| a.deltas[p]), b);
                gram[(row, column)] = entry;
                gram[(column, row)] = entry;
            }
            now[row] = product((&|p| self.residuals[vertices[p]], &|p| self.deltas[vertices[p]]), a);
        }
        // Early steps are far longer than late ones: alike lengths first.
        let lengths: Vec<f64> = (0..count).map(|i| gram[(i, i)].sqrt().max(f64::MIN_POSITIVE)).collect();
        let scaled = Matrix::from_fn(count, count, |r, c| gram[(r, c)] / lengths[r] / lengths[c]);
        let inverse = symmetric_pseudo_inverse(&scaled, INDEPENDENT);
        (0..count)
            .map(|row| {
                let sum: f64 = (0..count).map(|c| inverse[(row, c)] * now[c] / lengths[c]).sum();
                -sum / lengths[row]
            })
            .collect()
    }
}

fn stagnates(errors: &[f64]) -> bool {
    let newest = errors[errors.len() - 1];
    // Errors are squares.
    let least = (1.0 - STAGNATION) * (1.0 - STAGNATION);
    errors.len() > PATIENCE && newest > least * errors[errors.len() - 1 - PATIENCE]
}
