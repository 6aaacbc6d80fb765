//! What needs a GPU, or one that the CPU imitates.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and tells what it saw")]

mod adapter;
mod pictures;
mod vertex_program;
