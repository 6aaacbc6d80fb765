//! Small stand-ins for displacement fields.

use crate::numeric::{Matrix, symmetric_eigen};

/// Few numbers per field (`field × coordinate`, as many coordinates as fields) with the given inner
/// products (`field × field`): errors in them are errors of the fields.
pub fn isometric_coordinates(gram: &Matrix) -> Vec<f64> {
    let count = gram.nrows();
    let (values, vectors) = symmetric_eigen(gram);
    let lengths: Vec<f64> = values.iter().map(|value| value.max(0.0).sqrt()).collect();
    (0..count)
        .flat_map(|field| {
            let (vectors, lengths) = (&vectors, &lengths);
            (0..count).map(move |coordinate| lengths[coordinate] * vectors[(field, coordinate)])
        })
        .collect()
}
