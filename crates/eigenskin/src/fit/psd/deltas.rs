//! What an example adds to the base skinning.

use glam::{DQuat, DVec3, Vec3};
use rayon::prelude::*;

use super::DeltaSpace;
use crate::examples::Example;
use crate::model::Frame;
use crate::pose::{Pose, rotation_of};
use crate::rig::Rig;
use crate::skinning::{BaseSkinning, PosedSkinning};

/// The delta of one example.
#[derive(Debug, Clone)]
pub struct ExampleDelta {
    /// `vertex`
    pub positions: Vec<Vec3>,
    /// `vertex`: differences to the unit rest normal, for the blended-matrix convention; empty
    /// where normals are left alone
    pub normals: Vec<Vec3>,
    /// vertices it moves by more than the threshold, rising
    pub moved: Vec<u32>,
    /// largest delta
    pub largest: f64,
    /// the vertex that has it
    pub vertex: usize,
    /// the largest part of the shape that the delta does not reach
    pub unreachable: f64,
}

/// How deltas are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaParams {
    pub base: BaseSkinning,
    pub space: DeltaSpace,
    pub normals: bool,
    /// in the rest shape's unit
    pub threshold: f64,
}

/// Seam duplicates that an example pulls apart by more than this share of the size are two points
/// in it (lips that touch at rest).
const APART: f64 = 1e-5;

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
pub fn example_delta(rig: &Rig, rest: &RestShape, example: &Example, params: &DeltaParams) -> ExampleDelta {
    let wants_normals = params.normals && params.space == DeltaSpace::Inverse;
    let skinning = PosedSkinning::new(params.base, rig, &example.pose);
    let positions = position_deltas(rig, rest, example, params, &skinning);
    let shape_normals =
        (wants_normals && example.normals.is_none()).then(|| rig.mesh().normals_of(&example.positions));
    let unreachable = match params.space {
        DeltaSpace::Forward { .. } => 0.0,
        DeltaSpace::Inverse => (rig.mesh().positions().iter().zip(&positions).enumerate())
            .map(|(vertex, (rest, delta))| {
                let moved = (*rest + *delta).as_dvec3();
                skinning.position(vertex, moved).distance(example.positions[vertex].as_dvec3())
            })
            .fold(0.0, f64::max),
    };
    // Normals that were computed from the shape are compared with those computed from the rest
    // shape, so that an artist's own normals are turned along and not replaced.
    let normals = match (&example.normals, &shape_normals) {
        (Some(own), _) if wants_normals => normal_changes(&skinning, own, rig.mesh().normals()),
        (_, Some(computed)) => normal_changes(&skinning, computed, &rest.smooth_normals),
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
    ExampleDelta { positions, normals, moved, largest, vertex: worst, unreachable }
}

/// What the example adds, at rest or after skinning, `vertex`.
fn position_deltas(
    rig: &Rig,
    rest: &RestShape,
    example: &Example,
    params: &DeltaParams,
    skinning: &PosedSkinning,
) -> Vec<Vec3> {
    let rest_positions = rig.mesh().positions();
    let axes = match params.space {
        DeltaSpace::Inverse => None,
        DeltaSpace::Forward { frame } => Some(Axes::new(rig, &example.pose, frame)),
    };
    let mut deltas: Vec<Vec3> = (0..rest_positions.len())
        .into_par_iter()
        .map(|vertex| {
            let (rest, posed) = (rest_positions[vertex].as_dvec3(), example.positions[vertex].as_dvec3());
            let delta = match &axes {
                None => skinning.inverse_position(vertex, posed, rest) - rest,
                Some(axes) => axes.of(rig, vertex).inverse() * (posed - skinning.position(vertex, rest)),
            };
            delta.as_vec3()
        })
        .collect();
    let limit = (APART * rig.mesh().size()) as f32;
    for seam in &rest.seams {
        join_seam(seam, &example.positions, limit, &mut deltas);
    }
    deltas
}

fn normal_changes(skinning: &PosedSkinning, posed: &[Vec3], rest: &[Vec3]) -> Vec<Vec3> {
    (0..rest.len())
        .into_par_iter()
        .map(|v| (skinning.inverse_normal(v, posed[v].as_dvec3()) - rest[v].as_dvec3()).as_vec3())
        .collect()
}

/// Vertices of a seam that an example leaves together get one delta, so that they never separate.
fn join_seam(seam: &[u32], shape: &[Vec3], limit: f32, deltas: &mut [Vec3]) {
    let mut open: Vec<u32> = seam.to_vec();
    while let Some(&first) = open.first() {
        let (together, apart): (Vec<u32>, Vec<u32>) =
            open.iter().partition(|&&v| shape[v as usize].distance(shape[first as usize]) <= limit);
        let sum: DVec3 = together.iter().map(|&v| deltas[v as usize].as_dvec3()).sum();
        let mean = (sum / together.len() as f64).as_vec3();
        for &vertex in &together {
            deltas[vertex as usize] = mean;
        }
        open = apart;
    }
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
