//! A model that is played over and over, two poses in turn.

use std::sync::Arc;

use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::packed::{
    Block, Output, PackParams, PackReport, PackedEvaluator, PackedModel, Path, Storage, VertexLayout,
};
use eigenskin_core::pose::Pose;
use rayon::ThreadPool;

use super::{SpeedError, pose};

/// Where frames go; always with normals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// packed order
    Blocks,
    /// the caller's vertex order
    Arrays,
    /// one vertex buffer, eight floats a vertex
    Interleaved,
    /// nowhere: drivers only
    Drivers,
}

/// Position, normal and two floats for something else.
const LAYOUT: VertexLayout = VertexLayout { stride: 8, position: 0, normal: Some(3), tangent: None };

/// An evaluator with its poses and buffers.
pub struct Player {
    evaluator: PackedEvaluator,
    poses: [Pose; 2],
    turn: usize,
    into: Target,
    blocks: [Vec<Block>; 2],
    arrays: [Vec<Vec3>; 2],
    floats: Vec<f32>,
}

/// Packs a model.
pub fn packed(model: &Model, storage: Storage) -> Result<Arc<PackedModel>, SpeedError> {
    Ok(Arc::new(PackedModel::new(model, &PackParams { storage })?))
}

impl Player {
    /// Plays `packed` with the fastest instructions, or those of `path`.
    pub fn new(packed: &Arc<PackedModel>, into: Target, path: Option<Path>) -> Self {
        let rig = packed.rig().clone();
        let path = path.unwrap_or(Path::fastest());
        let evaluator = PackedEvaluator::with_path(packed.clone(), path);
        let evaluator = evaluator.unwrap_or_else(|| PackedEvaluator::new(packed.clone()));
        let room = |of: Target, count: usize| if into == of { count } else { 0 };
        let blocks = vec![Block::default(); room(Target::Blocks, packed.block_count())];
        let arrays = vec![Vec3::ZERO; room(Target::Arrays, rig.vertex_count())];
        Self {
            evaluator,
            poses: [pose(&rig, 0.1), pose(&rig, -0.15)],
            turn: 0,
            into,
            blocks: [blocks.clone(), blocks],
            arrays: [arrays.clone(), arrays],
            floats: vec![0.0; room(Target::Interleaved, rig.vertex_count() * LAYOUT.stride)],
        }
    }

    /// The same with threads.
    #[must_use]
    pub fn with_threads(mut self, pool: &Arc<ThreadPool>) -> Self {
        self.evaluator = self.evaluator.with_threads(pool.clone());
        self
    }

    /// Plays one frame.
    pub fn frame(&mut self) {
        self.turn = 1 - self.turn;
        let pose = &self.poses[self.turn];
        match self.into {
            Target::Blocks => {
                let [positions, normals] = &mut self.blocks;
                let output = Output::Blocks { positions, normals: Some(normals), tangents: None };
                self.evaluator.evaluate_to(pose, output);
                std::hint::black_box(&self.blocks);
            }
            Target::Arrays => {
                let [positions, normals] = &mut self.arrays;
                self.evaluator.evaluate(pose, positions, Some(normals));
                std::hint::black_box(&self.arrays);
            }
            Target::Interleaved => {
                let output = Output::Interleaved { floats: &mut self.floats, layout: LAYOUT };
                self.evaluator.evaluate_to(pose, output);
                std::hint::black_box(&self.floats);
            }
            Target::Drivers => {
                std::hint::black_box(self.evaluator.drive(pose));
            }
        }
    }
}

/// Bytes that a frame in packed order reads and writes, with normals.
pub fn bytes_touched(report: &PackReport) -> f64 {
    report.bytes_per_vertex * report.vertices as f64 + 24.0 * (report.blocks * 8) as f64
}
