//! How parameterization learns.

use serde::{Deserialize, Serialize};

use super::drivers::thin_plates;
use crate::basis::IcaParams;
use crate::drivers::{RbfParams, Smoothing};
use crate::method::FitError;

/// How to fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParameterizationParams {
    /// how displacements are taken apart; default principal components
    pub basis: SignalBasis,
    /// signals of their own for x, y and z, only to rebuild the paper's table; default no
    pub per_coordinate: bool,
    /// signals that may act on any vertex (with `per_coordinate`, on each of its coordinates);
    /// default 12, as in the paper. `None` keeps all
    pub signals_per_vertex: Option<usize>,
    /// signals of all parts together; default `None`: no limit
    pub most_signals: Option<usize>,
    /// number of parts; default `None`: what promises the smallest error. 1 is the whole skin. A rig with
    /// fewer pieces is cut into fewer parts
    pub parts: Option<usize>,
    /// how signals are interpolated; default thin plates with their linear tail, smoothing by
    /// cross-validation
    pub interpolation: RbfParams,
    /// centres of an interpolant; with more examples than that, so many are chosen and the rest is met
    /// by least squares; default 256
    pub most_centres: usize,
    /// whether normals are corrected along with positions; default yes
    pub normals: bool,
    /// how far signals may leave the range they have over the examples, as a share of the widest range of
    /// a part's signals; default 0.5. They change their sign only where examples do. `None` lets them run
    /// free outside the examples
    pub clamp_margin: Option<f64>,
}

/// How displacements are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalBasis {
    /// principal components
    Principal,
    /// independent components of the space that the principal ones span
    Independent(IcaParams),
}

impl Default for ParameterizationParams {
    fn default() -> Self {
        Self {
            basis: SignalBasis::Principal,
            per_coordinate: false,
            signals_per_vertex: Some(12),
            most_signals: None,
            parts: None,
            interpolation: thin_plates(),
            most_centres: 256,
            normals: true,
            clamp_margin: Some(0.5),
        }
    }
}

impl ParameterizationParams {
    /// Whether one pose may have two shapes: smoothing finds something between them.
    pub fn allows_compromise(&self) -> bool {
        matches!(self.interpolation.smoothing, Smoothing::Fixed(smoothing) if smoothing > 0.0)
    }

    pub(in crate::method) fn check(&self) -> Result<(), FitError> {
        let bad = |what, bound, value| Err(FitError::Parameter { what, bound, value });
        match self {
            Self { signals_per_vertex: Some(0), .. } => {
                bad("the limit of signals at a vertex", "at least 1", 0.0)
            }
            Self { parts: Some(0), .. } => bad("the number of parts", "at least 1", 0.0),
            Self { most_centres, .. } if *most_centres < 2 => {
                bad("the number of centres", "at least 2", *most_centres as f64)
            }
            _ => FitError::check_clamp_margin(self.clamp_margin),
        }
    }
}
