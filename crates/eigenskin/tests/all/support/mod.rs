//! What several modules need, most of it from the tests of eigenskin-gltf and eigenskin-io.

use eigenskin_gltf::Document;

#[path = "../../../../eigenskin-gltf/tests/all/support/compare.rs"]
pub mod compare;
#[path = "../../../../eigenskin-gltf/tests/all/support/keep.rs"]
pub mod keep;
pub mod numpy;
#[path = "../../../../eigenskin-io/tests/all/support/scene.rs"]
pub mod scene;
#[path = "../../../../eigenskin-io/tests/all/support/sculpts.rs"]
pub mod sculpts;
#[path = "../../../../eigenskin-gltf/tests/all/support/viewer.rs"]
pub mod viewer;

pub fn document(glb: &[u8]) -> Document {
    Document::from_bytes(glb, None).unwrap()
}
