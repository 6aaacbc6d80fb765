//! What the tissue is made of: two hyperelastic solids, both isotropic functions of
//! I = tr(FᵀF) and J = det F of the deformation gradient F.
//!
//! - Stable neo-Hookean: Smith, de Goes, Kim, "Stable Neo-Hookean Flesh Simulation" (2018),
//!   Equations 13–14, with the logarithm (without it a cell crushed to a point would be at rest):
//!   W = μ/2 (I − 3) + λ/2 (J − α)² − μ/2 log(I + 1), α = 1 + 3μ/4λ, with μ = 4/3 μ_L and
//!   λ = λ_L + 5/6 μ_L, so that small strains see the Lamé constants μ_L and λ_L. Defined for every
//!   F, turned inside out or not.
//! - Compressible neo-Hookean, as CalculiX has it under `*HYPERELASTIC, NEO HOOKE`:
//!   W = C10 (I J^(−2/3) − 3) + (J − 1)²/D1, C10 = μ_L/2, D1 = 2/κ. Infinite for J ≤ 0.
//!
//! With g = ∂J/∂F (the cofactors), f = F and partial derivatives as indices:
//!
//! P = 2 W_I f + W_J g,
//! H = 2 W_I 1 + W_J ∂²J + 4 W_II f fᵀ + 2 W_IJ (f gᵀ + g fᵀ) + W_JJ g gᵀ.
//!
//! With F = U Σ Vᵀ the eigenvectors of H are known (Smith, de Goes, Kim, "Analytic Eigensystems for
//! Isotropic Distortion Energies", 2019): for each pair of axes a twist and a flip, with eigenvalues
//! 2 W_I ± σ_k W_J, and three scalings, eigenvectors of the 3 × 3 matrix ∂²W/∂σ_i∂σ_j.
//!
//! The shear modulus μ_L is one: see [lattice space](crate).

use eigenskin_core::glam::{DMat3, DVec3};

use crate::small_matrix::{SignedSvd, signed_svd, symmetric_eigen};

/// The law of the solid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Model {
    /// neo-Hookean of Smith et al. 2018, defined for cells turned inside out too: a start of any
    /// kind will do, but in creases some points stay inside out
    StableNeoHookean,
    /// neo-Hookean as in CalculiX: infinite energy for a point of no or negative volume, so none
    /// turns inside out. Folds of a hand take fewer Newton steps than with the stable one
    #[default]
    NeoHookean,
}

/// An elastic solid with shear modulus one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    /// Poisson's ratio, in [0, 0.5): 0.45 for flesh; towards 0.5 nothing may lose volume
    pub poisson: f64,
    /// the law
    pub model: Model,
}

impl Default for Material {
    fn default() -> Self {
        Self { poisson: 0.45, model: Model::default() }
    }
}

/// Energy density and its derivatives with respect to I and J.
#[derive(Debug, Clone, Copy)]
pub struct Derivatives {
    /// energy density W
    pub w: f64,
    /// ∂W/∂I
    pub w_i: f64,
    /// ∂W/∂J
    pub w_j: f64,
    /// ∂²W/∂I²
    pub w_ii: f64,
    /// ∂²W/∂I∂J
    pub w_ij: f64,
    /// ∂²W/∂J²
    pub w_jj: f64,
}

/// A direction of deformation along which the energy curves downwards.
#[derive(Debug, Clone, Copy)]
pub struct NegativeMode {
    /// negative eigenvalue of the Hessian
    pub curvature: f64,
    /// the eigenvector as a matrix of Frobenius norm one
    pub direction: DMat3,
}

impl Material {
    /// Lamé's first constant λ_L for shear modulus one.
    pub fn lame(&self) -> f64 {
        2.0 * self.poisson / (1.0 - 2.0 * self.poisson)
    }

    /// Bulk modulus κ for shear modulus one.
    pub fn bulk(&self) -> f64 {
        self.lame() + 2.0 / 3.0
    }

    /// Energy density at a deformation gradient; zero at rest, infinite where not defined.
    pub fn energy(&self, f: &DMat3) -> f64 {
        self.derivatives(squared_norm(f), f.determinant()).w
    }

    /// First Piola stress P = ∂W/∂F.
    pub fn stress(&self, f: &DMat3) -> DMat3 {
        let d = self.derivatives(squared_norm(f), f.determinant());
        *f * (2.0 * d.w_i) + cofactors(f) * d.w_j
    }

    /// Second derivative ∂²W/∂F∂F, 9 × 9; entry 3·column + row of F in both.
    pub fn hessian(&self, f: &DMat3) -> [[f64; 9]; 9] {
        let d = self.derivatives(squared_norm(f), f.determinant());
        let flat = f.to_cols_array();
        let g = cofactors(f).to_cols_array();
        let mut hessian = [[0.0; 9]; 9];
        for (a, row) in hessian.iter_mut().enumerate() {
            for (b, entry) in row.iter_mut().enumerate() {
                *entry = 4.0 * d.w_ii * flat[a] * flat[b]
                    + 2.0 * d.w_ij * (flat[a] * g[b] + g[a] * flat[b])
                    + d.w_jj * g[a] * g[b]
                    + if a == b { 2.0 * d.w_i } else { 0.0 };
            }
        }
        // ∂²J/∂F_ik∂F_jl = Σ ε_ijm ε_kln F_mn: the block of columns k ≠ l is the cross-product
        // matrix of ± the third column.
        for (k, l, n, sign) in EPSILON {
            for (i, j, m, other_sign) in EPSILON {
                hessian[3 * k + i][3 * l + j] += d.w_j * sign * other_sign * flat[3 * n + m];
            }
        }
        hessian
    }

    /// The Hessian without its negative eigenvalues: the nearest positive semi-definite matrix.
    pub fn projected_hessian(&self, f: &DMat3) -> [[f64; 9]; 9] {
        let mut hessian = self.hessian(f);
        self.for_each_negative_mode(f, |mode| {
            let flat = mode.direction.to_cols_array();
            for (a, row) in hessian.iter_mut().enumerate() {
                for (b, entry) in row.iter_mut().enumerate() {
                    *entry -= mode.curvature * flat[a] * flat[b];
                }
            }
        });
        hessian
    }

    /// Calls `with` for each negative eigenvalue of the Hessian and its eigenvector.
    pub fn for_each_negative_mode(&self, f: &DMat3, mut with: impl FnMut(NegativeMode)) {
        let SignedSvd { u, values, v } = signed_svd(f);
        let d = self.derivatives(values.length_squared(), values.x * values.y * values.z);
        let half = std::f64::consts::FRAC_1_SQRT_2;
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            // Symmetric (flip) and skew (twist) mixing of axes i and j.
            for sign in [1.0, -1.0] {
                let curvature = 2.0 * d.w_i - sign * values[k] * d.w_j;
                if curvature < 0.0 {
                    let direction = (outer(u.col(i), v.col(j)) + outer(u.col(j), v.col(i)) * sign) * half;
                    with(NegativeMode { curvature, direction });
                }
            }
        }
        let (curvatures, vectors) = symmetric_eigen(&scaling_hessian(values, &d));
        for k in 0..3 {
            if curvatures[k] < 0.0 {
                let direction = u * DMat3::from_diagonal(vectors.col(k)) * v.transpose();
                with(NegativeMode { curvature: curvatures[k], direction });
            }
        }
    }

    /// Energy density and derivatives from the two invariants.
    pub fn derivatives(&self, i: f64, j: f64) -> Derivatives {
        match self.model {
            Model::StableNeoHookean => {
                let mu = 4.0 / 3.0;
                let lambda = self.lame() + 5.0 / 6.0;
                let alpha = 1.0 + 0.75 * mu / lambda;
                let at_rest = 0.5 * lambda * (1.0 - alpha).powi(2) - 0.5 * mu * 4.0_f64.ln();
                let inverse = 1.0 / (i + 1.0);
                Derivatives {
                    w: 0.5 * mu * (i - 3.0) + 0.5 * lambda * (j - alpha).powi(2)
                        - 0.5 * mu * (i + 1.0).ln()
                        - at_rest,
                    w_i: 0.5 * mu * (1.0 - inverse),
                    w_j: lambda * (j - alpha),
                    w_ii: 0.5 * mu * inverse * inverse,
                    w_ij: 0.0,
                    w_jj: lambda,
                }
            }
            Model::NeoHookean => {
                if j <= 0.0 || j.is_nan() {
                    let undefined = f64::NAN;
                    return Derivatives {
                        w: f64::INFINITY,
                        w_i: undefined,
                        w_j: undefined,
                        w_ii: undefined,
                        w_ij: undefined,
                        w_jj: undefined,
                    };
                }
                let (c10, kappa) = (0.5, self.bulk());
                let scale = 1.0 / (j * j).cbrt();
                Derivatives {
                    w: c10 * (i * scale - 3.0) + 0.5 * kappa * (j - 1.0).powi(2),
                    w_i: c10 * scale,
                    w_j: -2.0 / 3.0 * c10 * i * scale / j + kappa * (j - 1.0),
                    w_ii: 0.0,
                    w_ij: -2.0 / 3.0 * c10 * scale / j,
                    w_jj: 10.0 / 9.0 * c10 * i * scale / (j * j) + kappa,
                }
            }
        }
    }
}

/// Even and odd permutations of three axes with their signs.
const EPSILON: [(usize, usize, usize, f64); 6] =
    [(0, 1, 2, 1.0), (1, 2, 0, 1.0), (2, 0, 1, 1.0), (1, 0, 2, -1.0), (2, 1, 0, -1.0), (0, 2, 1, -1.0)];

/// tr(FᵀF).
pub fn squared_norm(f: &DMat3) -> f64 {
    f.x_axis.length_squared() + f.y_axis.length_squared() + f.z_axis.length_squared()
}

/// ∂ det F / ∂F.
pub fn cofactors(f: &DMat3) -> DMat3 {
    DMat3::from_cols(f.y_axis.cross(f.z_axis), f.z_axis.cross(f.x_axis), f.x_axis.cross(f.y_axis))
}

/// a bᵀ.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// ∂²W/∂σ_i∂σ_j at signed singular values.
fn scaling_hessian(s: DVec3, d: &Derivatives) -> DMat3 {
    let g = DVec3::new(s.y * s.z, s.z * s.x, s.x * s.y);
    let cross = outer(s, g) + outer(g, s);
    let mixed = DMat3::from_cols(
        DVec3::new(2.0 * d.w_i, s.z * d.w_j, s.y * d.w_j),
        DVec3::new(s.z * d.w_j, 2.0 * d.w_i, s.x * d.w_j),
        DVec3::new(s.y * d.w_j, s.x * d.w_j, 2.0 * d.w_i),
    );
    outer(s, s) * (4.0 * d.w_ii) + cross * (2.0 * d.w_ij) + outer(g, g) * d.w_jj + mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODELS: [Model; 2] = [Model::StableNeoHookean, Model::NeoHookean];

    fn gradient_from(entries: [f64; 9]) -> DMat3 {
        DMat3::from_cols_array(&entries)
    }

    /// Smallest eigenvalue by power iteration on a shifted matrix: independent of the closed forms.
    fn smallest_eigenvalue(matrix: &[[f64; 9]; 9]) -> f64 {
        let shift: f64 = matrix.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
        let mut vector: [f64; 9] = std::array::from_fn(|i| 1.0 + (i as f64 * 1.7).sin());
        let mut value = 0.0;
        for _ in 0..20_000 {
            let next: [f64; 9] = std::array::from_fn(|a| {
                shift * vector[a] - (0..9).map(|b| matrix[a][b] * vector[b]).sum::<f64>()
            });
            value = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector = next.map(|x| x / value);
        }
        shift - value
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn stress_and_hessian_are_derivatives(entries in prop::array::uniform9(-1.5..1.5_f64), pick in 0..2_usize) {
            let material = Material { model: MODELS[pick], ..Material::default() };
            let mut f = gradient_from(entries);
            if material.model == Model::NeoHookean {
                f = DMat3::IDENTITY + f * 0.4;
                prop_assume!(f.determinant() > 0.1);
            }
            let (stress, hessian) = (material.stress(&f).to_cols_array(), material.hessian(&f));
            let scale = hessian.iter().flatten().fold(1.0_f64, |m, x| m.max(x.abs()));
            for a in 0..9 {
                let moved = |by: f64| {
                    let mut entries = f.to_cols_array();
                    entries[a] += by;
                    gradient_from(entries)
                };
                let h = 1e-5;
                let slope = (material.energy(&moved(h)) - material.energy(&moved(-h))) / (2.0 * h);
                prop_assert!((slope - stress[a]).abs() < 1e-6 * scale, "stress {a}: {slope} {}", stress[a]);
                let (ahead, behind) = (material.stress(&moved(h)), material.stress(&moved(-h)));
                let slopes = ((ahead - behind) * (0.5 / h)).to_cols_array();
                for b in 0..9 {
                    prop_assert!((slopes[b] - hessian[a][b]).abs() < 1e-6 * scale, "hessian {a} {b}");
                }
            }
        }

        #[test]
        fn projection_takes_exactly_the_negative_part(entries in prop::array::uniform9(-1.5..1.5_f64), pick in 0..2_usize) {
            let material = Material { model: MODELS[pick], ..Material::default() };
            let mut f = gradient_from(entries);
            if material.model == Model::NeoHookean && f.determinant() < 0.0 {
                f = -f;
            }
            prop_assume!(material.model == Model::StableNeoHookean || f.determinant() > 0.05);
            let hessian = material.hessian(&f);
            let projected = material.projected_hessian(&f);
            let scale = hessian.iter().flatten().fold(1.0_f64, |m, x| m.max(x.abs()));
            let smallest = smallest_eigenvalue(&hessian);
            prop_assert!(smallest_eigenvalue(&projected) > -1e-4 * scale);
            let change = (0..81).fold(0.0_f64, |m, i| m.max((hessian[i / 9][i % 9] - projected[i / 9][i % 9]).abs()));
            if smallest > 1e-4 * scale {
                prop_assert!(change == 0.0, "changed a positive Hessian by {change}");
            }
            // What was taken away are eigenvectors of the Hessian itself.
            let mut worst = 0.0_f64;
            material.for_each_negative_mode(&f, |mode| {
                let e = mode.direction.to_cols_array();
                for a in 0..9 {
                    let image: f64 = (0..9).map(|b| hessian[a][b] * e[b]).sum();
                    worst = worst.max((image - mode.curvature * e[a]).abs());
                }
            });
            prop_assert!(worst < 1e-10 * scale, "not an eigenvector: {worst}");
        }
    }

    #[test]
    fn small_strains_see_linear_elasticity() {
        for model in MODELS {
            let material = Material { model, poisson: 0.3 };
            assert_eq!(material.energy(&DMat3::IDENTITY), 0.0);
            assert!(squared_norm(&material.stress(&DMat3::IDENTITY)) < 1e-28);
            let hessian = material.hessian(&DMat3::IDENTITY);
            let delta = |a: usize, b: usize| if a == b { 1.0 } else { 0.0 };
            for a in 0..9 {
                for b in 0..9 {
                    let ((k, i), (l, j)) = ((a / 3, a % 3), (b / 3, b % 3));
                    // C_ikjl = λ δ_ik δ_jl + μ (δ_ij δ_kl + δ_il δ_kj)
                    let lambda = 2.0 * 0.3 / (1.0 - 0.6);
                    let expected = lambda * delta(i, k) * delta(j, l)
                        + delta(i, j) * delta(k, l)
                        + delta(i, l) * delta(k, j);
                    assert!((hessian[a][b] - expected).abs() < 1e-13, "{model:?} {a} {b}");
                }
            }
        }
    }

    #[test]
    fn points_without_volume() {
        let flat = DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.0));
        let neo = Material { model: Model::NeoHookean, ..Material::default() };
        assert_eq!(neo.energy(&flat), f64::INFINITY);
        let stable = Material { model: Model::StableNeoHookean, ..Material::default() };
        assert!(stable.energy(&flat).is_finite());
        // The stress pushes a flattened point open again.
        assert!(stable.stress(&flat).z_axis.z < -1.0);
    }
}
