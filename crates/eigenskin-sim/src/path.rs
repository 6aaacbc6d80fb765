//! From one pose to another in small turns: each solution is the start of the next.

use eigenskin_core::glam::{DAffine3, DVec3};
use eigenskin_core::progress::Progress;

use crate::contact::ContactRow;
use crate::equilibrium::{ContactCost, Equilibrium, SolveError};
use crate::loads::{Drag, Loads};
use crate::self_contact::{ContactParams, SelfContact};
use crate::solver::{Leash, Solver, SolverParams, angle_between};

/// How to go along a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathParams {
    /// largest turn of one group against another per step, in radians
    pub largest_turn: f64,
    /// a step that fails is halved until it is below this share of the path
    pub smallest_share: f64,
    /// when each step's solution is good enough
    pub solver: SolverParams,
}

impl Default for PathParams {
    fn default() -> Self {
        Self {
            largest_turn: 15.0_f64.to_radians(),
            smallest_share: 1.0 / 256.0,
            solver: SolverParams::default(),
        }
    }
}

/// The path could not be followed to its end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the tissue could be followed to {:.0} % of the way only: keep the motion within that range, or use smaller cells", 100.0 * share)]
pub struct PathError {
    /// share of the path that was solved
    pub share: f64,
    /// solutions at the stops up to there
    pub reached: Vec<Equilibrium>,
    /// why it ends there
    #[source]
    pub cause: SolveError,
}

/// Follows the bones from `start` (share 0) along `motions_at` and returns the equilibria at `stops`,
/// which are shares of the path within (0, 1] that rise. Their iterations are counted from the stop
/// before.
pub fn follow(
    solver: &mut Solver<'_>,
    start: &Equilibrium,
    motions_at: impl Fn(f64) -> Vec<DAffine3>,
    stops: &[f64],
    params: &PathParams,
    progress: &dyn Progress,
) -> Result<Vec<Equilibrium>, PathError> {
    follow_with_contact(solver, start, motions_at, stops, params, None, progress)
}

/// The same with skin that pushes skin away. Where nothing touches, nothing changes. Ended from outside, it
/// returns what it has, with that as the cause.
pub fn follow_with_contact(
    solver: &mut Solver<'_>,
    start: &Equilibrium,
    motions_at: impl Fn(f64) -> Vec<DAffine3>,
    stops: &[f64],
    params: &PathParams,
    contact: Option<&SelfContact<'_>>,
    progress: &dyn Progress,
) -> Result<Vec<Equilibrium>, PathError> {
    // The same path gives the same bits, whatever was solved before.
    solver.forget();
    let mut reached = Vec::with_capacity(stops.len());
    let mut state = start.clone();
    let mut touching = Touching { contact, rows: Vec::new(), cost: ContactCost::default(), taken: 0 };
    let mut share = 0.0;
    for &stop in stops {
        let mut longest = f64::INFINITY;
        touching.cost = ContactCost::default();
        touching.taken = 0;
        while share < stop {
            let next = end_of_step(&motions_at, share, stop.min(share + longest), params.largest_turn);
            let motions = motions_at(next);
            let half = 0.5 * (next - share);
            let step =
                Step { motions: &motions, is_stop: next >= stop, may_halve: half >= SHORTEST_APPROACH };
            match touching.solve(solver, &state, step, &params.solver, progress) {
                Ok(solved) => {
                    state = solved;
                    share = next;
                    longest *= 2.0;
                }
                Err(cause) => {
                    longest = half;
                    let hopeless = matches!(
                        cause,
                        SolveError::WrongCount { .. }
                            | SolveError::TooLarge { .. }
                            | SolveError::Cancelled(_)
                    );
                    if hopeless || longest < params.smallest_share {
                        return Err(PathError { share, reached, cause });
                    }
                    solver.forget();
                }
            }
        }
        state.iterations = touching.taken;
        reached.push(state.clone());
    }
    Ok(reached)
}

/// A prediction may lie within other skin by this much, in cube edges. Deeper points may be nearer
/// to the far side and would be pushed out there.
const DEEPEST_ENTRY: f64 = 0.75;
/// Steps are not halved further for that, as a share of the path.
const SHORTEST_APPROACH: f64 = 1.0 / 64.0;
/// Rounds of contact are solved to this step, in cube edges, and within this many Newton steps; only
/// the last one of a wanted pose is solved as exactly as without contact.
const ROUND_TOLERANCE: f64 = 1e-2;
const ROUND_STEPS: usize = 12;
/// Rows found anew may send soft skin to and fro. From the round after this one on, drag slows it
/// down: this much first, in units of shear modulus · cube edge, then twice as much each time.
const FREE_ROUNDS: usize = 4;
const FIRST_DRAG: f64 = 0.5;

/// Contact along a path.
struct Touching<'a> {
    contact: Option<&'a SelfContact<'a>>,
    /// rows at the last solution
    rows: Vec<ContactRow>,
    /// since the last stop
    cost: ContactCost,
    /// Newton steps since the last stop
    taken: usize,
}

/// One step along a path.
#[derive(Clone, Copy)]
struct Step<'a> {
    motions: &'a [DAffine3],
    /// whether it ends at a wanted pose
    is_stop: bool,
    /// whether shorter steps may be tried
    may_halve: bool,
}

impl Touching<'_> {
    /// The equilibrium after a step from `state`; keeps the rows that belong to it.
    fn solve(
        &mut self,
        solver: &mut Solver<'_>,
        state: &Equilibrium,
        step: Step<'_>,
        params: &SolverParams,
        progress: &dyn Progress,
    ) -> Result<Equilibrium, SolveError> {
        let guess = solver.predict_with(state, step.motions, &self.rows, progress)?;
        let Some(contact) = self.contact else {
            let solved = solver.equilibrium(&guess, Loads::from(step.motions), params, progress)?;
            self.taken += solved.iterations;
            return Ok(solved);
        };
        let rows = contact.rows(&guess);
        let depth = deepest(&rows, &guess);
        if step.may_halve && depth > DEEPEST_ENTRY {
            return Err(SolveError::TooDeep { depth });
        }
        self.settle(solver, contact, guess, rows, step, params, progress)
    }

    /// Solves for rows and finds them anew until the skin stays where it is.
    fn settle(
        &mut self,
        solver: &mut Solver<'_>,
        contact: &SelfContact<'_>,
        guess: Vec<DVec3>,
        mut rows: Vec<ContactRow>,
        step: Step<'_>,
        params: &SolverParams,
        progress: &dyn Progress,
    ) -> Result<Equilibrium, SolveError> {
        let ContactParams { rounds, settled, reach, .. } = *contact.params();
        // A pose on the way need not be exact.
        let (rounds, settled) = if step.is_stop { (rounds, settled) } else { (rounds / 2, 10.0 * settled) };
        let length_of = |by: &[DVec3]| contact.largest_move(by);
        let leash = Leash { reach, length_of: &length_of };
        let mut positions = guess;
        let (mut depth, mut round) = (f64::INFINITY, 0);
        loop {
            round += 1;
            let drag = drag_of(round).map(|stiffness| Drag { stiffness, from: &positions });
            let loads = Loads { motions: step.motions, contacts: &rows, drag };
            let (mut solved, balanced) = if rows.is_empty() {
                (solver.equilibrium(&positions, loads, params, progress)?, true)
            } else {
                solver.equilibrium_within(
                    Some(&leash),
                    &positions,
                    loads,
                    &within(params, ROUND_TOLERANCE),
                    progress,
                )?
            };
            self.taken += solved.iterations;
            let found = contact.rows(&solved.positions);
            let touches = |rows: &[ContactRow]| rows.iter().any(|row| row.pushes(&solved.positions));
            if touches(&rows) || touches(&found) {
                self.cost.rounds += 1;
                self.cost.newton_steps += solved.iterations;
            } else if balanced && drag.is_none() {
                self.rows = found;
                return Ok(Equilibrium { contact: self.cost(&solved), ..solved });
            }
            let depth_before = std::mem::replace(&mut depth, deepest(&found, &solved.positions));
            let by: Vec<DVec3> = solved.positions.iter().zip(&positions).map(|(a, b)| *a - *b).collect();
            // Sharp edges may go to and fro between two faces, none of them deeper.
            let is_still = length_of(&by) < settled || (depth - depth_before).abs() < settled;
            if round >= rounds || balanced && is_still {
                if step.is_stop && balanced {
                    let finely = within(params, 0.0);
                    let exact = solver.equilibrium_within(
                        Some(&leash),
                        &solved.positions,
                        loads,
                        &finely,
                        progress,
                    )?;
                    solved = exact.0;
                    self.cost.newton_steps += solved.iterations;
                    self.taken += solved.iterations;
                }
                self.rows = rows;
                self.cost.dragged = drag.is_some();
                return Ok(Equilibrium { contact: self.cost(&solved), ..solved });
            }
            positions = solved.positions;
            rows = found;
        }
    }

    fn cost(&self, at: &Equilibrium) -> ContactCost {
        let pushing = self.rows.iter().filter(|row| row.pushes(&at.positions)).count();
        ContactCost { rows: self.rows.len(), pushing, ..self.cost }
    }
}

/// When a round is solved well enough.
fn within(params: &SolverParams, tolerance: f64) -> SolverParams {
    SolverParams {
        step_tolerance: params.step_tolerance.max(tolerance),
        iterations: params.iterations.min(ROUND_STEPS),
    }
}

/// Stiffness of the drag in a round, counted from one.
fn drag_of(round: usize) -> Option<f64> {
    let more = round.checked_sub(FREE_ROUNDS + 1)?;
    Some(FIRST_DRAG * 2.0_f64.powi(more as i32))
}

/// How deep the deepest row is.
fn deepest(rows: &[ContactRow], positions: &[DVec3]) -> f64 {
    rows.iter().fold(0.0, |deepest, row| deepest.max(-row.distance(positions)))
}

/// The furthest of some shares within (from, to] that turns no group too far against another.
fn end_of_step(motions_at: &impl Fn(f64) -> Vec<DAffine3>, from: f64, to: f64, largest_turn: f64) -> f64 {
    let turn = turn_along(motions_at, from, to);
    // Equal steps; a hair of tolerance keeps 90° at six steps of 15°.
    let steps = (turn / largest_turn - 1e-6).ceil().max(1.0);
    if steps == 1.0 { to } else { from + (to - from) / steps }
}

/// How far groups turn against each other, summed over short pieces: turns beyond half a circle count.
fn turn_along(motions_at: &impl Fn(f64) -> Vec<DAffine3>, from: f64, to: f64) -> f64 {
    const PIECES: usize = 16;
    let at = |piece: usize| motions_at(from + (to - from) * piece as f64 / PIECES as f64);
    let mut before = at(0);
    let mut sum = 0.0;
    for piece in 1..=PIECES {
        let after = at(piece);
        // World-space turn of each group over this piece; alike turns are no deformation.
        let turns: Vec<_> =
            before.iter().zip(&after).map(|(a, b)| b.matrix3 * a.matrix3.transpose()).collect();
        let mut largest = 0.0_f64;
        for (i, a) in turns.iter().enumerate() {
            for b in &turns[i + 1..] {
                largest = largest.max(angle_between(a, b));
            }
        }
        sum += largest;
        before = after;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::glam::DQuat;

    #[test]
    fn steps_are_counted_in_relative_turns() {
        // Both groups turn by 300°, the second by 90° more.
        let motions_at = |t: f64| {
            [300.0, 390.0]
                .map(|degrees: f64| DAffine3::from_quat(DQuat::from_rotation_x(t * degrees.to_radians())))
                .to_vec()
        };
        let turn = turn_along(&motions_at, 0.0, 1.0);
        assert!((turn - 90.0_f64.to_radians()).abs() < 1e-9, "{}", turn.to_degrees());
        let limit = 15.0_f64.to_radians();
        assert!((end_of_step(&motions_at, 0.0, 1.0, limit) - 1.0 / 6.0).abs() < 1e-9);
        assert_eq!(end_of_step(&motions_at, 0.9, 1.0, limit), 1.0);
    }
}
