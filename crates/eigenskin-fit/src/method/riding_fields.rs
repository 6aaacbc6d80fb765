//! Fields that ride on the positions' coordinates: normal corrections, and what displacements at rest
//! cannot reach. One morph weight, or one coordinate, then drives all of them.

use std::collections::BTreeSet;

use eigenskin_core::progress::Progress;
use glam::{DVec3, Vec3};

use super::coordinates::SupportCoordinates;
use crate::displacements::tall_matrix::TallMatrix;
use crate::displacements::{RestDisplacements, TileError};
use crate::numeric::{Matrix, symmetric_pseudo_inverse};
use crate::supports::JointSupport;

/// Normal corrections on the positions' own coordinates, `component × vertex of the support`:
/// the least-squares fit of the pulled-back normals.
pub fn normal_fields(
    displacements: &RestDisplacements,
    support: &JointSupport,
    observed: &SupportCoordinates,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, TileError> {
    let weights = field_weights(support, observed);
    let factor = |place, point| support.factor(place, point);
    masked_normal_fields(displacements, &support.points, &support.examples, &weights, factor, progress)
}

/// The normals' changes in `examples`, summed with `weights` (`example × component`) and a factor per
/// place among the examples and among the points: `component × vertex of the points`.
pub fn masked_normal_fields(
    displacements: &RestDisplacements,
    points: &[u32],
    examples: &[usize],
    weights: &[Vec<f64>],
    factor: impl Fn(usize, usize) -> f64 + Sync,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, TileError> {
    let (vertices, places): (Vec<u32>, Vec<usize>) = displacements.vertices_of(points).into_iter().unzip();
    let matrix = TallMatrix {
        fields: &displacements.normals,
        examples,
        points: &vertices,
        factor: &|example, vertex| factor(example, places[vertex]),
        axis: None,
    };
    let component_count = weights.first().map_or(0, Vec::len);
    let weights = Matrix::from_fn(examples.len(), component_count, |e, component| weights[e][component]);
    Ok(matrix.combined(&weights, progress)?.into_iter().flatten().map(DVec3::as_vec3).collect())
}

/// Residuals (w in Xian §5.3) on the positions' own coordinates: the vertices that have some above
/// `least`, rising, and `component × vertex`. In examples that several joints act in (`acting_counts`, by example),
/// these share them evenly.
pub fn residual_fields(
    displacements: &RestDisplacements,
    support: &JointSupport,
    observed: &SupportCoordinates,
    acting_counts: &[usize],
    least: f64,
) -> (Vec<u32>, Vec<Vec3>) {
    let residuals = |place: usize| &displacements.residuals[support.examples[place]];
    let is_left = |&&(_, residual): &&(u32, Vec3)| f64::from(residual.length()) > least;
    let vertices: BTreeSet<u32> = (0..support.examples.len())
        .flat_map(|place| residuals(place).iter().filter(is_left).map(|&(vertex, _)| vertex))
        .collect();
    let vertices: Vec<u32> = vertices.into_iter().collect();
    let mut fields = vec![DVec3::ZERO; observed.component_count * vertices.len()];
    for (place, weights) in field_weights(support, observed).iter().enumerate() {
        let share = 1.0 / acting_counts[support.examples[place]].max(1) as f64;
        for (vertex, residual) in residuals(place) {
            let Ok(entry) = vertices.binary_search(vertex) else { continue };
            let residual = share * residual.as_dvec3();
            for (component, weight) in weights.iter().enumerate() {
                fields[component * vertices.len() + entry] += *weight * residual;
            }
        }
    }
    (vertices, fields.into_iter().map(DVec3::as_vec3).collect())
}

/// How much of what each example of the support shows goes into each field, `example × component`:
/// the pseudo-inverse of the examples' coordinates.
fn field_weights(support: &JointSupport, observed: &SupportCoordinates) -> Vec<Vec<f64>> {
    let count = observed.component_count;
    let places: Vec<usize> =
        support.examples.iter().filter_map(|e| observed.examples.iter().position(|o| o == e)).collect();
    let gram = Matrix::from_fn(count, count, |a, b| {
        places.iter().map(|&p| observed.of(p)[a] * observed.of(p)[b]).sum()
    });
    weights_of_gram(&gram, places.iter().map(|&p| observed.of(p)))
}

/// The pseudo-inverse of coordinates (given `example` by `example`, each `component`) whose Gram matrix
/// is known, `example × component`.
pub fn weights_of_gram<'a>(gram: &Matrix, examples: impl Iterator<Item = &'a [f64]>) -> Vec<Vec<f64>> {
    let count = gram.nrows();
    let inverse = symmetric_pseudo_inverse(gram, 1e-12);
    examples.map(|c| (0..count).map(|k| (0..count).map(|l| inverse[(k, l)] * c[l]).sum()).collect()).collect()
}
