//! Which parts of a grid lie inside of the skin: 4³ sub-voxels per cube, one bit for each.

use eigenskin_core::glam::{DVec3, IVec3};
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use crate::tissue::FILLING;
use crate::winding::Winding;

/// Sub-voxels along a cube's edge.
pub const VOXELS: i32 = 4;
/// Cubes along the edge of a block that is tested as a whole first.
const BLOCK: i32 = 4;

/// A place is clear of triangles up to the nearest one; this much less counts, for holes.
const CLEAR: f64 = 1.3;

/// Bits of the sub-voxels with x = 0; the others follow by shifting.
const LOW_X: u64 = 0x1111_1111_1111_1111;
const LOW_Y: u64 = 0x000f_000f_000f_000f;
const LOW_Z: u64 = 0xffff;

/// Centres of a cube's sub-voxels in units of the cube, in the order of their bits: x fastest.
pub fn voxel_centre(bit: u32) -> DVec3 {
    let [x, y, z] = [bit & 3, bit >> 2 & 3, bit >> 4].map(|i| (f64::from(i) + 0.5) / f64::from(VOXELS));
    DVec3::new(x, y, z)
}

/// The set bits of a mask, lowest first.
pub fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}

/// The parts of a mask that hang together by faces, in the order of their lowest bits.
pub(super) fn parts(mut mask: u64) -> Vec<u64> {
    let mut found = Vec::new();
    while mask != 0 {
        let mut part = mask & mask.wrapping_neg();
        loop {
            let grown = grow(part) & mask;
            if grown == part {
                break;
            }
            part = grown;
        }
        found.push(part);
        mask &= !part;
    }
    found
}

fn grow(m: u64) -> u64 {
    let along_x = (m << 1 & !LOW_X) | (m >> 1 & !(LOW_X << 3));
    let along_y = (m << 4 & !LOW_Y) | (m >> 4 & !(LOW_Y << 12));
    m | along_x | along_y | m << 16 | m >> 16
}

/// Whether sub-voxels of a cube touch those of the next one along an axis.
pub(super) fn touch(lower: u64, upper: u64, axis: usize) -> bool {
    let facing = match axis {
        0 => lower >> 3 & LOW_X & upper,
        1 => lower >> 12 & LOW_Y & upper,
        _ => lower >> 48 & LOW_Z & upper,
    };
    facing != 0
}

/// A grid of cubes in mesh space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub origin: DVec3,
    pub edge: f64,
    pub counts: IVec3,
}

impl Grid {
    /// Cubes around a box, with the same margin on both sides; none when they cannot be counted.
    pub(super) fn around(lowest: DVec3, highest: DVec3, edge: f64, most: f64) -> Option<Self> {
        let extent = (highest - lowest).max(DVec3::ZERO);
        let counts = (extent / edge).ceil().max(DVec3::ONE);
        let fits = counts.is_finite() && counts.x * counts.y * counts.z <= most;
        fits.then(|| Self {
            origin: 0.5 * (lowest + highest - edge * counts),
            edge,
            counts: counts.as_ivec3(),
        })
    }

    /// The cubes that hold inside sub-voxels, with their masks; sorted by z, then y, then x.
    pub(super) fn inside(
        &self,
        winding: &Winding,
        progress: &dyn Progress,
    ) -> Result<Vec<(IVec3, u64)>, Cancelled> {
        let blocks = (self.counts + BLOCK - 1) / BLOCK;
        let at = |i: i32| IVec3::new(i % blocks.x, i / blocks.x % blocks.y, i / blocks.x / blocks.y) * BLOCK;
        let found: Result<Vec<Vec<(IVec3, u64)>>, Cancelled> = (0..blocks.x * blocks.y * blocks.z)
            .into_par_iter()
            .map(|block| {
                progress.doing(FILLING)?;
                Ok(self.inside_block(winding, at(block)))
            })
            .collect();
        let mut cells: Vec<(IVec3, u64)> = found?.into_iter().flatten().collect();
        cells.sort_unstable_by_key(|(at, _)| order(*at));
        Ok(cells)
    }

    fn inside_block(&self, winding: &Winding, lowest: IVec3) -> Vec<(IVec3, u64)> {
        let block = self.uniform(winding, lowest.as_dvec3(), f64::from(BLOCK));
        if block == Some(false) {
            return Vec::new();
        }
        let mut cells = Vec::new();
        for z in 0..BLOCK {
            for y in 0..BLOCK {
                for x in 0..BLOCK {
                    let at = lowest + IVec3::new(x, y, z);
                    if at.cmplt(self.counts).all() {
                        let mask = if block == Some(true) { u64::MAX } else { self.mask(winding, at) };
                        if mask != 0 {
                            cells.push((at, mask));
                        }
                    }
                }
            }
        }
        cells
    }

    fn mask(&self, winding: &Winding, at: IVec3) -> u64 {
        match self.uniform(winding, at.as_dvec3(), 1.0) {
            Some(true) => u64::MAX,
            Some(false) => 0,
            None => self.mixed_mask(winding, at.as_dvec3()),
        }
    }

    /// Voxel by voxel; one look settles all others that no triangle can be between.
    fn mixed_mask(&self, winding: &Winding, lowest: DVec3) -> u64 {
        let (mut known, mut inside) = (0u64, 0u64);
        // From the middle along the diagonal, where a look settles most.
        for bit in (1..=64).map(|step: u32| step * 21 % 64) {
            if known >> bit & 1 == 1 {
                continue;
            }
            let centre = voxel_centre(bit);
            let point = self.mesh_from_grid(lowest + centre);
            let number = winding.at(point).abs();
            let mut alike = 1u64 << bit;
            if is_whole(number) {
                let clear =
                    winding.closest(point).map_or(0.0, |closest| closest.distance) / CLEAR / self.edge;
                let near = |other: &u32| voxel_centre(*other).distance_squared(centre) < clear * clear;
                alike = bits(!known).filter(near).fold(alike, |alike, other| alike | 1 << other);
            }
            known |= alike;
            if number >= 0.5 {
                inside |= alike;
            }
        }
        inside
    }

    /// Whether a cube of the grid is inside or outside as a whole, where one look at its middle
    /// can tell. Without triangles near, the winding number changes only through holes, and there
    /// it is not a whole number.
    fn uniform(&self, winding: &Winding, lowest: DVec3, size: f64) -> Option<bool> {
        let middle = self.mesh_from_grid(lowest + 0.5 * size);
        let reach = 0.5 * 3f64.sqrt() * size * self.edge;
        let number = winding.at(middle).abs();
        let near = || winding.closest(middle).is_some_and(|closest| closest.distance < CLEAR * reach);
        (is_whole(number) && !near()).then_some(number >= 0.5)
    }

    fn mesh_from_grid(&self, point: DVec3) -> DVec3 {
        self.origin + self.edge * point
    }
}

/// A winding number that no hole is near to.
fn is_whole(number: f64) -> bool {
    (number - number.round()).abs() < 0.03
}

/// Cells are sorted by this.
pub(super) fn order(at: IVec3) -> (i32, i32, i32) {
    (at.z, at.y, at.x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{Random, sphere};

    fn bit_at(x: u32, y: u32, z: u32) -> u64 {
        1 << ((z * 4 + y) * 4 + x)
    }

    #[test]
    fn parts_agree_with_a_plain_flood() {
        let mut random = Random(9);
        for density in [0.2, 0.4, 0.6] {
            for _ in 0..50 {
                let mask = (0..64).filter(|_| random.unit() < density).fold(0u64, |m, bit| m | 1 << bit);
                let mut label: Vec<usize> = (0..64).collect();
                for _ in 0..64 {
                    for a in bits(mask) {
                        for b in bits(mask) {
                            if (voxel_centre(a) - voxel_centre(b)).length() < 0.26 {
                                let low = label[a as usize].min(label[b as usize]);
                                label[a as usize] = low;
                                label[b as usize] = low;
                            }
                        }
                    }
                }
                let found = parts(mask);
                assert_eq!(found.iter().fold(0, |all, part| all | part), mask);
                let mut lowest: Vec<usize> = bits(mask).map(|bit| label[bit as usize]).collect();
                lowest.sort_unstable();
                lowest.dedup();
                assert_eq!(found.len(), lowest.len());
                for part in found {
                    assert!(bits(part).all(|bit| label[bit as usize] == part.trailing_zeros() as usize));
                }
            }
        }
    }

    #[test]
    fn only_facing_voxels_touch() {
        assert!(touch(bit_at(3, 1, 2), bit_at(0, 1, 2), 0));
        assert!(touch(bit_at(1, 3, 2), bit_at(1, 0, 2), 1));
        assert!(touch(bit_at(1, 2, 3), bit_at(1, 2, 0), 2));
        for axis in 0..3 {
            assert!(!touch(bit_at(3, 3, 3), bit_at(1, 1, 1), axis));
            assert!(!touch(bit_at(1, 1, 1), bit_at(0, 0, 0), axis));
        }
    }

    /// Holes must not be decided from afar: as good as testing every single voxel.
    #[test]
    fn looking_at_blocks_first_changes_nothing() {
        let (points, mut triangles) = sphere(30);
        triangles.retain(|t| t.iter().any(|&v| points[v as usize].z < 0.8));
        let winding = Winding::new(&points, &triangles);
        for edge in [0.13, 0.31] {
            let grid = Grid::around(-DVec3::ONE, DVec3::ONE, edge, 1e9).unwrap();
            let cells = grid.inside(&winding, &eigenskin_core::progress::Unwatched).unwrap();
            let mut count = 0;
            let mut next = cells.iter().peekable();
            for index in 0..grid.counts.x * grid.counts.y * grid.counts.z {
                let at = IVec3::new(
                    index % grid.counts.x,
                    index / grid.counts.x % grid.counts.y,
                    index / grid.counts.x / grid.counts.y,
                );
                let expected = (0..64u32)
                    .filter(|&bit| winding.is_inside(grid.mesh_from_grid(at.as_dvec3() + voxel_centre(bit))))
                    .fold(0u64, |mask, bit| mask | 1 << bit);
                let found = next.next_if(|(cell, _)| *cell == at).map_or(0, |(_, mask)| *mask);
                count += (expected ^ found).count_ones();
            }
            assert!(next.peek().is_none());
            assert_eq!(count, 0, "edge {edge}");
        }
    }
}
