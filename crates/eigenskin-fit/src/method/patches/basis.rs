//! Fields of overlapping patches that together show the examples best: alternating least squares.

use std::collections::BTreeMap;

use eigenskin_core::progress::{Cancelled, Progress};
use glam::{DVec3, Vec3};

use super::regions::Patches;
use crate::displacements::fields::StoreError;
use crate::displacements::{Observations, TileError};
use crate::numeric::{Matrix, solve_positive, symmetric_eigen};

/// Rounds of fitting coordinates to fields and fields to coordinates.
const ROUNDS: usize = 15;
/// Keeps coordinates of fields apart that overlap, share of their mean square.
const APART: f64 = 1e-3;
/// The same for fields.
const FIELDS_APART: f64 = 1e-6;

/// Fields of a patch that are shorter than this, squared, once what the others do is taken away, say nothing.
const LEAST_SPAN: f64 = 1e-12;

/// Points that hardly move count as if they did this share of what all do on average.
const LEAST_MOTION: f64 = 1e-3;

/// Memory for the shapes that fields are fitted to, where the examples are on disk.
const MOST_BYTES: usize = 1 << 26;

/// The displacements of the examples that fields are fitted to.
pub(super) struct Shapes {
    example_count: usize,
    point_count: usize,
    /// `example × point`
    values: Vec<Vec3>,
}

/// What was observed, in memory; of examples on disk as many as there is room for, evenly.
pub(super) fn shapes(seen: &Observations) -> Result<Shapes, StoreError> {
    let fields = &seen.displacements.positions;
    let (all, point_count) = (fields.example_count(), fields.place_count());
    let room = if seen.is_large() { MOST_BYTES / (size_of::<Vec3>() * point_count.max(1)) } else { all };
    let example_count = all.min(room.max(1));
    let mut values = Vec::with_capacity(example_count * point_count);
    for place in 0..example_count {
        values.extend_from_slice(&fields.of(place * all / example_count)?);
    }
    Ok(Shapes { example_count, point_count, values })
}

impl Shapes {
    /// How much each point moves, `point`: the mean square of what it does, and at least a small share of the mean
    /// over all points.
    pub fn motion(&self) -> Vec<f64> {
        let square = |point: usize| {
            (0..self.example_count).map(|example| self.at(example, point).length_squared()).sum::<f64>()
        };
        let squares: Vec<f64> = (0..self.point_count).map(square).collect();
        let mean = squares.iter().sum::<f64>() / self.point_count.max(1) as f64;
        let least = if mean > 0.0 { LEAST_MOTION * mean } else { 1.0 };
        squares.into_iter().map(|square| square.max(least)).collect()
    }

    /// What a point does in an example.
    fn at(&self, example: usize, point: usize) -> DVec3 {
        self.values[example * self.point_count + point].as_dvec3()
    }
}

/// All examples as the fields show them.
pub(super) struct Projected {
    /// `example × component`, least squares
    pub coordinates: Matrix,
    /// `patch → example`: mean square of what the patch does
    pub energies: Vec<Vec<f64>>,
    /// what the fields leave of all displacements, relative
    pub error: f64,
}

/// Fields of all patches.
pub(super) struct PatchBasis {
    per_patch: usize,
    /// `patch → component × point of the patch`, of unit length each; empty where nothing moves
    fields: Vec<Vec<DVec3>>,
    /// `patch`: components that are kept, rising
    kept: Vec<Vec<usize>>,
    /// `point`: (patch, place in it), patches rising
    places: Vec<Vec<(usize, usize)>>,
}

impl PatchBasis {
    /// Fits fields to the shapes.
    pub fn fit(
        shapes: &Shapes,
        patches: &Patches,
        per_patch: usize,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let mut places = vec![Vec::new(); patches.of_points().len()];
        for patch in 0..patches.count() {
            for (place, &point) in patches.points(patch).iter().enumerate() {
                places[point as usize].push((patch, place));
            }
        }
        let begun = (0..patches.count()).map(|patch| principal_fields(shapes, patches, patch, per_patch));
        let kept = vec![(0..per_patch).collect(); patches.count()];
        let mut basis = Self { per_patch, fields: begun.collect(), kept, places };
        let mut groups: BTreeMap<&[u32], Vec<usize>> = BTreeMap::new();
        for (point, own) in patches.of_points().iter().enumerate() {
            groups.entry(own).or_default().push(point);
        }
        for _ in 0..ROUNDS {
            progress.doing("finding components")?;
            let coordinates = basis.coordinates(shapes, patches);
            for (own, points) in &groups {
                basis.refit_fields(shapes, &coordinates, own, points);
            }
            basis.normalize();
        }
        basis.make_orthonormal(shapes, patches);
        Ok(basis)
    }

    /// Whether a patch moves at all.
    pub fn moves(&self, patch: usize) -> bool {
        self.kept[patch].iter().any(|&k| self.field(patch, k).iter().any(|value| *value != DVec3::ZERO))
    }

    /// Keeps the components that move most, no more than `most` in all.
    pub fn keep(&mut self, most: usize, shapes: &Shapes, patches: &Patches) {
        let coordinates = self.coordinates(shapes, patches);
        let energy = |column: usize| -> f64 {
            (0..shapes.example_count).map(|e| coordinates[(e, column)].powi(2)).sum()
        };
        let mut order: Vec<(f64, usize)> = (0..coordinates.ncols()).map(|k| (energy(k), k)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(_, column) in order.iter().skip(most) {
            let (patch, k) = (column / self.per_patch, column % self.per_patch);
            self.kept[patch].retain(|&kept| kept != k);
            let size = self.fields[patch].len() / self.per_patch;
            self.fields[patch][k * size..(k + 1) * size].fill(DVec3::ZERO);
        }
    }

    /// The components of a patch.
    pub fn kept(&self, patch: usize) -> &[usize] {
        &self.kept[patch]
    }

    /// One field of a patch, `point of the patch`.
    pub fn field(&self, patch: usize, component: usize) -> &[DVec3] {
        let count = self.fields[patch].len() / self.per_patch;
        &self.fields[patch][component * count..(component + 1) * count]
    }

    /// All examples, one after the other.
    pub fn project(
        &self,
        seen: &Observations,
        patches: &Patches,
        progress: &dyn Progress,
    ) -> Result<Projected, TileError> {
        let examples = seen.len();
        let mut right = Matrix::zeros(patches.count() * self.per_patch, examples);
        let mut energies = vec![vec![0.0; examples]; patches.count()];
        let mut all = vec![0.0; examples];
        for example in 0..examples {
            progress.doing("finding components")?;
            let shape = seen.displacements.positions.of(example)?;
            let displacement = |point: u32| shape[point as usize].as_dvec3();
            for patch in 0..patches.count() {
                let (points, mask) = (patches.points(patch), patches.mask(patch));
                for k in 0..self.per_patch {
                    let products = self.field(patch, k).iter().zip(points);
                    right[(patch * self.per_patch + k, example)] =
                        products.map(|(field, &point)| field.dot(displacement(point))).sum();
                }
                let squares =
                    points.iter().zip(mask).map(|(&p, share)| share * displacement(p).length_squared());
                energies[patch][example] = squares.sum::<f64>() / mask.iter().sum::<f64>();
            }
            all[example] = shape.iter().map(|value| value.as_dvec3().length_squared()).sum();
        }
        let gram = self.gram(patches.count());
        let coordinates = coordinates_of(&gram, &right);
        // ‖u − Bᵀa‖² = ‖u‖² − 2 a·Bu + a·BBᵀ·a
        let shown = &gram * coordinates.transpose();
        let left = |example: usize| {
            let of = |k: usize| coordinates[(example, k)] * (shown[(k, example)] - 2.0 * right[(k, example)]);
            (all[example] + (0..shown.nrows()).map(of).sum::<f64>()).max(0.0)
        };
        let (left, all): (f64, f64) = ((0..examples).map(left).sum(), all.iter().sum());
        let error = if all > 0.0 { (left / all).sqrt() } else { 0.0 };
        Ok(Projected { coordinates, energies, error })
    }

    /// The coordinates of the shapes, `example × component`: least squares.
    fn coordinates(&self, shapes: &Shapes, patches: &Patches) -> Matrix {
        let mut right = Matrix::zeros(patches.count() * self.per_patch, shapes.example_count);
        for patch in 0..patches.count() {
            for k in 0..self.per_patch {
                for example in 0..shapes.example_count {
                    let products = self.field(patch, k).iter().zip(patches.points(patch));
                    right[(patch * self.per_patch + k, example)] =
                        products.map(|(field, &point)| field.dot(shapes.at(example, point as usize))).sum();
                }
            }
        }
        coordinates_of(&self.gram(patches.count()), &right)
    }

    /// Inner products of all fields, `component × component`.
    fn gram(&self, patch_count: usize) -> Matrix {
        let count = patch_count * self.per_patch;
        let mut gram = Matrix::zeros(count, count);
        for places in &self.places {
            let own: Vec<(usize, DVec3)> = places
                .iter()
                .flat_map(|&(patch, place)| {
                    (0..self.per_patch)
                        .map(move |k| (patch * self.per_patch + k, self.field(patch, k)[place]))
                })
                .collect();
            for &(a, field) in &own {
                for &(b, other) in &own {
                    gram[(a, b)] += field.dot(other);
                }
            }
        }
        gram
    }

    /// The coordinates of one patch, `example × component`.
    pub fn own(&self, patch: usize, coordinates: &Matrix) -> Matrix {
        let kept = &self.kept[patch];
        Matrix::from_fn(coordinates.nrows(), kept.len(), |example, k| {
            coordinates[(example, patch * self.per_patch + kept[k])]
        })
    }

    /// The fields of points that belong to the same patches, for given coordinates.
    fn refit_fields(&mut self, shapes: &Shapes, coordinates: &Matrix, patches: &[u32], points: &[usize]) {
        let per_patch = self.per_patch;
        let of_patch = |&patch: &u32| (0..per_patch).map(move |k| patch as usize * per_patch + k);
        let columns: Vec<usize> = patches.iter().flat_map(of_patch).collect();
        let count = columns.len();
        let examples = shapes.example_count;
        let mut gram = Matrix::from_fn(count, count, |a, b| {
            (0..examples).map(|e| coordinates[(e, columns[a])] * coordinates[(e, columns[b])]).sum()
        });
        let mean = (0..count).map(|k| gram[(k, k)]).sum::<f64>() / count as f64;
        for k in 0..count {
            gram[(k, k)] += FIELDS_APART * mean + f64::MIN_POSITIVE;
        }
        let weights =
            solve_positive(&gram, &Matrix::from_fn(count, examples, |k, e| coordinates[(e, columns[k])]));
        for &point in points {
            let mut fields = vec![DVec3::ZERO; count];
            for example in 0..examples {
                let shape = shapes.at(example, point);
                for (k, field) in fields.iter_mut().enumerate() {
                    *field += weights[(k, example)] * shape;
                }
            }
            let places = self.places[point].clone();
            for (block, (patch, place)) in places.into_iter().enumerate() {
                let size = self.fields[patch].len() / self.per_patch;
                for k in 0..self.per_patch {
                    self.fields[patch][k * size + place] = fields[block * self.per_patch + k];
                }
            }
        }
    }

    /// Other fields of the same span: those of a patch are perpendicular and of unit length, the first moves most.
    /// Else coordinates cancel each other, and what rides on them (normals) is large and rounds badly; and errors of
    /// a patch's coordinates would not be errors of its skin.
    ///
    /// With F = fields, A = coordinates, F·Fᵀ = V·Λ·Vᵀ and R the eigenvectors of what A·V·Λ^½ has as its Gram matrix,
    /// they are Rᵀ·Λ^−½·Vᵀ·F.
    fn make_orthonormal(&mut self, shapes: &Shapes, patches: &Patches) {
        let coordinates = self.coordinates(shapes, patches);
        let count = self.per_patch;
        for patch in 0..patches.count() {
            let fields = Matrix::from_fn(count, 3 * patches.points(patch).len(), |k, column| {
                self.field(patch, k)[column / 3][column % 3]
            });
            let (squares, vectors) = symmetric_eigen(&(&fields * fields.transpose()));
            let least = LEAST_SPAN * squares.iter().copied().fold(0.0, f64::max);
            let lengths: Vec<f64> =
                squares.iter().map(|&square| if square > least { square.sqrt() } else { 0.0 }).collect();
            let own =
                Matrix::from_fn(shapes.example_count, count, |e, k| coordinates[(e, patch * count + k)]);
            let along = &own * &vectors;
            let along = Matrix::from_fn(shapes.example_count, count, |e, k| along[(e, k)] * lengths[k]);
            let (_, turns) = symmetric_eigen(&(along.transpose() * &along));
            let unit = vectors.transpose() * &fields;
            let unit = Matrix::from_fn(count, unit.ncols(), |k, column| {
                if lengths[k] > 0.0 { unit[(k, column)] / lengths[k] } else { 0.0 }
            });
            let turned = turns.transpose() * &unit;
            for (k, field) in
                self.fields[patch].chunks_exact_mut(patches.points(patch).len().max(1)).enumerate()
            {
                for (point, value) in field.iter_mut().enumerate() {
                    *value = DVec3::from_array([0, 1, 2].map(|axis| turned[(k, 3 * point + axis)]));
                }
            }
        }
    }

    /// Every field of unit length.
    fn normalize(&mut self) {
        for fields in &mut self.fields {
            let size = fields.len() / self.per_patch;
            for field in fields.chunks_exact_mut(size.max(1)) {
                let length = field.iter().map(|value| value.length_squared()).sum::<f64>().sqrt();
                if length > 0.0 {
                    for value in field {
                        *value /= length;
                    }
                }
            }
        }
    }
}

/// Coordinates (`example × component`) from the inner products of fields (`component × component`) and those of
/// fields and shapes (`component × example`): least squares.
fn coordinates_of(gram: &Matrix, right: &Matrix) -> Matrix {
    let count = gram.nrows();
    let mean = (0..count).map(|k| gram[(k, k)]).sum::<f64>() / count as f64;
    let mut apart = gram.clone();
    for k in 0..count {
        apart[(k, k)] += APART * mean.max(f64::MIN_POSITIVE);
    }
    solve_positive(&apart, right).transpose().to_owned()
}

/// Principal components of what a patch does, weighted by its shares: `component × point of the patch`.
fn principal_fields(shapes: &Shapes, patches: &Patches, patch: usize, count: usize) -> Vec<DVec3> {
    let (points, mask) = (patches.points(patch), patches.mask(patch));
    let examples = shapes.example_count;
    let mut gram = Matrix::zeros(examples, examples);
    for (&point, &share) in points.iter().zip(mask) {
        let own: Vec<DVec3> = (0..examples).map(|e| share * shapes.at(e, point as usize)).collect();
        for a in 0..examples {
            for b in 0..=a {
                gram[(a, b)] += own[a].dot(own[b]);
            }
        }
    }
    let gram = Matrix::from_fn(examples, examples, |a, b| gram[(a.max(b), a.min(b))]);
    let (_, vectors) = symmetric_eigen(&gram);
    let mut fields = vec![DVec3::ZERO; count * points.len()];
    for k in 0..count.min(examples) {
        let field = &mut fields[k * points.len()..(k + 1) * points.len()];
        for (value, (&point, &share)) in field.iter_mut().zip(points.iter().zip(mask)) {
            *value = (0..examples).map(|e| vectors[(e, k)] * share * shapes.at(e, point as usize)).sum();
        }
        let length = field.iter().map(|value| value.length_squared()).sum::<f64>().sqrt();
        if length > 0.0 {
            for value in field {
                *value /= length;
            }
        }
    }
    fields
}
