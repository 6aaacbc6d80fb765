//! Eigenvalues of symmetric 3 × 3 matrices and singular values by Jacobi rotations: short,
//! and accurate for equal, tiny and zero values, where closed forms are not.

use eigenskin_core::glam::{DMat3, DVec3};

/// F = U diag(values) Vᵀ with rotations U and V: the last value, the smallest, has the sign of det F.
#[derive(Debug, Clone, Copy)]
pub struct SignedSvd {
    /// rotation U
    pub u: DMat3,
    /// singular values, falling in size; only the last may be negative
    pub values: DVec3,
    /// rotation V
    pub v: DMat3,
}

/// Singular values with a sign, by one-sided Jacobi rotations (Hestenes 1958).
pub fn signed_svd(f: &DMat3) -> SignedSvd {
    let mut columns = [f.x_axis, f.y_axis, f.z_axis];
    let mut axes = [DVec3::X, DVec3::Y, DVec3::Z];
    for _ in 0..SWEEPS {
        let mut largest = 0.0_f64;
        for (i, j) in PAIRS {
            let (a, b) = (columns[i].length_squared(), columns[j].length_squared());
            let dot = columns[i].dot(columns[j]);
            if dot * dot <= 1e-30 * a * b || dot == 0.0 {
                continue;
            }
            largest = largest.max(dot.abs());
            let (c, s) = rotation_that_zeroes(a, b, dot);
            rotate(&mut columns, i, j, c, s);
            rotate(&mut axes, i, j, c, s);
        }
        if largest == 0.0 {
            break;
        }
    }
    // Sort by falling length; each swap negates one column to stay a rotation.
    for (i, j) in [(0, 1), (1, 2), (0, 1)] {
        if columns[i].length_squared() < columns[j].length_squared() {
            (columns[i], columns[j]) = (columns[j], -columns[i]);
            (axes[i], axes[j]) = (axes[j], -axes[i]);
        }
    }
    let first = columns[0].try_normalize().unwrap_or(DVec3::X);
    let in_plane = columns[1] - first * first.dot(columns[1]);
    let second = in_plane.try_normalize().unwrap_or_else(|| first.any_orthonormal_vector());
    let third = first.cross(second);
    SignedSvd {
        u: DMat3::from_cols(first, second, third),
        values: DVec3::new(columns[0].length(), second.dot(columns[1]), third.dot(columns[2])),
        v: DMat3::from_cols(axes[0], axes[1], axes[2]),
    }
}

/// Eigenvalues and eigenvectors (columns) of a symmetric matrix by cyclic Jacobi rotations.
pub fn symmetric_eigen(matrix: &DMat3) -> (DVec3, DMat3) {
    let mut m = *matrix;
    let mut axes = [DVec3::X, DVec3::Y, DVec3::Z];
    for _ in 0..SWEEPS {
        let mut largest = 0.0_f64;
        for (i, j) in PAIRS {
            let (a, b, off) = (m.col(i)[i], m.col(j)[j], m.col(j)[i]);
            if off * off <= 1e-31 * (a * a + b * b) || off == 0.0 {
                continue;
            }
            largest = largest.max(off.abs());
            let (c, s) = rotation_that_zeroes(a, b, off);
            let mut columns = [m.x_axis, m.y_axis, m.z_axis];
            rotate(&mut columns, i, j, c, s);
            let transposed = DMat3::from_cols(columns[0], columns[1], columns[2]).transpose();
            let mut rows = [transposed.x_axis, transposed.y_axis, transposed.z_axis];
            rotate(&mut rows, i, j, c, s);
            m = DMat3::from_cols(rows[0], rows[1], rows[2]);
            rotate(&mut axes, i, j, c, s);
        }
        if largest == 0.0 {
            break;
        }
    }
    let values = DVec3::new(m.x_axis.x, m.y_axis.y, m.z_axis.z);
    (values, DMat3::from_cols(axes[0], axes[1], axes[2]))
}

/// Jacobi converges quadratically: three or four sweeps in practice.
const SWEEPS: usize = 30;

const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// Cosine and sine that diagonalise ((a, off), (off, b)).
fn rotation_that_zeroes(a: f64, b: f64, off: f64) -> (f64, f64) {
    let tau = (b - a) / (2.0 * off);
    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    (c, c * t)
}

fn rotate(columns: &mut [DVec3; 3], i: usize, j: usize, c: f64, s: f64) {
    let (a, b) = (columns[i], columns[j]);
    columns[i] = a * c - b * s;
    columns[j] = a * s + b * c;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distance(a: &DMat3, b: &DMat3) -> f64 {
        (*a - *b).to_cols_array().iter().fold(0.0, |m, x| m.max(x.abs()))
    }

    fn check(f: &DMat3) {
        let SignedSvd { u, values, v } = signed_svd(f);
        assert!(distance(&(u * DMat3::from_diagonal(values) * v.transpose()), f) < 1e-13, "{f}");
        for rotation in [u, v] {
            assert!(distance(&(rotation * rotation.transpose()), &DMat3::IDENTITY) < 1e-13, "{f}");
            assert!((rotation.determinant() - 1.0).abs() < 1e-13, "{f}");
        }
        assert!(values.x >= values.y && values.y >= values.z.abs() - 1e-15, "{values}");
    }

    #[test]
    fn degenerate_matrices() {
        check(&DMat3::ZERO);
        check(&DMat3::IDENTITY);
        check(&DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0)));
        check(&DMat3::from_diagonal(DVec3::new(0.0, 0.0, 2.0)));
        check(&DMat3::from_cols(DVec3::ONE, DVec3::ONE, DVec3::ONE));
        check(&DMat3::from_cols(DVec3::X, DVec3::X * (1.0 + 1e-9), DVec3::Y * 1e-8));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn random_matrices(entries in prop::array::uniform9(-2.0..2.0_f64)) {
            let f = DMat3::from_cols_array(&entries);
            check(&f);
            let symmetric = f + f.transpose();
            let (values, vectors) = symmetric_eigen(&symmetric);
            let again = vectors * DMat3::from_diagonal(values) * vectors.transpose();
            prop_assert!(distance(&again, &symmetric) < 1e-13);
        }
    }
}
