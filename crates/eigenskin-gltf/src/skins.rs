//! The skins of a file, to choose one.

use serde_json::Value;

use crate::document::{Document, index_list};
use crate::error::GltfError;
use crate::nodes::{NodeGraph, name_of};
use crate::rig::{distinct, names_of, shown_meshes};

/// A skin that some mesh is shown with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkinSummary {
    /// its name, or "skin N" where it has none of its own; what
    /// [`ReadOptions::skin`](crate::ReadOptions::skin) takes
    pub name: String,
    /// names of its joints, in its order; empty where a node has none
    pub joints: Vec<String>,
    /// names of the meshes that it moves
    pub meshes: Vec<String>,
    /// vertices of these meshes
    pub vertex_count: usize,
}

/// All skins of a GLB that a mesh is shown with, in the order of the nodes; none for a file without
/// joints. Files that [`read_rig`](crate::read_rig) refuses, since they have several, are listed too.
///
/// ```
/// use eigenskin_gltf::{ReadOptions, read_rig, read_skins};
/// # use std::sync::Arc;
/// # use eigenskin_core::{glam::Vec3, mesh::Mesh, rig::Rig, skeleton::Skeleton, weights::SkinWeights};
/// # use eigenskin_gltf::{RigFile, rig_glb};
/// # let mesh = Mesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]], None)?;
/// # let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(3), Vec::new())?);
/// # let bytes = rig_glb(&RigFile::from_rig(rig, "triangle")?)?;
/// for skin in read_skins(&bytes)? {
///     let options = ReadOptions { skin: Some(skin.name), ..ReadOptions::default() };
///     println!("{} triangles", read_rig(&bytes, &options)?.rig().mesh().triangles().len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_skins(bytes: &[u8]) -> Result<Vec<SkinSummary>, GltfError> {
    skins_of(&Document::json_from_bytes(bytes)?)
}

/// All skins of a document that a mesh is shown with. Only its JSON is looked at.
pub fn skins_of(document: &Document) -> Result<Vec<SkinSummary>, GltfError> {
    let node_count = NodeGraph::read(document)?.parents.len();
    let shown = shown_meshes(document)?;
    let skins = distinct(shown.iter().filter_map(|mesh| mesh.skin));
    let names = names_of(document, "skins", "skin", &skins);
    let summary = |(name, skin): (String, usize)| {
        let entry = document.entry("skins", skin)?;
        let joints = index_list(entry, "joints", node_count, || format!("skins[{skin}]"))?;
        let meshes = distinct(shown.iter().filter(|mesh| mesh.skin == Some(skin)).map(|mesh| mesh.mesh));
        let vertex_counts = meshes.iter().map(|&mesh| vertex_count(document, mesh));
        Ok(SkinSummary {
            name,
            joints: joints.iter().map(|&node| name_of(&document.array("nodes")[node]).to_string()).collect(),
            vertex_count: vertex_counts.sum(),
            meshes: names_of(document, "meshes", "mesh", &meshes),
        })
    };
    names.into_iter().zip(skins).map(summary).collect()
}

/// Vertices of a mesh; those that primitives share are counted once. What is damaged counts nothing: the
/// reader of the rig tells what is wrong with it.
fn vertex_count(document: &Document, mesh: usize) -> usize {
    let primitives = document.array("meshes")[mesh].get("primitives").and_then(Value::as_array);
    let positions = primitives.into_iter().flatten().filter_map(|primitive| {
        let accessor = primitive.get("attributes")?.get("POSITION")?.as_u64()?;
        usize::try_from(accessor).ok()
    });
    let count = |accessor: usize| document.array("accessors").get(accessor)?.get("count")?.as_u64();
    distinct(positions).into_iter().filter_map(count).sum::<u64>() as usize
}
