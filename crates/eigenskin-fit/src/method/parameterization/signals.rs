//! What happens in each part: its components, how many of them are kept, and the examples'
//! coordinates on them, the signals (A and S in Kim 2011 Equation 1).
//!
//! Components are found of √mask · u, and what they show is added to the skin times √mask again. The
//! squares of all parts then sum to those of u, and the squared error of the sum is never above the
//! sum of the parts' squared errors: parts that overlap can be weighed against each other fairly.

use eigenskin_core::progress::{Cancelled, Progress};
use glam::DVec3;
use rayon::prelude::*;

use super::SignalBasis;
use super::partition::Part;
use crate::basis::{ComponentFields, IcaParams, PrincipalComponents, independent_components};
use crate::displacements::tall_matrix::TallMatrix;
use crate::displacements::{RestDisplacements, TileError};
use crate::method::allocation::{Budget, allocate};

/// Components that are found of many examples, whatever the limit is: the folds need more than are kept.
const LEAST_WANTED: usize = 48;

/// Components of one part, along all axes together or along each by itself.
pub(super) struct PartComponents {
    /// one, or three: x, y, z
    pub kinds: Vec<PrincipalComponents>,
    /// `kind`: components kept
    pub counts: Vec<usize>,
}

/// Fields and signals of one part.
pub(super) struct PartSignals {
    /// `component × point of the part`
    pub fields: Vec<Vec<DVec3>>,
    /// `component × example`
    pub signals: Vec<Vec<f64>>,
}

impl PartComponents {
    /// Squared lengths of all components, kind after kind.
    pub fn energies(&self) -> impl Iterator<Item = f64> + '_ {
        self.kinds.iter().flat_map(PrincipalComponents::squares)
    }

    /// Squared displacements over all examples.
    pub fn energy(&self) -> f64 {
        self.kinds.iter().map(|kind| kind.energy_after(0)).sum()
    }

    /// Squared displacements, `example`.
    pub fn energies_of_examples(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.kinds.first().map_or(0, |kind| kind.energies.len())];
        for kind in &self.kinds {
            sums.iter_mut().zip(&kind.energies).for_each(|(sum, energy)| *sum += energy);
        }
        sums
    }

    /// What the components left out would have added, summed over all examples.
    pub fn energy_lost(&self) -> f64 {
        let lost = self.kinds.iter().zip(&self.counts).map(|(kind, &count)| kind.energy_after(count));
        // An empty sum is −0.
        lost.sum::<f64>() + 0.0
    }

    /// Components kept.
    pub fn count(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// The components of all parts, as many as the budget allows (at every point: of each axis, where axes
/// have components of their own).
pub(super) fn part_components(
    displacements: &RestDisplacements,
    parts: &[Part],
    budget: Budget,
    per_coordinate: bool,
    progress: &dyn Progress,
) -> Result<Vec<PartComponents>, TileError> {
    let axes: &[Option<usize>] = if per_coordinate { &[Some(0), Some(1), Some(2)] } else { &[None] };
    let most = budget.per_vertex.or(budget.total).map(|limit| limit.max(LEAST_WANTED));
    let mut found: Vec<PartComponents> = parts
        .par_iter()
        .map(|part| {
            let components = |&axis| {
                with_matrix(displacements, part, axis, |a| PrincipalComponents::of(a, most, progress))
            };
            let kinds = axes.iter().map(components).collect::<Result<_, _>>()?;
            Ok(PartComponents { kinds, counts: Vec::new() })
        })
        .collect::<Result<_, TileError>>()?;
    let points: Vec<&[u32]> = parts.iter().map(|part| part.points.as_slice()).collect();
    let budget = Budget { total: budget.total.map(|total| total / axes.len()), ..budget };
    for kind in 0..axes.len() {
        let energies: Vec<Vec<f64>> = found.iter().map(|f| f.kinds[kind].squares().collect()).collect();
        let counts = allocate(&energies, &points, displacements.points.group_count(), &budget, progress)?;
        found.iter_mut().zip(counts).for_each(|(found, count)| found.counts.push(count));
    }
    Ok(found)
}

/// The examples' displacements over one part, times √mask.
fn with_matrix<R>(
    displacements: &RestDisplacements,
    part: &Part,
    axis: Option<usize>,
    consumer: impl FnOnce(&TallMatrix<'_>) -> R,
) -> R {
    let examples: Vec<usize> = (0..displacements.positions.example_count()).collect();
    let roots: Vec<f64> = part.mask.iter().map(|&mask| f64::from(mask).sqrt()).collect();
    consumer(&TallMatrix {
        fields: &displacements.positions,
        examples: &examples,
        points: &part.points,
        factor: &|_, place| roots[place],
        axis,
    })
}

/// Fields and signals of one part's kept components.
pub(super) fn part_signals(
    displacements: &RestDisplacements,
    part: &Part,
    components: &PartComponents,
    basis: &SignalBasis,
    progress: &dyn Progress,
) -> Result<PartSignals, TileError> {
    let mut all = PartSignals { fields: Vec::new(), signals: Vec::new() };
    for (kind, (found, &count)) in components.kinds.iter().zip(&components.counts).enumerate() {
        let axis = (components.kinds.len() > 1).then_some(kind);
        let principal =
            with_matrix(displacements, part, axis, |a| found.fields_and_coordinates(a, count, progress))?;
        let ComponentFields { fields, coordinates: signals } = match basis {
            SignalBasis::Independent(params) => independent(&principal, params, progress)?,
            SignalBasis::Principal => principal,
        };
        let masked = |mut field: Vec<DVec3>| {
            field.iter_mut().zip(&part.mask).for_each(|(u, &mask)| *u *= f64::from(mask).sqrt());
            field
        };
        all.fields.extend(fields.into_iter().map(masked));
        all.signals.extend(signals);
    }
    Ok(all)
}

/// The same space by independent components; fields of unit norm, as principal ones have.
fn independent(
    principal: &ComponentFields,
    params: &IcaParams,
    progress: &dyn Progress,
) -> Result<ComponentFields, Cancelled> {
    let fields = &principal.fields;
    let found = independent_components(&principal.coordinates, params, progress)?;
    let components = found.mixing.par_iter().zip(&found.sources).map(|(mixing, source)| {
        let mut field = vec![DVec3::ZERO; fields[0].len()];
        for (factor, principal) in mixing.iter().zip(fields) {
            field.iter_mut().zip(principal).for_each(|(sum, u)| *sum += *factor * *u);
        }
        // Principal fields are orthonormal, so this is the length of the mixture.
        let length = mixing.iter().map(|m| m * m).sum::<f64>().sqrt();
        let largest =
            field.iter().flat_map(DVec3::to_array).fold(0.0f64, |l, x| if x.abs() > l.abs() { x } else { l });
        let scale = if largest < 0.0 { -length } else { length };
        for u in &mut field {
            *u /= scale;
        }
        (field, source.iter().map(|s| s * scale).collect())
    });
    let (fields, coordinates) = components.unzip();
    Ok(ComponentFields { fields, coordinates })
}
