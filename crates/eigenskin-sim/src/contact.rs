//! Rows that push back: what keeps a point on one side of a plane.
//!
//! A row has the energy ½ k min(0, n·Σ w_i x_i − o)²; while it pushes, its Hessian is k a aᵀ with
//! a = (w_i n). Its nodes need not share a cell, so it does not fit the pattern of the elastic
//! Hessian K. H = K + Σ k a aᵀ is solved with by conjugate gradients (Golub and Van Loan, "Matrix
//! Computations", §11.5).
//!
//! The preconditioner is P = K + Σ 2k (b bᵀ + c cᵀ) for rows a = b − c between two cells, which fits
//! the pattern. Since a aᵀ ≤ 2 (b bᵀ + c cᵀ), P is positive definite wherever H is: also in folds
//! that only contact holds open. P − H = Σ k (b + c)(b + c)ᵀ, so with m rows P⁻¹H has at most m + 1
//! different eigenvalues, which bounds the number of steps.

use eigenskin::glam::DVec3;

/// A one-sided spring on a weighted mean of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRow {
    /// nodes and their weights: a point of a cell, or one less another; in the latter case the first
    /// eight are those of one cell
    pub nodes: Vec<(u32, f64)>,
    /// unit direction into which the row pushes
    pub direction: DVec3,
    /// stiffness k, in units of shear modulus · cube edge
    pub stiffness: f64,
    /// the row pushes while direction · Σ weight · position is below this
    pub offset: f64,
}

impl ContactRow {
    /// Distance to where the row stops to push: negative while it does.
    pub fn distance(&self, positions: &[DVec3]) -> f64 {
        let point: DVec3 = self.nodes.iter().map(|&(node, weight)| positions[node as usize] * weight).sum();
        self.direction.dot(point) - self.offset
    }

    /// Energy at `positions` (`node`).
    pub fn energy(&self, positions: &[DVec3]) -> f64 {
        0.5 * self.stiffness * self.distance(positions).min(0.0).powi(2)
    }

    /// Adds ∂E/∂x.
    pub fn add_gradient(&self, positions: &[DVec3], gradient: &mut [DVec3]) {
        let force = self.stiffness * self.distance(positions).min(0.0) * self.direction;
        for &(node, weight) in &self.nodes {
            gradient[node as usize] += weight * force;
        }
    }

    /// Parts that share a cell each, and the stiffness with which they go into the preconditioner.
    pub(crate) fn parts(&self) -> (f64, [&[(u32, f64)]; 2]) {
        if self.nodes.len() <= 8 {
            return (self.stiffness, [&self.nodes, &[]]);
        }
        let (first, second) = self.nodes.split_at(8);
        (2.0 * self.stiffness, [first, second])
    }

    /// Adds k a aᵀ x to y; unknown 3 · node + axis.
    fn add_product(&self, x: &[f64], y: &mut [f64]) {
        let along: f64 = self
            .nodes
            .iter()
            .map(|&(node, weight)| weight * self.direction.dot(DVec3::from_slice(&x[3 * node as usize..])))
            .sum();
        for &(node, weight) in &self.nodes {
            let push = self.stiffness * along * weight * self.direction;
            for axis in 0..3 {
                y[3 * node as usize + axis] += push[axis];
            }
        }
    }
}

/// Solves H x = `b` in place, to a relative residual of `tolerance` in the norm of P⁻¹ and within
/// `most` steps; says whether H was positive definite along the way. `multiply` is y = K x,
/// `precondition` is x ← P⁻¹ x.
pub fn solve_with_rows(
    active: &[&ContactRow],
    b: &mut [f64],
    (tolerance, most): (f64, usize),
    multiply: impl Fn(&[f64], &mut [f64]),
    mut precondition: impl FnMut(&mut [f64]),
) -> bool {
    let mut x = vec![0.0; b.len()];
    let mut residual = b.to_vec();
    let mut z = residual.clone();
    precondition(&mut z);
    let mut direction = z.clone();
    let mut product = vec![0.0; b.len()];
    let mut norm = dot(&residual, &z);
    let first = norm;
    for _ in 0..most {
        if norm <= tolerance * tolerance * first || norm.is_nan() {
            break;
        }
        multiply(&direction, &mut product);
        for row in active {
            row.add_product(&direction, &mut product);
        }
        let curvature = dot(&direction, &product);
        if curvature <= 0.0 {
            return false;
        }
        let step = norm / curvature;
        for i in 0..x.len() {
            x[i] += step * direction[i];
            residual[i] -= step * product[i];
        }
        z.copy_from_slice(&residual);
        precondition(&mut z);
        let next = dot(&residual, &z);
        let keep = next / norm;
        for i in 0..x.len() {
            direction[i] = z[i] + keep * direction[i];
        }
        norm = next;
    }
    b.copy_from_slice(&x);
    true
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_across_far_nodes_are_solved_for() {
        // K = diag(1..12), four nodes; two rows that couple nodes 0–3 and 1–2, one of them stiff.
        let size = 12;
        let rows = [
            ContactRow {
                nodes: vec![(0, 0.3), (3, -1.0)],
                direction: DVec3::new(0.6, 0.0, 0.8),
                stiffness: 1e4,
                offset: 0.0,
            },
            ContactRow { nodes: vec![(1, 1.0), (2, 0.5)], direction: DVec3::Y, stiffness: 2.0, offset: 0.0 },
        ];
        let multiply = |x: &[f64], y: &mut [f64]| {
            for i in 0..size {
                y[i] = (i + 1) as f64 * x[i];
            }
        };
        let expected: Vec<f64> = (0..size).map(|i| (i as f64 * 0.7).sin()).collect();
        let mut b = vec![0.0; size];
        multiply(&expected, &mut b);
        for row in &rows {
            row.add_product(&expected, &mut b);
        }
        let active: Vec<&ContactRow> = rows.iter().collect();
        let divide = |x: &mut [f64]| {
            for (i, x) in x.iter_mut().enumerate() {
                *x /= (i + 1) as f64;
            }
        };
        let right_side = b.clone();
        assert!(solve_with_rows(&active, &mut b, (1e-10, 20), multiply, divide));
        // With K − 7 instead, the first unknowns have negative stiffness.
        let shifted = |x: &[f64], y: &mut [f64]| {
            multiply(x, y);
            x.iter().zip(y).for_each(|(x, y)| *y -= 7.0 * x);
        };
        assert!(!solve_with_rows(&active, &mut right_side.clone(), (1e-10, 20), shifted, divide));
        for (found, expected) in b.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn gradient_is_the_derivative_of_the_energy() {
        let row = ContactRow {
            nodes: vec![(0, 0.25), (1, 0.75)],
            direction: DVec3::new(0.0, 0.6, 0.8),
            stiffness: 3.0,
            offset: 0.5,
        };
        let positions = [DVec3::new(0.1, 0.2, 0.3), DVec3::new(-0.4, 0.1, 0.2)];
        let mut gradient = [DVec3::ZERO; 2];
        row.add_gradient(&positions, &mut gradient);
        for unknown in 0..6 {
            let moved = |by: f64| {
                let mut positions = positions;
                positions[unknown / 3][unknown % 3] += by;
                row.energy(&positions)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - gradient[unknown / 3][unknown % 3]).abs() < 1e-8);
        }
        assert_eq!(row.energy(&[DVec3::ONE, DVec3::ONE]), 0.0);
    }
}
