//! What `simulate`, `demo` and `reproduce` share: ranges as people give them, work that can be taken
//! up again, the plan, running jobs with progress, and what comes out; and the built-in hand.

pub mod fingerprint;
pub mod hand;
pub mod outcome;
pub mod parts;
pub mod plan;
pub mod ranges;
pub mod run;
