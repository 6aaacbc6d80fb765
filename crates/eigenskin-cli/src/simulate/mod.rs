//! What `simulate` and `demo` share: ranges as people give them, work that can be taken up again,
//! the plan, and running jobs with progress.

pub mod fingerprint;
pub mod parts;
pub mod plan;
pub mod ranges;
pub mod run;
