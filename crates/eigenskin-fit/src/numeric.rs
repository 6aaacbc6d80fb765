//! Linear algebra. The only place that names the linear-algebra crate.

use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{Mat, Side};

/// A dense column-major matrix.
pub type Matrix = Mat<f64>;

/// The inverse of a square matrix by pivoted LU, with its condition number in the 1-norm.
pub struct Inverse {
    pub matrix: Matrix,
    pub condition: f64,
}

/// Inverts a square matrix; a singular one has an infinite condition.
pub fn invert(matrix: &Matrix) -> Inverse {
    let inverse = matrix.partial_piv_lu().inverse();
    let condition = norm_1(matrix) * norm_1(&inverse);
    Inverse { matrix: inverse, condition: if condition.is_finite() { condition } else { f64::INFINITY } }
}

/// Largest column sum of absolute values; not a number if any entry is.
fn norm_1(matrix: &Matrix) -> f64 {
    matrix
        .col_iter()
        .map(|column| column.iter().map(|x| x.abs()).sum::<f64>())
        .fold(0.0, |largest, sum| if largest >= sum { largest } else { sum })
}

/// Eigenvalues, falling, and eigenvectors (columns in the same order) of a symmetric matrix.
pub fn symmetric_eigen(matrix: &Matrix) -> (Vec<f64>, Matrix) {
    let count = matrix.nrows();
    let Ok(eigen) = matrix.self_adjoint_eigen(Side::Lower) else {
        return (vec![0.0; count], Matrix::identity(count, count));
    };
    let values = (0..count).rev().map(|i| eigen.S().column_vector()[i]).collect();
    let vectors = Matrix::from_fn(count, count, |row, column| eigen.U()[(row, count - 1 - column)]);
    (values, vectors)
}

/// The inverse of a symmetric positive matrix on the directions whose eigenvalue exceeds `cut`
/// of the largest: least-squares normal equations of any rank, minimum-norm solution.
pub fn symmetric_pseudo_inverse(matrix: &Matrix, cut: f64) -> Matrix {
    let (values, vectors) = symmetric_eigen(matrix);
    let largest = values.first().copied().unwrap_or(0.0);
    let count = values.len();
    let mut inverse = Matrix::zeros(count, count);
    for (component, &value) in values.iter().enumerate() {
        if value > cut * largest && value > 0.0 {
            for column in 0..count {
                for row in 0..count {
                    inverse[(row, column)] +=
                        vectors[(row, component)] * vectors[(column, component)] / value;
                }
            }
        }
    }
    inverse
}

/// Solves a symmetric positive definite system for several right-hand sides (columns); by pivoted LU
/// where rounding has spoilt the definiteness.
pub fn solve_positive(matrix: &Matrix, right: &Matrix) -> Matrix {
    match matrix.llt(Side::Lower) {
        Ok(cholesky) => cholesky.solve(right),
        Err(_) => matrix.partial_piv_lu().solve(right),
    }
}

/// Thin singular value decomposition U, σ (falling), V of any small matrix.
pub fn thin_svd(matrix: &Matrix) -> (Matrix, Vec<f64>, Matrix) {
    let rank = matrix.nrows().min(matrix.ncols());
    match matrix.thin_svd() {
        Ok(svd) => {
            let values = (0..rank).map(|i| svd.S().column_vector()[i]).collect();
            (svd.U().to_owned(), values, svd.V().to_owned())
        }
        Err(_) => (Matrix::zeros(matrix.nrows(), rank), vec![0.0; rank], Matrix::zeros(matrix.ncols(), rank)),
    }
}

/// matrixᵀ · matrix.
pub fn gram(matrix: &Matrix) -> Matrix {
    matrix.transpose() * matrix
}

/// Orthonormal columns that span those of a tall matrix.
pub fn orthonormal(matrix: &Matrix) -> Matrix {
    matrix.qr().compute_thin_Q()
}

/// Least squares of a tall matrix by QR.
pub struct LeastSquares {
    /// `column × right side`
    pub solution: Matrix,
    /// `row`: how much a row of the right side counts in its own prediction
    pub leverages: Vec<f64>,
    /// largest over smallest diagonal entry of R: the condition, roughly
    pub condition: f64,
}

/// Minimises ‖matrix · x − right‖² column by column. The columns must be independent.
pub fn least_squares(matrix: &Matrix, right: &Matrix) -> LeastSquares {
    let qr = matrix.qr();
    let basis = qr.compute_thin_Q();
    let mut solution = basis.transpose() * right;
    let triangle = qr.thin_R();
    triangle.solve_upper_triangular_in_place(&mut solution);
    let (smallest, largest) = (0..triangle.ncols())
        .map(|i| triangle[(i, i)].abs())
        .fold((f64::INFINITY, 0.0f64), |(low, high), d| (low.min(d), high.max(d)));
    let condition = if smallest > 0.0 { (largest / smallest).max(1.0) } else { f64::INFINITY };
    let leverages = (0..basis.nrows()).map(|row| basis.row(row).iter().map(|x| x * x).sum()).collect();
    LeastSquares { solution, leverages, condition }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_and_condition_by_hand() {
        let matrix = Matrix::from_fn(2, 2, |r, c| [[0.0, 2.0], [4.0, 0.0]][r][c]);
        let inverse = invert(&matrix);
        assert_eq!(inverse.matrix[(0, 1)], 0.25);
        assert_eq!(inverse.matrix[(1, 0)], 0.5);
        assert_eq!(inverse.condition, 2.0);
        assert!(invert(&Matrix::zeros(2, 2)).condition.is_infinite());
    }

    #[test]
    fn eigenvalues_fall() {
        let matrix = Matrix::from_fn(3, 3, |r, c| if r == c { [1.0, 3.0, 2.0][r] } else { 0.0 });
        let (values, vectors) = symmetric_eigen(&matrix);
        assert!((values[0] - 3.0).abs() < 1e-12 && (values[2] - 1.0).abs() < 1e-12);
        assert!((vectors[(1, 0)].abs() - 1.0).abs() < 1e-12);
    }
}
