//! What moves the tissue: groups of joints that move as one rigid body, and the points within the
//! lattice that they hold.
//!
//! [`plan_bones`] needs only the skin: which joints move as one, where their bones run, how deep
//! below the skin. [`hold`] ties the plan to a lattice.

mod hold;
mod segments;
#[cfg(test)]
mod tests;

use eigenskin_core::glam::DVec3;
use eigenskin_core::rig::Rig;

use crate::lattice::Embedded;
use crate::surface::Surface;

pub use hold::{Held, hold};

/// Joints that move as one body: a joint with those that never move against it.
#[derive(Debug, Clone, PartialEq)]
pub struct RigidGroup {
    /// the joint whose motion moves the group
    pub leader: usize,
    /// all joints of the group, the leader first
    pub joints: Vec<usize>,
}

/// A point of the tissue that a bone holds by a spring.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldPoint {
    /// where it is in the lattice
    pub embedded: Embedded,
    /// its rest position in lattice space
    pub rest: DVec3,
    /// index of the rigid group that holds it
    pub group: usize,
    /// stiffness of the spring, in units of shear modulus · cube edge
    pub stiffness: f64,
}

/// How thick bones are, and where they leave the tissue free.
#[derive(Debug, Clone, PartialEq)]
pub struct BoneParams {
    /// radius of a bone as a share of its depth below the skin; default 0.3. Cells that a bone
    /// touches are stiff as a whole, so it acts as if it were up to a cube edge thicker
    pub radius_share: f64,
    /// length left free on both sides of a joint that moves, as a share of its depth below the
    /// skin; default 0.75
    pub gap_share: f64,
    /// that length is never more than this share of the bone; default 0.3
    pub longest_gap: f64,
    /// where the last bone of a chain ends, on the way from its joint out of the skin; default 0.7
    pub tip_share: f64,
    /// stiffness with which a bone holds a cell, in units of shear modulus · cube edge; default
    /// 300: tissue gives way before the bone does, and the equations stay well conditioned
    pub stiffness: f64,
}

impl Default for BoneParams {
    fn default() -> Self {
        Self { radius_share: 0.3, gap_share: 0.75, longest_gap: 0.3, tip_share: 0.7, stiffness: 300.0 }
    }
}

/// One bone: a straight line below the skin, in mesh space.
#[derive(Debug, Clone, PartialEq)]
pub struct Bone {
    /// the joint it hangs on
    pub joint: usize,
    /// the rigid group it belongs to
    pub group: usize,
    /// where it begins: at its joint
    pub from: DVec3,
    /// where it ends: at the next joint, or below the skin
    pub to: DVec3,
    /// depth below the skin at even steps from one end to the other, negative outside
    pub depths: Vec<f64>,
    /// length left free at the beginning
    pub gap_from: f64,
    /// length left free at the end
    pub gap_to: f64,
}

impl Bone {
    /// Distance between the ends.
    pub fn length(&self) -> f64 {
        self.from.distance(self.to)
    }

    /// Depth below the skin at a share of the way in [0, 1].
    pub fn depth_at(&self, share: f64) -> f64 {
        let steps = self.depths.len() - 1;
        let place = share.clamp(0.0, 1.0) * steps as f64;
        let step = (place as usize).min(steps - 1);
        let between = place - step as f64;
        self.depths[step] * (1.0 - between) + self.depths[step + 1] * between
    }
}

/// Groups and bones of a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct BonePlan {
    /// joints that move as one, by rising leaders
    pub groups: Vec<RigidGroup>,
    /// `joint` → its group
    pub group_of_joint: Vec<usize>,
    /// `group` → whether any skin follows it; groups without hold nothing
    pub has_skin: Vec<bool>,
    /// the bones of all groups that have skin
    pub bones: Vec<Bone>,
    /// diameter of the thinnest limb with a bone, in mesh units
    pub thinnest: f64,
}

impl BonePlan {
    /// Points of the bones below the skin, in mesh space.
    pub fn points_below_skin(&self) -> Vec<DVec3> {
        let on_bone = |bone: &Bone| -> Vec<DVec3> {
            let steps = (bone.depths.len() - 1) as f64;
            let below = (0..bone.depths.len()).filter(|&step| bone.depths[step] > 0.0);
            below.map(|step| bone.from.lerp(bone.to, step as f64 / steps)).collect()
        };
        self.bones.iter().flat_map(on_bone).collect()
    }
}

/// Why there are no bones.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BoneError {
    /// Nothing can move.
    #[error("the rig has no joints, so no bones can move its tissue")]
    NoJoints,
    /// The list is for another rig.
    #[error("{given} joints are marked as moving or not, but the rig has {joints}")]
    MovingCount {
        /// entries given
        given: usize,
        /// joints of the rig
        joints: usize,
    },
    /// A parameter out of its range.
    #[error("{name} is {value}, but must be {range}")]
    BadParameter {
        /// the parameter at fault
        name: &'static str,
        /// its value
        value: f64,
        /// what it may be
        range: &'static str,
    },
    /// Bones and skin are apart.
    #[error(
        "no bone lies below the skin (the first one is that of joint {joint:?}); check that mesh and skeleton are at the same place in the bind pose"
    )]
    AllOutside {
        /// name of the first joint with a bone, or of the root
        joint: String,
    },
}

/// What is doubtful about some bone. Simulation goes on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BoneWarning {
    /// No part of the bones is below the skin.
    #[error("joint {joint:?} has no bone below the skin: it holds the skin weighted to it ({points} points)")]
    HeldBySkin {
        /// name of the group's leader
        joint: String,
        /// points held
        points: usize,
    },
    /// Others hold all cells that it could.
    #[error("joint {joint:?} holds no tissue: other bones are in all of its cells; use smaller ones")]
    HoldsNothing {
        /// name of the group's leader
        joint: String,
    },
    /// A part of the lattice that no bone runs through.
    #[error("a loose piece of {cells} cells has no bone: it moves with joint {joint:?}")]
    LoosePiece {
        /// cells of the piece
        cells: usize,
        /// name of the leader of the group that holds it
        joint: String,
    },
}

/// Joints this many radii from the middle of the mesh do not belong to it.
const FAR_OUTSIDE: f64 = 1.5;

/// Groups the joints and lays the bones. `moving`: per `joint`, whether it ever moves against its
/// reference joint. Flat rigs must have their reference joints set.
pub fn plan_bones(
    rig: &Rig,
    surface: &Surface,
    moving: &[bool],
    params: &BoneParams,
) -> Result<BonePlan, BoneError> {
    check(rig, moving, params)?;
    let skin = segments::SkinOfJoints::of(rig);
    check_place(rig, &skin.own)?;
    let (groups, group_of_joint) = rigid_groups(rig, moving, &skin.below);
    let has_skin: Vec<bool> =
        groups.iter().map(|group| group.joints.iter().any(|&joint| skin.own[joint])).collect();
    let mut bones = segments::bones(rig, surface, &skin, &group_of_joint, params);
    bones.retain(|bone| has_skin[bone.group]);
    let Some(thinnest) = thinnest_limb(&bones) else {
        let first = bones.first().map_or(groups[0].leader, |bone| bone.joint);
        return Err(BoneError::AllOutside { joint: rig.skeleton().joints()[first].name.clone() });
    };
    Ok(BonePlan { groups, group_of_joint, has_skin, bones, thinnest })
}

fn check(rig: &Rig, moving: &[bool], params: &BoneParams) -> Result<(), BoneError> {
    let joints = rig.skeleton().joint_count();
    if joints == 0 {
        return Err(BoneError::NoJoints);
    }
    if moving.len() != joints {
        return Err(BoneError::MovingCount { given: moving.len(), joints });
    }
    let bad = |name, value, range| Err(BoneError::BadParameter { name, value, range });
    if !(params.radius_share > 0.0 && params.radius_share < 1.0) {
        return bad("radius_share", params.radius_share, "above 0 and below 1");
    }
    if !(params.gap_share.is_finite() && params.gap_share >= 0.0) {
        return bad("gap_share", params.gap_share, "finite and not negative");
    }
    if !(0.0..0.5).contains(&params.longest_gap) {
        return bad("longest_gap", params.longest_gap, "in [0, 0.5)");
    }
    if !(params.tip_share > 0.0 && params.tip_share <= 1.0) {
        return bad("tip_share", params.tip_share, "above 0 and at most 1");
    }
    if !(params.stiffness.is_finite() && params.stiffness > 0.0) {
        return bad("stiffness", params.stiffness, "finite and above 0");
    }
    Ok(())
}

/// Bones that run in from afar would fling the tissue about: a sign that skin and skeleton are in
/// different units or places.
fn check_place(rig: &Rig, has_skin: &[bool]) -> Result<(), BoneError> {
    let bounds = rig.mesh().bounds();
    let is_far = |joint: usize| {
        rig.skeleton().rest_position(joint).distance(bounds.centre) > FAR_OUTSIDE * bounds.radius
    };
    let mut with_skin = (0..has_skin.len()).filter(|&joint| has_skin[joint]).peekable();
    match with_skin.peek().copied() {
        Some(first) if with_skin.all(is_far) => {
            Err(BoneError::AllOutside { joint: rig.skeleton().joints()[first].name.clone() })
        }
        _ => Ok(()),
    }
}

/// Groups by rising leaders, and `joint` → its group. A joint leads a group when it moves against
/// its reference and skin hangs on it or below it.
fn rigid_groups(rig: &Rig, moving: &[bool], skin_below: &[bool]) -> (Vec<RigidGroup>, Vec<usize>) {
    let joints = rig.skeleton().joints();
    let leads = |joint: usize| joints[joint].reference.is_none() || (moving[joint] && skin_below[joint]);
    let leader_of = |joint: usize| {
        let mut at = joint;
        while let Some(reference) = joints[at].reference.filter(|_| !leads(at)) {
            at = reference;
        }
        at
    };
    let leaders: Vec<usize> = (0..joints.len()).filter(|&joint| leads(joint)).collect();
    let mut groups: Vec<RigidGroup> =
        leaders.iter().map(|&leader| RigidGroup { leader, joints: vec![leader] }).collect();
    let mut group_of_joint = Vec::with_capacity(joints.len());
    for joint in 0..joints.len() {
        let leader = leader_of(joint);
        let group = leaders.binary_search(&leader).unwrap_or(0);
        group_of_joint.push(group);
        if joint != leader {
            groups[group].joints.push(joint);
        }
    }
    (groups, group_of_joint)
}

/// Bones thinner than this share of them are details (ears, tips), not limbs.
const DETAILS: f64 = 0.15;

/// Diameter of the thinnest limb: of the bones' median depths a low one.
fn thinnest_limb(bones: &[Bone]) -> Option<f64> {
    let median_depth = |bone: &Bone| {
        let mut below: Vec<f64> = bone.depths.iter().copied().filter(|&depth| depth > 0.0).collect();
        below.sort_unstable_by(f64::total_cmp);
        below.get(below.len() / 2).copied()
    };
    let mut depths: Vec<f64> = bones.iter().filter_map(median_depth).collect();
    depths.sort_unstable_by(f64::total_cmp);
    depths.get((DETAILS * depths.len() as f64) as usize).map(|depth| 2.0 * depth)
}
