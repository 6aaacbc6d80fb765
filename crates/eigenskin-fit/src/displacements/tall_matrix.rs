//! Displacements of some examples at some points of the skin as a matrix, `3·point × example`, one
//! column per example: A_j of EigenSkin §2.3, X of Kim 2011 §3. It is never formed; what is needed of it
//! is summed over tiles, in `f64`.

use eigenskin_core::progress::Progress;
use glam::DVec3;

use super::fields::{Fields, Tile, TileError};
use crate::numeric::{Matrix, gram};

/// The matrix.
pub struct TallMatrix<'a> {
    /// what the examples do
    pub fields: &'a Fields,
    /// the columns
    pub examples: &'a [usize],
    /// the rows, rising
    pub points: &'a [u32],
    /// factor of an entry, by place among the examples and place among the points
    pub factor: &'a (dyn Fn(usize, usize) -> f64 + Sync),
    /// one of the axes x, y, z only; then there are `point` rows
    pub axis: Option<usize>,
}

/// All of some fields in memory, to be looked at as a matrix.
#[cfg(test)]
pub struct HeldFields {
    fields: Fields,
    examples: Vec<usize>,
    points: Vec<u32>,
}

#[cfg(test)]
impl HeldFields {
    /// Fields `example × point`.
    pub fn new(values: Vec<glam::Vec3>, example_count: usize) -> Self {
        let point_count = values.len().checked_div(example_count).unwrap_or(0);
        Self {
            fields: Fields::held(values, point_count),
            examples: (0..example_count).collect(),
            points: (0..point_count as u32).collect(),
        }
    }

    /// The matrix.
    pub fn matrix(&self) -> TallMatrix<'_> {
        let Self { fields, examples, points } = self;
        TallMatrix { fields, examples, points, factor: &|_, _| 1.0, axis: None }
    }
}

impl TallMatrix<'_> {
    /// AᵀA, `example × example`.
    pub fn gram(&self, progress: &dyn Progress) -> Result<Matrix, TileError> {
        let count = self.examples.len();
        let mut sum = Matrix::zeros(count, count);
        self.fold(8 * count * count, |_, rows| gram(rows), |part| sum += part, progress)?;
        Ok(sum)
    }

    /// AᵀA · `right` (`example × column`).
    pub fn gram_times(&self, right: &Matrix, progress: &dyn Progress) -> Result<Matrix, TileError> {
        let mut sum = Matrix::zeros(self.examples.len(), right.ncols());
        let bytes = 8 * self.examples.len() * right.ncols();
        self.fold(bytes, |_, rows| rows.transpose() * (rows * right), |part| sum += part, progress)?;
        Ok(sum)
    }

    /// The squared length of every column, `example`.
    pub fn energies(&self, progress: &dyn Progress) -> Result<Vec<f64>, TileError> {
        let mut sums = vec![0.0; self.examples.len()];
        self.fold(
            8 * sums.len(),
            |_, rows| rows.col_iter().map(|column| column.squared_norm_l2()).collect::<Vec<f64>>(),
            |part| sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part),
            progress,
        )?;
        Ok(sums)
    }

    /// A · `weights` (`example × output`) as fields, `output` → `point`.
    pub fn combined(&self, weights: &Matrix, progress: &dyn Progress) -> Result<Vec<Vec<DVec3>>, TileError> {
        let mut outputs = vec![vec![DVec3::ZERO; self.points.len()]; weights.ncols()];
        let width = self.width();
        self.fold(
            24 * 2048 * weights.ncols(),
            |first, rows| (first, rows * weights),
            |(first, part)| {
                for (output, field) in outputs.iter_mut().enumerate() {
                    for row in 0..part.nrows() {
                        let axis = self.axis.unwrap_or(row % width);
                        field[first + row / width][axis] = part[(row, output)];
                    }
                }
            },
            progress,
        )?;
        Ok(outputs)
    }

    fn width(&self) -> usize {
        if self.axis.is_some() { 1 } else { 3 }
    }

    /// The rows of every tile that has any, with the place of the first among the points.
    fn fold<R: Send>(
        &self,
        result_bytes: usize,
        work: impl Fn(usize, &Matrix) -> R + Sync,
        merge: impl FnMut(R),
        progress: &dyn Progress,
    ) -> Result<(), TileError> {
        let places_in = |places: &std::ops::Range<usize>| {
            let place = |end: usize| self.points.partition_point(|&point| (point as usize) < end);
            place(places.start)..place(places.end)
        };
        let of_tile = |tile: &Tile<'_>| {
            let places = places_in(&tile.places);
            let width = self.width();
            let mut rows = Matrix::zeros(width * places.len(), self.examples.len());
            for example in 0..self.examples.len() {
                let (observed, column) = (tile.row(example), rows.col_as_slice_mut(example));
                for (entries, place) in column.chunks_exact_mut(width).zip(places.clone()) {
                    let u = observed[self.points[place] as usize - tile.places.start].as_dvec3()
                        * (self.factor)(example, place);
                    match self.axis {
                        Some(axis) => entries[0] = u[axis],
                        None => entries.copy_from_slice(&u.to_array()),
                    }
                }
            }
            work(places.start, &rows)
        };
        self.fields.fold_tiles(
            self.examples,
            result_bytes,
            |places| !places_in(places).is_empty(),
            of_tile,
            merge,
            progress,
        )
    }
}
