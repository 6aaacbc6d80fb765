//! From a model to tables.

use std::ops::Range;
use std::sync::Arc;

use glam::{Vec3, Vec4};

use super::drivers::DriverTables;
use super::lanes::{Block, LANES, Lanes};
use super::order::{Mover, Needs, OrderedGroup, order};
use super::storage::{Displacements, Fields, Stored, StoredBlock, decoded_number};
use super::{
    AfterPart, Coordinate, Group, PIECE, PackParams, PackReport, PackedModel, Span, Storage, Tables,
};
use crate::model::{Frame, Layer, Model, Stage};
use crate::rig::Rig;
use crate::skinning::BaseSkinning;

/// A layer, or the vertices of it that share one frame after skinning.
struct Part<'a> {
    layer: &'a Layer,
    first_component: usize,
    /// `None` before skinning
    frame: Option<u32>,
    /// only vertices that have `frame` as their heaviest joint
    heaviest_only: bool,
}

pub(super) fn pack(model: &Model, skinning: BaseSkinning, params: PackParams) -> PackedModel {
    let rig = model.rig();
    let parts = parts_of(model);
    let groups = order(needs_of(rig, skinning, &parts), &component_counts(&parts));
    let mut tables = tables_of(rig, skinning, &groups);
    let (displacements, storage_error) = match params.storage {
        Storage::F32 => {
            let (fields, error) = fields_of(&parts, rig, &groups, &mut tables);
            (Displacements::F32(fields), error)
        }
        Storage::F16 => {
            let (fields, error) = fields_of(&parts, rig, &groups, &mut tables);
            (Displacements::F16(fields), error)
        }
        Storage::I16 => {
            let (fields, error) = fields_of(&parts, rig, &groups, &mut tables);
            (Displacements::I16(fields), error)
        }
    };
    let report = report_of(rig, &tables, &displacements, storage_error);
    PackedModel {
        rig: Arc::clone(rig),
        skinning,
        drivers: DriverTables::new(model),
        tables,
        displacements,
        report,
    }
}

fn parts_of(model: &Model) -> Vec<Part<'_>> {
    let skeleton = model.rig().skeleton();
    let mut parts = Vec::new();
    let mut first_component = 0;
    let unmoved = skeleton.joint_count() as u32;
    for layer in model.layers() {
        let part = |frame, heaviest_only| Part { layer, first_component, frame, heaviest_only };
        match layer.stage {
            Stage::BeforeSkinning => parts.push(part(None, false)),
            Stage::AfterSkinning { frame: Frame::Root } => {
                parts.push(part(Some(skeleton.first_root().map_or(unmoved, |root| root as u32)), false));
            }
            Stage::AfterSkinning { frame: Frame::Joint(joint) } => {
                parts.push(part(Some(joint as u32), false));
            }
            Stage::AfterSkinning { frame: Frame::HeaviestJoint } => {
                let mut frames: Vec<u32> =
                    layer.support.iter().map(|&v| heaviest_joint(model.rig(), v)).collect();
                frames.sort_unstable();
                frames.dedup();
                parts.extend(frames.into_iter().map(|frame| part(Some(frame), true)));
            }
        }
        first_component += layer.component_count();
    }
    parts
}

impl Part<'_> {
    /// Where a vertex stands in the layer's support.
    fn entry_of(&self, rig: &Rig, vertex: u32) -> Option<usize> {
        let entry = self.layer.support.binary_search(&vertex).ok()?;
        (!self.heaviest_only || self.frame == Some(heaviest_joint(rig, vertex))).then_some(entry)
    }
}

fn component_counts(parts: &[Part]) -> Vec<usize> {
    parts.iter().map(|part| part.layer.component_count()).collect()
}

/// The number of joints, for a vertex without any.
fn heaviest_joint(rig: &Rig, vertex: u32) -> u32 {
    let unmoved = rig.skeleton().joint_count() as u32;
    rig.weights().of(vertex as usize).first().map_or(unmoved, |influence| influence.joint)
}

/// What moves a vertex, never nothing, the heaviest first: vertices without joints follow one that never
/// moves.
fn movers_of(rig: &Rig, skinning: BaseSkinning, vertex: u32) -> Vec<(Mover, f32)> {
    let influences = rig.weights().of(vertex as usize);
    let heaviest = heaviest_joint(rig, vertex);
    if influences.is_empty() || skinning == BaseSkinning::Rigid {
        return vec![(Mover { joint: heaviest, pivot: heaviest }, 1.0)];
    }
    let is_dual = skinning == BaseSkinning::DualQuaternion;
    let mover = |joint| Mover { joint, pivot: if is_dual { heaviest } else { joint } };
    influences.iter().map(|influence| (mover(influence.joint), influence.weight)).collect()
}

fn needs_of(rig: &Rig, skinning: BaseSkinning, parts: &[Part]) -> Vec<Needs> {
    let mut needs: Vec<Needs> = (0..rig.vertex_count() as u32)
        .map(|vertex| {
            let mut movers: Vec<Mover> =
                movers_of(rig, skinning, vertex).into_iter().map(|(mover, _)| mover).collect();
            movers.sort_unstable();
            Needs { movers, parts: Vec::new() }
        })
        .collect();
    for (index, part) in parts.iter().enumerate() {
        for &vertex in &part.layer.support {
            if part.entry_of(rig, vertex).is_some() {
                needs[vertex as usize].parts.push(index as u32);
            }
        }
    }
    needs
}

/// Everything but displacements and coordinates.
fn tables_of(rig: &Rig, skinning: BaseSkinning, groups: &[OrderedGroup]) -> Tables {
    let unweighted = usize::from(skinning != BaseSkinning::DualQuaternion);
    let mut tables = Tables { centre: rig.mesh().bounds().centre, unweighted, ..Tables::default() };
    let centred =
        |vertex: u32| (rig.mesh().positions()[vertex as usize].as_dvec3() - tables.centre).as_vec3();
    for group in groups {
        let movers = &group.needs.movers;
        tables.groups.push(Group {
            first_block: tables.positions.len(),
            block_count: group.vertices.len() / LANES,
            movers: Span { first: tables.movers.len(), count: movers.len() },
            first_weight: tables.weights.len(),
            ..Group::default()
        });
        tables.movers.extend(movers);
        tables.most_movers = tables.most_movers.max(movers.len());
        for vertices in group.vertices.chunks_exact(LANES) {
            let mut weights = vec![Lanes::default(); movers.len()];
            let (mut positions, mut normals) = (Block::default(), Block::default());
            let mut heaviest = [0; LANES];
            for (lane, &vertex) in vertices.iter().enumerate() {
                positions.put(lane, centred(vertex));
                normals.put(lane, rig.mesh().normals()[vertex as usize]);
                for (rank, (mover, weight)) in movers_of(rig, skinning, vertex).into_iter().enumerate() {
                    let Ok(slot) = movers.binary_search(&mover) else { continue };
                    weights[slot].0[lane] = weight;
                    if rank == 0 {
                        heaviest[lane] = slot as u32;
                    }
                }
            }
            tables.weights.extend(&weights[unweighted..]);
            tables.positions.push(positions);
            tables.normals.push(normals);
            tables.heaviest.push(heaviest);
            tables.vertices.push(std::array::from_fn(|lane| vertices[lane]));
        }
    }
    tables.pieces = pieces(&tables.groups);
    tables
}

/// Runs of groups of at most [`PIECE`] blocks.
fn pieces(groups: &[Group]) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut blocks = 0;
    for (index, group) in groups.iter().enumerate() {
        blocks += group.block_count;
        match pieces.last_mut() {
            Some(last) if blocks <= PIECE => last.end = index + 1,
            _ => {
                pieces.push(index..index + 1);
                blocks = group.block_count;
            }
        }
    }
    pieces
}

/// Rest tangents in packed order, and their handedness.
pub(super) fn tangents_of(tables: &Tables, tangents: &[Vec4]) -> (Vec<Block>, Vec<Lanes>) {
    tables
        .vertices
        .iter()
        .map(|vertices| {
            let mut block = Block::default();
            for (lane, &vertex) in vertices.iter().enumerate() {
                block.put(lane, tangents[vertex as usize].truncate());
            }
            (block, Lanes(vertices.map(|vertex| tangents[vertex as usize].w)))
        })
        .unzip()
}

/// Stores all displacements, fills in the coordinates of the groups, and gives the largest error.
fn fields_of<T: Stored>(
    parts: &[Part],
    rig: &Rig,
    groups: &[OrderedGroup],
    tables: &mut Tables,
) -> (Fields<T>, f64) {
    let scales: Vec<Scales> = parts.iter().map(|part| Scales::of::<T>(part.layer)).collect();
    let mut fields = Fields::default();
    let mut error = 0f64;
    for (index, ordered) in groups.iter().enumerate() {
        let group = &mut tables.groups[index];
        let own = || ordered.needs.parts.iter().map(|&part| part as usize);
        let turns =
            |part: &usize| parts[*part].frame.is_none() && !parts[*part].layer.basis.normals.is_empty();
        group.first_before = fields.before.len();
        group.first_turning = fields.turning.len();
        group.first_after = fields.after.len();
        group.before = coordinates(
            &mut tables.before,
            own().filter(|&p| parts[p].frame.is_none()).map(|p| (&parts[p], &scales[p].positions[..])),
        );
        group.turning = coordinates(
            &mut tables.turning,
            own().filter(turns).map(|p| (&parts[p], &scales[p].normals[..])),
        );
        group.after = coordinates(
            &mut tables.after,
            own().filter(|&p| parts[p].frame.is_some()).map(|p| (&parts[p], &scales[p].positions[..])),
        );
        group.after_parts.first = tables.after_parts.len();
        tables.after_parts.extend(own().filter_map(|p| {
            let components = parts[p].layer.component_count() as u32;
            parts[p].frame.map(|frame| AfterPart { frame, components })
        }));
        group.after_parts.count = tables.after_parts.len() - group.after_parts.first;
        for vertices in ordered.vertices.chunks_exact(LANES) {
            for p in own() {
                let part = &parts[p];
                let entries: [Option<usize>; LANES] =
                    std::array::from_fn(|lane| part.entry_of(rig, vertices[lane]));
                let list = if part.frame.is_none() { &mut fields.before } else { &mut fields.after };
                store(
                    list,
                    &part.layer.basis.positions,
                    part.layer,
                    &entries,
                    &scales[p].positions,
                    &mut error,
                );
                if turns(&p) {
                    let normals = &part.layer.basis.normals;
                    store(&mut fields.turning, normals, part.layer, &entries, &scales[p].normals, &mut error);
                }
            }
        }
    }
    tables.frame_joints = tables
        .after_parts
        .iter()
        .map(|part| part.frame)
        .filter(|&f| (f as usize) < rig.skeleton().joint_count())
        .collect();
    tables.frame_joints.sort_unstable();
    tables.frame_joints.dedup();
    (fields, error)
}

/// The largest number of each component and what stored numbers are multiplied with.
struct Scales {
    positions: Vec<(f32, f32)>,
    normals: Vec<(f32, f32)>,
}

impl Scales {
    fn of<T: Stored>(layer: &Layer) -> Self {
        let scales = |fields: &[Vec3]| {
            fields
                .chunks_exact(layer.support.len())
                .map(|field| {
                    let largest = field.iter().fold(0f32, |most, d| most.max(d.abs().max_element()));
                    (largest, T::scale(largest))
                })
                .collect()
        };
        Self { positions: scales(&layer.basis.positions), normals: scales(&layer.basis.normals) }
    }
}

fn coordinates<'a>(
    list: &mut Vec<Coordinate>,
    parts: impl Iterator<Item = (&'a Part<'a>, &'a [(f32, f32)])>,
) -> Span {
    let first = list.len();
    for (part, scales) in parts {
        list.extend(scales.iter().enumerate().map(|(component, &(_, scale))| Coordinate {
            component: (part.first_component + component) as u32,
            scale,
        }));
    }
    Span { first, count: list.len() - first }
}

/// One block of all components of a layer; zero where the layer does not reach.
fn store<T: Stored>(
    list: &mut Vec<StoredBlock<T>>,
    fields: &[Vec3],
    layer: &Layer,
    entries: &[Option<usize>; LANES],
    scales: &[(f32, f32)],
    error: &mut f64,
) {
    for (field, &(largest, scale)) in fields.chunks_exact(layer.support.len()).zip(scales) {
        let mut block = StoredBlock([[T::encode(0.0, scale); LANES]; 3]);
        for (lane, entry) in entries.iter().enumerate() {
            let Some(entry) = *entry else { continue };
            for axis in 0..3 {
                let stored = T::encode(field[entry][axis], scale);
                block.0[axis][lane] = stored;
                let back = decoded_number(stored, scale);
                if largest > 0.0 {
                    let miss = (back - f64::from(field[entry][axis])).abs() / f64::from(largest);
                    *error = error.max(miss);
                }
            }
        }
        list.push(block);
    }
}

fn report_of(rig: &Rig, tables: &Tables, displacements: &Displacements, storage_error: f64) -> PackReport {
    let vertices = rig.vertex_count();
    let blocks = tables.positions.len();
    let lanes = (blocks * LANES).max(1);
    let bytes =
        2 * size_of_val(&tables.positions[..]) + size_of_val(&tables.weights[..]) + displacements.bytes();
    let zeros = tables.weights.iter().flat_map(|lanes| lanes.0).filter(|&weight| weight == 0.0).count();
    PackReport {
        vertices,
        groups: tables.groups.len(),
        blocks,
        padding: (blocks * LANES - vertices) as f64 / lanes as f64,
        zero_weights: zeros as f64 / (tables.weights.len() * LANES).max(1) as f64,
        bytes_per_vertex: bytes as f64 / vertices.max(1) as f64,
        storage_error,
    }
}
