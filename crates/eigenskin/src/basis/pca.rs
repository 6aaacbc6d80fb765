//! Principal components of displacements (EigenSkin §2.3): A = U D Vᵀ, uncentred, so that rest
//! stays zero.
//!
//! The thin SVD is found from the small Gram matrix AᵀA, accumulated in `f64`. Components below
//! 1e-7 of the largest singular value are lost in its rounding and left out.

use glam::{DVec3, Vec3};

use crate::numeric::{Matrix, symmetric_eigen};

/// Components of observed displacement fields, most important first.
#[derive(Debug, Clone)]
pub struct PrincipalComponents {
    /// `component` (the diagonal of D), falling
    pub singular_values: Vec<f64>,
    /// `component × example`: right singular vectors (Vᵀ)
    right: Vec<Vec<f64>>,
}

const SMALLEST: f64 = 1e-7;

/// Decomposes displacement fields, `example × point`.
pub fn principal_components(fields: &[Vec3], example_count: usize) -> PrincipalComponents {
    let point_count = fields.len() / example_count.max(1);
    let field = |example: usize| &fields[example * point_count..(example + 1) * point_count];
    let mut gram = Matrix::zeros(example_count, example_count);
    for a in 0..example_count {
        for b in 0..=a {
            let product = field(a).iter().zip(field(b)).map(|(u, v)| u.as_dvec3().dot(v.as_dvec3())).sum();
            gram[(a, b)] = product;
            gram[(b, a)] = product;
        }
    }
    PrincipalComponents::of_gram(&gram)
}

impl PrincipalComponents {
    /// From the Gram matrix AᵀA of the fields, `example × example`.
    pub(crate) fn of_gram(gram: &Matrix) -> Self {
        let example_count = gram.nrows();
        let (values, vectors) = symmetric_eigen(gram);
        let largest = values.first().map_or(0.0, |value| value.max(0.0).sqrt());
        let mut components = PrincipalComponents { singular_values: Vec::new(), right: Vec::new() };
        for (component, value) in values.iter().enumerate() {
            let singular = value.max(0.0).sqrt();
            if singular <= SMALLEST * largest || singular == 0.0 {
                break;
            }
            components.singular_values.push(singular);
            components.right.push((0..example_count).map(|example| vectors[(example, component)]).collect());
        }
        components
    }

    /// Number of components with a meaning.
    pub fn count(&self) -> usize {
        self.singular_values.len()
    }

    /// The examples' coordinates on one component up to its sign, `example`.
    pub(crate) fn unsigned_coordinates(&self, component: usize) -> Vec<f64> {
        self.right[component].iter().map(|v| v * self.singular_values[component]).collect()
    }

    /// The coordinate of another field on one component up to its sign, from the products of that field
    /// with the examples, `example`.
    pub(crate) fn unsigned_coordinate_of(&self, products: &[f64], component: usize) -> f64 {
        let sum: f64 = self.right[component].iter().zip(products).map(|(v, g)| v * g).sum();
        sum / self.singular_values[component]
    }

    /// One left singular vector û as a displacement field, `point`, of unit norm; its largest
    /// component is positive, so that every run and machine gives the same sign.
    pub fn field(&self, fields: &[Vec3], component: usize) -> Vec<DVec3> {
        self.field_and_coordinates(fields, component).0
    }

    /// [`Self::field`], and the examples' coordinates on it (a row of D Vᵀ), `example`.
    pub fn field_and_coordinates(&self, fields: &[Vec3], component: usize) -> (Vec<DVec3>, Vec<f64>) {
        let weights = &self.right[component];
        let point_count = fields.len() / weights.len();
        let mut sum = vec![DVec3::ZERO; point_count];
        for (weight, field) in weights.iter().zip(fields.chunks_exact(point_count)) {
            for (sum, u) in sum.iter_mut().zip(field) {
                *sum += *weight * u.as_dvec3();
            }
        }
        let largest = sum
            .iter()
            .flat_map(DVec3::to_array)
            .fold(0.0f64, |largest, x| if x.abs() > largest.abs() { x } else { largest });
        let scale = largest.signum() / self.singular_values[component];
        for u in &mut sum {
            *u *= scale;
        }
        let length = largest.signum() * self.singular_values[component];
        (sum, weights.iter().map(|weight| weight * length).collect())
    }
}
