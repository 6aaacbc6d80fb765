//! Normal corrections that ride on the positions' coordinates.

use glam::{DVec3, Vec3};

use super::coordinates::SupportCoordinates;
use crate::displacements::RestDisplacements;
use crate::numeric::{Matrix, symmetric_pseudo_inverse};
use crate::supports::JointSupport;

/// Normal corrections on the positions' own coordinates, `component × vertex of the support`:
/// the least-squares fit of the pulled-back normals. One morph weight then drives both.
pub fn normal_fields(
    displacements: &RestDisplacements,
    support: &JointSupport,
    observed: &SupportCoordinates,
) -> Vec<Vec3> {
    let count = observed.component_count;
    let places: Vec<usize> =
        support.examples.iter().filter_map(|e| observed.examples.iter().position(|o| o == e)).collect();
    let gram = Matrix::from_fn(count, count, |a, b| {
        places.iter().map(|&p| observed.of(p)[a] * observed.of(p)[b]).sum()
    });
    let inverse = symmetric_pseudo_inverse(&gram, 1e-12);
    // `example × component`: how much of each example's normals goes into each field.
    let weights: Vec<Vec<f64>> = places
        .iter()
        .map(|&p| (0..count).map(|k| (0..count).map(|l| inverse[(k, l)] * observed.of(p)[l]).sum()).collect())
        .collect();
    let vertices = displacements.vertices_of(&support.points);
    let mut fields = vec![DVec3::ZERO; count * vertices.len()];
    for (place, (&example, weights)) in support.examples.iter().zip(&weights).enumerate() {
        let normals = displacements.normals_of(example);
        for (entry, &(vertex, point)) in vertices.iter().enumerate() {
            let share = support.shares.get(place * support.points.len() + point).copied().unwrap_or(1.0);
            let change = normals[vertex as usize].as_dvec3() * f64::from(support.mask[point] * share);
            for (component, weight) in weights.iter().enumerate() {
                fields[component * vertices.len() + entry] += *weight * change;
            }
        }
    }
    fields.into_iter().map(DVec3::as_vec3).collect()
}
