//! Equilibrium by projected Newton: the positions of the nodes at which the energy is least.
//!
//! Each step solves H Δ = −∂E/∂x with a sparse Cholesky factorisation. Where H is not positive
//! definite, its cells' negative curvatures are left out (Teran et al., "Robust Quasistatic Finite
//! Elements and Flesh Simulation", 2005), which always gives a direction of descent. The step is
//! halved until the energy falls enough (Armijo; Nocedal and Wright, "Numerical Optimization", §3.1).

use eigenskin::glam::{DAffine3, DMat3, DVec3};

use crate::assembly::{self, Assembly};
use crate::contact::{ContactRow, solve_with_rows};
use crate::dissection::nested_dissection;
use crate::problem::Problem;
use crate::sparse_cholesky::SparseCholesky;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolverParams {
    /// the solution is found when the next Newton step moves no node further than this, in cube edges
    pub step_tolerance: f64,
    /// the largest number of Newton steps
    pub iterations: usize,
}

impl Default for SolverParams {
    fn default() -> Self {
        Self { step_tolerance: 1e-6, iterations: 60 }
    }
}

/// What acts on the body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loads<'a> {
    /// `group` → its rigid motion from rest, in lattice space
    pub motions: &'a [DAffine3],
    /// what pushes back
    pub contacts: &'a [ContactRow],
}

impl<'a> From<&'a [DAffine3]> for Loads<'a> {
    fn from(motions: &'a [DAffine3]) -> Self {
        Self { motions, contacts: &[] }
    }
}

/// A body at rest under its loads.
#[derive(Debug, Clone, PartialEq)]
pub struct Equilibrium {
    /// `node` → position in lattice space
    pub positions: Vec<DVec3>,
    /// `group` → the motion it was solved for
    pub motions: Vec<DAffine3>,
    /// energy at the start and after each step; never rises but by rounding
    pub energies: Vec<f64>,
    /// Newton steps taken, without the last one that was within the tolerance
    pub iterations: usize,
    /// factorisations, failed ones counted
    pub factorizations: usize,
    /// steps for which the Hessian had to be projected
    pub projected: usize,
    /// whether the Hessian is positive definite here: if not, a small push may make it snap elsewhere
    pub stable: bool,
    /// the largest force out of balance at a node, in units of shear modulus · cube edge²
    pub residual: f64,
    /// smallest det F over the Gauss points
    pub smallest_volume: f64,
    /// Gauss points that are turned inside out
    pub inverted: usize,
    /// what contact of skin with skin did; all zero where there is none
    pub contact: ContactCost,
}

/// What contact of skin with skin cost on the way to a pose, from the pose before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContactCost {
    /// solutions with rows that were found anew
    pub rounds: usize,
    /// Newton steps of these
    pub newton_steps: usize,
    /// rows in the end
    pub rows: usize,
    /// of these, rows that push
    pub pushing: usize,
}

/// Why there is no equilibrium.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// the factorisation does not fit into memory
    #[error("the stiffness matrix of {unknowns} unknowns does not fit into memory: use larger cubes")]
    TooLarge {
        /// three per node
        unknowns: usize,
    },
    /// loads or start do not belong to the problem
    #[error("{found} {what} were given, {expected} are needed")]
    WrongCount {
        /// what was counted
        what: &'static str,
        /// as many as the problem has
        expected: usize,
        /// as many as were given
        found: usize,
    },
    /// the start has no energy
    #[error(
        "the material is not defined at the start, where a point has no volume left: start nearer to rest, or use the stable neo-Hookean material"
    )]
    BadStart,
    /// the Hessian is singular
    #[error("the body is not held in place: let its bones hold points that do not all lie on one line")]
    NotHeld,
    /// the line search found nothing
    #[error(
        "no step lowers the energy after {iterations} Newton steps (force out of balance {residual:.1e}): move the bones by smaller turns, or use the stable neo-Hookean material"
    )]
    NoDescent {
        /// steps taken
        iterations: usize,
        /// largest force out of balance
        residual: f64,
    },
    /// skin went through skin
    #[error(
        "skin is {depth:.2} cube edges within other skin after one step: move the bones by smaller turns"
    )]
    TooDeep {
        /// of the deepest point, in cube edges
        depth: f64,
    },
    /// too many steps
    #[error(
        "not in balance after {iterations} Newton steps (the last one moved a node by {step:.1e} cube edges): move the bones by smaller turns, or allow more steps"
    )]
    NotConverged {
        /// steps taken
        iterations: usize,
        /// the last one, in cube edges
        step: f64,
    },
}

/// Solves one body for many loads. One per thread: see [`Solver::fork`].
pub struct Solver<'a> {
    problem: &'a Problem,
    assembly: Assembly,
    cholesky: SparseCholesky,
    /// entries of the Hessian that was factorised last
    hessian: Vec<f64>,
    /// where it was factorised
    factorized_at: Option<Vec<DVec3>>,
    /// what was factorised in its place for the sake of contacts, and their number
    folded: Vec<f64>,
    folded_rows: usize,
    factorizations: usize,
}

/// Steps beyond this, in cube edges, are far from balance.
const LONG_STEP: f64 = 0.1;

/// Relative residual to which steps with contacts are solved: the next Newton step takes up the
/// rest, at less cost than the last digits here.
const ROWS_TOLERANCE: f64 = 1e-4;

/// A Newton step that was found.
struct Step {
    /// `node` → by how much it moves
    by: Vec<DVec3>,
    projected: bool,
}

impl<'a> Solver<'a> {
    /// Finds the order of elimination.
    pub fn new(problem: &'a Problem) -> Result<Self, SolveError> {
        let assembly = Assembly::new(problem);
        let unknowns = 3 * problem.lattice().node_count();
        let order: Vec<u32> = nested_dissection(&problem.lattice().nodes)
            .into_iter()
            .flat_map(|node| (0..3).map(move |axis| 3 * node + axis))
            .collect();
        let cholesky =
            SparseCholesky::new(&assembly.pattern, Some(&order)).ok_or(SolveError::TooLarge { unknowns })?;
        Ok(Self::with(problem, assembly, cholesky))
    }

    /// Another solver of the same problem, for another thread; shares the order of elimination.
    pub fn fork(&self) -> Result<Self, SolveError> {
        let unknowns = 3 * self.problem.lattice().node_count();
        let cholesky = self.cholesky.fork().ok_or(SolveError::TooLarge { unknowns })?;
        Ok(Self::with(self.problem, Assembly::new(self.problem), cholesky))
    }

    fn with(problem: &'a Problem, assembly: Assembly, cholesky: SparseCholesky) -> Self {
        Self {
            problem,
            assembly,
            cholesky,
            hessian: Vec::new(),
            factorized_at: None,
            folded: Vec::new(),
            folded_rows: 0,
            factorizations: 0,
        }
    }

    /// The body that is solved for.
    pub fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// Number of entries of the Cholesky factor.
    pub fn factor_entries(&self) -> usize {
        self.cholesky.factor_entries()
    }

    /// The body at rest, bones where they are at rest.
    pub fn rest(&self) -> Equilibrium {
        let motions = vec![DAffine3::IDENTITY; self.problem.group_count()];
        let positions = self.problem.lattice().nodes.clone();
        let energies = vec![assembly::energy(self.problem, &positions, &motions)];
        Equilibrium {
            positions,
            motions,
            energies,
            iterations: 0,
            factorizations: 0,
            projected: 0,
            stable: true,
            residual: 0.0,
            smallest_volume: 1.0,
            inverted: 0,
            contact: ContactCost::default(),
        }
    }

    /// Finds the equilibrium near `start` (`node` → position).
    pub fn equilibrium(
        &mut self,
        start: &[DVec3],
        loads: Loads<'_>,
        params: &SolverParams,
    ) -> Result<Equilibrium, SolveError> {
        self.equilibrium_within(f64::INFINITY, start, loads, params).map(|(solved, _)| solved)
    }

    /// The same, but ends without balance as soon as a node has moved by `reach`, in cube edges; says
    /// whether it is in balance.
    pub(crate) fn equilibrium_within(
        &mut self,
        reach: f64,
        start: &[DVec3],
        loads: Loads<'_>,
        params: &SolverParams,
    ) -> Result<(Equilibrium, bool), SolveError> {
        self.check_counts(start, loads.motions)?;
        let factorizations_before = self.factorizations;
        let mut positions = start.to_vec();
        let mut energies = vec![self.energy(&positions, loads)];
        if !energies[0].is_finite() {
            return Err(SolveError::BadStart);
        }
        let mut gradient = Vec::new();
        let (mut projected, mut last_step, mut project) = (0, f64::INFINITY, false);
        for iteration in 0..=params.iterations {
            let before = energies[energies.len() - 1];
            self.gradient(&positions, loads, &mut gradient);
            let mut step = self.newton_step(&positions, &gradient, loads, project)?;
            last_step = largest_length(&step.by);
            let balanced = last_step <= params.step_tolerance;
            let at_reach = reach.is_finite() && largest_distance(&positions, start) > 0.99 * reach;
            if balanced || at_reach {
                if balanced {
                    positions = self.finish(positions, &step, loads, &mut energies);
                }
                let stable = !step.projected;
                let volumes = self.gradient(&positions, loads, &mut gradient);
                let solved = Equilibrium {
                    positions,
                    motions: loads.motions.to_vec(),
                    energies,
                    iterations: iteration,
                    factorizations: self.factorizations - factorizations_before,
                    projected,
                    stable,
                    residual: largest_length(&gradient),
                    smallest_volume: volumes.smallest,
                    inverted: volumes.inverted,
                    contact: ContactCost::default(),
                };
                return Ok((solved, balanced));
            }
            if iteration == params.iterations {
                break;
            }
            let left = reach - largest_distance(&positions, start).min(0.5 * reach);
            shorten(&mut step, left);
            let mut next = self.search_line(&positions, &gradient, &step, before, loads);
            if next.is_none() && !step.projected {
                step = self.newton_step(&positions, &gradient, loads, true)?;
                shorten(&mut step, left);
                next = self.search_line(&positions, &gradient, &step, before, loads);
            }
            let Some((moved, energy)) = next else {
                let residual = largest_length(&gradient);
                return Err(SolveError::NoDescent { iterations: iteration, residual });
            };
            projected += usize::from(step.projected);
            // Far from balance, what was indefinite is likely to be so again.
            project = step.projected && last_step > LONG_STEP;
            positions = moved;
            energies.push(energy);
        }
        Err(SolveError::NotConverged { iterations: params.iterations, step: last_step })
    }

    /// Where the body would be, to first order, after its groups moved on to `motions`: the start
    /// for the next solution. The body is first carried along with group 0, so that a motion of
    /// the whole is met exactly. Contacts are not looked at.
    pub fn predict(&mut self, from: &Equilibrium, motions: &[DAffine3]) -> Result<Vec<DVec3>, SolveError> {
        self.predict_with(from, motions, &[])
    }

    /// The same, while `contacts` that push at `from` go on to do so.
    pub(crate) fn predict_with(
        &mut self,
        from: &Equilibrium,
        motions: &[DAffine3],
        contacts: &[ContactRow],
    ) -> Result<Vec<DVec3>, SolveError> {
        self.check_counts(&from.positions, motions)?;
        let carry = motions[0] * from.motions[0].inverse();
        let carried: Vec<DVec3> = from.positions.iter().map(|&x| carry.transform_point3(x)).collect();
        self.factorize_near(&from.positions, contacts)?;
        // Computed in the frame of `from`, where the factorisation was made.
        let back = carry.matrix3.transpose();
        let lattice = self.problem.lattice();
        let mut pull = vec![0.0; 3 * lattice.node_count()];
        for held in self.problem.held() {
            let was = (carry * from.motions[held.group]).transform_point3(held.rest);
            let moved = back * (motions[held.group].transform_point3(held.rest) - was) * held.stiffness;
            let corners = &lattice.corners[held.embedded.cell as usize];
            for (&node, &weight) in corners.iter().zip(&held.embedded.weights) {
                for axis in 0..3 {
                    pull[3 * node as usize + axis] += weight * moved[axis];
                }
            }
        }
        if !self.solve_with(&mut pull, &from.positions, contacts) {
            // What contact held open now falls shut: no tangent to follow.
            return Ok(carried);
        }
        let moves = pull.chunks_exact(3).map(|by| carry.matrix3 * DVec3::from_slice(by));
        let predicted: Vec<DVec3> = carried.iter().zip(moves).map(|(&x, by)| x + by).collect();
        // Far from linear the guess may be worse than none.
        let energy_of = |positions: &[DVec3]| assembly::energy(self.problem, positions, motions);
        let better = energy_of(&predicted) <= energy_of(&carried);
        Ok(if better { predicted } else { carried })
    }

    /// Forgets the last factorisation: what follows does not depend on what was solved before.
    pub fn forget(&mut self) {
        self.factorized_at = None;
    }

    fn check_counts(&self, start: &[DVec3], motions: &[DAffine3]) -> Result<(), SolveError> {
        let nodes = self.problem.lattice().node_count();
        let groups = self.problem.group_count();
        for (what, expected, found) in
            [("start positions", nodes, start.len()), ("motions of rigid groups", groups, motions.len())]
        {
            if expected != found {
                return Err(SolveError::WrongCount { what, expected, found });
            }
        }
        Ok(())
    }

    fn energy(&self, positions: &[DVec3], loads: Loads<'_>) -> f64 {
        let contacts: f64 = loads.contacts.iter().map(|row| row.energy(positions)).sum();
        assembly::energy(self.problem, positions, loads.motions) + contacts
    }

    fn gradient(
        &self,
        positions: &[DVec3],
        loads: Loads<'_>,
        gradient: &mut Vec<DVec3>,
    ) -> assembly::Volumes {
        let volumes = assembly::gradient(self.problem, positions, loads.motions, gradient);
        for row in loads.contacts {
            row.add_gradient(positions, gradient);
        }
        volumes
    }

    /// −H⁻¹ ∂E/∂x; the one place where Newton steps are found.
    fn newton_step(
        &mut self,
        positions: &[DVec3],
        gradient: &[DVec3],
        loads: Loads<'_>,
        project: bool,
    ) -> Result<Step, SolveError> {
        let mut projected = self.factorize(positions, project, loads.contacts)?;
        let mut by: Vec<f64> = gradient.iter().flat_map(|force| (-*force).to_array()).collect();
        if !self.solve_with(&mut by, positions, loads.contacts) && !projected {
            projected = self.factorize(positions, true, loads.contacts)?;
            self.solve_with(&mut by, positions, loads.contacts);
        }
        Ok(Step { by: by.chunks_exact(3).map(DVec3::from_slice).collect(), projected })
    }

    /// x ← H⁻¹ x with the last factorisation and the rows that push at `positions`; says whether
    /// that could be done, else x is as before.
    fn solve_with(&mut self, x: &mut [f64], positions: &[DVec3], contacts: &[ContactRow]) -> bool {
        let pushing = pushing(contacts, positions);
        let Self { assembly, cholesky, hessian, .. } = self;
        if pushing.is_empty() && self.folded_rows == 0 {
            cholesky.solve(x);
            return true;
        }
        let multiply = |x: &[f64], y: &mut [f64]| assembly.multiply(hessian, x, y);
        // Rounding costs some steps more than there are eigenvalues.
        let most = 2 * pushing.len().max(self.folded_rows) + 20;
        solve_with_rows(&pushing, x, (ROWS_TOLERANCE, most), multiply, |x| cholesky.solve(x))
    }

    /// Factorises the Hessian at `positions`, as it is if that is positive definite and not already
    /// asked to be projected; says whether it was projected.
    fn factorize(
        &mut self,
        positions: &[DVec3],
        mut project: bool,
        contacts: &[ContactRow],
    ) -> Result<bool, SolveError> {
        // Projected cells may leave a direction without any stiffness: then a little is lent.
        let mut lent = 0.0;
        self.factorized_at = None;
        let pushing = pushing(contacts, positions);
        self.folded_rows = pushing.len();
        loop {
            self.assembly.hessian(self.problem, positions, project, &mut self.hessian);
            self.assembly.shift(&mut self.hessian, lent);
            self.factorizations += 1;
            if self.factorize_with(&pushing) {
                self.factorized_at = Some(positions.to_vec());
                return Ok(project);
            }
            if project {
                lent = if lent == 0.0 { 1e-6 } else { lent * 100.0 };
                if lent > 1.0 {
                    return Err(SolveError::NotHeld);
                }
            }
            project = true;
        }
    }

    /// Factorises the Hessian with what rows add within cells; false if that is not positive definite.
    fn factorize_with(&mut self, pushing: &[&ContactRow]) -> bool {
        if pushing.is_empty() {
            return self.cholesky.factorize(&self.hessian).is_ok();
        }
        self.folded.clone_from(&self.hessian);
        for row in pushing {
            let (stiffness, parts) = row.parts();
            for part in parts {
                self.assembly.add_row(part, row.direction, stiffness, &mut self.folded);
            }
        }
        self.cholesky.factorize(&self.folded).is_ok()
    }

    fn factorize_near(&mut self, positions: &[DVec3], contacts: &[ContactRow]) -> Result<(), SolveError> {
        let near = |at: &Vec<DVec3>| at.iter().zip(positions).all(|(a, b)| a.distance(*b) < 1e-3);
        if !self.factorized_at.as_ref().is_some_and(near) {
            self.factorize(positions, false, contacts)?;
        }
        Ok(())
    }

    /// Takes the last, tiny step too, unless the energy shows that it is only rounding.
    fn finish(
        &self,
        positions: Vec<DVec3>,
        step: &Step,
        loads: Loads<'_>,
        energies: &mut Vec<f64>,
    ) -> Vec<DVec3> {
        let moved: Vec<DVec3> = positions.iter().zip(&step.by).map(|(&x, &by)| x + by).collect();
        let reached = self.energy(&moved, loads);
        if reached <= energies[energies.len() - 1] {
            energies.push(reached);
            return moved;
        }
        positions
    }

    /// Positions and energy after the longest of the steps 1, ½, ¼ … that lowers the energy enough.
    fn search_line(
        &self,
        positions: &[DVec3],
        gradient: &[DVec3],
        step: &Step,
        energy: f64,
        loads: Loads<'_>,
    ) -> Option<(Vec<DVec3>, f64)> {
        let slope: f64 = gradient.iter().zip(&step.by).map(|(force, by)| force.dot(*by)).sum();
        if slope >= 0.0 || slope.is_nan() {
            return None;
        }
        // Below this, differences of energies are rounding.
        let noise = 1e-15 * (energy + self.problem.lattice().cell_count() as f64);
        let mut share = 1.0;
        while share > 1e-9 {
            let moved: Vec<DVec3> = positions.iter().zip(&step.by).map(|(&x, &by)| x + by * share).collect();
            let reached = self.energy(&moved, loads);
            if reached <= energy + 1e-4 * share * slope + noise {
                return Some((moved, reached));
            }
            share *= 0.5;
        }
        None
    }
}

/// Scales a step down to the longest that is allowed.
fn shorten(step: &mut Step, longest: f64) {
    let length = largest_length(&step.by);
    if length > longest {
        step.by.iter_mut().for_each(|by| *by *= longest / length);
    }
}

/// The furthest that a node is from where it was.
pub(crate) fn largest_distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).fold(0.0, |largest, (a, b)| largest.max(a.distance(*b)))
}

fn pushing<'r>(contacts: &'r [ContactRow], positions: &[DVec3]) -> Vec<&'r ContactRow> {
    contacts.iter().filter(|row| row.distance(positions) < 0.0).collect()
}

fn largest_length(vectors: &[DVec3]) -> f64 {
    vectors.iter().fold(0.0, |largest, vector| largest.max(vector.length()))
}

/// Turn of one rigid motion against another, in radians.
pub(crate) fn angle_between(a: &DMat3, b: &DMat3) -> f64 {
    let relative = a.transpose() * *b;
    let skew = DVec3::new(
        relative.y_axis.z - relative.z_axis.y,
        relative.z_axis.x - relative.x_axis.z,
        relative.x_axis.y - relative.y_axis.x,
    );
    let trace = relative.x_axis.x + relative.y_axis.y + relative.z_axis.z;
    skew.length().atan2(trace - 1.0)
}

#[cfg(test)]
#[path = "solver_tests.rs"]
mod tests;
