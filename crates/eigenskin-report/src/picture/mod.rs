//! Pictures of posed skins: panels side by side with captions, one camera, one heat scale.
//!
//! Panels are painted on the CPU, where the same input gives the same bytes, whatever the number of
//! threads, or by another [`PanelPainter`].

mod camera;
mod canvas;
mod colour;
mod cutouts;
mod layout;
mod legend;
mod lighting;
pub mod painter;
mod panel;
mod raster;
mod text;

use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::progress::Cancelled;

use camera::Camera;
use canvas::Canvas;
use layout::Layout;
use legend::{HeatLegend, Legend};
use painter::PanelPainter;
use panel::{Stage, draw_panel};

pub use cutouts::{Cutouts, direction_keys, draw_cutouts, heat_colours, mixed_colour};

/// Widest and highest panel, in pixels.
const LARGEST_PANEL: usize = 8192;

/// One shape of the mesh, to be shown beside others.
#[derive(Debug, Clone)]
pub struct Panel<'a> {
    /// Words below the panel. Lines after the first line break are set smaller.
    pub caption: String,
    /// `vertex`
    pub positions: &'a [Vec3],
    /// `vertex`, unit length
    pub normals: &'a [Vec3],
    /// What the surface shows.
    pub surface: Surface<'a>,
}

/// What a surface shows.
#[derive(Debug, Clone, Copy)]
pub enum Surface<'a> {
    /// Plain clay.
    Skin,
    /// How far each vertex is off; a legend is drawn beside the panels.
    Heat {
        /// `vertex`, in the unit of [`HeatScale::label`]
        errors: &'a [f32],
    },
    /// Displacement vectors: x, y and z as red, green and blue around grey (EigenSkin, Figure 5).
    Displacement {
        /// `vertex`
        vectors: &'a [Vec3],
        /// length of a component that is fully bright
        scale: f32,
    },
    /// A colour of its own for every vertex, such as that of the part it belongs to.
    Colours {
        /// `vertex`, sRGB
        colours: &'a [[u8; 3]],
    },
}

/// From where to look. The picture is framed by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// From the shape toward the eye; any length. Default: +z.
    pub from_direction: Vec3,
    /// What is up in the picture. Default: +y.
    pub up: Vec3,
    /// Half the size of the shape over the distance of the eye: 0 is orthographic, 0.2 (the
    /// default) a mild telephoto lens.
    pub perspective: f32,
}

impl Default for View {
    fn default() -> Self {
        Self { from_direction: Vec3::Z, up: Vec3::Y, perspective: 0.2 }
    }
}

/// Colours around the shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Dark letters on white, as on paper.
    #[default]
    Light,
    /// Dark background.
    Dark,
}

impl Background {
    fn paper(self) -> [u8; 3] {
        match self {
            Self::Light => [255, 255, 255],
            Self::Dark => [22, 24, 29],
        }
    }

    fn ink(self) -> [u8; 3] {
        match self {
            Self::Light => [38, 40, 44],
            Self::Dark => [228, 229, 232],
        }
    }

    fn pale_ink(self) -> [u8; 3] {
        match self {
            Self::Light => [104, 108, 116],
            Self::Dark => [158, 162, 170],
        }
    }
}

/// The scale of all heat maps in a picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatScale {
    /// Error that gets the last colour; larger ones are drawn like it, and the legend says so.
    /// Default: the largest error shown, rounded up.
    pub maximum: Option<f32>,
    /// What is measured and in which unit, such as "error (mm)"; drawn along the legend.
    pub label: String,
}

/// How to draw a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureParams {
    /// Width of a panel in pixels. Default: 480.
    pub panel_width: usize,
    /// Height of a panel in pixels, without its caption. Default: 480.
    pub panel_height: usize,
    /// Panels in a row. Default: 4.
    pub columns: usize,
    /// Size of the captions' letters (their em) in pixels. Default: 20.
    pub text_size: f32,
    /// From where to look.
    pub view: View,
    /// Vertices to look at from near; the picture is framed on them with some of what is around.
    /// Default: none, which frames the whole.
    pub focus: Vec<u32>,
    /// Points to frame instead of what is shown, so that pictures of a sequence stand still. Default: none.
    pub framed: Vec<Vec3>,
    /// Light or dark. Default: light.
    pub background: Background,
    /// The scale of the heat maps.
    pub heat: HeatScale,
    /// Draw lines along all edges. Default: no.
    pub wireframe: bool,
}

impl Default for PictureParams {
    fn default() -> Self {
        Self {
            panel_width: 480,
            panel_height: 480,
            columns: 4,
            text_size: 20.0,
            view: View::default(),
            focus: Vec::new(),
            framed: Vec::new(),
            background: Background::default(),
            heat: HeatScale::default(),
            wireframe: false,
        }
    }
}

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// There is nothing to draw.
    #[error("a picture needs at least one panel")]
    NoPanels,
    /// A size of zero, or one that no memory would hold.
    #[error(
        "a panel of {width} × {height} pixels cannot be drawn; use sizes from 1 to {LARGEST_PANEL} pixels"
    )]
    PanelSize {
        /// pixels asked for
        width: usize,
        /// pixels asked for
        height: usize,
    },
    /// Letters must have a size.
    #[error("letters of {size} pixels cannot be drawn; use a size from 4 to 400 pixels")]
    TextSize {
        /// pixels asked for
        size: f32,
    },
    /// The heat scale needs a top above zero.
    #[error("the heat scale cannot end at {maximum}; give a number above zero or leave it out")]
    HeatMaximum {
        /// the value asked for
        maximum: f32,
    },
    /// A vertex to look at that does not exist.
    #[error("the picture cannot look at vertex {vertex} of a mesh of {vertices} vertices")]
    Focus {
        /// index asked for
        vertex: u32,
        /// vertices there are
        vertices: usize,
    },
    /// An array that does not belong to the mesh.
    #[error("panel {panel} ({caption}) has {given} {what}s for a mesh of {vertices} vertices")]
    Length {
        /// index of the panel
        panel: usize,
        /// its caption
        caption: String,
        /// what the array holds
        what: &'static str,
        /// values in it
        given: usize,
        /// values it should have
        vertices: usize,
    },
    /// NaN or infinity.
    #[error("panel {panel} ({caption}): the {what} of vertex {vertex} is not a finite number")]
    NotFinite {
        /// index of the panel
        panel: usize,
        /// its caption
        caption: String,
        /// what the array holds
        what: &'static str,
        /// index into it
        vertex: usize,
    },
    /// Pictures of an animation must be of one size.
    #[error(
        "frame {frame} of an animation has another size than the first; give all frames the same captions and legend"
    )]
    FrameSize {
        /// index of the frame
        frame: usize,
    },
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// What paints the panels failed.
    #[error("a panel could not be painted: {0}")]
    Painter(String),
    /// The PNG could not be written.
    #[error("the picture could not be written as a PNG: {0}")]
    Encoding(#[from] png::EncodingError),
}

/// Draws `panels`, which all show `mesh` in some shape, side by side, with one camera framed on all
/// of them. Returns a PNG file (8-bit sRGB).
pub fn draw_panels(
    painter: &dyn PanelPainter,
    mesh: &Mesh,
    panels: &[Panel],
    params: &PictureParams,
) -> Result<Vec<u8>, PictureError> {
    draw(painter, mesh, panels, params)?.into_png()
}

/// Draws a picture for every entry of `frames`, each from where it says, as an animated PNG of `rate`
/// frames per second that starts over and over. Give [`PictureParams::framed`], or the camera follows the
/// shape.
pub fn draw_animation(
    painter: &dyn PanelPainter,
    mesh: &Mesh,
    frames: &[(Vec<Panel>, View)],
    params: &PictureParams,
    rate: u16,
) -> Result<Vec<u8>, PictureError> {
    let mut params = params.clone();
    let mut drawn: Vec<Canvas> = Vec::with_capacity(frames.len());
    for (panels, view) in frames {
        params.view = *view;
        drawn.push(draw(painter, mesh, panels, &params)?);
    }
    if let Some(frame) = drawn.iter().position(|f| (f.width, f.height) != (drawn[0].width, drawn[0].height)) {
        return Err(PictureError::FrameSize { frame });
    }
    canvas::animated_png(&drawn, rate)
}

fn draw(
    painter: &dyn PanelPainter,
    mesh: &Mesh,
    panels: &[Panel],
    params: &PictureParams,
) -> Result<Canvas, PictureError> {
    check(mesh, panels, params)?;
    let legend = legend_of(panels, &params.heat);
    let layout = Layout::new(panels, legend.as_ref(), params);
    let mut canvas = Canvas::new(layout.width, layout.height, params.background.paper());

    let camera = camera_of(panels, params);
    let stage = Stage::new(mesh, &camera, params, legend.as_ref().and_then(Legend::heat_maximum));
    for (index, panel) in panels.iter().enumerate() {
        let (left, top) = layout.corner(index, params);
        canvas.put(left, top, params.panel_width, &draw_panel(painter, panel, &stage)?);
        layout.draw_caption(&mut canvas, index, params);
    }
    if let Some(legend) = legend {
        let place = layout.legend_place(params);
        legend.draw(&mut canvas, &layout.small, &place);
    }
    Ok(canvas)
}

/// The camera that frames all panels, or what they show of the vertices in focus.
fn camera_of(panels: &[Panel], params: &PictureParams) -> Camera {
    let shapes: Vec<&[Vec3]> = panels.iter().map(|panel| panel.positions).collect();
    let in_focus: Vec<Vec3> =
        shapes.iter().flat_map(|shape| params.focus.iter().map(|&vertex| shape[vertex as usize])).collect();
    // A little air, so that smoothed edges are not cut; more where there is something around.
    let share = if in_focus.is_empty() { 0.02 } else { 0.14 };
    let margin = share * params.panel_width.min(params.panel_height) as f64;
    let (width, height) = (params.panel_width as f64, params.panel_height as f64);
    let framed = match (in_focus.is_empty(), params.framed.is_empty()) {
        (false, _) => &[in_focus.as_slice()],
        (true, false) => &[params.framed.as_slice()],
        (true, true) => &shapes[..],
    };
    Camera::framing(framed, &shapes, &params.view, width, height, margin)
}

/// The legend that panels share: of the heat maps if there are any, else of displacements.
fn legend_of(panels: &[Panel], scale: &HeatScale) -> Option<Legend> {
    let errors: Vec<&[f32]> = panels
        .iter()
        .filter_map(|panel| match panel.surface {
            Surface::Heat { errors } => Some(errors),
            _ => None,
        })
        .collect();
    if errors.is_empty() {
        let shows_displacements = |panel: &Panel| matches!(panel.surface, Surface::Displacement { .. });
        return panels.iter().any(shows_displacements).then_some(Legend::Directions);
    }
    let largest = errors.iter().flat_map(|errors| errors.iter()).copied().fold(0.0, f32::max);
    let maximum = scale.maximum.unwrap_or_else(|| legend::round_maximum(largest));
    Some(Legend::Heat(HeatLegend { maximum, exceeded: largest > maximum, label: scale.label.clone() }))
}

fn check(mesh: &Mesh, panels: &[Panel], params: &PictureParams) -> Result<(), PictureError> {
    check_params(params)?;
    if panels.is_empty() {
        return Err(PictureError::NoPanels);
    }
    let vertices = mesh.vertex_count();
    if let Some(&vertex) = params.focus.iter().find(|&&vertex| vertex as usize >= vertices) {
        return Err(PictureError::Focus { vertex, vertices });
    }
    panels.iter().enumerate().try_for_each(|(index, panel)| check_panel(mesh, index, panel))
}

fn check_params(params: &PictureParams) -> Result<(), PictureError> {
    let (width, height) = (params.panel_width, params.panel_height);
    if !(1..=LARGEST_PANEL).contains(&width) || !(1..=LARGEST_PANEL).contains(&height) {
        return Err(PictureError::PanelSize { width, height });
    }
    if !(4.0..=400.0).contains(&params.text_size) {
        return Err(PictureError::TextSize { size: params.text_size });
    }
    match params.heat.maximum {
        Some(maximum) if !(maximum.is_finite() && maximum > 0.0) => {
            Err(PictureError::HeatMaximum { maximum })
        }
        _ => Ok(()),
    }
}

fn check_panel(mesh: &Mesh, index: usize, panel: &Panel) -> Result<(), PictureError> {
    let vertices = mesh.vertex_count();
    let check = |what: &'static str, given: usize, culprit: Option<usize>| {
        let caption = panel.caption.clone();
        if given != vertices {
            return Err(PictureError::Length { panel: index, caption, what, given, vertices });
        }
        match culprit {
            Some(vertex) => Err(PictureError::NotFinite { panel: index, caption, what, vertex }),
            None => Ok(()),
        }
    };
    let odd = |vectors: &[Vec3]| vectors.iter().position(|v| !v.is_finite());
    check("position", panel.positions.len(), odd(panel.positions))?;
    check("normal", panel.normals.len(), odd(panel.normals))?;
    match panel.surface {
        Surface::Skin => Ok(()),
        Surface::Heat { errors } => check("error", errors.len(), errors.iter().position(|e| !e.is_finite())),
        Surface::Displacement { vectors, .. } => check("displacement", vectors.len(), odd(vectors)),
        Surface::Colours { colours } => check("colour", colours.len(), None),
    }
}
