//! What changes with the pose, as it is uploaded: joints and coordinates of some instances in `f32`.

use bytemuck::{Pod, Zeroable};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3};
use eigenskin_core::pose::{Pose, rotation_of};

use crate::tables::ModelTables;

/// Numbers that the kernels have as a uniform; 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    /// vertices of the model
    pub vertices: u32,
    /// instances
    pub instances: u32,
    /// joints of one instance, with the one that never moves
    pub joints: u32,
    /// coordinates of one instance
    pub coordinates: u32,
    /// not zero: some joint of some instance scales or shears
    pub any_stretch: u32,
    unused: [u32; 3],
}

/// One frame of some instances.
#[derive(Debug, Clone)]
pub struct FrameTables {
    /// `instance × joint × stride`; the last joint of an instance never moves
    joints: Vec<[f32; 4]>,
    /// `instance × slot`
    coordinates: Vec<f32>,
    /// `instance`: a joint scales or shears
    stretched: Vec<bool>,
    counts: Counts,
}

impl FrameTables {
    /// Instances at rest, without corrections.
    pub fn new(tables: &ModelTables, instances: usize) -> Self {
        let skeleton = tables.rig().skeleton();
        let (joints, slots) = (skeleton.joint_count() + 1, tables.slots().len());
        let mut frame = Self {
            joints: vec![[0.0; 4]; instances * joints * tables.joint_stride()],
            coordinates: vec![0.0; instances * slots],
            stretched: vec![false; instances],
            counts: Counts {
                vertices: tables.rig().vertex_count() as u32,
                instances: instances as u32,
                joints: joints as u32,
                coordinates: slots as u32,
                any_stretch: 0,
                unused: [0; 3],
            },
        };
        for instance in 0..instances {
            for joint in 0..joints {
                let at = if joint + 1 < joints { skeleton.rest_position(joint) } else { DVec3::ZERO };
                frame.set_joint(tables, instance, joint, DAffine3::IDENTITY, at);
            }
        }
        frame
    }

    /// Poses an instance; `coordinates` are those of all layers, as
    /// [`Evaluator::drive`](eigenskin_core::evaluate::Evaluator::drive) gives them. Allocates nothing.
    ///
    /// # Panics
    /// If there is no such instance, or pose or coordinates are of another model.
    pub fn set(&mut self, tables: &ModelTables, instance: usize, pose: &Pose, coordinates: &[f32]) {
        let skeleton = tables.rig().skeleton();
        assert_eq!(pose.world_from_joint.len(), skeleton.joint_count(), "the pose is of another rig");
        assert_eq!(coordinates.len(), tables.component_count(), "the coordinates are of another model");
        self.stretched[instance] = false;
        for (joint, transform) in pose.posed_from_rest(skeleton).enumerate() {
            self.set_joint(tables, instance, joint, transform, skeleton.rest_position(joint));
        }
        let slots = tables.slots();
        let own = &mut self.coordinates[instance * slots.len()..(instance + 1) * slots.len()];
        for (to, slot) in own.iter_mut().zip(slots) {
            *to = coordinates[slot.component as usize] * slot.scale;
        }
        self.counts.any_stretch = u32::from(self.stretched.contains(&true));
    }

    /// A joint that rests at `at` and carries the rest shape by `transform`.
    fn set_joint(
        &mut self,
        tables: &ModelTables,
        instance: usize,
        joint: usize,
        transform: DAffine3,
        at: DVec3,
    ) {
        let stride = tables.joint_stride();
        let first = (instance * self.counts.joints as usize + joint) * stride;
        let own = &mut self.joints[first..first + stride];
        let centre = tables.centre();
        if !tables.is_dual_quaternion() {
            own[..3].copy_from_slice(&rows(transform * DAffine3::from_translation(centre)));
            if let Some(rotation) = own.get_mut(3) {
                *rotation = quaternion(rotation_of(transform.matrix3));
            }
            return;
        }
        // Rigid motion after stretch, which acts about the joint; see the core's dual_quaternion.
        let rotation = rotation_of(transform.matrix3);
        let stretch = DMat3::from_quat(rotation.inverse()) * transform.matrix3;
        let stretched = !stretch.abs_diff_eq(DMat3::IDENTITY, 1e-6);
        self.stretched[instance] |= stretched;
        let from_joint = at - centre;
        let translation = transform.transform_point3(at) - rotation * from_joint;
        let moved = DQuat::from_xyzw(translation.x, translation.y, translation.z, 0.0);
        own[0] = quaternion(rotation);
        own[1] = quaternion(moved * rotation * 0.5);
        let about_joint = DAffine3 { matrix3: stretch, translation: from_joint - stretch * from_joint };
        own[2..5].copy_from_slice(&rows(if stretched { about_joint } else { DAffine3::IDENTITY }));
    }

    /// `instance × joint × stride`
    pub fn joints(&self) -> &[[f32; 4]] {
        &self.joints
    }

    /// `instance × slot`
    pub fn coordinates(&self) -> &[f32] {
        &self.coordinates
    }

    /// The uniform of the kernels.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Number of instances.
    pub fn instance_count(&self) -> usize {
        self.stretched.len()
    }
}

fn rows(map: DAffine3) -> [[f32; 4]; 3] {
    std::array::from_fn(|row| {
        let [x, y, z] = map.matrix3.row(row).to_array();
        [x as f32, y as f32, z as f32, map.translation[row] as f32]
    })
}

fn quaternion(q: DQuat) -> [f32; 4] {
    q.to_array().map(|value| value as f32)
}
