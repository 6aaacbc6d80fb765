//! The report's pictures, painted here.

use eigenskin_core::glam::Vec4;
use eigenskin_report::picture::PictureError;
use eigenskin_report::picture::painter::{PaintedPanel, PaintedPixel, PanelPainter, PanelScene};

use super::{Camera, DrawParams, Projection, Renderer, Scene, Surface, Wireframe};
use crate::context::GpuContext;

/// Paints panels of the report's pictures on a GPU. They look like those of the CPU, but are not the same
/// to the bit: colours are found at vertices and mixed across triangles, and GPUs round differently.
#[derive(Debug)]
pub struct GpuPainter {
    renderer: Renderer,
}

impl GpuPainter {
    /// Compiles the kernels.
    pub fn new(context: &GpuContext) -> Self {
        Self { renderer: Renderer::new(context) }
    }
}

impl PanelPainter for GpuPainter {
    fn paint(&self, scene: &PanelScene) -> Result<PaintedPanel, PictureError> {
        let panel = scene.panel();
        let projection = scene.projection();
        let [width, height] = scene.size();
        let distances = panel.positions.iter().map(|p| p.as_dvec3().distance(projection.centre));
        let camera = Camera::new(&Projection {
            axes: projection.axes,
            centre: projection.centre,
            radius: projection.radius,
            reach: distances.fold(projection.radius, f64::max),
            inverse_distance: projection.inverse_distance,
            pixels_per_unit: projection.pixels_per_unit,
            offset: projection.offset,
            size: [width as f64, height as f64],
        });
        let colours = scene.colours();
        let surface = match &colours {
            Some(colours) => Surface::Colours { colours },
            None => Surface::SKIN,
        };
        let wireframe = scene.wireframe().then(Wireframe::default);
        let shape =
            Scene { surface, wireframe, ..Scene::new(panel.positions, panel.normals, scene.triangles()) };
        let params = DrawParams { width: width as u32, height: height as u32, ..DrawParams::default() };
        let picture = self
            .renderer
            .draw_linear(&shape, &camera, &params)
            .map_err(|error| PictureError::Painter(error.to_string()))?;
        let samples = picture.samples * picture.samples;
        let pixel = |&mean: &Vec4| {
            let covered = (mean.w * samples as f32).round() as u32;
            PaintedPixel { light: mean.truncate() * covered as f32, covered }
        };
        Ok(PaintedPanel { pixels: picture.pixels.iter().map(pixel).collect(), samples })
    }
}
