//! What a stock viewer shows: morph, then skin, written here on top of the `gltf` crate, from the
//! baked weights. It must agree with the evaluator.
// Helpers of integration tests are no tests to the linter.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::sync::Arc;

use common::viewer::Viewer;
use common::{furthest, largest_angle};
use eigenskin_characters::arm;
use eigenskin_characters::truth::true_shape;
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::driver::Combine;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DVec3, Quat, Vec3};
use eigenskin_core::model::{Model, Stage};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::method::{EigenSkinParams, fit_eigenskin};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_gltf::conformance::{cases, glb};
use eigenskin_gltf::internals::append;
use eigenskin_gltf::{ModelWriteOptions, Orientation, ReadOptions, RigFile, model_glb, model_of, rig_of};
use serde_json::json;

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
        let (file, model) = model_of(common::document(&bytes)).unwrap();
        let mut evaluator = Evaluator::new(model.into());
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
    let (_, model) = model_of(common::document(&glb(&case).unwrap())).unwrap();
    let written = common::document(&glb(&case).unwrap());
    let clips = eigenskin_gltf::Clip::read_all(&written).unwrap();
    let channel = clips[0].channels.iter().find(|c| c.path == eigenskin_gltf::ChannelPath::Weights).unwrap();
    let table = &written.json["scenes"][0]["extras"]["eigenskin"]["model"];
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

/// A model fitted to the built-in arm, in other axes and unit, with a motion: written, read back as
/// the same model with the same errors, and shown alike by the stock viewer.
#[test]
fn a_fitted_arm_survives_the_file_and_plays_in_a_stock_viewer() {
    let character = arm(2000).unwrap();
    let truth = |poses: Vec<NamedPose>| {
        let example = |named: NamedPose| Example {
            positions: true_shape(&character, &named.pose),
            name: named.name,
            pose: named.pose,
            normals: None,
            inverted: None,
        };
        ExampleSet::new(character.rig.clone(), poses.into_iter().map(example).collect()).unwrap()
    };
    let training = truth(character.single_joint_poses(4));
    let held_out = character.multi_joint_poses(6, 7);
    let times: Vec<f64> = (0..held_out.len()).map(|i| i as f64).collect();
    let poses: Vec<_> = held_out.iter().map(|named| named.pose.clone()).collect();
    let fitted = fit_eigenskin(&training, &EigenSkinParams::default()).unwrap().model;
    let file = RigFile::from_rig(character.rig.clone(), "arm")
        .unwrap()
        .with_clip("poses", &times, &poses)
        .unwrap()
        .with_orientation(Orientation { z_up: true, metres_per_unit: 0.01 })
        .unwrap();
    let (bytes, _) = model_glb(&file, &fitted, &ModelWriteOptions::default()).unwrap();
    common::keep("fitted arm", &bytes);

    let (read_file, read) = model_of(common::document(&bytes)).unwrap();
    assert_eq!(read, fitted);
    let held_out = truth(held_out);
    let figures = evaluate_against(&Arc::new(fitted), &held_out);
    assert_eq!(figures, evaluate_against(&Arc::new(read.clone()), &held_out));
    assert!(figures.relative_error.unwrap() < 0.7, "{:?}", figures.relative_error);

    let scene = read_file.layout().scene_from_mesh;
    // z up became y up, centimetres became metres.
    let up = scene.transform_vector3(DVec3::Z);
    assert!((up - 0.01 * DVec3::Y).length() < 1e-9, "{up}");
    let viewer = Viewer::open(&bytes);
    let mut evaluator = Evaluator::new(Arc::new(read));
    let size = 0.01 * character.rig.mesh().size();
    for &time in &times {
        let pose = read_file.sample(&read_file.clips()[0], time);
        let mut positions = vec![Vec3::ZERO; character.rig.vertex_count()];
        let mut normals = positions.clone();
        evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
        for (p, n) in positions.iter_mut().zip(&mut normals) {
            *p = scene.transform_point3(p.as_dvec3()).as_vec3();
            *n = scene.transform_vector3(n.as_dvec3()).normalize().as_vec3();
        }
        let (shown, shown_normals, weights) = viewer.show(0, time as f32);
        assert!(weights.iter().all(|w| (0.0..=1.0).contains(w)));
        assert!(
            furthest(&shown, &positions) < 1e-5 * size,
            "{time}: {:e}",
            furthest(&shown, &positions) / size
        );
        assert!(largest_angle(&shown_normals, &normals) < 0.1, "{time}");
    }
}

/// The same with a layer of two joints: their product bulges the arm.
#[test]
fn coupled_joints_survive_the_file_and_play_in_a_stock_viewer() {
    let character = arm(1000).unwrap();
    let rig = &character.rig;
    let skeleton = rig.skeleton();
    let shape = |pose: &Pose| -> Vec<Vec3> {
        let turn = |joint: usize| pose.motion_of(skeleton, joint).rotation.w.abs().min(1.0).acos().sin();
        let (first, second) = (turn(1), turn(2));
        let amount = 0.05 * rig.mesh().size() * (first + 0.5 * second + 2.0 * first * second);
        let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
        let rest = rig.mesh().positions().iter().zip(rig.mesh().normals());
        let bulged = rest.map(|(p, n)| p.as_dvec3() + amount * n.as_dvec3());
        bulged.enumerate().map(|(vertex, p)| skinning.position(vertex, p).as_vec3()).collect()
    };
    let held_out = character.multi_joint_poses(6, 8);
    let poses = character.single_joint_poses(4).into_iter().chain(character.multi_joint_poses(20, 7));
    let examples = poses.map(|NamedPose { name, pose }| {
        let positions = shape(&pose);
        Example { name, pose, positions, normals: None, inverted: None }
    });
    let training = ExampleSet::new(rig.clone(), examples.collect()).unwrap();
    let fitted = fit_eigenskin(&training, &EigenSkinParams::default()).unwrap().model;
    assert!(fitted.layers().iter().any(|layer| layer.driver.combine == Combine::Product));

    let times: Vec<f64> = (0..held_out.len()).map(|i| i as f64).collect();
    let poses: Vec<_> = held_out.iter().map(|named| named.pose.clone()).collect();
    let file = RigFile::from_rig(rig.clone(), "arm").unwrap().with_clip("poses", &times, &poses).unwrap();
    let (bytes, _) = model_glb(&file, &fitted, &ModelWriteOptions::default()).unwrap();
    let (read_file, read) = model_of(common::document(&bytes)).unwrap();
    assert_eq!(read, fitted);
    let viewer = Viewer::open(&bytes);
    let mut evaluator = Evaluator::new(Arc::new(read));
    for &time in &times {
        let pose = read_file.sample(&read_file.clips()[0], time);
        let mut positions = vec![Vec3::ZERO; rig.vertex_count()];
        evaluator.evaluate(&pose, &mut positions, None);
        let scene = read_file.layout().scene_from_mesh;
        for p in &mut positions {
            *p = scene.transform_point3(p.as_dvec3()).as_vec3();
        }
        let (shown, _, _) = viewer.show(0, time as f32);
        assert!(furthest(&shown, &positions) < 1e-5 * rig.mesh().size(), "{time}");
    }
}
