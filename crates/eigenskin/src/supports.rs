//! Joint supports: the part of the skin that a joint visibly deforms (EigenSkin §2.2, Figure 3).

use glam::Vec3;
use rayon::prelude::*;

use crate::displacements::RestDisplacements;
use crate::driver::features::geodesic_angle;
use crate::examples::ExampleSet;
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

/// How supports are cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SupportParams {
    /// points whose displacement exceeds this share of the joint's largest; default `None`: the
    /// paper's 0.04, or more where that makes better use of a limit per vertex
    pub threshold: Option<f64>,
    /// how the support ends; default smooth
    pub border: Border,
}

impl Default for SupportParams {
    fn default() -> Self {
        Self { threshold: None, border: Border::Smooth }
    }
}

/// How a support ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// the paper's: all or nothing, which leaves a step of the threshold's height in the skin
    Hard,
    /// grows outward: full above the threshold, falling smoothly to nothing at half of it
    Smooth,
}

/// Where supports end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// share of the joint's largest displacement
    pub threshold: f64,
    /// how the support ends there
    pub border: Border,
}

/// Where one joint (or control) acts, and what it was observed to do there.
#[derive(Debug, Clone)]
pub struct JointSupport {
    /// the joint or control
    pub mover: Mover,
    /// points of the skin, rising (S_j)
    pub points: Vec<u32>,
    /// `support`: 1 inside, falling to 0 at a smooth border
    pub mask: Vec<f32>,
    /// examples it was observed in (P_j): those that move it alone, else all that move it
    pub examples: Vec<usize>,
    /// `example × support`: displacements that are its doing, masked (the columns of A_j)
    pub displacements: Vec<Vec3>,
    /// `example × support`: the share of a displacement that is its doing; empty where all of it is
    pub shares: Vec<f32>,
}

/// Which movers each example moves, `example` → rising indices into `movers`.
pub fn moved_by_examples(set: &ExampleSet, movers: &[Mover]) -> Vec<Vec<usize>> {
    set.examples()
        .iter()
        .map(|e| (0..movers.len()).filter(|&m| movers[m].is_moved(set.rig(), &e.pose)).collect())
        .collect()
}

/// The support of every mover that some example moves.
///
/// A mover that is never seen alone gets its share of the examples that move it with others:
/// each point's displacement is divided among the moved joints by nearness.
pub fn joint_supports(
    set: &ExampleSet,
    displacements: &RestDisplacements,
    movers: &[Mover],
    moved: &[Vec<usize>],
    cut: Cut,
) -> Vec<JointSupport> {
    let nearness = Nearness::new(set.rig(), displacements);
    (0..movers.len())
        .into_par_iter()
        .filter_map(|mover| {
            let alone: Vec<usize> = (0..set.len()).filter(|&e| moved[e] == [mover]).collect();
            let together = || (0..set.len()).filter(|&e| moved[e].contains(&mover)).collect();
            let is_alone = !alone.is_empty();
            let examples: Vec<usize> = if is_alone { alone } else { together() };
            let share = |example: usize, point: usize| {
                if is_alone { 1.0 } else { nearness.share(mover, &moved[example], movers, point) }
            };
            (!examples.is_empty())
                .then(|| cut_support(movers[mover], examples, is_alone, displacements, share, cut))
        })
        .collect()
}

fn cut_support(
    mover: Mover,
    examples: Vec<usize>,
    is_alone: bool,
    displacements: &RestDisplacements,
    share: impl Fn(usize, usize) -> f32,
    cut: Cut,
) -> JointSupport {
    let point_count = displacements.points.group_count();
    let mut largest_at = vec![0f32; point_count];
    for &example in &examples {
        for (point, (largest, u)) in
            largest_at.iter_mut().zip(displacements.positions_of(example)).enumerate()
        {
            *largest = largest.max(u.length() * share(example, point));
        }
    }
    let largest = largest_at.iter().copied().fold(0.0, f32::max);
    let (mut points, mut mask) = (Vec::new(), Vec::new());
    for (point, &here) in largest_at.iter().enumerate() {
        let amount = border_mask(f64::from(here), f64::from(largest), cut);
        if amount > 0.0 {
            points.push(point as u32);
            mask.push(amount as f32);
        }
    }
    let mut support =
        JointSupport { mover, points, mask, examples, displacements: Vec::new(), shares: Vec::new() };
    for &example in &support.examples {
        let observed = displacements.positions_of(example);
        for (&point, &mask) in support.points.iter().zip(&support.mask) {
            let share = share(example, point as usize);
            support.displacements.push(observed[point as usize] * (mask * share));
            if !is_alone {
                support.shares.push(share);
            }
        }
    }
    support
}

/// 1 inside the support, 0 outside.
fn border_mask(displacement: f64, largest: f64, cut: Cut) -> f64 {
    if displacement <= 0.0 {
        return 0.0;
    }
    let limit = cut.threshold * largest;
    match cut.border {
        Border::Hard => f64::from(u8::from(displacement > limit)),
        Border::Smooth if limit <= 0.0 => 1.0,
        Border::Smooth => {
            let t = (2.0 * displacement / limit - 1.0).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        }
    }
}

/// How near each point of the skin is to each joint, to divide displacements among joints that
/// were moved together.
struct Nearness {
    /// `point`
    positions: Vec<glam::DVec3>,
    /// `joint`: position and reach
    joints: Vec<(glam::DVec3, f64)>,
}

impl Nearness {
    fn new(rig: &Rig, displacements: &RestDisplacements) -> Self {
        let skeleton = rig.skeleton();
        let position = |joint| skeleton.rest_position(joint);
        // A joint reaches about as far as its neighbours are away.
        let reach = |joint: usize| {
            let neighbours = skeleton.joints()[joint].reference.into_iter().chain(skeleton.children(joint));
            let distances: Vec<f64> =
                neighbours.map(|n| position(n).distance(position(joint))).filter(|&d| d > 0.0).collect();
            let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
            if mean > 0.0 { 0.5 * mean } else { 0.1 * rig.mesh().size() }
        };
        let points = &displacements.points;
        Self {
            positions: (0..points.group_count())
                .map(|point| rig.mesh().positions()[points.first_vertex(point)].as_dvec3())
                .collect(),
            joints: (0..skeleton.joint_count()).map(|joint| (position(joint), reach(joint))).collect(),
        }
    }

    /// Exponent of the affinity of a point to a mover; controls are equally near everywhere.
    fn log_affinity(&self, mover: Mover, point: usize) -> f64 {
        match mover {
            Mover::Joint(joint) => {
                let (position, reach) = self.joints[joint];
                -0.5 * (self.positions[point].distance(position) / reach).powi(2)
            }
            Mover::Control(_) => 0.0,
        }
    }

    /// The share of a point's displacement that is `mover`'s doing, among those `moved`.
    fn share(&self, mover: usize, moved: &[usize], movers: &[Mover], point: usize) -> f32 {
        let own = self.log_affinity(movers[mover], point);
        let total: f64 = moved.iter().map(|&m| (self.log_affinity(movers[m], point) - own).exp()).sum();
        (1.0 / total) as f32
    }
}
