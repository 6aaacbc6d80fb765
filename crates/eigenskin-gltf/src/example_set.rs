//! Example sets as GLB: one clip with one key per example, one morph target per example, weights
//! one-hot. Any viewer can scrub through the observed shapes.
//!
//! Targets hold rest-space displacements against *linear* skinning, computed for the pose as it
//! will be read again (`f32` keys), so that rounding poses does not move the shapes. Where that
//! has no accurate inverse, posed positions are kept beside it in accessors named in the table.

use std::collections::BTreeSet;
use std::sync::Arc;

use eigenskin_core::deformers::{Base, DeformerStack};
use eigenskin_core::examples::{Example, ExampleSet, Inverted};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use serde_json::json;

use super::accessor;
use super::append::{self, OWN, Usage};
use super::clip::Clip;
use super::document::Document;
use super::error::GltfError;
use super::pose_keys::{self, NodePose};
use super::rig::RigLayout;
use super::stack_table::StackEntry;
use super::table::{ExampleEntry, ExamplesEntry, InvertedEntry, PosedEntry, Storage, Table};
use super::targets::{self, SharedKeys, Target};
use crate::WriteError;
use crate::rig_file::RigFile;
use crate::simulation_record::SimulationRecord;

/// Above this condition of the blended matrix a vertex also keeps its posed position.
const WORST_CONDITION: f64 = 1e4;
/// Displacements below this share of the size are the rounding of `f32` positions.
const NO_DISPLACEMENT: f64 = 1e-7;
/// A vertex that the displacement misses by more than this share of the size is kept posed.
const LARGEST_MISS: f64 = 3e-7;
/// Normal changes below this are rounding.
const NO_TURN: f64 = 1e-6;
/// A normal that the change misses by more than this (chord of unit vectors) is kept posed.
const LARGEST_TURN_MISS: f64 = 1e-5;

/// An example as a file has it.
#[derive(Debug, Clone)]
pub struct StoredExample {
    pose: NodePose,
    /// (vertex, displacement), vertices rising
    positions: Vec<(u32, Vec3)>,
    /// (vertex, change of the normal), vertices rising
    normals: Vec<(u32, Vec3)>,
}

/// The rig's document with the examples in it, those named in `muted` marked, and with how they were
/// simulated.
pub fn write(
    file: &RigFile,
    set: &ExampleSet,
    muted: &BTreeSet<String>,
    simulation: Option<&SimulationRecord>,
) -> Result<Document, WriteError> {
    let rig = set.rig();
    file.check_same_rig(rig, "the examples")?;
    let layout = file.layout();
    let mut document = file.document().clone();
    let stored: Vec<Option<&StoredExample>> = set
        .examples()
        .iter()
        .map(|example| file.stored.iter().find(|stored| stored.pose.read_back == example.pose))
        .collect();
    let poses: Vec<NodePose> = set
        .examples()
        .iter()
        .zip(&stored)
        .map(|(example, stored)| match stored {
            Some(stored) => Ok(stored.pose.clone()),
            None => {
                pose_keys::node_pose(layout, rig, &example.pose, || format!("example {:?}", example.name))
            }
        })
        .collect::<Result<_, _>>()?;

    let normals_in_targets = layout.has_normals();
    let any_normals = set.examples().iter().any(|example| example.normals.is_some());
    let mut list = Vec::with_capacity(set.len());
    let mut morphs = Vec::with_capacity(set.len());
    let mut kept = Vec::with_capacity(set.len());
    for ((example, pose), stored) in set.examples().iter().zip(&poses).zip(stored) {
        let displaced = Displaced::new(rig, example, pose, stored);
        morphs.push(displaced.target);
        kept.push(displaced.posed);
    }
    let bases = bases_of(set);
    let own = targets::counts(&document, layout)?;
    let none = vec![0.0; set.len()];
    targets::append_targets(&mut document, layout, &morphs, any_normals && normals_in_targets, &none)?;
    for (index, (example, posed)) in set.examples().iter().zip(kept).enumerate() {
        let entry = push_beside(&mut document, rig, index, example, &posed, normals_in_targets)?;
        let inverted = push_inverted(&mut document, index, example, &bases)?;
        list.push(ExampleEntry { muted: muted.contains(&example.name), inverted, ..entry });
    }

    targets::widen_weights_channels(&mut document, layout, file.clips(), &own, set.len())?;
    let clip = file.unused_clip_name("examples");
    push_clip(&mut document, layout, &own, &clip, &poses)?;

    let mut table = file.table("examples", rig);
    table.own_targets = own;
    table.examples = Some(ExamplesEntry {
        clip,
        list,
        bases: bases.iter().map(|stack| StackEntry::new(stack)).collect(),
        simulation: simulation.map(|record| json!(record)),
    });
    table.store(&mut document, layout.root_node)?;
    Ok(document)
}

/// All examples of a document, muted ones too.
pub fn read(
    document: &Document,
    layout: &RigLayout,
    rig: &Arc<Rig>,
    table: &Table,
) -> Result<ExampleSet, GltfError> {
    let entry = table.examples.as_ref().ok_or_else(|| GltfError::table("it has no examples"))?;
    let clips = Clip::read_all(document)?;
    let clip = clips.iter().find(|clip| clip.name == entry.clip).ok_or_else(|| {
        GltfError::table(format!("the clip {:?} that holds the poses is missing", entry.clip))
    })?;
    let own = own_targets(layout, table)?;
    let bases = entry
        .bases
        .iter()
        .map(|stack| Ok(Base::Deformers(Arc::new(stack.to_stack()?))))
        .collect::<Result<Vec<Base>, GltfError>>()?;
    let memory = entry.list.len().saturating_mul(4 * size_of::<Vec3>() * rig.vertex_count());
    if memory > document.displacement_limit() {
        let (examples, limit) = (entry.list.len(), document.displacement_limit());
        return Err(GltfError::table(format!(
            "its {examples} examples would take more than {limit} bytes; write the example set again"
        )));
    }
    let mut examples = Vec::with_capacity(entry.list.len());
    for (index, example) in entry.list.iter().enumerate() {
        let pose = clip.sample(layout, index as f64);
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, &pose);
        let count = rig.vertex_count();
        let displacements = targets::read_target(document, layout, own, index, "POSITION", count)?;
        let mut positions: Vec<Vec3> =
            (0..count).map(|v| skinned(&skinning, v, rig.mesh().positions()[v], displacements[v])).collect();
        let mut normals = match &example.normals {
            Storage::None => None,
            Storage::Accessor { name } => Some(read_named(document, name, count)?),
            Storage::Targets => {
                let turns = targets::read_target(document, layout, own, index, "NORMAL", count)?;
                let normal = |v: usize| turned(&skinning, v, rig.mesh().normals()[v], turns[v]);
                Some((0..count).map(normal).collect())
            }
        };
        if let Some(posed) = &example.posed {
            let vertices = accessor::read_indices(document, named(document, &posed.vertices)?)?;
            overwrite(&mut positions, &vertices, &read_named(document, &posed.positions, vertices.len())?)?;
            if let (Some(normals), Some(name)) = (&mut normals, &posed.normals) {
                overwrite(normals, &vertices, &read_named(document, name, vertices.len())?)?;
            }
        }
        let inverted = example
            .inverted
            .as_ref()
            .map(|entry| read_inverted(document, entry, &bases, count))
            .transpose()?;
        examples.push(Example { name: example.name.clone(), pose, positions, normals, inverted });
    }
    Ok(ExampleSet::new(rig.clone(), examples)?)
}

/// All examples of a document as it has them.
pub fn stored(
    document: &Document,
    layout: &RigLayout,
    rig: &Rig,
    table: &Table,
) -> Result<Vec<StoredExample>, GltfError> {
    let entry = table.examples.as_ref().ok_or_else(|| GltfError::table("it has no examples"))?;
    let clips = Clip::read_all(document)?;
    let Some(clip) = clips.iter().find(|clip| clip.name == entry.clip) else { return Ok(Vec::new()) };
    let own = own_targets(layout, table)?;
    let moved = |values: Vec<Vec3>| (0..).zip(values).filter(|(_, value)| *value != Vec3::ZERO).collect();
    (0..entry.list.len())
        .map(|index| {
            let read =
                |what: &str| targets::read_target(document, layout, own, index, what, rig.vertex_count());
            let has_normals = matches!(entry.list[index].normals, Storage::Targets);
            Ok(StoredExample {
                pose: NodePose::stored(layout, clip, index as f64),
                positions: moved(read("POSITION")?),
                normals: if has_normals { moved(read("NORMAL")?) } else { Vec::new() },
            })
        })
        .collect()
}

/// What is stored for a vertex.
fn stored_at(values: &[(u32, Vec3)], vertex: usize) -> Vec3 {
    let found = values.binary_search_by_key(&(vertex as u32), |(vertex, _)| *vertex);
    found.map_or(Vec3::ZERO, |place| values[place].1)
}

/// The chains that examples were pulled back through, each once.
fn bases_of(set: &ExampleSet) -> Vec<Arc<DeformerStack>> {
    let mut bases: Vec<Arc<DeformerStack>> = Vec::new();
    for inverted in set.examples().iter().filter_map(|example| example.inverted.as_ref()) {
        if let Base::Deformers(stack) = &inverted.base
            && !bases.contains(stack)
        {
            bases.push(stack.clone());
        }
    }
    bases
}

fn push_inverted(
    document: &mut Document,
    index: usize,
    example: &Example,
    bases: &[Arc<DeformerStack>],
) -> Result<Option<InvertedEntry>, GltfError> {
    let Some(inverted) = &example.inverted else { return Ok(None) };
    let known = |stack: &Arc<DeformerStack>| matches!(&inverted.base, Base::Deformers(own) if own == stack);
    let Some(base) = bases.iter().position(known) else { return Ok(None) };
    let deltas = format!("{OWN}example {index} deltas");
    append::vec3(document, &deltas, &inverted.deltas, Usage::Other, false)?;
    let residuals = if inverted.residuals.is_empty() {
        None
    } else {
        let name = format!("{OWN}example {index} residuals");
        append::vec3(document, &name, &inverted.residuals, Usage::Other, false)?;
        Some(name)
    };
    Ok(Some(InvertedEntry { base, deltas, residuals }))
}

fn read_inverted(
    document: &Document,
    entry: &InvertedEntry,
    bases: &[Base],
    count: usize,
) -> Result<Inverted, GltfError> {
    let base = bases.get(entry.base).cloned();
    let base = base.ok_or_else(|| GltfError::table("an example names deformers that are not listed"))?;
    let deltas = read_named(document, &entry.deltas, count)?;
    let residuals = entry.residuals.as_ref().map(|name| read_named(document, name, count)).transpose()?;
    Ok(Inverted { base, deltas, residuals: residuals.unwrap_or_default() })
}

/// The table's count of the file's own targets, one per mesh of the rig.
pub fn own_targets<'a>(layout: &RigLayout, table: &'a Table) -> Result<&'a [usize], GltfError> {
    if table.own_targets.len() == layout.meshes.len() {
        Ok(&table.own_targets)
    } else {
        let problem =
            format!("it is about {} meshes, the rig has {}", table.own_targets.len(), layout.meshes.len());
        Err(GltfError::table(problem))
    }
}

/// The accessor of that name, read as vectors.
pub fn read_named(document: &Document, name: &str, count: usize) -> Result<Vec<Vec3>, GltfError> {
    let values = accessor::read_vec3(document, named(document, name)?)?;
    if values.len() == count {
        Ok(values)
    } else {
        Err(GltfError::table(format!("accessor {name:?} has {} vectors, expected {count}", values.len())))
    }
}

/// The accessor of that name.
pub fn named(document: &Document, name: &str) -> Result<usize, GltfError> {
    append::accessor_named(document, name).ok_or_else(|| {
        GltfError::table(format!("the accessor {name:?} is missing; another program dropped it"))
    })
}

fn overwrite(values: &mut [Vec3], vertices: &[u32], new: &[Vec3]) -> Result<(), GltfError> {
    for (&vertex, &value) in vertices.iter().zip(new) {
        *values
            .get_mut(vertex as usize)
            .ok_or_else(|| GltfError::table("it lists a vertex out of range"))? = value;
    }
    Ok(())
}

/// An example's morph target, and the vertices it cannot express.
struct Displaced {
    target: Target,
    posed: Vec<u32>,
}

impl Displaced {
    /// What a file had for the example is kept wherever it shows the same.
    fn new(rig: &Rig, example: &Example, pose: &NodePose, stored: Option<&StoredExample>) -> Self {
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, &pose.read_back);
        let size = rig.mesh().size();
        let mut positions = Vec::new();
        let mut normals = Vec::new();
        let mut posed = Vec::new();
        for vertex in 0..rig.vertex_count() {
            let rest = rig.mesh().positions()[vertex];
            let observed = example.positions[vertex].as_dvec3();
            let near_rest = skinning.inverse_position(vertex, observed, rest.as_dvec3());
            let mut displacement = (near_rest - rest.as_dvec3()).as_vec3();
            let before = stored.map(|stored| stored_at(&stored.positions, vertex));
            if let Some(before) = before
                && skinned(&skinning, vertex, rest, before) == example.positions[vertex]
            {
                displacement = before;
            }
            if f64::from(displacement.length()) <= NO_DISPLACEMENT * size {
                displacement = Vec3::ZERO;
            } else {
                positions.push((vertex as u32, displacement));
            }
            let shown = skinned(&skinning, vertex, rest, displacement).as_dvec3();
            let mut missed = shown.distance(observed) > LARGEST_MISS * size
                || skinning.conditioning(vertex).condition > WORST_CONDITION;

            if let Some(observed) = example.normals.as_ref().map(|normals| normals[vertex].as_dvec3()) {
                let rest = rig.mesh().normals()[vertex];
                let mut turn = (skinning.inverse_normal(vertex, observed) - rest.as_dvec3()).as_vec3();
                let before = stored.map(|stored| stored_at(&stored.normals, vertex));
                if let Some(before) = before
                    && turned(&skinning, vertex, rest, before).as_dvec3() == observed
                {
                    turn = before;
                }
                if f64::from(turn.length()) <= NO_TURN {
                    turn = Vec3::ZERO;
                } else {
                    normals.push((vertex as u32, turn));
                }
                let shown = turned(&skinning, vertex, rest, turn).as_dvec3();
                missed |= shown.distance(observed.normalize_or_zero()) > LARGEST_TURN_MISS;
            }
            if missed {
                posed.push(vertex as u32);
            }
        }
        Self { target: Target { name: example.name.clone(), positions, normals }, posed }
    }
}

fn skinned(skinning: &PosedSkinning, vertex: usize, rest: Vec3, displacement: Vec3) -> Vec3 {
    skinning.position(vertex, rest.as_dvec3() + displacement.as_dvec3()).as_vec3()
}

fn turned(skinning: &PosedSkinning, vertex: usize, rest: Vec3, turn: Vec3) -> Vec3 {
    let normal: DVec3 = skinning.normal(vertex, rest.as_dvec3() + turn.as_dvec3());
    normal.as_vec3()
}

/// What does not fit into morph targets.
fn push_beside(
    document: &mut Document,
    rig: &Rig,
    index: usize,
    example: &Example,
    posed: &[u32],
    normals_in_targets: bool,
) -> Result<ExampleEntry, GltfError> {
    let name = |what: &str| format!("{OWN}example {index} {what}");
    let normals = match &example.normals {
        None => Storage::None,
        Some(_) if normals_in_targets => Storage::Targets,
        Some(normals) => {
            let name = name("normals");
            append::vec3(document, &name, normals, Usage::Other, false)?;
            Storage::Accessor { name }
        }
    };
    let mut entry =
        ExampleEntry { name: example.name.clone(), muted: false, normals, posed: None, inverted: None };
    if !posed.is_empty() {
        let chosen = |values: &[Vec3]| -> Vec<Vec3> { posed.iter().map(|&v| values[v as usize]).collect() };
        append::indices(document, &name("posed vertices"), posed, rig.vertex_count(), Usage::Other)?;
        append::vec3(document, &name("posed positions"), &chosen(&example.positions), Usage::Other, false)?;
        let mut beside = PosedEntry {
            vertices: name("posed vertices"),
            positions: name("posed positions"),
            normals: None,
        };
        if let Some(normals) = &example.normals {
            append::vec3(document, &name("posed normals"), &chosen(normals), Usage::Other, false)?;
            beside.normals = Some(name("posed normals"));
        }
        entry.posed = Some(beside);
    }
    Ok(entry)
}

fn push_clip(
    document: &mut Document,
    layout: &RigLayout,
    own: &[usize],
    clip: &str,
    poses: &[NodePose],
) -> Result<(), GltfError> {
    let times: Vec<f32> = (0..poses.len()).map(|index| index as f32).collect();
    let input = pose_keys::push_times(document, &format!("{OWN}times"), &times)?;
    let name = format!("{OWN}keys");
    let mut animation = pose_keys::push_animation(document, layout, &name, clip, input, poses, "STEP")?;
    let mut keys = SharedKeys::default();
    for &node in &layout.mesh_nodes {
        let own = targets::own_count_of_node(document, layout, own, node)?;
        let defaults = targets::own_default_weights(document, node, own)?;
        let mut weights = Vec::with_capacity(poses.len() * (own + poses.len()));
        for key in 0..poses.len() {
            weights.extend(defaults.iter().map(|&w| w as f32));
            weights.extend((0..poses.len()).map(|target| if target == key { 1.0 } else { 0.0 }));
        }
        let output = keys.weights(document, &weights)?;
        targets::set_weights_channel(&mut animation, node, [input, output], "STEP")?;
    }
    document.array_mut("animations")?.push(animation);
    Ok(())
}
