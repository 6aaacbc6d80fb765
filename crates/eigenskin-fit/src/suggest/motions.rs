//! A pose as the motions of all joints and controls.

use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

/// `mover`: turn in radians, translation in sizes; or the value of a control in the first place.
#[derive(Debug, Clone, PartialEq)]
pub struct Motions(Vec<[f64; 6]>);

impl Motions {
    /// How `pose` moves each of `movers` away from rest.
    pub fn of(rig: &Rig, movers: &[Mover], pose: &Pose) -> Self {
        let size = rig.mesh().size();
        let motion = |mover: &Mover| {
            if !mover.is_moved(rig, pose) {
                return [0.0; 6];
            }
            match *mover {
                Mover::Joint(joint) => {
                    let motion = pose.motion_of(rig.skeleton(), joint);
                    let (turn, shift) = (motion.shortest_turn(), motion.translation / size);
                    [turn.x, turn.y, turn.z, shift.x, shift.y, shift.z]
                }
                Mover::Control(control) => {
                    let value = pose.controls[control] - rig.controls()[control].default;
                    [value, 0.0, 0.0, 0.0, 0.0, 0.0]
                }
            }
        };
        Self(movers.iter().map(motion).collect())
    }

    /// How far a mover is from rest.
    pub fn size_of(&self, mover: usize) -> f64 {
        norm(&self.0[mover])
    }

    /// Movers that are away from rest, rising.
    pub fn moved(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(|&mover| self.0[mover] != [0.0; 6])
    }

    /// How far two poses have a mover apart.
    pub fn distance(&self, other: &Self, mover: usize) -> f64 {
        let (a, b) = (&self.0[mover], &other.0[mover]);
        let difference: [f64; 6] = std::array::from_fn(|axis| a[axis] - b[axis]);
        norm(&difference)
    }

    /// Whether two poses cannot be told apart: joint transforms are `f32`.
    pub fn same_as(&self, other: &Self) -> bool {
        (0..self.0.len()).all(|mover| self.distance(other, mover) <= 1e-5)
    }
}

fn norm(values: &[f64; 6]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}
