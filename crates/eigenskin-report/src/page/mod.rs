//! The report: one HTML page with everything in it, for any browser, paper and phone.
//!
//! The same input gives the same bytes. Errors on training and on held-out poses stand in columns
//! of their own.

mod chart;
mod figures;
mod invertibility;
mod patches;
mod pictures;
mod pose_spaces;
mod sections;
mod signals;
mod simulation;
mod spread;
mod summary;
mod tables;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_fit::baselines::{MethodErrors, UnmeasuredMethod};
use eigenskin_fit::method::{EigenSkinReport, Fit, ParameterizationReport, PsdReport};
use eigenskin_fit::metrics::Evaluation;
use maud::{DOCTYPE, PreEscaped, html};

pub use figures::{LengthUnit, bytes, counted, figure, ratio};
pub use invertibility::invertibility_pictures;
pub use pictures::{
    PictureLegend, PicturePanel, PictureRow, Shot, component_fields, eigendisplacement_pictures,
    from_the_side_that_moves, full_colour, worst_pose_pictures,
};

pub use signals::{FramesTrial, SignalsSummary, SignalsTrial, part_colours, partition_pictures};
pub use simulation::{SimulatedSet, SimulationSummary};
pub use spread::{SPREAD_HEAD, spread_cells, spread_groups};

const STYLE: &str = include_str!("style.css");

/// What a report tells. Only `model` and `sets` must be there.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// heading of the page
    pub title: String,
    /// where the data come from, a sentence each
    pub notes: Vec<String>,
    /// in which lengths are shown
    pub unit: LengthUnit,
    /// the model
    pub model: &'a Model,
    /// how it was learnt; `None` for a model from a file
    pub fit: Option<&'a Fit>,
    /// what more or fewer signals would do, where it was learnt as signals over joints
    pub signals: Option<SignalsSummary>,
    /// what it was measured on
    pub sets: Vec<MeasuredSet<'a>>,
    /// other methods; their `on` follows the order of `sets`, which may be longer
    pub methods: Vec<MethodErrors>,
    /// methods that have no row, or no figure in one, and why
    pub unmeasured: Vec<UnmeasuredMethod>,
    /// what was written
    pub written: Option<WrittenFile>,
    /// how the poses were simulated, where they were
    pub simulation: Option<SimulationSummary<'a>>,
    /// shapes to look at
    pub pictures: Vec<PictureRow>,
}

impl<'a> Report<'a> {
    /// What EigenSkin has learnt, where that was the method.
    fn eigenskin(&self) -> Option<&'a EigenSkinReport> {
        self.fit.and_then(|fit| fit.learnt.eigenskin())
    }

    /// What pose space deformation has learnt, where that was the method.
    fn psd(&self) -> Option<&'a PsdReport> {
        self.fit.and_then(|fit| fit.learnt.psd())
    }

    /// What parameterization has learnt, where that was the method.
    fn parameterization(&self) -> Option<&'a ParameterizationReport> {
        self.fit.and_then(|fit| fit.learnt.parameterization())
    }
}

/// Poses that the model was measured on.
#[derive(Debug, Clone)]
pub struct MeasuredSet<'a> {
    /// such as "held out, one joint"
    pub name: String,
    /// whether the model has seen them
    pub kind: SetKind,
    /// ends the sentence "the model leaves 6 % of plain skinning's error …"; may be empty
    pub when: String,
    /// the figures
    pub evaluation: &'a Evaluation,
    /// the poses, for the chart of what joints do
    pub truth: Option<&'a ExampleSet>,
}

/// Whether a model has seen poses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// learnt from them
    Training,
    /// never seen
    HeldOut,
    /// each one left out in turn, then compared
    LeftOut,
    /// nobody said
    Given,
}

/// The file that a fit wrote.
#[derive(Debug, Clone)]
pub struct WrittenFile {
    /// its name
    pub name: String,
    /// morph targets
    pub targets: usize,
    /// its size
    pub bytes: usize,
    /// what engines will not do
    pub warnings: Vec<String>,
}

/// The page.
pub fn html(report: &Report) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "eigenskin " (env!("CARGO_PKG_VERSION")) };
                title { (report.title) " – eigenskin report" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the figures" }
                header.page {
                    p.brand { "eigenskin report" }
                    h1 { (report.title) }
                    (summary::lead(report))
                    (summary::tiles(report))
                }
                main id="main" {
                    (sections::pictures(report))
                    (tables::methods(report))
                    (sections::pose_errors(report))
                    (tables::normals(report))
                    (sections::singular_values(report))
                    (patches::section(report))
                    (pose_spaces::section(report))
                    (signals::section(report))
                    (sections::coverage(report))
                    (simulation::section(report))
                    (sections::details(report))
                }
                footer {
                    p { "Written by eigenskin " (env!("CARGO_PKG_VERSION")) ". This page needs no network." }
                }
            }
        }
    };
    page.into_string()
}
