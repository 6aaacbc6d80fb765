//! A rig as a game has it, made here: two meshes on one skin, two materials each, textures, a camera,
//! a light, and things that nobody knows.

use std::path::Path;

use eigenskin::characters::square_bar;
use eigenskin::glam::Vec3;
use eigenskin::gltf::Document;
use eigenskin::gltf::RigFile;
use eigenskin::gltf::internals::append::{self, Usage};
use eigenskin::pose::Pose;
use eigenskin::rig::Rig;
use serde_json::{Value, json};

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90\x77\x53\xde\x00\x00\x00\x0cIDAT\x78\x9c\x63\x38\x51\x11\x05\x00\x03\xa6\x01\x9b\xad\xa0\xaf\x0f\x00\x00\x00\x00IEND\xae\x42\x60\x82";
/// Another.
const PNG_URI: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGMQuRMFAAJSAUvfgc70AAAAAElFTkSuQmCC";

/// Writes the bar, cut into two meshes of two primitives, with the clip "bends".
pub fn write(path: &Path) {
    let bar = square_bar().unwrap();
    let poses: Vec<Pose> = bar.single_joint_poses(4).into_iter().map(|named| named.pose).collect();
    let times: Vec<f64> = (0..poses.len()).map(|key| key as f64).collect();
    let file = RigFile::from_rig(bar.rig.clone(), "bar").unwrap().with_clip("bends", &times, &poses).unwrap();
    let mut document = file.document().clone();
    let old_node = file.layout().mesh_nodes[0];
    let bounds = bar.rig.mesh().bounds();
    let centre = bounds.centre.as_vec3();
    let part = |triangle: &[u32; 3]| {
        let middle = triangle.iter().map(|&v| bar.rig.mesh().positions()[v as usize]).sum::<Vec3>() / 3.0;
        2 * usize::from(middle.x > centre.x) + usize::from(middle.y > centre.y)
    };
    let primitive = |document: &mut Document, index: usize| {
        let triangles: Vec<[u32; 3]> =
            bar.rig.mesh().triangles().iter().filter(|t| part(t) == index).copied().collect();
        assert!(!triangles.is_empty());
        push_primitive(document, &bar.rig, &triangles, index)
    };
    let parts = [0, 1, 2, 3].map(|index| primitive(&mut document, index));
    document.json["meshes"] = json!([
        {"name": "skin", "primitives": [parts[0], parts[1]], "extras": {"mine": [1, 2.5, "three"]}},
        {"name": "clothes", "primitives": [parts[2], parts[3]]},
    ]);
    document.entry_mut("nodes", old_node).unwrap()["mesh"] = 0.into();
    push_node(&mut document, json!({"name": "clothes", "mesh": 1, "skin": 0, "extras": {"layer": 2}}));
    push_node(&mut document, json!({"name": "eye", "camera": 0, "translation": [0, 0, 5]}));
    let light = json!({"KHR_lights_punctual": {"light": 0}});
    push_node(&mut document, json!({"name": "sun", "extensions": light}));
    add_looks(&mut document);
    std::fs::write(path, document.to_glb().unwrap()).unwrap();
}

fn push_node(document: &mut Document, node: Value) {
    let nodes = document.array_mut("nodes").unwrap();
    nodes.push(node);
    let index = nodes.len() - 1;
    document.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(index.into());
}

/// The vertices that `triangles` use, as a primitive of their own.
fn push_primitive(document: &mut Document, rig: &Rig, triangles: &[[u32; 3]], material: usize) -> Value {
    let mut used: Vec<u32> = triangles.concat();
    used.sort_unstable();
    used.dedup();
    let of = |list: &[Vec3]| used.iter().map(|&v| list[v as usize]).collect::<Vec<Vec3>>();
    let positions = of(rig.mesh().positions());
    let texture: Vec<f32> = positions.iter().flat_map(|p| [p.x.fract().abs(), p.y.fract().abs()]).collect();
    let corners: Vec<u32> =
        triangles.concat().iter().map(|v| used.binary_search(v).unwrap() as u32).collect();
    let mut joints = vec![[0u16; 4]; used.len()];
    let mut weights = vec![[0f32; 4]; used.len()];
    for (index, &vertex) in used.iter().enumerate() {
        for (slot, influence) in rig.weights().of(vertex as usize).iter().enumerate() {
            joints[index][slot] = influence.joint as u16;
            weights[index][slot] = influence.weight;
        }
    }
    let normals = of(rig.mesh().normals());
    let position = append::vec3(document, "p", &positions, Usage::Vertices, true).unwrap();
    let normal = append::vec3(document, "n", &normals, Usage::Vertices, false).unwrap();
    let coordinates = append::scalars(document, "t", &texture, false).unwrap();
    let accessor = document.entry_mut("accessors", coordinates).unwrap();
    accessor["type"] = "VEC2".into();
    accessor["count"] = used.len().into();
    let joints = append::joints(document, "j", &joints).unwrap();
    let weights = append::vec4(document, "w", &weights, Usage::Vertices).unwrap();
    let indices = append::indices(document, "i", &corners, used.len(), Usage::Indices).unwrap();
    json!({
        "attributes": {"POSITION": position, "NORMAL": normal, "TEXCOORD_0": coordinates,
            "JOINTS_0": joints, "WEIGHTS_0": weights},
        "indices": indices, "material": material, "extras": {"part": material},
    })
}

/// Everything that has nothing to do with shapes.
fn add_looks(document: &mut Document) {
    while !document.binary.len().is_multiple_of(4) {
        document.binary.push(0);
    }
    let offset = document.binary.len();
    document.binary.extend(PNG);
    let length = document.binary.len();
    let views = document.array_mut("bufferViews").unwrap();
    views.push(json!({"buffer": 0, "byteOffset": offset, "byteLength": PNG.len()}));
    let view = views.len() - 1;
    let json = &mut document.json;
    json["buffers"][0]["byteLength"] = length.into();
    json["images"] =
        json!([{"bufferView": view, "mimeType": "image/png", "name": "inside"}, {"uri": PNG_URI}]);
    json["samplers"] = json!([{"magFilter": 9729, "wrapS": 33071}]);
    json["textures"] = json!([{"source": 0, "sampler": 0}, {"source": 1, "extras": {"note": "ü"}}]);
    let material = |index: usize| {
        json!({
            "name": format!("material {index}"), "extras": {"shader": {"x": index}},
            "pbrMetallicRoughness": {"baseColorTexture": {"index": index % 2}, "roughnessFactor": 0.1 * index as f64},
        })
    };
    json["materials"] = (0..4).map(material).collect();
    json["cameras"] = json!([{"type": "perspective", "perspective": {"yfov": 0.7, "znear": 0.1}}]);
    json["extensionsUsed"] = json!(["KHR_lights_punctual", "EXT_of_tomorrow"]);
    json["extensions"] = json!({
        "KHR_lights_punctual": {"lights": [{"type": "directional", "intensity": 2.5}]},
        "EXT_of_tomorrow": {"anything": [{"deep": null}, 1e-9]},
    });
    json["asset"]["extras"] = json!({"author": "nobody"});
    json["scenes"][0]["extras"] = json!({"level": 3});
    json["extras"] = json!({"root": true});
}
