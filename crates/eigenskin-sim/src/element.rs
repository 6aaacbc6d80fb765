//! The trilinear hexahedron on the unit cube with 2 × 2 × 2 Gauss points (CalculiX's C3D8).
//!
//! All cells are the same cube at rest, so the gradients of the shape functions at the Gauss points
//! are constants: F = Σ_a x_a ∇N_aᵀ. A cell's energy is filled/8 · Σ_g W(F_g); the filled share is
//! the same for all its Gauss points, as if its material were thinner, so that another program can
//! be given the same problem.
//!
//! The 24 × 24 Hessian is Σ_g ∇Nᵀ H_g ∇N. With H as in [`crate::material`], p_a = F ∇N_a and
//! q_a = g ∇N_a, the block of corners a and b is
//! 2 W_I (∇N_a·∇N_b) 1 + W_J \[F (∇N_a × ∇N_b)\]ₓ + 4 W_II p_a p_bᵀ + 2 W_IJ (p_a q_bᵀ + q_a p_bᵀ) + W_JJ q_a q_bᵀ:
//! two updates of rank one per Gauss point, and no 9 × 9 matrix.

use std::sync::LazyLock;

use eigenskin_core::glam::{DMat3, DVec3};

use crate::lattice::corner_offset;
use crate::material::{Material, cofactors, squared_norm};

/// Energy and gradient of one cell, and how much volume is left at its Gauss points.
#[derive(Debug, Clone, Copy)]
pub struct CellForces {
    /// elastic energy
    pub energy: f64,
    /// `corner` → ∂E/∂x
    pub gradient: [DVec3; 8],
    /// smallest det F of the Gauss points
    pub smallest_volume: f64,
    /// Gauss points with det F ≤ 0
    pub inverted: u32,
}

/// Lower triangle (row ≥ column) of a cell's Hessian: \[row\]\[column\], unknown 3 · corner + axis.
pub type CellHessian = [[f64; 24]; 24];

/// Elastic energy of a cell with its corners at `x`.
pub fn cell_energy(x: &[DVec3; 8], filled: f64, material: &Material) -> f64 {
    let sum: f64 = TABLES.gradients.iter().map(|n| material.energy(&deformation(x, n))).sum();
    sum * filled / 8.0
}

/// Energy, gradient and volumes of a cell.
pub fn cell_forces(x: &[DVec3; 8], filled: f64, material: &Material) -> CellForces {
    let mut forces =
        CellForces { energy: 0.0, gradient: [DVec3::ZERO; 8], smallest_volume: f64::INFINITY, inverted: 0 };
    let weight = filled / 8.0;
    for gradients in &TABLES.gradients {
        let f = deformation(x, gradients);
        let volume = f.determinant();
        let d = material.derivatives(squared_norm(&f), volume);
        let stress = (f * (2.0 * d.w_i) + cofactors(&f) * d.w_j) * weight;
        forces.energy += d.w * weight;
        for (sum, &n) in forces.gradient.iter_mut().zip(gradients) {
            *sum += stress * n;
        }
        forces.smallest_volume = forces.smallest_volume.min(volume);
        forces.inverted += u32::from(volume <= 0.0);
    }
    forces
}

/// Volume of a cell's filled part with its corners at `x`, by the Gauss points.
pub fn cell_volume(x: &[DVec3; 8], filled: f64) -> f64 {
    let sum: f64 = TABLES.gradients.iter().map(|n| deformation(x, n).determinant()).sum();
    sum * filled / 8.0
}

/// Hessian of a cell into `hessian`; `project` leaves out what curves downwards at each Gauss point,
/// which makes it positive semi-definite.
pub fn cell_hessian(
    x: &[DVec3; 8],
    filled: f64,
    material: &Material,
    project: bool,
    hessian: &mut CellHessian,
) {
    *hessian = [[0.0; 24]; 24];
    let weight = filled / 8.0;
    // Parts that are sums of constants are summed over the Gauss points first.
    let mut isotropic = [0.0; 36];
    let mut skew = [DVec3::ZERO; 36];
    for (gradients, (dots, crosses)) in TABLES.gradients.iter().zip(TABLES.dots.iter().zip(&TABLES.crosses)) {
        let f = deformation(x, gradients);
        let d = material.derivatives(squared_norm(&f), f.determinant());
        for (sum, dot) in isotropic.iter_mut().zip(dots) {
            *sum += 2.0 * weight * d.w_i * dot;
        }
        let scaled = f * (weight * d.w_j);
        for (sum, &cross) in skew.iter_mut().zip(crosses) {
            *sum += scaled * cross;
        }
        let p = along_corners(&f, gradients);
        let q = along_corners(&cofactors(&f), gradients);
        let mixed = |a: f64, b: f64| -> [f64; 24] { std::array::from_fn(|i| weight * (a * p[i] + b * q[i])) };
        add_outer(hessian, &p, &mixed(4.0 * d.w_ii, 2.0 * d.w_ij));
        add_outer(hessian, &q, &mixed(2.0 * d.w_ij, d.w_jj));
        if project {
            material.for_each_negative_mode(&f, |mode| {
                let e = along_corners(&mode.direction, gradients);
                add_outer(hessian, &e, &e.map(|value| -weight * mode.curvature * value));
            });
        }
    }
    for (a, b, pair) in pairs() {
        let (s, v) = (isotropic[pair], skew[pair]);
        let block = [[s, v.z, -v.y], [-v.z, s, v.x], [v.y, -v.x, s]];
        for (i, row) in block.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                hessian[3 * a + i][3 * b + j] += value;
            }
        }
    }
}

/// Values that are the same for every cell, at each Gauss point.
struct Tables {
    /// `gauss point`, `corner` → gradient of the corner's shape function
    gradients: [[DVec3; 8]; 8],
    /// `gauss point`, `pair` → ∇N_a · ∇N_b
    dots: [[f64; 36]; 8],
    /// `gauss point`, `pair` → ∇N_a × ∇N_b
    crosses: [[DVec3; 36]; 8],
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let gradients = std::array::from_fn(|gauss| {
        let point = DVec3::splat(0.5) + (corner_offset(gauss) - DVec3::splat(0.5)) / 3.0_f64.sqrt();
        std::array::from_fn(|corner| {
            let high = corner_offset(corner);
            let value = high * point + (DVec3::ONE - high) * (DVec3::ONE - point);
            let slope = high * 2.0 - DVec3::ONE;
            DVec3::new(slope.x * value.y * value.z, value.x * slope.y * value.z, value.x * value.y * slope.z)
        })
    });
    let mut tables = Tables { gradients, dots: [[0.0; 36]; 8], crosses: [[DVec3::ZERO; 36]; 8] };
    for gauss in 0..8 {
        for (a, b, pair) in pairs() {
            let (n_a, n_b) = (gradients[gauss][a], gradients[gauss][b]);
            tables.dots[gauss][pair] = n_a.dot(n_b);
            tables.crosses[gauss][pair] = n_a.cross(n_b);
        }
    }
    tables
});

/// Pairs of corners a ≥ b with their index.
fn pairs() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..8).flat_map(|a| (0..=a).map(move |b| (a, b, a * (a + 1) / 2 + b)))
}

/// F = Σ_a x_a ∇N_aᵀ.
fn deformation(x: &[DVec3; 8], gradients: &[DVec3; 8]) -> DMat3 {
    let mut f = DMat3::ZERO;
    for (&x, n) in x.iter().zip(gradients) {
        f.x_axis += x * n.x;
        f.y_axis += x * n.y;
        f.z_axis += x * n.z;
    }
    f
}

/// `matrix` · ∇N_a for all corners, one after the other.
fn along_corners(matrix: &DMat3, gradients: &[DVec3; 8]) -> [f64; 24] {
    let mut all = [0.0; 24];
    for (three, &n) in all.chunks_exact_mut(3).zip(gradients) {
        three.copy_from_slice(&(*matrix * n).to_array());
    }
    all
}

/// Adds a bᵀ; above the diagonal only as far as that saves a branch.
fn add_outer(hessian: &mut CellHessian, a: &[f64; 24], b: &[f64; 24]) {
    for (i, (row, &a)) in hessian.iter_mut().zip(a).enumerate() {
        let end = (i / 4 + 1) * 4;
        for (entry, &b) in row[..end].iter_mut().zip(&b[..end]) {
            *entry += a * b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Model;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn gradient_and_hessian_are_derivatives(
            offsets in prop::collection::vec(-0.25..0.25_f64, 24),
            filled in 0.1..1.0_f64,
            neo in any::<bool>(),
        ) {
            let model = if neo { Model::NeoHookean } else { Model::StableNeoHookean };
            let material = Material { model, ..Material::default() };
            let x: [DVec3; 8] =
                std::array::from_fn(|c| corner_offset(c) + DVec3::from_slice(&offsets[3 * c..]));
            let forces = cell_forces(&x, filled, &material);
            prop_assume!(forces.smallest_volume > 0.1);
            prop_assert!((forces.energy - cell_energy(&x, filled, &material)).abs() < 1e-13);
            let mut hessian = [[0.0; 24]; 24];
            cell_hessian(&x, filled, &material, false, &mut hessian);
            for unknown in 0..24 {
                let moved = |by: f64| {
                    let mut x = x;
                    x[unknown / 3][unknown % 3] += by;
                    x
                };
                let h = 1e-5;
                let (ahead, behind) = (moved(h), moved(-h));
                let slope =
                    (cell_energy(&ahead, filled, &material) - cell_energy(&behind, filled, &material)) / (2.0 * h);
                prop_assert!((slope - forces.gradient[unknown / 3][unknown % 3]).abs() < 1e-7);
                let (ahead, behind) =
                    (cell_forces(&ahead, filled, &material), cell_forces(&behind, filled, &material));
                for row in unknown..24 {
                    let slope = (ahead.gradient[row / 3] - behind.gradient[row / 3])[row % 3] / (2.0 * h);
                    prop_assert!((slope - hessian[row][unknown]).abs() < 1e-6, "{row} {unknown}");
                }
            }
        }

        #[test]
        fn projected_cells_never_curve_downwards(
            offsets in prop::collection::vec(-1.5..1.5_f64, 24),
            probes in prop::collection::vec(-1.0..1.0_f64, 24 * 8),
        ) {
            let material = Material { model: Model::StableNeoHookean, ..Material::default() };
            let x: [DVec3; 8] =
                std::array::from_fn(|c| corner_offset(c) + DVec3::from_slice(&offsets[3 * c..]));
            let mut hessian = [[0.0; 24]; 24];
            cell_hessian(&x, 1.0, &material, true, &mut hessian);
            for probe in probes.chunks_exact(24) {
                let mut curvature = 0.0;
                for row in 0..24 {
                    for column in 0..row {
                        curvature += 2.0 * probe[row] * hessian[row][column] * probe[column];
                    }
                    curvature += probe[row] * hessian[row][row] * probe[row];
                }
                prop_assert!(curvature > -1e-9);
            }
        }
    }

    #[test]
    fn the_projected_hessian_is_the_sum_of_projected_gauss_points() {
        // A cell turned inside out, so that there is something to project.
        let material = Material { model: Model::StableNeoHookean, ..Material::default() };
        let x: [DVec3; 8] = std::array::from_fn(|c| {
            let o = corner_offset(c);
            DVec3::new(o.x + 0.2 * o.y * o.z, 0.8 * o.y - 0.1 * o.x, -0.6 * o.z + 0.3 * o.x * o.y)
        });
        let mut hessian = [[0.0; 24]; 24];
        cell_hessian(&x, 0.5, &material, true, &mut hessian);
        let mut expected = [[0.0; 24]; 24];
        for gradients in &TABLES.gradients {
            let full = material.projected_hessian(&deformation(&x, gradients));
            for row in 0..24 {
                for column in 0..24 {
                    for k in 0..3 {
                        for l in 0..3 {
                            expected[row][column] += 0.5 / 8.0
                                * gradients[row / 3][k]
                                * full[3 * k + row % 3][3 * l + column % 3]
                                * gradients[column / 3][l];
                        }
                    }
                }
            }
        }
        for row in 0..24 {
            for column in 0..=row {
                assert!((hessian[row][column] - expected[row][column]).abs() < 1e-13, "{row} {column}");
            }
        }
    }
}
