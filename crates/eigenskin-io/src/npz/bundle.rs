//! The arrays of a bundle, and the rig and examples made from them.

use std::path::Path;
use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};

use super::NpzError;
use super::archive;
use super::array::{Array, Data};
use crate::gltf::{WeightsMaker, weights_note};

const KEYS: [&str; 12] = [
    "rest",
    "faces",
    "weights",
    "parents",
    "names",
    "bind",
    "joint_world",
    "truth",
    "pose_names",
    "controls",
    "control_names",
    "normals",
];

/// The arrays of a bundle. Reading and making the rig are two steps, so that weights can be made
/// for a bundle that has none.
#[derive(Debug, Clone)]
pub struct Bundle {
    arrays: Vec<(String, Array)>,
}

/// Whether a bundle has examples, without unpacking it.
pub fn has_examples(path: &Path) -> Result<bool, NpzError> {
    Ok(archive::keys(open(path)?)?.iter().any(|key| key == "truth"))
}

impl Bundle {
    /// Reads the arrays of a file.
    pub fn read(path: &Path) -> Result<Self, NpzError> {
        Self::from_reader(open(path)?)
    }

    /// Reads the arrays of a file but for the observed shapes, which may be large.
    pub fn read_without_shapes(path: &Path) -> Result<Self, NpzError> {
        let wanted: Vec<&str> = KEYS.into_iter().filter(|key| !["truth", "normals"].contains(key)).collect();
        Self::of_keys(open(path)?, &wanted)
    }

    /// Reads the arrays of an open file or of bytes in memory.
    pub fn from_reader(file: impl std::io::Read + std::io::Seek) -> Result<Self, NpzError> {
        Self::of_keys(file, &KEYS)
    }

    fn of_keys(file: impl std::io::Read + std::io::Seek, keys: &[&str]) -> Result<Self, NpzError> {
        let bundle = Self { arrays: archive::read(file, keys)? };
        let mut needed = vec!["rest", "faces"];
        if bundle.has_joints() {
            needed.extend(["parents", "names", "bind"]);
        }
        if bundle.has_examples() && bundle.has_joints() {
            needed.push("joint_world");
        }
        if bundle.has("controls") {
            needed.push("control_names");
        }
        let keys: Vec<String> = needed.into_iter().filter(|key| !bundle.has(key)).map(String::from).collect();
        if keys.is_empty() { Ok(bundle) } else { Err(NpzError::MissingKeys { keys }) }
    }

    /// Whether there are joints at all.
    pub fn has_joints(&self) -> bool {
        ["names", "parents", "bind", "weights", "joint_world"].iter().any(|key| self.has(key))
    }

    /// Whether there are skin weights.
    pub fn has_weights(&self) -> bool {
        self.has("weights")
    }

    /// Whether there are observed shapes.
    pub fn has_examples(&self) -> bool {
        self.has("truth")
    }

    /// The rig, and what there is to say about it. `missing_weights` makes weights when there are
    /// none.
    pub fn rig(&self, missing_weights: Option<WeightsMaker>) -> Result<(Rig, Vec<String>), NpzError> {
        let mut notes = Vec::new();
        let rest = vectors(self.numbers("rest", &[None, Some(3)])?.1);
        let triangles = self.triangles(rest.len())?;
        let mesh = Mesh::new(rest, triangles, None)?;
        let skeleton = if self.has_joints() { self.skeleton()? } else { Skeleton::empty() };
        let weights = if skeleton.joint_count() == 0 {
            SkinWeights::none(mesh.vertex_count())
        } else if self.has_weights() {
            let shape = [Some(mesh.vertex_count()), Some(skeleton.joint_count())];
            let (_, values) = self.numbers("weights", &shape)?;
            let influences = values.chunks_exact(skeleton.joint_count()).map(influences);
            let (weights, report) = SkinWeights::new(skeleton.joint_count(), influences)?;
            notes.extend(weights_note(&report));
            weights
        } else {
            let make =
                missing_weights.ok_or_else(|| NpzError::MissingKeys { keys: vec!["weights".into()] })?;
            notes.push("the bundle has no weights; they were made from the joints".into());
            make(&mesh, &skeleton).map_err(|problem| NpzError::MadeWeights { problem })?
        };
        let controls = match self.find("control_names") {
            Some(_) => self.texts("control_names", None)?,
            None => Vec::new(),
        };
        let controls = controls.into_iter().map(|name| Control { name, default: 0.0 }).collect();
        Ok((Rig::new(mesh, skeleton, weights, controls)?, notes))
    }

    /// The examples, for the rig of this bundle.
    pub fn examples(&self, rig: &Arc<Rig>) -> Result<ExampleSet, NpzError> {
        if !self.has_examples() {
            return Err(NpzError::MissingKeys { keys: vec!["truth".into()] });
        }
        let vertices = rig.vertex_count();
        let (shape, truth) = self.numbers("truth", &[None, Some(vertices), Some(3)])?;
        let poses = shape[0];
        let normals = match self.find("normals") {
            Some(_) => Some(self.numbers("normals", &[Some(poses), Some(vertices), Some(3)])?.1),
            None => None,
        };
        let slice =
            |values: &[f64], pose: usize| vectors(&values[pose * vertices * 3..(pose + 1) * vertices * 3]);
        let examples = self
            .poses(rig, poses)?
            .into_iter()
            .enumerate()
            .map(|(index, NamedPose { name, pose })| Example {
                name,
                pose,
                positions: slice(truth, index),
                normals: normals.map(|normals| slice(normals, index)),
                inverted: None,
            })
            .collect();
        Ok(ExampleSet::new(rig.clone(), examples)?)
    }

    /// The poses of the examples, which must be `poses`, for the rig of this bundle.
    pub fn poses(&self, rig: &Rig, poses: usize) -> Result<Vec<NamedPose>, NpzError> {
        let joint_count = rig.skeleton().joint_count();
        let joints = match joint_count {
            0 => Vec::new(),
            _ => self.transforms("joint_world", &[Some(poses), Some(joint_count), Some(4), Some(4)])?,
        };
        let control_count = rig.controls().len();
        let controls = match self.find("controls") {
            Some(_) => self.numbers("controls", &[Some(poses), Some(control_count)])?.1.to_vec(),
            None => vec![0.0; poses * control_count],
        };
        let names = match self.find("pose_names") {
            Some(_) => self.texts("pose_names", Some(poses))?,
            None => (0..poses).map(|pose| format!("pose {pose}")).collect(),
        };
        let named = |(index, name): (usize, String)| NamedPose {
            name: if name.is_empty() { format!("pose {index}") } else { name },
            pose: Pose {
                world_from_joint: joints[index * joint_count..(index + 1) * joint_count].to_vec(),
                controls: controls[index * control_count..(index + 1) * control_count].to_vec(),
            },
        };
        Ok(names.into_iter().enumerate().map(named).collect())
    }

    fn triangles(&self, vertices: usize) -> Result<Vec<[u32; 3]>, NpzError> {
        let (shape, corners) = self.numbers("faces", &[None, None])?;
        if !(3..=4).contains(&shape[1]) {
            return Err(wrong_shape("faces", &shape, &[None, Some(3)]));
        }
        let mut triangles = Vec::with_capacity(shape[0]);
        for (face, corners) in corners.chunks_exact(shape[1]).enumerate() {
            // Triangles among quads repeat a corner or mark the last one with -1.
            let corners = if corners.len() == 4 && corners[3] == -1.0 { &corners[..3] } else { corners };
            if let Some(&bad) = corners.iter().find(|&&c| c.fract() != 0.0 || c < 0.0 || c >= vertices as f64)
            {
                return Err(NpzError::Face { face, vertex: bad as i64, vertices });
            }
            let corner = |i: usize| corners[i] as u32;
            triangles.push([corner(0), corner(1), corner(2)]);
            if corners.len() == 4 && corner(3) != corner(2) && corner(3) != corner(0) {
                triangles.push([corner(0), corner(2), corner(3)]);
            }
        }
        Ok(triangles)
    }

    fn skeleton(&self) -> Result<Skeleton, NpzError> {
        let names = self.texts("names", None)?;
        let count = names.len();
        let (_, parents) = self.numbers("parents", &[Some(count)])?;
        let binds = self.transforms("bind", &[Some(count), Some(4), Some(4)])?;
        let mut joints = Vec::with_capacity(count);
        for (joint, ((name, &parent), bind)) in names.into_iter().zip(parents).zip(binds).enumerate() {
            if parent.fract() != 0.0 || parent >= count as f64 {
                return Err(NpzError::Parent { joint, parent: parent as i64, joints: count });
            }
            let parent = (parent >= 0.0).then_some(parent as usize);
            joints.push(Joint { name, parent, reference: None, joint_from_rest: bind.inverse() });
        }
        Ok(Skeleton::new(joints)?)
    }

    fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    fn find(&self, key: &str) -> Option<&Array> {
        self.arrays.iter().find(|(name, _)| name == key).map(|(_, array)| array)
    }

    fn get(&self, key: &str) -> Result<&Array, NpzError> {
        self.find(key).ok_or_else(|| NpzError::MissingKeys { keys: vec![key.into()] })
    }

    /// Numbers of a given shape (`None`: any extent), row-major.
    fn numbers(&self, key: &str, shape: &[Option<usize>]) -> Result<(Vec<usize>, &[f64]), NpzError> {
        let array = self.get(key)?;
        let Data::Numbers(values) = &array.data else {
            return Err(NpzError::Array { key: key.into(), problem: "holds texts, not numbers".into() });
        };
        let fits = array.shape.len() == shape.len()
            && array
                .shape
                .iter()
                .zip(shape)
                .all(|(&found, wanted)| wanted.is_none_or(|wanted| wanted == found));
        if fits { Ok((array.shape.clone(), values)) } else { Err(wrong_shape(key, &array.shape, shape)) }
    }

    fn texts(&self, key: &str, count: Option<usize>) -> Result<Vec<String>, NpzError> {
        let array = self.get(key)?;
        let Data::Texts(texts) = &array.data else {
            return Err(NpzError::Array { key: key.into(), problem: "holds numbers, not texts".into() });
        };
        if array.shape.len() != 1 || count.is_some_and(|count| count != texts.len()) {
            return Err(wrong_shape(key, &array.shape, &[count]));
        }
        Ok(texts.clone())
    }

    fn transforms(&self, key: &str, shape: &[Option<usize>]) -> Result<Vec<DAffine3>, NpzError> {
        let (_, values) = self.numbers(key, shape)?;
        let column = |m: &[f64], c: usize| DVec3::new(m[c], m[4 + c], m[8 + c]);
        Ok(values
            .chunks_exact(16)
            .map(|m| DAffine3::from_cols(column(m, 0), column(m, 1), column(m, 2), column(m, 3)))
            .collect())
    }
}

/// The weights that are not zero.
fn influences(row: &[f64]) -> Vec<Influence> {
    let entries = row.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
    entries.map(|(joint, &weight)| Influence { joint: joint as u32, weight: weight as f32 }).collect()
}

fn open(path: &Path) -> Result<std::fs::File, NpzError> {
    std::fs::File::open(path).map_err(|error| NpzError::Archive { problem: error.to_string() })
}

fn vectors(values: &[f64]) -> Vec<Vec3> {
    values.chunks_exact(3).map(|v| DVec3::from_slice(v).as_vec3()).collect()
}

fn wrong_shape(key: &str, found: &[usize], expected: &[Option<usize>]) -> NpzError {
    let extents: Vec<String> =
        expected.iter().map(|extent| extent.map_or_else(|| "any".into(), |e| e.to_string())).collect();
    NpzError::Array {
        key: key.into(),
        problem: format!(
            "has the shape {found:?}, expected [{}]; save it again in that shape",
            extents.join(", ")
        ),
    }
}
