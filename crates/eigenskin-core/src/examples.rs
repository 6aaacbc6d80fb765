//! Examples: observed shapes of a rig in known poses (the papers' set P).

use std::borrow::Cow;
use std::sync::Arc;

use glam::{DAffine3, Vec3};

use crate::deformers::Base;
use crate::pose::{JointMotion, Pose};
use crate::rig::{Rig, RigError};

/// One observed shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// unique within the set, not empty
    pub name: String,
    /// where the joints and controls were
    pub pose: Pose,
    /// the observed shape v^p, `vertex`
    pub positions: Vec<Vec3>,
    /// observed normals, `vertex`; computed from the positions where missing
    pub normals: Option<Vec<Vec3>>,
    /// the shape pulled back to rest through a black box, when that was done. Closed forms are
    /// inverted when they are needed
    pub inverted: Option<Inverted>,
}

/// An example pulled back to rest through a chain of deformers (Xian §5.3).
#[derive(Debug, Clone, PartialEq)]
pub struct Inverted {
    /// what it was pulled through
    pub base: Base,
    /// d, `vertex`: what to add to the rest shape
    pub deltas: Vec<Vec3>,
    /// w, `vertex`: what the deformers cannot reach, added after them, in the first root's axes;
    /// empty when there is nothing
    pub residuals: Vec<Vec3>,
}

/// Examples of one rig, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleSet {
    rig: Arc<Rig>,
    examples: Vec<Example>,
}

/// What can be wrong with examples.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ExamplesError {
    /// Nothing to learn from.
    #[error("the example set is empty; give at least one posed shape")]
    Empty,
    /// Examples are identified by name.
    #[error(
        "example {index} has an empty name or the name {name:?} of an earlier one; give each its own name"
    )]
    Name {
        /// index of the example
        index: usize,
        /// its name
        name: String,
    },
    /// Shape of another mesh.
    #[error(
        "example {name:?} has {found} vertices, the rig has {expected}; export it with the rig's own topology"
    )]
    VertexCount {
        /// the example at fault
        name: String,
        /// vertices found
        found: usize,
        /// vertices expected
        expected: usize,
    },
    /// Pose of another skeleton.
    #[error("example {name:?} poses {found} joints, the rig has {expected}; export the pose of this rig")]
    JointCount {
        /// the example at fault
        name: String,
        /// joints found
        found: usize,
        /// joints expected
        expected: usize,
    },
    /// Values for other controls.
    #[error("example {name:?} gives {found} control values, the rig has {expected} controls")]
    ControlCount {
        /// the example at fault
        name: String,
        /// values found
        found: usize,
        /// controls expected
        expected: usize,
    },
    /// NaN or infinity in the shape.
    #[error(
        "example {name:?} has a position or normal at vertex {vertex} that is not a finite number; export it again"
    )]
    NotFinite {
        /// the example at fault
        name: String,
        /// the vertex at fault
        vertex: usize,
    },
    /// NaN, infinity or a collapsed joint in the pose.
    #[error(
        "example {name:?} has a transform of joint {joint:?} that is not finite or has no inverse; correct the pose"
    )]
    BadTransform {
        /// the example at fault
        name: String,
        /// the joint at fault
        joint: String,
    },
    /// NaN or infinity in a control.
    #[error("example {name:?} gives control {control:?} a value that is not a finite number")]
    BadControl {
        /// the example at fault
        name: String,
        /// the control at fault
        control: String,
    },
    /// The rest pose with another shape than the rest shape.
    #[error(
        "example {name:?} is at the rest pose, but vertex {vertex} is {distance:.4} away from rest; correct its pose or leave it out"
    )]
    MovedAtRest {
        /// the example at fault
        name: String,
        /// the vertex furthest from rest
        vertex: usize,
        /// by how much
        distance: f64,
    },
    /// One pose cannot have two shapes.
    #[error(
        "examples {first:?} and {second:?} have the same pose, but vertex {vertex} differs by {distance:.4}; leave one out, correct its pose, or allow a compromise with smoothing"
    )]
    SamePose {
        /// the earlier example
        first: String,
        /// the later example
        second: String,
        /// the vertex that differs most
        vertex: usize,
        /// by how much
        distance: f64,
    },
    /// The set belongs to another rig.
    #[error("the example set does not fit the rig: {0}")]
    OtherRig(RigError),
}

/// An example that says nothing new.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedExample {
    /// the example left out
    pub name: String,
    /// the example that already says it; `None` is the rest shape
    pub same_as: Option<String>,
    /// largest difference of the two shapes
    pub distance: f64,
}

/// Poses are the same when no feature differs by more than this (radians; share of the size).
pub const SAME_POSE: f64 = 1e-6;
/// Shapes are the same when no vertex differs by more than this share of the size.
pub const SAME_SHAPE: f64 = 1e-4;

impl ExampleSet {
    /// Checks examples against the rig.
    pub fn new(rig: Arc<Rig>, examples: Vec<Example>) -> Result<Self, ExamplesError> {
        if examples.is_empty() {
            return Err(ExamplesError::Empty);
        }
        let mut names = std::collections::HashSet::new();
        for (index, example) in examples.iter().enumerate() {
            if !names.insert(example.name.as_str()) {
                return Err(ExamplesError::Name { index, name: example.name.clone() });
            }
            check_example(&rig, example).map_err(|error| match error {
                ExamplesError::Name { name, .. } => ExamplesError::Name { index, name },
                other => other,
            })?;
        }
        Ok(Self { rig, examples })
    }

    /// The rig all examples belong to.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// The examples, in the order given.
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.examples.len()
    }

    /// Never: an empty set is refused.
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }

    /// The examples at the given indices, in that order.
    pub fn select(&self, indices: &[usize]) -> Result<Self, ExamplesError> {
        Self::new(self.rig.clone(), indices.iter().map(|&index| self.examples[index].clone()).collect())
    }

    /// The same examples for `rig`, which must be the same character (joints may be in another
    /// order and refer to other joints).
    pub fn for_rig(self, rig: &Arc<Rig>) -> Result<Self, ExamplesError> {
        let correspondence = rig.correspondence_in(&self.rig).map_err(ExamplesError::OtherRig)?;
        let examples = self
            .examples
            .into_iter()
            .map(|example| Example { pose: correspondence.pose(&example.pose), ..example })
            .collect();
        Self::new(rig.clone(), examples)
    }

    /// The normals of one example: the observed ones, or those of its shape.
    pub fn normals_of(&self, index: usize) -> Vec<Vec3> {
        let example = &self.examples[index];
        example.normals.clone().unwrap_or_else(|| self.rig.mesh().normals_of(&example.positions))
    }

    /// The set made fit for interpolation: one shape per pose, rest left to the rig.
    ///
    /// An example at the rest pose that keeps the rest shape, and repetitions of an example, are
    /// left out and listed. With `allow_compromise` (smoothing), equal poses may have different
    /// shapes; without, that is an error.
    pub fn for_training(&self, allow_compromise: bool) -> Result<(Self, Vec<MergedExample>), ExamplesError> {
        let all: Vec<&Example> = self.examples.iter().collect();
        let (kept, merged) = distinct_examples(&self.rig, &all, allow_compromise)?;
        Ok((self.select(&kept)?, merged))
    }
}

/// The rule of [`ExampleSet::for_training`] for examples that are not in one set: which of them are
/// kept, rising, and which say nothing new.
pub fn distinct_examples(
    rig: &Rig,
    examples: &[&Example],
    allow_compromise: bool,
) -> Result<(Vec<usize>, Vec<MergedExample>), ExamplesError> {
    let poses: Vec<(&str, &Pose)> = examples.iter().map(|e| (e.name.as_str(), &e.pose)).collect();
    distinct_poses(rig, &poses, allow_compromise, |index| Ok(Cow::Borrowed(&examples[index].positions)))
}

/// The same rule for shapes that are fetched when two poses, or a pose and rest, are the same.
pub fn distinct_poses<'a, E: From<ExamplesError>>(
    rig: &Rig,
    poses: &[(&str, &Pose)],
    allow_compromise: bool,
    mut shape: impl FnMut(usize) -> Result<Cow<'a, [Vec3]>, E>,
) -> Result<(Vec<usize>, Vec<MergedExample>), E> {
    let limit = SAME_SHAPE * rig.mesh().size();
    let rest = Motions::of(rig, &rig.rest_pose());
    let mut kept: Vec<(usize, Motions)> = Vec::new();
    let mut merged = Vec::new();
    for (index, &(name, pose)) in poses.iter().enumerate() {
        let motions = Motions::of(rig, pose);
        let name = name.to_string();
        if motions.same_as(&rest) {
            // The character may stand elsewhere; its rest shape does too.
            let at_rest = moved(rig.mesh().positions(), whole_motion(rig, pose));
            let (vertex, distance) = furthest(&at_rest, &shape(index)?);
            if distance > limit {
                return Err(ExamplesError::MovedAtRest { name, vertex, distance }.into());
            }
            merged.push(MergedExample { name, same_as: None, distance });
            continue;
        }
        let twin = kept.iter().find(|(_, other)| other.same_as(&motions)).map(|&(twin, _)| twin);
        if let Some(twin) = twin {
            let (first, first_pose) = (poses[twin].0.to_string(), poses[twin].1);
            let brought = whole_motion(rig, pose) * whole_motion(rig, first_pose).inverse();
            let (vertex, distance) = furthest(&moved(&shape(twin)?, brought), &shape(index)?);
            if distance <= limit {
                merged.push(MergedExample { name, same_as: Some(first), distance });
                continue;
            }
            if !allow_compromise {
                return Err(ExamplesError::SamePose { first, second: name, vertex, distance }.into());
            }
        }
        kept.push((index, motions));
    }
    Ok((kept.into_iter().map(|(index, _)| index).collect(), merged))
}

/// How the character as a whole has moved: the first root, `world from rest`.
pub fn whole_motion(rig: &Rig, pose: &Pose) -> DAffine3 {
    let skeleton = rig.skeleton();
    match skeleton.first_root() {
        Some(root) => pose.world_from_joint[root] * skeleton.joints()[root].joint_from_rest,
        None => DAffine3::IDENTITY,
    }
}

/// The motion of every joint and the value of every control.
struct Motions {
    joints: Vec<JointMotion>,
    controls: Vec<f64>,
    size: f64,
}

impl Motions {
    fn of(rig: &Rig, pose: &Pose) -> Self {
        let skeleton = rig.skeleton();
        Self {
            joints: (0..skeleton.joint_count()).map(|joint| pose.motion_of(skeleton, joint)).collect(),
            controls: pose.controls.clone(),
            size: rig.mesh().size(),
        }
    }

    fn same_as(&self, other: &Self) -> bool {
        let same_joint = |a: &JointMotion, b: &JointMotion| {
            crate::driver::features::geodesic_angle(a.rotation, b.rotation) <= SAME_POSE
                && a.translation.distance(b.translation) <= SAME_POSE * self.size
        };
        self.joints.iter().zip(&other.joints).all(|(a, b)| same_joint(a, b))
            && self.controls.iter().zip(&other.controls).all(|(a, b)| (a - b).abs() <= SAME_POSE)
    }
}

fn moved(positions: &[Vec3], motion: DAffine3) -> Vec<Vec3> {
    positions.iter().map(|p| motion.transform_point3(p.as_dvec3()).as_vec3()).collect()
}

/// The vertex where two shapes differ most, and by how much.
fn furthest(a: &[Vec3], b: &[Vec3]) -> (usize, f64) {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from(a.distance(*b)))
        .enumerate()
        .fold((0, 0.0), |worst, next| if next.1 > worst.1 { next } else { worst })
}

/// What can be wrong with one example by itself.
pub fn check_example(rig: &Rig, example: &Example) -> Result<(), ExamplesError> {
    let name = || example.name.clone();
    if example.name.is_empty() {
        return Err(ExamplesError::Name { index: 0, name: name() });
    }
    let vertices =
        |found: usize| ExamplesError::VertexCount { name: name(), found, expected: rig.vertex_count() };
    if example.positions.len() != rig.vertex_count() {
        return Err(vertices(example.positions.len()));
    }
    if let Some(normals) = example.normals.as_ref().filter(|normals| normals.len() != rig.vertex_count()) {
        return Err(vertices(normals.len()));
    }
    let joints = rig.skeleton().joints();
    if example.pose.world_from_joint.len() != joints.len() {
        let found = example.pose.world_from_joint.len();
        return Err(ExamplesError::JointCount { name: name(), found, expected: joints.len() });
    }
    if example.pose.controls.len() != rig.controls().len() {
        let found = example.pose.controls.len();
        return Err(ExamplesError::ControlCount { name: name(), found, expected: rig.controls().len() });
    }
    let inverted = example.inverted.iter();
    let fields = inverted.flat_map(|i| [&i.deltas, &i.residuals]).filter(|field| !field.is_empty());
    if let Some(field) = fields.clone().find(|field| field.len() != rig.vertex_count()) {
        return Err(vertices(field.len()));
    }
    let shape = example.positions.iter().chain(example.normals.iter().flatten()).chain(fields.flatten());
    if let Some(entry) = shape.clone().position(|v| !v.is_finite()) {
        return Err(ExamplesError::NotFinite { name: name(), vertex: entry % rig.vertex_count() });
    }
    for (transform, joint) in example.pose.world_from_joint.iter().zip(joints) {
        let invertible = transform.matrix3.determinant().abs() > 1e-30;
        if !transform.is_finite() || !invertible {
            return Err(ExamplesError::BadTransform { name: name(), joint: joint.name.clone() });
        }
    }
    for (value, control) in example.pose.controls.iter().zip(rig.controls()) {
        if !value.is_finite() {
            return Err(ExamplesError::BadControl { name: name(), control: control.name.clone() });
        }
    }
    Ok(())
}
