//! Jobs, from outside.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod edit_examples;
mod inspect;
mod invert;
mod stop;
mod suggest;
