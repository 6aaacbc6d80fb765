//! Simulate: training poses for a rig that has none, as soft tissue around its bones.
//!
//! ```text
//! rig ─→ ranges of its joints ─→ jobs (poses on a way from rest) ─→ PLAN (tissue, bones) ─→ solved poses
//!                   choice of poses ↗                                  │   ↑↓ parts store     │
//!                                                                      └→ picture, CalculiX   └→ examples,
//!                                                                                                validation
//! ```
//! Poses of all joints are chosen before anything is solved, so that the jobs are known from the start. A set that
//! was simulated can be gone on with: more poses are chosen given its examples, and it keeps those.
//!
//! Solving takes minutes to hours. Finished jobs can be kept in a [`PartsStore`], which an interrupted run
//! goes on with, and which machines of a cluster fill together; without one no file is touched.

pub(in crate::jobs) mod choice;
mod error;
mod fingerprint;
mod outcome;
mod parts;
mod picture;
mod plan;
mod ranges;
mod settings;

use std::collections::BTreeSet;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_core::articulation::{Articulation, NamedPose};
use eigenskin_core::progress::Progress;
use eigenskin_core::reference::GuessedReferences;
use eigenskin_gltf::{ExampleList, FileKind, RigFile};
use eigenskin_sim::jobs::{Job, Purpose, SamplingParams, jobs, jobs_of_poses};
use eigenskin_sim::ranges::{Ranges, ranges};

use crate::example_source::ExampleSource;
use crate::frame_slice::FrameSlice;
use crate::rig_source::{OpenedRig, RigSource};

use choice::Choice;

pub use error::SimulateError;
pub use outcome::{DroppedPose, KeptPose, SimulateOutcome, SolvedPose, WrittenExamples};
pub use parts::{PartsError, PartsStore, SolvedJob};
pub use plan::{PlanFacts, PlannedDegree, SimulationPlan};
pub use ranges::{
    JointAxis, JointRange, JointRanges, JointRangesError, UnknownAxis, given_ranges, read_joint_ranges,
};
pub use settings::{PoseSettings, SimulateSettings, TissueSettings};

/// Where a rig is, and what is said of its poses in files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimulateInputs {
    /// the rig
    pub rig: RigSource,
    /// a TOML file of ranges; what the settings say of a joint replaces what it says
    pub ranges: Option<PathBuf>,
    /// an example set whose poses to simulate; default poses within the ranges of the joints
    pub poses: Option<PoseFile>,
    /// so many poses of all joints more for the examples of the first file, which were simulated; ranges and
    /// settings (but the threads) are then those of that simulation
    pub more: Option<usize>,
}

/// An example set of which only the poses are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoseFile {
    /// a GLB example set or a numpy bundle
    pub path: PathBuf,
    /// which of its poses; default all
    pub frames: Option<FrameSlice>,
}

/// A rig to bend.
///
/// ```no_run
/// use eigenskin::Unwatched;
/// use eigenskin::jobs::simulate::{Simulate, SimulateInputs, SimulateSettings};
/// use eigenskin::rig_source::RigSource;
///
/// let inputs = SimulateInputs { rig: RigSource::new("hand.glb"), ..SimulateInputs::default() };
/// let (job, _) = Simulate::open(&inputs, SimulateSettings::default())?;
/// job.run(&Unwatched)?.write("poses.glb", "held-out.glb")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Simulate {
    /// the rig, with the file that examples are written into
    pub file: RigFile,
    /// which poses
    pub poses: WantedPoses,
    /// how
    pub settings: SimulateSettings,
}

/// Which poses to simulate.
#[derive(Debug, Clone, Default)]
pub enum WantedPoses {
    /// as the settings say, within the ranges of the joints
    #[default]
    WithinRanges,
    /// these, all to learn from
    These(Vec<NamedPose>),
    /// of all joints, to learn from, beside examples that were simulated with the same settings
    More {
        /// the examples, which the outcome keeps as they are
        examples: Arc<ExampleList>,
        /// how many poses
        count: usize,
    },
}

/// The poses to simulate, cut into jobs that do not depend on each other.
#[derive(Debug, Clone)]
pub struct SimulationJobs {
    /// what the joints can do, where the poses come from that
    pub ranges: Option<Ranges>,
    /// ways from rest through one or several poses
    pub jobs: Vec<Job>,
    /// names of poses to test with that lie on ways of poses to learn from, where they cost little
    pub held_out: BTreeSet<String>,
    /// examples that the poses to learn from are added to
    pub before: Option<Arc<ExampleList>>,
}

impl Simulate {
    /// Reads the rig, and ranges and poses where they are in files. What the joints of a flat rig turn
    /// against is guessed, and told beside the job.
    pub fn open(
        inputs: &SimulateInputs,
        mut settings: SimulateSettings,
    ) -> Result<(Self, Option<GuessedReferences>), SimulateError> {
        settings.check()?;
        if let Some(count) = inputs.more {
            return Ok((Self::open_more(&inputs.rig, count, settings.threads)?, None));
        }
        let OpenedRig { file, guessed } = inputs.rig.open()?;
        if let Some(path) = &inputs.ranges {
            let mut ranges = read_joint_ranges(path)?;
            ranges.extend(mem::take(&mut settings.poses.ranges));
            settings.poses.ranges = ranges;
        }
        let poses = match &inputs.poses {
            None => WantedPoses::WithinRanges,
            Some(from) => {
                let source = ExampleSource::Set(from.path.clone());
                let read = source.read(&file, &inputs.rig.read_options())?;
                let set = read.settle(&source, file.rig(), from.frames)?.examples;
                let pose = |index| {
                    let (name, pose) = set.pose(index);
                    NamedPose { name: name.to_string(), pose: pose.clone() }
                };
                WantedPoses::These((0..set.len()).map(pose).collect())
            }
        };
        Ok((Self { file, poses, settings }, guessed))
    }

    /// Reads a set that was simulated, to go on with it.
    fn open_more(source: &RigSource, count: usize, threads: Option<usize>) -> Result<Self, SimulateError> {
        let path = &source.path;
        if count == 0 {
            return Err(SimulateError::BadSetting { name: "more", value: 0.0, needed: "at least 1" });
        }
        if eigenskin_io::file_kind(path)? != FileKind::Examples {
            return Err(SimulateError::NoExamples { path: path.clone() });
        }
        let (file, list) = eigenskin_io::read_example_list(path, &source.read_options())?;
        let settings = list.simulation.as_ref().and_then(|record| record.settings.clone());
        let unknown = |problem: String| SimulateError::UnknownSettings { path: path.clone(), problem };
        let settings = settings.ok_or_else(|| unknown("it does not say how it was simulated".to_string()))?;
        let settings: SimulateSettings =
            serde_json::from_value(settings).map_err(|error| unknown(error.to_string()))?;
        let poses = WantedPoses::More { examples: Arc::new(list), count };
        Ok(Self { file, poses, settings: SimulateSettings { threads, ..settings } })
    }

    /// The poses as jobs. Choosing poses of all joints takes seconds.
    pub fn jobs(&self, progress: &dyn Progress) -> Result<SimulationJobs, SimulateError> {
        let rig = self.file.rig();
        let settings = &self.settings.poses;
        if let WantedPoses::These(poses) = &self.poses {
            let jobs = jobs_of_poses(rig, poses, Purpose::Training);
            return Ok(SimulationJobs { ranges: None, jobs, held_out: BTreeSet::new(), before: None });
        }
        let given = given_ranges(&settings.ranges, &settings.locked)?;
        let found = ranges(rig, &given, settings.range_share)?;
        // As far as the poses to validate with go: beyond, most of a character touches itself.
        let sampling = settings.sampling();
        let share = sampling.validation_share;
        let choice = Choice { rig, degrees: &found.degrees, share, seed: settings.seed };
        let (sampling, together, before) = if let WantedPoses::More { examples, count } = &self.poses {
            let nothing_else =
                SamplingParams { per_degree: 0, corner_shares: Vec::new(), validation: 0, ..sampling };
            (nothing_else, choice.more(*count, examples, progress)?, Some(examples.clone()))
        } else {
            let together = choice.first(settings.multi_joint_poses, &sampling, progress)?;
            (sampling, together, None)
        };
        let jobs = jobs(Articulation { rig, degrees: &found.degrees }, &sampling, &together);
        Ok(SimulationJobs { ranges: Some(found), jobs, held_out: BTreeSet::new(), before })
    }

    /// Fills the skin and lays the bones for these jobs.
    pub fn plan(
        &self,
        jobs: SimulationJobs,
        progress: &dyn Progress,
    ) -> Result<SimulationPlan, SimulateError> {
        self.settings.check()?;
        let Self { file, settings, .. } = self;
        let plan = SimulationPlan::new(file.clone(), jobs, &settings.tissue, &settings.exclude, progress)?;
        let kept = SimulateSettings { threads: None, ..settings.clone() };
        let settings_told = serde_json::to_value(kept).ok();
        Ok(SimulationPlan { threads: settings.threads, settings: settings_told, ..plan })
    }

    /// Plans and solves, all in memory.
    pub fn run(&self, progress: &dyn Progress) -> Result<SimulateOutcome, SimulateError> {
        self.plan(self.jobs(progress)?, progress)?.run(None, progress)
    }
}

impl SimulationJobs {
    /// How many poses are for something.
    pub fn count(&self, purpose: Purpose) -> usize {
        let poses = self.jobs.iter().flat_map(|job| job.stops.iter().map(move |stop| (job, stop)));
        poses.filter(|(job, stop)| self.purpose(job, &stop.name) == purpose).count()
    }

    /// What a pose of a job is for.
    pub(super) fn purpose(&self, job: &Job, name: &str) -> Purpose {
        if self.held_out.contains(name) { Purpose::Validation } else { job.purpose }
    }
}
