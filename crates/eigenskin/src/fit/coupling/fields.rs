//! Fields that follow given coordinates best: at every place of the skin, least squares over all
//! examples and all layers that reach it.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::numeric::{Matrix, symmetric_pseudo_inverse};

/// Where a layer acts.
pub struct Reach {
    /// places of the skin (points or vertices), rising
    pub places: Vec<u32>,
    /// `place`: 1 inside, falling to 0 at the border
    pub mask: Vec<f32>,
}

/// Fields of every layer (`component × place`), zero at its border, whose sum with the layers'
/// coordinates (`layer`, `example` → `component`) meets `target(example, place)`.
///
/// `ridge`: what a field must earn to be there, as a share of how much its coordinate varies.
pub fn fields_of_coordinates(
    reaches: &[Reach],
    coordinates: &[Vec<Vec<f64>>],
    examples: &[usize],
    place_count: usize,
    target: impl Fn(usize, usize) -> DVec3 + Sync,
    ridge: f64,
) -> Vec<Vec<Vec3>> {
    let component_count = |layer: usize| coordinates[layer].first().map_or(0, Vec::len);
    let columns: Vec<(usize, usize)> =
        (0..reaches.len()).flat_map(|layer| (0..component_count(layer)).map(move |k| (layer, k))).collect();
    let values = Matrix::from_fn(examples.len(), columns.len(), |row, column| {
        let (layer, component) = columns[column];
        coordinates[layer][examples[row]][component]
    });
    let gram = values.transpose() * &values;

    // Places in the same layers share columns; those with the same masks would share an inverse too.
    let mut covering = vec![Vec::new(); place_count];
    for (layer, reach) in reaches.iter().enumerate() {
        for (index, &place) in reach.places.iter().enumerate() {
            covering[place as usize].push((layer, index));
        }
    }
    let mut groups: BTreeMap<Vec<(usize, u32)>, Vec<usize>> = BTreeMap::new();
    for (place, layers) in covering.iter().enumerate() {
        let key = layers.iter().map(|&(layer, index)| (layer, reaches[layer].mask[index].to_bits()));
        groups.entry(key.collect()).or_default().push(place);
    }
    let solved: Vec<Vec<(usize, usize, Vec<DVec3>)>> = groups
        .into_par_iter()
        .map(|(layers, places)| {
            let own: Vec<(usize, f64)> = (0..columns.len())
                .filter_map(|column| {
                    let layer = layers.iter().find(|(layer, _)| *layer == columns[column].0)?;
                    Some((column, f64::from(f32::from_bits(layer.1))))
                })
                .collect();
            let small = Matrix::from_fn(own.len(), own.len(), |a, b| {
                let both = own[a].1 * own[b].1 * gram[(own[a].0, own[b].0)];
                if a == b { both + ridge * gram[(own[a].0, own[a].0)] } else { both }
            });
            let inverse = symmetric_pseudo_inverse(&small, 1e-12);
            let mut found = Vec::new();
            for place in places {
                let mut right = vec![DVec3::ZERO; own.len()];
                for (row, &example) in examples.iter().enumerate() {
                    let wanted = target(example, place);
                    for (sum, &(column, mask)) in right.iter_mut().zip(&own) {
                        *sum += mask * values[(row, column)] * wanted;
                    }
                }
                let fields = own.iter().enumerate().map(|(row, &(_, mask))| {
                    mask * right.iter().enumerate().map(|(b, &sum)| inverse[(row, b)] * sum).sum::<DVec3>()
                });
                let fields: Vec<DVec3> = fields.collect();
                for &(layer, index) in &covering[place] {
                    let of_layer =
                        own.iter().zip(&fields).filter(|((column, _), _)| columns[*column].0 == layer);
                    found.push((layer, index, of_layer.map(|(_, field)| *field).collect()));
                }
            }
            found
        })
        .collect();
    let mut result: Vec<Vec<Vec3>> = (0..reaches.len())
        .map(|layer| vec![Vec3::ZERO; component_count(layer) * reaches[layer].places.len()])
        .collect();
    for (layer, index, fields) in solved.into_iter().flatten() {
        for (component, field) in fields.into_iter().enumerate() {
            result[layer][component * reaches[layer].places.len() + index] = field.as_vec3();
        }
    }
    result
}
