//! What a pose can move: joints and controls.

use crate::driver::features::geodesic_angle;
use crate::pose::Pose;
use crate::rig::Rig;

/// Something a pose can move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mover {
    /// a joint, against its reference joint
    Joint(usize),
    /// a control
    Control(usize),
}

impl Mover {
    /// Everything of a rig that can move: all joints but the first root, all controls.
    pub fn all(rig: &Rig) -> Vec<Self> {
        let root = rig.skeleton().first_root();
        let joints = (0..rig.skeleton().joint_count()).filter(|&joint| Some(joint) != root).map(Self::Joint);
        joints.chain((0..rig.controls().len()).map(Self::Control)).collect()
    }

    /// The name of the joint or control.
    pub fn name(self, rig: &Rig) -> &str {
        match self {
            Self::Joint(joint) => &rig.skeleton().joints()[joint].name,
            Self::Control(control) => &rig.controls()[control].name,
        }
    }

    /// Whether a pose moves it away from rest.
    pub fn is_moved(self, rig: &Rig, pose: &Pose) -> bool {
        match self {
            Self::Joint(joint) => {
                let motion = pose.motion_of(rig.skeleton(), joint);
                geodesic_angle(motion.rotation, glam::DQuat::IDENTITY) > MOVED
                    || motion.translation.length() > MOVED * rig.mesh().size()
            }
            Self::Control(control) => {
                (pose.controls[control] - rig.controls()[control].default).abs() > MOVED
            }
        }
    }
}

/// Smaller motions (radians, share of the size, control values) are noise of `f32` transforms.
const MOVED: f64 = 1e-4;

/// Which movers each pose moves, `pose` → rising indices into `movers`.
pub fn moved_by_poses<'a>(
    rig: &Rig,
    poses: impl IntoIterator<Item = &'a Pose>,
    movers: &[Mover],
) -> Vec<Vec<usize>> {
    let moved = |pose: &Pose| (0..movers.len()).filter(|&m| movers[m].is_moved(rig, pose)).collect();
    poses.into_iter().map(moved).collect()
}
