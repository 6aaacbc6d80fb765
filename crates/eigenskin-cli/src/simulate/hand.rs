//! The built-in hand bent as soft tissue, as `demo` and `reproduce` want it.

use std::collections::HashSet;

use anyhow::{Result, bail};
use eigenskin::characters::Character;
use eigenskin::progress::Unwatched;
use eigenskin::sim::jobs::{Job, Purpose, SamplingParams, jobs, jobs_of_poses};
use eigenskin::sim::simulation::{Simulation, SimulationParams};

use super::outcome::Outcome;
use super::{plan, run};
use crate::output::Output;
use crate::progress;

/// Which poses to simulate, and how finely.
pub struct HandPlan {
    /// poses per degree of freedom to learn from, one joint at a time
    pub per_degree: usize,
    /// whether the poses half-way between those are simulated too, to test with
    pub between: bool,
    /// poses of two neighbouring joints to learn from
    pub coupled: usize,
    /// poses of all joints to learn from
    pub together: usize,
    /// random poses of all joints to test with
    pub validation_poses: usize,
    /// whether the hand's named poses are among them
    pub named_poses: bool,
    /// seed of the random poses
    pub seed: u64,
    /// the most cubes of the lattice
    pub cubes: usize,
    /// whether skin pushes skin away
    pub contact: bool,
}

/// What was simulated.
pub struct SimulatedHand {
    /// the tissue
    pub simulation: Simulation,
    /// its settings
    pub params: SimulationParams,
    /// its poses
    pub outcome: Outcome,
    /// names of the poses of one joint to test with
    pub between: HashSet<String>,
}

/// Fewer cubes would be far thicker than the fingers.
const FEWEST_CUBES: usize = 200;

impl HandPlan {
    /// What can be said before anything is built.
    pub fn check(&self) -> Result<()> {
        if self.per_degree == 0 {
            bail!("--per-degree 0 leaves nothing to learn from; give at least 1");
        }
        if self.cubes < FEWEST_CUBES {
            bail!("--cubes {} cannot fill five fingers; give at least {FEWEST_CUBES}", self.cubes);
        }
        Ok(())
    }

    /// Fills the hand, bends it, and prints both.
    pub fn simulate(&self, hand: &Character, output: &Output, quiet: bool) -> Result<SimulatedHand> {
        let (jobs, between) = self.jobs(hand);
        let mut params = run::params_with_cubes(self.cubes);
        if !self.contact {
            params.contact = None;
        }
        let simulation = progress::while_doing(quiet, "filling the skin", || {
            Simulation::new(hand.rig.clone(), &jobs, &[], &params, &Unwatched)
        })?;
        let tested = between.len();
        plan::print_tissue(output, &simulation, &jobs, tested);
        let held_out = |name: &str| between.contains(name);
        let outcome = run::solve_and_sort(&simulation, &jobs, None, held_out, output, quiet)?;
        Ok(SimulatedHand { simulation, params, outcome, between })
    }

    /// Each degree of freedom alone, then random and named poses of all joints. Poses between those
    /// to learn from lie on the same ways, where they cost little.
    fn jobs(&self, hand: &Character) -> (Vec<Job>, HashSet<String>) {
        let articulation = hand.articulation();
        let sampling = SamplingParams {
            per_degree: self.per_degree,
            corner_shares: Vec::new(),
            couplings: self.coupled,
            together: self.together,
            validation: self.validation_poses,
            seed: self.seed,
            ..SamplingParams::default()
        };
        let mut wanted = jobs(articulation, &sampling);
        let mut between = HashSet::new();
        if self.between {
            let held_out = articulation.sweeps(self.per_degree, 0.5);
            between.extend(held_out.iter().map(|angles| angles.name.clone()));
            let mut sweeps = articulation.poses(&articulation.sweeps(self.per_degree, 0.0));
            sweeps.extend(articulation.poses(&held_out));
            let swept: HashSet<&str> = sweeps.iter().map(|named| named.name.as_str()).collect();
            wanted.retain(|job| job.stops.iter().all(|stop| !swept.contains(stop.name.as_str())));
            let ways = jobs_of_poses(&hand.rig, &sweeps, Purpose::Training);
            wanted = ways.into_iter().chain(wanted).collect();
        }
        if self.named_poses {
            let named = articulation.poses(&hand.named_angles());
            wanted.extend(jobs_of_poses(&hand.rig, &named, Purpose::Validation));
        }
        (wanted, between)
    }
}
