//! A right hand: 20 joints, five fingers, named as in WebXR hand input. Metres; fingers along y,
//! palm towards z, thumb towards x, the wrist at the origin, 0.19 from there to the longest tip.

mod motion;
mod shape;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::implicit::Group;
use super::meshing::skin_of;
use super::truth::{Bend, Branch, Flesh, Swelling};
use super::{Character, CharacterError, degree, joint};
use eigenskin_core::articulation::DegreeOfFreedom;
use eigenskin_core::bone_distance::{BoneDistanceParams, weights_from_bone_distance};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::Skeleton;

/// Below this fingers lose their shape.
const FEWEST_TRIANGLES: usize = 1500;
/// Grid that still tells the fingers apart.
const COARSEST_GRID: f64 = 0.0022;

/// The hand with exactly this many triangles (even, at least 1,500); the EigenSkin paper's hands
/// have 13,976 and 55,904.
pub fn hand(triangles: usize) -> Result<Character, CharacterError> {
    hand_with_fingers(triangles, 1.0)
}

/// The hand with fingers that are `thickness` times as thick, on the same bones; 0.8 to 1.2 keep them
/// apart.
pub fn hand_with_fingers(triangles: usize, thickness: f64) -> Result<Character, CharacterError> {
    let refused = CharacterError::TriangleCount { triangles, fewest: FEWEST_TRIANGLES };
    if triangles % 2 == 1 || triangles < FEWEST_TRIANGLES {
        return Err(refused);
    }
    let fingers = fingers(thickness);
    let surface = skin_of(&shape::body(&fingers), triangles, COARSEST_GRID).ok_or(refused)?;
    let positions = surface.positions.iter().map(|p| p.as_vec3()).collect();
    let mesh = Mesh::new(positions, surface.triangles, None)?;
    let skeleton = skeleton(&fingers)?;
    let params = BoneDistanceParams { leaf_continuation: 0.7, blend: 0.85, ..BoneDistanceParams::default() };
    let weights = weights_from_bone_distance(&mesh, &skeleton, &params)?;
    let degrees_of_freedom = degrees_of_freedom();
    Ok(Character {
        rig: Arc::new(Rig::new(mesh, skeleton, weights, vec![])?),
        flesh: flesh(&fingers),
        named_angles: motion::named_angles(),
        motion_keys: motion::keys(),
        degrees_of_freedom,
    })
}

/// One finger at rest. The thumb's metacarpal is its first phalanx here: it moves.
pub(super) struct Finger {
    name: &'static str,
    /// joints from the first that moves, then the end of the bone in the tip
    points: [DVec3; 4],
    /// radius of the flesh at the points
    radii: [f64; 4],
    /// where the resting metacarpal begins; none for the thumb
    metacarpal: Option<DVec3>,
    /// out of the back of the hand or the nail
    back: DVec3,
    /// half the stretch over which each joint bends the skin
    half_widths: [f64; 3],
}

/// Thumb first, then from the index to the little finger.
fn fingers(thickness: f64) -> [Finger; 5] {
    let mm = |x: f64, y: f64, z: f64| DVec3::new(x, y, z) * 1e-3;
    let thumb_start = mm(19.0, 21.0, 6.0);
    let thumb_1 = thumb_start + 0.043 * DVec3::new(0.66, 0.68, 0.30).normalize();
    let thumb_2 = thumb_1 + 0.033 * DVec3::new(0.50, 0.85, 0.16).normalize();
    let thumb_3 = thumb_2 + 0.0185 * DVec3::new(0.36, 0.93, 0.06).normalize();
    let thumb = Finger {
        name: "thumb",
        points: [thumb_start, thumb_1, thumb_2, thumb_3],
        radii: [0.0150, 0.0115, 0.0102, 0.0090].map(|r| thickness * r),
        metacarpal: None,
        back: DVec3::new(0.72, -0.30, -0.62),
        half_widths: [0.024, 0.018, 0.0145],
    };
    let finger = |name, base: DVec3, knuckle: DVec3, lean: f64, lengths: [f64; 3], radii: [f64; 4]| {
        let mut direction = DVec3::new(lean.to_radians().sin(), lean.to_radians().cos(), 0.0);
        let hinge = direction.cross(DVec3::Z).normalize();
        let mut points = [knuckle; 4];
        // A relaxed finger is a little bent.
        for (index, curl) in [8.0f64, 13.0, 9.0].into_iter().enumerate() {
            direction = DQuat::from_axis_angle(hinge, curl.to_radians()) * direction;
            points[index + 1] = points[index] + 1e-3 * lengths[index] * direction;
        }
        let radii = radii.map(|r| 1e-3 * thickness * r);
        Finger {
            name,
            points,
            radii,
            metacarpal: Some(base),
            back: DVec3::NEG_Z,
            half_widths: [2.5 * radii[0], 1.8 * radii[1], 1.45 * radii[2]],
        }
    };
    [
        thumb,
        finger(
            "index-finger",
            mm(14.0, 29.0, -1.0),
            mm(26.0, 90.0, -3.0),
            6.0,
            [42.5, 26.0, 18.5],
            [9.5, 8.7, 8.0, 7.2],
        ),
        finger(
            "middle-finger",
            mm(4.0, 30.0, -3.0),
            mm(4.5, 93.5, -5.5),
            0.5,
            [47.0, 30.0, 20.0],
            [9.6, 8.9, 8.2, 7.4],
        ),
        finger(
            "ring-finger",
            mm(-6.0, 28.5, -2.0),
            mm(-15.5, 88.0, -4.5),
            -4.5,
            [42.5, 28.5, 19.5],
            [9.1, 8.4, 7.7, 7.0],
        ),
        finger(
            "pinky-finger",
            mm(-15.0, 26.0, 0.0),
            mm(-33.5, 78.5, -1.0),
            -13.0,
            [34.0, 21.0, 17.0],
            [8.0, 7.3, 6.7, 6.1],
        ),
    ]
}

/// Names of a finger's moving joints.
fn joint_names(finger: &Finger) -> [String; 3] {
    let parts = if finger.metacarpal.is_some() {
        ["phalanx-proximal", "phalanx-intermediate", "phalanx-distal"]
    } else {
        ["metacarpal", "phalanx-proximal", "phalanx-distal"]
    };
    parts.map(|part| format!("{}-{part}", finger.name))
}

/// Index of a finger's first moving joint.
fn first_joint(finger: usize) -> usize {
    if finger == 0 { 1 } else { 4 * finger + 1 }
}

fn skeleton(fingers: &[Finger]) -> Result<Skeleton, super::SkeletonError> {
    let mut joints = vec![joint("wrist", None, DVec3::ZERO, DVec3::Y, DVec3::NEG_Z)];
    for finger in fingers {
        let mut parent = 0;
        if let Some(base) = finger.metacarpal {
            let name = format!("{}-metacarpal", finger.name);
            joints.push(joint(&name, Some(parent), base, finger.points[0] - base, finger.back));
            parent = joints.len() - 1;
        }
        for (index, name) in joint_names(finger).iter().enumerate() {
            let bone = finger.points[index + 1] - finger.points[index];
            joints.push(joint(name, Some(parent), finger.points[index], bone, finger.back));
            parent = joints.len() - 1;
        }
    }
    Skeleton::new(joints)
}

/// Four per finger: bend and spread of the first joint, bend of the other two.
fn degrees_of_freedom() -> Vec<DegreeOfFreedom> {
    let mut degrees = Vec::new();
    for finger in 0..5 {
        let first = first_joint(finger);
        if finger == 0 {
            degrees.push(degree(first, DVec3::X, -30.0, 15.0));
            degrees.push(degree(first, DVec3::Y, -20.0, 20.0));
            degrees.push(degree(first + 1, DVec3::X, -55.0, 0.0));
            degrees.push(degree(first + 2, DVec3::X, -75.0, 0.0));
        } else {
            degrees.push(degree(first, DVec3::X, -90.0, 0.0));
            degrees.push(degree(first, DVec3::Y, -10.0, 10.0));
            degrees.push(degree(first + 1, DVec3::X, -100.0, 0.0));
            degrees.push(degree(first + 2, DVec3::X, -70.0, 0.0));
        }
    }
    degrees
}

/// Limbs and bends for the true shape.
fn flesh(fingers: &[Finger]) -> Flesh {
    let mut bends = vec![None];
    let mut branches = Vec::new();
    for (branch, finger) in fingers.iter().enumerate() {
        let mut before = finger.points[0];
        if let Some(base) = finger.metacarpal {
            let bone = (finger.points[0] - base).normalize();
            let length = base.distance(finger.points[0]);
            bends.push(Some(Bend {
                along: bone,
                bone,
                half_width: 0.015,
                twist_from: 0.0,
                twist_length: length,
                branch: Some(branch),
            }));
            before = base;
        }
        for index in 0..3 {
            let bone = finger.points[index + 1] - finger.points[index];
            let incoming = (finger.points[index] - before).normalize_or_zero();
            bends.push(Some(Bend {
                along: (incoming + bone.normalize()).normalize(),
                bone: bone.normalize(),
                half_width: finger.half_widths[index],
                twist_from: 0.0,
                twist_length: bone.length(),
                branch: Some(branch),
            }));
            before = finger.points[index];
        }
        let mut limbs = shape::finger_limbs(finger);
        limbs.extend(shape::metacarpal_limb(finger));
        let reach = if branch == 0 { 0.024 } else { 0.018 };
        branches.push(Branch { flesh: Group { limbs, blend: shape::FINGER_BLEND, joins: 0.0 }, reach });
    }
    let swellings = fingers.iter().enumerate().flat_map(|(index, finger)| swellings(index, finger)).collect();
    Flesh { bends, branches, swellings, highest_swelling: 0.014 }
}

/// Where a finger's flesh comes out when its joints bend.
fn swellings(index: usize, finger: &Finger) -> Vec<Swelling> {
    let first = first_joint(index);
    let side = |k: usize| {
        let along = (finger.points[k + 1] - finger.points[k]).normalize();
        -(finger.back - along * finger.back.dot(along)).normalize()
    };
    let mut list = Vec::new();
    for k in 0..3 {
        // The inner side of the bone before the joint; for the first one, the palm.
        let (palm, towards) = if k == 0 { (index > 0, DVec3::Z) } else { (false, side(k - 1)) };
        let radius = finger.radii[k];
        let before =
            if k == 0 { finger.metacarpal.unwrap_or(finger.points[0]) } else { finger.points[k - 1] };
        let back = if k == 0 { 1.0 * radius } else { 0.5 * finger.points[k].distance(before) };
        let along = (finger.points[k] - before).normalize_or_zero();
        list.push(Swelling {
            joint: first + k,
            centre: finger.points[k] - back * along + radius * towards,
            reach: if palm { 2.2 * radius } else { 2.0 * radius },
            push: towards * radius * if k == 0 { 0.8 } else { 0.6 },
            branch: (!palm).then_some(index),
        });
        // The bare end of the bone at the outer side.
        list.push(Swelling {
            joint: first + k,
            centre: finger.points[k] - radius * side(k),
            reach: 1.5 * radius,
            push: -0.22 * radius * side(k),
            branch: Some(index),
        });
    }
    list
}
