//! Experiments of papers, repeated on built-in data.

pub mod eigenskin;
pub mod pictures;
pub mod reference;
