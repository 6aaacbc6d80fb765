//! Deformed cells: which are around a point, and where within them it was at rest.

use eigenskin_core::glam::{DMat3, DVec3, IVec3};
use rayon::prelude::*;

use super::REACH;
use crate::lattice::{Lattice, trilinear_slopes, trilinear_weights};

/// Deformed cells, found by place.
pub(super) struct CellGrid {
    /// box of unit size and cell, sorted
    entries: Vec<([i32; 3], u32)>,
}

/// A cell so torn is not searched.
const LARGEST_CELL: f64 = 8.0;

impl CellGrid {
    /// Sorts the cells by the boxes around them, with what they reach beyond their corners.
    pub(super) fn new(lattice: &Lattice, positions: &[DVec3]) -> Self {
        let mut entries: Vec<([i32; 3], u32)> = lattice
            .corners
            .par_iter()
            .enumerate()
            .flat_map_iter(|(cell, corners)| {
                let (low, high) = bounds(&corners.map(|node| positions[node as usize]));
                let is_whole = (high - low).max_element() < LARGEST_CELL && low.abs().max_element() < 1e8;
                // An empty range for torn cells.
                let (first, last) = (low.floor().as_ivec3(), high.floor().as_ivec3());
                let last = if is_whole { last } else { first - 1 };
                boxes(first, last).map(move |of| (of, cell as u32))
            })
            .collect();
        entries.par_sort_unstable();
        Self { entries }
    }

    /// Cells that may be around a point, rising.
    pub(super) fn around(&self, point: DVec3) -> impl Iterator<Item = usize> + '_ {
        let of = point.floor().as_ivec3().to_array();
        let first = self.entries.partition_point(|entry| entry.0 < of);
        self.entries[first..].iter().take_while(move |entry| entry.0 == of).map(|entry| entry.1 as usize)
    }
}

fn boxes(first: IVec3, last: IVec3) -> impl Iterator<Item = [i32; 3]> {
    (first.x..=last.x)
        .flat_map(move |x| (first.y..=last.y).flat_map(move |y| (first.z..=last.z).map(move |z| [x, y, z])))
}

/// The box around a cell's corners, larger by the reach.
fn bounds(corners: &[DVec3; 8]) -> (DVec3, DVec3) {
    let low = corners.iter().fold(DVec3::INFINITY, |low, &x| low.min(x));
    let high = corners.iter().fold(DVec3::NEG_INFINITY, |high, &x| high.max(x));
    let reach = REACH * (high - low);
    (low - reach, high + reach)
}

/// A point seen from a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Within {
    /// place in the cell at rest, [0, 1]³ within
    pub local: DVec3,
    /// weights of the corners there
    pub weights: [f64; 8],
    /// how the cell is deformed there
    pub deformation: DMat3,
}

impl Within {
    /// Distance from the cell's cube at rest.
    pub(super) fn outside(&self) -> f64 {
        (self.local.clamp(DVec3::ZERO, DVec3::ONE) - self.local).length()
    }
}

/// Inverts a cell's trilinear map at a point by Newton's method; none if the point is out of reach.
pub(super) fn locate(corners: &[DVec3; 8], point: DVec3) -> Option<Within> {
    let (low, high) = bounds(corners);
    if point.cmplt(low).any() || point.cmpgt(high).any() {
        return None;
    }
    let mut local = DVec3::splat(0.5);
    for _ in 0..12 {
        let weights = trilinear_weights(local);
        let deformation = trilinear_slopes(local)
            .iter()
            .zip(corners)
            .fold(DMat3::ZERO, |sum, (&slope, &x)| sum + outer(x, slope));
        // Cells that are flat or inside out say nothing about where a point was.
        if deformation.determinant() < 1e-3 {
            return None;
        }
        let at: DVec3 = weights.iter().zip(corners).map(|(&weight, &x)| weight * x).sum();
        let off = point - at;
        if off.length() < 1e-12 * (1.0 + point.length()) {
            let reached = ((local - 0.5).abs() - 0.5).max_element() <= REACH;
            return reached.then_some(Within { local, weights, deformation });
        }
        local += deformation.inverse() * off;
        if (local - 0.5).abs().max_element() > 3.0 {
            return None;
        }
    }
    None
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Random;

    #[test]
    fn points_are_found_where_they_were() {
        let mut random = Random(5);
        let lattice = Lattice::of_box([1, 1, 1]);
        for _ in 0..50 {
            let corners: [DVec3; 8] =
                std::array::from_fn(|c| 3.0 * lattice.nodes[c] + 0.3 * random.point() - 1.0);
            let local = DVec3::new(random.unit(), random.unit(), random.unit());
            let map = |local| -> DVec3 {
                trilinear_weights(local).iter().zip(&corners).map(|(&w, &x)| w * x).sum()
            };
            let at = map(local);
            let found = locate(&corners, at).unwrap();
            assert!((found.local - local).length() < 1e-9 && found.outside() < 1e-9);
            // The deformation is the derivative of the map.
            let slope = (map(local + 1e-6 * DVec3::Y) - at) / 1e-6;
            assert!((slope - found.deformation.y_axis).length() < 1e-6);
            let grid = CellGrid::new(&lattice, &corners);
            assert_eq!(grid.around(at).collect::<Vec<_>>(), [0]);
            assert_eq!(grid.around(at + 9.0).count(), 0);
        }
    }
}
