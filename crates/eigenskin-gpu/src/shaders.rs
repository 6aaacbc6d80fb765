//! The kernels' texts, whole: each can be read, and compiled by any WebGPU, as it is.
//!
//! What both kernels of the vertex program do to one vertex stands once, in
//! `shaders/posed_vertex.wgsl`; a kernel is that text followed by its own file.

/// Poses all vertices of all instances into a vertex buffer; entry point `skin_compute`.
pub const SKIN_COMPUTE: &str =
    concat!(include_str!("shaders/posed_vertex.wgsl"), include_str!("shaders/skin_compute.wgsl"));

/// Poses vertices inside the draw; entry point `skin_vertex`.
pub const SKIN_VERTEX: &str =
    concat!(include_str!("shaders/posed_vertex.wgsl"), include_str!("shaders/skin_vertex.wgsl"));
