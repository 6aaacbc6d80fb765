//! What examples have in common with given fields: all that least squares on the fields need.

use eigenskin_core::progress::Progress;

use super::fields::{Fields, Tile, TileError};
use crate::numeric::{Matrix, gram};

/// Fields on a part of the skin.
pub struct FieldsOnPoints<'a> {
    /// points of the skin, rising
    pub points: &'a [u32],
    /// `component × point`
    pub fields: &'a [glam::Vec3],
}

/// Inner products of fields with each other and with the examples.
#[derive(Debug, Clone)]
pub struct Projections {
    /// `field × field`
    pub gram: Matrix,
    /// `example × field`
    pub of_examples: Matrix,
    /// `example`: ‖u‖²
    pub energies: Vec<f64>,
}

impl Projections {
    /// Of all examples and of the fields of `bases`, one after the other.
    pub fn new(
        examples: &Fields,
        bases: &[FieldsOnPoints<'_>],
        progress: &dyn Progress,
    ) -> Result<Self, TileError> {
        let mut first_field = vec![0];
        for basis in bases {
            let count = basis.fields.len().checked_div(basis.points.len()).unwrap_or(0);
            first_field.push(first_field[first_field.len() - 1] + count);
        }
        let (count, field_count) = (examples.example_count(), first_field[bases.len()]);
        let of_tile = |tile: &Tile<'_>| {
            let mut fields = Matrix::zeros(3 * tile.places.len(), field_count);
            for (basis, &first) in bases.iter().zip(&first_field) {
                let place = |end: usize| basis.points.partition_point(|&point| (point as usize) < end);
                let places = place(tile.places.start)..place(tile.places.end);
                for (component, field) in basis.fields.chunks_exact(basis.points.len().max(1)).enumerate() {
                    for place in places.clone() {
                        let row = 3 * (basis.points[place] as usize - tile.places.start);
                        for axis in 0..3 {
                            fields[(row + axis, first + component)] = f64::from(field[place][axis]);
                        }
                    }
                }
            }
            let observed = tile.matrix();
            let energies: Vec<f64> = observed.col_iter().map(|column| column.squared_norm_l2()).collect();
            (gram(&fields), observed.transpose() * &fields, energies)
        };
        let mut sum = Self {
            gram: Matrix::zeros(field_count, field_count),
            of_examples: Matrix::zeros(count, field_count),
            energies: vec![0.0; count],
        };
        let all: Vec<usize> = (0..count).collect();
        examples.fold_tiles(
            &all,
            8 * field_count * (field_count + count),
            |_| true,
            of_tile,
            |(gram, of_examples, energies)| {
                sum.gram += gram;
                sum.of_examples += of_examples;
                sum.energies.iter_mut().zip(energies).for_each(|(sum, part)| *sum += part);
            },
            progress,
        )?;
        Ok(sum)
    }

    /// ‖u − Σ α û‖² of an example, given coordinates of some fields.
    pub fn squared_error(&self, example: usize, alphas: &[(usize, f64)]) -> f64 {
        let mut error = self.energies[example];
        for &(a, alpha) in alphas {
            error -= 2.0 * alpha * self.of_examples[(example, a)];
            error += alpha * alphas.iter().map(|&(b, beta)| beta * self.gram[(a, b)]).sum::<f64>();
        }
        error.max(0.0)
    }
}
