//! What acts on a body: bones that move, contacts, and drag.

use eigenskin_core::glam::{DAffine3, DVec3};

use crate::contact::ContactRow;

/// What acts on the body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loads<'a> {
    /// `group` → its rigid motion from rest, in lattice space
    pub motions: &'a [DAffine3],
    /// what pushes back
    pub contacts: &'a [ContactRow],
    /// what slows the nodes down
    pub drag: Option<Drag<'a>>,
}

impl<'a> From<&'a [DAffine3]> for Loads<'a> {
    fn from(motions: &'a [DAffine3]) -> Self {
        Self { motions, contacts: &[], drag: None }
    }
}

/// Springs between the nodes and where they were: energy ½ k |x − x₀|² for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drag<'a> {
    /// k, in units of shear modulus · cube edge
    pub stiffness: f64,
    /// `node` → x₀
    pub from: &'a [DVec3],
}

impl Drag<'_> {
    pub(crate) fn energy(&self, positions: &[DVec3]) -> f64 {
        let squares = positions.iter().zip(self.from).map(|(x, from)| x.distance_squared(*from));
        0.5 * self.stiffness * squares.sum::<f64>()
    }

    pub(crate) fn add_gradient(&self, positions: &[DVec3], gradient: &mut [DVec3]) {
        for ((x, from), gradient) in positions.iter().zip(self.from).zip(gradient) {
            *gradient += self.stiffness * (*x - *from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drag_pulls_back_by_the_slope_of_its_energy() {
        let from = [DVec3::new(0.1, 0.2, 0.3), DVec3::new(-0.4, 0.1, 0.2)];
        let drag = Drag { stiffness: 3.0, from: &from };
        let positions = [DVec3::new(0.5, -0.2, 0.3), DVec3::new(-0.1, 0.4, 0.9)];
        let mut gradient = [DVec3::ONE; 2];
        drag.add_gradient(&positions, &mut gradient);
        for unknown in 0..6 {
            let (node, axis) = (unknown / 3, unknown % 3);
            let moved = |by: f64| {
                let mut positions = positions;
                positions[node][axis] += by;
                drag.energy(&positions)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            // Added to what was there.
            assert!((1.0 + slope - gradient[node][axis]).abs() < 1e-8);
        }
        assert_eq!(drag.energy(&from), 0.0);
    }
}
