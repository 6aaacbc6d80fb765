//! Loops over vertices: on all cores with the feature `rayon`, else one after the other. Results stand in
//! order either way.

/// `each(0)`, `each(1)`, …, `each(count − 1)`.
#[cfg(feature = "rayon")]
pub(crate) fn map_indices<T: Send>(count: usize, each: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    use rayon::prelude::*;
    (0..count).into_par_iter().map(each).collect()
}

/// `each(0)`, `each(1)`, …, `each(count − 1)`.
#[cfg(not(feature = "rayon"))]
pub(crate) fn map_indices<T>(count: usize, each: impl Fn(usize) -> T) -> Vec<T> {
    (0..count).map(each).collect()
}
