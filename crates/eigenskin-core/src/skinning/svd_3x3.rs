//! Inverse of a 3 × 3 matrix, direction by direction.

use glam::{DMat3, DVec3};

/// The inverse with each direction kept to a share: `keep` gives it for the singular value relative
/// to the largest. Directions of no length are left out.
///
/// One-sided Jacobi (Hestenes 1958): rotations V make the columns of M·V orthogonal; their lengths are
/// the singular values, small ones to full relative precision. Then M⁻¹ = V · diag(σ⁻²) · (M·V)ᵀ.
pub(super) fn filtered_inverse(matrix: DMat3, keep: impl Fn(f64) -> f64) -> DMat3 {
    let mut turned = [matrix.x_axis, matrix.y_axis, matrix.z_axis];
    let mut right = [DVec3::X, DVec3::Y, DVec3::Z];
    for _ in 0..SWEEPS {
        let mut largest_cosine = 0.0f64;
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            largest_cosine = largest_cosine.max(make_orthogonal(&mut turned, &mut right, i, j));
        }
        if largest_cosine < f64::EPSILON {
            break;
        }
    }
    let largest = turned.iter().map(|column| column.length()).fold(0.0, f64::max);
    let mut inverse = DMat3::ZERO;
    for (column, direction) in turned.into_iter().zip(right) {
        let value = column.length();
        let kept = if value > 0.0 { keep(value / largest) } else { 0.0 };
        if kept > 0.0 {
            let (left, right) = (column / value, direction * (kept / value));
            inverse += DMat3::from_cols(right * left.x, right * left.y, right * left.z);
        }
    }
    inverse
}

/// Three or four are enough; more only for matrices that are nearly singular.
const SWEEPS: usize = 12;

/// Turns columns i and j of both matrices until those of `turned` are orthogonal; returns the cosine
/// that they had.
fn make_orthogonal(turned: &mut [DVec3; 3], right: &mut [DVec3; 3], i: usize, j: usize) -> f64 {
    let lengths = turned[i].length() * turned[j].length();
    let product = turned[i].dot(turned[j]);
    if product.abs() <= f64::EPSILON * lengths {
        return 0.0;
    }
    let ratio = (turned[j].length_squared() - turned[i].length_squared()) / (2.0 * product);
    let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = cosine * tangent;
    for columns in [turned, right] {
        let (x, y) = (columns[i], columns[j]);
        (columns[i], columns[j]) = (x * cosine - y * sine, x * sine + y * cosine);
    }
    product.abs() / lengths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_collapsed_direction_is_left_alone() {
        let flat = DMat3::from_diagonal(DVec3::new(2.0, 4.0, 1e-9));
        let inverse = filtered_inverse(flat, |share| if share > 1e-4 { 1.0 } else { 0.0 });
        assert!((inverse * DVec3::new(2.0, 4.0, 1.0) - DVec3::new(1.0, 1.0, 0.0)).length() < 1e-12);
        assert_eq!(filtered_inverse(DMat3::ZERO, |_| 1.0), DMat3::ZERO);
    }

    proptest! {
        #[test]
        fn all_directions_give_the_inverse_and_the_largest_alone_a_projection(
            entries in proptest::array::uniform9(-2f64..2.0),
        ) {
            let matrix = DMat3::from_cols_array(&entries);
            prop_assume!(matrix.determinant().abs() > 1e-3);
            let close = |a: DMat3, b: DMat3| (a - b).to_cols_array().iter().all(|x| x.abs() < 1e-9);
            prop_assert!(close(filtered_inverse(matrix, |_| 1.0) * matrix, DMat3::IDENTITY));
            // The largest direction alone: a projection of rank one that commutes with MᵀM, and on which
            // MᵀM is largest.
            let largest = filtered_inverse(matrix, |share| if share == 1.0 { 1.0 } else { 0.0 }) * matrix;
            let gram = matrix.transpose() * matrix;
            prop_assert!(close(largest * gram, gram * largest) && close(largest * largest, largest));
            let trace = |m: DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
            prop_assert!((trace(largest) - 1.0).abs() < 1e-9);
            prop_assert!(3.0 * trace(gram * largest) >= trace(gram) - 1e-9);
        }
    }
}
