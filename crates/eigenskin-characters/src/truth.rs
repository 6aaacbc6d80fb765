//! How the skin of a built-in character could look in a pose, in closed form: a quick stand-in for
//! simulated tissue that only tests and benches use.
//!
//! The skin is swept along the bones. A joint does not turn the skin at once but little by little
//! over a stretch about as long as the limb is thick: a vertex turns about the joint's centre by
//! the share s of the joint's rotation, where s rises from 0 to 1 along the limb. This keeps the
//! limb's volume: an element at height y towards the inner side of the bend changes by the factor
//! 1 − s′θy, which is one in the mean over a cross-section. The inner side, squeezed along the
//! limb, gives way sideways, and the outer side thins (widths times 1 + b(x + x²), x = s′θy, which
//! leaves the mean volume as it is). Twist about a bone is spread evenly along the whole bone.
//!
//! Bending also makes flesh swell in places (a biceps, the pads of the palm): the swellings of all
//! joints add up and saturate, as flesh that is pressed out already gives less.
//!
//! Where several limbs leave one body (fingers), each vertex belongs to each of them by how close
//! it is to their flesh, and web skin between two fingers follows a mean of both.
//!
//! So the corrections of neighbouring joints do not simply add, but bending one finger leaves the
//! others alone. Joints only turn here; where a pose also moves or scales them, skin and bones part.

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use rayon::prelude::*;

use super::Character;
use super::implicit::Group;

/// The true shape of a character in a pose, `vertex`. For many poses, prepare a [`SweptSkin`].
pub fn true_shape(character: &Character, pose: &Pose) -> Vec<Vec3> {
    SweptSkin::new(character).shape(pose)
}

/// A shape that the sum of single joints cannot give, `vertex`: the skin bulges along its normals by the
/// product of two joints' turns, and by each of them.
pub fn coupled_bulge(character: &Character, pose: &Pose) -> Vec<Vec3> {
    let rig = &character.rig;
    let turn = |joint: usize| pose.motion_of(rig.skeleton(), joint).rotation.w.abs().min(1.0).acos().sin();
    let (first, second) = (turn(1), turn(2));
    let amount = 0.05 * rig.mesh().size() * (first + 0.5 * second + 2.0 * first * second);
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
    let rest = rig.mesh().positions().iter().zip(rig.mesh().normals());
    let bulged = rest.map(|(p, n)| p.as_dvec3() + amount * n.as_dvec3());
    bulged.enumerate().map(|(vertex, p)| skinning.position(vertex, p).as_vec3()).collect()
}

/// How the flesh of a character hangs on its joints.
#[derive(Debug, Clone)]
pub(super) struct Flesh {
    /// `joint`; none for the root, which carries everything
    pub bends: Vec<Option<Bend>>,
    /// limbs that leave the body side by side; a single limb is the body itself and not listed
    pub branches: Vec<Branch>,
    pub swellings: Vec<Swelling>,
    /// no swelling is higher than this
    pub highest_swelling: f64,
}

/// Flesh that bending a joint presses out.
#[derive(Debug, Clone)]
pub(super) struct Swelling {
    pub joint: usize,
    pub centre: DVec3,
    /// distance from the centre where it ends
    pub reach: f64,
    /// how far the centre comes out when the joint is bent by a right angle
    pub push: DVec3,
    /// the only limb it shows on; none: on all skin within its reach
    pub branch: Option<usize>,
}

/// The stretch of skin over which a joint bends.
#[derive(Debug, Clone)]
pub(super) struct Bend {
    /// unit direction of the limb at the joint
    pub along: DVec3,
    /// unit direction of the joint's own bone: the axis of its twist
    pub bone: DVec3,
    /// the bend begins this far before the joint and ends as far behind it
    pub half_width: f64,
    /// twist begins this far along the bone from the joint; negative before it
    pub twist_from: f64,
    /// twist is spread over this stretch of the bone
    pub twist_length: f64,
    /// index of the limb it belongs to
    pub branch: Option<usize>,
}

/// A limb among several.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    pub flesh: Group,
    /// skin further away than this does not belong to it
    pub reach: f64,
}

/// A character's skin, prepared for many poses.
#[derive(Debug, Clone)]
pub struct SweptSkin<'a> {
    character: &'a Character,
    /// `vertex`
    fibres: Vec<Fibre>,
}

/// What moves one vertex.
#[derive(Debug, Clone)]
struct Fibre {
    /// limbs it belongs to, with how much; the sum is at most one, the rest stays with the root
    limbs: Vec<(f64, Vec<Share>)>,
    /// joint that makes it swell, and the displacement at a right angle
    swellings: Vec<(usize, DVec3)>,
}

/// How much of a joint's motion reaches a vertex.
#[derive(Debug, Clone, Copy)]
struct Share {
    joint: usize,
    /// share of the bend, and its slope along the limb
    bend: f64,
    bend_slope: f64,
    /// share of the twist
    twist: f64,
}

/// How a joint has turned, in the axes of the rest shape.
#[derive(Debug, Clone, Copy)]
struct Turn {
    pivot: DVec3,
    /// bend as a rotation vector, across the bone
    bend: DVec3,
    /// twist as a rotation vector, along the bone
    twist: DVec3,
}

/// Skin this close to a limb's surface is the limb's own, in shares of the limb's reach.
const OWN_SKIN: f64 = 0.01;
/// Sideways give of the inner side of a bend.
const SIDEWAYS: f64 = 0.6;
/// Bends well below this angle do not press the flesh aside, radians.
const PRESSING_BEND: f64 = 0.5;

impl<'a> SweptSkin<'a> {
    /// Finds which joints turn which vertices.
    pub fn new(character: &'a Character) -> Self {
        let positions = character.rig.mesh().positions();
        let fibres = positions.par_iter().map(|p| fibre_at(character, p.as_dvec3())).collect();
        Self { character, fibres }
    }

    /// The true shape in a pose, `vertex`.
    pub fn shape(&self, pose: &Pose) -> Vec<Vec3> {
        let skeleton = self.character.rig.skeleton();
        let positions = self.character.rig.mesh().positions();
        let Some(root) = skeleton.first_root() else {
            return positions.to_vec();
        };
        let turns: Vec<Turn> = (0..skeleton.joint_count()).map(|joint| self.turn_of(pose, joint)).collect();
        let posed_from_rest: DAffine3 = pose.world_from_joint[root] * skeleton.joints()[root].joint_from_rest;
        let moved = |(rest, fibre): (&Vec3, &Fibre)| {
            posed_from_rest.transform_point3(self.swept(rest.as_dvec3(), fibre, &turns)).as_vec3()
        };
        positions.par_iter().zip(&self.fibres).map(moved).collect()
    }

    /// The true shapes in some poses.
    pub fn examples(&self, poses: impl IntoIterator<Item = NamedPose>) -> Result<ExampleSet, ExamplesError> {
        let example = |NamedPose { name, pose, .. }| Example {
            name,
            positions: self.shape(&pose),
            pose,
            normals: None,
            inverted: None,
        };
        ExampleSet::new(self.character.rig.clone(), poses.into_iter().map(example).collect())
    }

    /// A vertex before the root carries it along.
    fn swept(&self, rest: DVec3, fibre: &Fibre, turns: &[Turn]) -> DVec3 {
        let swelling: DVec3 = fibre
            .swellings
            .iter()
            .map(|&(joint, push)| push * (1.0 - turns[joint].bend.length().cos()))
            .sum();
        let saturation = swelling.length() / self.character.flesh.highest_swelling;
        let swollen = rest + swelling / (1.0 + saturation * saturation).sqrt();
        let mut moved = swollen;
        for (member, shares) in &fibre.limbs {
            moved += *member * (self.swept_along(rest, swollen, shares, turns) - swollen);
        }
        moved
    }

    /// A vertex as one limb moves it: the joints' turns from the limb's end to its root.
    fn swept_along(&self, rest: DVec3, swollen: DVec3, shares: &[Share], turns: &[Turn]) -> DVec3 {
        let mut point = swollen;
        for share in shares {
            if let Some(bend) = &self.character.flesh.bends[share.joint] {
                point += pressed_aside(rest, share, &turns[share.joint], bend.along);
            }
        }
        for share in shares {
            let turn = &turns[share.joint];
            let rotation = DQuat::from_scaled_axis(share.bend * turn.bend)
                * DQuat::from_scaled_axis(share.twist * turn.twist);
            point = turn.pivot + rotation * (point - turn.pivot);
        }
        point
    }

    /// The joint's rotation against its parent, split into twist about its bone and the bend.
    fn turn_of(&self, pose: &Pose, joint: usize) -> Turn {
        let skeleton = self.character.rig.skeleton();
        let pivot = skeleton.rest_position(joint);
        let Some(bend) = &self.character.flesh.bends[joint] else {
            return Turn { pivot, bend: DVec3::ZERO, twist: DVec3::ZERO };
        };
        let motion = pose.motion_of(skeleton, joint).rotation;
        let rest = unit_rotation(skeleton.rest_from_joint()[joint].matrix3);
        let mut turned = rest * motion * rest.inverse();
        if turned.w < 0.0 {
            turned = -turned;
        }
        let along = turned.xyz().dot(bend.bone);
        let twist_angle = 2.0 * along.atan2(turned.w);
        let twist = DQuat::from_axis_angle(bend.bone, twist_angle);
        Turn { pivot, bend: (turned * twist.inverse()).to_scaled_axis(), twist: twist_angle * bend.bone }
    }
}

/// What moves a point at rest.
fn fibre_at(character: &Character, point: DVec3) -> Fibre {
    let flesh = &character.flesh;
    let belongs = membership(&flesh.branches, point);
    let limbs = if belongs.is_empty() {
        vec![(1.0, shares_along(character, None, point))]
    } else {
        let near = belongs.iter().enumerate().filter(|&(_, &member)| member > 0.0);
        near.map(|(branch, &member)| (member, shares_along(character, Some(branch), point))).collect()
    };
    let swell = |swelling: &Swelling| {
        let far = (point - swelling.centre).length_squared() / (swelling.reach * swelling.reach);
        let member = swelling.branch.map_or(1.0, |branch| belongs[branch]);
        (swelling.joint, swelling.push * (member * (1.0 - far).max(0.0).powi(3)))
    };
    let swellings = flesh.swellings.iter().map(swell).filter(|(_, push)| *push != DVec3::ZERO).collect();
    Fibre { limbs, swellings }
}

/// The joints of one limb that reach a point at rest, from the limb's end to its root. (Characters
/// list their joints parents first.)
fn shares_along(character: &Character, branch: Option<usize>, point: DVec3) -> Vec<Share> {
    let mut shares = Vec::new();
    for (joint, bend) in character.flesh.bends.iter().enumerate().rev() {
        let Some(bend) = bend.as_ref().filter(|bend| bend.branch == branch) else { continue };
        let offset = point - character.rig.skeleton().rest_position(joint);
        let (rise, slope) = smootherstep(0.5 + 0.5 * offset.dot(bend.along) / bend.half_width);
        let twist = ramp((offset.dot(bend.bone) - bend.twist_from) / bend.twist_length);
        if rise > 0.0 || twist > 0.0 {
            shares.push(Share { joint, bend: rise, bend_slope: slope * 0.5 / bend.half_width, twist });
        }
    }
    shares
}

/// How much a point belongs to each branch: one on the branch's own skin, falling smoothly to zero
/// at its reach; the sum is at most one, and what is left belongs to the body.
fn membership(branches: &[Branch], point: DVec3) -> Vec<f64> {
    let distances: Vec<f64> = branches
        .iter()
        .map(|branch| (branch.flesh.sample(point).value / branch.reach - OWN_SKIN).max(0.0))
        .collect();
    // Weights (1 − d²)²/d² against 1 for the body, multiplied out so that d = 0 needs no division.
    let squares: Vec<f64> = distances.iter().map(|d| d * d).collect();
    let all_but = |skip: usize| -> f64 {
        squares.iter().enumerate().filter(|&(other, _)| other != skip).map(|(_, d)| d).product()
    };
    let pulls: Vec<f64> =
        (0..branches.len()).map(|b| (1.0 - squares[b]).max(0.0).powi(2) * all_but(b)).collect();
    let body: f64 = BODY_PULL * squares.iter().product::<f64>();
    let sum = (body + pulls.iter().sum::<f64>()).max(f64::MIN_POSITIVE);
    pulls.iter().map(|pull| pull / sum).collect()
}

/// Pull of the body against that of its branches.
const BODY_PULL: f64 = 0.25;

/// The sideways give of squeezed flesh, at rest.
fn pressed_aside(rest: DVec3, share: &Share, turn: &Turn, along: DVec3) -> DVec3 {
    let offset = rest - turn.pivot;
    let squeeze = share.bend_slope * offset.dot(turn.bend.cross(along));
    // The bend's axis has no direction at rest: fade in, so that all stays smooth there.
    let fade = turn.bend.length_squared() + PRESSING_BEND * PRESSING_BEND;
    turn.bend * (turn.bend.dot(offset) / fade) * SIDEWAYS * (squeeze + squeeze * squeeze)
}

/// 6x⁵ − 15x⁴ + 10x³ within [0, 1], and its slope.
fn smootherstep(x: f64) -> (f64, f64) {
    let x = x.clamp(0.0, 1.0);
    (x * x * x * (x * (6.0 * x - 15.0) + 10.0), 30.0 * x * x * (1.0 - x) * (1.0 - x))
}

/// From 0 to 1 within [0, 1], linear but for rounded ends.
fn ramp(x: f64) -> f64 {
    const ROUND: f64 = 0.15;
    let x = x.clamp(0.0, 1.0);
    let slope = 1.0 / (1.0 - ROUND);
    if x < ROUND {
        0.5 * slope * x * x / ROUND
    } else if x > 1.0 - ROUND {
        1.0 - 0.5 * slope * (1.0 - x) * (1.0 - x) / ROUND
    } else {
        slope * (x - 0.5 * ROUND)
    }
}

/// The rotation of a frame whose axes are at right angles but for rounding.
fn unit_rotation(frame: DMat3) -> DQuat {
    DQuat::from_mat3(&frame).normalize()
}
