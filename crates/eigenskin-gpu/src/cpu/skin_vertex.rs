//! Twin of `shaders/skin_vertex.wgsl`.

use eigenskin_core::glam::{Mat4, Vec4};

use super::{PosedVertex, posed_vertex};
use crate::frame::FrameTables;
use crate::tables::ModelTables;

/// What a fragment shader gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// in clip space
    pub clip: Vec4,
    /// in the space of the pose
    pub posed: PosedVertex,
}

/// Poses a vertex inside a draw.
pub fn skin_vertex(
    tables: &ModelTables,
    frame: &FrameTables,
    clip_from_world: Mat4,
    vertex: usize,
    instance: usize,
) -> Shown {
    let posed = posed_vertex(tables, frame, vertex, instance);
    Shown { clip: clip_from_world * posed.position.extend(1.0), posed }
}
