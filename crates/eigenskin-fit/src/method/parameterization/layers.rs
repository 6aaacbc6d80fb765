//! Layers of a model from the fields and signals of parts, and what is to be said of them.

use eigenskin_core::model::{DisplacementBasis, Layer, Stage};
use eigenskin_core::progress::Progress;
use glam::Vec3;

use super::PartReport;
use super::partition::Part;
use super::search::{CutPart, Observed};
use super::signals::PartSignals;
use crate::displacements::{RestDisplacements, TileError};
use crate::drivers::RbfFit;
use crate::method::riding_fields::{masked_normal_fields, weights_of_gram};
use crate::numeric::Matrix;

/// The layer of one part.
pub(super) fn signal_layer(
    displacements: &RestDisplacements,
    part: &Part,
    found: &PartSignals,
    fit: &RbfFit,
    normals: bool,
    progress: &dyn Progress,
) -> Result<Layer, TileError> {
    let normals = if normals && !displacements.normals.is_empty() {
        normal_fields(displacements, part, found, progress)?
    } else {
        Vec::new()
    };
    let vertices = displacements.vertices_of(&part.points);
    let positions = found
        .fields
        .iter()
        .flat_map(|field| vertices.iter().map(move |&(_, point)| field[point].as_vec3()))
        .collect();
    Ok(Layer {
        name: part.name.clone(),
        support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
        basis: DisplacementBasis { positions, normals },
        driver: fit.driver.clone(),
        stage: Stage::BeforeSkinning,
    })
}

/// Normal corrections on the part's own signals.
fn normal_fields(
    displacements: &RestDisplacements,
    part: &Part,
    found: &PartSignals,
    progress: &dyn Progress,
) -> Result<Vec<Vec3>, TileError> {
    let count = found.signals.len();
    let example_count = found.signals[0].len();
    let gram = Matrix::from_fn(count, count, |a, b| {
        found.signals[a].iter().zip(&found.signals[b]).map(|(x, y)| x * y).sum()
    });
    let by_example: Vec<Vec<f64>> =
        (0..example_count).map(|e| found.signals.iter().map(|s| s[e]).collect()).collect();
    let weights = weights_of_gram(&gram, by_example.iter().map(Vec::as_slice));
    let examples: Vec<usize> = (0..example_count).collect();
    let factor = |_, point: usize| f64::from(part.mask[point]);
    masked_normal_fields(displacements, &part.points, &examples, &weights, factor, progress)
}

impl PartReport {
    pub(super) fn new(observed: Observed<'_>, cut: CutPart<'_>, layer: &Layer, fit: &RbfFit) -> Self {
        let Observed { seen, things } = observed;
        let CutPart { part, components, driver } = cut;
        let total = components.energy();
        let vertices = seen.displacements.vertices_of(&part.points);
        Self {
            name: part.name.clone(),
            drivers: driver.movers.iter().map(|&t| things[t].mover.name(&seen.rig).to_string()).collect(),
            vertex_count: layer.support.len(),
            mask: vertices.iter().map(|&(_, point)| part.mask[point]).collect(),
            signal_count: components.count(),
            energy_kept: if total > 0.0 { 1.0 - components.energy_lost() / total } else { 1.0 },
            energies: components.energies().collect(),
            centre_count: fit.driver.centre_count(),
            smoothing: fit.smoothing,
            condition: fit.condition,
            cross_validation: driver
                .unseen
                .map(|unseen| if total > 0.0 { (unseen / total).sqrt() } else { 0.0 }),
        }
    }
}
