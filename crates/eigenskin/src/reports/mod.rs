//! What was learnt or measured, as one page: which methods stand side by side, which poses are drawn, and
//! what is said of them.
//!
//! One function per page ([`fit_report`], [`evaluation_report`], [`weights_report`], [`demo_report`]), each
//! from borrowed values to a [`Report`], whose page [`html`] is.

mod demo;
mod evaluation;
mod fit;
mod methods;
mod signal_trials;
mod viewer_loss;
mod weights;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_fit::metrics::Evaluation;
use eigenskin_gltf::{ModelWriteReport, SimulationRecord};
use eigenskin_report::page::{
    LengthUnit, MeasuredSet, PictureRow, SetKind, Shot, SimulatedSet, SimulationSummary, WrittenFile,
    worst_pose_pictures,
};
use eigenskin_report::picture::painter::PanelPainter;
use eigenskin_report::picture::{PictureError, View};

use crate::painter::WatchedPainter;

pub use demo::{DemoPage, DemoSet, demo_report};
pub use eigenskin_report::page::{Report, html};
pub use evaluation::{EvaluationPage, evaluation_report};
pub use fit::{FitPage, fit_report};
pub use methods::{Methods, SameFooting, methods_side_by_side};
pub use signal_trials::signals_summary;
pub use viewer_loss::{NotShown, ViewerLoss};
pub use weights::{WeightsPage, weights_model, weights_picture, weights_report, weights_sentence};

/// By whom and from where the pictures of a page are taken, and the unit of its lengths.
#[derive(Clone)]
pub struct PageStyle<'a> {
    /// who paints
    pub painter: &'a dyn PanelPainter,
    /// from where
    pub view: View,
    /// in which lengths are shown
    pub unit: LengthUnit,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A picture could not be drawn.
    #[error(transparent)]
    Picture(PictureError),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The page cannot be written.
    #[error("{} could not be written: {error}", path.display())]
    Write {
        /// where to
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
}

impl From<PictureError> for ReportError {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Picture(error),
        }
    }
}

impl<'a> PageStyle<'a> {
    /// From a little right of the front and above, lengths as they are in the model.
    pub fn new(painter: &'a dyn PanelPainter) -> Self {
        Self { painter, view: default_view(false), unit: LengthUnit::of_the_model() }
    }

    /// Its painter, which ends where `progress` says so.
    fn watched_by<'b>(&self, progress: &'b dyn Progress) -> WatchedPainter<'b>
    where
        'a: 'b,
    {
        WatchedPainter::new(self.painter, progress, "drawing", None)
    }

    /// The same by another painter.
    fn painted_by<'b>(&self, painter: &'b dyn PanelPainter) -> PageStyle<'b> {
        PageStyle { painter, view: self.view, unit: self.unit.clone() }
    }

    fn shot(&self) -> Shot<'a> {
        Shot { painter: self.painter, view: self.view }
    }
}

/// How shapes are looked at unless someone says otherwise: from a little right of the front and above.
pub fn default_view(z_up: bool) -> View {
    let (from_direction, up) =
        if z_up { (Vec3::new(0.35, -1.0, 0.25), Vec3::Z) } else { (Vec3::new(0.35, 0.25, 1.0), Vec3::Y) };
    View { from_direction, up, ..View::default() }
}

/// Writes a page, whole or not at all.
pub fn write_report(path: impl AsRef<Path>, report: &Report) -> Result<(), ReportError> {
    let path = path.as_ref();
    eigenskin_io::atomic::write_file(path, html(report).as_bytes())
        .map_err(|error| ReportError::Write { path: path.into(), error })
}

/// What was written, for a page.
pub fn written_file(path: impl AsRef<Path>, report: &ModelWriteReport) -> WrittenFile {
    WrittenFile {
        name: file_name(path),
        targets: report.targets,
        bytes: report.bytes,
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
    }
}

/// The name of a file without its folder.
pub fn file_name(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The `count` poses of a set that the model gets worst. None where a program outside has to pose the
/// skin: its shapes are known to that program only.
fn worst_poses(
    model: &Arc<Model>,
    set: &MeasuredSet,
    count: usize,
    style: &PageStyle,
) -> Result<Vec<PictureRow>, PictureError> {
    let needs_a_program = matches!(model.base(), Base::Deformers(stack) if stack.has_external());
    match set.truth.filter(|_| !needs_a_program) {
        Some(truth) => {
            worst_pose_pictures(model, truth, set.evaluation, &set.name, count, style.shot(), &style.unit)
        }
        None => Ok(Vec::new()),
    }
}

/// A set without an end for the sentence on it.
fn measured(name: impl Into<String>, kind: SetKind, evaluation: &Evaluation) -> MeasuredSet<'_> {
    MeasuredSet { name: name.into(), kind, when: String::new(), evaluation, truth: None }
}

/// The simulation of one set.
fn simulation_of<'a>(name: &str, record: &'a SimulationRecord) -> SimulationSummary<'a> {
    SimulationSummary { seconds: None, sets: vec![SimulatedSet { name: name.to_string(), record }] }
}
