//! Characters with a clip and the shapes at its keys, and caches to put them into.
#![allow(dead_code, clippy::unwrap_used, reason = "helpers of tests")]

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use eigenskin_characters::{Character, arm, truth::true_shape};
use eigenskin_core::glam::{DAffine3, DMat4, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_gltf::RigFile;
use eigenskin_gltf::conformance::random::Random;
use eigenskin_gltf::internals::append::{self, Usage};
use serde_json::json;

/// A rig file with the clip "poses", and the shapes at its keys.
pub struct Scene {
    pub file: RigFile,
    pub poses: Vec<Pose>,
    /// `key × vertex`
    pub shapes: Vec<Vec<Vec3>>,
    pub rest: Vec<Vec3>,
}

impl Scene {
    pub fn new(rig: Arc<Rig>, poses: Vec<Pose>, shapes: Vec<Vec<Vec3>>) -> Self {
        let times: Vec<f64> = (0..poses.len()).map(|key| 0.5 * key as f64).collect();
        let rest = rig.mesh().positions().to_vec();
        let file = RigFile::from_rig(rig, "scene").unwrap().with_clip("poses", &times, &poses).unwrap();
        Self { file, poses, shapes, rest }
    }

    pub fn rig(&self) -> &Arc<Rig> {
        self.file.rig()
    }

    pub fn triangles(&self) -> &[[u32; 3]] {
        self.file.rig().mesh().triangles()
    }

    pub fn faces(&self) -> Vec<Vec<u32>> {
        self.triangles().iter().map(|t| t.to_vec()).collect()
    }

    /// The rest shape and the shape of each key.
    pub fn frames(&self) -> Vec<Vec<Vec3>> {
        std::iter::once(self.rest.clone()).chain(self.shapes.iter().cloned()).collect()
    }
}

/// The arm in single-joint poses, none of them rest.
pub fn arm_scene() -> (Character, Scene) {
    let character = arm(800).unwrap();
    let poses: Vec<Pose> = character.single_joint_poses(3).into_iter().map(|named| named.pose).collect();
    let shapes = poses.iter().map(|pose| true_shape(&character, pose)).collect();
    let scene = Scene::new(character.rig.clone(), poses, shapes);
    (character, scene)
}

/// Two sheets of 6 × 4 vertices, the second shifted by `overlap_from` and turned over: where they
/// overlap each vertex of one lies on a vertex of the other, as closed lips do. The second opens
/// about an axis at z = `hinge`.
pub fn lips_scene(overlap_from: f32, hinge: f64) -> Scene {
    let (columns, rows) = (6u32, 4u32);
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for sheet in 0..2u32 {
        let shift = sheet as f32 * overlap_from;
        let at = |column: u32, row: u32| sheet * columns * rows + row * columns + column;
        for row in 0..rows {
            for column in 0..columns {
                positions.push(Vec3::new(column as f32 + shift, 0.1 * (row * row) as f32, row as f32));
                if row > 0 && column > 0 {
                    let [a, b, c, d] =
                        [at(column - 1, row - 1), at(column, row - 1), at(column, row), at(column - 1, row)];
                    let turned = |t: [u32; 3]| if sheet == 0 { t } else { [t[0], t[2], t[1]] };
                    triangles.extend([turned([a, b, c]), turned([a, c, d])]);
                }
            }
        }
    }
    let count = positions.len();
    // Given normals keep the two sheets apart.
    let normals = (0..count).map(|v| if v < count / 2 { Vec3::NEG_Y } else { Vec3::Y }).collect();
    let mesh = Mesh::new(positions, triangles, Some(normals)).unwrap();
    let joint = |name: &str, parent| Joint {
        name: name.into(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::IDENTITY,
    };
    let skeleton = Skeleton::new(vec![joint("upper", None), joint("lower", Some(0))]).unwrap();
    let on = |v: usize| vec![Influence { joint: u32::from(v >= count / 2), weight: 1.0 }];
    let (weights, _) = SkinWeights::new(2, (0..count).map(on)).unwrap();
    let rig = Arc::new(Rig::new(mesh, skeleton, weights, vec![]).unwrap());
    let opening = |angle: f64| {
        DAffine3::from_translation(DVec3::Z * hinge)
            * DAffine3::from_axis_angle(DVec3::X, angle)
            * DAffine3::from_translation(DVec3::NEG_Z * hinge)
    };
    let opened =
        |angle: f64| Pose { world_from_joint: vec![DAffine3::IDENTITY, opening(angle)], controls: vec![] };
    let poses: Vec<Pose> = [0.2, 0.5].into_iter().map(opened).collect();
    let shape = |pose: &Pose| {
        let place = |(v, p): (usize, &Vec3)| {
            let moved = pose.world_from_joint[usize::from(v >= count / 2)].transform_point3(p.as_dvec3());
            (moved + DVec3::new(0.0, 0.01 * (v as f64).sin(), 0.0)).as_vec3()
        };
        rig.mesh().positions().iter().enumerate().map(place).collect()
    };
    let shapes = poses.iter().map(shape).collect();
    Scene::new(rig.clone(), poses, shapes)
}

/// A random order of `count` things: `new index` → old index.
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

/// Every frame in another vertex order.
pub fn reordered(frames: &[Vec<Vec3>], order: &[usize]) -> Vec<Vec<Vec3>> {
    frames.iter().map(|frame| order.iter().map(|&old| frame[old]).collect()).collect()
}

/// Faces for vertices in another order.
pub fn renamed(faces: &[Vec<u32>], order: &[usize]) -> Vec<Vec<u32>> {
    let mut new_of = vec![0u32; order.len()];
    for (new, &old) in order.iter().enumerate() {
        new_of[old] = new as u32;
    }
    faces.iter().map(|face| face.iter().map(|&v| new_of[v as usize]).collect()).collect()
}

/// An array [p, v, 3] as the bytes of an .npy file.
pub fn npy(frames: &[Vec<Vec3>]) -> Vec<u8> {
    let mut header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}, 3), }}",
        frames.len(),
        frames[0].len()
    );
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(frames.iter().flatten().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes));
    bytes
}

/// Arrays as an .npz file.
pub fn write_npz(path: &Path, arrays: &[(&str, Vec<u8>)]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// A sculpt as a test may spoil it.
pub struct Sculpt {
    pub name: String,
    pub positions: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
}

/// The scene's rig, its shapes beside it as mesh nodes without a skin, each in
/// a node of its own that is moved too: `pose N@KEY`, in an order that is not that of the keys.
pub fn write_sculpts(path: &Path, scene: &Scene, change: impl FnOnce(&mut Vec<Sculpt>)) {
    let triangles = scene.triangles().to_vec();
    let mut sculpts: Vec<Sculpt> = scene
        .shapes
        .iter()
        .enumerate()
        .map(|(key, shape)| Sculpt {
            name: format!("pose {}@{key}", 7 * key),
            positions: shape.clone(),
            triangles: triangles.clone(),
        })
        .collect();
    sculpts.reverse();
    change(&mut sculpts);
    let mut document = scene.file.document().clone();
    for (index, sculpt) in sculpts.iter().enumerate() {
        // Where the node stands is taken out of the vertices.
        let shift = Vec3::new(0.125 * index as f32, 0.0, -0.5);
        let local: Vec<Vec3> = sculpt.positions.iter().map(|&p| p - shift).collect();
        let positions = append::vec3(&mut document, "sculpt", &local, Usage::Vertices, true).unwrap();
        let corners: Vec<u32> = sculpt.triangles.concat();
        let corners =
            append::indices(&mut document, "sculpt", &corners, local.len(), Usage::Indices).unwrap();
        let primitive = json!({"attributes": {"POSITION": positions}, "indices": corners});
        let meshes = document.array_mut("meshes").unwrap();
        meshes.push(json!({"primitives": [primitive]}));
        let mesh = meshes.len() - 1;
        let node = json!({"name": sculpt.name, "mesh": mesh, "translation": shift.to_array()});
        let nodes = document.array_mut("nodes").unwrap();
        nodes.push(node);
        let node = nodes.len() - 1;
        document.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(node.into());
    }
    std::fs::write(path, document.to_glb().unwrap()).unwrap();
}

/// The scene's rig with one shape key `pose N@KEY` per shape: the displacement that plain skinning
/// takes to the shape.
pub fn write_shape_keys(path: &Path, scene: &Scene, change: impl FnOnce(&mut Vec<String>)) {
    let mut document = scene.file.document().clone();
    let mut names = Vec::new();
    let mut targets = Vec::new();
    for (key, (pose, shape)) in scene.poses.iter().zip(&scene.shapes).enumerate() {
        let displacements: Vec<Vec3> = (0..shape.len())
            .map(|vertex| {
                // Blended by hand: the matrix of each vertex, inverted.
                let joints = scene.rig().skeleton().joints();
                let mut blended = DMat4::ZERO;
                for influence in scene.rig().weights().of(vertex) {
                    let joint = influence.joint as usize;
                    let moved = DMat4::from(pose.world_from_joint[joint] * joints[joint].joint_from_rest);
                    blended += moved * f64::from(influence.weight);
                }
                let pulled_back = blended.inverse().transform_point3(shape[vertex].as_dvec3());
                (pulled_back - scene.rest[vertex].as_dvec3()).as_vec3()
            })
            .collect();
        names.push(format!("pose {}@{key}", 7 * key));
        let accessor =
            append::vec3(&mut document, "shape key", &displacements, Usage::Vertices, true).unwrap();
        targets.push(json!({"POSITION": accessor}));
    }
    change(&mut names);
    let mesh = document.entry_mut("meshes", 0).unwrap();
    mesh["primitives"][0]["targets"] = targets.into();
    mesh["extras"] = json!({"targetNames": names});
    std::fs::write(path, document.to_glb().unwrap()).unwrap();
}
