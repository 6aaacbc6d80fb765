//! Built-in characters, made by code: two bars, an arm and a hand, each with the ranges its joints
//! move in, poses to train and to validate with, and for tests a shape for every pose ([`truth`]).
//!
//! All joints have the same kind of axes: x is the axis they bend about, y points out of the back
//! of the limb (bars: along the bar), and limbs run along −z, as in WebXR hand input.

mod arm;
mod bar;
mod edge_collapse;
mod hand;
mod implicit;
mod meshing;
mod mouth;
mod relaxation;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
pub mod truth;
#[cfg(test)]
mod truth_tests;
pub mod tube;
pub mod two_arms;

use std::sync::Arc;

use glam::{DAffine3, DMat3, DVec3};

use eigenskin_core::articulation::{Articulation, DegreeOfFreedom, NamedAngles, NamedPose};
use eigenskin_core::bone_distance::BoneDistanceError;
use eigenskin_core::examples::ExamplesError;
use eigenskin_core::mesh::MeshError;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{Rig, RigError};
use eigenskin_core::skeleton::{Joint, SkeletonError};
use eigenskin_core::weights::WeightsError;

pub use arm::arm;
pub use bar::{cylinder, square_bar};
pub use hand::{hand, hand_with_fingers};
pub use mouth::mouth_expressions;

use truth::Flesh;

/// A rig with the ranges of its joints.
#[derive(Debug, Clone)]
pub struct Character {
    /// mesh, joints and skin weights
    pub rig: Arc<Rig>,
    /// what can be turned, in the order of the angles of a pose
    pub degrees_of_freedom: Vec<DegreeOfFreedom>,
    flesh: Flesh,
    /// poses with a name, as angles: `degree of freedom`
    named_angles: Vec<(&'static str, Vec<f64>)>,
    /// key poses of the demo motion: seconds, and angles per `degree of freedom`
    motion_keys: Vec<(f64, Vec<f64>)>,
}

/// Why a character cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CharacterError {
    /// A closed surface has an even number of triangles, and shapes need a minimum.
    #[error("a skin of {triangles} triangles cannot be built; ask for an even number of at least {fewest}")]
    TriangleCount {
        /// triangles asked for
        triangles: usize,
        /// the smallest number that keeps the shape
        fewest: usize,
    },
    /// A cylinder needs a round.
    #[error("a ring of {ring_vertices} vertices is no ring; ask for at least 3")]
    RingVertices {
        /// vertices asked for
        ring_vertices: usize,
    },
    /// The mesh was refused.
    #[error("the character's mesh is not valid: {0}")]
    Mesh(#[from] MeshError),
    /// The joints were refused.
    #[error("the character's skeleton is not valid: {0}")]
    Skeleton(#[from] SkeletonError),
    /// The skin weights were refused.
    #[error("the character's skin weights are not valid: {0}")]
    Weights(#[from] WeightsError),
    /// The skin weights could not be made.
    #[error("the character has no skin weights: {0}")]
    BoneDistance(#[from] BoneDistanceError),
    /// The parts do not fit.
    #[error("the character's rig is not valid: {0}")]
    Rig(#[from] RigError),
    /// Its examples were refused.
    #[error("the character's examples are not valid: {0}")]
    Examples(#[from] ExamplesError),
}

/// Frames per second of the demo motion.
const MOTION_RATE: f64 = 30.0;

impl Character {
    /// What its joints can do.
    pub fn articulation(&self) -> Articulation<'_> {
        Articulation { rig: &self.rig, degrees: &self.degrees_of_freedom }
    }

    /// The pose with these angles in radians, one per degree of freedom; missing ones are zero.
    pub fn pose(&self, angles: &[f64]) -> Pose {
        self.articulation().pose(angles)
    }

    /// Each degree of freedom alone, in `per_degree` equal steps from rest to the ends of its range
    /// (both ends share the steps when rest lies between them). Rest itself is not among them.
    pub fn single_joint_poses(&self, per_degree: usize) -> Vec<NamedPose> {
        let articulation = self.articulation();
        articulation.poses(&articulation.sweeps(per_degree, 0.0))
    }

    /// The angles half-way between those of [`Self::single_joint_poses`] and their neighbours
    /// towards rest: poses to validate with.
    pub fn single_joint_poses_between(&self, per_degree: usize) -> Vec<NamedPose> {
        let articulation = self.articulation();
        articulation.poses(&articulation.sweeps(per_degree, 0.5))
    }

    /// The character's own named poses (the hand's fist, point, pinch…), then `count` random ones
    /// that turn all joints within their ranges.
    pub fn multi_joint_poses(&self, count: usize, seed: u64) -> Vec<NamedPose> {
        let articulation = self.articulation();
        articulation
            .poses(&self.named_angles())
            .into_iter()
            .chain(articulation.poses(&articulation.random(count, 1.0, seed)))
            .collect()
    }

    /// Poses that have a name of their own (the hand's fist, point, pinch…).
    pub fn named_angles(&self) -> Vec<NamedAngles> {
        let named = |(name, angles): &(&str, Vec<f64>)| NamedAngles {
            name: (*name).to_string(),
            angles: angles.clone(),
        };
        self.named_angles.iter().map(named).collect()
    }

    /// A short motion that shows what the character can do: times in seconds, 30 a second, and the
    /// pose at each.
    pub fn demo_motion(&self) -> (Vec<f64>, Vec<Pose>) {
        let end = self.motion_keys.last().map_or(0.0, |key| key.0);
        let frames = (end * MOTION_RATE).round() as usize;
        let times: Vec<f64> = (0..=frames).map(|frame| frame as f64 / MOTION_RATE).collect();
        let poses = times.iter().map(|&time| self.pose(&self.motion_angles(time))).collect();
        (times, poses)
    }

    /// Angles between key poses, with no speed at the keys.
    fn motion_angles(&self, time: f64) -> Vec<f64> {
        let next = self.motion_keys.partition_point(|key| key.0 <= time);
        if next == 0 {
            return Vec::new();
        }
        let (from, to) =
            (&self.motion_keys[next - 1], &self.motion_keys[next.min(self.motion_keys.len() - 1)]);
        let share = smoothstep((time - from.0) / (to.0 - from.0).max(1e-9));
        from.1.iter().zip(&to.1).map(|(a, b)| a + share * (b - a)).collect()
    }
}

/// 3x² − 2x³ within [0, 1].
fn smoothstep(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// A joint at `at` whose limb runs along `direction`, with its back as near to `back` as that allows.
fn joint(name: &str, parent: Option<usize>, at: DVec3, direction: DVec3, back: DVec3) -> Joint {
    let z = -direction.normalize();
    let x = back.cross(z).normalize();
    let rest_from_joint = DAffine3 { matrix3: DMat3::from_cols(x, z.cross(x), z), translation: at };
    Joint { name: name.to_string(), parent, reference: None, joint_from_rest: rest_from_joint.inverse() }
}

/// A degree of freedom with its range in degrees.
fn degree(joint: usize, axis: DVec3, lowest: f64, highest: f64) -> DegreeOfFreedom {
    DegreeOfFreedom { joint, axis, lowest: lowest.to_radians(), highest: highest.to_radians() }
}

/// One key a second: each degree of freedom in turn to its furthest end and back to rest.
fn one_after_the_other(degrees: &[DegreeOfFreedom]) -> Vec<(f64, Vec<f64>)> {
    let mut keys = vec![(0.0, vec![0.0; degrees.len()])];
    for (index, degree) in degrees.iter().enumerate() {
        let mut angles = vec![0.0; degrees.len()];
        angles[index] = if -degree.lowest > degree.highest { degree.lowest } else { degree.highest };
        keys.push((2.0 * index as f64 + 1.0, angles));
        keys.push((2.0 * index as f64 + 2.0, vec![0.0; degrees.len()]));
    }
    keys
}

/// Its program is tested with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
