//! The other side of a character: poses, shapes and examples seen in a mirror.
//!
//! ```text
//! T'_right = F T_left F        (F the mirror, T what carries the rest shape: the joints' own axes
//!                               do not matter, left and right may have different ones)
//! ```
//! Joints are paired by what people say, by their names, then by place; vertices by position, then
//! by what they are joined to.

mod joints;
mod names;
mod plane;
mod vertices;

use std::sync::Arc;

use glam::{DAffine3, DMat3, DVec3, Vec3};
use serde::{Deserialize, Serialize};

pub use plane::{MirrorPlane, PlaneTextError};

use eigenskin_core::examples::Example;
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use vertices::VertexPairs;

/// How to find the other side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MirrorParams {
    /// the plane; default `None`: found from the joints
    pub plane: Option<MirrorPlane>,
    /// joints that are each other's mirror image, by name, before all rules; a joint of the middle
    /// is paired with itself
    pub joint_pairs: Vec<(String, String)>,
    /// rest positions agree within this share of the size; default 1e-3
    pub tolerance: f64,
}

impl Default for MirrorParams {
    fn default() -> Self {
        Self { plane: None, joint_pairs: Vec::new(), tolerance: 1e-3 }
    }
}

/// Why a character, pose or example cannot be mirrored.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MirrorError {
    /// Nothing that tells left from right.
    #[error(
        "no joint or control of a left and a right side was found (by names such as LeftArm, arm.L, L_arm); say which belong together, or where the plane is"
    )]
    NoPairs,
    /// Pairs that no plane across an axis separates.
    #[error(
        "no plane across x, y or z lies between the left and the right joints; turn the rest shape to an axis, or say where the plane is"
    )]
    NoPlane,
    /// A plane without sense.
    #[error(
        "the mirror plane must stand across x, y or z at a finite place, and the tolerance be a finite number that is not negative"
    )]
    BadPlane,
    /// A joint that the rig does not have.
    #[error("there is no joint {name:?} to pair{nearest}")]
    NoSuchJoint {
        /// the name given
        name: String,
        /// what may have been meant, or nothing
        nearest: String,
    },
    /// A joint that is in two pairs.
    #[error("joint {name:?} is paired twice; give each joint one partner")]
    TwoPartners {
        /// the joint
        name: String,
    },
    /// A pose that moves a joint without another side.
    #[error("joint {name:?} is moved but has no partner on the other side; say which joint that is")]
    Unpaired {
        /// the joint
        name: String,
    },
    /// A pose of another rig.
    #[error("the pose or shape has other joints, controls or vertices than the rig")]
    OtherRig,
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// The two sides of a rig.
#[derive(Debug, Clone)]
pub struct Mirror {
    rig: Arc<Rig>,
    plane: MirrorPlane,
    /// `joint` → the joint on the other side
    joints: Vec<Option<usize>>,
    /// `control` → the control on the other side
    controls: Vec<usize>,
    vertices: VertexPairs,
    /// `joint` → how its axes come from its partner's, where that is a change of signs and places
    /// for all joints
    axes: Option<Vec<SignedAxes>>,
}

/// A column per axis: which axis of the partner it is, and with which sign.
type SignedAxes = [(usize, f64); 3];

/// Axes and places of joints that differ by less (radians, share of the size) are exact mirror images.
const EXACT_JOINT: f64 = 1e-6;
/// Rounds that spread displacements into vertices without another side.
const FILL_ROUNDS: usize = 50;

impl Mirror {
    /// Finds the two sides.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
    /// use eigenskin_core::{Influence, Joint, Mesh, Rig, Skeleton, SkinWeights, Unwatched};
    /// use eigenskin_fit::mirror::{Mirror, MirrorParams};
    ///
    /// let positions = [-1.0, 0.0, 1.0].map(|x: f32| Vec3::new(x, 1.0 - x.abs(), 0.0)).to_vec();
    /// let mesh = Mesh::new(positions, vec![[0, 2, 1]], None)?;
    /// let joint = |name: &str, x: f64| Joint {
    ///     name: name.to_string(),
    ///     parent: None,
    ///     reference: None,
    ///     joint_from_rest: DAffine3::from_translation(DVec3::new(-x, 0.0, 0.0)),
    /// };
    /// let skeleton = Skeleton::new(vec![joint("wing.L", 1.0), joint("wing.R", -1.0)])?;
    /// let all = |joint| vec![Influence { joint, weight: 1.0 }];
    /// let (weights, _) = SkinWeights::new(2, vec![all(1), all(0), all(0)])?;
    /// let rig = Arc::new(Rig::new(mesh, skeleton, weights, Vec::new())?);
    ///
    /// let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched)?;
    /// assert_eq!(mirror.joints(), [Some(1), Some(0)]);
    /// let mut pose = rig.rest_pose();
    /// pose.world_from_joint[0] *= DAffine3::from_quat(DQuat::from_rotation_z(0.5));
    /// let turn = DAffine3::from_quat(DQuat::from_rotation_z(-0.5));
    /// assert!(mirror.pose(&pose)?.world_from_joint[1].matrix3.abs_diff_eq(turn.matrix3, 1e-9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(rig: Arc<Rig>, params: &MirrorParams, progress: &dyn Progress) -> Result<Self, MirrorError> {
        let good = params.plane.is_none_or(|plane| plane.axis < 3 && plane.centre.is_finite());
        if !good || !params.tolerance.is_finite() || params.tolerance < 0.0 {
            return Err(MirrorError::BadPlane);
        }
        let size = rig.mesh().size();
        let tolerance = params.tolerance * size;
        let named = joints::pairs_by_name(&rig, &params.joint_pairs)?;
        let controls = joints::control_pairs(&rig);
        let positions = named.positions(&rig);
        let sided_control = controls.iter().enumerate().any(|(control, &other)| control != other);
        if params.plane.is_none() && positions.is_empty() && !sided_control {
            return Err(MirrorError::NoPairs);
        }
        let plane = match params.plane {
            Some(plane) => plane,
            None if positions.is_empty() => {
                plane_of_mesh(&rig, tolerance, progress)?.ok_or(MirrorError::NoPlane)?
            }
            None => {
                let (plane, _) = MirrorPlane::between(&positions, size).ok_or(MirrorError::NoPlane)?;
                through_origin_if_as_good(&rig, plane, tolerance, progress)?
            }
        };
        let joints = named.completed(&rig, plane);
        let paired = joints.iter().enumerate().any(|(joint, other)| other.is_some_and(|o| o != joint));
        if !paired && !sided_control {
            return Err(MirrorError::NoPairs);
        }
        let vertices = VertexPairs::find(&rig, plane, tolerance, progress)?;
        let axes = signed_axes(&rig, plane, &joints);
        Ok(Self { rig, plane, joints, controls, vertices, axes })
    }

    /// The plane.
    pub fn plane(&self) -> MirrorPlane {
        self.plane
    }

    /// `joint` → the joint on the other side; itself in the middle, `None` without one.
    pub fn joints(&self) -> &[Option<usize>] {
        &self.joints
    }

    /// `control` → the control on the other side; itself without one.
    pub fn controls(&self) -> &[usize] {
        &self.controls
    }

    /// `vertex` → a vertex at its mirror image; `None` without one.
    pub fn vertices(&self) -> &[Option<u32>] {
        &self.vertices.source
    }

    /// Vertices without another side, rising.
    pub fn asymmetric_vertices(&self) -> Vec<usize> {
        (0..self.vertices.source.len()).filter(|&v| self.vertices.source[v].is_none()).collect()
    }

    /// Points of the skin that were paired by what they are joined to, being off or ambiguous.
    pub fn paired_by_topology(&self) -> usize {
        self.vertices.by_topology
    }

    /// Whether joints and vertices are each other's mirror images but for rounding: then a shape
    /// mirrored twice has the same bits (with the plane through the origin), and so has a pose.
    pub fn is_exact(&self) -> bool {
        self.axes.is_some() && self.vertices.exact.iter().all(|&exact| exact)
    }

    /// A pose seen in the mirror.
    pub fn pose(&self, pose: &Pose) -> Result<Pose, MirrorError> {
        let skeleton = self.rig.skeleton();
        if pose.world_from_joint.len() != skeleton.joint_count()
            || pose.controls.len() != self.rig.controls().len()
        {
            return Err(MirrorError::OtherRig);
        }
        let stray = (0..skeleton.joint_count())
            .find(|&joint| self.joints[joint].is_none() && Mover::Joint(joint).is_moved(&self.rig, pose));
        if let Some(joint) = stray {
            return Err(MirrorError::Unpaired { name: skeleton.joints()[joint].name.clone() });
        }
        let world_from_joint = match &self.axes {
            Some(axes) => self.exact_joints(pose, axes),
            None => self.joints_by_motion(pose),
        };
        let controls =
            (0..pose.controls.len()).map(|control| pose.controls[self.controls[control]]).collect();
        Ok(Pose { world_from_joint, controls })
    }

    /// An example seen in the mirror, under another name.
    ///
    /// Where the rest shape is its own mirror image, so is what is observed. Where it is a little
    /// off, the displacement from plain skinning is mirrored; vertices without another side get the
    /// displacement of their neighbours.
    pub fn example(&self, example: &Example, name: String) -> Result<Example, MirrorError> {
        let count = self.rig.vertex_count();
        if example.positions.len() != count || example.normals.as_ref().is_some_and(|n| n.len() != count) {
            return Err(MirrorError::OtherRig);
        }
        let pose = self.pose(&example.pose)?;
        let positions = self.shape(&example.positions, &example.pose, &pose);
        let source = |vertex: usize| self.vertices.source[vertex].map(|from| from as usize);
        let normals = example.normals.as_ref().map(|normals| {
            let computed = self.rig.mesh().normals_of(&positions);
            let normal = |v: usize| source(v).map_or(computed[v], |from| self.plane.direction(normals[from]));
            (0..count).map(normal).collect()
        });
        Ok(Example { name, pose, positions, normals, inverted: None })
    }

    /// The shape (`vertex`) seen in `pose`, as it is in `mirrored`, the pose in the mirror.
    pub fn shape(&self, positions: &[Vec3], pose: &Pose, mirrored: &Pose) -> Vec<Vec3> {
        let source = |vertex: usize| self.vertices.source[vertex].map(|from| from as usize);
        let seen = |from: usize| self.plane.position(positions[from]);
        if self.vertices.exact.iter().all(|&exact| exact) {
            return (0..positions.len()).map(|v| source(v).map_or(positions[v], seen)).collect();
        }
        let (here, there) = (
            PosedSkinning::new(BaseSkinning::LinearBlend, &self.rig, pose),
            PosedSkinning::new(BaseSkinning::LinearBlend, &self.rig, mirrored),
        );
        let rest = |vertex: usize| self.rig.mesh().positions()[vertex].as_dvec3();
        let displacement = |vertex: usize| {
            source(vertex).map(|from| {
                let near_rest = here.inverse_position(from, positions[from].as_dvec3(), rest(from));
                let mut displacement = (near_rest - rest(from)).to_array();
                displacement[self.plane.axis] = -displacement[self.plane.axis];
                DVec3::from_array(displacement)
            })
        };
        let displacements: Vec<Option<DVec3>> = (0..positions.len()).map(displacement).collect();
        let filled = self.filled(&displacements);
        (0..positions.len())
            .map(|vertex| match source(vertex) {
                Some(from) if self.vertices.exact[vertex] => seen(from),
                _ => there.position(vertex, rest(vertex) + filled[vertex]).as_vec3(),
            })
            .collect()
    }

    /// Displacements (`vertex`) with those that are missing taken from their neighbours.
    fn filled(&self, displacements: &[Option<DVec3>]) -> Vec<DVec3> {
        let VertexPairs { points, neighbours, .. } = &self.vertices;
        let mut known: Vec<Option<DVec3>> =
            (0..points.group_count()).map(|point| displacements[points.first_vertex(point)]).collect();
        let missing: Vec<usize> = (0..known.len()).filter(|&point| known[point].is_none()).collect();
        for _ in 0..FILL_ROUNDS {
            let next: Vec<Option<DVec3>> = missing
                .iter()
                .map(|&point| {
                    let (mut sum, mut count) = (DVec3::ZERO, 0.0);
                    for value in neighbours[point].iter().filter_map(|&next| known[next as usize]) {
                        sum += value;
                        count += 1.0;
                    }
                    (count > 0.0).then(|| sum / count)
                })
                .collect();
            for (&point, value) in missing.iter().zip(next) {
                known[point] = value;
            }
        }
        let of = |vertex: usize| displacements[vertex].or(known[points.group_of(vertex)]);
        (0..displacements.len()).map(|vertex| of(vertex).unwrap_or(DVec3::ZERO)).collect()
    }

    /// Joints that are each other's images: only signs and places of numbers change.
    fn exact_joints(&self, pose: &Pose, axes: &[SignedAxes]) -> Vec<DAffine3> {
        let flipped = |mut column: DVec3| {
            column[self.plane.axis] = -column[self.plane.axis];
            column
        };
        (0..axes.len())
            .map(|joint| {
                let from = pose.world_from_joint[self.joints[joint].unwrap_or(joint)];
                let column = |axis: usize| {
                    let (place, sign) = axes[joint][axis];
                    let column = flipped(from.matrix3.col(place));
                    if sign < 0.0 { -column } else { column }
                };
                DAffine3 {
                    matrix3: DMat3::from_cols(column(0), column(1), column(2)),
                    translation: self.plane.point(from.translation),
                }
            })
            .collect()
    }

    /// Every joint moves against its reference joint as its partner does, seen in the mirror: it
    /// turns about its own place even where that is not quite its partner's image.
    fn joints_by_motion(&self, pose: &Pose) -> Vec<DAffine3> {
        let skeleton = self.rig.skeleton();
        let rest = skeleton.rest_from_joint();
        let local = |of: &[DAffine3], joint: usize, above: usize| of[above].inverse() * of[joint];
        let mirror = self.plane.reflection();
        let mut world = rest.to_vec();
        for &joint in skeleton.references_first() {
            let reference = skeleton.joints()[joint].reference;
            let Some(from) = self.joints[joint] else {
                world[joint] = reference.map_or(rest[joint], |own| world[own] * local(rest, joint, own));
                continue;
            };
            world[joint] = match (reference, skeleton.joints()[from].reference) {
                (Some(own), Some(other)) if self.joints[own] == Some(other) => {
                    let motion =
                        local(rest, from, other).inverse() * local(&pose.world_from_joint, from, other);
                    // From this joint's rest axes to its partner's.
                    let axes = rest[from].matrix3.inverse() * mirror.matrix3 * rest[joint].matrix3;
                    let back = axes.inverse();
                    let mirrored = DAffine3 {
                        matrix3: back * motion.matrix3 * axes,
                        translation: back * motion.translation,
                    };
                    world[own] * local(rest, joint, own) * mirrored
                }
                _ => {
                    let carried = pose.world_from_joint[from] * skeleton.joints()[from].joint_from_rest;
                    mirror * carried * mirror * rest[joint]
                }
            };
        }
        world
    }
}

/// What the mirror image of an example is called: by its side, else with a word behind.
///
/// ```
/// use eigenskin_fit::mirror::mirrored_name;
///
/// assert_eq!(mirrored_name("arm.L"), "arm.R");
/// assert_eq!(mirrored_name("fist"), "fist mirrored");
/// ```
pub fn mirrored_name(name: &str) -> String {
    names::other_side(name).unwrap_or_else(|| match name.strip_suffix(MIRRORED) {
        Some(original) => original.to_string(),
        None => format!("{name}{MIRRORED}"),
    })
}

const MIRRORED: &str = " mirrored";

/// The plane through the origin instead, if it pairs as many vertices: it mirrors without rounding.
fn through_origin_if_as_good(
    rig: &Rig,
    plane: MirrorPlane,
    tolerance: f64,
    progress: &dyn Progress,
) -> Result<MirrorPlane, Cancelled> {
    let origin = MirrorPlane { centre: 0.0, ..plane };
    let near = plane.centre.abs() <= 0.01 * rig.mesh().size();
    let paired = |plane: MirrorPlane| paired_points(rig, plane, tolerance, progress);
    Ok(if near && paired(origin)? >= paired(plane)? { origin } else { plane })
}

/// The plane that most of a mesh agrees with, for a rig whose joints tell nothing.
fn plane_of_mesh(
    rig: &Rig,
    tolerance: f64,
    progress: &dyn Progress,
) -> Result<Option<MirrorPlane>, Cancelled> {
    let positions = rig.mesh().positions();
    let middle = |axis: usize| {
        let values = positions.iter().map(|p| f64::from(p[axis]));
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        0.5 * (low + high)
    };
    let planes = (0..3).flat_map(|axis| [0.0, middle(axis)].map(|centre| MirrorPlane { axis, centre }));
    let mut best: Option<(MirrorPlane, usize)> = None;
    for plane in planes {
        let paired = paired_points(rig, plane, tolerance, progress)?;
        if best.is_none_or(|(_, most)| paired > most) {
            best = Some((plane, paired));
        }
    }
    Ok(best.filter(|&(_, paired)| 2 * paired > rig.vertex_count()).map(|(plane, _)| plane))
}

fn paired_points(
    rig: &Rig,
    plane: MirrorPlane,
    tolerance: f64,
    progress: &dyn Progress,
) -> Result<usize, Cancelled> {
    Ok(VertexPairs::find(rig, plane, tolerance, progress)?.source.iter().flatten().count())
}

/// `joint` → its partner's axes in its own, if every joint rests at its partner's mirror image with
/// axes that differ in signs and places only.
fn signed_axes(rig: &Rig, plane: MirrorPlane, joints: &[Option<usize>]) -> Option<Vec<SignedAxes>> {
    let rest = rig.skeleton().rest_from_joint();
    let size = rig.mesh().size();
    let of_joint = |joint: usize| {
        let from = joints[joint]?;
        let apart = plane.point(rest[from].translation).distance(rest[joint].translation);
        if apart > EXACT_JOINT * size {
            return None;
        }
        let axes = rest[from].matrix3.inverse() * plane.reflection().matrix3 * rest[joint].matrix3;
        let column = |axis: usize| {
            let column = axes.col(axis);
            let place = (0..3).max_by(|&a, &b| column[a].abs().total_cmp(&column[b].abs()))?;
            let sign = column[place].signum();
            let mut rest = column;
            rest[place] -= sign;
            (rest.length() <= EXACT_JOINT).then_some((place, sign))
        };
        Some([column(0)?, column(1)?, column(2)?])
    };
    (0..joints.len()).map(of_joint).collect()
}
