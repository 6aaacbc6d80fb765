//! Layers of a model from patches.

use eigenskin_core::model::{DisplacementBasis, Layer, Stage};
use eigenskin_core::progress::Progress;
use glam::Vec3;

use super::basis::PatchBasis;
use super::kernel::PatchDriver;
use super::regions::Patches;
use crate::displacements::{Observations, TileError};
use crate::method::riding_fields::{masked_normal_fields, weights_of_gram};
use crate::numeric::Matrix;

/// A patch and its driver.
pub(super) struct DrivenPatch<'a> {
    pub patch: usize,
    pub basis: &'a PatchBasis,
    /// `example × component`
    pub coordinates: &'a Matrix,
    pub driver: &'a PatchDriver,
}

/// The layer of one patch.
pub(super) fn layer(
    seen: &Observations,
    patches: &Patches,
    driven: &DrivenPatch<'_>,
    normals: bool,
    progress: &dyn Progress,
) -> Result<Layer, TileError> {
    let DrivenPatch { patch, basis, coordinates, driver } = *driven;
    let vertices = seen.displacements.vertices_of(patches.points(patch));
    let field = |component: usize| {
        let field = basis.field(patch, component);
        vertices.iter().map(move |&(_, place)| field[place].as_vec3())
    };
    let normals = if normals && !seen.displacements.normals.is_empty() {
        normal_fields(seen, patches, patch, coordinates, progress)?
    } else {
        Vec::new()
    };
    Ok(Layer {
        name: patches.name(patch).to_string(),
        support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
        basis: DisplacementBasis { positions: (0..coordinates.ncols()).flat_map(field).collect(), normals },
        driver: driver.driver.clone(),
        stage: Stage::BeforeSkinning,
    })
}

/// Normal corrections on the patch's own coordinates: its share of what normals do.
fn normal_fields(
    seen: &Observations,
    patches: &Patches,
    patch: usize,
    coordinates: &Matrix,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, TileError> {
    let (examples, count) = (coordinates.nrows(), coordinates.ncols());
    let gram = Matrix::from_fn(count, count, |a, b| {
        (0..examples).map(|e| coordinates[(e, a)] * coordinates[(e, b)]).sum()
    });
    let by_example: Vec<Vec<f64>> =
        (0..examples).map(|e| (0..count).map(|k| coordinates[(e, k)]).collect()).collect();
    let weights = weights_of_gram(&gram, by_example.iter().map(Vec::as_slice));
    let all: Vec<usize> = (0..examples).collect();
    let share = |_, place: usize| patches.mask(patch)[place];
    masked_normal_fields(&seen.displacements, patches.points(patch), &all, &weights, share, progress)
}
