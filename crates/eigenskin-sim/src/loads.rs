//! What acts on a body: bones that move, contacts, and drag.

use eigenskin::glam::{DAffine3, DVec3};

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
