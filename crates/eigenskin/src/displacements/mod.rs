//! Rest-space displacements: what to add to the rest shape so that skinning gives the observed shape.

pub mod black_box;
pub mod closed_form;

pub use closed_form::{RestDisplacements, rest_displacements};
