//! Points near a place: a grid of cells as wide as the largest distance asked for.

use std::collections::HashMap;

use eigenskin_core::glam::Vec3;

/// Points sorted into cells.
pub struct Neighbourhood<'a> {
    points: &'a [Vec3],
    reach: f64,
    /// cell → points in it, rising
    cells: HashMap<[i64; 3], Vec<u32>>,
}

impl<'a> Neighbourhood<'a> {
    /// Sorts `points` for questions about distances up to `reach`.
    pub fn new(points: &'a [Vec3], reach: f64) -> Self {
        let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::with_capacity(points.len());
        for (index, &point) in points.iter().enumerate() {
            cells.entry(cell_of(point, reach)).or_default().push(index as u32);
        }
        Self { points, reach, cells }
    }

    /// The points within reach of `place` with their distances, nearest first.
    pub fn near(&self, place: Vec3) -> Vec<(u32, f64)> {
        let centre = cell_of(place, self.reach);
        let mut found = Vec::new();
        for x in -1..=1 {
            for y in -1..=1 {
                for z in -1..=1 {
                    let offset = [x, y, z];
                    let cell = [0, 1, 2].map(|axis| i64::saturating_add(centre[axis], offset[axis]));
                    for &index in self.cells.get(&cell).map_or(&[][..], Vec::as_slice) {
                        let distance = self.points[index as usize].as_dvec3().distance(place.as_dvec3());
                        if distance <= self.reach {
                            found.push((index, distance));
                        }
                    }
                }
            }
        }
        // At the end of the integers neighbouring cells coincide.
        found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        found.dedup();
        found
    }
}

fn cell_of(point: Vec3, width: f64) -> [i64; 3] {
    point.as_dvec3().to_array().map(|x| (x / width).floor() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_finds_what_comparing_all_finds() {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        let points: Vec<Vec3> = (0..300).map(|_| Vec3::new(random(), random(), random())).collect();
        let grid = Neighbourhood::new(&points, 0.15);
        let mut total = 0;
        for place in &points {
            let found: Vec<u32> = grid.near(*place).iter().map(|near| near.0).collect();
            let distance = |i: u32| points[i as usize].as_dvec3().distance(place.as_dvec3());
            assert!(found.is_sorted_by(|&a, &b| distance(a) <= distance(b)));
            assert_eq!(found.len(), (0..300).filter(|&i| distance(i) <= 0.15).count());
            total += found.len();
        }
        assert!(total > 600);
        assert!(grid.near(Vec3::splat(f32::MAX)).is_empty());
    }
}
