//! Twin of `shaders/skin_compute.wgsl`.

use super::posed_vertex;
use crate::frame::FrameTables;
use crate::tables::ModelTables;

/// Poses all vertices of all instances into a vertex buffer: `instance × vertex`, each position (3),
/// normal (3) and tangent (4, if there are any).
///
/// # Panics
/// If the buffer has another length.
pub fn skin_compute(tables: &ModelTables, frame: &FrameTables, posed_vertices: &mut [f32]) {
    let vertices = tables.rig().vertex_count();
    let stride = tables.posed_stride();
    assert_eq!(posed_vertices.len(), frame.instance_count() * vertices * stride, "length of the buffer");
    for (index, to) in posed_vertices.chunks_exact_mut(stride).enumerate() {
        let posed = posed_vertex(tables, frame, index % vertices, index / vertices);
        to[..3].copy_from_slice(&posed.position.to_array());
        to[3..6].copy_from_slice(&posed.normal.to_array());
        if stride == 10 {
            to[6..].copy_from_slice(&posed.tangent.to_array());
        }
    }
}
