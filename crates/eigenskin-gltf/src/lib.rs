//! glTF in and out: the bytes of a file ↔ rig, example set, model, clips. All that a runtime needs to
//! load a model.
//!
//! Documents are edited as JSON, never rebuilt, so that everything an input had survives. An example
//! set or a model is also a rig.

pub mod accessor;
pub mod append;
pub mod bake;
pub mod clip;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod container;
pub mod document;
pub mod driver_table;
pub mod error;
mod example_list;
pub mod example_set;
pub mod from_rig;
pub mod limits;
pub mod model;
pub mod model_read;
pub mod morph_weights;
pub mod motion;
pub mod nodes;
pub mod orientation;
pub mod pose_keys;
pub mod primitives;
pub mod rig;
mod rig_file;
pub mod sculpts;
mod simulation_record;
pub mod skin_weights;
pub mod stack_table;
pub mod table;
pub mod targets;
mod write_error;

use std::collections::BTreeSet;
use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::Model;
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::weights::SkinWeights;

pub use clip::Clip;
pub use error::GltfError;
pub use example_list::{EditError, ExampleList};
pub use model::{ModelWriteOptions, ModelWriteReport};
pub use motion::{Motion, MotionError};
pub use orientation::Orientation;
pub use rig_file::{NamedPart, RigFile};
pub use simulation_record::{DroppedPose, PoseRecord, SimulationRecord};
pub use write_error::WriteError;

use document::Document;
use table::Table;

/// Makes skin weights for a rig that has none; an error says why that is not possible.
pub type WeightsMaker = fn(&Mesh, &Skeleton) -> Result<SkinWeights, String>;

/// How to read a file.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// which skin, when a file has several: its name, or "skin N"
    pub skin: Option<String>,
    /// which mesh, when a file has several and no skin: its name, or "mesh N"
    pub mesh: Option<String>,
    /// makes weights for a numpy bundle that has none; without, that is an error
    pub missing_weights: Option<WeightsMaker>,
}

/// What a file is. Every kind is also a rig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// a rig and no more
    Rig,
    /// a rig with examples
    Examples,
    /// a rig with a fitted model
    Model,
}

impl FileKind {
    /// What a table says.
    pub fn of_table(table: Option<&Table>) -> Result<Self, GltfError> {
        match table.map(|table| table.kind.as_str()) {
            None | Some("rig") => Ok(Self::Rig),
            Some("examples") => Ok(Self::Examples),
            Some("model") => Ok(Self::Model),
            Some(other) => Err(GltfError::table(format!("unknown kind {other:?}; update eigenskin"))),
        }
    }

    /// What to call such a file.
    pub fn description(self) -> &'static str {
        match self {
            Self::Rig => "a plain rig",
            Self::Examples => "an example set",
            Self::Model => "a model",
        }
    }
}

/// The rig of a GLB or .gltf in memory.
pub fn rig_of(mut document: Document, options: &ReadOptions) -> Result<RigFile, GltfError> {
    let table = Table::find(&document)?;
    let is_model = FileKind::of_table(table.as_ref())? == FileKind::Model;
    let solved = is_model && skin_weights::restore(&mut document);
    let found = rig::read(&document, options, table.as_ref())?;
    let mut file = RigFile::from_parts(document, found, table.as_ref())?;
    if solved {
        file.notes.push(SOLVED_WEIGHTS.to_string());
    }
    Ok(file)
}

/// Said of a model's rig.
const SOLVED_WEIGHTS: &str =
    "the model has skin weights of its own, solved from examples; its rig has those that were given";

/// The example set of a GLB or .gltf in memory.
pub fn examples_of(document: Document, options: &ReadOptions) -> Result<(RigFile, ExampleSet), GltfError> {
    let table = Table::find(&document)?;
    let kind = FileKind::of_table(table.as_ref())?;
    let Some(table) = table.filter(|_| kind == FileKind::Examples) else {
        return Err(other_kind(kind, FileKind::Examples));
    };
    let found = rig::read(&document, options, Some(&table))?;
    let rig = Arc::new(found.rig.clone());
    let all = example_set::read(&document, &found.layout, &rig, &table)?;
    let mut file = RigFile::from_parts(document, found, Some(&table))?;
    let muted = table.muted();
    if muted.is_empty() {
        return Ok((file, all));
    }
    let open: Vec<usize> = (0..all.len()).filter(|&e| !muted.contains(&all.examples()[e].name)).collect();
    if open.is_empty() {
        return Err(GltfError::AllMuted { count: all.len() });
    }
    let names: Vec<&str> = muted.iter().map(String::as_str).collect();
    file.notes.push(format!("muted examples are left out: {}", names.join(", ")));
    Ok((file, all.select(&open)?))
}

/// The example set of a GLB or .gltf in memory as it is edited, muted examples too.
pub fn example_list_of(
    document: Document,
    options: &ReadOptions,
) -> Result<(RigFile, ExampleList), GltfError> {
    let table = Table::find(&document)?;
    let kind = FileKind::of_table(table.as_ref())?;
    let Some(table) = table.filter(|_| kind == FileKind::Examples) else {
        return Err(other_kind(kind, FileKind::Examples));
    };
    let found = rig::read(&document, options, Some(&table))?;
    let rig = Arc::new(found.rig.clone());
    let set = example_set::read(&document, &found.layout, &rig, &table)?;
    let file = RigFile::from_parts(document, found, Some(&table))?;
    // A damaged record does not keep the examples from being edited.
    Ok((file, ExampleList { set, muted: table.muted(), simulation: table.simulation().unwrap_or(None) }))
}

/// The model of a GLB or .gltf in memory.
pub fn model_of(mut document: Document) -> Result<(RigFile, Model), GltfError> {
    let table = Table::find(&document)?;
    let kind = FileKind::of_table(table.as_ref())?;
    let Some(table) = table.filter(|_| kind == FileKind::Model) else {
        return Err(other_kind(kind, FileKind::Model));
    };
    let found = rig::read(&document, &ReadOptions::default(), Some(&table))?;
    let rig = Arc::new(found.rig.clone());
    let model = model_read::read(&document, &found.layout, &rig, &table)?;
    if !skin_weights::restore(&mut document) {
        return Ok((RigFile::from_parts(document, found, Some(&table))?, model));
    }
    let input = rig::read(&document, &ReadOptions::default(), Some(&table))?;
    let mut file = RigFile::from_parts(document, input, Some(&table))?;
    file.counts.influences = model.rig().weights().most_influences();
    let model = model.with_input_rig(file.rig().clone())?;
    Ok((file, model))
}

/// A rig as the bytes of a GLB.
pub fn rig_glb(file: &RigFile) -> Result<Vec<u8>, WriteError> {
    let mut document = file.document().clone();
    file.table("rig", file.rig()).store(&mut document, file.layout().root_node)?;
    Ok(document.to_glb()?)
}

/// An example set as the bytes of a GLB.
pub fn examples_glb(file: &RigFile, set: &ExampleSet) -> Result<Vec<u8>, WriteError> {
    Ok(example_set::write(file, set, &BTreeSet::new(), None)?.to_glb()?)
}

/// A model as the bytes of a GLB.
pub fn model_glb(
    file: &RigFile,
    model: &Model,
    options: &ModelWriteOptions,
) -> Result<(Vec<u8>, ModelWriteReport), WriteError> {
    let (document, mut report) = model::write(file, model, options)?;
    let glb = document.to_glb()?;
    report.bytes = glb.len();
    Ok((glb, report))
}

/// An example set as the bytes of a GLB, with the names of those that are muted and how its shapes were
/// simulated.
pub fn example_list_glb(file: &RigFile, list: &ExampleList) -> Result<Vec<u8>, WriteError> {
    Ok(example_set::write(file, &list.set, &list.muted, list.simulation.as_ref())?.to_glb()?)
}

/// The error of a file that is something else.
pub fn other_kind(found: FileKind, expected: FileKind) -> GltfError {
    let fix = match expected {
        FileKind::Rig => "give a rigged character",
        FileKind::Examples => "give a GLB example set, or a numpy bundle with truth",
        FileKind::Model => "make one with eigenskin fit",
    };
    GltfError::OtherKind { found: found.description(), expected: expected.description(), fix }
}

/// Its program is tested with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
