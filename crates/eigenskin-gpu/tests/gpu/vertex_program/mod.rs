//! The vertex program against the reference evaluator, its twins and the conformance vectors.

mod bytes;
mod capture;
mod compare;
mod conformance;
mod cost;
mod hand_made;
mod large;
mod random;
#[path = "../../../../eigenskin-core/tests/all/packed/random_models.rs"]
mod random_models;
mod refusals;
mod special;
