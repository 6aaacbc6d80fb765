//! Principal components of displacements (EigenSkin §2.3): A = U D Vᵀ, uncentred, so that rest
//! stays zero.
//!
//! Up to a few hundred examples the thin SVD is found from the small Gram matrix AᵀA, accumulated in
//! `f64`; components below 1e-7 of the largest singular value are lost in its rounding and left out.
//! Of more examples, when few components are wanted, only the range of those is found: a random
//! subspace is turned towards them by multiplying with AᵀA a few times (Halko, Martinsson, Tropp 2011).

use glam::DVec3;

use crate::displacements::TileError;
use crate::displacements::tall_matrix::TallMatrix;
use crate::numeric::{Matrix, orthonormal, symmetric_eigen};
use eigenskin_core::progress::Progress;
use eigenskin_core::random::SplitMix64;

/// Components of observed displacement fields, most important first.
#[derive(Debug, Clone)]
pub struct PrincipalComponents {
    /// `component` (the diagonal of D), falling
    pub singular_values: Vec<f64>,
    /// `component × example`: right singular vectors (Vᵀ)
    pub right: Vec<Vec<f64>>,
    /// `example`: ‖u‖², also of what no component shows
    pub energies: Vec<f64>,
    /// whether there are components beyond these
    is_cut: bool,
}

/// Components as displacement fields.
#[derive(Debug, Clone)]
pub struct ComponentFields {
    /// `component` → `point`: left singular vectors û, of unit norm
    pub fields: Vec<Vec<DVec3>>,
    /// `component` → `example`: the examples' coordinates on them (rows of D Vᵀ)
    pub coordinates: Vec<Vec<f64>>,
}

const SMALLEST: f64 = 1e-7;
/// Up to this number of examples all components are found.
const FEW_EXAMPLES: usize = 256;
/// Directions beside those wanted, and rounds of turning them.
const SPARE: usize = 16;
const ROUNDS: usize = 4;

impl PrincipalComponents {
    /// Of a matrix of displacements. Of many examples only the first `most`, if that is given.
    pub fn of(
        matrix: &TallMatrix<'_>,
        most: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<Self, TileError> {
        let count = matrix.examples.len();
        match most {
            Some(most) if count > FEW_EXAMPLES && most + SPARE < count => {
                Self::leading(matrix, most, progress)
            }
            _ => Ok(Self::of_gram(&matrix.gram(progress)?)),
        }
    }

    /// From the Gram matrix AᵀA of the fields, `example × example`.
    fn of_gram(gram: &Matrix) -> Self {
        let (values, vectors) = symmetric_eigen(gram);
        let energies = (0..gram.nrows()).map(|example| gram[(example, example)]).collect();
        Self::of_eigen(&values, &vectors, energies, false)
    }

    /// The first components, by subspace iteration.
    fn leading(matrix: &TallMatrix<'_>, most: usize, progress: &dyn Progress) -> Result<Self, TileError> {
        let count = matrix.examples.len();
        let mut random = SplitMix64(most as u64);
        let mut directions =
            orthonormal(&Matrix::from_fn(count, most + SPARE, |_, _| random.between(-1.0, 1.0)));
        for _ in 0..ROUNDS {
            directions = orthonormal(&matrix.gram_times(&directions, progress)?);
        }
        let within = directions.transpose() * matrix.gram_times(&directions, progress)?;
        let symmetric =
            Matrix::from_fn(within.nrows(), within.ncols(), |a, b| 0.5 * (within[(a, b)] + within[(b, a)]));
        let (mut values, vectors) = symmetric_eigen(&symmetric);
        values.truncate(most);
        Ok(Self::of_eigen(&values, &(&directions * vectors), matrix.energies(progress)?, true))
    }

    fn of_eigen(values: &[f64], vectors: &Matrix, energies: Vec<f64>, is_cut: bool) -> Self {
        let largest = values.first().map_or(0.0, |value| value.max(0.0).sqrt());
        let mut found = Self { singular_values: Vec::new(), right: Vec::new(), energies, is_cut };
        for (component, value) in values.iter().enumerate() {
            let singular = value.max(0.0).sqrt();
            if singular <= SMALLEST * largest || singular == 0.0 {
                found.is_cut = false;
                break;
            }
            found.singular_values.push(singular);
            found.right.push((0..vectors.nrows()).map(|example| vectors[(example, component)]).collect());
        }
        found
    }

    /// Number of components with a meaning.
    pub fn count(&self) -> usize {
        self.singular_values.len()
    }

    /// Squared lengths of all components, falling.
    pub fn squares(&self) -> impl Iterator<Item = f64> + '_ {
        self.singular_values.iter().map(|s| s * s)
    }

    /// Squared displacements over all examples that the components after the first `count` show.
    pub fn energy_after(&self, count: usize) -> f64 {
        if self.is_cut {
            (self.energies.iter().sum::<f64>() - self.squares().take(count).sum::<f64>()).max(0.0)
        } else {
            // An empty sum is −0.
            self.squares().skip(count).sum::<f64>() + 0.0
        }
    }

    /// The first `count` components as fields. The largest entry of a field is positive, so that every
    /// run and machine gives the same sign.
    pub fn fields_and_coordinates(
        &self,
        matrix: &TallMatrix<'_>,
        count: usize,
        progress: &dyn Progress,
    ) -> Result<ComponentFields, TileError> {
        let weights = Matrix::from_fn(matrix.examples.len(), count, |example, component| {
            self.right[component][example] / self.singular_values[component]
        });
        let mut fields = matrix.combined(&weights, progress)?;
        let mut coordinates = Vec::with_capacity(count);
        for (component, field) in fields.iter_mut().enumerate() {
            let largest = field
                .iter()
                .flat_map(DVec3::to_array)
                .fold(0.0f64, |largest, x| if x.abs() > largest.abs() { x } else { largest });
            let sign = if largest < 0.0 { -1.0 } else { 1.0 };
            for u in field.iter_mut() {
                *u *= sign;
            }
            let length = sign * self.singular_values[component];
            coordinates.push(self.right[component].iter().map(|weight| weight * length).collect());
        }
        Ok(ComponentFields { fields, coordinates })
    }
}
