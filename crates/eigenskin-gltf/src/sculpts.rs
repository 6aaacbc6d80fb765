//! Shapes that artists keep in a glTF file: sculpts as nodes of their own, and shape keys.

use eigenskin_core::glam::Vec3;
use serde_json::Value;

use super::accessor;
use super::document::{Document, optional_index};
use super::error::GltfError;
use super::nodes::{NodeGraph, name_of};
use super::primitives::Vertices;
use super::rig::RigLayout;

/// A mesh node without a skin, as it stands in the scene.
#[derive(Debug, Clone, PartialEq)]
pub struct SculptNode {
    /// of the node, else of its mesh
    pub name: String,
    /// `vertex`, scene space
    pub positions: Vec<Vec3>,
    /// corners
    pub triangles: Vec<[u32; 3]>,
}

/// A morph target over all meshes of a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeKey {
    /// as `extras.targetNames` says
    pub name: String,
    /// `vertex`, mesh space, zero in meshes that do not have the target
    pub displacements: Vec<Vec3>,
}

/// A node of this name, where there is one, holds the sculpts: other meshes beside it are none.
const GROUP: &str = "sculpts";

/// The sculpts of a document: mesh nodes without a skin, in the file's order. Left out are meshes
/// that hang on joints (eyes, props), the node named `rig_node` (a rig without joints), and all
/// that is not below the node named "sculpts" if there is one.
pub fn sculpts_of(document: &Document, rig_node: Option<&str>) -> Result<Vec<SculptNode>, GltfError> {
    let graph = NodeGraph::read(document)?;
    let globals = graph.default_globals();
    let nodes = document.array("nodes");
    let group = nodes.iter().position(|node| node.get("mesh").is_none() && name_of(node) == GROUP);
    let mut is_joint = vec![false; nodes.len()];
    for skin in document.array("skins") {
        let joints = skin.get("joints").and_then(Value::as_array).into_iter().flatten();
        for joint in joints.filter_map(Value::as_u64) {
            if let Some(entry) = usize::try_from(joint).ok().and_then(|joint| is_joint.get_mut(joint)) {
                *entry = true;
            }
        }
    }
    let mut sculpts = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let place = || format!("nodes[{index}]");
        let Some(mesh) = optional_index(node, "mesh", document.array("meshes").len(), place)? else {
            continue;
        };
        let is_rig = node.get("skin").is_some() || rig_node == Some(name_of(node));
        let in_group = group.is_none_or(|group| graph.ancestors(index).any(|above| above == group));
        if is_rig || !in_group || graph.ancestors(index).any(|above| is_joint[above]) {
            continue;
        }
        let name = match name_of(node) {
            "" => name_of(document.entry("meshes", mesh)?),
            name => name,
        };
        let mut vertices = Vertices::default();
        vertices.add_mesh(document, mesh, false)?;
        let to_scene = |p: &Vec3| globals[index].transform_point3(p.as_dvec3()).as_vec3();
        sculpts.push(SculptNode {
            name: name.to_string(),
            positions: vertices.positions.iter().map(to_scene).collect(),
            triangles: vertices.triangles,
        });
    }
    Ok(sculpts)
}

/// The morph targets of a rig's meshes by name, in the file's order. Targets of several meshes with
/// one name are one shape key. Those without a name are left out.
pub(crate) fn read_shape_keys(
    document: &Document,
    layout: &RigLayout,
    vertex_count: usize,
) -> Result<Vec<ShapeKey>, GltfError> {
    let mut keys: Vec<ShapeKey> = Vec::new();
    for &mesh in &layout.meshes {
        let entry = document.entry("meshes", mesh)?;
        let names = entry.pointer("/extras/targetNames").and_then(Value::as_array);
        // Two targets of one mesh with one name stay two, to be refused by name.
        let known = keys.len();
        for (target, name) in names.into_iter().flatten().enumerate() {
            let Some(name) = name.as_str().filter(|name| !name.is_empty()) else { continue };
            let field = displacements(document, layout, mesh, target, vertex_count)?;
            match keys[..known].iter_mut().find(|key| key.name == name) {
                Some(key) => key.displacements.iter_mut().zip(field).for_each(|(sum, d)| *sum += d),
                None => keys.push(ShapeKey { name: name.to_string(), displacements: field }),
            }
        }
    }
    Ok(keys)
}

/// One target of one mesh, `vertex` of the rig.
fn displacements(
    document: &Document,
    layout: &RigLayout,
    mesh: usize,
    target: usize,
    vertex_count: usize,
) -> Result<Vec<Vec3>, GltfError> {
    let mut field = vec![Vec3::ZERO; vertex_count];
    for range in layout.primitives_of(mesh) {
        let Some(first) = range.first_vertex else { continue };
        let fail = |problem| GltfError::Primitive { mesh, primitive: range.primitive, problem };
        let primitive = &document.entry("meshes", mesh)?["primitives"][range.primitive];
        let entry = primitive.get("targets").and_then(|targets| targets.get(target));
        let entry =
            entry.ok_or_else(|| fail(format!("it has no morph target {target}, which has a name")))?;
        let accessors = document.array("accessors").len();
        let place = || format!("meshes[{mesh}].primitives[{}].targets[{target}]", range.primitive);
        let Some(index) = optional_index(entry, "POSITION", accessors, place)? else { continue };
        let values = accessor::read_vec3(document, index)?;
        if values.len() != range.vertex_count {
            return Err(fail(format!("morph target {target} has {} vertices", values.len())));
        }
        field[first..first + values.len()].copy_from_slice(&values);
    }
    Ok(field)
}
