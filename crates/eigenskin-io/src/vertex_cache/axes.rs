//! Other axes and other units: which turn and which factor take a cache to the rig.

use eigenskin::glam::{DVec3, Vec3};

/// A signed permutation of the axes and a uniform factor: coordinate `i` of the rig is
/// `signs[i] · factor ·` coordinate `axes[i]` of the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxesAndUnit {
    /// `rig axis` → cache axis
    pub axes: [usize; 3],
    /// `rig axis`, +1 or −1
    pub signs: [f64; 3],
    /// rig units per cache unit
    pub factor: f64,
}

/// Factors this near to a usual one are that one.
const SNAP: f64 = 1e-4;

impl AxesAndUnit {
    /// The rig's own axes and unit.
    pub const SAME: Self = Self { axes: [0, 1, 2], signs: [1.0; 3], factor: 1.0 };

    /// A point of the cache in the rig's axes and unit.
    pub fn apply(&self, point: Vec3) -> Vec3 {
        let from = point.as_dvec3().to_array();
        let along = |axis: usize| self.signs[axis] * self.factor * from[self.axes[axis]];
        DVec3::new(along(0), along(1), along(2)).as_vec3()
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
            let candidate = Self { axes, signs, factor };
            let (a, b) = (candidate.apply(cache_low.as_vec3()), candidate.apply(cache_high.as_vec3()));
            let near = |a: Vec3, b: DVec3| (a.as_dvec3() - b).abs().max_element() <= tolerance;
            if candidate != Self::SAME && near(a.min(b), rig_low) && near(a.max(b), rig_high) {
                candidates.push(candidate);
            }
        }
        candidates
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
    fn there_are_48_orientations_half_of_them_mirrors() {
        let all = orientations();
        assert_eq!(all.len(), 48);
        assert_eq!(all.iter().filter(|(axes, signs)| determinant(*axes, *signs) < 0.0).count(), 24);
    }
}
