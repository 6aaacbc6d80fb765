//! A fresh document for a rig that did not come from one.

use eigenskin_core::glam::DAffine3;
use eigenskin_core::rig::Rig;
use serde_json::{Value, json};

use super::append::{self, Usage};
use super::document::Document;
use super::nodes::Trs;
use super::rig::CONTROL_PREFIX;
use crate::WriteError;

/// Builds a document with one mesh, one skin, the joints as nodes and the controls beside them.
/// Vertex order, axes and unit stay as they are.
pub fn build(rig: &Rig, name: &str) -> Result<Document, WriteError> {
    let joint_count = rig.skeleton().joint_count();
    if joint_count > 1 << 16 {
        return Err(WriteError::TooMany { what: "joints", found: joint_count, limit: 1 << 16 });
    }
    let mut document = Document::new();
    let attributes = push_vertices(&mut document, rig)?;
    let corners = rig.mesh().triangles().as_flattened();
    let indices = append::indices(&mut document, "triangles", corners, rig.vertex_count(), Usage::Indices)?;
    document.json["materials"] = json!([{
        "name": "skin",
        "pbrMetallicRoughness": {"baseColorFactor": [0.8, 0.75, 0.7, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.7},
    }]);
    document.json["meshes"] = json!([{"name": name, "primitives": [{"attributes": attributes, "indices": indices, "material": 0}]}]);

    let mut nodes = joint_nodes(rig);
    let mut mesh_node = json!({"name": unused_name(&nodes, name), "mesh": 0});
    let mut roots: Vec<usize> =
        (0..joint_count).filter(|&joint| rig.skeleton().joints()[joint].parent.is_none()).collect();
    if joint_count > 0 {
        let binds: Vec<DAffine3> =
            rig.skeleton().joints().iter().map(|joint| joint.joint_from_rest).collect();
        let binds = append::transforms(&mut document, "inverse bind matrices", &binds)?;
        // Joints of a skin must have a common root: several roots hang on a node of their own.
        if roots.len() > 1 {
            let name = unused_name(&nodes, "skeleton");
            nodes.push(json!({"name": name, "children": roots}));
            roots = vec![nodes.len() - 1];
        }
        let joints: Vec<usize> = (0..joint_count).collect();
        document.json["skins"] = json!([{"name": name, "joints": joints, "inverseBindMatrices": binds}]);
        mesh_node["skin"] = 0.into();
    }
    roots.push(nodes.len());
    nodes.push(mesh_node);
    for control in rig.controls() {
        roots.push(nodes.len());
        let name = format!("{CONTROL_PREFIX}{}", control.name);
        nodes.push(json!({"name": name, "translation": [f64::from(control.default as f32), 0.0, 0.0]}));
    }
    document.json["nodes"] = nodes.into();
    document.json["scenes"] = json!([{"nodes": roots}]);
    document.json["scene"] = 0.into();
    Ok(document)
}

fn push_vertices(document: &mut Document, rig: &Rig) -> Result<Value, WriteError> {
    let mesh = rig.mesh();
    let mut attributes = json!({
        "POSITION": append::vec3(document, "positions", mesh.positions(), Usage::Vertices, true)?,
        "NORMAL": append::vec3(document, "normals", mesh.normals(), Usage::Vertices, false)?,
    });
    let sets = rig.weights().most_influences().div_ceil(4);
    for set in 0..sets {
        let mut joints = vec![[0u16; 4]; rig.vertex_count()];
        let mut weights = vec![[0f32; 4]; rig.vertex_count()];
        for vertex in 0..rig.vertex_count() {
            let influences = rig.weights().of(vertex).iter().skip(4 * set).take(4);
            for (slot, influence) in influences.enumerate() {
                joints[vertex][slot] = influence.joint as u16;
                weights[vertex][slot] = influence.weight;
            }
        }
        attributes[format!("JOINTS_{set}")] = append::joints(document, "joints", &joints)?.into();
        attributes[format!("WEIGHTS_{set}")] =
            append::vec4(document, "weights", &weights, Usage::Vertices)?.into();
    }
    Ok(attributes)
}

/// One node per joint, in their order, at rest.
fn joint_nodes(rig: &Rig) -> Vec<Value> {
    let skeleton = rig.skeleton();
    let locals = skeleton.parent_from_joint(skeleton.rest_from_joint());
    skeleton
        .joints()
        .iter()
        .enumerate()
        .map(|(index, joint)| {
            // A sheared rest cannot be shown; the nearest pose is, and bind matrices stay exact.
            let trs = Trs::nearest(locals[index]).0.rounded();
            let mut node = json!({
                "name": joint.name,
                "translation": trs.translation.to_array(),
                "rotation": trs.rotation.as_quat().to_array(),
            });
            if (trs.scale - 1.0).abs().max_element() > 3e-7 {
                node["scale"] = json!(trs.scale.to_array());
            }
            let children: Vec<usize> = skeleton.children(index).collect();
            if !children.is_empty() {
                node["children"] = json!(children);
            }
            node
        })
        .collect()
}

/// `wanted`, or `wanted` with a number when a node has that name already.
fn unused_name(nodes: &[Value], wanted: &str) -> String {
    let taken = |name: &str| nodes.iter().any(|node| node["name"] == name);
    if !taken(wanted) {
        return wanted.into();
    }
    let mut number = 2;
    while taken(&format!("{wanted} {number}")) {
        number += 1;
    }
    format!("{wanted} {number}")
}
