//! Work that can be interrupted and spread over machines: every finished job is a pair of files in a folder,
//! `job-0007.glb` (its poses) and `job-0007.json` (how good they are).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::examples::{ExampleSet, ExamplesError};
use eigenskin_core::rig::Rig;
use eigenskin_gltf::{ReadOptions, RigFile};
use eigenskin_io::{ReadError, WriteError};
use eigenskin_sim::jobs::Job;
use eigenskin_sim::simulation::{JobResult, SimulatedPose};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::outcome::{SolvedPose, example};
use super::plan::SimulationPlan;

/// A folder of finished jobs of one plan.
#[derive(Debug, Clone)]
pub struct PartsStore {
    folder: PathBuf,
    /// the rig as the parts carry it
    file: RigFile,
}

/// One job that was solved into a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SolvedJob {
    /// its number
    pub job: usize,
    /// poses that were solved
    pub poses: usize,
    /// poses that could not be reached
    pub failed: usize,
}

/// Why finished jobs cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// Nobody said that these are to be used.
    #[error("{} holds jobs of an earlier run; resume it, or remove the folder", folder.display())]
    EarlierRun {
        /// the folder
        folder: PathBuf,
    },
    /// They were made from something else.
    #[error(
        "{} holds jobs of another rig or other settings; remove the folder, or give the same ones",
        folder.display()
    )]
    OtherSettings {
        /// the folder
        folder: PathBuf,
    },
    /// A file is not as it was written.
    #[error("{} is damaged; remove it and resume: {problem}", path.display())]
    Damaged {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
    /// A file of another job.
    #[error("{} has another number of poses than its job; remove it and resume", path.display())]
    OtherJob {
        /// the file
        path: PathBuf,
    },
    /// The operating system refused to read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// Solved shapes that make no examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The folder cannot be removed.
    #[error("{} could not be removed: {error}", folder.display())]
    Remove {
        /// the folder
        folder: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
}

/// `job-0007.json`.
#[derive(Serialize, Deserialize)]
struct Part {
    /// in the order of the way
    poses: Vec<SolvedPose>,
    failed: Vec<FailedPose>,
}

#[derive(Serialize, Deserialize)]
struct FailedPose {
    name: String,
    reason: String,
}

impl PartsStore {
    /// The folder for an example set that is to be written: `hand.glb` → `hand.parts`.
    pub fn folder_for(examples: impl AsRef<Path>) -> PathBuf {
        examples.as_ref().with_extension("parts")
    }

    /// A new store, in a folder that does not exist yet.
    pub fn create(folder: impl AsRef<Path>, plan: &SimulationPlan) -> Result<Self, PartsError> {
        let folder = folder.as_ref();
        if folder.exists() {
            return Err(PartsError::EarlierRun { folder: folder.into() });
        }
        Self::open(folder, plan)
    }

    /// A store that may exist already. What it holds must come from the same plan.
    pub fn open(folder: impl AsRef<Path>, plan: &SimulationPlan) -> Result<Self, PartsError> {
        let folder = folder.as_ref();
        let settings = json!({ "plan": plan.facts(), "all": plan.fingerprint() });
        let path = folder.join("plan.json");
        if path.exists() {
            if read_json::<Value>(&path)? != settings {
                return Err(PartsError::OtherSettings { folder: folder.into() });
            }
        } else {
            std::fs::create_dir_all(folder).map_err(|error| WriteError::Io { path: folder.into(), error })?;
            write_json(&path, &settings)?;
        }
        Ok(Self { folder: folder.to_path_buf(), file: plan.file.clone() })
    }

    /// Removes the folder, once its jobs are in an example set.
    pub fn remove(self) -> Result<(), PartsError> {
        std::fs::remove_dir_all(&self.folder)
            .map_err(|error| PartsError::Remove { folder: self.folder, error })
    }

    /// Keeps a finished job.
    pub(super) fn write(&self, index: usize, result: &JobResult) -> Result<(), PartsError> {
        if !result.poses.is_empty() {
            let set = ExampleSet::new(self.file.rig().clone(), result.poses.iter().map(example).collect())?;
            eigenskin_io::write_examples(self.path(index, "glb"), &self.file, &set)?;
        }
        // The second file is the mark that the first one is whole.
        let failed = result.failed.iter().cloned().map(|(name, reason)| FailedPose { name, reason });
        let part =
            Part { poses: result.poses.iter().map(SolvedPose::of).collect(), failed: failed.collect() };
        write_json(&self.path(index, "json"), &part)
    }

    /// A job that was finished before; `None` when it was not.
    pub(super) fn read(
        &self,
        index: usize,
        job: &Job,
        rig: &Arc<Rig>,
    ) -> Result<Option<JobResult>, PartsError> {
        let path = self.path(index, "json");
        if !path.exists() {
            return Ok(None);
        }
        let part: Part = read_json(&path)?;
        let mut result = JobResult::default();
        if !part.poses.is_empty() {
            let glb = self.path(index, "glb");
            if !glb.exists() {
                return Ok(None);
            }
            let set = shapes(&glb, rig)?;
            for ((example, solved), stop) in set.examples().iter().zip(part.poses).zip(&job.stops) {
                result.poses.push(SimulatedPose {
                    name: stop.name.clone(),
                    purpose: job.purpose,
                    // Files round poses; the job knows them as they were.
                    pose: job.pose(rig, stop.share),
                    positions: example.positions.clone(),
                    quality: solved.quality,
                });
            }
        }
        result.failed = part.failed.into_iter().map(|pose| (pose.name, pose.reason)).collect();
        if result.poses.len() + result.failed.len() != job.stops.len() {
            return Err(PartsError::OtherJob { path });
        }
        Ok(Some(result))
    }

    fn path(&self, index: usize, extension: &str) -> PathBuf {
        self.folder.join(format!("job-{index:04}.{extension}"))
    }
}

fn shapes(path: &Path, rig: &Arc<Rig>) -> Result<ExampleSet, PartsError> {
    let damaged = |problem: String| PartsError::Damaged { path: path.into(), problem };
    let read = eigenskin_io::read_examples(path, &ReadOptions::default());
    let (_, set) = read.map_err(|error| match error {
        ReadError::Io { path, error } => PartsError::Read { path, error },
        // The path is told already.
        ReadError::Gltf { error, .. } => damaged(error.to_string()),
        error => damaged(error.to_string()),
    })?;
    set.for_rig(rig).map_err(|error| damaged(error.to_string()))
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, PartsError> {
    let text = std::fs::read(path).map_err(|error| PartsError::Read { path: path.into(), error })?;
    serde_json::from_slice(&text)
        .map_err(|error| PartsError::Damaged { path: path.into(), problem: error.to_string() })
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), PartsError> {
    let write = || {
        let text = serde_json::to_string_pretty(value)? + "\n";
        eigenskin_io::atomic::write_file(path, text.as_bytes())
    };
    Ok(write().map_err(|error: std::io::Error| WriteError::Io { path: path.into(), error })?)
}
