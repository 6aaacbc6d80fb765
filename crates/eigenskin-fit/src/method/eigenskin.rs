//! EigenSkin (Kry, James, Pai 2002): every joint has a few displacement fields on the part of the skin
//! it deforms, and its own motion drives them.
//!
//! ```text
//! u_i^p = (Σ_b w_ib T_b^p)⁻¹ v_i^p − v_i⁰                    what vertex i does in pose p, at rest    §2.2
//! S_j   = { i : max_p |u_i^p| > 4 % of the largest, p ∈ P_j }  where joint j acts                      §2.2
//! A_j   = U_j · D_j · V_jᵀ                                   columns u^p on S_j; û^jk are columns of U §2.3
//! n_j     such that no vertex has more fields than allowed; of those that predict left-out examples      §2.3
//! α^p_jk  least squares of u^p on the û^jk kept: column p of D_j V_jᵀ where joint j moves alone        §2.4
//! α_jk(pose) = Σ_q λ_q^jk φ(r_jq)                            over the joint's own motion r            §2.4
//!
//! v_i(pose) = Σ_b w_ib T_b ( v_i⁰ + Σ_j Σ_{k ≤ n_j} α_jk(pose) û_i^jk )                        Equation 2
//! ```
//! [`Observations`] hold the u. What joints do together is the paper's future work: [`super::patches`].

mod layers;
mod params;
mod prediction;
pub(super) mod regions;
mod report;

use eigenskin_core::model::Layer;
use eigenskin_core::progress::Progress;

use super::coordinates::{bases_of_counts, coordinates_of_examples};
use super::{FitError, allocation, joint_driver};
use crate::displacements::Observations;
use crate::during::During;
use crate::supports::{Cut, Moved, joint_supports};
use layers::joint_layers;
pub(super) use layers::{least_residual, residual_layer};
pub use params::EigenSkinParams;
use regions::{Regions, best_cut, principal_components};
pub use report::{EigenSkinReport, JointReport};

/// Learns layers, one per joint, from what was observed.
pub(super) fn learn(
    seen: &Observations,
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<(Vec<Layer>, EigenSkinReport), FitError> {
    let moved = Moved::of(seen);
    let (regions, drivers) = best_cut(seen, params, |threshold| {
        let regions = regions_cut_at(threshold, seen, &moved, params, progress)?;
        let drivers =
            joint_driver::joint_drivers(seen, &regions, params, &During::new(progress, "fitting drivers"))?;
        Ok((regions, drivers))
    })?;
    let joints = regions.reports(&seen.rig, &drivers);
    let layers = joint_layers(seen, &regions, drivers, params.normals, progress)?;
    Ok((layers, EigenSkinReport::new(&regions, joints)))
}

/// What each joint does where, with supports cut at a share of its largest displacement.
pub(super) fn regions_cut_at(
    threshold: f64,
    seen: &Observations,
    moved: &Moved,
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<Regions, FitError> {
    let progress = &During::new(progress, "finding components");
    let cut = Cut { threshold, border: params.support.border };
    let supports = joint_supports(seen, moved, cut, progress)?;
    if supports.is_empty() {
        return Err(FitError::NothingMoves);
    }
    let mut components = principal_components(seen, &supports, &params.budget, progress)?;
    let counts_for =
        |gains: &[Vec<f64>]| allocation::component_counts(seen, &supports, gains, &params.budget, progress);
    let mut counts = counts_for(&components.iter().map(|c| c.squares().collect()).collect::<Vec<_>>())?;
    // Where all fit, nothing is to be chosen, and examples are met; as many for every joint is the paper's way.
    let all_fit = counts.iter().zip(&components).all(|(&count, components)| count == components.count());
    if params.budget.per_joint.is_none() && !all_fit {
        counts = counts_for(&prediction::order_by_gain(seen, &supports, &mut components, params, progress)?)?;
    }
    let bases = bases_of_counts(&seen.displacements, &supports, &components, &counts, progress)?;
    let acting = regions::acting(moved, &supports);
    let (coordinates, error) = coordinates_of_examples(&seen.displacements, &bases, &acting, progress)?;
    Ok(Regions { threshold, supports, components, counts, bases, acting, coordinates, error })
}
