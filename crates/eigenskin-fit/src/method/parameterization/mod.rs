//! Parameterization of skin by joints (Kim, Choi, Hoffmann 2011 §3).
//!
//! ```text
//! X = A · S                    displacements (`3·point × example`) as few fields A and signals S    Equation 1
//! X(θ) = A · S(θ)              the signals over the joint angles θ, by thin plates                  Equation 2
//! ```
//! X are displacements pulled back to rest, over the whole skin or over parts of it, each with fields,
//! signals and joints of its own. The paper's authors cut the body by hand; here the partition is the one
//! that promises the smallest error on examples not seen, under the limit of signals at any vertex.

mod drivers;
mod folds;
mod layers;
mod params;
mod partition;
mod report;
mod search;
mod signals;

use eigenskin_core::model::Layer;
use eigenskin_core::progress::Progress;
use glam::Vec3;

use self::drivers::fit_driver;
use self::layers::signal_layer;
pub use self::params::{ParameterizationParams, SignalBasis};
pub use self::report::{ParameterizationReport, PartReport};
use self::search::{Observed, best_partition};
use self::signals::{PartComponents, part_signals};
use super::FitError;
use super::eigenskin::least_residual;
use super::moving_things::moving_things;
use crate::displacements::Observations;
use crate::during::During;

/// Learns layers, one per part of the skin, from what was observed.
pub(super) fn learn(
    seen: &Observations,
    params: &ParameterizationParams,
    progress: &dyn Progress,
) -> Result<(Vec<Layer>, ParameterizationReport), FitError> {
    let things = moving_things(seen);
    if things.is_empty() {
        return Err(FitError::NothingMoves);
    }
    // Parts of the skin, their components, and the joints that drive them.
    let observed = Observed { seen, things: &things };
    let cut = best_partition(observed, params, &During::new(progress, "cutting the skin into parts"))?;
    let progress = &During::new(progress, "fitting signals");
    let (mut layers, mut parts) = (Vec::new(), Vec::new());
    for part in cut.parts_with_signals() {
        // Equation 1: A and S of the part.
        let found = part_signals(&seen.displacements, part.part, part.components, &params.basis, progress)?;
        // Equation 2: S(θ).
        let fit = fit_driver(observed, part, &found.signals, params, progress)?;
        let layer = signal_layer(&seen.displacements, part.part, &found, &fit, params.normals, progress)?;
        parts.push(PartReport::new(observed, part, &layer, &fit));
        layers.push(layer);
    }
    let total = cut.components.iter().map(PartComponents::energy).sum::<f64>();
    let share = |energy: f64| if total > 0.0 { (energy / total).sqrt() } else { 0.0 };
    let residuals = &seen.displacements.residuals;
    let least = least_residual(seen);
    let is_left = |(_, residual): &(u32, Vec3)| f64::from(residual.length()) > least;
    let report = ParameterizationReport {
        rest_space_error: share(cut.energy_lost()),
        cross_validation: cut.error_unseen().map(share),
        residuals_ignored: residuals.iter().filter(|residuals| residuals.iter().any(is_left)).count(),
        parts,
    };
    Ok((layers, report))
}
