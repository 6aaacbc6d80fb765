//! Coordinates of the examples in the kept bases (EigenSkin §2.4).
//!
//! While an example moves one joint, they are its projection on that joint's basis (column p of
//! D Vᵀ). When it moves several, their overlapping bases share the displacement by joint least
//! squares.

use eigenskin_core::progress::{Cancelled, Progress};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::basis::PrincipalComponents;
use crate::displacements::projections::{FieldsOnPoints, Projections};
use crate::displacements::{RestDisplacements, TileError};
use crate::numeric::{Matrix, symmetric_pseudo_inverse};
use crate::supports::JointSupport;

/// The kept displacement fields of one support.
#[derive(Debug, Clone)]
pub struct KeptBasis {
    /// points of the skin, rising
    pub points: Vec<u32>,
    /// `component × support`
    pub fields: Vec<Vec3>,
}

impl KeptBasis {
    /// Number of fields.
    pub fn component_count(&self) -> usize {
        if self.points.is_empty() { 0 } else { self.fields.len() / self.points.len() }
    }

    /// One of the fields, `support`.
    pub(crate) fn field(&self, component: usize) -> &[Vec3] {
        &self.fields[component * self.points.len()..(component + 1) * self.points.len()]
    }
}

/// The first components of every support (û^jk), `support`.
pub fn bases_of_counts(
    displacements: &RestDisplacements,
    supports: &[JointSupport],
    components: &[PrincipalComponents],
    counts: &[usize],
    progress: &dyn Progress,
) -> Result<Vec<KeptBasis>, TileError> {
    (0..supports.len())
        .into_par_iter()
        .map(|j| kept_basis(displacements, &supports[j], &components[j], counts[j], progress))
        .collect()
}

/// The first `count` components of a support.
pub fn kept_basis(
    displacements: &RestDisplacements,
    support: &JointSupport,
    components: &PrincipalComponents,
    count: usize,
    progress: &dyn Progress,
) -> Result<KeptBasis, TileError> {
    let found = support
        .with_displacements(displacements, |a| components.fields_and_coordinates(a, count, progress))?;
    let fields = found.fields.into_iter().flatten().map(DVec3::as_vec3).collect();
    Ok(KeptBasis { points: support.points.clone(), fields })
}

/// Coordinates of every example in the bases that act in it (α^p_jk), `example` → acting basis →
/// `component`.
pub type ExampleCoordinates = Vec<Vec<Vec<f64>>>;

/// Coordinates of every example in the bases that act in it, and ‖u − Σ α û‖ / ‖u‖ over all examples.
pub fn coordinates_of_examples(
    displacements: &RestDisplacements,
    bases: &[KeptBasis],
    acting: &[Vec<usize>],
    progress: &dyn Progress,
) -> Result<(ExampleCoordinates, f64), TileError> {
    let projections = projections_on(displacements, bases.iter(), progress)?;
    let coordinates = example_coordinates(&projections, bases, acting, progress)?;
    let error = rest_space_error(&projections, bases, acting, &coordinates);
    Ok((coordinates, error))
}

/// Directions weaker than this share of the strongest are left out of the least squares.
const RANK_CUT: f64 = 1e-10;

/// The inner products of all bases' fields with each other and with the examples.
pub fn projections_on<'a>(
    displacements: &RestDisplacements,
    bases: impl Iterator<Item = &'a KeptBasis>,
    progress: &dyn Progress,
) -> Result<Projections, TileError> {
    let fields = |basis: &'a KeptBasis| FieldsOnPoints { points: &basis.points, fields: &basis.fields };
    Projections::new(&displacements.positions, &bases.map(fields).collect::<Vec<_>>(), progress)
}

/// Coordinates of every example: `example` → for each of `acting[example]` (indices into `bases`)
/// its coordinates, `component`. Minimises ‖u − Σ_j Σ_k α_jk û^jk‖² over the acting bases.
fn example_coordinates(
    projections: &Projections,
    bases: &[KeptBasis],
    acting: &[Vec<usize>],
    progress: &dyn Progress,
) -> Result<ExampleCoordinates, Cancelled> {
    let first_field = first_fields(bases);
    let fields_of = |acting: &Vec<usize>| -> Vec<usize> {
        acting.iter().flat_map(|&basis| first_field[basis]..first_field[basis + 1]).collect()
    };
    let mut sets: Vec<&Vec<usize>> = acting.iter().collect();
    sets.sort_unstable();
    sets.dedup();
    let inverses: Vec<Matrix> = sets
        .par_iter()
        .map(|acting| {
            progress.doing("finding coordinates")?;
            let fields = fields_of(acting);
            let gram =
                Matrix::from_fn(fields.len(), fields.len(), |a, b| projections.gram[(fields[a], fields[b])]);
            Ok(symmetric_pseudo_inverse(&gram, RANK_CUT))
        })
        .collect::<Result<_, Cancelled>>()?;
    let coordinates = acting
        .par_iter()
        .enumerate()
        .map(|(example, acting)| {
            let inverse = &inverses[sets.partition_point(|set| *set < acting)];
            let fields = fields_of(acting);
            let right: Vec<f64> = fields.iter().map(|&f| projections.of_examples[(example, f)]).collect();
            let mut solution = (0..fields.len())
                .map(|row| right.iter().enumerate().map(|(column, r)| inverse[(row, column)] * r).sum());
            let count = |basis: usize| bases[basis].component_count();
            acting.iter().map(|&basis| solution.by_ref().take(count(basis)).collect()).collect()
        })
        .collect();
    Ok(coordinates)
}

/// The first field of every basis among all, and their number.
fn first_fields(bases: &[KeptBasis]) -> Vec<usize> {
    let mut first = vec![0];
    for basis in bases {
        first.push(first[first.len() - 1] + basis.component_count());
    }
    first
}

/// The coordinates of one support's basis in the examples that move its joint.
#[derive(Debug, Clone)]
pub struct SupportCoordinates {
    /// the examples
    pub examples: Vec<usize>,
    /// `example × component`
    coordinates: Vec<f64>,
    /// number of components
    pub component_count: usize,
}

impl SupportCoordinates {
    /// Of the support with that index, from the coordinates of all examples.
    pub fn new(
        support: usize,
        acting: &[Vec<usize>],
        coordinates: &[Vec<Vec<f64>>],
        component_count: usize,
    ) -> Self {
        let mut found = Self { examples: Vec::new(), coordinates: Vec::new(), component_count };
        for (example, acting) in acting.iter().enumerate() {
            if let Some(place) = acting.iter().position(|&s| s == support) {
                found.examples.push(example);
                found.coordinates.extend(&coordinates[example][place]);
            }
        }
        found
    }

    /// Of all components of a support, in the examples it was observed in.
    pub fn of_components(support: &JointSupport, components: &PrincipalComponents) -> Self {
        let (examples, component_count) = (support.examples.clone(), components.count());
        let coordinate =
            |example: usize, k: usize| components.right[k][example] * components.singular_values[k];
        let coordinates = (0..examples.len())
            .flat_map(|example| (0..component_count).map(move |k| coordinate(example, k)))
            .collect();
        Self { examples, coordinates, component_count }
    }

    /// Coordinates in one of its examples, `component`.
    pub fn of(&self, index: usize) -> &[f64] {
        &self.coordinates[index * self.component_count..(index + 1) * self.component_count]
    }
}

/// ‖u − Σ α û‖ / ‖u‖ over all examples; zero when there was nothing to correct.
fn rest_space_error(
    projections: &Projections,
    bases: &[KeptBasis],
    acting: &[Vec<usize>],
    coordinates: &[Vec<Vec<f64>>],
) -> f64 {
    let first_field = first_fields(bases);
    let (mut left, mut all) = (0.0, 0.0);
    for (example, (acting, coordinates)) in acting.iter().zip(coordinates).enumerate() {
        let alphas: Vec<(usize, f64)> = acting
            .iter()
            .zip(coordinates)
            .flat_map(|(&basis, alphas)| (first_field[basis]..).zip(alphas.iter().copied()))
            .collect();
        all += projections.energies[example];
        left += projections.squared_error(example, &alphas);
    }
    if all > 0.0 { (left / all).sqrt() } else { 0.0 }
}
