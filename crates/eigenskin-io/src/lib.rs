//! Files of eigenskin: glTF in and out, numpy bundles, example sets, models, conformance vectors.
//!
//! The format follows from the name: `.glb`, `.gltf` or `.npz` in, `.glb` out. An example set or a
//! model is also a rig. All writing is atomic.

pub mod atomic;
pub mod box_file;
pub mod bvh;
pub mod conformance;
pub mod error;
mod example_list;
pub mod external_box;
pub mod gltf;
pub mod large_set;
pub mod limits;
pub mod motion;
pub mod npz;
pub mod pose_file;
pub mod posed_shapes;
mod rig_file;
mod simulation_record;
pub mod vertex_cache;
mod whole_file;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use eigenskin::examples::ExampleSet;
use eigenskin::mesh::Mesh;
use eigenskin::model::Model;
use eigenskin::skeleton::Skeleton;
use eigenskin::weights::SkinWeights;

pub use box_file::{BoxFile, BoxFileError, read_box};
pub use bvh::{Bvh, BvhError};
pub use error::{ReadError, WriteError};
pub use example_list::{EditError, ExampleList};
pub use external_box::{ExternalBox, ExternalCommand};
pub use gltf::clip::Clip;
pub use gltf::error::GltfError;
pub use gltf::model::{ModelWriteOptions, ModelWriteReport};
pub use gltf::orientation::Orientation;
pub use large_set::{LargeSet, LargeSetError, Scratch, ScratchError};
pub use motion::{CarryOptions, JointMap, Matching, Motion, MotionError};
pub use npz::NpzError;
pub use rig_file::RigFile;
pub use simulation_record::{DroppedPose, PoseRecord, SimulationRecord};
pub use vertex_cache::{
    SculptedShape, VertexCache, examples_from_clip, examples_from_sculpts, examples_from_shape_keys,
    read_cache, read_obj_folder, read_sculpt,
};

use gltf::document::{Document, LARGEST_FILE};
use gltf::table::Table;
use gltf::{example_set, model_read, rig, skin_weights};

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
    fn of_table(table: Option<&Table>) -> Result<Self, GltfError> {
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

/// What a file is, without reading its geometry.
pub fn file_kind(path: &Path) -> Result<FileKind, ReadError> {
    match Format::of(path)? {
        Format::Gltf => {
            let bytes = whole_file::read(path, LARGEST_FILE)
                .map_err(|error| ReadError::Io { path: path.into(), error })?;
            Document::json_from_bytes(&bytes)
                .and_then(|document| Table::find(&document))
                .and_then(|table| FileKind::of_table(table.as_ref()))
                .map_err(|error| gltf_error(path, error))
        }
        Format::Npz => {
            let has_examples = npz::has_examples(path).map_err(|error| npz_error(path, error))?;
            Ok(if has_examples { FileKind::Examples } else { FileKind::Rig })
        }
    }
}

/// Reads a rig. Examples or a model in the same file are left out.
pub fn read_rig(path: &Path, options: &ReadOptions) -> Result<RigFile, ReadError> {
    match Format::of(path)? {
        Format::Gltf => {
            let document = load_document(path)?;
            rig_of(document, options).map_err(|error| gltf_error(path, error))
        }
        Format::Npz => Ok(read_bundle(path, options, npz::Bundle::read_without_shapes)?.0),
    }
}

/// Reads an example set and its rig. Muted examples are left out.
pub fn read_examples(path: &Path, options: &ReadOptions) -> Result<(RigFile, ExampleSet), ReadError> {
    match Format::of(path)? {
        Format::Gltf => {
            let document = load_document(path)?;
            examples_of(document, options).map_err(|error| gltf_error(path, error))
        }
        Format::Npz => {
            let (file, bundle) = read_bundle(path, options, npz::Bundle::read)?;
            let set = bundle.examples(file.rig()).map_err(|error| npz_error(path, error))?;
            Ok((file, set))
        }
    }
}

/// Reads an example set as it is edited: muted examples too.
pub fn read_example_list(path: &Path, options: &ReadOptions) -> Result<(RigFile, ExampleList), ReadError> {
    match Format::of(path)? {
        Format::Gltf => {
            let document = load_document(path)?;
            example_list_of(document, options).map_err(|error| gltf_error(path, error))
        }
        Format::Npz => {
            let (file, set) = read_examples(path, options)?;
            Ok((file, ExampleList::new(set)))
        }
    }
}

/// How the examples of a file were simulated; `None` when the file does not say so.
pub fn read_simulation(path: &Path) -> Result<Option<SimulationRecord>, ReadError> {
    match Format::of(path)? {
        Format::Gltf => {
            let bytes = whole_file::read(path, LARGEST_FILE)
                .map_err(|error| ReadError::Io { path: path.into(), error })?;
            Document::json_from_bytes(&bytes)
                .and_then(|document| Table::find(&document))
                .and_then(|table| table.map_or(Ok(None), |table| table.simulation()))
                .map_err(|error| gltf_error(path, error))
        }
        Format::Npz => Ok(None),
    }
}

/// Reads a model and its rig.
pub fn read_model(path: &Path) -> Result<(RigFile, Model), ReadError> {
    match Format::of(path)? {
        Format::Gltf => {
            let document = load_document(path)?;
            model_of(document).map_err(|error| gltf_error(path, error))
        }
        Format::Npz => {
            let kind = file_kind(path)?;
            Err(gltf_error(path, other_kind(kind, FileKind::Model)))
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

/// Writes a rig as GLB.
pub fn write_rig(path: &Path, file: &RigFile) -> Result<(), WriteError> {
    write_glb(path, &rig_glb(file)?)
}

/// Writes an example set as GLB.
pub fn write_examples(path: &Path, file: &RigFile, set: &ExampleSet) -> Result<(), WriteError> {
    write_glb(path, &examples_glb(file, set)?)
}

/// Writes an example set as GLB, with how its shapes were simulated.
pub fn write_simulated_examples(
    path: &Path,
    file: &RigFile,
    set: &ExampleSet,
    simulation: &SimulationRecord,
) -> Result<(), WriteError> {
    write_glb(path, &example_set::write(file, set, &BTreeSet::new(), Some(simulation))?.to_glb()?)
}

/// Writes an edited example set as GLB: muted examples are marked.
pub fn write_example_list(path: &Path, file: &RigFile, list: &ExampleList) -> Result<(), WriteError> {
    write_glb(path, &example_set::write(file, &list.set, &list.muted, list.simulation.as_ref())?.to_glb()?)
}

/// Writes a model as GLB.
pub fn write_model(
    path: &Path,
    file: &RigFile,
    model: &Model,
    options: &ModelWriteOptions,
) -> Result<ModelWriteReport, WriteError> {
    let (glb, report) = model_glb(file, model, options)?;
    write_glb(path, &glb)?;
    Ok(report)
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
    let (document, mut report) = gltf::model::write(file, model, options)?;
    let glb = document.to_glb()?;
    report.bytes = glb.len();
    Ok((glb, report))
}

enum Format {
    Gltf,
    Npz,
}

impl Format {
    fn of(path: &Path) -> Result<Self, ReadError> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        match extension.as_str() {
            "glb" | "gltf" => Ok(Self::Gltf),
            "npz" => Ok(Self::Npz),
            _ => Err(ReadError::UnknownExtension { path: path.into() }),
        }
    }
}

fn load_document(path: &Path) -> Result<Document, ReadError> {
    let bytes =
        whole_file::read(path, LARGEST_FILE).map_err(|error| ReadError::Io { path: path.into(), error })?;
    Document::from_bytes(&bytes, path.parent()).map_err(|error| gltf_error(path, error))
}

fn read_bundle(
    path: &Path,
    options: &ReadOptions,
    read: fn(&Path) -> Result<npz::Bundle, NpzError>,
) -> Result<(RigFile, npz::Bundle), ReadError> {
    let fail = |error| npz_error(path, error);
    let bundle = read(path).map_err(fail)?;
    let (rig, notes) = bundle.rig(options.missing_weights).map_err(fail)?;
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("rig");
    let mut file = RigFile::from_rig(Arc::new(rig), name)
        .map_err(|error| fail(NpzError::NoGltf { problem: error.to_string() }))?;
    file.notes = notes;
    file.kind = file_kind(path)?;
    Ok((file, bundle))
}

fn write_glb(path: &Path, glb: &[u8]) -> Result<(), WriteError> {
    let is_glb = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("glb"));
    if !is_glb {
        return Err(WriteError::NotGlb { path: path.into() });
    }
    atomic::write_file(path, glb).map_err(|error| WriteError::Io { path: path.into(), error })
}

fn other_kind(found: FileKind, expected: FileKind) -> GltfError {
    let fix = match expected {
        FileKind::Rig => "give a rigged character",
        FileKind::Examples => "give a GLB example set, or a numpy bundle with truth",
        FileKind::Model => "make one with eigenskin fit",
    };
    GltfError::OtherKind { found: found.description(), expected: expected.description(), fix }
}

fn gltf_error(path: &Path, error: GltfError) -> ReadError {
    ReadError::Gltf { path: path.into(), error: Box::new(error) }
}

fn npz_error(path: &Path, error: NpzError) -> ReadError {
    ReadError::Npz { path: path.into(), error: Box::new(error) }
}
