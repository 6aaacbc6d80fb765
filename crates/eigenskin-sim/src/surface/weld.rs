//! Vertices at one place become one point.

use std::collections::{HashMap, HashSet};

use eigenskin_core::glam::{DVec3, I64Vec3};

/// Distinct points in the order of their first vertex, and `vertex` → its point. A vertex joins
/// the first point within `tolerance`.
pub(super) fn weld(positions: &[DVec3], tolerance: f64) -> (Vec<DVec3>, Vec<u32>) {
    let tolerance = tolerance.max(f64::MIN_POSITIVE);
    let box_of = |p: DVec3| (p / (2.0 * tolerance)).floor().as_i64vec3();
    let mut points: Vec<DVec3> = Vec::new();
    let mut points_in: HashMap<I64Vec3, Vec<u32>> = HashMap::new();
    let mut point_of_vertex = Vec::with_capacity(positions.len());
    for &position in positions {
        let boxes = [box_of(position - tolerance), box_of(position + tolerance)];
        let near = corners(boxes)
            .into_iter()
            .filter_map(|b| points_in.get(&b))
            .flatten()
            .copied()
            .filter(|&point| points[point as usize].distance(position) <= tolerance)
            .min();
        let point = near.unwrap_or_else(|| {
            points.push(position);
            let new = points.len() as u32 - 1;
            points_in.entry(box_of(position)).or_default().push(new);
            new
        });
        point_of_vertex.push(point);
    }
    (points, point_of_vertex)
}

/// Boxes are twice as wide as the tolerance, so these eight hold all that is near.
fn corners([low, high]: [I64Vec3; 2]) -> [I64Vec3; 8] {
    std::array::from_fn(|c| {
        let pick = |bit: usize, low: i64, high: i64| if c >> bit & 1 == 0 { low } else { high };
        I64Vec3::new(pick(0, low.x, high.x), pick(1, low.y, high.y), pick(2, low.z, high.z))
    })
}

/// Each triangle once, whichever way round it was repeated; without those that lost a corner.
pub(super) fn distinct_triangles(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut seen = HashSet::new();
    let is_new = |t: &&[u32; 3]| {
        let mut sorted = **t;
        sorted.sort_unstable();
        sorted[0] != sorted[1] && sorted[1] != sorted[2] && seen.insert(sorted)
    };
    triangles.iter().filter(is_new).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Random;

    #[test]
    fn what_is_near_is_welded_across_boxes_too() {
        let mut random = Random(1);
        let tolerance = 1e-3;
        let places: Vec<DVec3> = (0..400).map(|_| random.point()).collect();
        let mut positions = places.clone();
        positions.extend(places.iter().map(|&p| p + 0.99 * tolerance * random.point().normalize()));
        let (points, point_of_vertex) = weld(&positions, tolerance);
        for vertex in 0..400 {
            assert_eq!(point_of_vertex[vertex], point_of_vertex[400 + vertex]);
        }
        assert!(points.len() > 395);
        for (vertex, &point) in point_of_vertex.iter().enumerate() {
            assert!(points[point as usize].distance(positions[vertex]) <= tolerance);
        }
    }
}
