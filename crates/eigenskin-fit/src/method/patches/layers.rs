//! Layers of a model from patches.

use std::collections::BTreeSet;

use eigenskin_core::model::{DisplacementBasis, Layer, Stage};
use eigenskin_core::progress::Progress;
use glam::{DVec3, Vec3};

use super::basis::PatchBasis;
use super::regions::Patches;
use super::selection::PatchDriver;
use crate::displacements::{Observations, TileError};
use crate::method::eigenskin::{least_residual, residual_layer};
use crate::method::riding_fields::{masked_normal_fields, weights_of_gram};
use crate::numeric::{Matrix, gram};

/// A patch and its driver.
pub(super) struct DrivenPatch<'a> {
    pub patch: usize,
    pub basis: &'a PatchBasis,
    /// `example × component`
    pub coordinates: &'a Matrix,
    pub driver: &'a PatchDriver,
}

/// The layer of one patch, and what skinning keeps it from reaching, after skinning.
pub(super) fn layers(
    seen: &Observations,
    patches: &Patches,
    driven: &DrivenPatch<'_>,
    normals: bool,
    progress: &dyn Progress,
) -> Result<(Layer, Option<Layer>), TileError> {
    let DrivenPatch { patch, basis, coordinates, driver } = *driven;
    let vertices = seen.displacements.vertices_of(patches.points(patch));
    let field = |component: &usize| {
        let field = basis.field(patch, *component);
        vertices.iter().map(move |&(_, place)| field[place].as_vec3())
    };
    let mut positions: Vec<Vec3> = basis.kept(patch).iter().flat_map(field).collect();
    let weights = field_weights(coordinates);
    let mut normals = if normals && !seen.displacements.normals.is_empty() {
        normal_fields(seen, patches, patch, &weights, progress)?
    } else {
        Vec::new()
    };
    for fields in [&mut positions, &mut normals] {
        fields.chunks_exact_mut(vertices.len()).for_each(drop_traces);
    }
    let name = patches.name(patch);
    let unreached = residual_fields(seen, patches, patch, &weights);
    let layer = Layer {
        name: name.to_string(),
        support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
        basis: DisplacementBasis { positions, normals },
        driver: driver.driver.clone(),
        stage: Stage::BeforeSkinning,
    };
    Ok((layer, residual_layer(unreached, name, &driver.driver)))
}

/// Sets to zero what is below the rounding of the field's largest value: at the rim of a patch shares fall to 1e-40.
fn drop_traces(field: &mut [Vec3]) {
    let least = f32::EPSILON * field.iter().map(|value| value.abs().max_element()).fold(0.0, f32::max);
    for value in field {
        if value.abs().max_element() < least {
            *value = Vec3::ZERO;
        }
    }
}

/// How much of what each example shows goes into each field, `example × component`: the pseudo-inverse of the
/// coordinates.
fn field_weights(coordinates: &Matrix) -> Vec<Vec<f64>> {
    let (examples, count) = (coordinates.nrows(), coordinates.ncols());
    let by_example: Vec<Vec<f64>> =
        (0..examples).map(|e| (0..count).map(|k| coordinates[(e, k)]).collect()).collect();
    weights_of_gram(&gram(coordinates), by_example.iter().map(Vec::as_slice))
}

/// Normal corrections on the patch's own coordinates: its share of what normals do.
fn normal_fields(
    seen: &Observations,
    patches: &Patches,
    patch: usize,
    weights: &[Vec<f64>],
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, TileError> {
    let all: Vec<usize> = (0..seen.len()).collect();
    let share = |_, place: usize| patches.mask(patch)[place];
    masked_normal_fields(&seen.displacements, patches.points(patch), &all, weights, share, progress)
}

/// Its share of what displacements at rest cannot reach, on the patch's own coordinates: the vertices that have
/// some, rising, and `component × vertex`.
fn residual_fields(
    seen: &Observations,
    patches: &Patches,
    patch: usize,
    weights: &[Vec<f64>],
) -> (Vec<u32>, Vec<Vec3>) {
    let least = least_residual(seen);
    let residuals = &seen.displacements.residuals;
    let is_left = |residual: &Vec3| f64::from(residual.length()) > least;
    let left: BTreeSet<u32> = residuals
        .iter()
        .flatten()
        .filter(|(_, residual)| is_left(residual))
        .map(|(vertex, _)| *vertex)
        .collect();
    let own = seen.displacements.vertices_of(patches.points(patch)).into_iter();
    let own: Vec<(u32, usize)> = own.filter(|(vertex, _)| left.contains(vertex)).collect();
    let count = weights.first().map_or(0, Vec::len);
    let mut fields = vec![DVec3::ZERO; count * own.len()];
    for (residuals, weights) in residuals.iter().zip(weights) {
        for (vertex, residual) in residuals {
            let Ok(entry) = own.binary_search_by_key(vertex, |(vertex, _)| *vertex) else { continue };
            let residual = patches.mask(patch)[own[entry].1] * residual.as_dvec3();
            for (component, weight) in weights.iter().enumerate() {
                fields[component * own.len() + entry] += *weight * residual;
            }
        }
    }
    (own.into_iter().map(|(vertex, _)| vertex).collect(), fields.into_iter().map(DVec3::as_vec3).collect())
}
