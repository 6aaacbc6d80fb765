//! What was learnt.

use serde::Serialize;

use super::selection::PatchDriver;
use crate::displacements::Observations;

/// What patches tell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchesReport {
    /// what the fields leave of the displacements, relative, whatever drives them
    pub rest_space_error: f64,
    /// each patch of the skin that moves
    pub patches: Vec<PatchReport>,
}

/// One patch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchReport {
    /// named after the joint that holds most of it
    pub name: String,
    /// joints and controls that drive it
    pub drivers: Vec<String>,
    /// how strongly they act together
    pub strength: f64,
    /// how much the most relevant ones stand out
    pub power: i32,
    /// pairs of bones whose contact drives it too; none where that does not help
    pub contacts: usize,
    /// how strongly contact acts; zero where it does not help
    pub contact_strength: f64,
    /// overlap over which its effect changes, as a share of the size
    pub contact_length: f64,
    /// share of the kernel's mean diagonal
    pub smoothing: f64,
    /// error of its coordinates in poses that are left out, relative
    pub cross_validation: f64,
}

impl PatchReport {
    pub(super) fn new(seen: &Observations, name: &str, driver: &PatchDriver) -> Self {
        let mut drivers: Vec<String> =
            driver.movers.iter().map(|mover| mover.name(&seen.rig).to_string()).collect();
        drivers.dedup();
        Self {
            name: name.to_string(),
            drivers,
            strength: driver.choice.strength,
            power: driver.choice.power,
            contacts: driver.contacts,
            contact_strength: driver.choice.touch.map_or(0.0, |touch| touch.amount),
            contact_length: driver.choice.touch.map_or(0.0, |touch| touch.length),
            smoothing: driver.choice.smoothing,
            cross_validation: driver.cross_validation,
        }
    }
}
