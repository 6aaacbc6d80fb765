//! Sparse LLᵀ of symmetric matrices that share one pattern. The only place that names faer.
//!
//! The order of elimination and the pattern of L are found once; factorising again allocates
//! nothing. One thread: poses are solved side by side, and results must not depend on their number.

use std::sync::Arc;

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side, Spec};

/// Lower triangle of a symmetric matrix by columns: where entries may be.
#[derive(Debug, Clone)]
pub struct LowerPattern {
    /// `column` → its first entry; one more at the end
    pub column_start: Vec<u32>,
    /// `entry` → its row; rows of a column rise, the diagonal first
    pub row: Vec<u32>,
}

/// The matrix is not positive definite: elimination met a pivot that is not above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonPositivePivot;

/// A factorisation that can be computed anew for other values.
pub struct SparseCholesky {
    symbolic: Arc<Symbolic>,
    /// entries of L
    factor: Vec<f64>,
    memory: MemBuffer,
}

struct Symbolic {
    pattern: SymbolicSparseColMat<u32>,
    factor: SymbolicCholesky<u32>,
}

impl SparseCholesky {
    /// Finds the pattern of L; `None` if it does not fit into memory. `order` is that of elimination,
    /// all columns once; without it approximate minimum degree finds one.
    pub fn new(pattern: &LowerPattern, order: Option<&[u32]>) -> Option<Self> {
        let size = pattern.column_start.len() - 1;
        let pattern = SymbolicSparseColMat::new_checked(
            size,
            size,
            pattern.column_start.clone(),
            None,
            pattern.row.clone(),
        );
        let mut place = vec![0; size];
        for (new, &old) in order.unwrap_or_default().iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let ordering = match order {
            Some(order) => SymmetricOrdering::Custom(PermRef::new_checked(order, &place, size)),
            None => SymmetricOrdering::Amd,
        };
        let factor = factorize_symbolic_cholesky(
            pattern.as_ref(),
            Side::Lower,
            ordering,
            CholeskySymbolicParams::default(),
        )
        .ok()?;
        Self::with(Arc::new(Symbolic { pattern, factor }))
    }

    /// Another factorisation of the same pattern, for another thread.
    pub fn fork(&self) -> Option<Self> {
        Self::with(Arc::clone(&self.symbolic))
    }

    fn with(symbolic: Arc<Symbolic>) -> Option<Self> {
        let needed = StackReq::or(
            symbolic.factor.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default()),
            symbolic.factor.solve_in_place_scratch::<f64>(1, Par::Seq),
        );
        let memory = MemBuffer::try_new(needed).ok()?;
        let mut factor = Vec::new();
        factor.try_reserve_exact(symbolic.factor.len_val()).ok()?;
        factor.resize(symbolic.factor.len_val(), 0.0);
        Some(Self { symbolic, factor, memory })
    }

    /// Number of entries of L.
    pub fn factor_entries(&self) -> usize {
        self.factor.len()
    }

    /// Factorises the matrix with these `values`, one per entry of the pattern.
    pub fn factorize(&mut self, values: &[f64]) -> Result<(), NonPositivePivot> {
        let matrix = SparseColMatRef::new(self.symbolic.pattern.as_ref(), values);
        self.symbolic
            .factor
            .factorize_numeric_llt(
                &mut self.factor,
                matrix,
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut self.memory),
                Spec::default(),
            )
            .map(|_| ())
            .map_err(|_| NonPositivePivot)
    }

    /// Solves with the last factorisation, in place.
    pub fn solve(&mut self, right_side: &mut [f64]) {
        let size = right_side.len();
        LltRef::new(&self.symbolic.factor, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(right_side, size, 1),
            Par::Seq,
            MemStack::new(&mut self.memory),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of springs with its first end held: tridiagonal.
    fn chain(size: usize, diagonal: f64) -> (LowerPattern, Vec<f64>) {
        let mut pattern = LowerPattern { column_start: vec![0], row: Vec::new() };
        let mut values = Vec::new();
        for column in 0..size {
            pattern.row.push(column as u32);
            values.push(diagonal);
            if column + 1 < size {
                pattern.row.push(column as u32 + 1);
                values.push(-1.0);
            }
            pattern.column_start.push(pattern.row.len() as u32);
        }
        (pattern, values)
    }

    #[test]
    fn solves_and_tells_indefinite_matrices() {
        let size = 50;
        let (pattern, values) = chain(size, 2.0);
        let mut cholesky = SparseCholesky::new(&pattern, None).unwrap();
        cholesky.factorize(&values).unwrap();
        // −u'' = 1 with both ends at zero: u_i = (i + 1)(n − i)/2.
        let mut x = vec![1.0; size];
        cholesky.solve(&mut x);
        for (i, x) in x.iter().enumerate() {
            let expected = (i + 1) as f64 * (size - i) as f64 / 2.0;
            assert!((x - expected).abs() < 1e-10 * expected);
        }
        // Smallest eigenvalue 2 − 2 cos(π/51) > 0; taking 0.01 away makes it negative.
        assert_eq!(cholesky.factorize(&chain(size, 1.99).1), Err(NonPositivePivot));
        assert_eq!(cholesky.factorize(&vec![f64::NAN; values.len()]), Err(NonPositivePivot));
        // The failure left nothing behind, and a fork computes the same.
        let mut fork = cholesky.fork().unwrap();
        for other in [&mut cholesky, &mut fork] {
            other.factorize(&values).unwrap();
            let mut again = vec![1.0; size];
            other.solve(&mut again);
            assert_eq!(again, x);
        }
    }
}
