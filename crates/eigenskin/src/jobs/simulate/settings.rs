//! What a user may choose about a simulation.

use eigenskin_sim::bones::BoneParams;
use eigenskin_sim::jobs::SamplingParams;
use eigenskin_sim::lattice::FillParams;
use eigenskin_sim::material::Material;
use eigenskin_sim::simulation::SimulationParams;
use serde::{Deserialize, Serialize};

use super::SimulateError;
use super::ranges::JointRanges;

/// How to simulate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimulateSettings {
    /// which poses, where none are given
    pub poses: PoseSettings,
    /// what the tissue is like
    pub tissue: TissueSettings,
    /// meshes, mesh nodes and materials that are no skin and are carried along; default none
    pub exclude: Vec<String>,
    /// threads that solve; default one per core. Results do not depend on it
    pub threads: Option<usize>,
}

/// Which poses the ranges of the joints give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoseSettings {
    /// poses per degree of freedom, one joint at a time; default 6
    pub per_degree: usize,
    /// whether there are poses that turn a joint about two axes at once; default yes
    pub corners: bool,
    /// poses of all joints, to learn what joints do together: of many random ones those that tell most; default 24
    pub multi_joint_poses: usize,
    /// random poses of all joints, to validate with; default 25
    pub validation_poses: usize,
    /// seed of the random poses; default 2002
    pub seed: u64,
    /// what joints can do; those not named here are known by their names, or move cautiously
    pub ranges: JointRanges,
    /// joints that do not move; default none
    pub locked: Vec<String>,
    /// share of the ranges that were not given, above 0 and up to 1.5; default 1
    pub range_share: f64,
}

/// What the tissue is like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TissueSettings {
    /// edge of the lattice's cells in the rig's unit; default a third of the thinnest limb
    pub cell_size: Option<f64>,
    /// the most cells that an automatic edge gives, from 20 to 300,000; default 3,000
    pub max_cells: usize,
    /// Poisson's ratio: towards 0.5 the tissue keeps its volume; default 0.45
    pub poisson: f64,
    /// radius of the bones as a share of their depth below the skin, above 0 and below 1; default 0.3
    pub bone_radius: f64,
    /// length left free at joints as a share of the depth there; default 0.75
    pub gap: f64,
    /// whether skin pushes skin away; default yes
    pub contact: bool,
}

impl Default for PoseSettings {
    fn default() -> Self {
        let SamplingParams { per_degree, validation, seed, .. } = SamplingParams::default();
        Self {
            per_degree,
            corners: true,
            multi_joint_poses: 24,
            validation_poses: validation,
            seed,
            ranges: JointRanges::new(),
            locked: Vec::new(),
            range_share: 1.0,
        }
    }
}

impl Default for TissueSettings {
    fn default() -> Self {
        let (bones, fill) = (BoneParams::default(), FillParams::default());
        Self {
            cell_size: fill.edge,
            max_cells: fill.most_cells,
            poisson: Material::default().poisson,
            bone_radius: bones.radius_share,
            gap: bones.gap_share,
            contact: true,
        }
    }
}

impl SimulateSettings {
    /// What can be said before a rig is read.
    pub fn check(&self) -> Result<(), SimulateError> {
        self.tissue.check()?;
        let share = self.poses.range_share;
        if !(share > 0.0 && share <= 1.5) {
            return bad("range_share", share, "a share above 0 and up to 1.5");
        }
        match self.threads {
            Some(0) => bad("threads", 0.0, "at least 1"),
            _ => Ok(()),
        }
    }
}

impl PoseSettings {
    /// How the ranges are sampled.
    pub(super) fn sampling(&self) -> SamplingParams {
        let default = SamplingParams::default();
        SamplingParams {
            per_degree: self.per_degree,
            corner_shares: if self.corners { default.corner_shares } else { Vec::new() },
            validation: self.validation_poses,
            seed: self.seed,
            ..default
        }
    }
}

impl TissueSettings {
    fn check(&self) -> Result<(), SimulateError> {
        if let Some(size) = self.cell_size.filter(|size| !(size.is_finite() && *size > 0.0)) {
            return bad("cell_size", size, "a length above 0, in the rig's unit");
        }
        if !(20..=300_000).contains(&self.max_cells) {
            return bad("max_cells", self.max_cells as f64, "a number from 20 to 300000");
        }
        if !(self.bone_radius > 0.0 && self.bone_radius < 1.0) {
            return bad("bone_radius", self.bone_radius, "a share above 0 and below 1, such as 0.3");
        }
        if !(self.gap.is_finite() && self.gap >= 0.0) {
            return bad("gap", self.gap, "a share of 0 or more, such as 0.75");
        }
        Ok(())
    }

    /// The same for the simulation itself.
    pub(super) fn params(&self) -> SimulationParams {
        let mut params = SimulationParams::default();
        let fill = &mut params.tissue.fill;
        fill.edge = self.cell_size;
        fill.most_cells = self.max_cells;
        fill.fewest_cells = fill.fewest_cells.min(self.max_cells / 2);
        params.tissue.bones.radius_share = self.bone_radius;
        params.tissue.bones.gap_share = self.gap;
        params.material.poisson = self.poisson;
        if !self.contact {
            params.contact = None;
        }
        params
    }
}

fn bad(name: &'static str, value: f64, needed: &'static str) -> Result<(), SimulateError> {
    Err(SimulateError::BadSetting { name, value, needed })
}
