//! The fixed point of vertices that follow others: d += J⁻¹ (target − SKIN(rest + d)), accelerated by
//! Anderson's method (1965), taken only where it brings the shape nearer.
//!
//! A box that smooths removes detail, so not every target can be reached, and some only by
//! displacements a hundred times as large as what was sculpted, which spoil the interpolation. Which
//! directions those are is not known, so displacements are damped in all, pass after pass: each damps the
//! distance from what the pass before found (iterated Tikhonov). With κ the damping, two passes miss
//! directions that the box shrinks to s by (κ²/(s² + κ²))²: 6e-6 at s = 1, a quarter at s = κ. More
//! passes follow, each damped half as much, as long as each takes a good part of what is left: a target
//! that can be reached is; one that cannot costs no large displacements.

use std::collections::VecDeque;

use glam::{DMat3, DVec3};

use super::objective::{self, newton_step, value};
use super::probe::stretch;
use super::{Inverse, InversionStage};
use crate::numeric::{Matrix, symmetric_pseudo_inverse};
use eigenskin_core::deformers::BlackBoxError;

/// Passes, each damping the distance from where it starts.
const PASSES: usize = 2;
/// More of them, as long as ...
const MOST_PASSES: usize = 8;
/// ... each leaves no more than this share of the distance from the target.
const WORTH_A_PASS: f64 = 0.7;
/// How a vertex moves along with all others tells less about a collapse than how it moves alone: its
/// directions are given up below this share of [`super::InversionParams::exact_from`].
const LESS_COLLAPSED: f64 = 0.25;
/// A pass ends when as many calls ...
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

/// The coupled vertices. Vectors are in the order of `vertices`.
struct Coupled {
    vertices: Vec<usize>,
    dampings: Vec<DMat3>,
    /// where the pass started
    anchors: Vec<DVec3>,
    memory: VecDeque<Secant>,
}

impl Inverse<'_> {
    /// Solves all vertices that follow others, the rest staying where it is.
    pub(super) fn fixed_point(&mut self) -> Result<(), BlackBoxError> {
        let vertices: Vec<usize> = (0..self.rest.len()).filter(|&vertex| self.coupled[vertex]).collect();
        if vertices.is_empty() {
            return Ok(());
        }
        let damping = self.params.fixed_point_damping;
        let mut coupled = Coupled {
            dampings: self.dampings_of(&vertices, damping),
            anchors: vec![DVec3::ZERO; vertices.len()],
            memory: VecDeque::new(),
            vertices,
        };
        let mut steps_left = self.params.fixed_point_steps;
        for pass in 1..=MOST_PASSES {
            let before = coupled.error(&self.residuals, &self.deltas).distance;
            self.pass(&mut coupled, &mut steps_left)?;
            let left = coupled.error(&self.residuals, &self.deltas).distance;
            // Distances are squared.
            if pass >= PASSES && left > WORTH_A_PASS * WORTH_A_PASS * before {
                break;
            }
            coupled.anchors = coupled.vertices.iter().map(|&vertex| self.deltas[vertex]).collect();
            if pass >= PASSES {
                let halvings = (pass + 1 - PASSES) as i32;
                coupled.dampings = self.dampings_of(&coupled.vertices, damping * 0.5f64.powi(halvings));
            }
        }
        Ok(())
    }

    /// Of directions that collapse, and of all by `damping` relative to the stretch.
    fn dampings_of(&self, vertices: &[usize], damping: f64) -> Vec<DMat3> {
        let exact_from = LESS_COLLAPSED * self.params.exact_from;
        let of_vertex = |&vertex: &usize| {
            let (jacobian, conditioning) = (self.jacobians[vertex], self.conditioning[vertex]);
            let everywhere = damping * stretch(&jacobian);
            objective::damping(jacobian, conditioning, exact_from)
                + DMat3::from_diagonal(DVec3::splat(everywhere * everywhere))
        };
        vertices.iter().map(of_vertex).collect()
    }

    fn pass(&mut self, coupled: &mut Coupled, steps_left: &mut usize) -> Result<(), BlackBoxError> {
        let mut errors = vec![coupled.error(&self.residuals, &self.deltas)];
        let mut share = 1.0;
        while *steps_left > 0 && self.calls_left() > 0 && !stagnates(&errors) {
            let limit = self.tolerance();
            if coupled.vertices.iter().all(|&vertex| self.residuals[vertex].length() <= limit) {
                break;
            }
            *steps_left -= 1;
            let step = self.accelerated_step(coupled, share);
            let mut trial = self.deltas.clone();
            for (&vertex, &step) in coupled.vertices.iter().zip(&step) {
                trial[vertex] += step;
            }
            let residuals = self.residuals_at(&trial)?;
            let old = errors[errors.len() - 1];
            let new = coupled.error(&residuals, &trial);
            // Nearer to the target, and not by displacements that cost more than that.
            let better = new.value < old.value && new.distance < old.distance;
            coupled.remember(step, &residuals, &self.residuals, self.params.fixed_point_memory);
            if better {
                self.deltas = trial;
                self.residuals = residuals;
            }
            share = if better { 1.0 } else { 0.5 * share };
            errors.push(if better { new } else { old });
            self.tell(InversionStage::FixedPoint, coupled.vertices.len());
        }
        Ok(())
    }

    /// The step of the coupled vertices. Former steps are combined so that what they would leave of
    /// the residual is least; the rest goes by J⁻¹, or a share of it after steps that led nowhere.
    fn accelerated_step(&self, coupled: &Coupled, share: f64) -> Vec<DVec3> {
        let vertices = &coupled.vertices;
        let mut deltas: Vec<DVec3> = vertices.iter().map(|&vertex| self.deltas[vertex]).collect();
        let mut residuals: Vec<DVec3> = vertices.iter().map(|&vertex| self.residuals[vertex]).collect();
        for (amount, secant) in coupled.combination(&residuals, &deltas).into_iter().zip(&coupled.memory) {
            for place in 0..vertices.len() {
                deltas[place] += amount * secant.deltas[place];
                residuals[place] += amount * secant.residuals[place];
            }
        }
        (0..vertices.len())
            .map(|place| {
                let (vertex, anchor) = (vertices[place], coupled.anchors[place]);
                let (jacobian, damping) = (&self.jacobians[vertex], &coupled.dampings[place]);
                let (plain, _) = newton_step(jacobian, damping, residuals[place], deltas[place] - anchor);
                deltas[place] + share * plain - self.deltas[vertex]
            })
            .collect()
    }
}

/// Sums over the coupled vertices.
#[derive(Clone, Copy)]
struct Error {
    /// of squared distances from the target
    distance: f64,
    /// of that and the damping
    value: f64,
}

impl Coupled {
    /// Of residuals and displacements of the whole mesh.
    fn error(&self, residuals: &[DVec3], deltas: &[DVec3]) -> Error {
        let mut error = Error { distance: 0.0, value: 0.0 };
        for (place, &vertex) in self.vertices.iter().enumerate() {
            error.distance += residuals[vertex].length_squared();
            let moved = deltas[vertex] - self.anchors[place];
            error.value += value(&self.dampings[place], residuals[vertex], moved);
        }
        error
    }

    fn remember(&mut self, step: Vec<DVec3>, new: &[DVec3], old: &[DVec3], most: usize) {
        let residuals = self.vertices.iter().map(|&vertex| new[vertex] - old[vertex]).collect();
        self.memory.push_back(Secant { deltas: step, residuals });
        while self.memory.len() > most {
            self.memory.pop_front();
        }
    }

    /// How much of each former step to add: least squares on residuals and damping.
    fn combination(&self, residuals: &[DVec3], deltas: &[DVec3]) -> Vec<f64> {
        let count = self.memory.len();
        if count == 0 {
            return Vec::new();
        }
        let moved: Vec<DVec3> = deltas.iter().zip(&self.anchors).map(|(&delta, &at)| delta - at).collect();
        let mut gram = Matrix::zeros(count, count);
        let mut now = vec![0.0; count];
        for (row, a) in self.memory.iter().enumerate() {
            for (column, b) in self.memory.iter().enumerate().take(row + 1) {
                let entry = self.product((&a.residuals, &a.deltas), (&b.residuals, &b.deltas));
                gram[(row, column)] = entry;
                gram[(column, row)] = entry;
            }
            now[row] = self.product((residuals, &moved), (&a.residuals, &a.deltas));
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

    /// Of (residuals, displacements).
    fn product(&self, a: (&[DVec3], &[DVec3]), b: (&[DVec3], &[DVec3])) -> f64 {
        (0..self.vertices.len())
            .map(|place| a.0[place].dot(b.0[place]) + a.1[place].dot(self.dampings[place] * b.1[place]))
            .sum()
    }
}

fn stagnates(errors: &[Error]) -> bool {
    let newest = errors.len() - 1;
    // Errors are squares.
    let least = (1.0 - STAGNATION) * (1.0 - STAGNATION);
    newest >= PATIENCE && errors[newest].value > least * errors[newest - PATIENCE].value
}
