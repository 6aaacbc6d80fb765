//! Fields that follow given coordinates best: at every place of the skin, least squares over all
//! examples and all layers that reach it.

use std::collections::BTreeMap;
use std::ops::Range;

use eigenskin_core::progress::Progress;
use glam::{DVec3, Vec3};

use crate::displacements::fields::{Fields, Tile, TileError};
use crate::numeric::{Matrix, symmetric_pseudo_inverse};

/// Where a layer acts.
pub struct Reach {
    /// places of the skin (points or vertices), rising
    pub places: Vec<u32>,
    /// `place`: 1 inside, falling to 0 at the border
    pub mask: Vec<f32>,
}

/// Fields of every layer (`component × place`), zero at its border, whose sum with the layers'
/// coordinates (`layer`, `example` → `component`) meets what the examples do. With `current` fields
/// (`layer` → `component × place`): the changes of them that meet what they leave.
///
/// `smoothing`: what a field must earn to be there, as a share of how much its coordinate varies.
pub fn fields_of_coordinates(
    reaches: &[Reach],
    coordinates: &[Vec<Vec<f64>>],
    examples: &[usize],
    observed: &Fields,
    current: Option<&[&[Vec3]]>,
    smoothing: f64,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Vec3>>, TileError> {
    let component_count = |layer: usize| coordinates[layer].first().map_or(0, Vec::len);
    let columns: Vec<(usize, usize)> =
        (0..reaches.len()).flat_map(|layer| (0..component_count(layer)).map(move |k| (layer, k))).collect();
    let values = Matrix::from_fn(examples.len(), columns.len(), |row, column| {
        let (layer, component) = columns[column];
        coordinates[layer][examples[row]][component]
    });
    let gram = values.transpose() * &values;
    let mut covering = vec![Vec::new(); observed.place_count()];
    for (layer, reach) in reaches.iter().enumerate() {
        for (index, &place) in reach.places.iter().enumerate() {
            covering[place as usize].push((layer, index));
        }
    }
    let of_tile = |tile: &Tile<'_>| {
        let wanted = tile.matrix() * &values;
        // Places in the same layers share columns; those with the same masks share an inverse too.
        let mut groups: BTreeMap<Vec<(usize, u32)>, Vec<usize>> = BTreeMap::new();
        for place in tile.places.clone().filter(|&place| !covering[place].is_empty()) {
            let layers = covering[place].iter();
            let key = layers.map(|&(layer, index)| (layer, reaches[layer].mask[index].to_bits()));
            groups.entry(key.collect()).or_default().push(place);
        }
        let mut found: Vec<(usize, usize, Vec<DVec3>)> = Vec::new();
        for (layers, places) in groups {
            let own: Vec<(usize, f64)> = (0..columns.len())
                .filter_map(|column| {
                    let layer = layers.iter().find(|(layer, _)| *layer == columns[column].0)?;
                    Some((column, f64::from(f32::from_bits(layer.1))))
                })
                .collect();
            let small = Matrix::from_fn(own.len(), own.len(), |a, b| {
                let both = own[a].1 * own[b].1 * gram[(own[a].0, own[b].0)];
                if a == b { both + smoothing * gram[(own[a].0, own[a].0)] } else { both }
            });
            let inverse = symmetric_pseudo_inverse(&small, 1e-12);
            for place in places {
                let field_now = |column: usize| -> DVec3 {
                    let (layer, component) = columns[column];
                    let index = covering[place].iter().find(|(l, _)| *l == layer).map_or(0, |&(_, i)| i);
                    let fields = current.map_or(&[][..], |current| current[layer]);
                    fields
                        .get(component * reaches[layer].places.len() + index)
                        .map_or(DVec3::ZERO, |u| u.as_dvec3())
                };
                let now: Vec<DVec3> = own.iter().map(|&(column, _)| field_now(column)).collect();
                let right: Vec<DVec3> = own
                    .iter()
                    .map(|&(column, mask)| {
                        let row = 3 * (place - tile.places.start);
                        let all = DVec3::from_array([0, 1, 2].map(|axis| wanted[(row + axis, column)]));
                        let met: DVec3 =
                            own.iter().zip(&now).map(|(&(b, _), u)| gram[(column, b)] * *u).sum();
                        mask * (all - met)
                    })
                    .collect();
                let fields: Vec<DVec3> = own
                    .iter()
                    .enumerate()
                    .map(|(row, &(_, mask))| {
                        mask * right.iter().enumerate().map(|(b, &r)| inverse[(row, b)] * r).sum::<DVec3>()
                    })
                    .collect();
                for &(layer, index) in &covering[place] {
                    let of_layer =
                        own.iter().zip(&fields).filter(|((column, _), _)| columns[*column].0 == layer);
                    found.push((layer, index, of_layer.map(|(_, field)| *field).collect()));
                }
            }
        }
        found
    };
    let mut result: Vec<Vec<Vec3>> = (0..reaches.len())
        .map(|layer| vec![Vec3::ZERO; component_count(layer) * reaches[layer].places.len()])
        .collect();
    let reached = |places: &Range<usize>| places.clone().any(|place| !covering[place].is_empty());
    let merge = |found: Vec<(usize, usize, Vec<DVec3>)>| {
        for (layer, index, fields) in found {
            for (component, field) in fields.into_iter().enumerate() {
                result[layer][component * reaches[layer].places.len() + index] = field.as_vec3();
            }
        }
    };
    observed.fold_tiles(examples, 24 * 2048 * columns.len(), reached, of_tile, merge, progress)?;
    Ok(result)
}
