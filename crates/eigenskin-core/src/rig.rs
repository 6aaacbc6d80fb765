//! A character: mesh, skeleton, skin weights and named controls.

use glam::DAffine3;

use crate::mesh::{Mesh, position_bits};
use crate::pose::Pose;
use crate::skeleton::Skeleton;
use crate::vertex_groups::VertexGroups;
use crate::weights::SkinWeights;

/// A named scalar beside the joints ("smile", "heavy").
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// unique, not empty
    pub name: String,
    /// its value at rest
    pub default: f64,
}

/// A checked rig. Without joints it is a shape that only its controls deform.
#[derive(Debug, Clone, PartialEq)]
pub struct Rig {
    mesh: Mesh,
    skeleton: Skeleton,
    weights: SkinWeights,
    controls: Vec<Control>,
}

/// How the parts of a rig can fail to fit together, or two rigs to be the same.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RigError {
    /// Weights belong to another mesh.
    #[error("there are skin weights for {weights} vertices, but the mesh has {vertices}")]
    VertexCount {
        /// vertices with weights
        weights: usize,
        /// vertices of the mesh
        vertices: usize,
    },
    /// Controls are identified by name in files.
    #[error("control {name:?} is empty or given twice; give each control its own name")]
    ControlName {
        /// the name at fault
        name: String,
    },
    /// A default that is not a number.
    #[error("control {name:?} has a default that is not a finite number")]
    ControlDefault {
        /// the control at fault
        name: String,
    },
    /// Another number of vertices than the other rig.
    #[error("it has {found} vertices, the rig has {expected}; give the set that was made for this rig")]
    OtherVertexCount {
        /// vertices found
        found: usize,
        /// vertices expected
        expected: usize,
    },
    /// Another rest shape.
    #[error(
        "vertex {vertex} is {distance:.3} away from the rig's rest position; give the set that was made for this rig"
    )]
    OtherRestShape {
        /// the vertex that differs most
        vertex: usize,
        /// by how much
        distance: f64,
    },
    /// A joint of the rig is missing.
    #[error(
        "it has no joint {name:?}, which the rig has; give the set that was made for this rig, or rename the joint"
    )]
    MissingJoint {
        /// the missing joint
        name: String,
    },
    /// A joint rests elsewhere.
    #[error(
        "joint {name:?} rests {distance:.3} away from where the rig has it; give the set that was made for this rig"
    )]
    OtherBind {
        /// the joint that differs
        name: String,
        /// by how much
        distance: f64,
    },
    /// A control of the rig is missing.
    #[error(
        "it has no control {name:?}, which the rig has; give the set that was made for this rig, or rename the control"
    )]
    MissingControl {
        /// the missing control
        name: String,
    },
}

/// Rest shapes and binds closer than this share of the size are the same.
const SAME_RIG: f64 = 1e-4;

impl Rig {
    /// Puts checked parts together.
    pub fn new(
        mesh: Mesh,
        skeleton: Skeleton,
        weights: SkinWeights,
        controls: Vec<Control>,
    ) -> Result<Self, RigError> {
        if weights.vertex_count() != mesh.vertex_count() {
            return Err(RigError::VertexCount {
                weights: weights.vertex_count(),
                vertices: mesh.vertex_count(),
            });
        }
        for (index, control) in controls.iter().enumerate() {
            if control.name.is_empty() || controls[..index].iter().any(|c| c.name == control.name) {
                return Err(RigError::ControlName { name: control.name.clone() });
            }
            if !control.default.is_finite() {
                return Err(RigError::ControlDefault { name: control.name.clone() });
            }
        }
        Ok(Self { mesh, skeleton, weights, controls })
    }

    /// The rest shape.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The joints.
    pub fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// The skin weights.
    pub fn weights(&self) -> &SkinWeights {
        &self.weights
    }

    /// The named controls.
    pub fn controls(&self) -> &[Control] {
        &self.controls
    }

    /// Number of vertices, seam duplicates counted.
    pub fn vertex_count(&self) -> usize {
        self.mesh.vertex_count()
    }

    /// Joints at rest, controls at their defaults.
    pub fn rest_pose(&self) -> Pose {
        Pose::rest(&self.skeleton, self.controls.iter().map(|c| c.default).collect())
    }

    /// The same rig with other reference joints (`joint`).
    pub fn with_references(
        &self,
        references: &[Option<usize>],
    ) -> Result<Self, crate::skeleton::SkeletonError> {
        Ok(Self { skeleton: self.skeleton.with_references(references)?, ..self.clone() })
    }

    /// The same rig with other skin weights.
    ///
    /// # Panics
    /// If they are for another number of vertices or joints.
    #[must_use]
    pub fn with_weights(&self, weights: SkinWeights) -> Self {
        assert_eq!(weights.vertex_count(), self.vertex_count(), "skin weights of another mesh");
        Self { weights, ..self.clone() }
    }

    /// Vertices that are one point of the skin: same rest position and same weights.
    /// (Lips that touch at rest share a position; only examples can tell them apart.)
    pub fn seams(&self) -> VertexGroups {
        VertexGroups::by_key(self.vertex_count(), |vertex| {
            let weights: Vec<(u32, u32)> =
                self.weights.of(vertex).iter().map(|i| (i.joint, i.weight.to_bits())).collect();
            (position_bits(self.mesh.positions()[vertex]), weights)
        })
    }

    /// Checks that `other` is the same character and says where its joints and controls are:
    /// for each of our joints (and controls) its index in `other`.
    pub fn correspondence_in(&self, other: &Self) -> Result<RigCorrespondence, RigError> {
        let expected = self.vertex_count();
        if other.vertex_count() != expected {
            return Err(RigError::OtherVertexCount { found: other.vertex_count(), expected });
        }
        let size = self.mesh.size();
        let far = |distance: f64| distance.is_nan() || distance > SAME_RIG * size;
        let distances =
            self.mesh.positions().iter().zip(other.mesh.positions()).map(|(a, b)| f64::from(a.distance(*b)));
        let (vertex, distance) =
            distances.enumerate().fold((0, 0.0), |worst, next| if next.1 > worst.1 { next } else { worst });
        if far(distance) {
            return Err(RigError::OtherRestShape { vertex, distance });
        }
        let mut joints = Vec::with_capacity(self.skeleton.joint_count());
        for (index, joint) in self.skeleton.joints().iter().enumerate() {
            let Some(found) = other.skeleton.joint_named(&joint.name) else {
                return Err(RigError::MissingJoint { name: joint.name.clone() });
            };
            let distance = self.skeleton.rest_position(index).distance(other.skeleton.rest_position(found));
            if far(distance) {
                return Err(RigError::OtherBind { name: joint.name.clone(), distance });
            }
            // Binds may differ in orientation: carried over, a pose moves the skin alike.
            joints.push((
                found,
                other.skeleton.joints()[found].joint_from_rest * self.skeleton.rest_from_joint()[index],
            ));
        }
        let mut controls = Vec::with_capacity(self.controls.len());
        for control in &self.controls {
            match other.controls.iter().position(|c| c.name == control.name) {
                Some(found) => controls.push(found),
                None => return Err(RigError::MissingControl { name: control.name.clone() }),
            }
        }
        Ok(RigCorrespondence { joints, controls })
    }
}

/// Where the joints and controls of one rig are in another.
#[derive(Debug, Clone, PartialEq)]
pub struct RigCorrespondence {
    /// `joint` → index in the other rig, and the other joint's space from ours
    joints: Vec<(usize, DAffine3)>,
    /// `control` → index in the other rig
    controls: Vec<usize>,
}

impl RigCorrespondence {
    /// A pose of the other rig as a pose of ours.
    pub fn pose(&self, other: &Pose) -> Pose {
        Pose {
            world_from_joint: self
                .joints
                .iter()
                .map(|&(joint, other_from_ours)| other.world_from_joint[joint] * other_from_ours)
                .collect(),
            controls: self.controls.iter().map(|&control| other.controls[control]).collect(),
        }
    }
}
