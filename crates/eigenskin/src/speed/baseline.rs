//! The fixed yardstick: skinning as one writes it first. Do not make it faster; all ratios would change.

use std::sync::Arc;

use eigenskin_core::glam::{Affine3A, Mat4, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

/// An array of vertices, each with its four heaviest joints.
pub struct Baseline {
    rig: Arc<Rig>,
    vertices: Vec<Vertex>,
    /// posed positions and normals, `vertex`
    pub posed: Vec<(Vec3, Vec3)>,
}

struct Vertex {
    position: Vec3,
    normal: Vec3,
    joints: [u32; 4],
    weights: [f32; 4],
}

impl Baseline {
    /// Prepares to skin a rig.
    pub fn new(rig: &Arc<Rig>) -> Self {
        let vertices = (0..rig.vertex_count()).map(|vertex| {
            let influences = rig.weights().of(vertex);
            Vertex {
                position: rig.mesh().positions()[vertex],
                normal: rig.mesh().normals()[vertex],
                joints: std::array::from_fn(|i| influences.get(i).map_or(0, |influence| influence.joint)),
                weights: std::array::from_fn(|i| influences.get(i).map_or(0.0, |influence| influence.weight)),
            }
        });
        let vertices: Vec<Vertex> = vertices.collect();
        Self { rig: rig.clone(), posed: vec![(Vec3::ZERO, Vec3::ZERO); vertices.len()], vertices }
    }

    /// Skins one pose.
    pub fn skin(&mut self, pose: &Pose) {
        let joints: Vec<Mat4> = pose
            .posed_from_rest(self.rig.skeleton())
            .map(|map| {
                Mat4::from(Affine3A::from_mat3_translation(map.matrix3.as_mat3(), map.translation.as_vec3()))
            })
            .collect();
        for (posed, vertex) in self.posed.iter_mut().zip(&self.vertices) {
            let blended = vertex
                .joints
                .iter()
                .zip(vertex.weights)
                .map(|(&joint, weight)| joints[joint as usize] * weight)
                .sum::<Mat4>();
            *posed = (
                blended.transform_point3(vertex.position),
                blended.transform_vector3(vertex.normal).normalize(),
            );
        }
    }
}
