//! Conformance vectors: small models as GLB, and what they must look like in given poses. Every
//! runtime in another language is tested against them.

pub mod cases;
pub mod random;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use serde::{Deserialize, Serialize};

use crate::{ModelWriteOptions, RigFile, WriteError, model_glb};
use cases::Case;

/// The contents of one `NAME.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectations {
    /// version of this format
    pub version: u32,
    /// the GLB beside this file
    pub model: String,
    /// what the case is about
    pub about: String,
    /// diameter of the smallest sphere around the rest shape: the unit of allowed errors
    pub size: f64,
    /// what the model must look like
    pub poses: Vec<PoseExpectation>,
}

/// One pose and what the model must look like in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoseExpectation {
    /// joint name → its world matrix in mesh space, rows of a 4 × 4 matrix on column vectors
    pub joints: BTreeMap<String, [[f64; 4]; 4]>,
    /// control name → value
    pub controls: BTreeMap<String, f64>,
    /// coordinates of all layers, one after the other
    pub coordinates: Vec<f32>,
    /// `vertex`, mesh space
    pub positions: Vec<[f32; 3]>,
    /// `vertex`, unit length
    pub normals: Vec<[f32; 3]>,
}

/// Why the vectors could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// A case could not be built: a bug.
    #[error("a conformance case cannot be built: {problem}")]
    Case {
        /// what is wrong
        problem: String,
    },
    /// A case could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file or folder could not be written.
    #[error("cannot write {}: {error}", path.display())]
    Io {
        /// the file or folder
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
}

impl ConformanceError {
    pub(crate) fn of(error: impl std::fmt::Display) -> Self {
        Self::Case { problem: error.to_string() }
    }
}

const README: &str = include_str!("README.md");

/// Writes all vectors into a folder; returns the names of the cases.
pub fn write(folder: impl AsRef<Path>) -> Result<Vec<String>, ConformanceError> {
    let folder = folder.as_ref();
    std::fs::create_dir_all(folder).map_err(|error| ConformanceError::Io { path: folder.into(), error })?;
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| ConformanceError::Io { path, error })
    };
    put("README.md", README.as_bytes())?;
    let mut names = Vec::new();
    for case in cases::all()? {
        put(&format!("{}.glb", case.name), &glb(&case)?)?;
        let text = serde_json::to_string(&expectations(&case)).map_err(ConformanceError::of)?;
        put(&format!("{}.json", case.name), text.as_bytes())?;
        names.push(case.name);
    }
    Ok(names)
}

/// The GLB of a case. Its clip "poses" goes through the poses, one per second.
pub fn glb(case: &Case) -> Result<Vec<u8>, ConformanceError> {
    let times: Vec<f64> = (0..case.poses.len()).map(|index| index as f64).collect();
    let file =
        RigFile::from_rig(case.model.rig().clone(), &case.name)?.with_clip("poses", &times, &case.poses)?;
    // All keys: readers are held against the poses at a hundredth of the usual tolerance.
    let options = ModelWriteOptions { bake_rate: 30.0, tolerance: 0.0, ..ModelWriteOptions::default() };
    Ok(model_glb(&file, &case.model, &options)?.0)
}

/// What a case must look like, by the reference evaluator.
pub fn expectations(case: &Case) -> Expectations {
    let mut evaluator = Evaluator::new(case.model.clone());
    let rig = case.model.rig();
    let poses = case
        .poses
        .iter()
        .map(|pose| {
            let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
            let mut normals = positions.clone();
            evaluator.evaluate(pose, &mut positions, Some(&mut normals));
            let joints = rig.skeleton().joints().iter().zip(&pose.world_from_joint);
            let controls = rig.controls().iter().zip(&pose.controls);
            PoseExpectation {
                joints: joints.map(|(joint, world)| (joint.name.clone(), rows_of(*world))).collect(),
                controls: controls.map(|(control, &value)| (control.name.clone(), value)).collect(),
                coordinates: evaluator.coordinates().to_vec(),
                positions: positions.iter().map(Vec3::to_array).collect(),
                normals: normals.iter().map(Vec3::to_array).collect(),
            }
        })
        .collect();
    Expectations {
        version: 1,
        model: format!("{}.glb", case.name),
        about: case.about.clone(),
        size: rig.mesh().size(),
        poses,
    }
}

impl PoseExpectation {
    /// The pose, for a model; an error names a joint or control that is missing.
    pub fn pose(&self, model: &Model) -> Result<Pose, ConformanceError> {
        let missing =
            |what: &str, name: &str| ConformanceError::Case { problem: format!("no {what} {name:?}") };
        let rig = model.rig();
        let joints = rig.skeleton().joints().iter().map(|joint| {
            self.joints.get(&joint.name).map(affine_of_rows).ok_or_else(|| missing("joint", &joint.name))
        });
        let controls = rig.controls().iter().map(|control| {
            self.controls.get(&control.name).copied().ok_or_else(|| missing("control", &control.name))
        });
        Ok(Pose {
            world_from_joint: joints.collect::<Result<_, _>>()?,
            controls: controls.collect::<Result<_, _>>()?,
        })
    }
}

fn rows_of(m: DAffine3) -> [[f64; 4]; 4] {
    let rows = m.matrix3.transpose();
    let t = m.translation;
    let row = |r: DVec3, t: f64| [r.x, r.y, r.z, t];
    [row(rows.x_axis, t.x), row(rows.y_axis, t.y), row(rows.z_axis, t.z), [0.0, 0.0, 0.0, 1.0]]
}

fn affine_of_rows(rows: &[[f64; 4]; 4]) -> DAffine3 {
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    DAffine3::from_cols(column(0), column(1), column(2), column(3))
}
