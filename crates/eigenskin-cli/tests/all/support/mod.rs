//! Runs the command, and writes files to run it on. Other targets take parts of it.

pub mod bundle;
mod command;
mod json;
mod options;
pub mod pictures;
pub mod point_cache;
pub mod two_meshes;
#[path = "../../../../eigenskin-gltf/tests/all/support/viewer.rs"]
pub mod viewer;

pub use command::eigenskin;
pub use json::json_of;
pub use options::options_of;

/// Options of a `demo` that ends in seconds: a coarse hand in few poses. Contact is tested on its own.
pub const SMALL_DEMO: [&str; 9] = [
    "--triangles",
    "1500",
    "--max-cells",
    "500",
    "--per-degree",
    "2",
    "--validation-poses",
    "1",
    "--no-contact",
];
