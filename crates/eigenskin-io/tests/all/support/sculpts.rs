//! Shapes of a scene as sculpts and as shape keys of a GLB.

use std::path::Path;

use eigenskin_core::glam::{DMat4, Vec3};
use eigenskin_gltf::internals::append::{self, Usage};
use serde_json::json;

use super::scene::Scene;

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
