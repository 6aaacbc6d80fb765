//! Linear algebra. The only place that names the linear-algebra crate.

use faer::Mat;
use glam::{DMat3, DVec3};

/// Moore–Penrose inverse, with singular values below `cut` of the largest treated as zero.
pub fn pseudo_inverse_3x3(matrix: DMat3, cut: f64) -> DMat3 {
    let dense = Mat::from_fn(3, 3, |row, column| matrix.col(column)[row]);
    let Ok(svd) = dense.thin_svd() else {
        return DMat3::ZERO;
    };
    let column = |m: faer::MatRef<'_, f64>, c: usize| DVec3::new(m[(0, c)], m[(1, c)], m[(2, c)]);
    let largest = svd.S().column_vector()[0];
    let mut inverse = DMat3::ZERO;
    for component in 0..3 {
        let value = svd.S().column_vector()[component];
        if value > cut * largest && value > 0.0 {
            let u = column(svd.U(), component);
            let v = column(svd.V(), component) * (1.0 / value);
            inverse += DMat3::from_cols(v * u.x, v * u.y, v * u.z);
        }
    }
    inverse
}
