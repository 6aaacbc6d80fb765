//! The pose that is shown: set joint by joint, or as a whole.

use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DQuat, DVec3, EulerRot};
use eigenskin_core::pose::{JointMotion, Pose, rotation_of};
use eigenskin_core::rig::Rig;

/// A pose that can be edited.
#[derive(Debug, Clone)]
pub struct PoseState {
    rig: Arc<Rig>,
    /// `joint`: motions against the reference joint
    motions: Vec<JointMotion>,
    /// `joint`: degrees about the joint's own x, y and z, as sliders have them. Kept beside the
    /// rotations, since those have many angles
    angles: Vec<[f64; 3]>,
    /// of the first root, in its rest axes
    root_turn: DQuat,
    /// of the first root
    root_shift: DVec3,
    pose: Pose,
    /// counts changes
    version: u64,
}

impl PoseState {
    /// At rest.
    pub fn new(rig: Arc<Rig>) -> Self {
        let count = rig.skeleton().joint_count();
        Self {
            motions: vec![JointMotion::REST; count],
            angles: vec![[0.0; 3]; count],
            root_turn: DQuat::IDENTITY,
            root_shift: DVec3::ZERO,
            pose: rig.rest_pose(),
            version: 0,
            rig,
        }
    }

    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// The pose.
    pub fn pose(&self) -> &Pose {
        &self.pose
    }

    /// Another number after each change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Degrees about a joint's own x, y and z.
    pub fn angles(&self, joint: usize) -> [f64; 3] {
        self.angles[joint]
    }

    /// Whether a joint is turned.
    pub fn is_turned(&self, joint: usize) -> bool {
        self.angles[joint].iter().any(|angle| angle.abs() > 0.05)
    }

    /// Back to rest, controls too.
    pub fn reset(&mut self) {
        *self = Self { version: self.version + 1, ..Self::new(self.rig.clone()) };
    }

    /// Turns a joint to these angles, degrees: first about z, then y, then x, as the joint's own axes
    /// were before.
    pub fn set_angles(&mut self, joint: usize, degrees: [f64; 3]) {
        let [x, y, z] = degrees.map(f64::to_radians);
        self.turn(joint, DQuat::from_euler(EulerRot::XYZ, x, y, z));
        self.angles[joint] = degrees;
        self.rebuild();
    }

    /// Turns joints away from rest, in their own rest axes; the others stay as they are.
    pub fn set_rotations(&mut self, rotations: &[(usize, DQuat)]) {
        for &(joint, rotation) in rotations {
            self.turn(joint, rotation);
            self.angles[joint] = degrees_of(rotation);
        }
        self.rebuild();
    }

    /// Sets a control.
    pub fn set_control(&mut self, control: usize, value: f64) {
        self.pose.controls[control] = value;
        self.version += 1;
    }

    /// Takes a whole pose, to the bit. Its scale and shear are lost once a joint is turned by hand.
    ///
    /// # Panics
    /// If it is of another rig.
    pub fn set_pose(&mut self, pose: &Pose) {
        let skeleton = self.rig.skeleton();
        assert_eq!(pose.world_from_joint.len(), skeleton.joint_count(), "the pose is of another rig");
        assert_eq!(pose.controls.len(), self.rig.controls().len(), "the pose is of another rig");
        for joint in 0..skeleton.joint_count() {
            self.motions[joint] = pose.motion_of(skeleton, joint);
            self.angles[joint] = degrees_of(self.motions[joint].rotation);
        }
        if let Some(root) = skeleton.first_root() {
            let rest = skeleton.rest_from_joint()[root];
            let turned = rest.matrix3.inverse() * pose.world_from_joint[root].matrix3;
            self.root_turn = rotation_of(turned);
            self.root_shift = pose.world_from_joint[root].translation - rest.translation;
            self.angles[root] = degrees_of(self.root_turn);
        }
        self.pose.clone_from(pose);
        self.version += 1;
    }

    /// Where the joints are and how far they are from their middle at most: with the size of the
    /// shape a bound of where it can be.
    pub fn joint_bounds(&self) -> (DVec3, f64) {
        let places = || self.pose.world_from_joint.iter().map(|joint| joint.translation);
        let count = self.pose.world_from_joint.len();
        if count == 0 {
            return (self.rig.mesh().bounds().centre, 0.0);
        }
        let centre = places().sum::<DVec3>() / count as f64;
        (centre, places().map(|place| place.distance(centre)).fold(0.0, f64::max))
    }

    fn turn(&mut self, joint: usize, rotation: DQuat) {
        if self.rig.skeleton().first_root() == Some(joint) {
            self.root_turn = rotation;
        } else {
            self.motions[joint].rotation = rotation;
        }
    }

    fn rebuild(&mut self) {
        let skeleton = self.rig.skeleton();
        let mut pose = Pose::of_motions(skeleton, &self.motions, std::mem::take(&mut self.pose.controls));
        let moved = self.root_turn != DQuat::IDENTITY || self.root_shift != DVec3::ZERO;
        if let (Some(root), true) = (skeleton.first_root(), moved) {
            let mut world = skeleton.rest_from_joint()[root] * DAffine3::from_quat(self.root_turn);
            world.translation += self.root_shift;
            pose = pose.moved_by(world * skeleton.joints()[root].joint_from_rest);
        }
        self.pose = pose;
        self.version += 1;
    }
}

/// Angles of a rotation about x, y and z, degrees.
fn degrees_of(rotation: DQuat) -> [f64; 3] {
    let (x, y, z) = rotation.to_euler(EulerRot::XYZ);
    // Without minus zeros, and without the dust of a joint that did not move.
    [x, y, z].map(|angle| if angle.abs() < 1e-9 { 0.0 } else { angle.to_degrees() })
}

#[cfg(test)]
mod tests {
    use eigenskin_characters::hand;

    use super::*;

    fn state() -> PoseState {
        PoseState::new(hand(1500).unwrap().rig)
    }

    #[test]
    fn angles_turn_a_joint_about_its_own_axes() {
        let mut state = state();
        let skeleton = state.rig().skeleton().clone();
        let joint = (0..skeleton.joint_count()).find(|&j| skeleton.joints()[j].reference.is_some()).unwrap();
        state.set_angles(joint, [0.0, 0.0, 40.0]);
        let motion = state.pose().motion_of(&skeleton, joint);
        let expected = DQuat::from_axis_angle(DVec3::Z, 40f64.to_radians());
        assert!(motion.rotation.dot(expected).abs() > 1.0 - 1e-12);
        assert!(state.is_turned(joint));
        // Others stand still against their references.
        for other in (0..skeleton.joint_count()).filter(|&other| other != joint) {
            assert!(state.pose().motion_of(&skeleton, other).rotation.w.abs() > 1.0 - 1e-12);
        }
        state.reset();
        assert_eq!(state.pose(), &state.rig().rest_pose());
    }

    #[test]
    fn a_whole_pose_stays_to_the_bit_and_can_be_edited() {
        let character = hand(1500).unwrap();
        let angles: Vec<f64> =
            (0..character.degrees_of_freedom.len()).map(|i| 0.3 * (i as f64).sin()).collect();
        let motion =
            DAffine3::from_rotation_translation(DQuat::from_rotation_y(0.7), DVec3::new(0.1, 2.0, -0.4));
        let pose = character.pose(&angles).moved_by(motion);
        let mut state = PoseState::new(character.rig.clone());
        state.set_pose(&pose);
        assert_eq!(state.pose(), &pose);
        // An edit that changes nothing gives the same pose back from its parts, the root's place too.
        let joint = character.rig.skeleton().joint_count() - 1;
        state.set_angles(joint, state.angles(joint));
        for (found, expected) in state.pose().world_from_joint.iter().zip(&pose.world_from_joint) {
            assert!(found.abs_diff_eq(*expected, 1e-6), "{found} {expected}");
        }
    }

    #[test]
    fn turning_the_first_root_turns_everything_in_place() {
        let mut state = state();
        let skeleton = state.rig().skeleton().clone();
        let root = skeleton.first_root().unwrap();
        let turn = DQuat::from_rotation_x(0.5);
        state.set_rotations(&[(root, turn)]);
        let world = &state.pose().world_from_joint;
        assert!(world[root].translation.distance(skeleton.rest_position(root)) < 1e-9);
        for joint in 0..skeleton.joint_count() {
            let own = rotation_of(world[joint].matrix3);
            let rest = rotation_of(skeleton.rest_from_joint()[joint].matrix3);
            let root_rest = rotation_of(skeleton.rest_from_joint()[root].matrix3);
            let expected = root_rest * turn * root_rest.inverse() * rest;
            assert!(own.dot(expected).abs() > 1.0 - 1e-9);
        }
    }
}
