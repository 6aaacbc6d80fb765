//! One panel: a posed shape, lit and coloured.

use eigenskin_core::glam::{Vec2, Vec3};
use eigenskin_core::mesh::Mesh;
use rayon::prelude::*;

use super::camera::{Camera, Projected};
use super::colour::{bytes_from_linear, displacement_colour, heat_colour, linear_from_bytes};
use super::lighting::{Openness, Sky};
use super::painter::{PaintedPanel, PaintedPixel, PanelPainter, PanelScene};
use super::raster::{GridPoint, for_each_sample};
use super::{Panel, PictureError, PictureParams, Surface};

/// Samples per pixel, across and down.
const SAMPLES: usize = 3;
/// Rows of pixels that are drawn together: the unit of parallel work.
const BAND_ROWS: usize = 16;
/// The clay of plain skins.
const CLAY: [u8; 3] = [216, 174, 150];
/// Brightness of the clay's inside, where a shape is open.
const INSIDE: f32 = 0.6;
/// Brightness of the thin line around shapes, against the surface it lies on.
const OUTLINE: f32 = 0.45;
/// Width of that line, as a share of the panel's smaller side.
const OUTLINE_WIDTH: f32 = 0.0014;
/// Step in depth that draws a line, as a share of the shape's radius.
const OUTLINE_STEP: f32 = 0.06;
/// Lines along edges, linear light: what `Wireframe::default` is on the GPU.
const LINE: Vec3 = Vec3::splat(0.02);
/// How much of the surface those lines hide.
const LINE_OPACITY: f32 = 0.55;
/// Width of those lines in pixels.
const LINE_WIDTH: f32 = 0.7;
/// Marks a sample where nothing was drawn.
const NOTHING: u32 = u32::MAX;

/// What all panels of a picture have in common.
pub(super) struct Stage<'a> {
    pub triangles: &'a [[u32; 3]],
    pub camera: &'a Camera,
    /// pixels
    pub width: usize,
    /// pixels
    pub height: usize,
    pub background: [u8; 3],
    /// error that gets the last colour of the heat map
    pub heat_maximum: f32,
    /// draw lines along all edges
    pub wireframe: bool,
}

impl<'a> Stage<'a> {
    pub fn new(
        mesh: &'a Mesh,
        camera: &'a Camera,
        params: &PictureParams,
        heat_maximum: Option<f32>,
    ) -> Self {
        Self {
            triangles: mesh.triangles(),
            camera,
            width: params.panel_width,
            height: params.panel_height,
            background: params.background.paper(),
            heat_maximum: heat_maximum.unwrap_or(1.0),
            wireframe: params.wireframe,
        }
    }
}

/// The nearest surface at a sample.
#[derive(Clone, Copy)]
struct Seen {
    depth: f32,
    triangle: u32,
    /// of the second and third corner, on screen
    barycentric: [f32; 2],
}

/// What is seen in some rows of a panel.
struct Band {
    /// `row × column` of samples, `halo` rows above the first one included
    seen: Vec<Seen>,
    width: usize,
    halo: usize,
    /// width of outlines in samples
    reach: usize,
    /// difference of depth that makes an outline
    step: f32,
}

impl Band {
    fn at(&self, row: usize, column: usize) -> &Seen {
        &self.seen[(row + self.halo) * self.width + column]
    }

    /// Whether a covered sample lies at the rim of the shape, or of a part that stands before
    /// another.
    fn is_outline(&self, row: usize, column: usize) -> bool {
        let row = row + self.halo;
        let depth = self.seen[row * self.width + column].depth;
        let (last_row, last_column) = (self.seen.len() / self.width - 1, self.width - 1);
        let neighbours = [
            (row.saturating_sub(self.reach), column),
            ((row + self.reach).min(last_row), column),
            (row, column.saturating_sub(self.reach)),
            (row, (column + self.reach).min(last_column)),
        ];
        // Nothing is infinitely far, so the rim needs no case of its own.
        neighbours
            .into_iter()
            .any(|(row, column)| depth - self.seen[row * self.width + column].depth > self.step)
    }
}

/// Draws a panel: `row × column` in sRGB.
pub(super) fn draw_panel(
    painter: &dyn PanelPainter,
    panel: &Panel,
    stage: &Stage,
) -> Result<Vec<[u8; 3]>, PictureError> {
    let background = linear_from_bytes(stage.background);
    draw(painter, panel, stage, stage.background, |sum, covered, samples| {
        let bare = samples - covered;
        bytes_from_linear((sum + bare as f32 * background) / samples as f32)
    })
}

/// Draws a panel without its background: `row × column` in sRGB with opacity.
pub(super) fn draw_cutout(
    painter: &dyn PanelPainter,
    panel: &Panel,
    stage: &Stage,
) -> Result<Vec<[u8; 4]>, PictureError> {
    draw(painter, panel, stage, [0; 4], |sum, covered, samples| {
        let [red, green, blue] = bytes_from_linear(sum / covered as f32);
        [red, green, blue, (255 * covered / samples) as u8]
    })
}

/// Draws a panel: `row × column`. A pixel is made from the light of its covered samples, their number
/// and that of all samples, or is `empty`.
fn draw<P: Copy>(
    painter: &dyn PanelPainter,
    panel: &Panel,
    stage: &Stage,
    empty: P,
    pixel: impl Fn(Vec3, u32, u32) -> P,
) -> Result<Vec<P>, PictureError> {
    let painted = painter.paint(&PanelScene { panel, stage })?;
    if painted.pixels.len() != stage.width * stage.height {
        let (given, wanted) = (painted.pixels.len(), stage.width * stage.height);
        return Err(PictureError::Painter(format!("{given} pixels were painted of a panel of {wanted}")));
    }
    let finish = |painted_pixel: &PaintedPixel| match *painted_pixel {
        PaintedPixel { covered: 0, .. } => empty,
        PaintedPixel { light, covered } => pixel(light, covered.min(painted.samples), painted.samples),
    };
    Ok(painted.pixels.iter().map(finish).collect())
}

/// Paints a panel on the CPU.
pub(super) fn paint(panel: &Panel, stage: &Stage) -> PaintedPanel {
    let projected: Vec<Projected> =
        panel.positions.iter().map(|p| stage.camera.project(p.as_dvec3())).collect();
    let sky = Sky::new(stage.camera.axes());
    let openness = sky.openness(panel.positions, panel.normals, stage.triangles);
    let radius = stage.camera.radius() as f32;
    let scene = Scene { panel, stage, projected, sky, openness, radius };
    let mut pixels = vec![PaintedPixel::default(); stage.width * stage.height];
    pixels
        .par_chunks_mut(stage.width * BAND_ROWS)
        .enumerate()
        .for_each(|(band, pixels)| scene.draw_band(band * BAND_ROWS, pixels));
    PaintedPanel { pixels, samples: (SAMPLES * SAMPLES) as u32 }
}

struct Scene<'a> {
    panel: &'a Panel<'a>,
    stage: &'a Stage<'a>,
    /// `vertex`
    projected: Vec<Projected>,
    sky: Sky,
    /// `vertex`, on the side of its normal and on the other
    openness: Vec<[Openness; 2]>,
    /// half the size of what the camera frames
    radius: f32,
}

impl Scene<'_> {
    /// Draws the rows from `first_row` on that `pixels` holds.
    fn draw_band(&self, first_row: usize, pixels: &mut [PaintedPixel]) {
        let width = self.stage.width;
        let seen = self.visible_surfaces(first_row, pixels.len() / width);
        for (index, pixel) in pixels.iter_mut().enumerate() {
            let (row, column) = (index / width, index % width);
            let mut sum = Vec3::ZERO;
            let mut covered = 0;
            for sub in 0..SAMPLES * SAMPLES {
                let (sample_row, sample_column) =
                    (row * SAMPLES + sub / SAMPLES, column * SAMPLES + sub % SAMPLES);
                let hit = seen.at(sample_row, sample_column);
                if hit.triangle != NOTHING {
                    let line = if seen.is_outline(sample_row, sample_column) { OUTLINE } else { 1.0 };
                    sum += line * self.shade(hit);
                    covered += 1;
                }
            }
            *pixel = PaintedPixel { light: sum, covered };
        }
    }

    /// The nearest surface at each sample of `row_count` rows of pixels.
    fn visible_surfaces(&self, first_row: usize, row_count: usize) -> Band {
        let sample_width = self.stage.width * SAMPLES;
        let reach = self.outline_reach();
        // Outlines look beyond the band.
        let halo = reach.min(first_row * SAMPLES);
        let rows = first_row * SAMPLES - halo..(first_row + row_count) * SAMPLES + reach;
        let nothing = Seen { depth: f32::NEG_INFINITY, triangle: NOTHING, barycentric: [0.0; 2] };
        let mut seen = vec![nothing; sample_width * rows.len()];
        for (triangle, corners) in self.stage.triangles.iter().enumerate() {
            let places = corners.map(|v| self.projected[v as usize]);
            let grid = places.map(|p| GridPoint::new(p.x * SAMPLES as f64, p.y * SAMPLES as f64));
            for_each_sample(grid, sample_width, &rows, |column, row, b| {
                let depth = (0..3).map(|i| b[i] * places[i].depth).sum::<f64>() as f32;
                let nearest = &mut seen[(row - rows.start) * sample_width + column];
                if depth > nearest.depth {
                    let barycentric = [b[1] as f32, b[2] as f32];
                    *nearest = Seen { depth, triangle: triangle as u32, barycentric };
                }
            });
        }
        Band { seen, width: sample_width, halo, reach, step: OUTLINE_STEP * self.radius }
    }

    /// Width of outlines in samples: a hairline at any size of the panel.
    fn outline_reach(&self) -> usize {
        let pixels = OUTLINE_WIDTH * self.stage.width.min(self.stage.height) as f32;
        ((pixels * SAMPLES as f32).round() as usize).max(1)
    }

    /// Colour of a surface point in linear light.
    fn shade(&self, seen: &Seen) -> Vec3 {
        let corners = self.stage.triangles[seen.triangle as usize].map(|v| v as usize);
        let weights = self.true_weights(seen, corners);
        let mix =
            |values: [Vec3; 3]| values[0] * weights[0] + values[1] * weights[1] + values[2] * weights[2];
        let positions = corners.map(|v| self.panel.positions[v]);
        let flat = mix(positions);
        let to_eye = self.stage.camera.direction_to_eye(flat);

        let face = (positions[1] - positions[0]).cross(positions[2] - positions[0]);
        let outside = face.dot(to_eye) >= 0.0;
        let normal = mix(corners.map(|v| self.panel.normals[v]));
        let normal = (if outside { normal } else { -normal }).normalize_or(to_eye);
        let open = corners.map(|v| self.openness[v][usize::from(!outside)]);
        let open = Openness {
            light: (0..3).map(|i| weights[i] * open[i].light).sum(),
            hemisphere: (0..3).map(|i| weights[i] * open[i].hemisphere).sum(),
        };

        let light = match &self.panel.surface {
            Surface::Skin => {
                let clay = linear_from_bytes(CLAY);
                self.clay(if outside { clay } else { INSIDE * clay }, open, normal, to_eye)
            }
            Surface::Heat { errors } => {
                let error = (0..3).map(|i| weights[i] * errors[corners[i]]).sum::<f32>();
                self.chart(heat_colour(error / self.stage.heat_maximum), open, normal)
            }
            Surface::Displacement { vectors, scale } => {
                let displacement = mix(corners.map(|v| vectors[v]));
                self.chart(displacement_colour(displacement, *scale), open, normal)
            }
            Surface::Colours { colours } => {
                let colour = mix(corners.map(|v| linear_from_bytes(colours[v])));
                self.chart(colour, open, normal)
            }
        };
        if self.stage.wireframe {
            light.lerp(LINE, LINE_OPACITY * self.on_line(seen, corners))
        } else {
            light
        }
    }

    /// How much of a sample lies on the line along an edge of its triangle, 0 to 1.
    fn on_line(&self, seen: &Seen, corners: [usize; 3]) -> f32 {
        let [second, third] = seen.barycentric;
        let inside = [1.0 - second - third, second, third];
        let [a, b, c] = corners.map(|v| {
            let place = self.projected[v];
            Vec2::new(place.x as f32, place.y as f32) * SAMPLES as f32
        });
        let twice_area = (b - a).perp_dot(c - a).abs();
        // Across and down, as GPUs measure how fast a value changes.
        let to_edge = |i: usize, side: Vec2| inside[i] * twice_area / (side.x.abs() + side.y.abs());
        let nearest = to_edge(0, c - b).min(to_edge(1, a - c)).min(to_edge(2, b - a));
        (0.5 * LINE_WIDTH * SAMPLES as f32 - nearest + 0.5).clamp(0.0, 1.0)
    }

    /// Matt clay with a soft gleam, a light rim and warm shadows.
    fn clay(&self, albedo: Vec3, open: Openness, normal: Vec3, to_eye: Vec3) -> Vec3 {
        let half_way = (self.sky.lamp() + to_eye).normalize_or(to_eye);
        let gleam = normal.dot(half_way).max(0.0).powi(24);
        let rim = (1.0 - normal.dot(to_eye).max(0.0)).powi(4);
        // Light that bounces between folds takes the clay's colour with it.
        let bounced = albedo * (1.0 - open.hemisphere) * 0.25;
        let diffuse = self.sky.light_on(normal) * open.light + bounced;
        albedo * diffuse + Vec3::splat(open.hemisphere * (0.05 * gleam + 0.07 * rim))
    }

    /// Colours that carry a value: shaded gently, so that the legend can be read off them.
    fn chart(&self, colour: Vec3, open: Openness, normal: Vec3) -> Vec3 {
        let brightness = self.sky.light_on(normal).dot(Vec3::splat(1.0 / 3.0)) * open.light;
        colour * (0.45 + 0.55 * brightness).min(1.0)
    }

    /// Barycentric weights in space, from those on screen.
    fn true_weights(&self, seen: &Seen, corners: [usize; 3]) -> [f32; 3] {
        let [second, third] = seen.barycentric;
        let scaled = [1.0 - second - third, second, third];
        let scaled: [f32; 3] =
            std::array::from_fn(|i| scaled[i].max(0.0) * self.projected[corners[i]].inverse_w as f32);
        let sum: f32 = scaled.iter().sum();
        scaled.map(|w| w / sum)
    }
}
