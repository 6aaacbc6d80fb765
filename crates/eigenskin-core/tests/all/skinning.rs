//! Base skinning and its inverse, against slow direct evaluations.

use eigenskin_characters::tube::{pose, tube};
use eigenskin_core::glam::{DAffine3, DMat3, DMat4, DQuat, DVec3, DVec4};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, EXACT_FROM, PosedSkinning};
use proptest::prelude::*;

const BASES: [BaseSkinning; 3] =
    [BaseSkinning::Rigid, BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion];

fn vector() -> impl Strategy<Value = DVec3> {
    [-1.4f64..1.4, -1.4f64..1.4, -1.4f64..1.4].prop_map(DVec3::from_array)
}

fn joint_matrices(rig: &Rig, pose: &Pose) -> Vec<DMat4> {
    (0..3)
        .map(|j| {
            DMat4::from(pose.world_from_joint[j]) * DMat4::from(rig.skeleton().rest_from_joint()[j]).inverse()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Σ w T v with 4 × 4 matrices, as the paper writes it.
    #[test]
    fn linear_blending_is_the_sum_of_weighted_matrices(elbow in vector(), wrist in vector()) {
        let rig = tube();
        let pose = pose(&rig, elbow, wrist, 0.0);
        let joints = joint_matrices(&rig, &pose);
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
        for vertex in 0..rig.vertex_count() {
            let rest = rig.mesh().positions()[vertex].as_dvec3();
            let mut expected = DVec4::ZERO;
            for influence in rig.weights().of(vertex) {
                expected += f64::from(influence.weight) * (joints[influence.joint as usize] * rest.extend(1.0));
            }
            prop_assert!(skinning.position(vertex, rest).distance(expected.truncate()) < 1e-6);
        }
    }

    /// Screw motions blended by hand: dual quaternions as 8 numbers, normalised, applied as
    /// rotation matrix and translation 2·dual·conj(real).
    #[test]
    fn dual_quaternions_against_eight_numbers(elbow in vector(), wrist in vector()) {
        let rig = tube();
        let pose = pose(&rig, elbow, wrist, 0.0);
        let joints = joint_matrices(&rig, &pose);
        let eight: Vec<[f64; 8]> = joints.iter().map(|m| {
            let q = DQuat::from_mat3(&DMat3::from_mat4(*m)).normalize();
            let t = m.w_axis.truncate();
            [q.w, q.x, q.y, q.z,
             -0.5 * (t.x * q.x + t.y * q.y + t.z * q.z),
             0.5 * (t.x * q.w + t.y * q.z - t.z * q.y),
             0.5 * (t.y * q.w + t.z * q.x - t.x * q.z),
             0.5 * (t.z * q.w + t.x * q.y - t.y * q.x)]
        }).collect();
        let skinning = PosedSkinning::new(BaseSkinning::DualQuaternion, &rig, &pose);
        for vertex in 0..rig.vertex_count() {
            let influences = rig.weights().of(vertex);
            let first = eight[influences[0].joint as usize];
            let mut b = [0.0; 8];
            for influence in influences {
                let q = eight[influence.joint as usize];
                let dot: f64 = (0..4).map(|k| q[k] * first[k]).sum();
                for k in 0..8 {
                    b[k] += dot.signum() * f64::from(influence.weight) * q[k];
                }
            }
            let norm = (0..4).map(|k| b[k] * b[k]).sum::<f64>().sqrt();
            let [w, x, y, z, dw, dx, dy, dz] = b.map(|v| v / norm);
            let r = DMat3::from_cols(
                DVec3::new(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
                DVec3::new(2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
                DVec3::new(2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
            );
            let t = 2.0 * DVec3::new(
                -dw * x + dx * w - dy * z + dz * y,
                -dw * y + dx * z + dy * w - dz * x,
                -dw * z - dx * y + dy * x + dz * w,
            );
            let rest = rig.mesh().positions()[vertex].as_dvec3();
            prop_assert!(skinning.position(vertex, rest).distance(r * rest + t) < 1e-6);
            // Bind matrices are rounded to f32, so the joints' rotations are known to about 1e-7.
            prop_assert!((skinning.conditioning(vertex).smallest - norm).abs() < 1e-6);
        }
    }

    #[test]
    fn inverse_undoes_skinning(elbow in vector(), wrist in vector(), stretch in 0.5f64..2.0) {
        let rig = tube();
        let mut pose = pose(&rig, elbow, wrist, 0.0);
        pose.world_from_joint[2] *= DAffine3::from_scale(DVec3::new(stretch, 1.0, 1.0 / stretch));
        for base in BASES {
            let skinning = PosedSkinning::new(base, &rig, &pose);
            for vertex in (0..rig.vertex_count()).filter(|&v| skinning.conditioning(v).condition < 1e3) {
                let rest = rig.mesh().positions()[vertex].as_dvec3();
                let displaced = rest + DVec3::new(0.1, -0.2, 0.05);
                let posed = skinning.position(vertex, displaced);
                // Directions below the limit lose 1 − smoothstep of their correction; no more is lost.
                let x = (1.0 / (skinning.conditioning(vertex).condition * EXACT_FROM)).min(1.0);
                let damped = 1.0 - x * x * (3.0 - 2.0 * x);
                let lost = skinning.inverse_position(vertex, posed, rest).distance(displaced);
                prop_assert!(lost < 1e-9 + damped * displaced.distance(rest), "{lost} {damped}");
                let normal = rig.mesh().normals()[vertex].as_dvec3().normalize();
                let back = skinning.inverse_normal(vertex, skinning.normal(vertex, normal));
                prop_assert!(back.distance(normal) < 1e-9);
            }
        }
    }

    /// A single joint that scales: all bases agree with its own matrix.
    #[test]
    fn a_scaling_joint_alone_is_its_matrix(elbow in vector(), stretch in 0.5f64..2.0) {
        let rig = tube();
        let mut pose = pose(&rig, elbow, DVec3::ZERO, 0.0);
        pose.world_from_joint[2] *= DAffine3::from_scale(DVec3::new(stretch, 1.0, 2.0));
        let joints = joint_matrices(&rig, &pose);
        let last = rig.vertex_count() - 1;
        prop_assert_eq!(rig.weights().of(last).len(), 1);
        let rest = rig.mesh().positions()[last].as_dvec3();
        let expected = joints[2].transform_point3(rest);
        for base in BASES {
            prop_assert!(PosedSkinning::new(base, &rig, &pose).position(last, rest).distance(expected) < 1e-6);
        }
    }
}

/// A half turn with equal weights collapses linear blending on the axis: conditioning says so, and
/// the pulled-back displacement stays finite and small.
#[test]
fn a_half_twist_is_reported_as_singular() {
    let rig = tube();
    let axis_in_joint = rig.skeleton().rest_from_joint()[1].matrix3.transpose() * DVec3::X;
    let pose = pose(&rig, axis_in_joint * std::f64::consts::PI, DVec3::ZERO, 0.0);
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, &rig, &pose);
    let middle = (0..rig.vertex_count())
        .find(|&v| {
            let w = rig.weights().of(v);
            w.len() == 2 && (w[0].weight - 0.5).abs() < 1e-6 && w.iter().all(|i| i.joint < 2)
        })
        .unwrap();
    assert!(skinning.conditioning(middle).smallest < 1e-6);
    assert!(skinning.conditioning(middle).condition > 1e4);
    let rest = rig.mesh().positions()[middle].as_dvec3();
    let pulled = skinning.inverse_position(middle, rest, rest);
    assert!(pulled.distance(rest) < 2.0 * rig.mesh().size());
    // Away from the twist nothing is singular.
    assert!((skinning.conditioning(rig.vertex_count() - 1).condition - 1.0).abs() < 1e-6);
}
