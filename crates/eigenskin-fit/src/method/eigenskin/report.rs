//! What EigenSkin has learnt.

use serde::Serialize;

use super::regions::Regions;

/// What was learnt about joints and controls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EigenSkinReport {
    /// ‖u − model's displacement‖ / ‖u‖ over all examples, in rest space; zero when there was
    /// nothing to correct
    pub rest_space_error: f64,
    /// where supports were cut: share of a joint's largest displacement
    pub support_threshold: f64,
    /// one per joint or control that some example moves
    pub joints: Vec<JointReport>,
}

impl EigenSkinReport {
    pub(super) fn new(regions: &Regions, joints: Vec<JointReport>) -> Self {
        let Regions { threshold, error, .. } = *regions;
        Self { rest_space_error: error, support_threshold: threshold, joints }
    }
}

/// What was learnt about one joint or control.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JointReport {
    /// its name
    pub name: String,
    /// examples it was observed in
    #[serde(rename = "examples")]
    pub example_count: usize,
    /// points of the skin in its support
    #[serde(rename = "support")]
    pub support_count: usize,
    /// components kept
    #[serde(rename = "components")]
    pub component_count: usize,
    /// all singular values, falling
    pub singular_values: Vec<f64>,
    /// width of the kernels (of the first centre where they differ)
    pub width: f64,
    /// smoothing; 0 is exact
    pub smoothing: f64,
    /// condition number of the interpolation
    pub condition: f64,
    /// leave-one-out error of the coordinates (a displacement norm over the support)
    pub leave_one_out: f64,
}
