//! Layers of a model from what each joint does where, and its driver.

use eigenskin_core::driver::Driver;
use eigenskin_core::model::{DisplacementBasis, Frame, Layer, Stage};
use eigenskin_core::progress::{Counted, Progress};
use glam::Vec3;
use rayon::prelude::*;

use super::regions::Regions;
use crate::displacements::{Observations, RestDisplacements};
use crate::drivers::RbfFit;
use crate::method::FitError;
use crate::method::coordinates::{KeptBasis, SupportCoordinates};
use crate::method::riding_fields::{normal_fields, residual_fields};

/// Residuals below this share of the size are no match for what truncated bases leave; plain morph
/// targets then say it all.
const LEAST_RESIDUAL: f64 = 1e-4;

/// One layer per joint, then what joints add after skinning; `drivers` by support.
pub(in crate::method) fn joint_layers(
    seen: &Observations,
    regions: &Regions,
    drivers: Vec<RbfFit>,
    normals: bool,
    progress: &dyn Progress,
) -> Result<Vec<Layer>, FitError> {
    let displacements = &seen.displacements;
    let acting_counts: Vec<usize> = regions.acting.iter().map(Vec::len).collect();
    let counted = Counted::new(progress, "writing components", drivers.len());
    let per_support: Vec<(Layer, Option<Layer>)> = drivers
        .into_par_iter()
        .enumerate()
        .map(|(index, fit)| {
            let (support, basis) = (&regions.supports[index], &regions.bases[index]);
            let observed = regions.coordinates_of(index);
            let normals = if normals && !displacements.normals.is_empty() {
                normal_fields(displacements, support, &observed, progress)?
            } else {
                Vec::new()
            };
            let name = support.mover.name(&seen.rig);
            let left =
                residual_fields(displacements, support, &observed, &acting_counts, least_residual(seen));
            let residual = residual_layer(left, name, &fit.driver);
            counted.next()?;
            Ok((layer(displacements, basis, normals, name, fit.driver), residual))
        })
        .collect::<Result<_, FitError>>()?;
    let (mut layers, residuals): (Vec<Layer>, Vec<Option<Layer>>) = per_support.into_iter().unzip();
    layers.extend(residuals.into_iter().flatten());
    Ok(layers)
}

/// What is left below this is not worth a layer, in the rest shape's unit.
pub(in crate::method) fn least_residual(seen: &Observations) -> f64 {
    LEAST_RESIDUAL * seen.rig.mesh().size()
}

impl Regions {
    /// The coordinates of one support in the examples that move its joint.
    pub fn coordinates_of(&self, support: usize) -> SupportCoordinates {
        let count = self.bases[support].component_count();
        SupportCoordinates::new(support, &self.acting, &self.coordinates, count)
    }
}

fn layer(
    displacements: &RestDisplacements,
    basis: &KeptBasis,
    normals: Vec<Vec3>,
    name: &str,
    driver: Driver,
) -> Layer {
    let vertices = displacements.vertices_of(&basis.points);
    let positions = (0..basis.component_count())
        .flat_map(|k| vertices.iter().map(move |&(_, point)| basis.field(k)[point]))
        .collect();
    Layer {
        name: name.to_string(),
        support: vertices.iter().map(|&(vertex, _)| vertex).collect(),
        basis: DisplacementBasis { positions, normals },
        driver,
        stage: Stage::BeforeSkinning,
    }
}

/// What the joint's examples leave after skinning, on the coordinates of its displacements.
pub(in crate::method) fn residual_layer(
    (support, positions): (Vec<u32>, Vec<Vec3>),
    name: &str,
    driver: &Driver,
) -> Option<Layer> {
    (!positions.is_empty()).then(|| Layer {
        name: format!("{name} (after skinning)"),
        support,
        basis: DisplacementBasis { positions, normals: Vec::new() },
        driver: driver.clone(),
        stage: Stage::AfterSkinning { frame: Frame::Root },
    })
}
