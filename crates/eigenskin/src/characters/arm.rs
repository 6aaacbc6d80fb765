//! A right arm: shoulder, upper arm, forearm and hand. Metres; the arm points along x, the elbow
//! bends towards z, the root sits in the chest's side of the shoulder.

use std::sync::Arc;

use glam::DVec3;

use super::implicit::{Body, Capsule, Group};
use super::meshing::skin_of;
use super::truth::{Bend, Flesh};
use super::{Character, CharacterError, degree, joint, one_after_the_other};
use crate::bone_distance::{BoneDistanceParams, weights_from_bone_distance};
use crate::mesh::Mesh;
use crate::rig::Rig;
use crate::skeleton::Skeleton;

/// Below this the limb loses its shape.
const FEWEST_TRIANGLES: usize = 300;
/// Grid that follows the limb well.
const COARSEST_GRID: f64 = 0.012;

/// Where the joints are, from the root on, then the tip.
const JOINTS: [(&str, DVec3); 4] = [
    ("shoulder", DVec3::ZERO),
    ("upper-arm", DVec3::new(0.10, 0.0, 0.0)),
    ("forearm", DVec3::new(0.40, 0.0, 0.0)),
    ("hand", DVec3::new(0.66, 0.0, 0.0)),
];

/// The arm with exactly this many triangles (even, at least 300).
pub fn arm(triangles: usize) -> Result<Character, CharacterError> {
    let refused = CharacterError::TriangleCount { triangles, fewest: FEWEST_TRIANGLES };
    if triangles % 2 == 1 || triangles < FEWEST_TRIANGLES {
        return Err(refused);
    }
    let surface = skin_of(&body(), triangles, COARSEST_GRID).ok_or(refused)?;
    let positions = surface.positions.iter().map(|p| p.as_vec3()).collect();
    let mesh = Mesh::new(positions, surface.triangles, None)?;
    let joints = JOINTS
        .iter()
        .enumerate()
        .map(|(index, &(name, at))| joint(name, index.checked_sub(1), at, DVec3::X, DVec3::NEG_Z))
        .collect();
    let skeleton = Skeleton::new(joints)?;
    let params = BoneDistanceParams { leaf_continuation: 0.5, ..BoneDistanceParams::default() };
    let weights = weights_from_bone_distance(&mesh, &skeleton, &params)?;
    let degrees_of_freedom = vec![
        degree(1, DVec3::X, -50.0, 40.0),
        degree(1, DVec3::Y, -50.0, 50.0),
        degree(2, DVec3::X, -120.0, 0.0),
        degree(2, DVec3::Z, -80.0, 80.0),
        degree(3, DVec3::X, -60.0, 60.0),
    ];
    Ok(Character {
        rig: Arc::new(Rig::new(mesh, skeleton, weights, vec![])?),
        motion_keys: one_after_the_other(&degrees_of_freedom),
        degrees_of_freedom,
        flesh: flesh(),
        named_angles: vec![],
    })
}

fn body() -> Body {
    let at = |x: f64, y: f64, z: f64| DVec3::new(x, y, z);
    let limbs = vec![
        Capsule::new(at(-0.10, 0.0, 0.0), at(0.10, 0.0, 0.0), 0.075, 0.060),
        // Shoulder muscle, upper arm, biceps.
        Capsule::new(at(0.09, 0.008, -0.004), at(0.20, 0.0, 0.0), 0.060, 0.048),
        Capsule::new(at(0.10, 0.0, 0.0), at(0.40, 0.0, 0.0), 0.052, 0.041),
        Capsule::new(at(0.21, 0.0, 0.010), at(0.31, 0.0, 0.008), 0.043, 0.038),
        // Forearm: thick below the elbow, thin at the wrist.
        Capsule::new(at(0.40, 0.0, 0.0), at(0.48, 0.0, 0.003), 0.041, 0.043),
        Capsule::new(at(0.48, 0.0, 0.003), at(0.66, 0.0, 0.0), 0.043, 0.027),
        // The hand as a mitten.
        Capsule::new(at(0.66, 0.0, 0.0), at(0.73, 0.014, 0.002), 0.025, 0.024),
        Capsule::new(at(0.66, 0.0, 0.0), at(0.73, -0.014, 0.002), 0.025, 0.024),
        Capsule::new(at(0.73, 0.012, 0.002), at(0.81, 0.008, 0.006), 0.023, 0.014),
        Capsule::new(at(0.73, -0.012, 0.002), at(0.81, -0.008, 0.006), 0.023, 0.014),
    ];
    let end = (at(-0.06, 0.0, 0.0), DVec3::NEG_X, 0.03);
    Body { groups: vec![Group { limbs, blend: 0.03, joins: 0.03 }], dents: vec![], cuts: vec![end] }
}

/// Joints bend the skin over stretches about as long as the limb is thick.
fn flesh() -> Flesh {
    let half_widths = [0.095, 0.088, 0.055];
    let mut bends = vec![None];
    for (index, half_width) in half_widths.into_iter().enumerate() {
        let bone_length = JOINTS.get(index + 2).map_or(0.12, |next| next.1.distance(JOINTS[index + 1].1));
        bends.push(Some(Bend {
            along: DVec3::X,
            bone: DVec3::X,
            half_width,
            twist_length: bone_length,
            branch: None,
        }));
    }
    Flesh { bends, branches: vec![] }
}
