//! Where joints act and what they do there: supports, their principal components, how many are kept,
//! and the examples' coordinates in them (EigenSkin §2.2, §2.3).

use glam::DVec3;
use rayon::prelude::*;

use super::allocation::{Budget, allocate};
use super::coordinates::{KeptBasis, example_coordinates, projections_on, rest_space_error};
use super::eigenskin::{EigenSkinParams, FitError};
use crate::basis::PrincipalComponents;
use crate::displacements::{Observations, RestDisplacements, StoreError};
use crate::supports::{Cut, JointSupport, joint_supports};
use eigenskin_core::mover::Mover;

/// What the examples show.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    pub seen: &'a Observations,
    /// what can move
    pub movers: &'a [Mover],
    /// `example` → rising indices into the movers
    pub moved: &'a [Vec<usize>],
}

/// Supports cut at one threshold, and all that follows from it.
pub(super) struct Regions {
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
/// Larger ones to try, one after the other, as long as each pays: with many joints near each other,
/// wide supports use up the limit of every vertex, and smaller ones leave room for more components
/// (§2.5 proposes to mask supports to smaller regions).
const LARGER: [f64; 4] = [0.1, 0.15, 0.2, 0.3];
/// Components below this share of a support's strongest are rounding.
const LEAST_COMPONENT: f64 = 1e-4;
/// Components that coupling may want, whatever the limit is.
const LEAST_WANTED: usize = 24;
/// One that pays lowers the error to this share.
const PAYS: f64 = 0.97;

impl Regions {
    /// Supports cut as asked; if that is left open, where the limit per vertex is used best.
    pub fn best(observed: Observed<'_>, params: &EigenSkinParams) -> Result<Self, FitError> {
        let mut best = Self::cut_at(params.support.threshold.unwrap_or(PAPER), observed, params)?;
        let is_limited = params.budget.per_vertex.is_some() && params.budget.per_joint.is_none();
        if params.support.threshold.is_none() && is_limited && !observed.seen.is_large() {
            for threshold in LARGER {
                let next = Self::cut_at(threshold, observed, params)?;
                if next.error > PAYS * best.error {
                    break;
                }
                best = next;
            }
        }
        Ok(best)
    }

    /// The first components of a support, up to `most`: those that are more than rounding.
    pub fn basis_of(
        &self,
        displacements: &RestDisplacements,
        support: usize,
        most: usize,
    ) -> Result<KeptBasis, StoreError> {
        let values = &self.components[support].singular_values;
        let strongest = values.first().copied().unwrap_or(0.0);
        let count = values.iter().filter(|&&s| s > LEAST_COMPONENT * strongest).count().min(most);
        kept_basis(displacements, &self.supports[support], &self.components[support], count)
    }

    /// Thresholds to try beyond one.
    pub fn thresholds_above(threshold: f64) -> impl Iterator<Item = f64> {
        LARGER.into_iter().filter(move |&larger| larger > threshold)
    }

    /// Supports cut at one threshold.
    pub fn cut_at(
        threshold: f64,
        observed: Observed<'_>,
        params: &EigenSkinParams,
    ) -> Result<Self, FitError> {
        let Observed { seen, movers, moved } = observed;
        let displacements = &seen.displacements;
        let cut = Cut { threshold, border: params.support.border };
        let supports = joint_supports(seen, movers, moved, cut)?;
        if supports.is_empty() {
            return Err(FitError::NothingMoves);
        }
        let most = wanted_components(&params.budget);
        let components: Vec<PrincipalComponents> = supports
            .par_iter()
            .map(|support| support.with_displacements(displacements, |a| PrincipalComponents::of(a, most)))
            .collect::<Result<_, _>>()?;
        let counts = component_counts(&components, &supports, displacements, &params.budget);
        let bases: Vec<KeptBasis> = (0..supports.len())
            .into_par_iter()
            .map(|index| kept_basis(displacements, &supports[index], &components[index], counts[index]))
            .collect::<Result<_, _>>()?;
        let support_of: Vec<Option<usize>> =
            movers.iter().map(|mover| supports.iter().position(|support| support.mover == *mover)).collect();
        let acting: Vec<Vec<usize>> = moved
            .iter()
            .map(|movers| movers.iter().filter_map(|&mover| support_of[mover]).collect())
            .collect();
        let projections = projections_on(displacements, bases.iter())?;
        let coordinates = example_coordinates(&projections, &bases, &acting);
        let error = rest_space_error(&projections, &bases, &acting, &coordinates);
        Ok(Self { threshold, supports, components, counts, bases, acting, coordinates, error })
    }
}

/// Components of a support that may be asked for; all, where nothing limits them.
fn wanted_components(budget: &Budget) -> Option<usize> {
    let limit = budget.per_joint.or(budget.per_vertex)?;
    Some(limit.max(LEAST_WANTED))
}

fn component_counts(
    components: &[PrincipalComponents],
    supports: &[JointSupport],
    displacements: &RestDisplacements,
    budget: &Budget,
) -> Vec<usize> {
    let energies: Vec<Vec<f64>> = components.iter().map(|c| c.squares().collect()).collect();
    let points: Vec<&[u32]> = supports.iter().map(|s| s.points.as_slice()).collect();
    allocate(&energies, &points, displacements.points.group_count(), budget)
}

fn kept_basis(
    displacements: &RestDisplacements,
    support: &JointSupport,
    components: &PrincipalComponents,
    count: usize,
) -> Result<KeptBasis, StoreError> {
    let found = support.with_displacements(displacements, |a| components.fields_and_coordinates(a, count))?;
    let fields = found.fields.into_iter().flatten().map(DVec3::as_vec3).collect();
    Ok(KeptBasis { points: support.points.clone(), fields })
}
