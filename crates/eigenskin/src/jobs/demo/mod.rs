//! Demo: the main job on a built-in hand, from rig to measured model.
//!
//! ```text
//! hand ─→ PLAN (tissue, poses) ─→ simulated poses ─→ training ─────────────→ FIT ─→ model ─→ report
//!                                                 └→ held out, one joint ─→ errors ──────────↗
//!                                                 └→ held out, many joints ─↗
//! ```

mod hand;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_characters::{Character, CharacterError, hand};
use eigenskin_core::examples::{ExampleSet, ExamplesError};
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::method::Method;
use eigenskin_fit::metrics::{Evaluation, evaluate_against};
use eigenskin_gltf::{self as gltf, PoseRecord, RigFile, SimulationRecord};
use eigenskin_io::WriteError;
use eigenskin_report::page::{LengthUnit, Shot};
use eigenskin_report::picture::painter::PanelPainter;
use eigenskin_sim::jobs::Purpose;
use serde::{Deserialize, Serialize, Serializer};

use super::fit::{Fit, FitJobError, FitOutcome, FitSettings, Wanted};
use super::render::{ComparisonLook, ShownModel, comparison_picture, palm_view};
use super::simulate::{DroppedPose, SimulateError, SimulateOutcome, SimulationPlan};
use crate::reports::{self, DemoPage, DemoSet, PageStyle, ReportError, demo_report, html};

pub use hand::HandSettings;

/// The pose that is drawn.
const COMPARED: &str = "fist";

/// A hand that is built, bent, learnt and measured.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::demo::Demo;
/// use eigenskin::report::picture::painter::CpuPainter;
///
/// Demo::default().run(&CpuPainter, &Unwatched)?.write("eigenskin-demo", None)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Demo {
    /// how large
    pub settings: DemoSettings,
}

/// How large the demo is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DemoSettings {
    /// triangles of the hand, an even number; default 13,976
    pub triangles: usize,
    /// its poses and its tissue
    pub hand: HandSettings,
}

/// A hand filled with tissue, and its poses.
#[derive(Debug, Clone)]
pub struct DemoPlan {
    /// the hand
    pub hand: Character,
    /// its rig with the clip "grasp", its tissue and its jobs
    pub simulation: SimulationPlan,
}

/// A model of the hand, what it was made from, and how good it is. Serialises as what the command prints
/// for machines.
#[derive(Debug)]
pub struct DemoOutcome {
    /// the simulated poses
    pub simulated: SimulateOutcome,
    /// learnt from
    pub training: DemoPoses,
    /// held out, one joint moves
    pub one_joint: DemoPoses,
    /// held out, many joints move
    pub many_joints: DemoPoses,
    /// the model
    pub fit: FitOutcome,
    /// all of it as a page
    pub report: String,
    /// a pose that nobody trained on as PNG: truth, plain skinning, model, and both errors
    pub comparison: Vec<u8>,
}

/// Simulated poses, and how far the model is from them.
#[derive(Debug, Clone)]
pub struct DemoPoses {
    /// the poses
    pub set: ExampleSet,
    /// how they were simulated
    pub record: SimulationRecord,
    /// the errors
    pub errors: Evaluation,
}

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The hand cannot be built.
    #[error(transparent)]
    Hand(#[from] CharacterError),
    /// It cannot be a file.
    #[error(transparent)]
    File(#[from] gltf::WriteError),
    /// It cannot be simulated.
    #[error(transparent)]
    Simulate(SimulateError),
    /// Too few poses are left to learn from, or to test with.
    #[error("too few poses could be simulated; allow more cells: {0}")]
    TooFewPoses(SimulateError),
    /// It cannot be learnt.
    #[error(transparent)]
    Fit(Box<FitJobError>),
    /// The held-out poses are no set.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// No page.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<SimulateError> for DemoError {
    fn from(error: SimulateError) -> Self {
        match error {
            SimulateError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Simulate(error),
        }
    }
}

impl From<FitJobError> for DemoError {
    fn from(error: FitJobError) -> Self {
        match error {
            FitJobError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Fit(Box::new(error)),
        }
    }
}

impl Default for DemoSettings {
    fn default() -> Self {
        Self { triangles: 13_976, hand: HandSettings::default() }
    }
}

impl Demo {
    /// Builds the hand and fills it.
    pub fn plan(&self, progress: &dyn Progress) -> Result<DemoPlan, DemoError> {
        self.settings.hand.check()?;
        progress.doing("building a hand")?;
        let hand = hand(self.settings.triangles)?;
        let (times, motion) = hand.demo_motion();
        let file = RigFile::from_rig(hand.rig.clone(), "hand")?.with_clip("grasp", &times, &motion)?;
        let simulation = self.settings.hand.plan(&hand, file, progress)?;
        Ok(DemoPlan { hand, simulation })
    }

    /// All of it; `painter` draws the pictures of the report.
    pub fn run(&self, painter: &dyn PanelPainter, progress: &dyn Progress) -> Result<DemoOutcome, DemoError> {
        let plan = self.plan(progress)?;
        plan.learn(plan.simulate(progress)?, painter, progress)
    }
}

impl DemoPlan {
    /// Bends the hand.
    pub fn simulate(&self, progress: &dyn Progress) -> Result<SimulateOutcome, DemoError> {
        Ok(self.simulation.run(None, progress)?)
    }

    /// Learns from the poses, tests with others, and puts it all on a page.
    pub fn learn(
        &self,
        simulated: SimulateOutcome,
        painter: &dyn PanelPainter,
        progress: &dyn Progress,
    ) -> Result<DemoOutcome, DemoError> {
        let held_out = &self.simulation.jobs().held_out;
        let is_training = |purpose: Purpose, _: &str| purpose == Purpose::Training;
        let is_one_joint = |purpose, name: &str| purpose == Purpose::Validation && held_out.contains(name);
        let is_many_joints = |purpose, name: &str| purpose == Purpose::Validation && !held_out.contains(name);
        let set = |wanted: &dyn Fn(Purpose, &str) -> bool| {
            simulated.examples(wanted).map_err(DemoError::TooFewPoses)
        };
        let (training, one_joint, many_joints) =
            (set(&is_training)?, set(&is_one_joint)?, set(&is_many_joints)?);

        let settings = FitSettings { method: Wanted::This(Method::default()), ..FitSettings::default() };
        let job = Fit::new(simulated.file().clone(), Arc::new(training.clone()), settings)?;
        let fit = job.run(progress)?;
        let model = Arc::new(fit.model().clone());
        let poses = |set: ExampleSet, wanted: &dyn Fn(Purpose, &str) -> bool| {
            let errors = evaluate_against(&model, &set, progress)?;
            Ok::<_, Cancelled>(DemoPoses { errors, record: simulated.record(wanted), set })
        };
        let one_joint = poses(one_joint, &is_one_joint)?;
        let many_joints = poses(many_joints, &is_many_joints)?;
        let (record, errors) = (simulated.record(is_training), fit.training.clone());
        let training = DemoPoses { set: training, record, errors };
        let (report, comparison) = (String::new(), Vec::new());
        let mut outcome =
            DemoOutcome { simulated, training, one_joint, many_joints, fit, report, comparison };
        outcome.report = outcome.page(painter, progress)?;
        progress.doing("drawing")?;
        outcome.comparison = outcome.compared(&model, painter)?;
        Ok(outcome)
    }
}

/// What the outcome writes, each as `folder` / name.
impl DemoOutcome {
    /// The rig, with the clip "grasp".
    pub const RIG: &'static str = "rig.glb";
    /// The poses to learn from.
    pub const EXAMPLES: &'static str = "examples.glb";
    /// The held-out poses.
    pub const VALIDATION: &'static str = "validation.glb";
    /// The model.
    pub const MODEL: &'static str = "model.glb";
    /// The page.
    pub const REPORT: &'static str = "report.html";
    /// The picture.
    pub const COMPARISON: &'static str = "comparison.png";
    /// The figures.
    pub const FIGURES: &'static str = "report.json";

    /// Writes everything into a folder, which is made; the page elsewhere where `report` says so.
    pub fn write(&self, folder: impl AsRef<Path>, report: Option<&Path>) -> Result<(), DemoError> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder).map_err(|error| WriteError::Io { path: folder.into(), error })?;
        let rig = self.simulated.file();
        eigenskin_io::write_rig(folder.join(Self::RIG), rig)?;
        let Self { training, one_joint, many_joints, .. } = self;
        let examples = folder.join(Self::EXAMPLES);
        eigenskin_io::write_simulated_examples(&examples, rig, &training.set, &training.record)?;
        let held_out = one_joint.set.examples().iter().chain(many_joints.set.examples()).cloned().collect();
        let held_out = ExampleSet::new(rig.rig().clone(), held_out)?;
        let record = self.simulated.record(|purpose, _| purpose == Purpose::Validation);
        eigenskin_io::write_simulated_examples(folder.join(Self::VALIDATION), rig, &held_out, &record)?;
        self.fit.write(folder.join(Self::MODEL))?;
        let figures = || Ok(serde_json::to_string_pretty(self)? + "\n");
        let path = folder.join(Self::FIGURES);
        let figures = figures().map_err(|error| WriteError::Io { path: path.clone(), error })?;
        write(path, figures.as_bytes())?;
        write(folder.join(Self::COMPARISON), &self.comparison)?;
        write(report.map_or_else(|| folder.join(Self::REPORT), PathBuf::from), self.report.as_bytes())
    }

    /// A pose that nobody trained on.
    fn compared(&self, model: &Arc<Model>, painter: &dyn PanelPainter) -> Result<Vec<u8>, ReportError> {
        let truth = &self.many_joints.set;
        let shown = truth.examples().iter().position(|example| example.name == COMPARED).unwrap_or(0);
        let plain = Arc::new(Model::without_corrections(model.rig().clone(), BaseSkinning::LinearBlend));
        let models = [("plain skinning", &plain), ("eigenskin", model)]
            .map(|(caption, model)| ShownModel { caption: caption.to_string(), model });
        let shot = Shot { painter, view: palm_view() };
        let look = ComparisonLook::ShapesAndErrors;
        Ok(comparison_picture(truth, shown, ", held out", &models, look, shot)?)
    }

    fn page(&self, painter: &dyn PanelPainter, progress: &dyn Progress) -> Result<String, DemoError> {
        let page = DemoPage {
            fit: &self.fit.fit,
            training: self.training.for_page(),
            one_joint: self.one_joint.for_page(),
            many_joints: self.many_joints.for_page(),
            seconds: self.simulated.seconds,
            written: reports::written_file(Self::MODEL, &self.fit.written),
        };
        let style = PageStyle { painter, view: palm_view(), unit: LengthUnit::millimetres() };
        Ok(html(&demo_report(&page, &style, progress)?))
    }
}

impl DemoPoses {
    fn for_page(&self) -> DemoSet<'_> {
        DemoSet { poses: &self.set, record: &self.record, evaluation: &self.errors }
    }
}

fn write(path: PathBuf, bytes: &[u8]) -> Result<(), DemoError> {
    eigenskin_io::atomic::write_file(&path, bytes).map_err(|error| WriteError::Io { path, error }.into())
}

impl Serialize for DemoOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { simulated, training, one_joint, many_joints, fit, .. } = self;
        let SimulationRecord { cubes, unknowns, contact, .. } = training.record;
        let poses = PosesFigures {
            training: &training.record.poses,
            held_out_single_joint: &one_joint.record.poses,
            held_out_multi_joint: &many_joints.record.poses,
        };
        let (seconds, dropped) = (simulated.seconds, &simulated.dropped);
        Figures {
            simulation: SimulationFigures { cubes, unknowns, contact, seconds, dropped, poses },
            fit,
            held_out_single_joint: &one_joint.errors,
            held_out_multi_joint: &many_joints.errors,
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct Figures<'a> {
    simulation: SimulationFigures<'a>,
    fit: &'a FitOutcome,
    held_out_single_joint: &'a Evaluation,
    held_out_multi_joint: &'a Evaluation,
}

#[derive(Serialize)]
struct SimulationFigures<'a> {
    cubes: usize,
    unknowns: usize,
    contact: bool,
    seconds: f64,
    dropped: &'a [DroppedPose],
    poses: PosesFigures<'a>,
}

#[derive(Serialize)]
struct PosesFigures<'a> {
    training: &'a [PoseRecord],
    held_out_single_joint: &'a [PoseRecord],
    held_out_multi_joint: &'a [PoseRecord],
}
