//! Experiments of papers, repeated on built-in data.

pub mod eigenskin;
pub mod reference;
