//! Files and scenes that are not as they should be: one warning each, and a game that goes on.

use bevy::asset::LoadState;
use bevy::mesh::morph::{MeshMorphWeights, MorphWeights};
use bevy::mesh::skinning::SkinnedMesh;
use bevy::prelude::*;
use eigenskin_bevy::{EigenSkin, EigenSkinControls, EigenSkinDrive};
use eigenskin_core::glam::DAffine3;
use eigenskin_gltf::internals::edit_table;
use serde_json::Value;

use crate::stage::{Stage, assert_close, edited, expectations, expected_weights, glb, messages_of};

const CASE: &str = "products";

fn wanted(pose: usize) -> Vec<f32> {
    expected_weights(&glb(CASE), &expectations(CASE).poses[pose].coordinates)
}

/// Adds the component to a scene that is there already.
fn drive(stage: &mut Stage, root: Entity, file: &str) {
    let model = stage.server().load(file.to_string());
    stage.app.world_mut().entity_mut(root).insert(EigenSkin { model: model.clone() });
    let server = stage.server();
    stage.until(|_| server.is_loaded(&model));
    stage.app.update();
    stage.app.update();
}

#[test]
fn a_file_without_extras_is_shown_plain() {
    let bytes = edited(&glb(CASE), |json| {
        for place in ["scenes", "nodes"] {
            for entry in json[place].as_array_mut().unwrap() {
                entry.as_object_mut().unwrap().remove("extras");
            }
        }
    });
    let mut stage = Stage::new();
    stage.put("stripped.glb", &bytes);
    let root = stage.spawn_plain("stripped.glb");
    let rest = stage.weights(root, CASE);
    let model: Handle<_> = stage.server().load("stripped.glb");
    stage.app.world_mut().entity_mut(root).insert(EigenSkin { model: model.clone() });
    let server = stage.server();
    stage.until(|_| matches!(server.load_state(&model), LoadState::Failed(_)));
    for _ in 0..10 {
        stage.pose(root, &expectations(CASE).poses[1], DAffine3::IDENTITY);
        stage.app.update();
    }
    let messages = messages_of("stripped.glb");
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("a plain rig") && messages[0].contains("eigenskin fit"), "{messages:?}");
    assert_eq!(stage.weights(root, CASE), rest);
    let world = stage.app.world_mut();
    assert!(world.query::<&SkinnedMesh>().iter(world).count() > 0);
}

#[test]
fn damaged_files_are_errors() {
    let whole = glb(CASE);
    for (index, bytes) in [&whole[..whole.len() / 2], b"glTF", b""].into_iter().enumerate() {
        assert!(eigenskin_bevy::EigenSkinModel::from_bytes(bytes, "damaged.glb").is_err(), "{index}");
    }
    let far = edited(&whole, |json| {
        edit_table(json, |table| {
            table["model"]["targets"] = Value::from(u64::MAX);
            table["model"]["layers"][0]["components"][0]["plus"]["target"] = Value::from(u64::MAX - 1);
        });
    });
    assert!(eigenskin_bevy::EigenSkinModel::from_bytes(&far, "damaged.glb").is_err());
}

#[test]
fn a_joint_that_is_gone_stops_the_weights() {
    let mut stage = Stage::with(CASE, "joint.glb");
    let root = stage.spawn("joint.glb");
    let poses = expectations(CASE).poses;
    stage.pose(root, &poses[1], DAffine3::IDENTITY);
    stage.app.update();
    let joint = stage.named(root, "joint-3");
    stage.pose(root, &poses[2], DAffine3::IDENTITY);
    stage.app.world_mut().entity_mut(joint).despawn();
    for _ in 0..5 {
        stage.app.update();
    }
    assert_close(&stage.weights(root, CASE), &wanted(1), "as before");
    let messages = messages_of("joint.glb");
    assert!(messages.len() == 1 && messages[0].contains("joint-3"), "{messages:?}");
}

#[test]
fn a_joint_that_is_flat_is_waited_for() {
    let mut stage = Stage::with(CASE, "hidden.glb");
    let root = stage.spawn("hidden.glb");
    let poses = expectations(CASE).poses;
    stage.pose(root, &poses[1], DAffine3::IDENTITY);
    stage.app.update();
    let joint = stage.named(root, "joint-2");
    for scale in [Vec3::ZERO, Vec3::NAN, Vec3::new(1.0, 0.0, 1.0)] {
        stage.app.world_mut().get_mut::<Transform>(joint).unwrap().scale = scale;
        stage.app.update();
        assert_close(&stage.weights(root, CASE), &wanted(1), "as before");
    }
    stage.pose(root, &poses[2], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(root, CASE), &wanted(2), "visible again");
    let messages = messages_of("hidden.glb");
    assert!(messages.len() == 1 && messages[0].contains("joint-2"), "{messages:?}");
}

#[test]
fn fewer_targets_than_the_model_has() {
    let mut stage = Stage::with(CASE, "fewer.glb");
    let root = stage.spawn_plain("fewer.glb");
    let mesh = stage.named(root, CASE);
    stage.app.world_mut().entity_mut(mesh).insert(MorphWeights::new(vec![0.0; 3], None).unwrap());
    drive(&mut stage, root, "fewer.glb");
    stage.pose(root, &expectations(CASE).poses[1], DAffine3::IDENTITY);
    stage.app.update();
    assert_close(&stage.weights(root, CASE), &wanted(1)[..3], "those that are there");
    let messages = messages_of("fewer.glb");
    assert!(messages.len() == 1 && messages[0].contains("3 of 16 morph targets"), "{messages:?}");
}

#[test]
fn a_mesh_without_targets_or_skin() {
    let mut stage = Stage::with(CASE, "bare.glb");
    let root = stage.spawn_plain("bare.glb");
    let mesh = stage.named(root, CASE);
    let primitive = stage.app.world().get::<Children>(mesh).unwrap()[0];
    stage.app.world_mut().entity_mut(mesh).remove::<MorphWeights>();
    stage.app.world_mut().entity_mut(primitive).remove::<MeshMorphWeights>();
    drive(&mut stage, root, "bare.glb");
    let messages = messages_of("bare.glb");
    assert!(messages.len() == 1 && messages[0].contains("no morph targets"), "{messages:?}");

    let mut stage = Stage::with(CASE, "boneless.glb");
    let root = stage.spawn_plain("boneless.glb");
    let mesh = stage.named(root, CASE);
    let primitive = stage.app.world().get::<Children>(mesh).unwrap()[0];
    stage.app.world_mut().entity_mut(primitive).remove::<SkinnedMesh>();
    drive(&mut stage, root, "boneless.glb");
    let messages = messages_of("boneless.glb");
    assert!(messages.len() == 1 && messages[0].contains("4 joints"), "{messages:?}");
    assert!(!stage.app.world().get::<EigenSkinDrive>(root).unwrap().is_bound());
}

/// A hierarchy that a game made itself: no names, weights in the mesh entity.
#[test]
fn weights_of_a_single_mesh_and_joints_by_order() {
    let mut stage = Stage::with(CASE, "nameless.glb");
    let root = stage.spawn_plain("nameless.glb");
    let mesh = stage.named(root, CASE);
    let primitive = stage.app.world().get::<Children>(mesh).unwrap()[0];
    let joints = stage.app.world().get::<SkinnedMesh>(primitive).unwrap().joints.clone();
    stage.pose(root, &expectations(CASE).poses[2], DAffine3::IDENTITY);
    stage.app.world_mut().entity_mut(mesh).remove::<MorphWeights>().remove::<Name>();
    stage.app.world_mut().entity_mut(primitive).remove::<Name>();
    stage.app.world_mut().entity_mut(primitive).insert(MeshMorphWeights::Value { weights: vec![0.0; 16] });
    for joint in joints {
        stage.app.world_mut().entity_mut(joint).remove::<Name>();
    }
    drive(&mut stage, root, "nameless.glb");
    let MeshMorphWeights::Value { weights } = stage.app.world().get(primitive).unwrap() else { panic!() };
    assert_close(weights, &wanted(2), "in the mesh entity");
    assert_eq!(messages_of("nameless.glb"), Vec::<String>::new());
}

#[test]
fn a_component_in_the_wrong_place_says_so_once() {
    let mut stage = Stage::with(CASE, "lost.glb");
    let root = stage.app.world_mut().spawn(Transform::default()).id();
    drive(&mut stage, root, "lost.glb");
    assert_eq!(messages_of("lost.glb"), Vec::<String>::new());
    for _ in 0..700 {
        stage.app.update();
    }
    let messages = messages_of("lost.glb");
    assert!(messages.len() == 1 && messages[0].contains("put EigenSkin on"), "{messages:?}");
}

#[test]
fn controls_that_do_not_exist_or_are_no_numbers() {
    let case = "no-joints";
    let mut stage = Stage::with(case, "grin.glb");
    let root = stage.spawn("grin.glb");
    let rest = stage.weights(root, case);
    let controls: EigenSkinControls = [("grin", 1.0), ("control-0", f32::NAN)].into_iter().collect();
    stage.app.world_mut().entity_mut(root).insert(controls);
    for _ in 0..3 {
        stage.app.world_mut().get_mut::<EigenSkinControls>(root).unwrap().set("grin", 0.5);
        stage.app.update();
    }
    assert_eq!(stage.weights(root, case), rest);
    let messages = messages_of("grin.glb");
    assert!(messages.len() == 1 && messages[0].contains("control-0"), "{messages:?}");
}

#[test]
fn what_bevy_cannot_show_is_said_when_the_file_is_loaded() {
    for (case, file, words) in [
        ("after-skinning", "after.glb", "no morph target plays them"),
        ("dual-quaternion", "dual.glb", "another skinning"),
        ("many-influences", "many.glb", "Bevy takes the first 4"),
    ] {
        let mut stage = Stage::with(case, file);
        stage.spawn(file);
        let messages = messages_of(file);
        assert!(messages.len() == 1 && messages[0].contains(words), "{messages:?}");
    }
}
