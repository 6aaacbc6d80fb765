//! Soft tissue, from outside: the solver, poses of a hand, and styles of materials.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and tells what it saw")]

mod bars;
mod carried;
mod simulation;
mod solver;
mod style;
