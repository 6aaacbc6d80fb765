//! Displacement fields on the target.

use eigenskin_core::driver::{Clamp, Driver};
use eigenskin_core::model::{DisplacementBasis, Layer, Model};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::drivers::Names;
use super::{Correspondence, TRANSFERRING};
use crate::drivers::with_outputs;
use crate::method::{Budget, allocate};

/// The layers of a model on the target; those that do not reach it are left out.
pub(super) fn transferred(
    model: &Model,
    correspondence: &Correspondence,
    names: &Names,
    progress: &dyn Progress,
) -> Result<Vec<Layer>, Cancelled> {
    let count = model.rig().vertex_count();
    let layers = model
        .layers()
        .par_iter()
        .map(|layer| transferred_layer(layer, count, correspondence, names, progress))
        .collect::<Result<Vec<_>, Cancelled>>()?;
    Ok(layers.into_iter().flatten().collect())
}

fn transferred_layer(
    layer: &Layer,
    source_count: usize,
    correspondence: &Correspondence,
    names: &Names,
    progress: &dyn Progress,
) -> Result<Option<Layer>, Cancelled> {
    progress.doing(TRANSFERRING)?;
    let mut place_of = vec![u32::MAX; source_count];
    for (place, &vertex) in layer.support.iter().enumerate() {
        place_of[vertex as usize] = place as u32;
    }
    let reached = |parts: &[(u32, f64)]| parts.iter().any(|&(from, _)| place_of[from as usize] != u32::MAX);
    let support: Vec<u32> = (0..correspondence.gaps().len())
        .filter(|&v| reached(correspondence.of_group(v)) || reached(correspondence.of_vertex(v)))
        .map(|vertex| vertex as u32)
        .collect();
    if support.is_empty() {
        return Ok(None);
    }
    let (components, width) = (layer.component_count(), layer.support.len());
    let mean = |field: &[Vec3], parts: &[(u32, f64)]| -> Vec3 {
        let known = parts.iter().filter(|&&(from, _)| place_of[from as usize] != u32::MAX);
        let value = |&(from, share): &(u32, f64)| share * field[place_of[from as usize] as usize].as_dvec3();
        known.map(value).sum::<DVec3>().as_vec3()
    };
    let mut positions = Vec::with_capacity(components * support.len());
    let mut normals = Vec::new();
    for component in 0..components {
        progress.doing(TRANSFERRING)?;
        let field = layer.basis.component_positions(component, width);
        positions.extend(support.iter().map(|&v| mean(field, correspondence.of_group(v as usize))));
        if let Some(field) = layer.basis.component_normals(component, width) {
            normals.extend(support.iter().map(|&v| mean(field, correspondence.of_vertex(v as usize))));
        }
    }
    Ok(Some(Layer {
        name: layer.name.clone(),
        support,
        basis: DisplacementBasis { positions, normals },
        driver: names.driver(&layer.driver),
        stage: names.stage(layer.stage),
    }))
}

/// Leaves out components beyond the budget: those that move the target least.
pub(super) fn keep_strongest(
    layers: &mut Vec<Layer>,
    rig: &Rig,
    budget: &Budget,
    sample_poses: &[Pose],
    progress: &dyn Progress,
) -> Result<(), Cancelled> {
    if budget.per_vertex.is_none() && budget.per_joint.is_none() && budget.total.is_none() {
        return Ok(());
    }
    // `layer` → components by falling energy, and these energies
    let ranked: Vec<Vec<(f64, usize)>> = layers
        .par_iter()
        .map(|layer| {
            progress.doing(TRANSFERRING)?;
            let sizes = squared_coordinates(layer, rig, sample_poses);
            let width = layer.support.len();
            let mut ranked: Vec<(f64, usize)> = (0..layer.component_count())
                .map(|component| {
                    let field = layer.basis.component_positions(component, width);
                    let energy: f64 = field.iter().map(|d| d.as_dvec3().length_squared()).sum();
                    (sizes[component] * energy, component)
                })
                .collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            Ok(ranked)
        })
        .collect::<Result<_, Cancelled>>()?;
    let energies: Vec<Vec<f64>> =
        ranked.iter().map(|r| r.iter().map(|&(energy, _)| energy).collect()).collect();
    let supports: Vec<&[u32]> = layers.iter().map(|layer| layer.support.as_slice()).collect();
    let counts = allocate(&energies, &supports, rig.vertex_count(), budget, progress)?;
    for ((layer, ranked), count) in layers.iter_mut().zip(&ranked).zip(counts) {
        let mut kept: Vec<usize> = ranked[..count].iter().map(|&(_, component)| component).collect();
        kept.sort_unstable();
        *layer = with_components(layer, &kept);
    }
    layers.retain(|layer| layer.component_count() > 0);
    Ok(())
}

/// Mean squares of a layer's coordinates over the poses; without any, of the ends of their ranges.
fn squared_coordinates(layer: &Layer, rig: &Rig, sample_poses: &[Pose]) -> Vec<f64> {
    let count = layer.component_count();
    if sample_poses.is_empty() {
        return match &layer.driver.clamp {
            Clamp::Range { lowest, highest } => {
                lowest.iter().zip(highest).map(|(l, h)| l.powi(2).max(h.powi(2))).collect()
            }
            Clamp::None => vec![1.0; count],
        };
    }
    let mut squares = vec![0.0; count];
    let mut scratch = vec![0.0; layer.driver.scratch_count()];
    let mut outputs = vec![0.0; count];
    for pose in sample_poses {
        Driver::evaluate(&layer.driver, rig.skeleton(), pose, &mut scratch, &mut outputs);
        squares.iter_mut().zip(&outputs).for_each(|(sum, alpha)| *sum += alpha * alpha);
    }
    squares.iter().map(|sum| sum / sample_poses.len() as f64).collect()
}

fn with_components(layer: &Layer, kept: &[usize]) -> Layer {
    let width = layer.support.len();
    let pick = |fields: &[Vec3]| -> Vec<Vec3> {
        if fields.is_empty() {
            return Vec::new();
        }
        kept.iter()
            .flat_map(|&component| &fields[component * width..(component + 1) * width])
            .copied()
            .collect()
    };
    Layer {
        basis: DisplacementBasis {
            positions: pick(&layer.basis.positions),
            normals: pick(&layer.basis.normals),
        },
        driver: with_outputs(&layer.driver, layer.component_count(), kept),
        ..layer.clone()
    }
}
