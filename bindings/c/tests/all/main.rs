//! The C interface, as C programs use it. They are compiled here: a C compiler is needed, as it is for Rust.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod program;
mod programs;
mod rust;
