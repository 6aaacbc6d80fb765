//! Layers of a coupled model.

use eigenskin_core::driver::{Clamp, Driver};
use eigenskin_core::model::{DisplacementBasis, Layer, Stage};
use eigenskin_core::progress::Progress;
use glam::Vec3;

use super::fields::{Reach, fields_of_coordinates};
use super::search::Coupled;
use crate::displacements::{RestDisplacements, TileError};
use crate::method::joint_driver::example_range;

/// One layer per block that has fields, with the index of the block.
pub fn coupled_layers(
    coupled: &Coupled,
    displacements: &RestDisplacements,
    names: &[String],
    normals: bool,
    clamp_margin: Option<f64>,
    progress: &dyn Progress,
) -> Result<Vec<(usize, Layer)>, TileError> {
    let normals = if normals && !displacements.normals.is_empty() {
        normal_fields(coupled, displacements, progress)?
    } else {
        vec![Vec::new(); coupled.blocks.len()]
    };
    let mut layers = Vec::new();
    for (index, normals) in normals.into_iter().enumerate() {
        let (basis, functions) = (&coupled.blocks[index].basis, &coupled.blocks[index].functions);
        if basis.component_count() == 0 || functions.count() == 0 {
            continue;
        }
        let vertices = displacements.vertices_of(&basis.points);
        let positions = (0..basis.component_count())
            .flat_map(|k| vertices.iter().map(move |&(_, point)| basis.field(k)[point]))
            .collect();
        let layer = Layer {
            name: names[index].clone(),
            support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
            basis: DisplacementBasis { positions, normals },
            driver: driver(coupled, index, clamp_margin),
            stage: Stage::BeforeSkinning,
        };
        layers.push((index, layer));
    }
    Ok(layers)
}

fn driver(coupled: &Coupled, index: usize, clamp_margin: Option<f64>) -> Driver {
    let components = coupled.blocks[index].basis.component_count();
    let over_examples: Vec<f64> = coupled.coordinates[index].iter().flatten().copied().collect();
    let clamp = clamp_margin.map_or(Clamp::None, |margin| example_range(&over_examples, components, margin));
    coupled.blocks[index].functions.driver(&coupled.refit.coefficients[index], clamp)
}

/// What a normal field must earn, as a share of how much its coordinate varies.
const NORMAL_SMOOTHING: f64 = 1e-3;

/// Normal corrections on the positions' own coordinates, of all layers together: `block` →
/// `component × vertex`.
fn normal_fields(
    coupled: &Coupled,
    displacements: &RestDisplacements,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Vec3>>, TileError> {
    let reaches: Vec<Reach> = coupled
        .blocks
        .iter()
        .map(|block| {
            let vertices = displacements.vertices_of(&block.basis.points);
            let mask = vertices.iter().map(|&(_, point)| block.mask[point]).collect();
            Reach { places: vertices.into_iter().map(|(vertex, _)| vertex).collect(), mask }
        })
        .collect();
    let examples: Vec<usize> = (0..coupled.coordinates.first().map_or(0, Vec::len)).collect();
    fields_of_coordinates(
        &reaches,
        &coupled.coordinates,
        &examples,
        &displacements.normals,
        None,
        NORMAL_SMOOTHING,
        progress,
    )
}
