//! From a document to a rig: one skin, the meshes it moves, the controls beside it.
//!
//! The model lives in *mesh space*, where glTF's inverse bind matrices start. With `global` the
//! scene transform of a joint's node and `root` the skin's first root joint,
//!
//! ```text
//! scene_from_mesh     = global(root) · inverse_bind(root)        at the file's default transforms
//! world_from_joint(j) = scene_from_mesh⁻¹ · global(j)
//! ```
//!
//! so that a pose skins to where the file shows it, up to the fixed `scene_from_mesh`. Nodes that
//! are no joints may stand above or between joints and may move: global transforms see them.

use eigenskin_core::glam::DAffine3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{SkinWeights, WeightsReport};
use serde_json::Value;

use super::accessor;
use super::document::{Document, index_list, optional_index};
use super::error::GltfError;
use super::mesh_space;
use super::nodes::{Local, NodeGraph, name_of};
use super::primitives::{PrimitiveRange, Vertices};
use super::table::Table;
use crate::ReadOptions;

/// How the names of control nodes begin.
pub const CONTROL_PREFIX: &str = "control:";

/// Where the parts of a rig are in its document.
#[derive(Debug, Clone, PartialEq)]
pub struct RigLayout {
    /// the skins of the rig's meshes: one, or several of one skeleton; none without joints
    pub skins: Vec<usize>,
    /// their names as [`ReadOptions`] and the table know them
    pub skin_names: Vec<String>,
    /// name of the mesh, for a rig without joints
    pub mesh_name: Option<String>,
    /// `joint` → node
    pub joint_nodes: Vec<usize>,
    /// `control` → node
    pub control_nodes: Vec<usize>,
    /// nodes that show the rig's meshes
    pub mesh_nodes: Vec<usize>,
    /// the rig's meshes, each once
    pub meshes: Vec<usize>,
    /// model vertex ↔ (mesh, primitive, vertex)
    pub primitives: Vec<PrimitiveRange>,
    /// the skin's first root joint; the mesh node without joints
    pub root_node: usize,
    /// where the file's default transforms put the mesh
    pub scene_from_mesh: DAffine3,
    /// all nodes
    pub(crate) graph: NodeGraph,
}

/// A rig, where its parts are, and what there is to say about it.
#[derive(Debug)]
pub struct FoundRig {
    /// the rig
    pub rig: Rig,
    /// where its parts are
    pub layout: RigLayout,
    /// one sentence each
    pub notes: Vec<String>,
    /// whether the file needs `KHR_mesh_quantization`
    pub is_quantized: bool,
    /// whether skin weights in the file do not sum to one
    pub weights_were_scaled: bool,
}

/// Reads the rig of a document.
pub fn read(
    document: &Document,
    options: &ReadOptions,
    table: Option<&Table>,
) -> Result<FoundRig, GltfError> {
    let graph = NodeGraph::read(document)?;
    let shown = shown_meshes(document)?;
    let mut notes = Vec::new();
    let choice = Choice::make(document, &shown, options, table)?;
    // Several skins of one skeleton have the same joints and bind matrices.
    let skin = choice.skins.first().copied();
    let joint_nodes = skin.map_or(Ok(Vec::new()), |skin| joint_nodes(document, skin))?;
    if skin.is_some() && joint_nodes.is_empty() {
        return Err(GltfError::field("the skin's list of joints", "a list of at least one node"));
    }

    let mut vertices = Vertices::default();
    for &mesh in &choice.meshes {
        vertices.add_mesh(document, mesh, skin.is_some())?;
    }
    if vertices.triangles.is_empty() {
        return Err(GltfError::NoMesh);
    }
    note_vertices(&vertices, &mut notes);
    let other_nodes = shown.len() - choice.nodes.len();
    if other_nodes > 0 {
        notes.push(format!("{other_nodes} other mesh node(s) are left as they are"));
    }
    if document
        .array("images")
        .iter()
        .any(|i| i.get("uri").and_then(Value::as_str).is_some_and(|u| !u.starts_with("data:")))
    {
        notes.push("textures are separate files; keep them beside the GLB that is written".into());
    }

    let skeleton = read_skeleton(document, skin, &joint_nodes, &graph, table)?;
    let normals = vertices.any_normals.then_some(vertices.normals);
    let mesh = Mesh::new(vertices.positions, vertices.triangles, normals)?;
    let mut weights_were_scaled = false;
    let weights = if skeleton.joint_count() == 0 {
        SkinWeights::none(mesh.vertex_count())
    } else {
        let (weights, report) = SkinWeights::new(skeleton.joint_count(), vertices.influences)?;
        let note = weights_note(&report);
        weights_were_scaled = note.is_some();
        notes.extend(note);
        weights
    };
    let root = skeleton.joints().iter().position(|joint| joint.parent.is_none());
    let (root_node, bind) = match root {
        Some(root) => (joint_nodes[root], skeleton.joints()[root].joint_from_rest),
        None => (choice.nodes[0], DAffine3::IDENTITY),
    };
    let scene_from_mesh = graph.default_globals()[root_node] * bind;
    if !scene_from_mesh.inverse().is_finite() || scene_from_mesh.matrix3.determinant().abs() < 1e-30 {
        let name = name_of(document.entry("nodes", root_node)?).to_string();
        return Err(GltfError::FlatRoot { name });
    }
    let (controls, control_nodes) = read_controls(document, &graph, &joint_nodes, table);
    let rig = Rig::new(mesh, skeleton, weights, controls)?;
    let layout = RigLayout {
        skins: choice.skins,
        skin_names: choice.skin_names,
        mesh_name: choice.mesh_name,
        joint_nodes,
        control_nodes,
        mesh_nodes: choice.nodes,
        meshes: choice.meshes,
        primitives: vertices.ranges,
        root_node,
        scene_from_mesh,
        graph,
    };
    let is_quantized =
        document.array("extensionsRequired").iter().any(|name| name == mesh_space::QUANTIZATION);
    Ok(FoundRig { rig, layout, notes, is_quantized, weights_were_scaled })
}

/// Sums that miss one by less are rounding, mended without a word.
const WORTH_SAYING: f64 = 1e-5;

/// The sentence about weights that had to be scaled, if any.
pub fn weights_note(report: &WeightsReport) -> Option<String> {
    let vertex = report.worst_vertex.filter(|_| report.largest_deviation > WORTH_SAYING)?;
    Some(format!(
        "skin weights of {} vertices were scaled to sum to one (vertex {vertex} was off by {:.1e})",
        report.normalised_vertices, report.largest_deviation
    ))
}

impl RigLayout {
    /// The pose that local node transforms (`node`) show.
    pub(crate) fn pose(&self, locals: &[Local]) -> Pose {
        let globals = self.graph.globals(locals);
        self.pose_of_globals(&globals, locals)
    }

    /// The pose of the file's default transforms.
    pub fn default_pose(&self) -> Pose {
        self.pose(&self.graph.locals)
    }

    pub(crate) fn pose_of_globals(&self, globals: &[DAffine3], locals: &[Local]) -> Pose {
        let mesh_from_scene = self.scene_from_mesh.inverse();
        Pose {
            world_from_joint: self.joint_nodes.iter().map(|&node| mesh_from_scene * globals[node]).collect(),
            controls: self.control_nodes.iter().map(|&node| locals[node].to_affine().translation.x).collect(),
        }
    }

    /// The primitives of one of the rig's meshes.
    pub fn primitives_of(&self, mesh: usize) -> impl Iterator<Item = &PrimitiveRange> {
        self.primitives.iter().filter(move |range| range.mesh == mesh)
    }

    /// Whether all of the rig's primitives have normals in the file.
    pub fn has_normals(&self) -> bool {
        self.primitives.iter().filter(|range| range.first_vertex.is_some()).all(|range| range.has_normals)
    }
}

/// A node that shows a mesh.
pub(crate) struct ShownMesh {
    pub node: usize,
    pub mesh: usize,
    pub skin: Option<usize>,
}

pub(crate) fn shown_meshes(document: &Document) -> Result<Vec<ShownMesh>, GltfError> {
    let mut shown = Vec::new();
    for (node, entry) in document.array("nodes").iter().enumerate() {
        let place = || format!("nodes[{node}]");
        let skin = optional_index(entry, "skin", document.array("skins").len(), place)?;
        if let Some(mesh) = optional_index(entry, "mesh", document.array("meshes").len(), place)? {
            shown.push(ShownMesh { node, mesh, skin });
        }
    }
    Ok(shown)
}

/// What the rig is made of.
struct Choice {
    skins: Vec<usize>,
    skin_names: Vec<String>,
    mesh_name: Option<String>,
    nodes: Vec<usize>,
    meshes: Vec<usize>,
}

impl Choice {
    fn make(
        document: &Document,
        shown: &[ShownMesh],
        options: &ReadOptions,
        table: Option<&Table>,
    ) -> Result<Self, GltfError> {
        if shown.is_empty() {
            return Err(GltfError::NoMesh);
        }
        let skins = distinct(shown.iter().filter_map(|s| s.skin));
        if skins.is_empty() {
            let meshes = distinct(shown.iter().map(|s| s.mesh));
            let names = names_of(document, "meshes", "mesh", &meshes);
            let remembered = table.and_then(|t| t.mesh.as_deref());
            let chosen = choose("mesh", &names, options.mesh.as_deref(), remembered)?;
            let mesh = meshes[chosen];
            let node = shown.iter().find(|s| s.mesh == mesh).map_or(0, |s| s.node);
            return Ok(Self {
                skins: Vec::new(),
                skin_names: Vec::new(),
                mesh_name: Some(names[chosen].clone()),
                nodes: vec![node],
                meshes: vec![mesh],
            });
        }
        let names = names_of(document, "skins", "skin", &skins);
        let chosen = match options.skin.as_deref() {
            None if skins.len() > 1 && table.is_none() && share_a_skeleton(document, &skins)? => {
                (0..skins.len()).collect()
            }
            wanted => {
                let remembered = table.and_then(|t| t.skin.as_deref());
                let first = choose("skin", &names, wanted, remembered)?;
                let more = table.filter(|_| wanted.is_none()).map_or(&[][..], |t| &t.more_skins);
                let others = (0..names.len()).filter(|&skin| skin != first && more.contains(&names[skin]));
                std::iter::once(first).chain(others).collect::<Vec<usize>>()
            }
        };
        let skins: Vec<usize> = chosen.iter().map(|&skin| skins[skin]).collect();
        let used = || shown.iter().filter(|s| s.skin.is_some_and(|skin| skins.contains(&skin)));
        Ok(Self {
            skin_names: chosen.iter().map(|&skin| names[skin].clone()).collect(),
            mesh_name: None,
            nodes: used().map(|s| s.node).collect(),
            meshes: distinct(used().map(|s| s.mesh)),
            skins,
        })
    }
}

/// Whether all these skins have the same joints, bound the same way: some exporters write one for each mesh.
fn share_a_skeleton(document: &Document, skins: &[usize]) -> Result<bool, GltfError> {
    let Some((&first, others)) = skins.split_first() else { return Ok(false) };
    let joints = joint_nodes(document, first)?;
    let binds = bind_matrices(document, first, joints.len())?;
    for &skin in others {
        if joint_nodes(document, skin)? != joints {
            return Ok(false);
        }
        let same =
            |(a, b): (&DAffine3, &DAffine3)| a.abs_diff_eq(*b, SAME_BIND * a.translation.length().max(1.0));
        if !binds.iter().zip(&bind_matrices(document, skin, joints.len())?).all(same) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bind matrices that differ by less are the same, but for the rounding of `f32`.
const SAME_BIND: f64 = 1e-6;

/// The nodes that are the joints of a skin.
fn joint_nodes(document: &Document, skin: usize) -> Result<Vec<usize>, GltfError> {
    let entry = document.entry("skins", skin)?;
    index_list(entry, "joints", document.array("nodes").len(), || format!("skins[{skin}]"))
}

/// The inverse bind matrices of a skin, at least `joint_count`.
fn bind_matrices(document: &Document, skin: usize, joint_count: usize) -> Result<Vec<DAffine3>, GltfError> {
    let entry = document.entry("skins", skin)?;
    let accessors = document.array("accessors").len();
    match optional_index(entry, "inverseBindMatrices", accessors, || format!("skins[{skin}]"))? {
        Some(accessor) => {
            let binds = accessor::read_transforms(document, accessor)?;
            if binds.len() < joint_count {
                let problem = format!("has {} bind matrices for {joint_count} joints", binds.len());
                return Err(GltfError::Accessor { accessor, problem });
            }
            Ok(binds)
        }
        None => Ok(vec![DAffine3::IDENTITY; joint_count]),
    }
}

/// The index of the wanted name; of the one the table remembers; of the only one.
fn choose(
    what: &'static str,
    names: &[String],
    wanted: Option<&str>,
    remembered: Option<&str>,
) -> Result<usize, GltfError> {
    if let Some(wanted) = wanted {
        return names.iter().position(|name| name == wanted).ok_or_else(|| GltfError::NoSuchChoice {
            what,
            name: wanted.into(),
            names: names.to_vec(),
        });
    }
    if let Some(found) = remembered.and_then(|r| names.iter().position(|name| name == r)) {
        return Ok(found);
    }
    if names.len() == 1 { Ok(0) } else { Err(GltfError::Ambiguous { what, names: names.to_vec() }) }
}

/// Names of entries; those without one, or with one that others have too, get their number.
pub(crate) fn names_of(document: &Document, key: &str, what: &str, indices: &[usize]) -> Vec<String> {
    let given: Vec<&str> = indices.iter().map(|&i| name_of(&document.array(key)[i])).collect();
    let unique = |name: &str| !name.is_empty() && given.iter().filter(|other| **other == name).count() == 1;
    given
        .iter()
        .zip(indices)
        .map(|(name, index)| if unique(name) { (*name).to_string() } else { format!("{what} {index}") })
        .collect()
}

pub(crate) fn distinct(values: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

fn note_vertices(vertices: &Vertices, notes: &mut Vec<String>) {
    if vertices.skipped_primitives > 0 {
        notes.push(format!(
            "{} primitive(s) of points or lines are left as they are",
            vertices.skipped_primitives
        ));
    }
}

fn read_skeleton(
    document: &Document,
    skin: Option<usize>,
    joint_nodes: &[usize],
    graph: &NodeGraph,
    table: Option<&Table>,
) -> Result<Skeleton, GltfError> {
    let Some(skin) = skin else { return Ok(Skeleton::empty()) };
    let binds = bind_matrices(document, skin, joint_nodes.len())?;
    let mut joint_of_node = vec![None; graph.parents.len()];
    for (joint, &node) in joint_nodes.iter().enumerate() {
        if joint_of_node[node].replace(joint).is_some() {
            return Err(GltfError::Node { node, problem: "is listed twice among the joints of the skin" });
        }
    }
    let names: Vec<String> = joint_nodes
        .iter()
        .enumerate()
        .map(|(joint, &node)| match name_of(&document.array("nodes")[node]) {
            "" => format!("joint {joint}"),
            name => name.to_string(),
        })
        .collect();
    let reference_of = |name: &str| {
        let entry = table?.joints.iter().find(|joint| joint.name == name)?;
        let reference = entry.reference.as_deref()?;
        names.iter().position(|other| other == reference)
    };
    let joints = names
        .iter()
        .zip(joint_nodes)
        .zip(&binds)
        .map(|((name, &node), &joint_from_rest)| Joint {
            name: name.clone(),
            parent: graph.ancestors(node).find_map(|ancestor| joint_of_node[ancestor]),
            reference: reference_of(name),
            joint_from_rest,
        })
        .collect();
    Ok(Skeleton::new(joints)?)
}

fn read_controls(
    document: &Document,
    graph: &NodeGraph,
    joint_nodes: &[usize],
    table: Option<&Table>,
) -> (Vec<Control>, Vec<usize>) {
    let remembered = |name: &str| table.and_then(|t| t.controls.iter().position(|c| c.name == name));
    let mut found: Vec<(Control, usize)> = document
        .array("nodes")
        .iter()
        .enumerate()
        .filter(|(node, _)| !joint_nodes.contains(node))
        .filter_map(|(node, entry)| Some((node, name_of(entry).strip_prefix(CONTROL_PREFIX)?)))
        .map(|(node, name)| {
            let shown = graph.locals[node].to_affine().translation.x;
            // The table keeps what f32 rounds; it is believed as long as the node agrees.
            let exact = remembered(name).and_then(|i| Some(table?.controls[i].default));
            let default = exact.filter(|exact| *exact as f32 == shown as f32).unwrap_or(shown);
            (Control { name: name.to_string(), default }, node)
        })
        .collect();
    // Programs reorder nodes; the table knows the order of the rig.
    found.sort_by_key(|(control, _)| remembered(&control.name).unwrap_or(usize::MAX));
    found.into_iter().unzip()
}
