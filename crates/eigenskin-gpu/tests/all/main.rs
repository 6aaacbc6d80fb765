//! What can be tested without a GPU.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../gpu/vertex_program/hand_made.rs"]
mod hand_made;
mod tables;
