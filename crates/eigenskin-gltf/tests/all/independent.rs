//! What a stock viewer shows: morph, then skin, written here on top of the `gltf` crate, from the
//! baked weights. It must agree with the evaluator.

use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::{Quat, Vec3};
use eigenskin_core::model::{Model, Stage};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gltf::conformance::{cases, glb};
use eigenskin_gltf::internals::{append, table_of};
use eigenskin_gltf::{ModelWriteOptions, ReadOptions, RigFile, model_glb, model_of, rig_of};
use serde_json::json;

use crate::support::cases::document;
use crate::support::compare::{furthest, largest_angle};
use crate::support::viewer::Viewer;

#[test]
fn a_stock_viewer_agrees_with_the_evaluator() {
    let mut signs = (false, false);
    let mut checked = 0;
    for case in cases::all().unwrap() {
        let plain = case.model.base().skinning() == Some(BaseSkinning::LinearBlend)
            && case.model.layers().iter().all(|layer| layer.stage == Stage::BeforeSkinning);
        if !plain {
            continue;
        }
        let bytes = glb(&case).unwrap();
        let viewer = Viewer::open(&bytes);
        let (file, model) = model_of(document(&bytes)).unwrap();
        let mut evaluator = Evaluator::new(model);
        let size = file.rig().mesh().size();
        for key in 0..case.poses.len() {
            let pose = file.sample(&file.clips()[0], key as f64);
            let mut positions = vec![Vec3::ZERO; file.rig().vertex_count()];
            let mut normals = positions.clone();
            evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
            signs.0 |= evaluator.coordinates().iter().any(|&a| a > 0.1);
            signs.1 |= evaluator.coordinates().iter().any(|&a| a < -0.1);
            let scene = file.layout().scene_from_mesh;
            for p in &mut positions {
                *p = scene.transform_point3(p.as_dvec3()).as_vec3();
            }
            for n in &mut normals {
                *n = scene.transform_vector3(n.as_dvec3()).normalize().as_vec3();
            }

            let (shown, shown_normals, weights) = viewer.show(0, key as f32);
            assert!(weights.iter().all(|w| (0.0..=1.0).contains(w)), "{}: {weights:?}", case.name);
            assert!(furthest(&shown, &positions) < 1e-5 * size, "{} key {key}", case.name);
            assert!(largest_angle(&shown_normals, &normals) < 0.1, "{} key {key}", case.name);
            checked += 1;
        }
    }
    assert!(checked >= 25 && signs == (true, true), "{checked} {signs:?}");
}

/// Between two baked keys the split halves interpolate as the coordinate itself does.
#[test]
fn a_sign_change_between_keys_is_exact() {
    let case = cases::all().unwrap().remove(0);
    let (_, model) = model_of(document(&glb(&case).unwrap())).unwrap();
    let written = document(&glb(&case).unwrap());
    let clips = eigenskin_gltf::Clip::read_all(&written).unwrap();
    let channel = clips[0].channels.iter().find(|c| c.path == eigenskin_gltf::ChannelPath::Weights).unwrap();
    let table = &table_of(&written.json)["model"];
    let mut changes = 0;
    for layer in table["layers"].as_array().unwrap() {
        for component in layer["components"].as_array().unwrap() {
            let half = |key: &str| {
                let half = component.get(key)?;
                Some((half["target"].as_u64().unwrap() as usize, half["scale"].as_f64().unwrap()))
            };
            let (Some((plus, a)), Some((minus, b))) = (half("plus"), half("minus")) else { continue };
            assert!(a.log2().fract() == 0.0 && b.log2().fract() == 0.0);
            let alpha = |time: f64| {
                let weights = channel.sample(time);
                weights[plus] * a - weights[minus] * b
            };
            for pair in channel.times.windows(2) {
                let (from, to) = (alpha(pair[0]), alpha(pair[1]));
                let middle = alpha(0.5 * (pair[0] + pair[1]));
                assert!((middle - 0.5 * (from + to)).abs() < 1e-6);
                changes += usize::from(from * to < 0.0);
            }
        }
    }
    assert!(changes > 0 && model.component_count() > 0);
}

/// Nodes that are no joints stand above and between joints, carry transforms, and move.
#[test]
fn other_nodes_in_the_hierarchy_are_seen() {
    let case = cases::all().unwrap().remove(0);
    let times: Vec<f64> = (0..case.poses.len()).map(|i| i as f64).collect();
    let file =
        RigFile::from_rig(case.model.rig().clone(), "x").unwrap().with_clip("poses", &times, &case.poses);
    let mut changed = file.unwrap().document().clone();
    let nodes = changed.json["nodes"].as_array_mut().unwrap();
    let (between, above, mesh) =
        (nodes.len(), nodes.len() + 1, nodes.iter().position(|n| n.get("mesh").is_some()).unwrap());
    assert_eq!(nodes[0]["children"], json!([1]));
    nodes[0]["children"] = json!([between]);
    nodes.push(json!({"name": "between", "children": [1], "translation": [0.1, 0.0, 0.2], "rotation": [0.6, 0.0, 0.0, 0.8]}));
    nodes.push(json!({"name": "above", "children": [0, mesh], "scale": [2.0, 2.0, 2.0],
                      "matrix": null, "rotation": [0.0, 0.8, 0.0, 0.6], "translation": [3.0, 1.0, 0.0]}));
    nodes[above].as_object_mut().unwrap().remove("matrix");
    let roots = changed.json["scenes"][0]["nodes"].as_array_mut().unwrap();
    roots.retain(|n| n.as_u64() != Some(0) && n.as_u64() != Some(mesh as u64));
    roots.push(above.into());
    let input = changed.json["animations"][0]["samplers"][0]["input"].clone();
    let turns: Vec<[f32; 4]> =
        (0..times.len()).map(|i| Quat::from_rotation_y(0.3 * i as f32).to_array()).collect();
    let output = append::vec4(&mut changed, "turns", &turns, append::Usage::Other).unwrap();
    for node in [between, above] {
        let animation = &mut changed.json["animations"][0];
        let sampler = animation["samplers"].as_array().unwrap().len();
        animation["samplers"].as_array_mut().unwrap().push(json!({"input": input, "output": output}));
        let channel = json!({"sampler": sampler, "target": {"node": node, "path": "rotation"}});
        animation["channels"].as_array_mut().unwrap().push(channel);
    }
    let file = rig_of(changed, &ReadOptions::default()).unwrap();
    // Joint 1 hangs on joint 0 through the other node.
    assert_eq!(file.rig().skeleton().joints()[1].parent, Some(0));
    let model =
        Model::new(file.rig().clone(), case.model.base().clone(), case.model.layers().to_vec()).unwrap();
    let (bytes, _) = model_glb(&file, &model, &ModelWriteOptions::default()).unwrap();
    let viewer = Viewer::open(&bytes);
    let mut evaluator = Evaluator::new(Arc::new(model));
    let scene = file.layout().scene_from_mesh;
    let size = file.rig().mesh().size();
    for &time in &times {
        let pose = file.sample(&file.clips()[0], time);
        let mut positions = vec![Vec3::ZERO; file.rig().vertex_count()];
        evaluator.evaluate(&pose, &mut positions, None);
        for p in &mut positions {
            *p = scene.transform_point3(p.as_dvec3()).as_vec3();
        }
        let (shown, _, _) = viewer.show(0, time as f32);
        assert!(furthest(&shown, &positions) < 2e-5 * size, "{time}: {}", furthest(&shown, &positions));
    }
}
