//! The fast evaluator: a model prepared once for the processor's vector units.
//!
//! [`PackedModel`] puts vertices that share joints and corrections side by side, eight to a block, as
//! structures of arrays, and stores displacements in 16 or 32 bits. [`PackedEvaluator`] plays it:
//! drivers in `f64` as [`crate::evaluate`] has them, blending and displacements in `f32`.
//! It is compared with that reference in tests; where the two differ, the reference is right.

mod blend;
mod crowd;
mod drivers;
mod evaluator;
mod frame;
mod kernel;
mod lanes;
mod order;
mod output;
mod pack;
mod radial;
mod scalar;
mod storage;
mod subsets;
#[cfg(feature = "rayon")]
mod threads;

pub use crowd::evaluate_crowd;
pub use drivers::PackedDrivers;
pub use evaluator::{PackedEvaluator, Path};
pub use lanes::{Block, LANES};
pub use output::{Output, OutputError, VertexLayout};
#[cfg(feature = "rayon")]
pub use threads::evaluate_crowd_in;

use std::ops::Range;
use std::sync::Arc;

use glam::{DVec3, Vec4};

use crate::deformers::Base;
use crate::model::Model;
use crate::rig::Rig;
use crate::skinning::BaseSkinning;
use drivers::DriverTables;
use lanes::Lanes;
use order::Mover;
use storage::Displacements;

/// How displacements are stored. Rest shape, normals and skin weights are always `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Storage {
    /// 12 bytes per displacement, exact
    F32,
    /// 6 bytes, to 5e-4 of each displacement
    #[default]
    F16,
    /// 6 bytes, to 2e-5 of a component's largest displacement
    I16,
}

/// Choices when a model is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PackParams {
    /// how displacements are stored
    pub storage: Storage,
}

/// What packing made of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PackReport {
    /// vertices of the rig
    pub vertices: usize,
    /// runs of up to 32 blocks with the same joints and corrections
    pub groups: usize,
    /// blocks of eight vertices
    pub blocks: usize,
    /// share of lanes that repeat another vertex to fill a block
    pub padding: f64,
    /// share of skin weights that are zero because unlike vertices stand in one block
    pub zero_weights: f64,
    /// bytes that a frame with normals reads per vertex
    pub bytes_per_vertex: f64,
    /// largest error of a stored displacement or normal correction, as a share of the largest of its
    /// component
    pub storage_error: f64,
}

/// Why a model cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// A chain of deformers moves vertices together; there is no map per vertex to blend.
    #[error(
        "the model's base is the deformer stack {name:?}, which have no map per vertex; pack a model that was fitted on a skinning, or use the reference evaluator"
    )]
    Deformers {
        /// name of the chain
        name: String,
    },
    /// Another number of tangents.
    #[error("there are {found} tangents for {vertices} vertices")]
    Tangents {
        /// tangents given
        found: usize,
        /// vertices of the rig
        vertices: usize,
    },
    /// NaN or infinity.
    #[error("the tangent of vertex {vertex} is not finite")]
    BadTangent {
        /// the vertex
        vertex: usize,
    },
}

/// A model in the order and storage that evaluates fast. Immutable; evaluators share it.
#[derive(Debug)]
pub struct PackedModel {
    rig: Arc<Rig>,
    skinning: BaseSkinning,
    drivers: DriverTables,
    tables: Tables,
    displacements: Displacements,
    report: PackReport,
}

/// Longer runs of alike blocks are cut, so that pieces of a shape can be finished one by one.
const LONGEST_GROUP: usize = 32;
/// Blocks that are skinned before they are put in the caller's order: few enough to stay in the
/// nearest cache.
const PIECE: usize = 2 * LONGEST_GROUP;

/// All that does not depend on the storage of displacements.
#[derive(Debug, Default)]
struct Tables {
    groups: Vec<Group>,
    /// runs of groups of at most [`PIECE`] blocks
    pieces: Vec<Range<usize>>,
    /// joints of all groups; the number of joints itself stands for "does not move"
    movers: Vec<Mover>,
    /// `group → block × joint`, without the first `unweighted` joints of each group
    weights: Vec<Lanes>,
    /// one where maps add up linearly: the first joint's weight is what the others leave of one
    unweighted: usize,
    /// joints of the group that has most
    most_movers: usize,
    /// `block`: rest positions about `centre`
    positions: Vec<Block>,
    /// `block`
    normals: Vec<Block>,
    /// `block`; empty unless given
    tangents: Vec<Block>,
    /// `block`: the side of the third axis, 1 or −1; empty without tangents
    handedness: Vec<Lanes>,
    /// `block`: which of its group's joints is each lane's heaviest
    heaviest: Vec<[u32; LANES]>,
    /// `block`: the vertex of each lane; lanes that fill a block repeat another one's vertex
    vertices: Vec<[u32; LANES]>,
    /// coordinates of all groups' components before skinning
    before: Vec<Coordinate>,
    /// the same of normal corrections
    turning: Vec<Coordinate>,
    /// the same of components after skinning
    after: Vec<Coordinate>,
    /// parts of all groups after skinning
    after_parts: Vec<AfterPart>,
    /// joints whose rotation is needed for corrections after skinning, rising
    frame_joints: Vec<u32>,
    /// Joints act about here: small numbers lose less in `f32`.
    centre: DVec3,
}

/// Consecutive blocks of vertices with the same joints and corrections, at most [`LONGEST_GROUP`].
#[derive(Debug, Default, Clone)]
struct Group {
    first_block: usize,
    block_count: usize,
    movers: Span,
    first_weight: usize,
    before: Span,
    first_before: usize,
    turning: Span,
    first_turning: usize,
    /// all components after skinning, of all parts
    after: Span,
    first_after: usize,
    after_parts: Span,
}

/// A piece of one of the lists above.
#[derive(Debug, Default, Clone, Copy)]
struct Span {
    first: usize,
    count: usize,
}

impl Span {
    fn of<T>(self, list: &[T]) -> &[T] {
        &list[self.first..self.first + self.count]
    }
}

/// What a stored displacement is multiplied with: a coordinate of the model, times a scale.
#[derive(Debug, Clone, Copy)]
struct Coordinate {
    component: u32,
    scale: f32,
}

/// A correction after skinning, in the axes of one joint (the number of joints: axes that stay).
#[derive(Debug, Clone, Copy)]
struct AfterPart {
    frame: u32,
    components: u32,
}

impl PackedModel {
    /// Packs `model`.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "like the parameters of all fits, which grow")]
    pub fn new(model: &Model, params: &PackParams) -> Result<Self, PackError> {
        match model.base() {
            Base::Skinning(skinning) => Ok(pack::pack(model, *skinning, *params)),
            Base::Deformers(stack) => Err(PackError::Deformers { name: stack.name.clone() }),
        }
    }

    /// The same with rest tangents (`vertex`; w is the side of the third axis, as in glTF), so that
    /// posed ones can be asked for.
    pub fn with_tangents(mut self, tangents: &[Vec4]) -> Result<Self, PackError> {
        let vertices = self.rig.vertex_count();
        if tangents.len() != vertices {
            return Err(PackError::Tangents { found: tangents.len(), vertices });
        }
        if let Some(vertex) = tangents.iter().position(|tangent| !tangent.is_finite()) {
            return Err(PackError::BadTangent { vertex });
        }
        (self.tables.tangents, self.tables.handedness) = pack::tangents_of(&self.tables, tangents);
        Ok(self)
    }

    /// Whether posed tangents can be asked for.
    pub fn has_tangents(&self) -> bool {
        self.tables.tangents.len() == self.tables.positions.len() && !self.tables.tangents.is_empty()
    }

    /// What packing made of the model.
    pub fn report(&self) -> &PackReport {
        &self.report
    }

    /// The rig, in the caller's vertex order.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// Blocks of eight vertices: the length of buffers in packed order.
    pub fn block_count(&self) -> usize {
        self.tables.positions.len()
    }

    /// The rig's vertex in each lane, `block`. Lanes that only fill a block repeat another lane's vertex.
    pub fn vertices(&self) -> &[[u32; LANES]] {
        &self.tables.vertices
    }
}
