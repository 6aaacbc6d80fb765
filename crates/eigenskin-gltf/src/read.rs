//! From the bytes of a file, or a document, to what is in it.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::Model;
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::weights::SkinWeights;

use crate::document::Document;
use crate::error::GltfError;
use crate::example_list::ExampleList;
use crate::rig::FoundRig;
use crate::rig_file::RigFile;
use crate::simulation_record::SimulationRecord;
use crate::table::Table;
use crate::{example_set, mesh_space, model_read, rig, skin_weights};

/// Makes skin weights for a rig that has none; an error says why that is not possible.
pub type WeightsMaker = fn(&Mesh, &Skeleton) -> Result<SkinWeights, String>;

/// How to read a file.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// which skin, when a file has several: its name, or "skin N"; [`read_skins`](crate::read_skins)
    /// lists them
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
    pub(crate) fn of_table(table: Option<&Table>) -> Result<Self, GltfError> {
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

/// What a GLB or .gltf is, without reading its geometry.
pub fn file_kind(bytes: &[u8]) -> Result<FileKind, GltfError> {
    FileKind::of_table(Table::find(&Document::json_from_bytes(bytes)?)?.as_ref())
}

/// The rig of a GLB. Examples or a model in the same file are left out.
///
/// ```
/// use eigenskin_gltf::{ReadOptions, read_rig};
/// # use std::sync::Arc;
/// # use eigenskin_core::{glam::Vec3, mesh::Mesh, rig::Rig, skeleton::Skeleton, weights::SkinWeights};
/// # use eigenskin_gltf::{RigFile, rig_glb};
/// # let mesh = Mesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]], None)?;
/// # let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(3), Vec::new())?);
/// # let bytes = rig_glb(&RigFile::from_rig(rig, "triangle")?)?;
/// let file = read_rig(&bytes, &ReadOptions::default())?;
/// println!("{} joints, {} clips", file.rig().skeleton().joint_count(), file.clips().len());
/// # assert_eq!(file.rig().vertex_count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_rig(bytes: &[u8], options: &ReadOptions) -> Result<RigFile, GltfError> {
    rig_of(Document::from_bytes(bytes, None)?, options)
}

/// The example set of a GLB and its rig. Muted examples are left out.
///
/// ```
/// use eigenskin_gltf::{ReadOptions, read_examples};
/// # use std::sync::Arc;
/// # use eigenskin_core::examples::{Example, ExampleSet};
/// # use eigenskin_core::{glam::Vec3, mesh::Mesh, rig::Rig, skeleton::Skeleton, weights::SkinWeights};
/// # use eigenskin_gltf::{RigFile, examples_glb};
/// # let mesh = Mesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]], None)?;
/// # let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(3), Vec::new())?);
/// # let positions = rig.mesh().positions().to_vec();
/// # let example = Example { name: "rest".into(), pose: rig.rest_pose(), positions, normals: None, inverted: None };
/// # let set = ExampleSet::new(rig.clone(), vec![example])?;
/// # let bytes = examples_glb(&RigFile::from_rig(rig, "triangle")?, &set)?;
/// let (_, set) = read_examples(&bytes, &ReadOptions::default())?;
/// for example in set.examples() {
///     println!("{}: {} vertices", example.name, example.positions.len());
/// }
/// # assert_eq!(set.examples()[0].name, "rest");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_examples(bytes: &[u8], options: &ReadOptions) -> Result<(RigFile, ExampleSet), GltfError> {
    examples_of(Document::from_bytes(bytes, None)?, options)
}

/// The example set of a GLB as it is edited, muted examples too.
pub fn read_example_list(bytes: &[u8], options: &ReadOptions) -> Result<(RigFile, ExampleList), GltfError> {
    example_list_of(Document::from_bytes(bytes, None)?, options)
}

/// How the examples of a GLB or .gltf were simulated; `None` when the file does not say so.
pub fn read_simulation(bytes: &[u8]) -> Result<Option<SimulationRecord>, GltfError> {
    let table = Table::find(&Document::json_from_bytes(bytes)?)?;
    table.map_or(Ok(None), |table| table.simulation())
}

/// The model of a GLB and its rig.
///
/// ```
/// use std::sync::Arc;
/// use eigenskin_core::{evaluate::Evaluator, glam::Vec3};
/// use eigenskin_gltf::read_model;
/// # use eigenskin_core::{mesh::Mesh, model::Model, rig::Rig, skeleton::Skeleton, weights::SkinWeights};
/// # use eigenskin_core::skinning::BaseSkinning;
/// # use eigenskin_gltf::{ModelWriteOptions, RigFile, model_glb};
/// # let mesh = Mesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]], None)?;
/// # let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(3), Vec::new())?);
/// # let file = RigFile::from_rig(rig.clone(), "triangle")?;
/// # let model = Model::without_corrections(rig, BaseSkinning::LinearBlend);
/// # let (bytes, _) = model_glb(&file, &model, &ModelWriteOptions::default())?;
/// let (file, model) = read_model(&bytes)?;
/// let mut shape = vec![Vec3::ZERO; model.rig().vertex_count()];
/// Evaluator::new(Arc::new(model)).evaluate(&file.default_pose(), &mut shape, None);
/// # assert_eq!(shape[1], Vec3::X);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_model(bytes: &[u8]) -> Result<(RigFile, Model), GltfError> {
    model_of(Document::from_bytes(bytes, None)?)
}

/// The rig of a document.
pub fn rig_of(mut document: Document, options: &ReadOptions) -> Result<RigFile, GltfError> {
    let table = Table::find(&document)?;
    let is_model = FileKind::of_table(table.as_ref())? == FileKind::Model;
    let solved = is_model && skin_weights::restore(&mut document);
    let found = read_in_own_unit(&mut document, options, table.as_ref())?;
    let mut file = RigFile::from_parts(document, found, table.as_ref())?;
    if solved {
        file.notes.push(SOLVED_WEIGHTS.to_string());
    }
    Ok(file)
}

/// The rig, with its meshes in the unit that the table was written for.
fn read_in_own_unit(
    document: &mut Document,
    options: &ReadOptions,
    table: Option<&Table>,
) -> Result<FoundRig, GltfError> {
    let found = rig::read(document, options, table)?;
    let Some(change) = table.and_then(|table| mesh_space::changed_unit(&found, table)) else {
        return Ok(found);
    };
    mesh_space::turn_back(document, &found.layout, change)?;
    let mut found = rig::read(document, options, table)?;
    found.is_quantized = true;
    Ok(found)
}

/// Said of a model's rig.
const SOLVED_WEIGHTS: &str =
    "the model has skin weights of its own, solved from examples; its rig has those that were given";

/// The example set of a document.
pub fn examples_of(document: Document, options: &ReadOptions) -> Result<(RigFile, ExampleSet), GltfError> {
    let (mut file, list) = list_of(document, options, false)?;
    if list.muted.is_empty() {
        return Ok((file, list.set));
    }
    let is_open = |&e: &usize| !list.muted.contains(&list.set.examples()[e].name);
    let open: Vec<usize> = (0..list.set.len()).filter(is_open).collect();
    if open.is_empty() {
        return Err(GltfError::AllMuted { count: list.set.len() });
    }
    let names: Vec<&str> = list.muted.iter().map(String::as_str).collect();
    file.notes.push(format!("muted examples are left out: {}", names.join(", ")));
    Ok((file, list.set.select(&open)?))
}

/// The example set of a document as it is edited, muted examples too. Examples that are not changed keep their bits
/// when the set is written into the same file.
pub fn example_list_of(
    document: Document,
    options: &ReadOptions,
) -> Result<(RigFile, ExampleList), GltfError> {
    list_of(document, options, true)
}

fn list_of(
    mut document: Document,
    options: &ReadOptions,
    with_stored: bool,
) -> Result<(RigFile, ExampleList), GltfError> {
    let table = Table::find(&document)?;
    let kind = FileKind::of_table(table.as_ref())?;
    let Some(table) = table.filter(|_| kind == FileKind::Examples) else {
        return Err(GltfError::other_kind(kind, FileKind::Examples));
    };
    let found = read_in_own_unit(&mut document, options, Some(&table))?;
    let rig = Arc::new(found.rig.clone());
    let set = example_set::read(&document, &found.layout, &rig, &table)?;
    let stored =
        if with_stored { example_set::stored(&document, &found.layout, &rig, &table)? } else { Vec::new() };
    let mut file = RigFile::from_parts(document, found, Some(&table))?;
    file.stored = Arc::new(stored);
    // A damaged record does not keep the examples from being edited.
    Ok((file, ExampleList { set, muted: table.muted(), simulation: table.simulation().unwrap_or(None) }))
}

/// The model of a document.
pub fn model_of(document: Document) -> Result<(RigFile, Model), GltfError> {
    let (file, model, _) = model_with_table(document)?;
    Ok((file, model))
}

/// The model of a document, and what its table says.
pub(crate) fn model_with_table(mut document: Document) -> Result<(RigFile, Model, Table), GltfError> {
    let table = Table::find(&document)?;
    let kind = FileKind::of_table(table.as_ref())?;
    let Some(table) = table.filter(|_| kind == FileKind::Model) else {
        return Err(GltfError::other_kind(kind, FileKind::Model));
    };
    let found = read_in_own_unit(&mut document, &ReadOptions::default(), Some(&table))?;
    let rig = Arc::new(found.rig.clone());
    let model = model_read::read(&document, &found.layout, &rig, &table)?;
    if !skin_weights::restore(&mut document) {
        return Ok((RigFile::from_parts(document, found, Some(&table))?, model, table));
    }
    let input = rig::read(&document, &ReadOptions::default(), Some(&table))?;
    let mut file = RigFile::from_parts(document, input, Some(&table))?;
    file.counts.influences = model.rig().weights().most_influences();
    let model = model.with_input_rig(file.rig().clone())?;
    Ok((file, model, table))
}
