//! One file per command.

pub mod bake;
pub mod check;
pub mod completions;
pub mod conformance;
pub mod demo;
pub mod evaluate;
pub mod examples;
pub mod fit;
pub mod reproduce;
pub mod simulate;
pub mod style;
pub mod suggest;
