//! From rigs, example sets and models to the bytes of a GLB.

use std::collections::BTreeSet;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;

use crate::example_list::ExampleList;
use crate::model::{ModelWriteOptions, ModelWriteReport};
use crate::rig_file::RigFile;
use crate::write_error::WriteError;
use crate::{example_set, model};

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

/// An example set as the bytes of a GLB, with the names of those that are muted and how its shapes were
/// simulated.
pub fn example_list_glb(file: &RigFile, list: &ExampleList) -> Result<Vec<u8>, WriteError> {
    Ok(example_set::write(file, &list.set, &list.muted, list.simulation.as_ref())?.to_glb()?)
}

/// A model as the bytes of a GLB, in the file of its rig: with its materials, its clips, and whatever
/// else it has. Which morph targets the model needs follows from its drivers.
///
/// ```
/// use std::sync::Arc;
/// use eigenskin_core::{glam::Vec3, mesh::Mesh, model::Model, rig::Rig, skeleton::Skeleton};
/// use eigenskin_core::{skinning::BaseSkinning, weights::SkinWeights};
/// use eigenskin_gltf::{ModelWriteOptions, RigFile, model_glb};
///
/// let mesh = Mesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]], None)?;
/// let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(3), Vec::new())?);
/// // A rig in memory; one that was read from a file has its `RigFile` already.
/// let file = RigFile::from_rig(rig.clone(), "triangle")?;
/// let model = Model::without_corrections(rig, BaseSkinning::LinearBlend);
/// let (glb, report) = model_glb(&file, &model, &ModelWriteOptions::default())?;
/// assert!(glb.starts_with(b"glTF") && report.targets == 0 && report.warnings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
