//! Somebody who wants to see nothing of it.

use eigenskin::progress::{Cancelled, Progress, Step};

/// Ends all work at its first step.
pub struct Stop;

impl Progress for Stop {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        Err(Cancelled)
    }
}
