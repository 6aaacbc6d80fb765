//! How the shapes of an example set were simulated: settings, and how good every pose is. It
//! travels in the set's table, so that a later `fit` can tell it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A simulation and the quality of its poses. Nothing in it changes from run to run, so that the
/// same simulation writes the same bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SimulationRecord {
    /// cubes of the lattice
    pub cubes: usize,
    /// their edge in the rig's unit
    pub edge: f64,
    /// unknowns of the equations
    pub unknowns: usize,
    /// groups of bones that move against each other
    pub bones: usize,
    /// name of the material's law
    pub material: String,
    /// Poisson's ratio
    pub poisson: f64,
    /// whether skin pushed skin away
    pub contact: bool,
    /// the poses that were kept, as the set names them
    pub poses: Vec<PoseRecord>,
    /// the poses that were not
    pub dropped: Vec<DroppedPose>,
    /// settings of `simulate` that more poses are simulated with; none in files of version 0.1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
}

/// How good a simulated pose is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoseRecord {
    /// its name
    pub name: String,
    /// volume of the body over its volume at rest
    pub volume: f64,
    /// smallest volume left at a point of the tissue, over that at rest (J = det F)
    #[serde(rename = "smallestJ")]
    pub smallest_j: f64,
    /// deepest skin within another part over the size; none where contact was off
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub penetration: Option<f64>,
    /// how far the skin jumped against the pose before it on the way from rest, over the size; 0 for
    /// the first one
    pub jump: f64,
    /// whether a small push would leave it where it is
    pub stable: bool,
}

/// A pose that is not in the set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DroppedPose {
    /// its name
    pub name: String,
    /// why
    pub reason: String,
}
