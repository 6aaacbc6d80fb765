//! The equations of one Newton step: a Hessian with a fixed pattern and its factorisation.

use eigenskin_core::glam::DVec3;

use crate::assembly::{Assembly, nodes_below};
use crate::contact::ContactRow;
use crate::dissection::nested_dissection;
use crate::problem::Problem;
use crate::sparse_cholesky::SparseCholesky;

/// Pattern, order of elimination and the last factorisation.
pub struct System {
    assembly: Assembly,
    cholesky: SparseCholesky,
    /// entries of the Hessian
    hessian: Vec<f64>,
}

impl System {
    /// A system with room for `contacts`, whose nodes lie at `positions`; `None` if it does not fit
    /// into memory.
    pub fn new(problem: &Problem, positions: &[DVec3], contacts: &[ContactRow]) -> Option<Self> {
        let below = nodes_below(problem.lattice(), contacts);
        let assembly = Assembly::new(problem, &below);
        let order: Vec<u32> = nested_dissection(positions, &below)
            .into_iter()
            .flat_map(|node| (0..3).map(move |axis| 3 * node + axis))
            .collect();
        let cholesky = SparseCholesky::new(&assembly.pattern, Some(&order))?;
        Some(Self { assembly, cholesky, hessian: Vec::new() })
    }

    /// The same for another thread, without the factorisation.
    pub fn fork(&self) -> Option<Self> {
        Some(Self { assembly: self.assembly.clone(), cholesky: self.cholesky.fork()?, hessian: Vec::new() })
    }

    /// Whether all of these have places in the pattern.
    pub fn has_places_for(&self, contacts: &[ContactRow]) -> bool {
        contacts.iter().all(|row| self.assembly.has_places_for(row))
    }

    /// Number of entries of the Cholesky factor.
    pub fn factor_entries(&self) -> usize {
        self.cholesky.factor_entries()
    }

    /// Factorises the Hessian at `positions` with the contacts that push there and `more` on its
    /// diagonal; false if it is not positive definite. `project` leaves out the negative curvatures
    /// of cells.
    pub fn factorize(
        &mut self,
        problem: &Problem,
        positions: &[DVec3],
        contacts: &[ContactRow],
        project: bool,
        more: f64,
    ) -> bool {
        self.assembly.hessian(problem, positions, project, &mut self.hessian);
        self.assembly.shift(&mut self.hessian, more);
        for row in contacts.iter().filter(|row| row.pushes(positions)) {
            self.assembly.add_row(row, &mut self.hessian);
        }
        self.cholesky.factorize(&self.hessian).is_ok()
    }

    /// x ← H⁻¹ x with the last factorisation; unknown 3 · node + axis.
    pub fn solve(&mut self, x: &mut [f64]) {
        self.cholesky.solve(x);
    }
}
