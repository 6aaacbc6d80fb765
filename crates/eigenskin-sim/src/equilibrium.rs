//! A body in balance, what it took to get there, and why there may be none.

use eigenskin_core::glam::{DAffine3, DVec3};
use eigenskin_core::progress::Cancelled;

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
    /// the largest force out of balance at a node, drag not counted, in units of shear modulus ·
    /// cube edge²
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
    /// whether drag had to end it
    pub dragged: bool,
}

/// Why there is no equilibrium.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// the factorisation does not fit into memory
    #[error("the stiffness matrix of {unknowns} unknowns does not fit into memory: use larger cells")]
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
        "skin is {depth:.2} cell edges within other skin after one step: move the bones by smaller turns"
    )]
    TooDeep {
        /// of the deepest point, in cube edges
        depth: f64,
    },
    /// too many steps
    #[error(
        "not in balance after {iterations} Newton steps (the last one moved a node by {step:.1e} cell edges): move the bones by smaller turns, or allow more steps"
    )]
    NotConverged {
        /// steps taken
        iterations: usize,
        /// the last one, in cube edges
        step: f64,
    },
    /// ended from outside
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
