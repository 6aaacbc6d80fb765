//! Other axes, other units, another place: which turn, factor and shift take a cache to the rig.

use eigenskin_core::glam::{DVec3, Vec3};

/// A signed permutation of the axes, a uniform factor and a shift: coordinate `i` of the rig is
/// `signs[i] · factor ·` coordinate `axes[i]` of the cache `+ shift[i]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxesAndUnit {
    /// `rig axis` → cache axis
    pub axes: [usize; 3],
    /// `rig axis`, +1 or −1
    pub signs: [f64; 3],
    /// rig units per cache unit
    pub factor: f64,
    /// in the rig's axes and unit, the same in all frames; zero unless nothing else fits
    pub shift: DVec3,
}

/// Factors this near to a usual one are that one.
const SNAP: f64 = 1e-4;

impl AxesAndUnit {
    /// The rig's own axes, unit and place.
    pub const SAME: Self = Self { axes: [0, 1, 2], signs: [1.0; 3], factor: 1.0, shift: DVec3::ZERO };

    /// A point of the cache in the rig's axes, unit and place.
    pub fn apply(&self, point: Vec3) -> Vec3 {
        self.apply_exactly(point.as_dvec3().to_array()).as_vec3()
    }

    fn apply_exactly(&self, from: [f64; 3]) -> DVec3 {
        let along = |axis: usize| self.signs[axis] * self.factor * from[self.axes[axis]];
        DVec3::new(along(0), along(1), along(2)) + self.shift
    }

    /// All that take the box around `cache` to the box around `rig`, give or take `tolerance`:
    /// the same axes first, then turns (y up from z up first), then mirrors.
    pub fn candidates(rig: &[Vec3], cache: &[Vec3], tolerance: f64) -> Vec<Self> {
        let (rig_low, rig_high) = box_around(rig);
        let (cache_low, cache_high) = box_around(cache);
        let factor = usual_factor((rig_high - rig_low).length() / (cache_high - cache_low).length());
        // The cache may have further parts, so that the boxes say nothing: worth a try as it is.
        let mut candidates = vec![Self::SAME];
        if !factor.is_finite() || factor <= 0.0 {
            return candidates;
        }
        for (axes, signs) in orientations() {
            let candidate = Self { axes, signs, factor, shift: DVec3::ZERO };
            let (a, b) = (candidate.apply(cache_low.as_vec3()), candidate.apply(cache_high.as_vec3()));
            let near = |a: Vec3, b: DVec3| (a.as_dvec3() - b).abs().max_element() <= tolerance;
            if candidate != Self::SAME && near(a.min(b), rig_low) && near(a.max(b), rig_high) {
                candidates.push(candidate);
            }
        }
        candidates
    }

    /// Turns that take the box around `cache` to one as large as that around `rig`, but elsewhere,
    /// with the shift that remains. A mirror image at another place is too much to guess.
    pub fn shifted_candidates(rig: &[Vec3], cache: &[Vec3], tolerance: f64) -> Vec<Self> {
        let (rig_low, rig_high) = box_around(rig);
        let (cache_low, cache_high) = box_around(cache);
        let factor = usual_factor((rig_high - rig_low).length() / (cache_high - cache_low).length());
        if !factor.is_finite() || factor <= 0.0 {
            return Vec::new();
        }
        let turns = orientations().into_iter().filter(|&(axes, signs)| determinant(axes, signs) > 0.0);
        let placed = turns.filter_map(|(axes, signs)| {
            let turned = Self { axes, signs, factor, shift: DVec3::ZERO };
            let corner = |corner: DVec3| turned.apply_exactly(corner.to_array());
            let (a, b) = (corner(cache_low), corner(cache_high));
            let (from_low, from_high) = (rig_low - a.min(b), rig_high - a.max(b));
            let same_size = (from_low - from_high).abs().max_element() <= tolerance;
            let shift = 0.5 * (from_low + from_high);
            (same_size && shift.is_finite() && shift.length() > tolerance).then_some(Self { shift, ..turned })
        });
        placed.collect()
    }

    /// What is different, in words; nothing when all is the same.
    pub fn describe(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.axes != Self::SAME.axes || self.signs != Self::SAME.signs {
            let name = |axis: usize| {
                let sign = if self.signs[axis] < 0.0 { "−" } else { "" };
                format!("{sign}{}", ["x", "y", "z"][self.axes[axis]])
            };
            let mirrored = if self.is_mirror() { ", mirrored" } else { "" };
            parts.push(format!(
                "other axes (the rig's x, y, z are its {}, {}, {}{mirrored})",
                name(0),
                name(1),
                name(2)
            ));
        }
        if self.factor != 1.0 {
            parts.push(format!(
                "another unit (1 of it is {} of the rig's)",
                (self.factor * 1e6).round() / 1e6
            ));
        }
        if self.shift != DVec3::ZERO {
            let [x, y, z] = self.shift.to_array().map(|s| (s * 1e4).round() / 1e4);
            parts.push(format!("another place in all frames (it was moved by {x}, {y}, {z} to the rig)"));
        }
        if parts.is_empty() { None } else { Some(format!("the cache has {}", parts.join(" and "))) }
    }

    fn is_mirror(&self) -> bool {
        determinant(self.axes, self.signs) < 0.0
    }
}

/// All 48 signed permutations in order of likelihood.
fn orientations() -> Vec<([usize; 3], [f64; 3])> {
    let mut all = Vec::with_capacity(48);
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for bits in 0..8u8 {
            all.push((axes, [0, 1, 2].map(|axis| if bits >> axis & 1 == 1 { -1.0 } else { 1.0 })));
        }
    }
    let is = |found: &([usize; 3], [f64; 3]), axes: [usize; 3], signs: [f64; 3]| *found == (axes, signs);
    all.sort_by_key(|orientation| {
        let &(axes, signs) = orientation;
        if is(orientation, [0, 1, 2], [1.0; 3]) {
            0
        } else if is(orientation, [0, 2, 1], [1.0, 1.0, -1.0]) {
            1 // z up: (x, y, z) → (x, z, −y)
        } else if is(orientation, [0, 2, 1], [1.0, -1.0, 1.0]) {
            2 // the rig itself is z up and the cache is not
        } else if determinant(axes, signs) > 0.0 {
            3
        } else {
            4
        }
    });
    all
}

fn determinant(axes: [usize; 3], signs: [f64; 3]) -> f64 {
    let even = matches!(axes, [0, 1, 2] | [1, 2, 0] | [2, 0, 1]);
    signs.iter().product::<f64>() * if even { 1.0 } else { -1.0 }
}

/// Powers of ten and inches exactly, other factors as found.
fn usual_factor(found: f64) -> f64 {
    let usual = [1.0, 10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, 0.0254, 2.54, 25.4, 1.0 / 0.0254, 1.0 / 2.54];
    usual.into_iter().find(|usual| (found / usual - 1.0).abs() < SNAP).unwrap_or(found)
}

/// The smallest and the largest coordinates.
fn box_around(points: &[Vec3]) -> (DVec3, DVec3) {
    let around = |(low, high): (DVec3, DVec3), p: &Vec3| (low.min(p.as_dvec3()), high.max(p.as_dvec3()));
    points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z_up_centimetres_are_found_first() {
        let rig = [Vec3::new(0.1, 0.0, 0.3), Vec3::new(0.5, 1.7, 0.2), Vec3::new(-0.4, 0.9, -0.1)];
        // As a z-up program writes it: x, −z, y, times a hundred.
        let cache: Vec<Vec3> = rig.iter().map(|p| 100.0 * Vec3::new(p.x, -p.z, p.y)).collect();
        let candidates = AxesAndUnit::candidates(&rig, &cache, 1e-3);
        let found = candidates[1];
        assert_eq!((found.axes, found.signs, found.factor), ([0, 2, 1], [1.0, 1.0, -1.0], 0.01));
        for (rig, cache) in rig.iter().zip(&cache) {
            assert!(found.apply(*cache).distance(*rig) < 1e-6);
        }
        let words = found.describe().unwrap();
        assert!(
            words.contains("x, z, −y") && words.contains("0.01") && !words.contains("mirrored"),
            "{words}"
        );
        assert_eq!(AxesAndUnit::SAME.describe(), None);
    }

    #[test]
    fn a_turned_and_shifted_cache_is_brought_back() {
        let rig = [Vec3::new(0.1, 0.0, 0.3), Vec3::new(0.5, 1.7, 0.2), Vec3::new(-0.4, 0.9, -0.1)];
        let cache: Vec<Vec3> =
            rig.iter().map(|p| 100.0 * Vec3::new(p.x, -p.z, p.y) + Vec3::new(50.0, 0.0, -20.0)).collect();
        assert_eq!(AxesAndUnit::candidates(&rig, &cache, 1e-3), [AxesAndUnit::SAME]);
        let candidates = AxesAndUnit::shifted_candidates(&rig, &cache, 1e-3);
        // Half turns keep the box as well; the vertices decide.
        let brings_back =
            |c: &&AxesAndUnit| rig.iter().zip(&cache).all(|(r, &p)| c.apply(p).distance(*r) < 1e-5);
        let found = candidates.iter().find(brings_back).unwrap();
        assert!(found.shift.abs_diff_eq(DVec3::new(-0.5, 0.2, 0.0), 1e-6), "{}", found.shift);
        assert!(found.describe().unwrap().contains("another place in all frames (it was moved by -0.5, 0.2"));
        // A box at its own place is no shift.
        assert!(
            AxesAndUnit::shifted_candidates(&rig, &rig, 1e-3)
                .iter()
                .all(|c| c.axes != [0, 1, 2] || c.signs != [1.0; 3])
        );
    }

    #[test]
    fn there_are_48_orientations_half_of_them_mirrors() {
        let all = orientations();
        assert_eq!(all.len(), 48);
        assert_eq!(all.iter().filter(|(axes, signs)| determinant(*axes, *signs) < 0.0).count(), 24);
    }
}
