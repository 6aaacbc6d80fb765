//! What parameterization has learnt.

use serde::Serialize;

/// What was learnt about parts of the skin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterizationReport {
    /// ‖u − A·S‖ / ‖u‖ over all examples, in rest space: what the signals kept cannot show
    pub rest_space_error: f64,
    /// ‖u − A·S(θ)‖ / ‖u‖ in rest space when every example is left out, with its stretch, of components and
    /// drivers; `None` with too few examples to tell
    pub cross_validation: Option<f64>,
    /// examples whose residuals after skinning were left out: this method has none
    pub residuals_ignored: usize,
    /// one per part of the skin that has signals
    pub parts: Vec<PartReport>,
}

/// What was learnt about one part of the skin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartReport {
    /// its name
    pub name: String,
    /// joints and controls that drive it
    pub drivers: Vec<String>,
    /// vertices it moves
    #[serde(rename = "vertices")]
    pub vertex_count: usize,
    /// `vertex it moves`, in the order of its layer's support: its share of the skin there
    #[serde(skip)]
    pub mask: Vec<f32>,
    /// signals kept
    #[serde(rename = "signals")]
    pub signal_count: usize,
    /// share of the part's squared displacements that they show
    pub energy_kept: f64,
    /// squared lengths of all components, falling (for x, then y, then z, where they have their own)
    pub energies: Vec<f64>,
    /// centres of the interpolation
    #[serde(rename = "centres")]
    pub centre_count: usize,
    /// smoothing; 0 is exact
    pub smoothing: f64,
    /// condition number of the interpolation
    pub condition: f64,
    /// ‖u − A·S(θ)‖ / ‖u‖ on the part in rest space, every example left out with its stretch; `None` with too
    /// few examples to tell
    pub cross_validation: Option<f64>,
}
