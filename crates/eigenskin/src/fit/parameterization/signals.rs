//! What happens in each part: its components, how many of them are kept, and the examples'
//! coordinates on them, the signals (A and S in Kim 2011 Equation 1).
//!
//! Components are found of √mask · u, and what they show is added to the skin times √mask again. The
//! squares of all parts then sum to those of u, and the squared error of the sum is never above the
//! sum of the parts' squared errors: parts that overlap can be weighed against each other fairly.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::partition::Part;
use crate::basis::{IcaParams, PrincipalComponents, independent_components};
use crate::displacements::RestDisplacements;
use crate::fit::allocation::{Budget, allocate};
use crate::numeric::{Matrix, gram};

/// Points whose products are summed at once.
const CHUNK: usize = 2048;

/// Components of one part, along all axes together or along each by itself.
pub(super) struct PartComponents {
    /// one, or three: x, y, z
    pub kinds: Vec<PrincipalComponents>,
    /// `kind`: products of the examples' displacements, `example × example`
    pub grams: Vec<Matrix>,
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
        self.kinds.iter().flat_map(|kind| kind.singular_values.iter().map(|s| s * s))
    }

    /// What the components left out would have added, summed over all examples.
    pub fn energy_lost(&self) -> f64 {
        let lost = |(kind, &count): (&PrincipalComponents, &usize)| -> f64 {
            kind.singular_values[count..].iter().map(|s| s * s).sum()
        };
        // An empty sum is −0.
        self.kinds.iter().zip(&self.counts).map(lost).sum::<f64>() + 0.0
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
    example_count: usize,
    parts: &[Part],
    budget: Budget,
    per_coordinate: bool,
) -> Vec<PartComponents> {
    let axes: &[Option<usize>] = if per_coordinate { &[Some(0), Some(1), Some(2)] } else { &[None] };
    let mut found: Vec<PartComponents> = parts
        .iter()
        .map(|part| {
            let gram = |axis: &Option<usize>| masked_gram(displacements, example_count, part, *axis);
            let grams: Vec<Matrix> = axes.iter().map(gram).collect();
            let kinds = grams.iter().map(PrincipalComponents::of_gram).collect();
            PartComponents { kinds, grams, counts: Vec::new() }
        })
        .collect();
    let points: Vec<&[u32]> = parts.iter().map(|part| part.points.as_slice()).collect();
    let budget = Budget { total: budget.total.map(|total| total / axes.len()), ..budget };
    for kind in 0..axes.len() {
        let energies: Vec<Vec<f64>> =
            found.iter().map(|f| f.kinds[kind].singular_values.iter().map(|s| s * s).collect()).collect();
        let counts = allocate(&energies, &points, displacements.points.group_count(), &budget);
        found.iter_mut().zip(counts).for_each(|(found, count)| found.counts.push(count));
    }
    found
}

/// Products of the examples' displacements over one part, `example × example`.
fn masked_gram(
    displacements: &RestDisplacements,
    example_count: usize,
    part: &Part,
    axis: Option<usize>,
) -> Matrix {
    let chunks: Vec<(&[u32], &[f32])> = part.points.chunks(CHUNK).zip(part.mask.chunks(CHUNK)).collect();
    let width = if axis.is_some() { 1 } else { 3 };
    let grams: Vec<Matrix> = chunks
        .into_par_iter()
        .map(|(points, mask)| {
            let mut rows = Matrix::zeros(width * points.len(), example_count);
            for example in 0..example_count {
                let observed = displacements.positions_of(example);
                for (place, (&point, &mask)) in points.iter().zip(mask).enumerate() {
                    let u = observed[point as usize].as_dvec3() * f64::from(mask).sqrt();
                    for row in 0..width {
                        rows[(width * place + row, example)] = u[axis.unwrap_or(row)];
                    }
                }
            }
            gram(&rows)
        })
        .collect();
    grams.into_iter().fold(Matrix::zeros(example_count, example_count), |sum, next| sum + next)
}

/// Fields and signals of one part's kept components.
pub(super) fn part_signals(
    displacements: &RestDisplacements,
    example_count: usize,
    part: &Part,
    components: &PartComponents,
    ica: Option<&IcaParams>,
) -> PartSignals {
    let mut all = PartSignals { fields: Vec::new(), signals: Vec::new() };
    for (kind, (found, &count)) in components.kinds.iter().zip(&components.counts).enumerate() {
        let axes = if components.kinds.len() == 1 { Vec3::ONE } else { Vec3::AXES[kind] };
        let masked: Vec<Vec3> = (0..example_count)
            .flat_map(|example| {
                let observed = displacements.positions_of(example);
                let points = part.points.iter().zip(&part.mask);
                points.map(move |(&point, &mask)| observed[point as usize] * axes * mask.sqrt())
            })
            .collect();
        let (fields, signals): (Vec<Vec<DVec3>>, Vec<Vec<f64>>) = (0..count)
            .into_par_iter()
            .map(|component| found.field_and_coordinates(&masked, component))
            .unzip();
        let (fields, signals) = match ica {
            Some(params) => independent(&fields, &signals, params),
            None => (fields, signals),
        };
        let masked = |mut field: Vec<DVec3>| {
            field.iter_mut().zip(&part.mask).for_each(|(u, &mask)| *u *= f64::from(mask).sqrt());
            field
        };
        all.fields.extend(fields.into_iter().map(masked));
        all.signals.extend(signals);
    }
    all
}

/// The same space by independent components; fields of unit norm, as principal ones have.
fn independent(
    fields: &[Vec<DVec3>],
    signals: &[Vec<f64>],
    params: &IcaParams,
) -> (Vec<Vec<DVec3>>, Vec<Vec<f64>>) {
    let found = independent_components(signals, params);
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
    components.unzip()
}
