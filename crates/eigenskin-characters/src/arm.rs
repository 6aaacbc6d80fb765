//! A right arm: shoulder, upper arm, forearm with its twist, and hand. Metres; the arm points along x, the elbow
//! bends towards z, the root sits in the chest's side of the shoulder.

use std::sync::Arc;

use glam::DVec3;

use super::implicit::{Body, Capsule, Group};
use super::meshing::skin_of;
use super::truth::{Bend, Flesh, Swelling};
use super::{Character, CharacterError, degree, joint, one_after_the_other};
use eigenskin_core::bone_distance::{BoneDistanceParams, weights_from_bone_distance};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::Skeleton;

/// Below this the limb loses its shape.
const FEWEST_TRIANGLES: usize = 300;
/// Grid that follows the limb well.
const COARSEST_GRID: f64 = 0.012;

/// Where the joints are, from the root on. The forearm's twist has a joint of its own in its middle,
/// as radius and ulna turn about each other between elbow and wrist.
const JOINTS: [(&str, DVec3); 5] = [
    ("shoulder", DVec3::ZERO),
    ("upper-arm", DVec3::new(0.10, 0.0, 0.0)),
    ("forearm", DVec3::new(0.40, 0.0, 0.0)),
    ("forearm-twist", DVec3::new(0.53, 0.0, 0.0)),
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
        degree(1, DVec3::X, -35.0, 30.0),
        degree(1, DVec3::Y, -30.0, 30.0),
        degree(2, DVec3::X, -120.0, 0.0),
        degree(3, DVec3::Z, -80.0, 80.0),
        degree(4, DVec3::X, -60.0, 60.0),
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
        Capsule::new(at(-0.12, 0.0, 0.0), at(0.08, 0.0, 0.0), 0.072, 0.064),
        // Shoulder muscle, upper arm, biceps.
        Capsule::new(at(0.06, 0.006, -0.004), at(0.20, 0.0, 0.0), 0.062, 0.046),
        Capsule::new(at(0.10, 0.0, 0.0), at(0.40, 0.0, 0.0), 0.050, 0.040),
        Capsule::new(at(0.20, 0.0, 0.010), at(0.31, 0.0, 0.006), 0.044, 0.040),
        // Forearm: thick below the elbow, thin at the wrist.
        Capsule::new(at(0.40, 0.0, 0.0), at(0.47, 0.0, 0.003), 0.040, 0.041),
        Capsule::new(at(0.47, 0.0, 0.003), at(0.67, 0.0, 0.0), 0.041, 0.025),
        // The hand as a mitten.
        Capsule::new(at(0.66, 0.0, 0.0), at(0.73, 0.016, 0.002), 0.023, 0.022),
        Capsule::new(at(0.66, 0.0, 0.0), at(0.73, -0.016, 0.002), 0.023, 0.022),
        Capsule::new(at(0.73, 0.016, 0.002), at(0.84, 0.010, 0.012), 0.022, 0.012),
        Capsule::new(at(0.73, -0.016, 0.002), at(0.84, -0.010, 0.012), 0.022, 0.012),
        Capsule::new(at(0.70, 0.025, 0.010), at(0.76, 0.052, 0.018), 0.015, 0.011),
    ];
    let end = (at(-0.06, 0.0, 0.0), DVec3::NEG_X, 0.03);
    Body { groups: vec![Group { limbs, blend: 0.03, joins: 0.03 }], cuts: vec![end] }
}

/// Joints bend the skin over stretches about as long as the limb is thick.
fn flesh() -> Flesh {
    // Half the stretch of the bend; where twist begins and how long it is spread.
    let stretches = [(0.095, 0.0, 0.30), (0.088, 0.0, 0.26), (0.05, -0.12, 0.25), (0.055, 0.0, 0.12)];
    let bend = |(half_width, twist_from, twist_length)| {
        Some(Bend { along: DVec3::X, bone: DVec3::X, half_width, twist_from, twist_length, branch: None })
    };
    let bends = std::iter::once(None).chain(stretches.into_iter().map(bend)).collect();
    let swelling = |joint, centre: [f64; 3], reach, push: [f64; 3]| Swelling {
        joint,
        centre: DVec3::from_array(centre),
        reach,
        push: DVec3::from_array(push),
        branch: None,
    };
    let swellings = vec![
        // Shoulder muscle, biceps, triceps, forearm.
        swelling(1, [0.10, 0.02, -0.03], 0.11, [0.0, 0.004, -0.010]),
        swelling(2, [0.26, 0.0, 0.045], 0.11, [0.0, 0.0, 0.018]),
        swelling(2, [0.27, 0.0, -0.045], 0.10, [0.0, 0.0, 0.006]),
        swelling(2, [0.47, 0.0, 0.035], 0.08, [0.004, 0.0, 0.008]),
    ];
    Flesh { bends, branches: vec![], swellings, highest_swelling: 0.03 }
}
