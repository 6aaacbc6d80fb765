//! Pose space deformation of observations that need not be in memory.
//!
//! One field per example would be as large as what was observed, so the fields of each pose space are
//! merged at once: their directions follow from the inner products of the examples, and only those that
//! are kept are ever written.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::layers::{LayerInput, PrototypeModel, layer_name, prototype_models, space_reports};
use super::merge::{kept_directions, mixed_driver, signed_directions};
use super::prototypes::Prototypes;
use super::session::check_params;
use super::spaces::{measure_spaces, pose_spaces};
use super::{DeltaSpace, ExampleReport, PsdError, PsdFit, PsdParams};
use crate::displacements::fields::Tile;
use crate::displacements::tall_matrix::TallMatrix;
use crate::displacements::{Fields, Observations, StoreError};
use crate::numeric::{Matrix, symmetric_eigen};
use eigenskin_core::examples::{ExamplesError, MergedExample, SAME_SHAPE};
use eigenskin_core::model::{DisplacementBasis, Layer, Model, Stage};
use eigenskin_core::mover::Mover;

/// Fits a pose space deformation with at most `most` displacement fields in all, as
/// [`super::merge_fields`] makes it of a whole one. What deltas at rest cannot reach is left out.
pub fn fit_psd_to(seen: &Observations, params: &PsdParams, most: usize) -> Result<PsdFit, PsdError> {
    let rig = &seen.rig;
    check_params(rig, params)?;
    if params.deltas != DeltaSpace::Inverse {
        return Err(PsdError::ForwardOnObservations);
    }
    let largest = largest_deltas(seen)?;
    let movers = Mover::all(rig);
    let moved_by = |example: usize| -> Vec<Mover> {
        let mut moved: Vec<Mover> =
            movers.iter().copied().filter(|mover| mover.is_moved(rig, &seen.poses[example])).collect();
        moved.sort();
        moved
    };
    let (mut used, mut moved, mut merged) = (Vec::new(), Vec::new(), seen.merged.clone());
    for example in 0..seen.len() {
        let (distance, vertex) = largest[example];
        let name = || seen.names[example].clone();
        let movers = moved_by(example);
        if !movers.is_empty() {
            used.push(example);
            moved.push(movers);
        } else if distance <= SAME_SHAPE * rig.mesh().size() {
            merged.push(MergedExample { name: name(), same_as: None, distance });
        } else {
            return Err(ExamplesError::MovedAtRest { name: name(), vertex, distance }.into());
        }
    }
    if used.is_empty() {
        return Err(PsdError::NothingMoves);
    }
    let names: Vec<&str> = used.iter().map(|&example| seen.names[example].as_str()).collect();
    let poses: Vec<_> = used.iter().map(|&example| &seen.poses[example]).collect();
    let prototypes = match &params.prototypes {
        Some(prototypes) => Prototypes::find(rig, prototypes),
        None => Prototypes::one(rig),
    };
    let spaces = pose_spaces(rig, &moved, &params.order)?;
    let spaces = measure_spaces(rig, &names, &poses, spaces, &params.features, params.allows_compromise())?;
    let grams = (0..prototypes.patterns.len())
        .map(|prototype| gram(seen, &used, &prototypes.membership[prototype]))
        .collect::<Result<Vec<Matrix>, _>>()?;
    let (prototypes, grams) = (&prototypes, &grams);
    let input = LayerInput { rig, params, names: &names, grams, prototypes, spaces: &spaces };
    let models = prototype_models(&input)?;
    let layers = merged_layers(seen, &used, &input, &models, most)?;
    let spaces_told = space_reports(&input, &models, &layers);
    let space_of = |example| spaces.iter().position(|s| s.space.examples.contains(&example));
    let examples = used
        .iter()
        .enumerate()
        .map(|(place, &example)| ExampleReport {
            name: seen.names[example].clone(),
            space: space_of(place).unwrap_or(0),
            largest_delta: largest[example].0,
            vertex: largest[example].1,
            unreachable: unreachable(seen, example),
        })
        .collect();
    let model = Model::new(rig.clone(), seen.base.clone(), layers)?;
    Ok(PsdFit { model, spaces: spaces_told, examples, merged })
}

/// The layers of all spaces and prototypes, with the fields that matter most.
fn merged_layers(
    seen: &Observations,
    used: &[usize],
    input: &LayerInput,
    models: &[PrototypeModel],
    most: usize,
) -> Result<Vec<Layer>, StoreError> {
    let places: Vec<(usize, usize)> =
        (0..input.spaces.len()).flat_map(|space| (0..models.len()).map(move |p| (space, p))).collect();
    let own = |space: usize| &input.spaces[space].space.examples;
    let shares: Vec<Matrix> =
        places.iter().map(|&(s, prototype)| models[prototype].shares_of(own(s))).collect();
    let field_count: usize = places.iter().map(|&(space, _)| own(space).len()).sum();
    let directions: Vec<Matrix> = if field_count <= most {
        places.iter().map(|&(space, _)| Matrix::identity(own(space).len(), own(space).len())).collect()
    } else {
        let found: Vec<(Vec<f64>, Matrix)> = places
            .par_iter()
            .zip(&shares)
            .map(|(&(_, prototype), shares)| {
                symmetric_eigen(&(shares.transpose() * &input.grams[prototype] * shares))
            })
            .collect();
        let kept = kept_directions(found.iter().map(|(values, _)| values.as_slice()), most);
        found.iter().zip(kept).map(|((_, vectors), kept)| signed_directions(vectors, kept)).collect()
    };
    places
        .iter()
        .zip(shares.iter().zip(&directions))
        .map(|(&(space, prototype), (shares, directions))| {
            let membership = &input.prototypes.membership[prototype];
            let moved = moved_points(seen, used, shares, input.params.threshold * seen.rig.mesh().size())?;
            let points = &seen.displacements.points;
            let is_moved =
                |&vertex: &u32| membership[vertex as usize] > 0.0 && moved[points.group_of(vertex as usize)];
            let support: Vec<u32> = (0..points.vertex_count() as u32).filter(is_moved).collect();
            let basis = fields(seen, used, &(shares * directions), &support, membership, input.params)?;
            Ok(Layer {
                name: layer_name(input, space, prototype),
                support,
                basis,
                driver: mixed_driver(&models[prototype].drivers[space].driver, directions),
                stage: Stage::BeforeSkinning,
            })
        })
        .collect()
}

/// Which points some of the fields (`example × field`: shares of the examples) move by more than
/// `threshold`.
fn moved_points(
    seen: &Observations,
    used: &[usize],
    shares: &Matrix,
    threshold: f64,
) -> Result<Vec<bool>, StoreError> {
    // Fields that are examples as they are need no mixing.
    let alone = |field: usize| {
        let mut parts = shares.col(field).iter().enumerate().filter(|(_, share)| **share != 0.0);
        parts.next().filter(|(_, share)| **share == 1.0 && parts.next().is_none()).map(|(example, _)| example)
    };
    let (single, mixed): (Vec<_>, Vec<_>) =
        (0..shares.ncols()).map(|field| (field, alone(field))).partition(|(_, alone)| alone.is_some());
    let single: Vec<usize> = single.into_iter().filter_map(|(_, example)| example).collect();
    let mixtures = Matrix::from_fn(used.len(), mixed.len(), |e, field| shares[(e, mixed[field].0)]);
    let threshold = threshold as f32;
    let moves = |u: Vec3| u.length_squared() > threshold * threshold;
    let of_tile = |tile: &Tile<'_>| -> Vec<bool> {
        let mut moved = vec![false; tile.places.len()];
        for &example in &single {
            moved.iter_mut().zip(tile.row(example)).for_each(|(moved, &u)| *moved |= moves(u));
        }
        if mixtures.ncols() > 0 {
            let fields = tile.matrix() * &mixtures;
            for (place, moved) in moved.iter_mut().enumerate() {
                let at = |field: usize, axis: usize| fields[(3 * place + axis, field)] as f32;
                *moved |= (0..fields.ncols()).any(|f| moves(Vec3::new(at(f, 0), at(f, 1), at(f, 2))));
            }
        }
        moved
    };
    let mut found = Vec::with_capacity(seen.displacements.points.group_count());
    seen.displacements.positions.fold_tiles(used, 4096, |_| true, of_tile, |part| found.extend(part))?;
    Ok(found)
}

/// Mixtures of the examples (`example × field`) on some vertices.
fn fields(
    seen: &Observations,
    used: &[usize],
    weights: &Matrix,
    support: &[u32],
    membership: &[f32],
    params: &PsdParams,
) -> Result<DisplacementBasis, StoreError> {
    let points = &seen.displacements.points;
    let of_points = combined(&seen.displacements.positions, used, weights)?;
    let share = |vertex: u32| f64::from(membership[vertex as usize]);
    let at_points = |vertex: u32| points.group_of(vertex as usize);
    let on_support = |fields: &[Vec<DVec3>], place: &dyn Fn(u32) -> usize| {
        let written = |field: &Vec<DVec3>| -> Vec<_> {
            support.iter().map(|&vertex| (share(vertex) * field[place(vertex)]).as_vec3()).collect()
        };
        fields.iter().flat_map(written).collect()
    };
    let positions = on_support(&of_points, &at_points);
    let normals = if params.normals && !seen.displacements.normals.is_empty() {
        on_support(&combined(&seen.displacements.normals, used, weights)?, &|vertex| vertex as usize)
    } else {
        Vec::new()
    };
    Ok(DisplacementBasis { positions, normals })
}

/// Mixtures of the examples' fields at all places, `field` → `place`.
fn combined(fields: &Fields, used: &[usize], weights: &Matrix) -> Result<Vec<Vec<DVec3>>, StoreError> {
    let places: Vec<u32> = (0..fields.place_count() as u32).collect();
    let matrix = TallMatrix { fields, examples: used, points: &places, factor: &|_, _| 1.0, axis: None };
    matrix.combined(weights)
}

/// Inner products of the examples' deltas over all vertices, times the squared membership.
fn gram(seen: &Observations, used: &[usize], membership: &[f32]) -> Result<Matrix, StoreError> {
    let points = &seen.displacements.points;
    let mut squares = vec![0.0; points.group_count()];
    for (vertex, &share) in membership.iter().enumerate() {
        squares[points.group_of(vertex)] += f64::from(share).powi(2);
    }
    let roots: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
    let places: Vec<u32> = (0..points.group_count() as u32).collect();
    let fields = &seen.displacements.positions;
    let factor = |_: usize, place: usize| roots[place];
    TallMatrix { fields, examples: used, points: &places, factor: &factor, axis: None }.gram()
}

/// The largest delta of every example, and the vertex that has it.
fn largest_deltas(seen: &Observations) -> Result<Vec<(f64, usize)>, StoreError> {
    let all: Vec<usize> = (0..seen.len()).collect();
    let of_tile = |tile: &Tile<'_>| -> Vec<(f64, usize)> {
        let largest = |&example: &usize| {
            let lengths = tile.row(example).iter().map(|u| f64::from(u.length())).zip(tile.places.clone());
            lengths.fold((0.0, 0), |worst, next| if next.0 > worst.0 { next } else { worst })
        };
        all.iter().map(largest).collect()
    };
    let mut found = vec![(0.0, 0); seen.len()];
    seen.displacements.positions.fold_tiles(
        &all,
        16 * seen.len(),
        |_| true,
        of_tile,
        |part| {
            for (found, next) in found.iter_mut().zip(part) {
                if next.0 > found.0 {
                    *found = next;
                }
            }
        },
    )?;
    let vertex = |point: usize| seen.displacements.points.first_vertex(point);
    Ok(found.into_iter().map(|(length, point)| (length, vertex(point))).collect())
}

/// The largest part of an example that no delta at rest can reach.
fn unreachable(seen: &Observations, example: usize) -> f64 {
    let residuals = &seen.displacements.residuals[example];
    residuals.iter().map(|(_, residual)| f64::from(residual.length())).fold(0.0, f64::max)
}
