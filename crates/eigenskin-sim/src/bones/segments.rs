//! Where bones run: from joint to joint, and from the last joint towards the skin.

use eigenskin_core::glam::DVec3;
use eigenskin_core::rig::Rig;

use super::{Bone, BoneParams};
use crate::surface::Surface;

/// Steps at which a bone's depth is taken.
const STEPS: usize = 24;
/// Bones shorter than this share of the mesh are points.
const SHORTEST: f64 = 1e-5;
/// A joint whose weights sum to less has no skin.
const NO_SKIN: f64 = 1e-3;
/// The last bone follows the one before when the skin lies within this angle's cosine of it.
const AGREES: f64 = 0.7;

/// What skin hangs on the joints.
pub(super) struct SkinOfJoints {
    /// `joint` → whether skin is weighted to it
    pub own: Vec<bool>,
    /// `joint` → whether skin is weighted to it or to one that hangs on it
    pub below: Vec<bool>,
    /// `joint` → mean position of its skin
    middle: Vec<DVec3>,
}

impl SkinOfJoints {
    pub(super) fn of(rig: &Rig) -> Self {
        let joints = rig.skeleton().joints();
        let mut sums = vec![(DVec3::ZERO, 0.0); joints.len()];
        for (vertex, position) in rig.mesh().positions().iter().enumerate() {
            for influence in rig.weights().of(vertex) {
                let sum = &mut sums[influence.joint as usize];
                sum.0 += f64::from(influence.weight) * position.as_dvec3();
                sum.1 += f64::from(influence.weight);
            }
        }
        let own: Vec<bool> = sums.iter().map(|sum| sum.1 > NO_SKIN).collect();
        let mut below = own.clone();
        for joint in (0..joints.len()).filter(|&joint| own[joint]) {
            let mut next = joints[joint].reference;
            while let Some(above) = next {
                below[above] = true;
                next = joints[above].reference;
            }
        }
        let middle = sums.iter().map(|sum| sum.0 / sum.1.max(NO_SKIN)).collect();
        Self { own, below, middle }
    }
}

/// All bones, by their joints.
pub(super) fn bones(
    rig: &Rig,
    surface: &Surface,
    skin: &SkinOfJoints,
    group_of_joint: &[usize],
    params: &BoneParams,
) -> Vec<Bone> {
    let skeleton = rig.skeleton();
    let joints = skeleton.joints();
    let mut hanging = vec![Vec::new(); joints.len()];
    for (joint, reference) in joints.iter().enumerate().filter_map(|(j, joint)| Some((j, joint.reference?))) {
        hanging[reference].push(joint);
    }
    let is_free = |joint: usize| {
        joints[joint].reference.is_some_and(|reference| group_of_joint[reference] != group_of_joint[joint])
    };
    let mut bones = Vec::new();
    for joint in 0..joints.len() {
        let from = skeleton.rest_position(joint);
        let mut ends: Vec<(DVec3, bool)> = Vec::new();
        for &child in hanging[joint].iter().filter(|&&child| skin.below[child]) {
            ends.push((skeleton.rest_position(child), is_free(child)));
        }
        if ends.is_empty() && skin.own[joint] {
            // Joints without skin mark the tip, when they are where a tip can be.
            let tips = hanging[joint].iter().map(|&tip| skeleton.rest_position(tip));
            ends.extend(tips.filter(|&tip| surface.winding.is_inside(tip)).map(|tip| (tip, false)));
        }
        let too_short = SHORTEST * surface.size;
        ends.retain(|(to, _)| from.distance(*to) > too_short);
        if ends.is_empty() && skin.own[joint] {
            let tip = tip_of(rig, surface, skin, joint, params.tip_share);
            ends.extend(tip.filter(|tip| from.distance(*tip) > too_short).map(|tip| (tip, false)));
        }
        for (to, ends_free) in ends {
            let bone = Bone {
                joint,
                group: group_of_joint[joint],
                from,
                to,
                depths: (0..=STEPS)
                    .map(|step| surface.depth(from.lerp(to, step as f64 / STEPS as f64)))
                    .collect(),
                gap_from: 0.0,
                gap_to: 0.0,
            };
            bones.push(with_gaps(bone, is_free(joint), ends_free, params));
        }
    }
    bones
}

fn with_gaps(bone: Bone, begins_free: bool, ends_free: bool, params: &BoneParams) -> Bone {
    let longest = params.longest_gap * bone.length();
    let gap = |is_free: bool, depth: f64| {
        if is_free { (params.gap_share * depth.max(0.0)).min(longest) } else { 0.0 }
    };
    Bone { gap_from: gap(begins_free, bone.depths[0]), gap_to: gap(ends_free, bone.depths[STEPS]), ..bone }
}

/// Where the bone of a last joint ends: on the line of the bone before, or towards the joint's own
/// skin when that lies elsewhere.
fn tip_of(rig: &Rig, surface: &Surface, skin: &SkinOfJoints, joint: usize, tip_share: f64) -> Option<DVec3> {
    let skeleton = rig.skeleton();
    let from = skeleton.rest_position(joint);
    let to_skin = skin.middle[joint] - from;
    if !surface.winding.is_inside(from) {
        return Some(skin.middle[joint]);
    }
    let before = skeleton.joints()[joint].reference.map(|reference| from - skeleton.rest_position(reference));
    let before = before.unwrap_or(DVec3::ZERO).normalize_or_zero();
    let agrees = before.dot(to_skin.normalize_or_zero()) > AGREES;
    let direction = if agrees { before } else { to_skin }.try_normalize()?;
    let way = way_out(surface, from, direction).min(own_reach(rig, joint, from, direction));
    Some(from + tip_share * way * direction)
}

/// Length of a line from a point below the skin until it leaves the skin.
fn way_out(surface: &Surface, from: DVec3, direction: DVec3) -> f64 {
    // Each step goes as far as no skin can be in the way.
    let close = 1e-4 * surface.size;
    let mut way = 0.0;
    while way < surface.size {
        let depth = surface.depth(from + way * direction);
        if depth <= close {
            break;
        }
        way += depth;
    }
    way
}

/// How far the skin that mostly follows a joint reaches in a direction; no limit without any.
fn own_reach(rig: &Rig, joint: usize, from: DVec3, direction: DVec3) -> f64 {
    let follows =
        |vertex: usize| rig.weights().of(vertex).iter().any(|i| i.joint as usize == joint && i.weight > 0.3);
    let reach = (0..rig.vertex_count())
        .filter(|&vertex| follows(vertex))
        .map(|vertex| (rig.mesh().positions()[vertex].as_dvec3() - from).dot(direction))
        .fold(0.0, f64::max);
    if reach > 0.0 { reach } else { f64::INFINITY }
}
