//! The plane that halves a character.

use glam::{DAffine3, DMat3, DVec3, Vec3};
use serde::{Deserialize, Serialize};

/// A plane across one of the axes of the rest shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MirrorPlane {
    /// the axis it stands across: 0, 1, 2 for x, y, z
    pub axis: usize,
    /// where on that axis
    pub centre: f64,
}

impl MirrorPlane {
    /// A point on the other side.
    pub fn point(&self, at: DVec3) -> DVec3 {
        let mut mirrored = at.to_array();
        mirrored[self.axis] = self.across(mirrored[self.axis]);
        DVec3::from_array(mirrored)
    }

    /// A point of a shape on the other side. Through the origin this only changes a sign, so twice
    /// gives back the same bits; elsewhere twice may differ in the last one.
    pub fn position(&self, at: Vec3) -> Vec3 {
        let mut mirrored = at.to_array();
        mirrored[self.axis] = self.across(f64::from(mirrored[self.axis])) as f32;
        Vec3::from_array(mirrored)
    }

    /// A direction seen in the mirror.
    pub fn direction(&self, direction: Vec3) -> Vec3 {
        let mut mirrored = direction.to_array();
        mirrored[self.axis] = -mirrored[self.axis];
        Vec3::from_array(mirrored)
    }

    /// The mirror as a map of space; its own inverse.
    pub fn reflection(&self) -> DAffine3 {
        let mut signs = [1.0; 3];
        signs[self.axis] = -1.0;
        let mut shift = [0.0; 3];
        shift[self.axis] = 2.0 * self.centre;
        DAffine3 {
            matrix3: DMat3::from_diagonal(DVec3::from_array(signs)),
            translation: DVec3::from_array(shift),
        }
    }

    /// "x", "y" or "z".
    pub fn axis_name(&self) -> &'static str {
        ["x", "y", "z"][self.axis]
    }

    pub(super) fn across(&self, value: f64) -> f64 {
        if self.centre == 0.0 { -value } else { 2.0 * self.centre - value }
    }

    /// The plane between pairs of points, and how far the pairs are from being mirrored by it
    /// (median); the axis along which they lie apart. `None` without pairs, or when no axis separates
    /// them.
    pub(super) fn between(pairs: &[(DVec3, DVec3)], size: f64) -> Option<(Self, f64)> {
        (0..3)
            .filter_map(|axis| {
                let apart = median(pairs.iter().map(|(a, b)| (a[axis] - b[axis]).abs()))?;
                let centre = median(pairs.iter().map(|(a, b)| 0.5 * (a[axis] + b[axis])))?;
                let plane = Self { axis, centre };
                let miss = median(pairs.iter().map(|(a, b)| plane.point(*a).distance(*b)))?;
                (apart > 1e-3 * size).then_some((plane, miss))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
