//! The poses of the built-in hand that are simulated.

use std::collections::{BTreeSet, HashSet};

use eigenskin_characters::Character;
use eigenskin_core::progress::Progress;
use eigenskin_gltf::RigFile;
use eigenskin_sim::jobs::{Purpose, SamplingParams, jobs, jobs_of_poses};
use serde::{Deserialize, Serialize};

use crate::jobs::simulate::choice::Choice;
use crate::jobs::simulate::{SimulateError, SimulationJobs, SimulationPlan, TissueSettings};

/// Which poses of a hand to simulate, and how finely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HandSettings {
    /// poses per degree of freedom to learn from, one joint at a time; default 4
    pub per_degree: usize,
    /// whether the poses half-way between those are simulated too, to test with; default yes
    pub between: bool,
    /// poses of all joints to learn from: what joints do together; default 24
    pub multi_joint_poses: usize,
    /// random poses of all joints to test with; default 6
    pub validation_poses: usize,
    /// whether the hand's named poses (fist, pinch and others) are among those to test with; default yes
    pub named_poses: bool,
    /// seed of the random poses; default 2002
    pub seed: u64,
    /// the most cells of the lattice that is the tissue, at least 200; default 1,500
    pub max_cells: usize,
    /// whether skin pushes skin away; default yes
    pub contact: bool,
}

impl Default for HandSettings {
    fn default() -> Self {
        Self {
            per_degree: 4,
            between: true,
            multi_joint_poses: 24,
            validation_poses: 6,
            named_poses: true,
            seed: 2002,
            max_cells: 1500,
            contact: true,
        }
    }
}

/// Fewer cells would be far thicker than the fingers.
const FEWEST_CELLS: usize = 200;

impl HandSettings {
    /// As many poses as the EigenSkin paper has, in finer tissue.
    pub fn of_the_paper() -> Self {
        Self { per_degree: 6, validation_poses: 25, max_cells: 3000, ..Self::default() }
    }

    /// What can be said before anything is built.
    pub fn check(&self) -> Result<(), SimulateError> {
        let bad =
            |name, value: usize, needed| Err(SimulateError::BadSetting { name, value: value as f64, needed });
        if self.per_degree == 0 {
            return bad("per_degree", 0, "at least 1: without there is nothing to learn from");
        }
        if self.max_cells < FEWEST_CELLS {
            return bad("max_cells", self.max_cells, "at least 200: fewer cannot fill five fingers");
        }
        Ok(())
    }

    /// Fills the hand, whose rig is that of `file`.
    pub fn plan(
        &self,
        hand: &Character,
        file: RigFile,
        progress: &dyn Progress,
    ) -> Result<SimulationPlan, SimulateError> {
        self.check()?;
        let tissue =
            TissueSettings { max_cells: self.max_cells, contact: self.contact, ..TissueSettings::default() };
        SimulationPlan::new(file, self.jobs(hand, progress)?, &tissue, &[], progress)
    }

    /// Each degree of freedom alone, then random and named poses of all joints. Poses between those to
    /// learn from lie on the same ways, where they cost little.
    fn jobs(&self, hand: &Character, progress: &dyn Progress) -> Result<SimulationJobs, SimulateError> {
        let articulation = hand.articulation();
        let sampling = SamplingParams {
            per_degree: self.per_degree,
            corner_shares: Vec::new(),
            validation: self.validation_poses,
            seed: self.seed,
            ..SamplingParams::default()
        };
        let (degrees, share) = (articulation.degrees, sampling.validation_share);
        let choice = Choice { rig: &hand.rig, degrees, share, seed: self.seed };
        let together = choice.first(self.multi_joint_poses, &sampling, progress)?;
        let mut wanted = jobs(articulation, &sampling, &together);
        let mut held_out = BTreeSet::new();
        if self.between {
            let between = articulation.sweeps(self.per_degree, 0.5);
            held_out.extend(between.iter().map(|angles| angles.name.clone()));
            let mut sweeps = articulation.poses(&articulation.sweeps(self.per_degree, 0.0));
            sweeps.extend(articulation.poses(&between));
            let swept: HashSet<&str> = sweeps.iter().map(|named| named.name.as_str()).collect();
            wanted.retain(|job| job.stops.iter().all(|stop| !swept.contains(stop.name.as_str())));
            let ways = jobs_of_poses(&hand.rig, &sweeps, Purpose::Training);
            wanted = ways.into_iter().chain(wanted).collect();
        }
        if self.named_poses {
            let named = articulation.poses(&hand.named_angles());
            wanted.extend(jobs_of_poses(&hand.rig, &named, Purpose::Validation));
        }
        Ok(SimulationJobs { ranges: None, jobs: wanted, held_out, before: None })
    }
}
