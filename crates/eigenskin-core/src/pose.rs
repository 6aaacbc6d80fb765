//! Poses, and the motion of one joint relative to its reference joint and to rest.

use glam::{DAffine3, DMat3, DQuat, DVec3};

use crate::skeleton::Skeleton;

/// Where every joint is, and the values of the rig's named controls.
#[derive(Debug, Clone, PartialEq)]
pub struct Pose {
    /// `joint`
    pub world_from_joint: Vec<DAffine3>,
    /// `control`
    pub controls: Vec<f64>,
}

/// How a joint has moved: relative to its reference joint, and to rest. Moving the whole character
/// does not change it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointMotion {
    /// rotation away from rest, in the joint's own rest axes
    pub rotation: DQuat,
    /// translation away from rest, in the axes and unit of the rest shape
    pub translation: DVec3,
}

impl JointMotion {
    /// No motion.
    pub const REST: Self = Self { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

    /// The rotation as axis · angle, by at most half a turn.
    pub fn shortest_turn(&self) -> DVec3 {
        // A rotation has two quaternions; the one with w ≥ 0 goes the short way.
        let shortest = if self.rotation.w < 0.0 { -self.rotation } else { self.rotation };
        shortest.to_scaled_axis()
    }

    /// A share of the way from rest, along the shortest turn.
    #[must_use]
    pub fn share(&self, share: f64) -> Self {
        Self {
            rotation: DQuat::from_scaled_axis(self.shortest_turn() * share),
            translation: self.translation * share,
        }
    }
}

impl Pose {
    /// All joints at rest.
    pub fn rest(skeleton: &Skeleton, controls: Vec<f64>) -> Self {
        Self { world_from_joint: skeleton.rest_from_joint().to_vec(), controls }
    }

    /// The pose in which every joint has moved like this against its reference joint (`joint`); the
    /// first root stays at rest. The inverse of [`Self::motion_of`].
    pub fn of_motions(skeleton: &Skeleton, motions: &[JointMotion], controls: Vec<f64>) -> Self {
        let rest = skeleton.rest_from_joint();
        let mut world_from_joint = rest.to_vec();
        for &joint in skeleton.references_first() {
            let Some(reference) = skeleton.joints()[joint].reference else { continue };
            // What nothing has moved stays at rest to the bit.
            if motions[joint] == JointMotion::REST && world_from_joint[reference] == rest[reference] {
                continue;
            }
            let mut reference_from_joint = skeleton.joints()[reference].joint_from_rest
                * rest[joint]
                * DAffine3::from_quat(motions[joint].rotation);
            reference_from_joint.translation +=
                rest[reference].matrix3.inverse() * motions[joint].translation;
            world_from_joint[joint] = world_from_joint[reference] * reference_from_joint;
        }
        Self { world_from_joint, controls }
    }

    /// The papers' T_b: where each joint carries the rest shape, `joint`.
    pub fn posed_from_rest<'a>(&'a self, skeleton: &'a Skeleton) -> impl Iterator<Item = DAffine3> + 'a {
        self.world_from_joint
            .iter()
            .zip(skeleton.joints())
            .map(|(&world_from_joint, joint)| world_from_joint * joint.joint_from_rest)
    }

    /// The same pose moved as a whole.
    #[must_use]
    pub fn moved_by(&self, motion: DAffine3) -> Self {
        Self {
            world_from_joint: self.world_from_joint.iter().map(|&joint| motion * joint).collect(),
            controls: self.controls.clone(),
        }
    }

    /// The motion of `joint` relative to its reference joint. The first root has none.
    pub fn motion_of(&self, skeleton: &Skeleton, joint: usize) -> JointMotion {
        match skeleton.joints()[joint].reference {
            Some(reference) => relative_motion(
                self.world_from_joint[reference],
                self.world_from_joint[joint],
                skeleton.rest_from_joint()[reference],
                skeleton.joints()[reference].joint_from_rest * skeleton.rest_from_joint()[joint],
            ),
            None => JointMotion::REST,
        }
    }
}

/// The motion of a joint against a reference joint, given where both are and where the joint is
/// at rest in the reference joint's space.
pub fn relative_motion(
    world_from_reference: DAffine3,
    world_from_joint: DAffine3,
    rest_from_reference: DAffine3,
    reference_from_joint_at_rest: DAffine3,
) -> JointMotion {
    let reference_from_joint = world_from_reference.inverse() * world_from_joint;
    let rest_rotation = rotation_of(reference_from_joint_at_rest.matrix3);
    JointMotion {
        rotation: rest_rotation.inverse() * rotation_of(reference_from_joint.matrix3),
        translation: rest_from_reference.matrix3
            * (reference_from_joint.translation - reference_from_joint_at_rest.translation),
    }
}

/// The rotation nearest to a matrix that may also scale and shear (polar decomposition by
/// Newton's iteration, Higham 1986). A mirroring matrix gives the rotation of its negative.
pub fn rotation_of(matrix: DMat3) -> DQuat {
    let mut rotation = if matrix.determinant() < 0.0 { matrix * -1.0 } else { matrix };
    let scale = rotation.determinant().abs().cbrt();
    if !(scale > 1e-200 && rotation.is_finite()) {
        return DQuat::IDENTITY;
    }
    rotation *= 1.0 / scale;
    for _ in 0..60 {
        let next = (rotation + rotation.inverse().transpose()) * 0.5;
        let change = (next - rotation).to_cols_array().iter().fold(0.0f64, |m, x| m.max(x.abs()));
        rotation = next;
        // The error is squared with every step.
        if change < 1e-8 {
            break;
        }
    }
    DQuat::from_mat3(&rotation).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::Joint;
    use proptest::prelude::*;

    fn two_joints() -> Skeleton {
        let at = |name: &str, parent, rest: DAffine3| Joint {
            name: name.into(),
            parent,
            reference: None,
            joint_from_rest: rest.inverse(),
        };
        Skeleton::new(vec![
            at("root", None, DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.3), DVec3::Y)),
            at(
                "child",
                Some(0),
                DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.9), DVec3::new(1.0, 2.0, 3.0)),
            ),
        ])
        .unwrap()
    }

    proptest! {
        #[test]
        fn motion_does_not_see_where_the_character_stands(axis in [-1f64..1.0, -1f64..1.0, 0.1f64..1.0], angle in -3f64..3.0, shift in [-9f64..9.0, -9f64..9.0, -9f64..9.0]) {
            let skeleton = two_joints();
            let turn = DQuat::from_axis_angle(DVec3::from_array(axis).normalize(), angle);
            let mut local = skeleton.parent_from_joint(skeleton.rest_from_joint());
            local[1] *= DAffine3::from_quat(turn);
            let pose = Pose { world_from_joint: skeleton.forward_kinematics(&local), controls: vec![] };
            let motion = pose.motion_of(&skeleton, 1);
            prop_assert!(motion.rotation.dot(turn).abs() > 1.0 - 1e-12);
            prop_assert!(motion.translation.length() < 1e-6);
            let global = DAffine3::from_scale_rotation_translation(DVec3::splat(3.0), DQuat::from_rotation_y(angle), DVec3::from_array(shift));
            let moved = pose.moved_by(global).motion_of(&skeleton, 1);
            prop_assert!(moved.rotation.dot(motion.rotation).abs() > 1.0 - 1e-12);
            prop_assert!((moved.translation - motion.translation).length() < 1e-9);
            prop_assert_eq!(pose.motion_of(&skeleton, 0), JointMotion::REST);
        }

        #[test]
        fn motions_give_back_the_pose(turns in proptest::collection::vec([-1f64..1.0, -1f64..1.0, -1f64..1.0], 3), shifts in proptest::collection::vec([-1f64..1.0, -1f64..1.0, -1f64..1.0], 3)) {
            // A flat rig whose third joint turns against the second, with a scaled bind.
            let at = |name: &str, reference, rest: DAffine3| Joint { name: name.into(), parent: None, reference, joint_from_rest: rest.inverse() };
            let skeleton = Skeleton::new(vec![
                at("tip", Some(1), DAffine3::from_scale_rotation_translation(DVec3::splat(2.0), DQuat::from_rotation_y(0.4), DVec3::X)),
                at("finger", Some(2), DAffine3::from_rotation_translation(DQuat::from_rotation_x(1.1), DVec3::Y)),
                at("wrist", None, DAffine3::from_scale_rotation_translation(DVec3::splat(0.5), DQuat::from_rotation_z(2.0), DVec3::Z)),
            ]).unwrap();
            let motions: Vec<JointMotion> = turns.iter().zip(&shifts).enumerate().map(|(joint, (turn, shift))| if joint == 2 { JointMotion::REST } else {
                JointMotion { rotation: DQuat::from_scaled_axis(DVec3::from_array(*turn)), translation: DVec3::from_array(*shift) }
            }).collect();
            let pose = Pose::of_motions(&skeleton, &motions, vec![]);
            for (joint, motion) in motions.iter().enumerate() {
                let found = pose.motion_of(&skeleton, joint);
                prop_assert!(found.rotation.dot(motion.rotation).abs() > 1.0 - 1e-10, "{joint}");
                prop_assert!((found.translation - motion.translation).length() < 1e-6, "{joint}");
                let halves = motion.share(0.5).rotation * motion.share(0.5).rotation;
                prop_assert!(halves.dot(motion.rotation).abs() > 1.0 - 1e-10);
                // The same rotation by its other quaternion: not the long way round.
                let other = JointMotion { rotation: -motion.rotation, ..*motion };
                prop_assert!(other.share(0.5).rotation.dot(motion.share(0.5).rotation).abs() > 1.0 - 1e-10);
            }
        }

        #[test]
        fn rotation_survives_scale(angle in -3f64..3.0, sx in 0.1f64..5.0, sy in 0.1f64..5.0, sz in 0.1f64..5.0) {
            let turn = DQuat::from_axis_angle(DVec3::new(1.0, -2.0, 0.5).normalize(), angle);
            let matrix = DMat3::from_quat(turn) * DMat3::from_diagonal(DVec3::new(sx, sy, sz));
            prop_assert!(rotation_of(matrix).dot(turn).abs() > 1.0 - 1e-10);
        }
    }
}
