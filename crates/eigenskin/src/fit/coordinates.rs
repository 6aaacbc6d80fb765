//! Coordinates of the examples in the kept bases (EigenSkin §2.4).
//!
//! While an example moves one joint, they are its projection on that joint's basis (column p of
//! D Vᵀ). When it moves several, their overlapping bases share the displacement by joint least
//! squares.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::displacements::RestDisplacements;
use crate::numeric::{Matrix, symmetric_pseudo_inverse};

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

/// Directions weaker than this share of the strongest are left out of the least squares.
const RANK_CUT: f64 = 1e-10;

/// Coordinates of every example: `example` → for each of `acting[example]` (indices into `bases`)
/// its coordinates, `component`.
pub fn example_coordinates(
    displacements: &RestDisplacements,
    bases: &[KeptBasis],
    acting: &[Vec<usize>],
) -> Vec<Vec<Vec<f64>>> {
    acting
        .par_iter()
        .enumerate()
        .map(|(example, acting)| joint_least_squares(displacements.positions_of(example), bases, acting))
        .collect()
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

    /// The coordinates that belong to some of the examples only.
    #[must_use]
    pub fn only(&self, examples: &[usize]) -> Self {
        let mut kept =
            Self { examples: Vec::new(), coordinates: Vec::new(), component_count: self.component_count };
        for (index, &example) in self.examples.iter().enumerate().filter(|(_, e)| examples.contains(e)) {
            kept.examples.push(example);
            kept.coordinates.extend(self.of(index));
        }
        kept
    }

    /// Of a layer whose coordinates are known in all examples (`example` → `component`), in some.
    pub fn of_examples(examples: &[usize], coordinates: &[Vec<f64>]) -> Self {
        Self {
            examples: examples.to_vec(),
            coordinates: examples.iter().flat_map(|&e| coordinates[e].iter().copied()).collect(),
            component_count: coordinates.first().map_or(0, Vec::len),
        }
    }

    /// Coordinates in one of its examples, `component`.
    pub fn of(&self, index: usize) -> &[f64] {
        &self.coordinates[index * self.component_count..(index + 1) * self.component_count]
    }
}

/// ‖u − Σ α û‖ / ‖u‖ over all examples; zero when there was nothing to correct.
pub fn rest_space_error(
    displacements: &RestDisplacements,
    bases: &[KeptBasis],
    acting: &[Vec<usize>],
    coordinates: &[Vec<Vec<f64>>],
) -> f64 {
    let sums: Vec<(f64, f64)> = acting
        .par_iter()
        .zip(coordinates)
        .enumerate()
        .map(|(example, (acting, coordinates))| {
            let observed = displacements.positions_of(example);
            let mut left: Vec<DVec3> = observed.iter().map(|u| u.as_dvec3()).collect();
            for (&basis, alphas) in acting.iter().zip(coordinates) {
                let basis = &bases[basis];
                for (alpha, field) in alphas.iter().zip(basis.fields.chunks_exact(basis.points.len().max(1)))
                {
                    for (&point, u) in basis.points.iter().zip(field) {
                        left[point as usize] -= *alpha * u.as_dvec3();
                    }
                }
            }
            let all: f64 = observed.iter().map(|u| u.as_dvec3().length_squared()).sum();
            (left.iter().map(|u| u.length_squared()).sum(), all)
        })
        .collect();
    let (left, all) = sums.iter().fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
    if all > 0.0 { (left / all).sqrt() } else { 0.0 }
}

/// Minimises ‖u − Σ_j Σ_k α_jk û^jk‖² over the coordinates of the acting bases.
fn joint_least_squares(observed: &[Vec3], bases: &[KeptBasis], acting: &[usize]) -> Vec<Vec<f64>> {
    let fields: Vec<(usize, usize)> = acting
        .iter()
        .flat_map(|&basis| (0..bases[basis].component_count()).map(move |k| (basis, k)))
        .collect();
    let gram = Matrix::from_fn(fields.len(), fields.len(), |row, column| {
        let ((a, i), (b, j)) = (fields[row], fields[column]);
        inner_product(&bases[a], i, &bases[b], j)
    });
    let right: Vec<f64> = fields
        .iter()
        .map(|&(basis, component)| {
            let basis = &bases[basis];
            basis
                .points
                .iter()
                .zip(basis.field(component))
                .map(|(&point, u)| u.as_dvec3().dot(observed[point as usize].as_dvec3()))
                .sum()
        })
        .collect();
    let inverse = symmetric_pseudo_inverse(&gram, RANK_CUT);
    let mut solution = (0..fields.len())
        .map(|row| (0..fields.len()).map(|column| inverse[(row, column)] * right[column]).sum());
    acting.iter().map(|&basis| solution.by_ref().take(bases[basis].component_count()).collect()).collect()
}

/// Inner product of two fields over the points they share.
pub(super) fn inner_product(a: &KeptBasis, component_a: usize, b: &KeptBasis, component_b: usize) -> f64 {
    let (field_a, field_b) = (a.field(component_a), b.field(component_b));
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.points.len() && j < b.points.len() {
        match a.points[i].cmp(&b.points[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += field_a[i].as_dvec3().dot(field_b[j].as_dvec3());
                i += 1;
                j += 1;
            }
        }
    }
    sum
}
