//! Work that can be interrupted and spread over machines: every finished job is a pair of files in
//! a folder beside the output, `job-0007.glb` (its poses) and `job-0007.json` (their quality).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::rig::Rig;
use eigenskin::sim::jobs::Job;
use eigenskin::sim::quality::PoseQuality;
use eigenskin::sim::simulation::{JobResult, SimulatedPose};
use serde_json::{Value, json};

use crate::output::write_json;

/// The folder of finished jobs.
pub struct Parts {
    folder: PathBuf,
    /// the rig as the parts carry it
    file: RigFile,
}

impl Parts {
    /// Opens the folder. What it holds must come from the same rig and settings, which `settings`
    /// describes.
    pub fn open(folder: &Path, file: &RigFile, settings: &Value) -> Result<Self> {
        let plan = folder.join("plan.json");
        if plan.exists() {
            let text = std::fs::read_to_string(&plan)
                .with_context(|| format!("{} could not be read", plan.display()))?;
            let before: Value =
                serde_json::from_str(&text).with_context(|| format!("{} is damaged", plan.display()))?;
            if before != *settings {
                bail!(
                    "{} holds jobs of another rig or other settings; remove the folder, or give the same ones",
                    folder.display()
                );
            }
        } else {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("{} could not be made", folder.display()))?;
            write_json(&plan, settings)?;
        }
        Ok(Self { folder: folder.to_path_buf(), file: file.clone() })
    }

    /// The folder for an output file: `hand.glb` → `hand.parts`.
    pub fn folder_of(output: &Path) -> PathBuf {
        output.with_extension("parts")
    }

    /// Removes the folder: its jobs are in the output now.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_dir_all(&self.folder)
            .with_context(|| format!("{} could not be removed", self.folder.display()))
    }

    /// Keeps a finished job.
    pub fn write(&self, index: usize, result: &JobResult) -> Result<()> {
        if !result.poses.is_empty() {
            let set = ExampleSet::new(self.file.rig().clone(), result.poses.iter().map(example).collect())?;
            eigenskin::io::write_examples(&self.path(index, "glb"), &self.file, &set)?;
        }
        // The second file is the mark that the first one is whole.
        write_json(&self.path(index, "json"), &described(result))
    }

    /// A job that was finished before; `None` when it was not.
    pub fn read(&self, index: usize, job: &Job, rig: &Arc<Rig>) -> Result<Option<JobResult>> {
        let path = self.path(index, "json");
        if !path.exists() {
            return Ok(None);
        }
        let damaged = || format!("{} is damaged; remove it and resume", path.display());
        let text = std::fs::read(&path).with_context(|| format!("{} could not be read", path.display()))?;
        let value: Value = serde_json::from_slice(&text).with_context(damaged)?;
        let qualities = value["poses"].as_array().with_context(damaged)?;
        let failed = value["failed"].as_array().with_context(damaged)?;
        let mut result = JobResult::default();
        if !qualities.is_empty() {
            let glb = self.path(index, "glb");
            if !glb.exists() {
                return Ok(None);
            }
            let damaged_glb = || format!("{} is damaged; remove it and resume", glb.display());
            let read = eigenskin::io::read_examples(&glb, &ReadOptions::default());
            let (_, set) = read.with_context(damaged_glb)?;
            let set = crate::rigs::examples_for(rig, set, &glb)?;
            for ((example, quality), stop) in set.examples().iter().zip(qualities).zip(&job.stops) {
                result.poses.push(SimulatedPose {
                    name: stop.name.clone(),
                    purpose: job.purpose,
                    // Files round poses; the job knows them as they were.
                    pose: job.pose(rig, stop.share),
                    positions: example.positions.clone(),
                    quality: quality_of(quality).with_context(damaged)?,
                });
            }
        }
        for pair in failed {
            let text = |key: &str| pair[key].as_str().map(str::to_string).with_context(damaged);
            result.failed.push((text("name")?, text("reason")?));
        }
        if result.poses.len() + result.failed.len() != job.stops.len() {
            bail!("{} has another number of poses than its job; remove it and resume", path.display());
        }
        Ok(Some(result))
    }

    fn path(&self, index: usize, extension: &str) -> PathBuf {
        self.folder.join(format!("job-{index:04}.{extension}"))
    }
}

/// A simulated pose as an example.
pub fn example(pose: &SimulatedPose) -> Example {
    Example {
        name: pose.name.clone(),
        pose: pose.pose.clone(),
        positions: pose.positions.clone(),
        normals: None,
        inverted: None,
    }
}

fn described(result: &JobResult) -> Value {
    let failed: Vec<Value> =
        result.failed.iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect();
    json!({
        "poses": result.poses.iter().map(|pose| quality_json(&pose.name, &pose.quality)).collect::<Vec<_>>(),
        "failed": failed,
    })
}

/// The quality of a pose for machines.
pub fn quality_json(name: &str, quality: &PoseQuality) -> Value {
    json!({
        "name": name,
        "smallest_volume": quality.smallest_volume,
        "inverted": quality.inverted,
        "stable": quality.stable,
        "volume": quality.volume,
        "penetration": quality.penetration,
        "jump": quality.jump,
        "newton_steps": quality.newton_steps,
        "contact_steps": quality.contact_steps,
        "settled": quality.settled,
    })
}

fn quality_of(value: &Value) -> Option<PoseQuality> {
    Some(PoseQuality {
        smallest_volume: value["smallest_volume"].as_f64()?,
        inverted: value["inverted"].as_u64()? as usize,
        stable: value["stable"].as_bool()?,
        volume: value["volume"].as_f64()?,
        penetration: value["penetration"].as_f64(),
        jump: value["jump"].as_f64()?,
        newton_steps: value["newton_steps"].as_u64()? as usize,
        contact_steps: value["contact_steps"].as_u64()? as usize,
        settled: value["settled"].as_bool()?,
    })
}
