//! One file per command.

pub mod check;
pub mod conformance;
pub mod demo;
pub mod evaluate;
pub mod fit;
