//! Pictures without a window: lit or coloured shapes as RGBA bytes with a clear background.
//!
//! The look is that of the report's pictures: soft studio light that stands still against the camera,
//! folds that lose light, a thin outline. [`Renderer::draw`] only paints: where things stand in a
//! picture, captions and legends are the caller's.

mod camera;
mod lighting;
mod live;
mod openness;
#[cfg(feature = "report")]
mod painter;
mod pipelines;
mod renderer;

use eigenskin_core::glam::Vec3;

pub use camera::{Camera, Projection};
pub use lighting::Lighting;
pub use live::{Background, LiveFrame, LiveRenderer, LiveSurface};
#[cfg(feature = "report")]
pub use painter::GpuPainter;
pub use renderer::{LinearPicture, Renderer};

use crate::context::GpuError;

/// A shape to draw. Triangles that turn counter-clockwise are seen from outside.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// `vertex`
    pub positions: &'a [Vec3],
    /// `vertex`, unit length
    pub normals: &'a [Vec3],
    /// `triangle`
    pub triangles: &'a [[u32; 3]],
    /// what the surface shows
    pub surface: Surface<'a>,
    /// what the shape hides of its own light
    pub openness: Openness<'a>,
    /// lines along all edges; default: none
    pub wireframe: Option<Wireframe>,
    /// the light; default: a soft studio
    pub lighting: Lighting,
}

/// What a surface shows. Colours are linear light, red, green and blue from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub enum Surface<'a> {
    /// matt, of one colour, with a soft gleam
    Clay {
        /// its colour
        colour: Vec3,
        /// brightness of the inside, where a shape is open
        inside: f32,
    },
    /// colours that carry a value: shaded gently, so that a legend can be read off them
    Colours {
        /// `vertex`
        colours: &'a [Vec3],
    },
}

impl Surface<'_> {
    /// The clay of the report's pictures.
    pub const SKIN: Self = Self::Clay { colour: Vec3::new(0.686_7, 0.423_3, 0.304_99), inside: 0.6 };
}

/// What the shape hides of its own light.
#[derive(Debug, Clone, Copy)]
pub enum Openness<'a> {
    /// found on the GPU, from depth maps of 160 directions
    Computed,
    /// `vertex`: shares of light and of the hemisphere on the side of the normal, then on the other side
    Given(&'a [[f32; 4]]),
    /// nothing
    Everywhere,
}

/// Lines along all edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wireframe {
    /// linear light
    pub colour: Vec3,
    /// 0 to 1
    pub opacity: f32,
    /// pixels
    pub width: f32,
}

impl Default for Wireframe {
    fn default() -> Self {
        Self { colour: Vec3::splat(0.02), opacity: 0.55, width: 0.7 }
    }
}

/// How large and how fine to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawParams {
    /// pixels
    pub width: u32,
    /// pixels
    pub height: u32,
    /// samples per pixel, across and down; fewer are taken where memory would not hold them. Default: 4
    pub samples: u32,
    /// draw a thin line around shapes, and around parts that stand before others. Default: yes
    pub outline: bool,
}

impl Default for DrawParams {
    fn default() -> Self {
        Self { width: 480, height: 480, samples: 4, outline: true }
    }
}

impl<'a> Scene<'a> {
    /// A shape of clay.
    pub fn new(positions: &'a [Vec3], normals: &'a [Vec3], triangles: &'a [[u32; 3]]) -> Self {
        Self {
            positions,
            normals,
            triangles,
            surface: Surface::SKIN,
            openness: Openness::Computed,
            wireframe: None,
            lighting: Lighting::STUDIO,
        }
    }

    fn check(&self) -> Result<(), GpuError> {
        let vertices = self.positions.len();
        let mut lists = vec![("normals", self.normals.len())];
        if let Surface::Colours { colours } = self.surface {
            lists.push(("colours", colours.len()));
        }
        if let Openness::Given(shares) = self.openness {
            lists.push(("shares of light", shares.len()));
        }
        if let Some(&(what, given)) = lists.iter().find(|(_, given)| *given != vertices) {
            return Err(GpuError::ShapeLength { what, given, vertices });
        }
        for (triangle, corners) in self.triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertices) {
                return Err(GpuError::NoSuchVertex { triangle, vertex, vertices });
            }
        }
        Ok(())
    }
}
