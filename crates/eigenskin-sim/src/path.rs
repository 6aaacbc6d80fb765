//! From one pose to another in small turns: each solution is the start of the next.

use eigenskin::glam::DAffine3;

use crate::solver::{Equilibrium, Loads, SolveError, Solver, SolverParams, angle_between};

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
#[error("the tissue could be followed to {:.0} % of the way only: keep the motion within that range, or use smaller cubes", 100.0 * share)]
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
/// which are shares of the path within (0, 1] that rise.
pub fn follow(
    solver: &mut Solver<'_>,
    start: &Equilibrium,
    motions_at: impl Fn(f64) -> Vec<DAffine3>,
    stops: &[f64],
    params: &PathParams,
) -> Result<Vec<Equilibrium>, PathError> {
    // The same path gives the same bits, whatever was solved before.
    solver.forget();
    let mut reached = Vec::with_capacity(stops.len());
    let mut state = start.clone();
    let mut share = 0.0;
    for &stop in stops {
        let mut longest = f64::INFINITY;
        while share < stop {
            let next = end_of_step(&motions_at, share, stop.min(share + longest), params.largest_turn);
            let motions = motions_at(next);
            let solved = solver
                .predict(&state, &motions)
                .and_then(|guess| solver.equilibrium(&guess, Loads::from(&motions[..]), &params.solver));
            match solved {
                Ok(solved) => {
                    state = solved;
                    share = next;
                    longest *= 2.0;
                }
                Err(cause) => {
                    longest = 0.5 * (next - share);
                    let hopeless =
                        matches!(cause, SolveError::WrongCount { .. } | SolveError::TooLarge { .. });
                    if hopeless || longest < params.smallest_share {
                        return Err(PathError { share, reached, cause });
                    }
                    solver.forget();
                }
            }
        }
        reached.push(state.clone());
    }
    Ok(reached)
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
    use eigenskin::glam::DQuat;

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
