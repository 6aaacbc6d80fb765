//! The plane that halves a character.

use std::fmt;
use std::str::FromStr;

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

/// Why a text is no plane.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no mirror plane; write the axis it stands across and where on it, such as x or x=0.5")]
pub struct PlaneTextError {
    /// the text given
    pub text: String,
}

/// `x`, or `x=0.5`.
impl FromStr for MirrorPlane {
    type Err = PlaneTextError;

    fn from_str(text: &str) -> Result<Self, PlaneTextError> {
        let wrong = || PlaneTextError { text: text.to_string() };
        let (axis, centre) = text.split_once('=').unwrap_or((text, "0"));
        let axis = ["x", "y", "z"].iter().position(|name| *name == axis.trim()).ok_or_else(wrong)?;
        Ok(Self { axis, centre: centre.trim().parse().map_err(|_| wrong())? })
    }
}

impl fmt::Display for MirrorPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.axis_name(), self.centre)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_read_as_they_are_written() {
        for (text, axis, centre) in [("x", 0, 0.0), ("y=0.5", 1, 0.5), (" z = -2 ", 2, -2.0)] {
            let plane: MirrorPlane = text.parse().unwrap();
            assert_eq!(plane, MirrorPlane { axis, centre }, "{text}");
            assert_eq!(plane.to_string().parse::<MirrorPlane>().unwrap(), plane);
        }
        for text in ["w", "x=", "x=a", ""] {
            assert!(text.parse::<MirrorPlane>().is_err(), "{text}");
        }
    }
}
