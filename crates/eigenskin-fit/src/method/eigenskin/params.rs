//! How EigenSkin learns.

use serde::{Deserialize, Serialize};

use crate::drivers::{RbfParams, Smoothing};
use crate::method::{Budget, FitError};
use crate::supports::SupportParams;

/// How to fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EigenSkinParams {
    /// how supports are cut
    pub support: SupportParams,
    /// limits on the number of components
    pub budget: Budget,
    /// how coordinates are interpolated
    pub interpolation: RbfParams,
    /// whether normals are corrected along with positions; default yes
    pub normals: bool,
    /// how far coordinates may leave the range they have over the examples, as a share of that
    /// range; default 0.5. They change their sign only where examples do. `None` lets the kernels run
    /// free outside the examples
    pub clamp_margin: Option<f64>,
}

impl Default for EigenSkinParams {
    fn default() -> Self {
        Self {
            support: SupportParams::default(),
            budget: Budget::default(),
            interpolation: RbfParams::default(),
            normals: true,
            clamp_margin: Some(0.5),
        }
    }
}

impl EigenSkinParams {
    /// Whether one pose may have two shapes: smoothing finds something between them.
    pub fn allows_compromise(&self) -> bool {
        matches!(self.interpolation.smoothing, Smoothing::Fixed(smoothing) if smoothing > 0.0)
    }

    pub(in crate::method) fn check(&self) -> Result<(), FitError> {
        if let Some(threshold) = self.support.threshold.filter(|threshold| !(0.0..1.0).contains(threshold)) {
            let (what, bound) = ("the support threshold", "in 0 ≤ threshold < 1");
            return Err(FitError::Parameter { what, bound, value: threshold });
        }
        FitError::check_clamp_margin(self.clamp_margin)
    }
}
