//! What came out of a simulation: poses to keep, poses to drop, and how good they are.

use std::path::Path;
use std::sync::Arc;

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::Progress;
use eigenskin_fit::suggest::{Outlook, outlook};
use eigenskin_gltf::{self as gltf, ExampleList, PoseRecord, RigFile, SimulationRecord};
use eigenskin_sim::jobs::Purpose;
use eigenskin_sim::material::Model;
use eigenskin_sim::quality::{PoseQuality, QualityLimits};
use eigenskin_sim::simulation::{JobResult, SimulatedPose};
use serde::{Deserialize, Serialize};

use super::SimulateError;
use super::plan::{PlanFacts, SimulationPlan};

/// Solved poses, sorted.
#[derive(Debug, Clone, Serialize)]
pub struct SimulateOutcome {
    /// what was to be done
    pub plan: PlanFacts,
    /// how long solving took
    pub seconds: f64,
    /// poses that are not good enough, or could not be reached; in the order of the jobs
    pub dropped: Vec<DroppedPose>,
    /// all poses that were solved, good or not, in the order of the jobs
    pub poses: Vec<SolvedPose>,
    /// poses that are good enough, in the order of the jobs
    #[serde(skip)]
    pub kept: Vec<KeptPose>,
    /// the rig, with the file that examples are written into
    #[serde(skip)]
    file: RigFile,
    /// what all sets say of the simulation, without their poses
    #[serde(skip)]
    tissue: SimulationRecord,
    /// examples that those to learn from are added to
    #[serde(skip)]
    before: Option<Arc<ExampleList>>,
}

/// A pose that is good enough.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptPose {
    /// what it is for
    pub purpose: Purpose,
    /// its shape
    pub example: Example,
    /// how good it is
    pub quality: PoseQuality,
}

/// A pose that is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DroppedPose {
    /// what it was for
    #[serde(skip)]
    pub purpose: Purpose,
    /// its name
    pub name: String,
    /// why
    pub reason: String,
}

/// A pose that was solved, and how good it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SolvedPose {
    /// its name
    pub name: String,
    /// how good it is
    #[serde(flatten)]
    pub quality: PoseQuality,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenExamples {
    /// poses to learn from
    pub training: usize,
    /// poses to validate with; without any there is no file
    pub validation: usize,
}

impl SimulateOutcome {
    /// Sorts the results of a plan's jobs.
    pub(super) fn of(plan: &SimulationPlan, results: &[JobResult], seconds: f64) -> Self {
        let limits = QualityLimits::default();
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for (job, result) in plan.jobs.jobs.iter().zip(results) {
            for pose in &result.poses {
                let purpose = plan.jobs.purpose(job, &pose.name);
                let (name, quality) = (pose.name.clone(), pose.quality.clone());
                match quality.fault(&limits) {
                    Some(reason) => dropped.push(DroppedPose { purpose, name, reason }),
                    None => kept.push(KeptPose { purpose, example: example(pose), quality }),
                }
            }
            dropped.extend(result.failed.iter().map(|(name, reason)| DroppedPose {
                purpose: plan.jobs.purpose(job, name),
                name: name.clone(),
                reason: reason.clone(),
            }));
        }
        let poses = results.iter().flat_map(|result| &result.poses).map(SolvedPose::of).collect();
        let file = plan.file.clone();
        let before = plan.jobs.before.clone();
        Self { plan: plan.facts(), seconds, dropped, poses, kept, file, tissue: tissue_of(plan), before }
    }

    /// The rig, with the file that examples are written into.
    pub fn file(&self) -> &RigFile {
        &self.file
    }

    /// How many kept poses are for something.
    pub fn count(&self, purpose: Purpose) -> usize {
        self.kept.iter().filter(|pose| pose.purpose == purpose).count()
    }

    /// The kept poses whose purpose and name are `wanted`; with none, an error that says why.
    pub fn examples(&self, wanted: impl Fn(Purpose, &str) -> bool) -> Result<ExampleSet, SimulateError> {
        let chosen = self.kept.iter().filter(|pose| wanted(pose.purpose, &pose.example.name));
        let examples: Vec<Example> = chosen.map(|pose| pose.example.clone()).collect();
        if examples.is_empty() {
            return Err(match self.dropped.first() {
                Some(first) => SimulateError::NothingKept {
                    count: self.dropped.len(),
                    first: first.name.clone(),
                    reason: first.reason.clone(),
                },
                None => SimulateError::NoPoses,
            });
        }
        Ok(ExampleSet::new(self.file.rig().clone(), examples)?)
    }

    /// What a set of the poses whose purpose and name are `wanted` tells about itself.
    pub fn record(&self, wanted: impl Fn(Purpose, &str) -> bool) -> SimulationRecord {
        let kept = self.kept.iter().filter(|pose| wanted(pose.purpose, &pose.example.name));
        let dropped = self.dropped.iter().filter(|pose| wanted(pose.purpose, &pose.name));
        SimulationRecord {
            poses: kept.map(|pose| pose_record(&pose.example.name, &pose.quality)).collect(),
            dropped: dropped
                .map(|pose| gltf::DroppedPose { name: pose.name.clone(), reason: pose.reason.clone() })
                .collect(),
            ..self.tissue.clone()
        }
    }

    /// All examples to learn from: those that were there before, as they were, then the kept poses.
    pub fn training(&self) -> Result<ExampleList, SimulateError> {
        let new = self.examples(|of, _| of == Purpose::Training)?;
        let record = self.record(|of, _| of == Purpose::Training);
        let Some(before) = &self.before else {
            return Ok(ExampleList { simulation: Some(record), ..ExampleList::new(new) });
        };
        let examples = before.set.examples().iter().chain(new.examples()).cloned().collect();
        let mut list = ExampleList {
            set: ExampleSet::new(before.set.rig().clone(), examples)?,
            muted: before.muted.clone(),
            simulation: before.simulation.clone(),
        };
        if let Some(told) = &mut list.simulation {
            told.poses.extend(record.poses);
            told.dropped.extend(record.dropped);
        }
        Ok(list)
    }

    /// What more poses of all joints would buy; `None` where too few of the examples to learn from move several
    /// joints. Takes seconds.
    pub fn outlook(&self, progress: &dyn Progress) -> Result<Option<Outlook>, SimulateError> {
        let list = self.training()?;
        let heard: Vec<usize> =
            (0..list.set.len()).filter(|&e| !list.is_muted(&list.set.examples()[e].name)).collect();
        Ok(outlook(&list.set.select(&heard)?, progress)?)
    }

    /// Writes the poses to learn from, with the examples that they are added to, and those to validate with, where
    /// there are any.
    pub fn write(
        &self,
        examples: impl AsRef<Path>,
        validation: impl AsRef<Path>,
    ) -> Result<WrittenExamples, SimulateError> {
        let list = self.training()?;
        eigenskin_io::write_example_list(examples, &self.file, &list)?;
        if self.count(Purpose::Validation) == 0 {
            return Ok(WrittenExamples { training: list.set.len(), validation: 0 });
        }
        let set = self.examples(|of, _| of == Purpose::Validation)?;
        let record = self.record(|of, _| of == Purpose::Validation);
        eigenskin_io::write_simulated_examples(validation, &self.file, &set, &record)?;
        Ok(WrittenExamples { training: list.set.len(), validation: set.len() })
    }
}

impl SolvedPose {
    pub(super) fn of(pose: &SimulatedPose) -> Self {
        Self { name: pose.name.clone(), quality: pose.quality.clone() }
    }
}

/// A simulated pose as an example.
pub(super) fn example(pose: &SimulatedPose) -> Example {
    Example {
        name: pose.name.clone(),
        pose: pose.pose.clone(),
        positions: pose.positions.clone(),
        normals: None,
        inverted: None,
    }
}

pub(super) fn tissue_of(plan: &SimulationPlan) -> SimulationRecord {
    let tissue = plan.simulation.tissue();
    let lattice = &tissue.filling.lattice;
    SimulationRecord {
        cubes: lattice.cell_count(),
        edge: lattice.edge,
        unknowns: 3 * lattice.node_count(),
        bones: tissue.plan.groups.len(),
        material: match plan.params.material.model {
            Model::NeoHookean => "neo-Hookean",
            Model::StableNeoHookean => "stable neo-Hookean",
        }
        .to_string(),
        poisson: plan.params.material.poisson,
        contact: plan.params.contact.is_some(),
        poses: Vec::new(),
        dropped: Vec::new(),
        settings: plan.settings.clone(),
    }
}

/// The part of a quality that files keep. The only place where it becomes a record: files belong to
/// `eigenskin-gltf`, which the simulation does not know.
fn pose_record(name: &str, quality: &PoseQuality) -> PoseRecord {
    PoseRecord {
        name: name.to_string(),
        volume: quality.volume,
        smallest_j: quality.smallest_volume,
        penetration: quality.penetration,
        jump: quality.jump,
        stable: quality.stable,
    }
}
