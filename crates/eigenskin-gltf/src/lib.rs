//! glTF in and out: the bytes of a file ↔ rig, example set, model, clips. All that a runtime needs to
//! load a model.
//!
//! | from | to | functions |
//! |---|---|---|
//! | bytes | things | [`read_rig`], [`read_examples`], [`read_example_list`], [`read_model`], [`read_skins`], [`read_simulation`], [`file_kind`]; [`ModelFile::from_bytes`] for runtimes |
//! | things | bytes of a GLB | [`rig_glb`], [`examples_glb`], [`example_list_glb`], [`model_glb`] |
//! | [`Document`] | things | [`rig_of`], [`examples_of`], [`example_list_of`], [`model_of`], [`skins_of`], [`sculpts_of`]: for a .gltf with buffers in other files, and for JSON that was edited |
//!
//! A [`RigFile`] goes along with everything that is read, and is what a rig in memory becomes before it
//! is written: documents are edited as JSON, never rebuilt, so that everything an input had survives. An
//! example set or a model is also a rig.

mod accessor;
mod append;
mod bake;
mod clip;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod container;
mod document;
mod driver_table;
mod error;
mod example_list;
mod example_set;
mod from_rig;
mod halves;
mod key_reduction;
pub mod limits;
mod mesh_space;
#[cfg(feature = "meshopt")]
mod meshopt_views;
mod model;
mod model_file;
mod model_read;
mod model_warning;
mod morph_weights;
mod motion;
mod nodes;
mod orientation;
mod pose_keys;
mod primitives;
mod read;
mod repack;
mod rig;
mod rig_file;
mod sculpts;
mod simulation_record;
mod skin_weights;
mod skins;
mod sparse;
mod stack_table;
mod table;
mod targets;
mod web;
mod write;
mod write_error;
mod zeros;

pub use clip::{Channel, ChannelPath, Clip, Interpolation};
pub use document::{Document, LARGEST_FILE};
pub use error::GltfError;
pub use example_list::{EditError, ExampleList};
pub use model::{ModelWriteOptions, ModelWriteReport, Profile, Rounding};
pub use model_file::{MeshNode, ModelFile};
pub use model_warning::ModelWarning;
pub use morph_weights::MorphWeights;
pub use motion::{Motion, MotionError};
pub use orientation::Orientation;
pub use primitives::PrimitiveRange;
pub use read::{
    FileKind, ReadOptions, WeightsMaker, example_list_of, examples_of, file_kind, model_of,
    read_example_list, read_examples, read_model, read_rig, read_simulation, rig_of,
};
pub use rig::{CONTROL_PREFIX, RigLayout, weights_note};
pub use rig_file::{NamedPart, RigFile};
pub use sculpts::{SculptNode, ShapeKey, sculpts_of};
pub use simulation_record::{DroppedPose, PoseRecord, SimulationRecord};
pub use skins::{SkinSummary, read_skins, skins_of};
pub use write::{example_list_glb, examples_glb, model_glb, rig_glb};
pub use write_error::WriteError;

/// For tests that make or look into files by hand.
#[cfg(feature = "conformance")]
#[doc(hidden)]
pub mod internals {
    pub use crate::table::{edit_table, table_of};
    pub use crate::targets::read_target;

    /// Accessors that are appended to a document.
    pub mod append {
        pub use crate::append::{Usage, indices, joints, scalars, vec3, vec4};
    }
}

/// Its program is tested with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
