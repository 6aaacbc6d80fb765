//! The data, and what the tests that need nothing use as well.

use std::path::PathBuf;

#[path = "../all/support/command.rs"]
pub mod command;
#[path = "../all/support/json.rs"]
pub mod json;
#[path = "../all/support/point_cache.rs"]
pub mod point_cache;
#[path = "../all/support/two_meshes.rs"]
pub mod two_meshes;
#[path = "../../../eigenskin-gltf/tests/all/support/viewer.rs"]
pub mod viewer;

/// The folder with the data of others.
pub fn data() -> PathBuf {
    std::env::var_os("EIGENSKIN_DATA")
        .expect("set EIGENSKIN_DATA to the folder with the data of others")
        .into()
}
