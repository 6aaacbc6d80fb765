//! Render: pictures of a model, still or moving, as PNG files.

mod camera;
mod comparison;
mod figures;
mod side_by_side;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::nearest_name;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_io::ReadError;
use eigenskin_report::picture::painter::PanelPainter;
use eigenskin_report::picture::{
    Background, HeatScale, Panel, PictureError, PictureParams, View, draw_animation, draw_panels,
};
use serde::{Deserialize, Serialize};

use crate::example_source::{ExampleSource, ExampleSourceError};
use crate::painter::WatchedPainter;
use crate::pose_source::{PoseSource, PoseSourceError};
use crate::reports::default_view;
use crate::rig_source::read_options;

pub use camera::{ViewDirection, clip_poses};
pub use comparison::{ComparisonLook, ShownModel, comparison_picture, palm_view};
pub use side_by_side::Show;

use figures::{OwnedPanel, by_component_count, component_panels};
use side_by_side::Subject;

/// Seconds of a turntable's turn.
const TURN_SECONDS: usize = 4;

/// A model, what is shown of it, and how.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::render::{Render, RenderInputs, RenderSettings};
/// use eigenskin::report::picture::painter::CpuPainter;
///
/// let truth = Some("held-out.glb".into());
/// let inputs = RenderInputs { model: "model.glb".into(), truth, pose: None, clip: None };
/// Render::open(&inputs, RenderSettings::default())?.run(&CpuPainter, &Unwatched)?.write("hand.png")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Render {
    /// the model
    pub model: Arc<Model>,
    /// true shapes of the model's rig; with them one of the examples is drawn
    pub truth: Option<Arc<ExampleSet>>,
    /// without true shapes: one pose is a still, several are the frames of a moving picture, none is the
    /// rest pose
    pub poses: Vec<Pose>,
    /// how
    pub settings: RenderSettings,
}

/// Where a model is, and what is shown of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderInputs {
    /// a model's file
    pub model: PathBuf,
    /// true shapes: a GLB example set or a numpy bundle
    pub truth: Option<PathBuf>,
    /// without true shapes: a pose of the model
    pub pose: Option<PoseSource>,
    /// instead: a clip of the model's file, played at the rate of the settings
    pub clip: Option<String>,
}

/// How pictures of a model look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RenderSettings {
    /// what is drawn
    pub motif: Motif,
    /// panels of [`Motif::Shapes`], side by side; none is all that there is
    pub show: Vec<Show>,
    /// which of the true shapes; default the one that the model gets worst
    pub example: Option<String>,
    /// go once around, as a moving picture
    pub turntable: bool,
    /// frames per second of moving pictures, 1 to 60; default 12
    pub rate: u16,
    /// from where to look; default a little right of the front and above
    pub view: Option<ViewDirection>,
    /// width and height of one panel in pixels; default 360 × 420
    pub panel_size: [usize; 2],
    /// panels in a row; default all
    pub columns: Option<usize>,
    /// dark background
    pub dark: bool,
    /// lines along all edges
    pub wireframe: bool,
}

/// What is drawn of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Motif {
    /// shapes in a pose, side by side
    #[default]
    Shapes,
    /// the true shape, then the model with 0, 1, … of the components of every layer, coloured by error
    ComponentCounts {
        /// most components per layer
        most: usize,
    },
    /// what a joint has learnt, as colours on the rest shape
    Components {
        /// the joint (or layer); default the strongest
        layer: Option<String>,
    },
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RenderOutcome {
    /// the example that is shown
    pub example: Option<String>,
    /// 1 for stills
    pub frames: usize,
    /// frames per second of moving pictures
    pub rate: u16,
    /// a PNG file, animated where there are several frames
    #[serde(skip)]
    pub png: Vec<u8>,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The model cannot be read.
    #[error(transparent)]
    Model(#[from] ReadError),
    /// The true shapes cannot be read, or are of another character.
    #[error(transparent)]
    Truth(#[from] ExampleSourceError),
    /// The true shapes are of another rig.
    #[error("the true shapes have {truth} vertices, the model has {model}")]
    OtherRig {
        /// vertices of the true shapes
        truth: usize,
        /// vertices of the model
        model: usize,
    },
    /// An example that is not there.
    #[error("there is no example {name:?}{hint}")]
    NoExample {
        /// the name given
        name: String,
        /// what may have been meant
        hint: String,
    },
    /// There is no such clip or pose.
    #[error(transparent)]
    Pose(#[from] PoseSourceError),
    /// More than one pose for a still.
    #[error("a picture shows one pose, and {poses} poses were given; choose one")]
    SeveralPoses {
        /// how many
        poses: usize,
    },
    /// A layer that the model does not have.
    #[error("the model has no layer {layer:?}; it has {}", known.join(", "))]
    NoLayer {
        /// the name given
        layer: String,
        /// the layers there are
        known: Vec<String>,
    },
    /// A model without corrections.
    #[error("the model has no layers: it has learnt nothing")]
    NothingLearnt,
    /// What can only be shown beside the truth.
    #[error("{what} can only be shown with true shapes to compare with")]
    NeedsTruth {
        /// what was asked for
        what: &'static str,
    },
    /// Too fast or too slow.
    #[error("{rate} frames per second cannot be played; use 1 to 60")]
    Rate {
        /// frames per second
        rate: u16,
    },
    /// Going around something that moves.
    #[error("a turntable shows one pose, and {poses} poses were given")]
    MovingTurntable {
        /// how many
        poses: usize,
    },
    /// Something about drawing.
    #[error(transparent)]
    Picture(PictureError),
    /// The picture cannot be written.
    #[error("{} could not be written: {error}", path.display())]
    Write {
        /// where to
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<PictureError> for RenderError {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Picture(error),
        }
    }
}

impl Default for RenderSettings {
    fn default() -> Self {
        Self {
            motif: Motif::Shapes,
            show: Vec::new(),
            example: None,
            turntable: false,
            rate: 12,
            view: None,
            panel_size: [360, 420],
            columns: None,
            dark: false,
            wireframe: false,
        }
    }
}

impl Render {
    /// Reads the model and what is shown of it.
    pub fn open(inputs: &RenderInputs, settings: RenderSettings) -> Result<Self, RenderError> {
        let (file, model) = eigenskin_io::read_model(&inputs.model)?;
        let truth = match &inputs.truth {
            Some(path) => {
                let source = ExampleSource::Set(path.clone());
                let read = source.read(&file, &read_options(None))?;
                let settled = read.settle(&source, model.input_rig(), None)?;
                Some(settled.examples.sample(usize::MAX).map_err(ExampleSourceError::from)?)
            }
            None => None,
        };
        let poses = match (&inputs.clip, &inputs.pose) {
            (Some(clip), _) => clip_poses(&file, clip, settings.rate)?,
            (None, Some(pose)) => {
                let poses = pose.read_all(&file)?;
                if poses.len() > 1 {
                    return Err(RenderError::SeveralPoses { poses: poses.len() });
                }
                poses.into_iter().map(|named| named.pose).collect()
            }
            (None, None) => Vec::new(),
        };
        Ok(Self { model: Arc::new(model), truth, poses, settings })
    }

    /// Draws, by whoever paints.
    pub fn run(
        &self,
        painter: &dyn PanelPainter,
        progress: &dyn Progress,
    ) -> Result<RenderOutcome, RenderError> {
        let RenderSettings { rate, columns, .. } = self.settings;
        self.check()?;
        progress.doing("posing")?;
        let Scene { rows, frames, params, example } = self.scene(progress)?;
        let in_a_row = rows.first().map_or(1, Vec::len);
        let params = PictureParams { columns: columns.unwrap_or(in_a_row), ..params };
        let shown: Vec<(Vec<Panel>, View)> = frames
            .iter()
            .map(|&(row, view)| (rows[row].iter().map(OwnedPanel::panel).collect(), view))
            .collect();
        let count = shown.iter().map(|(panels, _)| panels.len()).sum();
        let painter = WatchedPainter::new(painter, progress, "painting", Some(count));
        let mesh = self.model.rig().mesh();
        let png = match &shown[..] {
            [(panels, view)] => draw_panels(&painter, mesh, panels, &PictureParams { view: *view, ..params }),
            frames => draw_animation(&painter, mesh, frames, &params, rate),
        }?;
        Ok(RenderOutcome { example, frames: shown.len(), rate, png })
    }

    fn check(&self) -> Result<(), RenderError> {
        let RenderSettings { rate, turntable, .. } = self.settings;
        if !(1..=60).contains(&rate) {
            return Err(RenderError::Rate { rate });
        }
        if turntable && self.truth.is_none() && self.poses.len() > 1 {
            return Err(RenderError::MovingTurntable { poses: self.poses.len() });
        }
        match self.truth.as_ref().map(|truth| truth.rig().vertex_count()) {
            Some(truth) if truth != self.model.rig().vertex_count() => {
                Err(RenderError::OtherRig { truth, model: self.model.rig().vertex_count() })
            }
            _ => Ok(()),
        }
    }

    /// What is in the picture, frame by frame.
    fn scene(&self, progress: &dyn Progress) -> Result<Scene, RenderError> {
        let settings = &self.settings;
        let subject = Subject::new(self.model.clone());
        let [panel_width, panel_height] = settings.panel_size;
        let view = default_view(false);
        let view = match settings.view {
            Some(ViewDirection(from_direction)) => View { from_direction, ..view },
            None => view,
        };
        let params = PictureParams {
            panel_width,
            panel_height,
            view,
            background: if settings.dark { Background::Dark } else { Background::Light },
            heat: HeatScale { maximum: None, label: format!("error in {}", subject.unit.name) },
            wireframe: settings.wireframe,
            ..PictureParams::default()
        };
        let is_clip = self.truth.is_none() && self.poses.len() > 1 && settings.motif == Motif::Shapes;
        if is_clip { self.clip(&subject, params, progress) } else { self.still(&subject, params, progress) }
    }

    /// A clip, with one camera and one heat scale.
    fn clip(
        &self,
        subject: &Subject,
        params: PictureParams,
        progress: &dyn Progress,
    ) -> Result<Scene, RenderError> {
        let mut rows = Vec::with_capacity(self.poses.len());
        for pose in &self.poses {
            progress.doing("posing")?;
            rows.push(subject.panels(pose, None, &self.settings.show)?);
        }
        let all = || rows.iter().flatten();
        let maximum = all().filter_map(OwnedPanel::largest_error).fold(0f32, f32::max);
        let params = PictureParams {
            framed: all().flat_map(|panel| panel.shape.positions.iter().copied()).collect(),
            heat: HeatScale { maximum: (maximum > 0.0).then_some(maximum), ..params.heat },
            ..params
        };
        let frames = (0..rows.len()).map(|row| (row, params.view)).collect();
        Ok(Scene { rows, frames, params, example: None })
    }

    /// One pose, or what a joint has learnt; with a turntable from all sides.
    fn still(
        &self,
        subject: &Subject,
        mut params: PictureParams,
        progress: &dyn Progress,
    ) -> Result<Scene, RenderError> {
        let mut example = None;
        let panels = match (&self.settings.motif, &self.truth) {
            (Motif::Components { layer }, _) => {
                let (panels, view, focus) = component_panels(subject, layer.as_deref(), params.view)?;
                params = PictureParams { view, focus, ..params };
                panels
            }
            (Motif::ComponentCounts { .. }, None) => {
                return Err(RenderError::NeedsTruth { what: "the model by number of components" });
            }
            (motif, Some(truth)) => {
                let index = self.example_of(subject, truth, progress)?;
                let shown = &truth.examples()[index];
                example = Some(shown.name.clone());
                match motif {
                    Motif::ComponentCounts { most } => by_component_count(subject, truth, index, *most),
                    _ => subject.panels(&shown.pose, Some((truth, index)), &self.settings.show)?,
                }
            }
            (Motif::Shapes, None) => {
                let rig = self.model.rig();
                let controls = || rig.controls().iter().map(|control| control.default).collect();
                let rest = || Pose::rest(rig.skeleton(), controls());
                let pose = self.poses.first().cloned().unwrap_or_else(rest);
                subject.panels(&pose, None, &self.settings.show)?
            }
        };
        if !self.settings.turntable {
            return Ok(Scene { rows: vec![panels], frames: vec![(0, params.view)], params, example });
        }
        params.framed = camera::sphere_around(panels.iter().flat_map(|panel| &panel.shape.positions));
        let count = TURN_SECONDS * usize::from(self.settings.rate);
        let turned = |frame: usize| camera::turned(&params.view, frame as f32 / count as f32);
        let frames = (0..count).map(|frame| (0, turned(frame))).collect();
        Ok(Scene { rows: vec![panels], frames, params, example })
    }

    /// The example that was asked for, or the one that the model gets worst.
    fn example_of(
        &self,
        subject: &Subject,
        truth: &ExampleSet,
        progress: &dyn Progress,
    ) -> Result<usize, RenderError> {
        let Some(name) = &self.settings.example else { return Ok(subject.worst(truth, progress)?) };
        truth.examples().iter().position(|example| example.name == *name).ok_or_else(|| {
            let names = truth.examples().iter().map(|example| example.name.as_str());
            RenderError::NoExample { name: name.clone(), hint: nearest_name::hint(name, names) }
        })
    }
}

/// What is seen in the frames of a picture, and how to draw it.
struct Scene {
    /// panels that are side by side
    rows: Vec<Vec<OwnedPanel>>,
    /// which of the rows, and from where
    frames: Vec<(usize, View)>,
    params: PictureParams,
    example: Option<String>,
}

impl RenderOutcome {
    /// Writes the picture.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), RenderError> {
        let path = path.as_ref();
        eigenskin_io::atomic::write_file(path, &self.png)
            .map_err(|error| RenderError::Write { path: path.into(), error })
    }
}
