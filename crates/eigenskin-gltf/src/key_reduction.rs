//! Which samples of a clip's coordinates become keys: as few as keep every vertex within a bound.
//!
//! Between two keys the weights are straight, and so are the coordinates (the ± split is linear on either
//! side, see [`halves`](super::halves)). With Δα the difference to a sample that is left out, a vertex i is off
//! by at most
//!
//! ```text
//! σ · Σ_k |Δα_k| · |û_ik|
//! ```
//!
//! where σ is the largest stretch of a joint in that pose: blending matrices stretches no more than one of
//! them. The sum is taken once for all vertices that the same layers move, with the longest displacement of each
//! component among them: never less. Where that is more than allowed, the vertices are looked at one by one,
//! with |Σ_k Δα_k·û_ik|.

use std::collections::BTreeMap;

use eigenskin_core::glam::Vec3;
use eigenskin_core::model::{Layer, Model, Stage};

/// Normals may be off by this many radians for each share of the size that positions may be: 0.06° at the
/// usual 1e-4.
const TURN_PER_SHARE: f64 = 10.0;

/// How far coordinates may be off.
#[derive(Debug)]
pub struct VertexBound {
    /// one per set of layers that move a vertex
    groups: Vec<Group>,
}

/// Vertices that the same layers move.
#[derive(Debug, Default)]
struct Group {
    /// components of all layers
    components: Vec<usize>,
    /// `component of the group`: its longest displacement here, in the unit of the bound
    reaches: Vec<f64>,
    /// `vertex × component of the group`: displacements in that unit
    positions: Vec<Vec3>,
    /// `vertex × component of the group`: changes of normals in that unit
    normals: Vec<Vec3>,
}

impl VertexBound {
    /// For the layers of `model` that are morph targets: `share` of the size is allowed.
    pub fn new(model: &Model, share: f64) -> Self {
        let rig = model.rig();
        let mut layers_of = vec![Vec::new(); rig.vertex_count()];
        for (index, layer) in model.layers().iter().enumerate().filter(|(_, layer)| is_morphed(layer)) {
            for (place, &vertex) in layer.support.iter().enumerate() {
                layers_of[vertex as usize].push((index, place));
            }
        }
        let mut first_components = Vec::with_capacity(model.layers().len());
        let mut next = 0;
        for layer in model.layers() {
            first_components.push(next);
            next += layer.component_count();
        }
        let position_unit = (1.0 / (share * rig.mesh().size())) as f32;
        let normal_unit = (1.0 / (share * TURN_PER_SHARE)) as f32;
        let mut groups: BTreeMap<Vec<usize>, Group> = BTreeMap::new();
        for layers in layers_of.iter().filter(|layers| !layers.is_empty()) {
            let group = groups.entry(layers.iter().map(|&(layer, _)| layer).collect()).or_default();
            if group.components.is_empty() {
                for &(index, _) in layers {
                    let first = first_components[index];
                    group.components.extend(first..first + model.layers()[index].component_count());
                }
                group.reaches = vec![0.0; group.components.len()];
            }
            let mut place_in_group = 0;
            for &(index, place) in layers {
                let layer = &model.layers()[index];
                for component in 0..layer.component_count() {
                    let at = |field: &[Vec3]| {
                        field.get(component * layer.support.len() + place).copied().unwrap_or_default()
                    };
                    let position = position_unit * at(&layer.basis.positions);
                    let normal = normal_unit * at(&layer.basis.normals);
                    let reach = &mut group.reaches[place_in_group];
                    *reach = reach.max(f64::from(position.length().max(normal.length())));
                    group.positions.push(position);
                    group.normals.push(normal);
                    place_in_group += 1;
                }
            }
        }
        Self { groups: groups.into_values().collect() }
    }

    /// How far a vertex or normal is off at most when coordinates are off by `difference` (`component`); 1 is
    /// what is allowed.
    pub fn error(&self, difference: &[f64]) -> f64 {
        self.groups.iter().map(|group| group.error(difference)).fold(0.0, f64::max)
    }
}

impl Group {
    fn error(&self, difference: &[f64]) -> f64 {
        let own: Vec<f32> = self.components.iter().map(|&component| difference[component] as f32).collect();
        let bound: f64 = own.iter().zip(&self.reaches).map(|(off, reach)| f64::from(off.abs()) * reach).sum();
        if bound <= 1.0 {
            return bound;
        }
        let furthest = |field: &[Vec3]| {
            let vertices = field.chunks_exact(own.len());
            let off =
                |vertex: &[Vec3]| vertex.iter().zip(&own).map(|(v, off)| *v * *off).sum::<Vec3>().length();
            vertices.map(off).fold(0.0, f32::max)
        };
        f64::from(furthest(&self.positions).max(furthest(&self.normals)))
    }
}

fn is_morphed(layer: &Layer) -> bool {
    layer.stage == Stage::BeforeSkinning
}

/// Coordinates along time.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    /// `sample`, rising, seconds
    pub times: &'a [f32],
    /// `sample` → `component`
    pub coordinates: &'a [Vec<f32>],
    /// `sample`: the largest stretch of a joint
    pub stretches: &'a [f64],
    /// whether values jump from key to key
    pub step: bool,
}

impl Samples<'_> {
    /// The samples to keep, rising, the first and the last among them, and the largest error of the others.
    pub fn keys(&self, bound: &VertexBound) -> (Vec<usize>, f64) {
        let last = self.times.len().saturating_sub(1);
        let (mut kept, mut worst) = (vec![0], 0.0f64);
        let mut from = 0;
        while from < last {
            // Twice as far as long as that is allowed, then half-way back and forth.
            let (mut good, mut error) = (from + 1, 0.0);
            let mut step = 1;
            while good < last {
                let to = (good + step).min(last);
                match self.error_between(bound, from, to) {
                    Some(found) => (good, error, step) = (to, found, 2 * step),
                    None => break,
                }
            }
            while step > 1 && good < last {
                step /= 2;
                let to = good + step;
                if to <= last
                    && let Some(found) = self.error_between(bound, from, to)
                {
                    (good, error) = (to, found);
                }
            }
            kept.push(good);
            worst = worst.max(error);
            from = good;
        }
        (kept, worst)
    }

    /// The largest error of samples between two keys; none when it is more than allowed.
    fn error_between(&self, bound: &VertexBound, from: usize, to: usize) -> Option<f64> {
        let span = f64::from(self.times[to]) - f64::from(self.times[from]);
        let mut worst = 0.0f64;
        // The middle is off most often.
        let middle = usize::midpoint(from, to);
        let order = std::iter::once(middle).chain(from + 1..to).filter(|&sample| sample > from);
        for sample in order {
            let share = if self.step {
                0.0
            } else {
                (f64::from(self.times[sample]) - f64::from(self.times[from])) / span
            };
            let difference: Vec<f64> = self.coordinates[sample]
                .iter()
                .zip(&self.coordinates[from])
                .zip(&self.coordinates[to])
                .map(|((&own, &from), &to)| {
                    let [own, from, to] = [own, from, to].map(f64::from);
                    from + share * (to - from) - own
                })
                .collect();
            let error = self.stretches[sample].max(1.0) * bound.error(&difference);
            let is_known = difference.iter().all(|off| off.is_finite());
            if !is_known || error > 1.0 {
                return None;
            }
            worst = worst.max(error);
        }
        Some(worst)
    }
}
