//! The two deformations that show a style, in the poses of the target.

use std::borrow::Cow;
use std::sync::Arc;

use eigenskin_core::driver::features::geodesic_angle;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{ExampleSet, whole_motion};
use eigenskin_core::pose::{JointMotion, Pose};
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use glam::{DVec3, Vec3};
use serde::{Serialize, Serializer};

use super::StyleError;
use super::joints::JointMatch;
use crate::method::{FitError, Method, ParameterizationParams, fit_examples};

/// Poses of two characters are the same when no joint differs by more than this (radians; share of the
/// size; control values): ten times what one character is allowed, as both are rounded to `f32`.
pub const SAME_ANGLES: f64 = 1e-5;
/// Angles (radians) may leave the range of the examples by this much before that is said.
const BEYOND: f64 = 1e-3;
/// With fewer examples there is nothing to interpolate between.
const FEWEST_TO_INTERPOLATE: usize = 3;

/// How a pose of the target was found in a deformation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// it is the rest pose
    AtRest,
    /// the example with that index has the same joint angles
    Example(usize),
    /// the deformation was interpolated there
    Interpolated,
}

/// A pose in which a deformation had to be guessed.
#[derive(Debug, Clone, PartialEq)]
pub struct Extrapolation {
    /// the example of the target
    pub pose: String,
    /// the joint of the character that shows the style
    pub joint: String,
    /// how far it turns beyond all examples, radians
    pub beyond: f64,
}

impl Serialize for Extrapolation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            pose: &'a str,
            joint: &'a str,
            degrees: f64,
        }
        Told { pose: &self.pose, joint: &self.joint, degrees: self.beyond.to_degrees() }.serialize(serializer)
    }
}

/// A deformation in the poses of the target.
pub(super) struct Frames<'a> {
    /// `pose of the target`: pose of this character, shape
    pub shapes: Vec<(Cow<'a, Pose>, Cow<'a, [Vec3]>)>,
    /// `pose of the target`
    pub found: Vec<Found>,
    pub extrapolations: Vec<Extrapolation>,
}

impl<'a> Frames<'a> {
    /// The deformation `set` in the poses of `target`; `name` is what to call it.
    pub fn of(
        set: &'a ExampleSet,
        name: &'static str,
        target: &ExampleSet,
        joints: &JointMatch,
        progress: &dyn Progress,
    ) -> Result<Self, StyleError> {
        let rig = set.rig();
        let carried: Vec<Pose> =
            target.examples().iter().map(|e| joints.carry(rig, target.rig(), &e.pose)).collect();
        let found = found(set, &carried, progress)?;
        let missing: Vec<usize> = (0..found.len()).filter(|&f| found[f] == Found::Interpolated).collect();
        let mut interpolated = Vec::new();
        if let Some(&first) = missing.first() {
            let needed = FEWEST_TO_INTERPOLATE;
            if set.len() < needed {
                let (missing, found) = (missing.len(), set.len());
                return Err(StyleError::TooFewToInterpolate { set: name, missing, found, needed });
            }
            let poses: Vec<&Pose> = missing.iter().map(|&frame| &carried[frame]).collect();
            interpolated = shapes_at(set, &poses, progress).map_err(|error| match error {
                FitError::Cancelled(cancelled) => StyleError::Cancelled(cancelled),
                error => StyleError::Resampling {
                    set: name,
                    pose: target.examples()[first].name.clone(),
                    error: Box::new(error),
                },
            })?;
        }
        let ranges = Ranges::of(set);
        let extrapolations = missing
            .iter()
            .flat_map(|&frame| {
                ranges.beyond(rig, &carried[frame]).into_iter().map(move |(joint, beyond)| Extrapolation {
                    pose: target.examples()[frame].name.clone(),
                    joint: rig.skeleton().joints()[joint].name.clone(),
                    beyond,
                })
            })
            .collect();
        let mut interpolated = interpolated.into_iter();
        let shapes = carried
            .into_iter()
            .zip(&found)
            .map(|(pose, found)| match *found {
                Found::Example(index) => {
                    let example = &set.examples()[index];
                    (Cow::Borrowed(&example.pose), Cow::Borrowed(example.positions.as_slice()))
                }
                Found::AtRest => (Cow::Owned(rig.rest_pose()), Cow::Borrowed(set.rig().mesh().positions())),
                Found::Interpolated => {
                    (Cow::Owned(pose), Cow::Owned(interpolated.next().unwrap_or_default()))
                }
            })
            .collect();
        Ok(Self { shapes, found, extrapolations })
    }
}

/// Whether all joints and controls of `rig` are alike in two poses.
pub(super) fn same_angles(rig: &Rig, a: &Pose, b: &Pose) -> bool {
    let skeleton = rig.skeleton();
    let same = |a: JointMotion, b: JointMotion| {
        geodesic_angle(a.rotation, b.rotation) <= SAME_ANGLES
            && a.translation.distance(b.translation) <= SAME_ANGLES * rig.mesh().size()
    };
    (0..skeleton.joint_count()).all(|j| same(a.motion_of(skeleton, j), b.motion_of(skeleton, j)))
        && a.controls.iter().zip(&b.controls).all(|(a, b)| (a - b).abs() <= SAME_ANGLES)
}

fn found(set: &ExampleSet, carried: &[Pose], progress: &dyn Progress) -> Result<Vec<Found>, Cancelled> {
    let counted = Counted::new(progress, super::CAPTURING, carried.len());
    let (rig, rest) = (set.rig(), set.rig().rest_pose());
    let find = |pose: &Pose| {
        counted.next()?;
        let example = set.examples().iter().position(|example| same_angles(rig, &example.pose, pose));
        Ok(match example {
            Some(index) => Found::Example(index),
            None if same_angles(rig, &rest, pose) => Found::AtRest,
            None => Found::Interpolated,
        })
    };
    carried.iter().map(find).collect()
}

/// The deformation in other poses (Kim §3, Equation 2), on top of linear blending: what is left to be
/// interpolated is then small.
fn shapes_at(set: &ExampleSet, poses: &[&Pose], progress: &dyn Progress) -> Result<Vec<Vec<Vec3>>, FitError> {
    let params = ParameterizationParams {
        signals_per_vertex: None,
        normals: false,
        ..ParameterizationParams::default()
    };
    let method = Method::Parameterization(params);
    let fit = fit_examples(set, &BaseSkinning::LinearBlend.into(), &method, progress)?;
    let mut evaluator = Evaluator::new(Arc::new(fit.model));
    let shape = |pose: &&Pose| {
        let mut positions = vec![Vec3::ZERO; set.rig().vertex_count()];
        evaluator.evaluate(pose, &mut positions, None);
        progress.doing(super::CAPTURING)?;
        Ok(positions)
    };
    poses.iter().map(shape).collect()
}

/// How far each joint turns in the examples, rest counted.
struct Ranges {
    /// `joint`: lowest and highest of the rotation vector
    turns: Vec<(DVec3, DVec3)>,
}

impl Ranges {
    fn of(set: &ExampleSet) -> Self {
        let skeleton = set.rig().skeleton();
        let range = |joint: usize| {
            let turns = set.examples().iter().map(|e| e.pose.motion_of(skeleton, joint).shortest_turn());
            turns.fold((DVec3::ZERO, DVec3::ZERO), |(low, high), turn| (low.min(turn), high.max(turn)))
        };
        Self { turns: (0..skeleton.joint_count()).map(range).collect() }
    }

    /// The joints that a pose turns further than any example, and by how much.
    fn beyond(&self, rig: &Rig, pose: &Pose) -> Vec<(usize, f64)> {
        let outside = |(joint, &(low, high)): (usize, &(DVec3, DVec3))| {
            let turn = pose.motion_of(rig.skeleton(), joint).shortest_turn();
            let beyond = (turn - turn.clamp(low, high)).length();
            (beyond > BEYOND).then_some((joint, beyond))
        };
        self.turns.iter().enumerate().filter_map(outside).collect()
    }
}

/// How many poses of a set are neither rest nor one another.
pub(super) fn different_poses(set: &ExampleSet) -> usize {
    let rest = set.rig().rest_pose();
    let mut kept: Vec<&Pose> = vec![&rest];
    for example in set.examples() {
        if !kept.iter().any(|other| same_angles(set.rig(), other, &example.pose)) {
            kept.push(&example.pose);
        }
    }
    kept.len() - 1
}

/// The largest coordinate of the shapes and of where they stand: what their rounding is relative to.
pub(super) fn largest_coordinate(rig: &Rig, frames: &Frames) -> f64 {
    let largest = |(pose, positions): &(Cow<Pose>, Cow<[Vec3]>)| {
        let away = whole_motion(rig, pose).translation.abs().max_element();
        let shape = positions.iter().map(|p| p.abs().max_element()).fold(0.0, f32::max);
        away.max(f64::from(shape))
    };
    frames.shapes.iter().map(largest).fold(0.0, f64::max)
}
