//! Several characters, clips, controls, and characters that come and go.

use bevy::animation::graph::{AnimationGraph, AnimationGraphHandle};
use bevy::mesh::morph::MorphWeights;
use bevy::prelude::*;
use eigenskin_bevy::{EigenSkin, EigenSkinControls, EigenSkinDrive};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::DAffine3;
use eigenskin_core::pose::Pose;
use eigenskin_gltf::internals::edit_table;
use serde_json::{Value, json};

use crate::stage::{
    Stage, assert_close, edited, expectations, expected_weights, glb, messages_of, placement,
};

const CASE: &str = "products";

/// The weights of a pose of [`CASE`].
fn wanted(pose: usize) -> Vec<f32> {
    expected_weights(&glb(CASE), &expectations(CASE).poses[pose].coordinates)
}

#[test]
fn two_characters_of_one_model_are_apart_and_one_may_go() {
    let mut stage = Stage::with(CASE, "two.glb");
    let [a, b] = [(); 2].map(|()| stage.spawn("two.glb"));
    let poses = expectations(CASE).poses;
    assert_ne!(wanted(1), wanted(2));
    stage.pose(a, &poses[1], DAffine3::IDENTITY);
    stage.pose(b, &poses[2], placement());
    stage.app.update();
    assert_close(&stage.weights(a, CASE), &wanted(1), "the first");
    assert_close(&stage.weights(b, CASE), &wanted(2), "the second");

    stage.app.world_mut().entity_mut(a).despawn();
    stage.pose(b, &poses[1], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(b, CASE), &wanted(1), "the one that stays");
    let world = stage.app.world_mut();
    assert_eq!(world.query::<&EigenSkinDrive>().iter(world).count(), 1);

    let c = stage.spawn("two.glb");
    stage.pose(c, &poses[2], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(c, CASE), &wanted(2), "the one that comes");
    assert_eq!(messages_of("two.glb"), Vec::<String>::new());
}

#[test]
fn a_character_on_another_is_its_own() {
    let mut stage = Stage::with(CASE, "rider.glb");
    let [horse, rider] = [(); 2].map(|()| stage.spawn("rider.glb"));
    let saddle = stage.named(horse, "joint-3");
    // Bound again with the rider below it.
    let model = stage.server().load("rider.glb");
    stage.app.world_mut().entity_mut(saddle).add_child(rider);
    stage.app.world_mut().entity_mut(horse).remove::<EigenSkin>();
    stage.app.world_mut().entity_mut(horse).insert(EigenSkin { model });
    stage.until(|world| world.get::<EigenSkinDrive>(horse).unwrap().is_bound());

    let joints =
        |stage: &Stage, root| stage.app.world().get::<EigenSkinDrive>(root).unwrap().joints().to_vec();
    let [of_horse, of_rider] = [joints(&stage, horse), joints(&stage, rider)];
    assert!(of_horse.len() == 4 && of_horse.iter().all(|joint| !of_rider.contains(joint)));
    let poses = expectations(CASE).poses;
    stage.pose(rider, &poses[2], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(rider, CASE), &wanted(2), "the rider");
    assert_ne!(stage.weights(horse, CASE), stage.weights(rider, CASE));
}

/// A clip of the file moves the joints and sets the weights that were baked for it; what is shown must be
/// what the drivers say of the very joints that are shown.
#[test]
fn clips_move_joints_first_and_baked_weights_are_replaced() {
    let mut stage = Stage::with(CASE, "clip.glb");
    let (driven, plain) = (stage.spawn("clip.glb"), stage.spawn_plain("clip.glb"));
    let clip = stage.server().load(GltfAssetLabel::Animation(0).from_asset("clip.glb"));
    let world = stage.app.world_mut();
    let (graph, node) = AnimationGraph::from_clip(clip);
    let graph = world.resource_mut::<Assets<AnimationGraph>>().add(graph);
    let mut players = world.query_filtered::<Entity, With<AnimationPlayer>>();
    let players: Vec<Entity> = players.iter(world).collect();
    assert!(players.len() >= 2);
    for player in players {
        world.entity_mut(player).insert(AnimationGraphHandle(graph.clone()));
        world.get_mut::<AnimationPlayer>(player).unwrap().play(node);
    }

    let (_, model) = eigenskin_gltf::read_model(&glb(CASE)).unwrap();
    let mut reference = Evaluator::new(model);
    let (mut moved, mut baked_is_off) = (0f32, 0f32);
    let mut before = stage.weights(driven, CASE);
    for frame in 0..60 {
        stage.app.update();
        let rig = reference.model().rig().clone();
        let world_from_joint = rig.skeleton().joints().iter().map(|joint| {
            let global = stage.app.world().get::<GlobalTransform>(stage.named(driven, &joint.name)).unwrap();
            DAffine3::from_cols_array(&global.affine().to_cols_array().map(f64::from))
        });
        let controls = rig.controls().iter().map(|control| {
            let node = stage.named(driven, &format!("control:{}", control.name));
            f64::from(stage.app.world().get::<Transform>(node).unwrap().translation.x)
        });
        let pose = Pose { world_from_joint: world_from_joint.collect(), controls: controls.collect() };
        let wanted = expected_weights(&glb(CASE), reference.drive(&pose));
        let found = stage.weights(driven, CASE);
        assert_close(&found, &wanted, &format!("frame {frame}"));
        let largest = |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
        moved = moved.max(largest(&found, &before));
        baked_is_off = baked_is_off.max(largest(&found, &stage.weights(plain, CASE)));
        before = found;
    }
    // Otherwise this test would hold without the plugin, or with the joints of the frame before.
    assert!(moved > 100.0 * crate::stage::TOLERANCE, "{moved}");
    assert!(baked_is_off > 10.0 * crate::stage::TOLERANCE, "{baked_is_off}");
}

#[test]
fn a_face_without_joints_follows_its_controls() {
    let case = "no-joints";
    let mut stage = Stage::with(case, "face.glb");
    let root = stage.spawn("face.glb");
    let poses = expectations(case).poses;
    let wanted = |pose: usize| expected_weights(&glb(case), &poses[pose].coordinates);
    assert_ne!(wanted(1), wanted(2));

    let controls = |pose: usize| -> EigenSkinControls {
        poses[pose].controls.iter().map(|(name, &value)| (name.clone(), value as f32)).collect()
    };
    stage.app.world_mut().entity_mut(root).insert(controls(1));
    stage.app.update();
    assert_close(&stage.weights(root, case), &wanted(1), "asked for");

    // What is asked for is stronger than what nodes show.
    stage.pose(root, &poses[2], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(root, case), &wanted(1), "asked for, while nodes move");
    for (name, value) in &poses[2].controls {
        let mut asked = stage.app.world_mut().get_mut::<EigenSkinControls>(root).unwrap();
        asked.set(name, *value as f32);
    }
    stage.app.update();
    assert_close(&stage.weights(root, case), &wanted(2), "asked for something else");

    stage.pose(root, &poses[1], DAffine3::IDENTITY);
    stage.app.world_mut().entity_mut(root).remove::<EigenSkinControls>();
    stage.app.update();
    assert_close(&stage.weights(root, case), &wanted(1), "shown by nodes");
    assert_eq!(messages_of("face.glb"), Vec::<String>::new());
}

/// Targets that were in the mesh before the model's belong to the game.
#[test]
fn own_targets_of_the_mesh_are_left_alone() {
    let bytes = edited(&glb(CASE), |json| {
        json.as_object_mut().unwrap().remove("animations");
        let mesh = &mut json["meshes"][0];
        for primitive in mesh["primitives"].as_array_mut().unwrap() {
            let targets = primitive["targets"].as_array_mut().unwrap();
            targets.insert(0, targets[3].clone());
        }
        for list in ["/weights", "/extras/targetNames"] {
            if let Some(Value::Array(list)) = mesh.pointer_mut(list) {
                let first = if list[0].is_string() { json!("smile") } else { json!(0.0) };
                list.insert(0, first);
            }
        }
        edit_table(json, |table| table["ownTargets"] = json!([1]));
    });
    let mut stage = Stage::new();
    stage.put("own.glb", &bytes);
    let root = stage.spawn("own.glb");
    let mesh = stage.named(root, CASE);
    stage.app.world_mut().get_mut::<MorphWeights>(mesh).unwrap().weights_mut()[0] = 0.25;
    stage.pose(root, &expectations(CASE).poses[1], DAffine3::IDENTITY);
    stage.app.update();
    let found = stage.weights(root, CASE);
    assert_eq!(found[0], 0.25);
    assert_close(&found[1..], &wanted(1), "behind a target of the mesh's own");
}

#[test]
fn what_does_not_move_is_not_marked_as_changed() {
    let mut stage = Stage::with(CASE, "still.glb");
    let root = stage.spawn("still.glb");
    let mesh = stage.named(root, CASE);
    let changed =
        |stage: &Stage| stage.app.world().entity(mesh).get_change_ticks::<MorphWeights>().unwrap().changed;
    stage.pose(root, &expectations(CASE).poses[1], DAffine3::IDENTITY);
    stage.app.update();
    let moved = changed(&stage);
    stage.app.update();
    assert_eq!(changed(&stage), moved);
    stage.pose(root, &expectations(CASE).poses[2], DAffine3::IDENTITY);
    stage.app.update();
    assert_ne!(changed(&stage), moved);
}

/// Levels of detail and reloaded files: the scene below a character is another one.
#[test]
fn a_scene_that_is_spawned_anew_is_found() {
    let mut stage = Stage::with(CASE, "anew.glb");
    let root = stage.spawn("anew.glb");
    let old = stage.app.world().get::<Children>(root).unwrap()[0];
    let other = stage.spawn_plain("anew.glb");
    let scene = stage.app.world().get::<Children>(other).unwrap()[0];
    stage.app.world_mut().entity_mut(old).despawn();
    stage.app.world_mut().entity_mut(root).add_child(scene);
    stage.pose(root, &expectations(CASE).poses[2], DAffine3::IDENTITY);
    stage.until(|world| world.get::<EigenSkinDrive>(root).unwrap().is_bound());
    stage.app.update();
    stage.app.update();
    assert_close(&stage.weights(root, CASE), &wanted(2), "the new scene");
    assert_eq!(messages_of("anew.glb"), Vec::<String>::new());
}

#[test]
fn another_model_takes_over() {
    let mut stage = Stage::with(CASE, "first.glb");
    // The same character, with twice the scales: half the weights.
    let bytes = edited(&glb(CASE), |json| {
        edit_table(json, |table| {
            let layers = table["model"]["layers"].as_array_mut().unwrap().iter_mut();
            for component in layers.flat_map(|layer| layer["components"].as_array_mut().unwrap().iter_mut()) {
                for half in ["plus", "minus"] {
                    if let Some(scale) = component[half]["scale"].as_f64() {
                        component[half]["scale"] = json!(2.0 * scale);
                    }
                }
            }
        });
    });
    stage.put("second.glb", &bytes);
    let root = stage.spawn("first.glb");
    stage.pose(root, &expectations(CASE).poses[1], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(root, CASE), &wanted(1), "the first model");

    let model = stage.server().load("second.glb");
    stage.app.world_mut().get_mut::<EigenSkin>(root).unwrap().model = model;
    stage.app.update();
    stage.until(|world| world.get::<EigenSkinDrive>(root).unwrap().is_bound());
    stage.app.update();
    let half: Vec<f32> = wanted(1).iter().map(|weight| 0.5 * weight).collect();
    assert_close(&stage.weights(root, CASE), &half, "the second model");
}

#[test]
fn without_the_component_weights_stay() {
    let mut stage = Stage::with(CASE, "removed.glb");
    let root = stage.spawn("removed.glb");
    let poses = expectations(CASE).poses;
    stage.pose(root, &poses[1], DAffine3::IDENTITY);
    stage.app.update();
    stage.app.world_mut().entity_mut(root).remove::<EigenSkin>();
    stage.pose(root, &poses[2], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(root, CASE), &wanted(1), "no longer driven");
    assert!(!stage.app.world().get::<EigenSkinDrive>(root).unwrap().is_bound());
}
