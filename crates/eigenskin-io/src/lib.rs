//! Files of eigenskin beside glTF itself: paths and atomic writing, numpy bundles, vertex caches,
//! motion capture, deformer stacks, sculpts.
//!
//! The format follows from the name: `.glb`, `.gltf` or `.npz` in, `.glb` out. An example set or a
//! model is also a rig. All writing is atomic.

pub mod atomic;
pub mod box_file;
pub mod bvh;
mod error;
pub mod external_box;
pub mod frame_file;
mod joint_map;
pub mod npz;
pub mod pose_file;
pub mod posed_shapes;
pub mod positioned_file;
pub mod retarget;
pub mod vertex_cache;
mod whole_file;

use std::path::Path;
use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
pub use eigenskin_gltf as gltf;
use eigenskin_gltf::{
    Document, ExampleList, FileKind, GltfError, LARGEST_FILE, ModelWriteOptions, ModelWriteReport,
    ReadOptions, RigFile, SimulationRecord, SkinSummary, example_list_glb, example_list_of, examples_glb,
    examples_of, model_glb, model_of, rig_glb, rig_of,
};

pub use box_file::{BoxFile, BoxFileError, read_box};
pub use bvh::{Bvh, BvhError};
pub use error::{ReadError, WriteError};
pub use external_box::{ExternalBox, ExternalCommand};
pub use npz::NpzError;
pub use retarget::{JointMap, JointMapError, Matching, RetargetOptions, read_joint_map};
pub use vertex_cache::{
    SculptedShape, VertexCache, examples_from_clip, examples_from_sculpts, examples_from_shape_keys,
    read_cache, read_obj_folder, read_sculpt,
};

/// What a file is, without reading its geometry.
pub fn file_kind(path: impl AsRef<Path>) -> Result<FileKind, ReadError> {
    let path = path.as_ref();
    match Format::of(path)? {
        Format::Gltf => gltf::file_kind(&load_bytes(path)?).map_err(|error| gltf_error(path, error)),
        Format::Npz => {
            let has_examples = npz::has_examples(path).map_err(|error| npz_error(path, error))?;
            Ok(if has_examples { FileKind::Examples } else { FileKind::Rig })
        }
    }
}

/// The skins of a file that a mesh is shown with, to choose one by [`ReadOptions::skin`]; none for a rig
/// without joints and for a numpy bundle, which has one skeleton at most.
pub fn read_skins(path: impl AsRef<Path>) -> Result<Vec<SkinSummary>, ReadError> {
    let path = path.as_ref();
    match Format::of(path)? {
        Format::Gltf => gltf::read_skins(&load_bytes(path)?).map_err(|error| gltf_error(path, error)),
        Format::Npz => Ok(Vec::new()),
    }
}

/// Reads a rig. Examples or a model in the same file are left out.
pub fn read_rig(path: impl AsRef<Path>, options: &ReadOptions) -> Result<RigFile, ReadError> {
    let path = path.as_ref();
    match Format::of(path)? {
        Format::Gltf => {
            let document = load_document(path)?;
            rig_of(document, options).map_err(|error| gltf_error(path, error))
        }
        Format::Npz => Ok(read_bundle(path, options, npz::Bundle::read_without_shapes)?.0),
    }
}

/// Reads an example set and its rig. Muted examples are left out.
pub fn read_examples(
    path: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<(RigFile, ExampleSet), ReadError> {
    let path = path.as_ref();
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
pub fn read_example_list(
    path: impl AsRef<Path>,
    options: &ReadOptions,
) -> Result<(RigFile, ExampleList), ReadError> {
    let path = path.as_ref();
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
pub fn read_simulation(path: impl AsRef<Path>) -> Result<Option<SimulationRecord>, ReadError> {
    let path = path.as_ref();
    match Format::of(path)? {
        Format::Gltf => gltf::read_simulation(&load_bytes(path)?).map_err(|error| gltf_error(path, error)),
        Format::Npz => Ok(None),
    }
}

/// Reads a model and its rig.
pub fn read_model(path: impl AsRef<Path>) -> Result<(RigFile, Model), ReadError> {
    let path = path.as_ref();
    match Format::of(path)? {
        Format::Gltf => {
            let document = load_document(path)?;
            model_of(document).map_err(|error| gltf_error(path, error))
        }
        Format::Npz => {
            let kind = file_kind(path)?;
            Err(gltf_error(path, GltfError::other_kind(kind, FileKind::Model)))
        }
    }
}

/// Writes a rig as GLB.
pub fn write_rig(path: impl AsRef<Path>, file: &RigFile) -> Result<(), WriteError> {
    let path = path.as_ref();
    write_glb(path, &rig_glb(file)?)
}

/// Writes an example set as GLB.
pub fn write_examples(path: impl AsRef<Path>, file: &RigFile, set: &ExampleSet) -> Result<(), WriteError> {
    let path = path.as_ref();
    write_glb(path, &examples_glb(file, set)?)
}

/// Writes an example set as GLB, with how its shapes were simulated.
pub fn write_simulated_examples(
    path: impl AsRef<Path>,
    file: &RigFile,
    set: &ExampleSet,
    simulation: &SimulationRecord,
) -> Result<(), WriteError> {
    let path = path.as_ref();
    let simulation = Some(simulation.clone());
    write_glb(path, &example_list_glb(file, &ExampleList { simulation, ..ExampleList::new(set.clone()) })?)
}

/// Writes an edited example set as GLB: muted examples are marked.
pub fn write_example_list(
    path: impl AsRef<Path>,
    file: &RigFile,
    list: &ExampleList,
) -> Result<(), WriteError> {
    let path = path.as_ref();
    write_glb(path, &example_list_glb(file, list)?)
}

/// Writes a model as GLB.
pub fn write_model(
    path: impl AsRef<Path>,
    file: &RigFile,
    model: &Model,
    options: &ModelWriteOptions,
) -> Result<ModelWriteReport, WriteError> {
    let path = path.as_ref();
    let (glb, report) = model_glb(file, model, options)?;
    write_glb(path, &glb)?;
    Ok(report)
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
    Document::from_bytes(&load_bytes(path)?, path.parent()).map_err(|error| gltf_error(path, error))
}

fn load_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    whole_file::read(path, LARGEST_FILE).map_err(|error| ReadError::Io { path: path.into(), error })
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

/// Writes the bytes of a GLB, whole or not at all.
pub fn write_glb(path: impl AsRef<Path>, glb: &[u8]) -> Result<(), WriteError> {
    let path = path.as_ref();
    let is_glb = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("glb"));
    if !is_glb {
        return Err(WriteError::NotGlb { path: path.into() });
    }
    atomic::write_file(path, glb).map_err(|error| WriteError::Io { path: path.into(), error })
}

fn gltf_error(path: &Path, error: GltfError) -> ReadError {
    ReadError::Gltf { path: path.into(), error: Box::new(error) }
}

fn npz_error(path: &Path, error: NpzError) -> ReadError {
    ReadError::Npz { path: path.into(), error: Box::new(error) }
}

/// Its program is tested with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
