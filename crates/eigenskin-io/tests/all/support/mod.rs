//! What several modules need.

pub mod boxes;
#[path = "../../../../eigenskin-gltf/tests/all/support/cases.rs"]
pub mod cases;
#[path = "../../../../eigenskin-gltf/tests/all/support/compare.rs"]
mod compare;
pub mod faces;
pub mod malformed;
pub mod scene;
pub mod sculpts;
