//! Equilibrium by projected Newton: the positions of the nodes at which the energy is least.
//!
//! Each step solves H Δ = −∂E/∂x with a sparse Cholesky factorisation. Where H is not positive
//! definite, its cells' negative curvatures are left out (Teran et al., "Robust Quasistatic Finite
//! Elements and Flesh Simulation", 2005), which always gives a direction of descent. The step is
//! halved until the energy falls enough (Armijo; Nocedal and Wright, "Numerical Optimization", §3.1).

use eigenskin_core::glam::{DAffine3, DMat3, DVec3};
use eigenskin_core::progress::Progress;

use crate::assembly;
use crate::contact::ContactRow;
use crate::equilibrium::{ContactCost, Equilibrium, SolveError};
use crate::loads::Loads;
use crate::problem::Problem;
use crate::system::System;

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

/// Solves one body for many loads. One per thread: see [`Solver::fork`].
pub struct Solver<'a> {
    problem: &'a Problem,
    /// the body while nothing pushes
    free: System,
    /// the body with the contacts that it has at the moment
    touching: Option<System>,
    last: Option<Factorized>,
    factorizations: usize,
}

/// The last factorisation.
struct Factorized {
    /// `node`
    at: Vec<DVec3>,
    /// whether it is that of the body with contacts
    touching: bool,
    /// whether negative curvatures were left out
    projected: bool,
}

/// After a step below this, in cube edges, the Hessian is much the same: the factorisation is used
/// again, as long as each such step is below this share of the one before.
const SHORT_STEP: f64 = 0.05;
const CHORD_GAIN: f64 = 0.3;

/// What is being done, for who watches.
const SOLVING: &str = "solving for a pose";

/// How far a body may move before what acts on it has to be looked at again.
pub(crate) struct Leash<'l> {
    /// in cube edges
    pub reach: f64,
    /// from by how much each node moves to the length that counts
    pub length_of: &'l dyn Fn(&[DVec3]) -> f64,
}

impl Leash<'_> {
    fn gone(&self, positions: &[DVec3], start: &[DVec3]) -> f64 {
        let by: Vec<DVec3> = positions.iter().zip(start).map(|(x, start)| *x - *start).collect();
        (self.length_of)(&by)
    }

    fn is_taut(&self, positions: &[DVec3], start: &[DVec3]) -> bool {
        self.gone(positions, start) > 0.99 * self.reach
    }

    /// Scales a step down to what is left.
    fn shorten(&self, step: &mut Step, positions: &[DVec3], start: &[DVec3]) {
        let left = self.reach - self.gone(positions, start).min(0.5 * self.reach);
        let length = (self.length_of)(&step.by);
        if length > left {
            step.by.iter_mut().for_each(|by| *by *= left / length);
        }
    }
}

/// How a step is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// with the last factorisation
    Chord,
    /// with the Hessian as it is, if that is positive definite
    Newton,
    /// with the Hessian whose negative curvatures are left out
    Projected,
}

/// What a solution took.
#[derive(Clone, Copy)]
struct Costs {
    iterations: usize,
    factorizations: usize,
    projected: usize,
}

/// A Newton step that was found.
struct Step {
    /// `node` → by how much it moves
    by: Vec<DVec3>,
    projected: bool,
}

impl Step {
    /// What to try after a step of this `length`, as it was found. A Hessian that was indefinite may
    /// be so no more; that it still is shows early, at little cost.
    fn next_kind(&self, length: f64) -> StepKind {
        if !self.projected && length < SHORT_STEP { StepKind::Chord } else { StepKind::Newton }
    }
}

impl<'a> Solver<'a> {
    /// Finds the order of elimination.
    pub fn new(problem: &'a Problem) -> Result<Self, SolveError> {
        let free = System::new(problem, &problem.lattice().nodes, &[]);
        Self::with(problem, free)
    }

    /// Another solver of the same problem, for another thread; shares the order of elimination.
    pub fn fork(&self) -> Result<Self, SolveError> {
        Self::with(self.problem, self.free.fork())
    }

    fn with(problem: &'a Problem, free: Option<System>) -> Result<Self, SolveError> {
        let free = free.ok_or_else(|| too_large(problem))?;
        Ok(Self { problem, free, touching: None, last: None, factorizations: 0 })
    }

    /// The body that is solved for.
    pub fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// Number of entries of the Cholesky factor.
    pub fn factor_entries(&self) -> usize {
        self.free.factor_entries()
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

    /// Finds the equilibrium near `start` (`node` → position). Asks `progress` before every linear
    /// system.
    pub fn equilibrium(
        &mut self,
        start: &[DVec3],
        loads: Loads<'_>,
        params: &SolverParams,
        progress: &dyn Progress,
    ) -> Result<Equilibrium, SolveError> {
        self.equilibrium_within(None, start, loads, params, progress).map(|(solved, _)| solved)
    }

    /// The same; but on a leash it also ends, without balance, when the body has moved by as much as
    /// that allows or after as many Newton steps as allowed. Says whether it is in balance.
    pub(crate) fn equilibrium_within(
        &mut self,
        leash: Option<&Leash<'_>>,
        start: &[DVec3],
        loads: Loads<'_>,
        params: &SolverParams,
        progress: &dyn Progress,
    ) -> Result<(Equilibrium, bool), SolveError> {
        self.check_counts(start, loads.motions)?;
        let factorizations_before = self.factorizations;
        let mut positions = start.to_vec();
        let mut energies = vec![self.energy(&positions, loads)];
        if !energies[0].is_finite() {
            return Err(SolveError::BadStart);
        }
        let (mut gradient, mut projected, mut last_length) = (Vec::new(), 0, f64::INFINITY);
        let mut kind = StepKind::Newton;
        for iteration in 0..=params.iterations {
            let before = energies[energies.len() - 1];
            self.gradient(&positions, loads, &mut gradient);
            let (moved, energy) = loop {
                let mut step = self.step(kind, &positions, &gradient, loads, progress)?;
                let length = largest_length(&step.by);
                if kind == StepKind::Chord && length > CHORD_GAIN * last_length {
                    kind = StepKind::Newton;
                    continue;
                }
                last_length = length;
                if length <= params.step_tolerance {
                    let positions = self.finish(positions, &step, loads, &mut energies);
                    let factorizations = self.factorizations - factorizations_before;
                    let costs = Costs { iterations: iteration, factorizations, projected };
                    return Ok((self.solved(positions, loads, energies, costs), true));
                }
                if iteration == params.iterations {
                    return Err(SolveError::NotConverged { iterations: iteration, step: length });
                }
                if let Some(leash) = leash {
                    leash.shorten(&mut step, &positions, start);
                }
                let found = self.search_line(&positions, &gradient, &step, before, loads);
                if let Some(found) = found {
                    projected += usize::from(step.projected);
                    kind = step.next_kind(length);
                    break found;
                }
                kind = match kind {
                    StepKind::Chord => StepKind::Newton,
                    StepKind::Newton if !step.projected => StepKind::Projected,
                    _ => {
                        let residual = largest_length(&gradient);
                        return Err(SolveError::NoDescent { iterations: iteration, residual });
                    }
                };
            };
            positions = moved;
            energies.push(energy);
            let is_over =
                |leash: &Leash<'_>| iteration + 1 == params.iterations || leash.is_taut(&positions, start);
            if leash.is_some_and(is_over) {
                let factorizations = self.factorizations - factorizations_before;
                let costs = Costs { iterations: iteration + 1, factorizations, projected };
                return Ok((self.solved(positions, loads, energies, costs), false));
            }
        }
        Err(SolveError::NotConverged { iterations: params.iterations, step: last_length })
    }

    /// What is known at the end.
    fn solved(
        &self,
        positions: Vec<DVec3>,
        loads: Loads<'_>,
        energies: Vec<f64>,
        costs: Costs,
    ) -> Equilibrium {
        let mut gradient = Vec::new();
        let volumes = self.gradient(&positions, Loads { drag: None, ..loads }, &mut gradient);
        Equilibrium {
            positions,
            motions: loads.motions.to_vec(),
            energies,
            iterations: costs.iterations,
            factorizations: costs.factorizations,
            projected: costs.projected,
            stable: self.last.as_ref().is_some_and(|last| !last.projected),
            residual: largest_length(&gradient),
            smallest_volume: volumes.smallest,
            inverted: volumes.inverted,
            contact: ContactCost::default(),
        }
    }

    /// Where the body would be, to first order, after its groups moved on to `motions`: the start
    /// for the next solution. The body is first carried along with group 0, so that a motion of
    /// the whole is met exactly. Contacts are not looked at.
    pub fn predict(
        &mut self,
        from: &Equilibrium,
        motions: &[DAffine3],
        progress: &dyn Progress,
    ) -> Result<Vec<DVec3>, SolveError> {
        self.predict_with(from, motions, &[], progress)
    }

    /// The same, while `contacts` that push at `from` go on to do so.
    pub(crate) fn predict_with(
        &mut self,
        from: &Equilibrium,
        motions: &[DAffine3],
        contacts: &[ContactRow],
        progress: &dyn Progress,
    ) -> Result<Vec<DVec3>, SolveError> {
        self.check_counts(&from.positions, motions)?;
        let carry = motions[0] * from.motions[0].inverse();
        let carried: Vec<DVec3> = from.positions.iter().map(|&x| carry.transform_point3(x)).collect();
        self.factorize_near(&from.positions, contacts, progress)?;
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
        self.solve(&mut pull);
        let moves = pull.chunks_exact(3).map(|by| carry.matrix3 * DVec3::from_slice(by));
        let predicted: Vec<DVec3> = carried.iter().zip(moves).map(|(&x, by)| x + by).collect();
        // Far from linear the guess may be worse than none.
        let energy_of = |positions: &[DVec3]| assembly::energy(self.problem, positions, motions);
        let better = energy_of(&predicted) <= energy_of(&carried);
        Ok(if better { predicted } else { carried })
    }

    /// Forgets the last factorisation: what follows does not depend on what was solved before.
    pub fn forget(&mut self) {
        self.last = None;
        self.touching = None;
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
        let drag = loads.drag.map_or(0.0, |drag| drag.energy(positions));
        assembly::energy(self.problem, positions, loads.motions) + contacts + drag
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
        if let Some(drag) = loads.drag {
            drag.add_gradient(positions, gradient);
        }
        volumes
    }

    /// −H⁻¹ ∂E/∂x.
    fn step(
        &mut self,
        kind: StepKind,
        positions: &[DVec3],
        gradient: &[DVec3],
        loads: Loads<'_>,
        progress: &dyn Progress,
    ) -> Result<Step, SolveError> {
        let projected = match kind {
            StepKind::Chord => {
                progress.doing(SOLVING)?;
                false
            }
            _ => self.factorize(positions, kind == StepKind::Projected, loads, progress)?,
        };
        let mut by: Vec<f64> = gradient.iter().flat_map(|force| (-*force).to_array()).collect();
        self.solve(&mut by);
        Ok(Step { by: by.chunks_exact(3).map(DVec3::from_slice).collect(), projected })
    }

    /// x ← H⁻¹ x with the last factorisation.
    fn solve(&mut self, x: &mut [f64]) {
        match (&self.last, &mut self.touching) {
            (Some(Factorized { touching: true, .. }), Some(system)) => system.solve(x),
            _ => self.free.solve(x),
        }
    }

    /// Factorises the Hessian at `positions`, as it is if that is positive definite and not already
    /// asked to be projected; says whether it was projected.
    fn factorize(
        &mut self,
        positions: &[DVec3],
        mut project: bool,
        loads: Loads<'_>,
        progress: &dyn Progress,
    ) -> Result<bool, SolveError> {
        let contacts = loads.contacts;
        self.last = None;
        let problem = self.problem;
        let touching = contacts.iter().any(|row| row.pushes(positions));
        let system = if touching {
            touching_system(&mut self.touching, problem, positions, contacts)?
        } else {
            &mut self.free
        };
        // Projected cells may leave a direction without any stiffness: then a little is lent.
        let mut lent = 0.0;
        let drag = loads.drag.map_or(0.0, |drag| drag.stiffness);
        loop {
            progress.doing(SOLVING)?;
            self.factorizations += 1;
            if system.factorize(problem, positions, contacts, project, drag + lent) {
                self.last = Some(Factorized { at: positions.to_vec(), touching, projected: project });
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

    fn factorize_near(
        &mut self,
        positions: &[DVec3],
        contacts: &[ContactRow],
        progress: &dyn Progress,
    ) -> Result<(), SolveError> {
        let near =
            |last: &Factorized| last.at.iter().zip(positions).all(|(a, b)| a.distance(*b) < 2.0 * SHORT_STEP);
        if !self.last.as_ref().is_some_and(near) {
            self.factorize(positions, false, Loads { motions: &[], contacts, drag: None }, progress)?;
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

/// The system with room for `contacts`; made anew where it has none.
fn touching_system<'s>(
    system: &'s mut Option<System>,
    problem: &Problem,
    positions: &[DVec3],
    contacts: &[ContactRow],
) -> Result<&'s mut System, SolveError> {
    let fitting = system.take().filter(|system| system.has_places_for(contacts));
    let made = match fitting {
        Some(system) => system,
        None => System::new(problem, positions, contacts).ok_or_else(|| too_large(problem))?,
    };
    Ok(system.insert(made))
}

fn too_large(problem: &Problem) -> SolveError {
    SolveError::TooLarge { unknowns: 3 * problem.lattice().node_count() }
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
