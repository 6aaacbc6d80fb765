//! Rows that push back: what keeps a point on one side of a plane.
//!
//! A row has the energy ½ k min(0, n·Σ w_i x_i − o)²; while it pushes, its Hessian is k a aᵀ with
//! a = (w_i n). Its nodes need not share a cell.

use eigenskin_core::glam::DVec3;

/// A one-sided spring on a weighted mean of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactRow {
    /// nodes and their weights: a point of a cell, or one less another
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

    /// Whether it pushes at `positions` (`node`).
    pub fn pushes(&self, positions: &[DVec3]) -> bool {
        self.distance(positions) < 0.0
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

    /// Pairs of its nodes and weights, the smaller node first. A node that is listed twice, since two
    /// cells share it, is paired each time.
    pub(crate) fn node_pairs(&self) -> impl Iterator<Item = ((u32, f64), (u32, f64))> + '_ {
        self.nodes
            .iter()
            .flat_map(|&a| self.nodes.iter().copied().filter(move |b| b.0 >= a.0).map(move |b| (a, b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
