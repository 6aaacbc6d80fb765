//! What an example adds to the base skinning.

use glam::{DQuat, Vec3};
use rayon::prelude::*;

use super::DeltaSpace;
use crate::displacements::pulled_back::{APART, PullBackError, PulledBack, pull_back};
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::Example;
use eigenskin_core::model::Frame;
use eigenskin_core::pose::{Pose, rotation_of};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::PosedSkinning;

/// The delta of one example.
#[derive(Debug, Clone)]
pub struct ExampleDelta {
    /// `vertex`
    pub positions: Vec<Vec3>,
    /// `vertex`: differences to the unit rest normal, for the blended-matrix convention; empty
    /// where normals are left alone
    pub normals: Vec<Vec3>,
    /// `vertex`: what a delta at rest cannot reach, added after skinning in the first root's axes;
    /// empty when there is none
    pub residuals: Vec<Vec3>,
    /// vertices it moves by more than the threshold, rising
    pub moved: Vec<u32>,
    /// largest delta
    pub largest: f64,
    /// the vertex that has it
    pub vertex: usize,
    /// the largest residual
    pub unreachable: f64,
}

/// How deltas are taken.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaParams {
    pub base: Base,
    pub space: DeltaSpace,
    pub normals: bool,
    /// in the rest shape's unit
    pub threshold: f64,
}

/// What all deltas of a rig are taken from.
#[derive(Debug, Clone)]
pub struct RestShape {
    /// vertices that are one point of the skin, where there are two and more
    seams: Vec<Vec<u32>>,
    /// `vertex`: normals computed from the rest shape
    smooth_normals: Vec<Vec3>,
}

impl RestShape {
    pub fn new(rig: &Rig) -> Self {
        Self {
            seams: rig.seams().members().into_iter().filter(|seam| seam.len() > 1).collect(),
            smooth_normals: rig.mesh().normals_of(rig.mesh().positions()),
        }
    }
}

/// The delta of an example.
pub fn example_delta(
    rig: &Rig,
    rest: &RestShape,
    example: &Example,
    params: &DeltaParams,
) -> Result<ExampleDelta, PullBackError> {
    let limit = (APART * rig.mesh().size()) as f32;
    let together: Vec<Vec<u32>> =
        rest.seams.iter().flat_map(|seam| left_together(seam, &example.positions, limit)).collect();
    let PulledBack { deltas: positions, residuals, skinning } = match params.space {
        DeltaSpace::Inverse => pull_back(rig, &params.base, example, &together)?,
        DeltaSpace::Forward { frame } => forward_deltas(rig, &params.base, example, frame),
    };
    let normals = match (&skinning, &example.normals) {
        (Some(skinning), own) if params.normals && params.space == DeltaSpace::Inverse => match own {
            Some(own) => normal_changes(skinning, own, rig.mesh().normals()),
            // Normals that were computed from the shape are compared with those computed from the
            // rest shape, so that an artist's own normals are turned along and not replaced.
            None => {
                normal_changes(skinning, &rig.mesh().normals_of(&example.positions), &rest.smooth_normals)
            }
        },
        _ => Vec::new(),
    };
    let (mut moved, mut largest, mut worst) = (Vec::new(), 0.0, 0);
    for (vertex, delta) in positions.iter().enumerate() {
        let length = f64::from(delta.length());
        if length > params.threshold {
            moved.push(vertex as u32);
        }
        if length > largest {
            (largest, worst) = (length, vertex);
        }
    }
    let unreachable = residuals.iter().map(|w| f64::from(w.length())).fold(0.0, f64::max);
    Ok(ExampleDelta { positions, normals, residuals, moved, largest, vertex: worst, unreachable })
}

/// What the example adds after skinning, `vertex`.
fn forward_deltas(rig: &Rig, base: &Base, example: &Example, frame: Frame) -> PulledBack {
    // Forward deltas on a chain of deformers are refused when the parameters are checked.
    let skinning = PosedSkinning::new(base.closed_form(), rig, &example.pose);
    let axes = Axes::new(rig, &example.pose, frame);
    let rest = rig.mesh().positions();
    let deltas = (0..rest.len())
        .into_par_iter()
        .map(|vertex| {
            let skinned = skinning.position(vertex, rest[vertex].as_dvec3());
            let delta = example.positions[vertex].as_dvec3() - skinned;
            (axes.of(rig, vertex).inverse() * delta).as_vec3()
        })
        .collect();
    PulledBack { deltas, residuals: Vec::new(), skinning: None }
}

fn normal_changes(skinning: &PosedSkinning, posed: &[Vec3], rest: &[Vec3]) -> Vec<Vec3> {
    (0..rest.len())
        .into_par_iter()
        .map(|v| (skinning.inverse_normal(v, posed[v].as_dvec3()) - rest[v].as_dvec3()).as_vec3())
        .collect()
}

/// The vertices of a seam in groups that an example leaves together: each gets one delta, so that
/// they never separate.
fn left_together(seam: &[u32], shape: &[Vec3], limit: f32) -> Vec<Vec<u32>> {
    let mut groups = Vec::new();
    let mut open: Vec<u32> = seam.to_vec();
    while let Some(&first) = open.first() {
        let (together, apart): (Vec<u32>, Vec<u32>) =
            open.iter().partition(|&&v| shape[v as usize].distance(shape[first as usize]) <= limit);
        groups.push(together);
        open = apart;
    }
    groups
}

/// The axes that forward deltas are given in.
enum Axes {
    /// the same for all vertices
    One(DQuat),
    /// `joint`: those of the vertex's heaviest joint
    Heaviest(Vec<DQuat>),
}

impl Axes {
    fn new(rig: &Rig, pose: &Pose, frame: Frame) -> Self {
        let turns = || pose.posed_from_rest(rig.skeleton()).map(|joint| rotation_of(joint.matrix3));
        let of_joint = |joint: Option<usize>| {
            Self::One(joint.and_then(|joint| turns().nth(joint)).unwrap_or(DQuat::IDENTITY))
        };
        match frame {
            Frame::Root => of_joint(rig.skeleton().first_root()),
            Frame::Joint(joint) => of_joint(Some(joint)),
            Frame::HeaviestJoint => Self::Heaviest(turns().collect()),
        }
    }

    fn of(&self, rig: &Rig, vertex: usize) -> DQuat {
        match self {
            Self::One(turn) => *turn,
            Self::Heaviest(turns) => {
                rig.weights().of(vertex).first().map_or(DQuat::IDENTITY, |i| turns[i.joint as usize])
            }
        }
    }
}
