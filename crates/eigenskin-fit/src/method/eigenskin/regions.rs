//! What each joint does where, and where supports are best cut.

use eigenskin_core::progress::Progress;
use eigenskin_core::rig::Rig;
use rayon::prelude::*;

use super::prediction::left_out_error;
use super::{EigenSkinParams, JointReport};
use crate::basis::PrincipalComponents;
use crate::displacements::{Observations, TileError};
use crate::drivers::RbfFit;
use crate::method::coordinates::KeptBasis;
use crate::method::{Budget, FitError};
use crate::supports::{JointSupport, Moved};

/// Supports cut at one threshold, and all that follows from it.
pub(in crate::method) struct Regions {
    /// share of a joint's largest displacement
    pub threshold: f64,
    /// one per joint or control that some example moves
    pub supports: Vec<JointSupport>,
    /// `support`
    pub components: Vec<PrincipalComponents>,
    /// `support` → components kept
    pub counts: Vec<usize>,
    /// `support`
    pub bases: Vec<KeptBasis>,
    /// `example` → supports that act in it
    pub acting: Vec<Vec<usize>>,
    /// `example`, acting support → coordinates
    pub coordinates: Vec<Vec<Vec<f64>>>,
    /// ‖u − what the kept components make of it‖ / ‖u‖ over all examples
    pub error: f64,
}

/// The paper's threshold.
const PAPER: f64 = 0.04;
/// Larger ones to try: with many joints near each other, wide supports use up the limit of every vertex, and smaller
/// ones leave room for more components (§2.5 proposes to mask supports to smaller regions).
const LARGER: [f64; 7] = [0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5];

/// Supports cut as asked; if that is left open, where least is left of poses that were not seen.
pub(super) fn best_cut(
    seen: &Observations,
    params: &EigenSkinParams,
    cut_at: impl Fn(f64) -> Result<(Regions, Vec<RbfFit>), FitError>,
) -> Result<(Regions, Vec<RbfFit>), FitError> {
    let mut best = cut_at(params.support.threshold.unwrap_or(PAPER))?;
    let is_limited = params.budget.per_vertex.is_some() && params.budget.per_joint.is_none();
    if params.support.threshold.is_none() && is_limited && !seen.is_large() {
        let mut least = left_out_error(seen, &best.0, &best.1)?;
        for threshold in LARGER {
            let next = cut_at(threshold)?;
            let error = left_out_error(seen, &next.0, &next.1)?;
            if error < least {
                (best, least) = (next, error);
            }
        }
    }
    Ok(best)
}

impl Regions {
    /// What is to be said of all joints, with their drivers (`support`).
    pub fn reports(&self, rig: &Rig, drivers: &[RbfFit]) -> Vec<JointReport> {
        let report = |(index, fit): (usize, &RbfFit)| {
            let support = &self.supports[index];
            let mut singular_values = self.components[index].singular_values.clone();
            singular_values.sort_by(|a, b| b.total_cmp(a));
            JointReport {
                name: support.mover.name(rig).to_string(),
                example_count: support.examples.len(),
                support_count: support.points.len(),
                component_count: self.counts[index],
                singular_values,
                width: fit.width,
                smoothing: fit.smoothing,
                condition: fit.condition,
                leave_one_out: fit.leave_one_out,
            }
        };
        drivers.iter().enumerate().map(report).collect()
    }
}

/// `example` → supports that act in it.
pub(super) fn acting(moved: &Moved, supports: &[JointSupport]) -> Vec<Vec<usize>> {
    let support_of: Vec<Option<usize>> =
        moved.movers.iter().map(|mover| supports.iter().position(|s| s.mover == *mover)).collect();
    let acting = |movers: &Vec<usize>| movers.iter().filter_map(|&mover| support_of[mover]).collect();
    moved.by_example.iter().map(acting).collect()
}

/// A_j = U_j D_j V_jᵀ of every support; as many components as may be asked for, all where nothing limits
/// them.
pub(super) fn principal_components(
    seen: &Observations,
    supports: &[JointSupport],
    budget: &Budget,
    progress: &dyn Progress,
) -> Result<Vec<PrincipalComponents>, TileError> {
    let wanted = budget.per_joint.or(budget.per_vertex);
    let of = |support: &JointSupport| {
        support.with_displacements(&seen.displacements, |a| PrincipalComponents::of(a, wanted, progress))
    };
    supports.par_iter().map(of).collect()
}
