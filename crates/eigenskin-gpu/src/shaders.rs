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

/// Draws a lit shape; entry points `surface_vertex` and `surface_fragment`.
pub const SURFACE: &str = include_str!("shaders/surface.wgsl");

/// Texels of light to pixels; entry point `resolve`.
pub const RESOLVE: &str = include_str!("shaders/resolve.wgsl");

/// What each vertex sees of a sky; entry points `openness_depth` and `openness`.
pub const OPENNESS: &str = include_str!("shaders/openness.wgsl");

/// Draws a lit shape from posed vertices; entry points `live_vertex` and `surface_fragment`.
pub const LIVE_SURFACE: &str =
    concat!(include_str!("shaders/surface.wgsl"), include_str!("shaders/live_surface.wgsl"));

/// A moving shape before its background; entry points `whole_picture` and `live_resolve`.
pub const LIVE_RESOLVE: &str = include_str!("shaders/live_resolve.wgsl");
