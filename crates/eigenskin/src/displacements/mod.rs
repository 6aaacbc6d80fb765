//! Rest-space displacements: what to add to the rest shape so that skinning gives the observed shape.

pub mod black_box;
pub mod pulled_back;
pub mod set_displacements;

pub use pulled_back::{PullBackError, PulledBack, pull_back};
pub use set_displacements::{RestDisplacements, rest_displacements, skinned_displacements};
