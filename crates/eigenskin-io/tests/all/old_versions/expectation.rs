//! What a file meant, as it stands beside it.

use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The contents of `FILE.expected.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// the unit of lengths: diameter of the smallest sphere around the rest shape
    pub size: f64,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Content {
    /// a rig and no more
    Rig { rig: Character },
    /// an example set
    Examples {
        rig: Character,
        /// in their order, muted ones too
        all: Vec<Shown>,
        /// names of those that are learnt from
        learnt: Vec<String>,
        /// how it was simulated
        #[serde(default, skip_serializing_if = "Option::is_none")]
        simulation: Option<Value>,
    },
    /// a model
    Model { rig: Character, base: String, shapes: Vec<Shape> },
    /// a chain of deformers, and what it does to a rig beside it
    Box {
        name: String,
        rig: String,
        /// words of the commands in it, by name
        programs: BTreeMap<String, Vec<String>>,
        /// none with a program
        shapes: Vec<Shape>,
    },
    /// poses by name, for a rig beside it
    Poses { rig: String, poses: Vec<(String, PoseEntry)> },
    /// captured motion: time, places of all joints
    Motion { joints: Vec<String>, frames: Vec<(f64, Vec<[f64; 3]>)> },
    /// shapes, frame by frame
    Frames { frames: Vec<Vec<[f32; 3]>> },
    /// one frame of a folder
    Frame { positions: Vec<[f32; 3]> },
}

/// What every character is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Character {
    /// joint → what its motion is measured against
    pub joints: BTreeMap<String, Option<String>>,
    /// control → value at rest
    pub controls: BTreeMap<String, f64>,
    pub triangles: usize,
    /// plain skinning with the weights that were given: a pose and its positions
    pub plain: (PoseEntry, Vec<[f32; 3]>),
    /// name, and poses at times
    pub clips: Vec<(String, Vec<(f64, PoseEntry)>)>,
}

/// A pose and what it looks like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    pub pose: PoseEntry,
    /// of all layers, one after the other
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f32>,
    pub positions: Vec<[f32; 3]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub normals: Vec<[f32; 3]>,
}

/// An example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    pub name: String,
    pub muted: bool,
    pub shape: Shape,
    /// pulled back through a chain of this name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inverted: Option<Pulled>,
}

/// How an example was pulled back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pulled {
    pub base: String,
    pub deltas: Vec<[f32; 3]>,
    pub residuals: Vec<[f32; 3]>,
    /// what the chain makes of rest shape and deltas in the example's pose
    pub through: Vec<[f32; 3]>,
}

/// Where joints and controls are, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoseEntry {
    /// world matrix in mesh space: three rows of a 3 × 4 matrix on column vectors
    pub joints: BTreeMap<String, [[f64; 4]; 3]>,
    pub controls: BTreeMap<String, f64>,
}

impl PoseEntry {
    pub fn new(rig: &Rig, pose: &Pose) -> Self {
        let joints = rig.skeleton().joints().iter().zip(&pose.world_from_joint);
        let controls = rig.controls().iter().zip(&pose.controls);
        Self {
            joints: joints.map(|(joint, world)| (joint.name.clone(), rows_of(*world))).collect(),
            controls: controls.map(|(control, &value)| (control.name.clone(), value)).collect(),
        }
    }

    pub fn pose(&self, rig: &Rig) -> Pose {
        Pose {
            world_from_joint: rig
                .skeleton()
                .joints()
                .iter()
                .map(|joint| affine_of_rows(&self.joints[&joint.name]))
                .collect(),
            controls: rig.controls().iter().map(|control| self.controls[&control.name]).collect(),
        }
    }
}

pub fn rows_of(m: DAffine3) -> [[f64; 4]; 3] {
    let rows = m.matrix3.transpose();
    let row = |r: DVec3, t: f64| [r.x, r.y, r.z, t];
    let t = m.translation;
    [row(rows.x_axis, t.x), row(rows.y_axis, t.y), row(rows.z_axis, t.z)]
}

pub fn affine_of_rows(rows: &[[f64; 4]; 3]) -> DAffine3 {
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    DAffine3::from_cols(column(0), column(1), column(2), column(3))
}

pub fn arrays(vectors: &[Vec3]) -> Vec<[f32; 3]> {
    vectors.iter().map(Vec3::to_array).collect()
}

pub fn keys<T>(map: &BTreeMap<String, T>) -> Vec<&String> {
    map.keys().collect()
}
