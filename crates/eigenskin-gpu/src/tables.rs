//! A model as tables for a GPU: what is uploaded once. The layouts are those of
//! `shaders/posed_vertex.wgsl`; engines without wgpu can upload these as they are.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use eigenskin_core::deformers::Base;
use eigenskin_core::glam::{DVec3, Vec3, Vec4};
use eigenskin_core::model::{Frame, Layer, Model, Stage};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use half::f16;

use crate::context::GpuError;

/// How displacements are stored. Rest shape, normals and skin weights are always `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Storage {
    /// 16 bytes per displacement, exact
    #[default]
    F32,
    /// 8 bytes, to 5e-4 of each displacement
    F16,
}

/// Stands in [`ModelTables::frames`] for the heaviest joint of each vertex.
pub const HEAVIEST: u32 = u32::MAX;

/// A vertex at rest and where its lists begin; they end where those of the next record begin.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct VertexRecord {
    /// about [`ModelTables::centre`]
    pub position: [f32; 3],
    /// unit length
    pub normal: [f32; 3],
    /// into the influences
    pub first_influence: u32,
    /// into the displacements: of positions, before skinning
    pub first_before: u32,
    /// into the displacements: of normals
    pub first_turning: u32,
    /// into the displacements: of positions, after skinning
    pub first_after: u32,
}

/// A joint that carries a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct InfluenceRecord {
    /// the number of joints itself stands for "does not move"
    pub joint: u32,
    /// those of a vertex add up to one
    pub weight: f32,
}

/// What a GPU multiplies stored displacements with: a coordinate of the model, times a scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slot {
    /// coordinate of the model
    pub component: u32,
    /// a power of two; one in 32-bit storage
    pub scale: f32,
}

/// All that does not depend on the pose.
#[derive(Debug, Clone)]
pub struct ModelTables {
    rig: Arc<Rig>,
    storage: Storage,
    skinning: BaseSkinning,
    component_count: usize,
    has_after: bool,
    centre: DVec3,
    vertices: Vec<VertexRecord>,
    influences: Vec<InfluenceRecord>,
    displacements: Vec<[u32; 2]>,
    frames: Vec<u32>,
    slots: Vec<Slot>,
    tangents: Vec<[f32; 4]>,
}

impl ModelTables {
    /// Brings `model` into the order of the GPU, with rest tangents (`vertex`, w the sign of the
    /// bitangent) or none.
    pub fn new(model: &Model, storage: Storage, tangents: &[Vec4]) -> Result<Self, GpuError> {
        let skinning = match model.base() {
            Base::Skinning(skinning) => *skinning,
            Base::Deformers(stack) => return Err(GpuError::Deformers { name: stack.name.clone() }),
        };
        let rig = model.rig();
        if !tangents.is_empty() && tangents.len() != rig.vertex_count() {
            return Err(GpuError::TangentCount { given: tangents.len(), vertices: rig.vertex_count() });
        }
        let parts = parts_of(model, storage);
        let slots: Vec<Slot> = slots_of(&parts, storage, model.component_count());
        if storage == Storage::F16 && slots.len() > 1 << 16 {
            return Err(GpuError::TooManyCoordinates { count: slots.len() });
        }
        let mut frames = vec![rig.skeleton().joint_count() as u32; slots.len()];
        for part in parts.iter().filter(|part| part.list == List::After) {
            frames[part.first_slot..part.first_slot + part.layer.component_count()]
                .fill(frame_joint(rig, part.layer));
        }
        let centre = rig.mesh().bounds().centre;
        let mut tables = Self {
            rig: rig.clone(),
            storage,
            skinning,
            component_count: model.component_count(),
            has_after: parts.iter().any(|part| part.list == List::After),
            centre,
            vertices: Vec::with_capacity(rig.vertex_count() + 1),
            influences: Vec::new(),
            displacements: Vec::new(),
            frames,
            slots,
            tangents: tangents.iter().map(Vec4::to_array).collect(),
        };
        tables.fill(&parts)?;
        Ok(tables)
    }

    fn fill(&mut self, parts: &[Part]) -> Result<(), GpuError> {
        let rig = self.rig.clone();
        let still = rig.skeleton().joint_count() as u32;
        // Supports rise, so each part is walked once.
        let mut next = vec![0; parts.len()];
        for vertex in 0..=rig.vertex_count() {
            let at_rest =
                rig.mesh().positions().get(vertex).map_or(DVec3::ZERO, |p| p.as_dvec3() - self.centre);
            let mut record = VertexRecord {
                position: at_rest.as_vec3().to_array(),
                normal: rig.mesh().normals().get(vertex).copied().unwrap_or_default().to_array(),
                first_influence: self.influences.len() as u32,
                ..VertexRecord::zeroed()
            };
            for list in [List::Before, List::Turning, List::After] {
                let first = self.entry_count();
                match list {
                    List::Before => record.first_before = first,
                    List::Turning => record.first_turning = first,
                    List::After => record.first_after = first,
                }
                for (part, next) in parts.iter().zip(&mut next).filter(|(part, _)| part.list == list) {
                    if part.layer.support.get(*next).is_some_and(|&v| v as usize == vertex) {
                        self.push_displacements(part, *next);
                        *next += 1;
                    }
                }
            }
            self.vertices.push(record);
            if vertex < rig.vertex_count() {
                self.push_influences(vertex, still);
            }
        }
        // Indices in the kernels count words of eight bytes.
        let limit = u64::from(u32::MAX);
        let size = self.displacements.len().max(self.influences.len()) as u64;
        if size > limit { Err(GpuError::TooLarge { what: "displacements", size, limit }) } else { Ok(()) }
    }

    fn push_influences(&mut self, vertex: usize, still: u32) {
        let own = self.rig.weights().of(vertex);
        match (own, self.skinning) {
            ([], _) => self.influences.push(InfluenceRecord { joint: still, weight: 1.0 }),
            ([heaviest, ..], BaseSkinning::Rigid) => {
                self.influences.push(InfluenceRecord { joint: heaviest.joint, weight: 1.0 });
            }
            _ => self
                .influences
                .extend(own.iter().map(|i| InfluenceRecord { joint: i.joint, weight: i.weight })),
        }
    }

    fn push_displacements(&mut self, part: &Part, entry: usize) {
        for component in 0..part.layer.component_count() {
            let slot = part.first_slot + component;
            let vector = part.fields[component * part.layer.support.len() + entry] / self.slots[slot].scale;
            self.push_words(slot as u32, vector);
        }
    }

    fn push_words(&mut self, slot: u32, vector: Vec3) {
        match self.storage {
            Storage::F32 => {
                let [x, y, z] = vector.to_array().map(f32::to_bits);
                self.displacements.extend([[slot, x], [y, z]]);
            }
            Storage::F16 => {
                let [x, y, z] = vector.to_array().map(|value| u32::from(f16::from_f32(value).to_bits()));
                self.displacements.push([slot | x << 16, y | z << 16]);
            }
        }
    }

    fn entry_count(&self) -> u32 {
        (self.displacements.len() / self.words_per_entry()) as u32
    }

    fn words_per_entry(&self) -> usize {
        match self.storage {
            Storage::F32 => 2,
            Storage::F16 => 1,
        }
    }

    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// How displacements are stored.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// The base is dual quaternions; otherwise blended matrices.
    pub fn is_dual_quaternion(&self) -> bool {
        self.skinning == BaseSkinning::DualQuaternion
    }

    /// Coordinates that the model's drivers give.
    pub fn component_count(&self) -> usize {
        self.component_count
    }

    /// Rest positions and the maps of joints are about here.
    pub fn centre(&self) -> DVec3 {
        self.centre
    }

    /// `vertex + 1`: the last record only closes lists
    pub fn vertices(&self) -> &[VertexRecord] {
        &self.vertices
    }

    /// at least one per vertex, the heaviest first
    pub fn influences(&self) -> &[InfluenceRecord] {
        &self.influences
    }

    /// F32: two elements each, (slot, x) and (y, z). F16: one, slot and x, y and z, the first lower.
    pub fn displacements(&self) -> &[[u32; 2]] {
        &self.displacements
    }

    /// `slot`: the joint in whose axes it is added after skinning, or [`HEAVIEST`]
    pub fn frames(&self) -> &[u32] {
        &self.frames
    }

    /// `slot`: what is uploaded as a coordinate
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// `vertex`, or none
    pub fn tangents(&self) -> &[[f32; 4]] {
        &self.tangents
    }

    /// There are layers after skinning.
    pub fn has_after(&self) -> bool {
        self.has_after
    }

    /// `vec4`s per joint.
    pub fn joint_stride(&self) -> usize {
        match (self.is_dual_quaternion(), self.has_after) {
            (true, _) => 5,
            (false, true) => 4,
            (false, false) => 3,
        }
    }

    /// Floats of a posed vertex: position, normal, tangent if there are any.
    pub fn posed_stride(&self) -> usize {
        if self.tangents.is_empty() { 6 } else { 10 }
    }

    /// Bytes that a frame reads per vertex, on average: its record, joints, displacements and tangent.
    pub fn bytes_per_vertex(&self) -> f64 {
        let count = self.vertices.len() - 1;
        let lists = size_of_val(&self.influences[..])
            + size_of_val(&self.displacements[..])
            + size_of_val(&self.tangents[..]);
        if count == 0 { 0.0 } else { size_of::<VertexRecord>() as f64 + lists as f64 / count as f64 }
    }

    /// Bytes that a frame uploads per instance: joints and coordinates.
    pub fn bytes_per_instance(&self) -> usize {
        (self.rig.skeleton().joint_count() + 1) * self.joint_stride() * size_of::<[f32; 4]>()
            + self.slots.len() * size_of::<f32>()
    }
}

/// Which list of a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Before,
    Turning,
    After,
}

/// A layer's positions or normals.
struct Part<'a> {
    layer: &'a Layer,
    list: List,
    /// `component × support`
    fields: &'a [Vec3],
    first_component: usize,
    first_slot: usize,
}

fn parts_of(model: &Model, storage: Storage) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut first_component = 0;
    // Positions and normals of one coordinate differ in size by the unit of length: 16-bit storage
    // scales them apart.
    let mut first_normal = model.component_count();
    for layer in model.layers() {
        let list = if layer.stage == Stage::BeforeSkinning { List::Before } else { List::After };
        let positions = &layer.basis.positions[..];
        parts.push(Part { layer, list, fields: positions, first_component, first_slot: first_component });
        // After skinning normals are left alone, as the reference does.
        if list == List::Before && !layer.basis.normals.is_empty() {
            let first_slot = if storage == Storage::F32 { first_component } else { first_normal };
            first_normal += layer.component_count();
            let normals = &layer.basis.normals[..];
            parts.push(Part { layer, list: List::Turning, fields: normals, first_component, first_slot });
        }
        first_component += layer.component_count();
    }
    parts
}

/// Slots of positions, one per component; in 16-bit storage then those of normals.
fn slots_of(parts: &[Part], storage: Storage, component_count: usize) -> Vec<Slot> {
    let mut slots: Vec<Slot> =
        (0..component_count).map(|component| Slot { component: component as u32, scale: 1.0 }).collect();
    if storage == Storage::F32 {
        return slots;
    }
    for part in parts {
        let fields = part.fields.chunks_exact(part.layer.support.len());
        for (component, field) in fields.enumerate() {
            let slot = Slot {
                component: (part.first_component + component) as u32,
                scale: power_of_two_above(field),
            };
            match slots.get_mut(part.first_slot + component) {
                Some(own) => *own = slot,
                None => slots.push(slot),
            }
        }
    }
    slots
}

/// Nothing divided by it is larger than one, and little is lost to the least 16-bit numbers.
fn power_of_two_above(field: &[Vec3]) -> f32 {
    let largest = field.iter().map(|v| v.abs().max_element()).fold(0f32, f32::max);
    if largest > 0.0 { largest.log2().ceil().clamp(-100.0, 126.0).exp2() } else { 1.0 }
}

fn frame_joint(rig: &Rig, layer: &Layer) -> u32 {
    let still = rig.skeleton().joint_count() as u32;
    match layer.stage {
        Stage::BeforeSkinning => still,
        Stage::AfterSkinning { frame: Frame::Root } => {
            rig.skeleton().first_root().map_or(still, |joint| joint as u32)
        }
        Stage::AfterSkinning { frame: Frame::Joint(joint) } => joint as u32,
        Stage::AfterSkinning { frame: Frame::HeaviestJoint } => HEAVIEST,
    }
}
