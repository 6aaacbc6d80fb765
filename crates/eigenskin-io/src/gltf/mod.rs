//! glTF in and out.
//!
//! Documents are edited as JSON, never rebuilt, so that everything an input had survives.

pub mod accessor;
pub mod append;
pub mod bake;
pub mod clip;
pub mod container;
pub mod document;
pub mod driver_table;
pub mod error;
pub mod example_set;
pub mod from_rig;
pub mod model;
pub mod model_read;
pub mod morph_weights;
pub mod nodes;
pub mod orientation;
pub mod pose_keys;
pub mod primitives;
pub mod rig;
pub mod sculpts;
pub mod skin_weights;
pub mod stack_table;
pub mod table;
pub mod targets;
