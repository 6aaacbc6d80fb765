//! Principal components of displacements (EigenSkin §2.3): A = U D Vᵀ, uncentred, so that rest
//! stays zero.
//!
//! Up to a few hundred examples the thin SVD is found from the small Gram matrix AᵀA, accumulated in
//! `f64`; components below 1e-7 of the largest singular value are lost in its rounding and left out.
//! Of more examples, when few components are wanted, only the range of those is found: a random
//! subspace is turned towards them by multiplying with AᵀA a few times (Halko, Martinsson, Tropp 2011).

use eigenskin_core::progress::Progress;
use eigenskin_core::random::SplitMix64;
use glam::DVec3;

use crate::displacements::TileError;
use crate::displacements::tall_matrix::TallMatrix;
use crate::numeric::{Matrix, orthonormal, symmetric_eigen};

/// Components of observed displacement fields, most important first.
#[derive(Debug, Clone)]
pub struct PrincipalComponents {
    /// `component` (the diagonal of D), falling until they are put in another order
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

    /// Puts the components in another order.
    pub fn reorder(&mut self, order: &[usize]) {
        self.singular_values = order.iter().map(|&component| self.singular_values[component]).collect();
        self.right = order.iter().map(|&component| std::mem::take(&mut self.right[component])).collect();
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

#[cfg(test)]
mod tests {
    use eigenskin_core::progress::Unwatched;
    use glam::Vec3;
    use serde_json::Value;

    use super::*;
    use crate::displacements::tall_matrix::HeldFields;

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    fn rows(value: &Value) -> Vec<Vec<f64>> {
        value.as_array().unwrap().iter().map(numbers).collect()
    }

    /// Numbers of fixtures/make_fixtures.py.
    #[test]
    fn principal_components_equal_numpys_svd() {
        let text = include_str!("../../tests/fixtures/pca.json");
        let data: Value = serde_json::from_str(text).unwrap();
        let fields: Vec<Vec3> = rows(&data["fields"])
            .iter()
            .flat_map(|row| {
                row.chunks_exact(3)
                    .map(|p| Vec3::new(p[0] as f32, p[1] as f32, p[2] as f32))
                    .collect::<Vec<_>>()
            })
            .collect();
        let held = HeldFields::new(fields, 6);
        let found = PrincipalComponents::of(&held.matrix(), None, &Unwatched).unwrap();
        let shown = found.fields_and_coordinates(&held.matrix(), found.count(), &Unwatched).unwrap();
        let expected = numbers(&data["singular_values"]);
        assert_eq!(found.count(), expected.len());
        for (component, expected_field) in rows(&data["components"]).iter().enumerate() {
            let relative = (found.singular_values[component] - expected[component]).abs() / expected[0];
            assert!(relative < 1e-10, "singular value {component}: {relative:e}");
            let field: Vec<f64> = shown.fields[component].iter().flat_map(DVec3::to_array).collect();
            let worst = field.iter().zip(expected_field).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-10, "component {component}: {worst:e}");
        }
    }

    /// The first components of many examples, by randomised range finding, are those of the Gram matrix.
    #[test]
    fn few_components_of_many_examples_are_the_first_of_all() {
        let (examples, points) = (400, 150);
        // Forty directions that fall off slowly, and noise.
        let wave = |a: usize, b: usize| ((a * 37 + 11 * b * b + a * b) as f64 * 0.7).sin();
        let fields: Vec<Vec3> = (0..examples)
            .flat_map(|example| {
                (0..points).map(move |point| {
                    let at = |axis: usize| {
                        let sum: f64 = (0..40)
                            .map(|k| {
                                0.8f64.powi(k as i32) * wave(example, k) * wave(3 * point + axis, k + 50)
                            })
                            .sum();
                        (sum + 1e-4 * wave(example * 7 + 1, 3 * point + axis)) as f32
                    };
                    Vec3::new(at(0), at(1), at(2))
                })
            })
            .collect();
        let held = HeldFields::new(fields, examples);
        let all = PrincipalComponents::of(&held.matrix(), None, &Unwatched).unwrap();
        let few = PrincipalComponents::of(&held.matrix(), Some(12), &Unwatched).unwrap();
        assert_eq!(few.count(), 12);
        assert!(all.count() > 100, "{}", all.count());
        for component in 0..12 {
            let relative = few.singular_values[component] / all.singular_values[component] - 1.0;
            assert!(relative.abs() < 1e-9, "singular value {component}: {relative:e}");
        }
        let energy = |components: &PrincipalComponents| components.energy_after(12);
        assert!((energy(&few) / energy(&all) - 1.0).abs() < 1e-6, "{} {}", energy(&few), energy(&all));
        let [of_all, of_few] =
            [&all, &few].map(|c| c.fields_and_coordinates(&held.matrix(), 12, &Unwatched).unwrap());
        for component in 0..12 {
            let pairs = of_all.fields[component].iter().zip(&of_few.fields[component]);
            let worst = pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(worst < 1e-6, "component {component}: {worst:e}");
        }
    }
}
