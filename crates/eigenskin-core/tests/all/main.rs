//! What plays a model, from outside.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod articulation;
mod deformers;
mod packed;
mod skinning;
