//! From where, and when.

use std::fmt;
use std::str::FromStr;

use eigenskin_core::glam::{Quat, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_gltf::RigFile;
use eigenskin_report::picture::View;
use serde::{Deserialize, Serialize};

use crate::pose_source::{PoseSourceError, clip_named};

/// From where to look: `front`, `back`, `left`, `right`, `top`, `bottom`, or a direction `X,Y,Z` from the
/// character toward the eye.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ViewDirection(pub(super) Vec3);

/// Text that is no direction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewDirectionError {
    /// Neither a side nor three numbers.
    #[error("{text:?} is not a view; give front, back, left, right, top, bottom, or a direction X,Y,Z")]
    Unknown {
        /// the text given
        text: String,
    },
    /// Numbers that point nowhere.
    #[error("{text:?} is not a view; a direction has three finite numbers that are not all zero")]
    NoDirection {
        /// the text given
        text: String,
    },
}

impl FromStr for ViewDirection {
    type Err = ViewDirectionError;

    fn from_str(text: &str) -> Result<Self, ViewDirectionError> {
        Ok(Self(match text {
            "front" => Vec3::Z,
            "back" => -Vec3::Z,
            "right" => Vec3::X,
            "left" => -Vec3::X,
            // Not quite along the axis that is up in the picture.
            "top" => Vec3::new(0.0, 1.0, 1e-3),
            "bottom" => Vec3::new(0.0, -1.0, 1e-3),
            _ => {
                let numbers: Vec<f32> =
                    text.split(',').filter_map(|number| number.trim().parse().ok()).collect();
                let &[x, y, z] = &numbers[..] else {
                    return Err(ViewDirectionError::Unknown { text: text.to_string() });
                };
                let direction = Vec3::new(x, y, z);
                if !(direction.is_finite() && direction.length() > 0.0) {
                    return Err(ViewDirectionError::NoDirection { text: text.to_string() });
                }
                direction
            }
        }))
    }
}

impl fmt::Display for ViewDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Vec3 { x, y, z } = self.0;
        write!(f, "{x},{y},{z}")
    }
}

impl TryFrom<String> for ViewDirection {
    type Error = ViewDirectionError;

    fn try_from(text: String) -> Result<Self, ViewDirectionError> {
        text.parse()
    }
}

impl From<ViewDirection> for String {
    fn from(direction: ViewDirection) -> Self {
        direction.to_string()
    }
}

/// A view turned about what is up, by a share of a whole turn.
pub fn turned(view: &View, share: f32) -> View {
    let turn = Quat::from_axis_angle(view.up.normalize_or(Vec3::Y), share * std::f32::consts::TAU);
    View { from_direction: turn * view.from_direction, ..*view }
}

/// Points all over the smallest box-centred sphere around some points: what to frame, so that a turning
/// shape stands still.
pub fn sphere_around<'a>(points: impl Iterator<Item = &'a Vec3> + Clone) -> Vec<Vec3> {
    let low = points.clone().copied().fold(Vec3::INFINITY, Vec3::min);
    let high = points.clone().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
    let centre = 0.5 * (low + high);
    let radius = points.map(|point| point.distance(centre)).fold(0.0, f32::max);
    let ring = (0..24).map(|i| Quat::from_rotation_y(i as f32 * std::f32::consts::TAU / 24.0));
    ring.flat_map(|turn| {
        (0..=12).map(move |i| {
            let tilt = std::f32::consts::PI * i as f32 / 12.0;
            centre + radius * (turn * Vec3::new(tilt.sin(), tilt.cos(), 0.0))
        })
    })
    .collect()
}

/// Poses of a clip, `rate` to a second.
pub fn clip_poses(file: &RigFile, name: &str, rate: u16) -> Result<Vec<Pose>, PoseSourceError> {
    let clip = clip_named(file, name)?;
    let count = (clip.duration() * f64::from(rate)).round().max(1.0) as usize;
    Ok((0..count).map(|frame| file.sample(clip, frame as f64 / f64::from(rate))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_have_names_or_numbers() {
        let direction = |text: &str| text.parse::<ViewDirection>();
        assert_eq!(direction("left").unwrap().0, -Vec3::X);
        let tilted = direction("0.5, -1,2").unwrap();
        assert_eq!(tilted.0, Vec3::new(0.5, -1.0, 2.0));
        assert_eq!(direction(&tilted.to_string()).unwrap(), tilted);
        for bad in ["up", "1,2", "0,0,0", "1,nan,0"] {
            assert!(direction(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn turntables_come_back_and_spheres_hold_everything() {
        let view = View { from_direction: Vec3::new(1.0, 0.5, 0.0), ..View::default() };
        assert!(turned(&view, 1.0).from_direction.distance(view.from_direction) < 1e-5);
        assert!(turned(&view, 0.25).from_direction.distance(Vec3::new(0.0, 0.5, -1.0)) < 1e-6);
        let points = [Vec3::ZERO, Vec3::new(2.0, 0.0, 0.0)];
        for point in sphere_around(points.iter()) {
            assert!((point.distance(Vec3::X) - 1.0).abs() < 1e-5);
        }
    }
}
