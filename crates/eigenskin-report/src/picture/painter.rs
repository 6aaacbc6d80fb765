//! The step of a picture that can be done elsewhere: painting one panel into pixels. Framing, captions,
//! legends and backgrounds stay here, so that pictures look alike whoever paints.

use eigenskin_core::glam::{DVec3, Vec3};

use super::colour::{displacement_colour, heat_colour, linear_from_bytes};
use super::panel::{self, Stage};
use super::{Panel, PictureError, Surface};

/// Paints panels.
pub trait PanelPainter {
    /// Paints one panel.
    fn paint(&self, scene: &PanelScene) -> Result<PaintedPanel, PictureError>;
}

/// Paints on the CPU: the same bits everywhere, whatever the number of threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuPainter;

impl PanelPainter for CpuPainter {
    fn paint(&self, scene: &PanelScene) -> Result<PaintedPanel, PictureError> {
        Ok(panel::paint(scene.panel, scene.stage))
    }
}

/// What a painter sees of a picture.
pub struct PanelScene<'a> {
    pub(super) panel: &'a Panel<'a>,
    pub(super) stage: &'a Stage<'a>,
}

/// A painted panel.
#[derive(Debug, Clone)]
pub struct PaintedPanel {
    /// `row × column`
    pub pixels: Vec<PaintedPixel>,
    /// samples per pixel
    pub samples: u32,
}

/// A painted pixel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PaintedPixel {
    /// sum over the covered samples, linear light
    pub light: Vec3,
    /// samples on the shape
    pub covered: u32,
}

/// A camera in pixels: a point p at distance t = (p − centre) · toward lands
/// `pixels_per_unit` · (p − centre) · right / (1 − t · `inverse_distance`) right of `offset`; down likewise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PanelProjection {
    /// right, up and toward the viewer, at right angles
    pub axes: [DVec3; 3],
    /// what is looked at
    pub centre: DVec3,
    /// half the size of what is looked at
    pub radius: f64,
    /// 1 / distance of the eye from the centre; zero is orthographic
    pub inverse_distance: f64,
    /// at the centre
    pub pixels_per_unit: f64,
    /// pixels of the centre from the left and from the top
    pub offset: [f64; 2],
}

impl PanelScene<'_> {
    /// The shape.
    pub fn panel(&self) -> &Panel<'_> {
        self.panel
    }

    /// Its triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        self.stage.triangles
    }

    /// Pixels across and down.
    pub fn size(&self) -> [usize; 2] {
        [self.stage.width, self.stage.height]
    }

    /// Whether lines along all edges are wanted.
    pub fn wireframe(&self) -> bool {
        self.stage.wireframe
    }

    /// From where to look.
    pub fn projection(&self) -> PanelProjection {
        self.stage.camera.projection()
    }

    /// Colours that carry a value, linear light: `vertex`. `None` for plain clay.
    pub fn colours(&self) -> Option<Vec<Vec3>> {
        match self.panel.surface {
            Surface::Skin => None,
            Surface::Heat { errors } => {
                Some(errors.iter().map(|error| heat_colour(error / self.stage.heat_maximum)).collect())
            }
            Surface::Displacement { vectors, scale } => {
                Some(vectors.iter().map(|&vector| displacement_colour(vector, scale)).collect())
            }
            Surface::Colours { colours } => {
                Some(colours.iter().map(|&colour| linear_from_bytes(colour)).collect())
            }
        }
    }
}
