//! Triangles to samples: which triangle is seen where.
//!
//! Corners snap to a fixed grid and edges are tested in whole numbers, so neighbouring triangles
//! neither overlap nor leave a gap, and the result is the same on every machine.

use std::ops::Range;

/// Grid steps per sample.
const STEPS: i64 = 256;

/// A corner on the grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct GridPoint {
    x: i64,
    y: i64,
}

impl GridPoint {
    /// From a place in samples, from the left and from the top.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x: (x * STEPS as f64).round() as i64, y: (y * STEPS as f64).round() as i64 }
    }
}

/// Calls `visit(column, row, barycentric)` for every sample inside a triangle, whichever way it
/// turns, in columns `0..width` and the given rows. A sample on an edge belongs to one side only;
/// triangles without area have no samples.
pub(super) fn for_each_sample(
    mut corners: [GridPoint; 3],
    width: usize,
    rows: &Range<usize>,
    mut visit: impl FnMut(usize, usize, [f64; 3]),
) {
    // Most triangles are smaller than a sample or elsewhere, so this comes first.
    let [a, b, c] = corners;
    let columns = covered(a.x, b.x, c.x, 0, width);
    let rows = covered(a.y, b.y, c.y, rows.start, rows.end);
    if columns.is_empty() || rows.is_empty() {
        return;
    }
    let twice_area = edge(a, b, c);
    if twice_area == 0 {
        return;
    }
    let flipped = twice_area < 0;
    if flipped {
        corners.swap(1, 2);
    }
    let [a, b, c] = corners;
    let inverse_area = 1.0 / twice_area.abs() as f64;
    // A sample is inside where all three edge functions are above zero; an edge that owns its border
    // may be zero there, which in whole numbers is one more.
    let sides = [Side::new(b, c), Side::new(c, a), Side::new(a, b)];
    let first = GridPoint { x: columns.start * STEPS + STEPS / 2, y: rows.start * STEPS + STEPS / 2 };
    let mut at_row = sides.each_ref().map(|side| edge(side.from, side.to, first));
    for row in rows {
        let mut at = at_row;
        for column in columns.clone() {
            if at[0] > sides[0].outside && at[1] > sides[1].outside && at[2] > sides[2].outside {
                let [a, b, c] = [at[0] as f64, at[1] as f64, at[2] as f64];
                let [b, c] = if flipped { [c, b] } else { [b, c] };
                visit(column as usize, row as usize, [a * inverse_area, b * inverse_area, c * inverse_area]);
            }
            for (value, side) in at.iter_mut().zip(&sides) {
                *value += side.to_next_column;
            }
        }
        for (value, side) in at_row.iter_mut().zip(&sides) {
            *value += side.to_next_row;
        }
    }
}

/// One side of a triangle, walked with the inside on the left.
struct Side {
    from: GridPoint,
    to: GridPoint,
    /// change of its edge function from one column to the next
    to_next_column: i64,
    /// and from one row to the next
    to_next_row: i64,
    /// largest value of the edge function that is still outside
    outside: i64,
}

impl Side {
    #[inline]
    fn new(from: GridPoint, to: GridPoint) -> Self {
        let outside = if owns_its_border(from, to) { -1 } else { 0 };
        let (to_next_column, to_next_row) = ((from.y - to.y) * STEPS, (to.x - from.x) * STEPS);
        Self { from, to, to_next_column, to_next_row, outside }
    }
}

/// The samples between the least and the largest of three places on one axis, within limits.
/// Sample k lies at (k + ½) · STEPS.
#[inline]
fn covered(a: i64, b: i64, c: i64, start: usize, end: usize) -> Range<i64> {
    let first = (a.min(b).min(c) - STEPS / 2).div_euclid(STEPS);
    let last = (a.max(b).max(c) - STEPS / 2).div_euclid(STEPS);
    first.max(start as i64)..(last + 1).min(end as i64)
}

/// Twice the signed area of the triangle `from`, `to`, `point`.
#[inline]
fn edge(from: GridPoint, to: GridPoint, point: GridPoint) -> i64 {
    (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)
}

/// Of the two triangles at an edge, which walk it in opposite directions, exactly one owns it.
#[inline]
fn owns_its_border(from: GridPoint, to: GridPoint) -> bool {
    to.y > from.y || (to.y == from.y && to.x < from.x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(points: [[f64; 2]; 3]) -> [GridPoint; 3] {
        points.map(|[x, y]| GridPoint::new(x, y))
    }

    /// A fan of triangles around an inner point covers each sample of a square exactly once, even
    /// where edges run through samples, and whichever way single triangles turn.
    #[test]
    fn neighbours_share_no_sample_and_leave_no_gap() {
        let rim = [[0.5, 0.5], [6.5, 0.5], [12.5, 0.5], [12.5, 12.5], [5.5, 12.5], [0.5, 12.5], [0.5, 3.5]];
        let mut hits = vec![0; 13 * 13];
        for first in 0..rim.len() {
            let mut corners = grid([[4.5, 6.5], rim[first], rim[(first + 1) % rim.len()]]);
            if first % 2 == 0 {
                corners.swap(0, 2);
            }
            for_each_sample(corners, 13, &(0..13), |x, y, _| hits[y * 13 + x] += 1);
        }
        assert_eq!(hits.iter().sum::<i32>(), 12 * 12, "{hits:?}");
        assert!(hits.iter().all(|&h| h <= 1));
    }

    #[test]
    fn barycentric_coordinates_give_the_sample_back() {
        let points = [[1.0, 2.0], [9.0, 1.0], [4.0, 11.0]];
        for order in [[0, 1, 2], [0, 2, 1]] {
            let corners = order.map(|i| points[i]);
            let mut count = 0;
            for_each_sample(grid(corners), 20, &(0..20), |column, row, b| {
                let at = |axis: usize| (0..3).map(|i| b[i] * corners[i][axis]).sum::<f64>();
                assert!((at(0) - column as f64 - 0.5).abs() < 1e-9);
                assert!((at(1) - row as f64 - 0.5).abs() < 1e-9);
                count += 1;
            });
            // Area 37.5 in samples.
            assert!((35..=40).contains(&count), "{count}");
        }
    }

    #[test]
    fn rows_outside_the_band_and_flat_triangles_are_left_out() {
        let mut rows = Vec::new();
        for_each_sample(grid([[-5.0, -5.0], [30.0, -5.0], [-5.0, 30.0]]), 8, &(3..5), |x, y, _| {
            assert!(x < 8);
            rows.push(y);
        });
        assert_eq!((rows.len(), rows[0], rows[15]), (16, 3, 4));
        for_each_sample(grid([[1.0, 1.0], [5.0, 5.0], [3.0, 3.0]]), 8, &(0..8), |_, _, _| {
            panic!("a triangle without area was drawn")
        });
    }
}
