//! What changes with the pose: joints and coordinates, rounded to `f32` for the kernels.

use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::lanes::Lanes;
use super::{Coordinate, PackedModel};
use crate::pose::{Pose, rotation_of};
use crate::skinning::BaseSkinning;

/// One frame. All lists of joints have one more at the end, which never moves.
#[derive(Debug)]
pub(super) struct FrameData {
    /// `joint`: rows of the map of points about the centre, every number in all lanes so that products
    /// can read it from memory; for dual quaternions their stretch only
    pub matrices: Vec<[Lanes; 12]>,
    /// `joint`: real part (x, y, z, w), then dual part; empty unless the base has them
    pub dual_quaternions: Vec<[f32; 8]>,
    /// a joint of this pose scales or shears
    pub any_stretch: bool,
    /// `joint`: rows of its rotation; only those of corrections after skinning are kept up
    pub rotations: Vec<[f32; 9]>,
    /// coordinates times scales in the order of the tables
    pub before: Vec<f32>,
    pub turning: Vec<f32>,
    pub after: Vec<f32>,
}

impl FrameData {
    pub fn new(packed: &PackedModel) -> Self {
        let joints = packed.rig.skeleton().joint_count() + 1;
        let tables = &packed.tables;
        let has_dual = packed.skinning == BaseSkinning::DualQuaternion;
        let at_rest = dual_quaternion(DQuat::IDENTITY, tables.centre);
        let identity = if has_dual { DAffine3::IDENTITY } else { DAffine3::from_translation(tables.centre) };
        Self {
            matrices: vec![rows(identity); joints],
            dual_quaternions: if has_dual { vec![at_rest; joints] } else { Vec::new() },
            any_stretch: false,
            rotations: vec![rotation_rows(DMat3::IDENTITY); joints],
            before: vec![0.0; tables.before.len()],
            turning: vec![0.0; tables.turning.len()],
            after: vec![0.0; tables.after.len()],
        }
    }

    /// Takes over the joints of a pose.
    pub fn set_pose(&mut self, packed: &PackedModel, pose: &Pose) {
        let skeleton = packed.rig.skeleton();
        assert_eq!(pose.world_from_joint.len(), skeleton.joint_count(), "the pose is of another rig");
        let centre = packed.tables.centre;
        self.any_stretch = false;
        for (joint, transform) in pose.posed_from_rest(skeleton).enumerate() {
            if self.dual_quaternions.is_empty() {
                self.matrices[joint] = rows(transform * DAffine3::from_translation(centre));
            } else {
                self.set_dual_quaternion(joint, transform, skeleton.rest_position(joint), centre);
            }
        }
        for &joint in &packed.tables.frame_joints {
            let transform =
                pose.world_from_joint[joint as usize] * skeleton.joints()[joint as usize].joint_from_rest;
            self.rotations[joint as usize] = rotation_rows(DMat3::from_quat(rotation_of(transform.matrix3)));
        }
    }

    /// Rigid motion after stretch, as [`crate::skinning::dual_quaternion`] takes joints apart; both about
    /// the centre.
    fn set_dual_quaternion(&mut self, joint: usize, transform: DAffine3, at: DVec3, centre: DVec3) {
        let rotation = rotation_of(transform.matrix3);
        let stretch = DMat3::from_quat(rotation.inverse()) * transform.matrix3;
        self.any_stretch |= !stretch.abs_diff_eq(DMat3::IDENTITY, 1e-6);
        let from_joint = at - centre;
        self.matrices[joint] =
            rows(DAffine3 { matrix3: stretch, translation: from_joint - stretch * from_joint });
        let translation = transform.transform_point3(at) - rotation * at;
        self.dual_quaternions[joint] = dual_quaternion(rotation, translation + rotation * centre);
    }

    /// Takes over the coordinates of all layers; `factor` is what stored displacements need besides their
    /// scales.
    pub fn set_coordinates(&mut self, packed: &PackedModel, coordinates: &[f32], factor: f32) {
        let scale = |to: &mut [f32], from: &[Coordinate]| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = coordinates[from.component as usize] * (from.scale * factor);
            }
        };
        scale(&mut self.before, &packed.tables.before);
        scale(&mut self.turning, &packed.tables.turning);
        scale(&mut self.after, &packed.tables.after);
    }
}

fn rows(map: DAffine3) -> [Lanes; 12] {
    let matrix = map.matrix3.transpose().to_cols_array();
    std::array::from_fn(|i| match i % 4 {
        3 => Lanes::splat(map.translation[i / 4] as f32),
        column => Lanes::splat(matrix[3 * (i / 4) + column] as f32),
    })
}

fn rotation_rows(matrix: DMat3) -> [f32; 9] {
    matrix.transpose().to_cols_array().map(|value| value as f32)
}

fn dual_quaternion(rotation: DQuat, translation: DVec3) -> [f32; 8] {
    let dual = DQuat::from_xyzw(translation.x, translation.y, translation.z, 0.0) * rotation * 0.5;
    let (real, dual) = (rotation.to_array(), dual.to_array());
    std::array::from_fn(|i| if i < 4 { real[i] as f32 } else { dual[i - 4] as f32 })
}
