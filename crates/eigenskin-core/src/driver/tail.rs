//! The polynomial part of an interpolant.

/// A polynomial in the linear coordinates of the features.
#[derive(Debug, Clone, PartialEq)]
pub enum Tail {
    /// nothing
    None,
    /// one constant per output, `output`
    Constant(Vec<f64>),
    /// a constant and a slope per linear coordinate, `(1 + linear coordinate) × output`
    Linear(Vec<f64>),
}

impl Tail {
    /// All coefficients, `row × output`.
    pub fn coefficients(&self) -> &[f64] {
        match self {
            Self::None => &[],
            Self::Constant(coefficients) | Self::Linear(coefficients) => coefficients,
        }
    }

    /// Rows of the coefficients for that many linear coordinates.
    pub fn row_count(&self, linear_count: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Constant(_) => 1,
            Self::Linear(_) => 1 + linear_count,
        }
    }

    /// The same kind of tail with its coefficients changed.
    #[must_use]
    pub fn map(&self, change: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        match self {
            Self::None => Self::None,
            Self::Constant(coefficients) => Self::Constant(change(coefficients)),
            Self::Linear(coefficients) => Self::Linear(change(coefficients)),
        }
    }

    /// Adds the polynomial at given linear coordinates to `outputs` (`output`).
    pub fn add_to(&self, linear: &[f64], outputs: &mut [f64]) {
        let terms = std::iter::once(1.0).chain(linear.iter().copied());
        for (term, row) in terms.zip(self.coefficients().chunks_exact(outputs.len().max(1))) {
            super::add_scaled(outputs, term, row);
        }
    }
}
