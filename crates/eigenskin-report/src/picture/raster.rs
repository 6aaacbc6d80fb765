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
    let twice_area = edge(corners[0], corners[1], corners[2]);
    if twice_area == 0 {
        return;
    }
    let flipped = twice_area < 0;
    if flipped {
        corners.swap(1, 2);
    }
    let twice_area = twice_area.abs() as f64;
    let span = |values: [i64; 3], limit: Range<usize>| {
        let least = values[0].min(values[1]).min(values[2]);
        let most = values[0].max(values[1]).max(values[2]);
        // Sample k lies at (k + ½) · STEPS.
        let first = (least - STEPS / 2).div_euclid(STEPS).max(limit.start as i64);
        let last = (most - STEPS / 2).div_euclid(STEPS).min(limit.end as i64 - 1);
        first..=last
    };
    let columns = span(corners.map(|c| c.x), 0..width);
    // A sample counts as inside where all three edge functions are above zero; an edge that owns its
    // border may be zero there, which in whole numbers is one more.
    let bonus = [0, 1, 2]
        .map(|opposite| i64::from(owns_its_border(next(&corners, opposite), last(&corners, opposite))));
    let step = [0, 1, 2].map(|opposite| (next(&corners, opposite).y - last(&corners, opposite).y) * STEPS);
    for row in span(corners.map(|c| c.y), rows.clone()) {
        let start = GridPoint { x: columns.start() * STEPS + STEPS / 2, y: row * STEPS + STEPS / 2 };
        let mut edges =
            [0, 1, 2].map(|opposite| edge(next(&corners, opposite), last(&corners, opposite), start));
        for column in columns.clone() {
            if (0..3).all(|i| edges[i] + bonus[i] > 0) {
                let [a, b, c] = edges.map(|e| e as f64 / twice_area);
                let barycentric = if flipped { [a, c, b] } else { [a, b, c] };
                visit(column as usize, row as usize, barycentric);
            }
            for (edge, step) in edges.iter_mut().zip(step) {
                *edge += step;
            }
        }
    }
}

/// The corner after another.
fn next(corners: &[GridPoint; 3], corner: usize) -> GridPoint {
    corners[(corner + 1) % 3]
}

/// The corner before another.
fn last(corners: &[GridPoint; 3], corner: usize) -> GridPoint {
    corners[(corner + 2) % 3]
}

/// Twice the signed area of the triangle `from`, `to`, `point`.
fn edge(from: GridPoint, to: GridPoint, point: GridPoint) -> i64 {
    (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)
}

/// Of the two triangles at an edge, which walk it in opposite directions, exactly one owns it.
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
