//! A small character for tests: a tube along x with a texture seam, three joints in a chain and a
//! control, and shapes that no skinning gives.
#![allow(clippy::unwrap_used, reason = "everything here is constant; tests build it")]

use std::sync::Arc;

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};
use glam::{DAffine3, DQuat, DVec3, Vec3};

/// Rings of vertices along the tube.
pub const RINGS: usize = 13;
/// Vertices around the tube; the last repeats the first (the seam).
pub const AROUND: usize = 9;

/// A tube of length 6 and radius 0.5 with joints at x = 0, 2 and 4.
pub fn tube() -> Arc<Rig> {
    let mut positions = Vec::new();
    let mut weights = Vec::new();
    for ring in 0..RINGS {
        let x = 6.0 * ring as f32 / (RINGS - 1) as f32;
        for k in 0..AROUND {
            let angle = std::f32::consts::TAU * (k % (AROUND - 1)) as f32 / (AROUND - 1) as f32;
            positions.push(Vec3::new(x, 0.5 * angle.cos(), 0.5 * angle.sin()));
            let hat = |at: f32| (1.0 - (x - at).abs() / 2.0).max(0.0);
            let raw = [
                hat(1.0) + if x < 1.0 { 1.0 } else { 0.0 },
                hat(3.0),
                hat(5.0) + if x > 5.0 { 1.0 } else { 0.0 },
            ];
            weights.push((0..3).map(|joint| Influence { joint, weight: raw[joint as usize] }).collect());
        }
    }
    let mut triangles = Vec::new();
    for ring in 0..RINGS - 1 {
        for k in 0..AROUND - 1 {
            let at = |r: usize, k: usize| (r * AROUND + k) as u32;
            triangles.push([at(ring, k), at(ring, k + 1), at(ring + 1, k)]);
            triangles.push([at(ring + 1, k), at(ring, k + 1), at(ring + 1, k + 1)]);
        }
    }
    let joint = |name: &str, parent, x: f64, turn: f64| Joint {
        name: name.into(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::from_rotation_translation(
            DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -1.0).normalize(), turn),
            DVec3::new(x, 0.0, 0.0),
        )
        .inverse(),
    };
    let skeleton = Skeleton::new(vec![
        joint("root", None, 0.0, 0.4),
        joint("elbow", Some(0), 2.0, -0.7),
        joint("wrist", Some(1), 4.0, 1.1),
    ])
    .unwrap();
    let (weights, _) = SkinWeights::new(3, weights).unwrap();
    let control = Control { name: "heavy".into(), default: 0.25 };
    Arc::new(
        Rig::new(Mesh::new(positions, triangles, None).unwrap(), skeleton, weights, vec![control]).unwrap(),
    )
}

/// The tube's pose with elbow and wrist turned by rotation vectors, and the control set.
pub fn pose(rig: &Rig, elbow: DVec3, wrist: DVec3, heavy: f64) -> Pose {
    let mut local = rig.skeleton().parent_from_joint(rig.skeleton().rest_from_joint());
    local[1] *= DAffine3::from_quat(DQuat::from_scaled_axis(elbow));
    local[2] *= DAffine3::from_quat(DQuat::from_scaled_axis(wrist));
    Pose { world_from_joint: rig.skeleton().forward_kinematics(&local), controls: vec![heavy] }
}

/// An invented true shape: linear blending computed here, of a rest shape with bulges that depend
/// nonlinearly on the joints. Everything in f64, nothing shared with the library's skinning.
pub fn true_shape(rig: &Rig, pose: &Pose, elbow: DVec3, wrist: DVec3, heavy: f64) -> Vec<Vec3> {
    let joints: Vec<DAffine3> =
        (0..3).map(|j| pose.world_from_joint[j] * rig.skeleton().rest_from_joint()[j].inverse()).collect();
    (0..rig.vertex_count())
        .map(|vertex| {
            let rest = rig.mesh().positions()[vertex].as_dvec3();
            let near = |at: f64| (-(rest.x - at).powi(2) / 0.4).exp();
            let bulge =
                0.25 * elbow.length().sin() * near(2.0) + 0.2 * (1.0 - wrist.length().cos()) * near(4.0);
            let sag = 0.3 * (heavy - 0.25) * (1.0 + 0.3 * heavy) * near(1.0);
            let moved = rest + DVec3::new(0.1 * elbow.x * near(2.0), bulge * rest.y, bulge * rest.z - sag);
            rig.weights()
                .of(vertex)
                .iter()
                .map(|i| f64::from(i.weight) * joints[i.joint as usize].transform_point3(moved))
                .sum::<DVec3>()
                .as_vec3()
        })
        .collect()
}

/// Single-joint sweeps of elbow (two axes) and wrist, and of the control.
pub fn sweeps(rig: &Arc<Rig>) -> ExampleSet {
    let mut settings = Vec::new();
    for step in 1..=4 {
        let angle = 0.4 * f64::from(step);
        settings.push((format!("elbow y {step}"), DVec3::Y * angle, DVec3::ZERO, 0.25));
        settings.push((format!("elbow x {step}"), DVec3::X * -angle, DVec3::ZERO, 0.25));
        settings.push((format!("wrist z {step}"), DVec3::ZERO, DVec3::Z * angle, 0.25));
        settings.push((format!("heavy {step}"), DVec3::ZERO, DVec3::ZERO, 0.25 + 0.3 * f64::from(step)));
    }
    set_of(rig, settings)
}

/// Examples for (name, elbow, wrist, heavy).
pub fn set_of(rig: &Arc<Rig>, settings: Vec<(String, DVec3, DVec3, f64)>) -> ExampleSet {
    let examples = settings
        .into_iter()
        .map(|(name, elbow, wrist, heavy)| {
            let pose = pose(rig, elbow, wrist, heavy);
            let positions = true_shape(rig, &pose, elbow, wrist, heavy);
            Example { name, pose, positions, normals: None, inverted: None }
        })
        .collect();
    ExampleSet::new(rig.clone(), examples).unwrap()
}
