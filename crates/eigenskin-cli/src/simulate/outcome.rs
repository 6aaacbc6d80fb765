//! What came out of a simulation: poses to keep, poses to drop, and how good they are.

use std::sync::Arc;

use anyhow::{Result, bail};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::{DroppedPose, PoseRecord, SimulationRecord};
use eigenskin::rig::Rig;
use eigenskin::sim::jobs::{Job, Purpose};
use eigenskin::sim::material::Model;
use eigenskin::sim::quality::{PoseQuality, QualityLimits};
use eigenskin::sim::simulation::{JobResult, Simulation, SimulationParams};
use serde_json::{Value, json};

use super::parts::example;
use crate::output::{Output, counted};

/// A pose that is good enough.
pub struct Kept {
    /// what it is for
    pub purpose: Purpose,
    /// its shape
    pub example: Example,
    /// how good it is
    pub quality: PoseQuality,
}

/// A pose that is not.
pub struct Dropped {
    /// what it was for
    pub purpose: Purpose,
    /// its name
    pub name: String,
    /// why
    pub reason: String,
}

/// Solved poses, sorted.
pub struct Outcome {
    /// in the order of the jobs
    pub kept: Vec<Kept>,
    /// in the order of the jobs
    pub dropped: Vec<Dropped>,
    /// all poses that were solved, good or not, in the order of the jobs
    pub solved: Vec<(String, PoseQuality)>,
    /// how long it took
    pub seconds: f64,
}

impl Outcome {
    /// Sorts the results of jobs. `held_out` says of a pose by its name that it is to test with,
    /// though it lies on the way of poses to learn from.
    pub fn of(
        jobs: &[Job],
        results: &[JobResult],
        limits: &QualityLimits,
        held_out: impl Fn(&str) -> bool,
        seconds: f64,
    ) -> Self {
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for (job, result) in jobs.iter().zip(results) {
            let purpose = |name: &str| if held_out(name) { Purpose::Validation } else { job.purpose };
            for pose in &result.poses {
                let (purpose, quality) = (purpose(&pose.name), &pose.quality);
                match quality.fault(limits) {
                    Some(reason) => dropped.push(Dropped { purpose, name: pose.name.clone(), reason }),
                    None => kept.push(Kept { purpose, example: example(pose), quality: quality.clone() }),
                }
            }
            dropped.extend(result.failed.iter().map(|(name, reason)| Dropped {
                purpose: purpose(name),
                name: name.clone(),
                reason: reason.clone(),
            }));
        }
        let poses = results.iter().flat_map(|result| &result.poses);
        let solved = poses.map(|pose| (pose.name.clone(), pose.quality.clone())).collect();
        Self { kept, dropped, solved, seconds }
    }

    /// How many kept poses are for something.
    pub fn count(&self, purpose: Purpose) -> usize {
        self.kept.iter().filter(|pose| pose.purpose == purpose).count()
    }

    /// The kept poses that `wanted` chooses; with none, one sentence that says why.
    pub fn examples(&self, rig: &Arc<Rig>, wanted: impl Fn(&Kept) -> bool) -> Result<ExampleSet> {
        let chosen = self.kept.iter().filter(|pose| wanted(pose)).map(|pose| pose.example.clone());
        let examples: Vec<Example> = chosen.collect();
        if examples.is_empty() {
            match self.dropped.first() {
                Some(first) => bail!(
                    "none of {} poses is good enough to use; the first, {:?}: {}",
                    self.dropped.len(),
                    first.name,
                    first.reason
                ),
                None => bail!("there are no poses to learn from; ask for some with --per-degree"),
            }
        }
        Ok(ExampleSet::new(rig.clone(), examples)?)
    }

    /// What a set of the poses whose purpose and name are `wanted` tells about itself.
    pub fn record(
        &self,
        simulation: &Simulation,
        params: &SimulationParams,
        wanted: impl Fn(Purpose, &str) -> bool,
    ) -> SimulationRecord {
        let tissue = simulation.tissue();
        let lattice = &tissue.filling.lattice;
        let kept = self.kept.iter().filter(|pose| wanted(pose.purpose, &pose.example.name));
        let dropped = self.dropped.iter().filter(|pose| wanted(pose.purpose, &pose.name));
        SimulationRecord {
            cubes: lattice.cell_count(),
            edge: lattice.edge,
            unknowns: 3 * lattice.node_count(),
            bones: tissue.plan.groups.len(),
            material: match params.material.model {
                Model::NeoHookean => "neo-Hookean",
                Model::StableNeoHookean => "stable neo-Hookean",
            }
            .to_string(),
            poisson: params.material.poisson,
            contact: params.contact.is_some(),
            poses: kept.map(|pose| pose_record(&pose.example.name, &pose.quality)).collect(),
            dropped: dropped
                .map(|pose| DroppedPose { name: pose.name.clone(), reason: pose.reason.clone() })
                .collect(),
        }
    }

    /// Sums it up for people.
    pub fn print(&self, output: &Output) {
        let over = |of: fn(&PoseQuality) -> f64, pick: fn(f64, f64) -> f64| {
            self.kept.iter().map(|pose| of(&pose.quality)).reduce(pick)
        };
        if let (Some(low), Some(high), Some(smallest)) = (
            over(|quality| quality.volume, f64::min),
            over(|quality| quality.volume, f64::max),
            over(|quality| quality.smallest_volume, f64::min),
        ) {
            output.item(
                "simulated",
                format!(
                    "{} in {:.0} s; volume {:.1}–{:.1} % of rest, no point inside out (smallest J {smallest:.2})",
                    counted(self.kept.len(), "pose", "poses"),
                    self.seconds,
                    100.0 * low,
                    100.0 * high
                ),
            );
        }
        self.print_contact(output);
        if !self.dropped.is_empty() {
            output.item("dropped", format!("{}:", counted(self.dropped.len(), "pose", "poses")));
            for dropped in &self.dropped {
                output.item("", format!("{}: {}", dropped.name, dropped.reason));
            }
        }
    }

    /// What contact cost, and what it left.
    fn print_contact(&self, output: &Output) {
        let touching = self.solved.iter().filter(|(_, quality)| quality.contact_steps > 0).count();
        if touching == 0 {
            return;
        }
        let steps: usize = self.solved.iter().map(|(_, quality)| quality.newton_steps).sum();
        let of_contact: usize = self.solved.iter().map(|(_, quality)| quality.contact_steps).sum();
        let dragged = self.solved.iter().filter(|(_, quality)| !quality.settled).count();
        let depths = self.kept.iter().filter_map(|pose| pose.quality.penetration);
        output.item(
            "contact",
            format!(
                "skin touches skin in {touching} of {} ({dragged} ended by drag), which took {of_contact} of {steps} Newton steps; at most {:.1} % of the size within other skin",
                counted(self.solved.len(), "pose", "poses"),
                100.0 * depths.fold(0.0, f64::max)
            ),
        );
    }

    /// The dropped poses for machines.
    pub fn dropped_json(&self) -> Value {
        self.dropped.iter().map(|pose| json!({ "name": pose.name, "reason": pose.reason })).collect()
    }
}

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
