//! What several modules need; tests of other crates take parts of it.

pub mod cases;
pub mod compare;
pub mod keep;
pub mod viewer;
