//! What is written is read back: rigs, example sets and models.

use std::sync::Arc;

use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::rig::Rig;
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_gltf::ChannelPath;
use eigenskin_gltf::conformance::cases::{self, Case};
use eigenskin_gltf::internals::append::{self, Usage};
use eigenskin_gltf::internals::{edit_table, table_of};
use eigenskin_gltf::{
    FileKind, ModelWriteOptions, Profile, ReadOptions, RigFile, examples_glb, examples_of as read_examples,
    model_glb, model_of, rig_glb, rig_of,
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::cases::{assert_same_set, document, examples_of, file_of};
use crate::support::compare::furthest;
use crate::support::keep::keep;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn models_come_back_bit_for_bit(seed in 0u64..100_000) {
        let case = cases::random_case(seed).unwrap();
        let file = file_of(&case);
        let (glb, report) = model_glb(&file, &case.model, &ModelWriteOptions::default()).unwrap();
        prop_assert_eq!(report.bytes, glb.len());
        keep(&format!("random-{seed}-model.glb"), &glb);
        let (read, model) = model_of(document(&glb)).unwrap();
        prop_assert_eq!(&model, &*case.model);
        prop_assert_eq!(read.kind, FileKind::Model);
        // The rig file is the rig alone again: nothing of ours is left in it.
        prop_assert_eq!(read.document(), file.document());
        // Written over itself a model does not grow.
        let (again, _) = model_glb(&read, &model, &ModelWriteOptions::default()).unwrap();
        prop_assert_eq!(again, glb);
    }

    #[test]
    fn example_sets_come_back(seed in 0u64..100_000) {
        let case = cases::random_case(seed).unwrap();
        let set = examples_of(&case, seed);
        let file = file_of(&case);
        let glb = examples_glb(&file, &set).unwrap();
        keep(&format!("random-{seed}-examples.glb"), &glb);
        let (read, back) = read_examples(document(&glb), &ReadOptions::default()).unwrap();
        assert_same_set(&back, &set);
        prop_assert_eq!(read.document(), file.document());
        prop_assert_eq!(read.clips().len(), 1);
        // Written again what was read does not drift.
        let (_, third) = read_examples(document(&examples_glb(&read, &back).unwrap()), &ReadOptions::default()).unwrap();
        for (a, b) in back.examples().iter().zip(third.examples()) {
            prop_assert!(furthest(&a.positions, &b.positions) < 3e-7 * set.rig().mesh().size());
        }
        // An example set is also a rig, and no model.
        let rig = rig_of(document(&glb), &ReadOptions::default()).unwrap();
        prop_assert_eq!(rig.rig(), set.rig());
        prop_assert_eq!(rig.kind, FileKind::Examples);
        prop_assert!(model_of(document(&glb)).is_err());
    }

    #[test]
    fn rigs_come_back(seed in 0u64..100_000) {
        let case = cases::random_case(seed).unwrap();
        let file = file_of(&case);
        let read = rig_of(document(&rig_glb(&file).unwrap()), &ReadOptions::default()).unwrap();
        prop_assert_eq!(read.rig(), case.model.rig());
        let clip = read.clip_named("clip").unwrap();
        for (index, pose) in case.poses.iter().enumerate() {
            let sampled = read.sample(clip, 0.25 * index as f64);
            for (a, b) in sampled.world_from_joint.iter().zip(&pose.world_from_joint) {
                prop_assert!(a.abs_diff_eq(*b, 2e-6), "{:?} {:?}", a, b);
            }
        }
    }
}

#[test]
fn examples_replace_a_model_and_a_model_replaces_examples() {
    let case = cases::random_case(12).unwrap();
    let set = examples_of(&case, 3);
    let file = file_of(&case);
    let (model, _) = model_glb(&file, &case.model, &ModelWriteOptions::default()).unwrap();
    let (from_model, _) = model_of(document(&model)).unwrap();
    let examples = examples_glb(&from_model, &set).unwrap();
    let (from_examples, back) = read_examples(document(&examples), &ReadOptions::default()).unwrap();
    assert_same_set(&back, &set);
    let (again, _) = model_glb(&from_examples, &case.model, &ModelWriteOptions::default()).unwrap();
    assert_eq!(again, model);
}

/// A file with two own morph targets, a clip that drives them, unknown JSON and a node hierarchy
/// that is not the skeleton's.
fn file_with_targets(case: &Case) -> RigFile {
    let mut document = file_of(case).document().clone();
    let count = case.model.rig().vertex_count();
    let mut moved = vec![Vec3::ZERO; count];
    moved[1] = Vec3::X;
    let target = append::vec3(&mut document, "own target", &moved, Usage::Vertices, true).unwrap();
    let times = append::scalars(&mut document, "own times", &[0.0, 0.4, 2.0], true).unwrap();
    let values = [0.0f32, 1.0, 0.5, 0.25, 1.0, 0.0];
    let values = append::scalars(&mut document, "own weights", &values, false).unwrap();
    let json = &mut document.json;
    json["meshes"][0]["primitives"][0]["targets"] = json!([{"POSITION": target}, {"POSITION": target}]);
    json["meshes"][0]["weights"] = json!([0.25, 0.75]);
    json["meshes"][0]["extras"] = json!({"targetNames": ["smile", "frown"], "mine": true});
    json["extensionsUsed"] = json!(["VENDOR_thing"]);
    json["extensions"] = json!({"VENDOR_thing": {"a": [1, {"b": 0.1}]}});
    json["scenes"][0]["extras"] = json!({"kept": "yes"});
    let mesh_node = json["nodes"].as_array().unwrap().iter().position(|n| n.get("mesh").is_some()).unwrap();
    let animation = &mut json["animations"][0];
    let sampler = animation["samplers"].as_array().unwrap().len();
    animation["samplers"].as_array_mut().unwrap().push(json!({"input": times, "output": values}));
    let channel = json!({"sampler": sampler, "target": {"node": mesh_node, "path": "weights"}});
    animation["channels"].as_array_mut().unwrap().push(channel);
    rig_of(document, &ReadOptions::default()).unwrap()
}

#[test]
fn own_targets_and_unknown_json_survive() {
    let case = cases::all().unwrap().remove(0);
    let file = file_with_targets(&case);
    // The nodes' control defaults are f32; the model's rig must be the file's.
    let model =
        Model::new(file.rig().clone(), case.model.base().clone(), case.model.layers().to_vec()).unwrap();
    let (glb, report) = model_glb(&file, &model, &ModelWriteOptions::default()).unwrap();
    keep("own-targets-model.glb", &glb);
    let written = document(&glb);
    let mesh = &written.json["meshes"][0];
    assert_eq!(mesh["primitives"][0]["targets"].as_array().unwrap().len(), report.targets + 2);
    assert_eq!(mesh["extras"]["targetNames"][1], "frown");
    assert_eq!(mesh["extras"]["mine"], true);
    assert_eq!(mesh["weights"].as_array().unwrap()[..2], [json!(0.25), json!(0.75)]);
    assert_eq!(written.json["extensions"], file.document().json["extensions"]);
    assert_eq!(written.json["scenes"][0]["extras"]["kept"], "yes");

    // The own weights are still there, at their own keys and in between.
    let with_ours = eigenskin_gltf::Clip::read_all(&written).unwrap();
    let weights = with_ours[0].channels.iter().find(|c| c.path == ChannelPath::Weights).unwrap();
    assert_eq!(weights.width(), report.targets + 2);
    assert!((weights.sample(0.2)[0] - 0.25).abs() < 1e-6 && (weights.sample(0.4)[1] - 0.25).abs() < 1e-6);

    let (read, back) = model_of(written).unwrap();
    assert_eq!(back, model);
    let weights = read.clips()[0].channels.iter().find(|c| c.path == ChannelPath::Weights).unwrap();
    assert_eq!(weights.width(), 2);
    assert!((weights.sample(0.2)[0] - 0.25).abs() < 1e-6);
    assert_eq!(read.document().json["meshes"][0]["extras"], file.document().json["meshes"][0]["extras"]);

    let set = examples_of(&Case { model: Arc::new(model), ..case }, 5);
    let glb = examples_glb(&file, &set).unwrap();
    keep("own-targets-examples.glb", &glb);
    let (read, back) = read_examples(document(&glb), &ReadOptions::default()).unwrap();
    assert_same_set(&back, &set);
    let weights = read.clips()[0].channels.iter().find(|c| c.path == ChannelPath::Weights).unwrap();
    assert_eq!((weights.width(), weights.times.len()), (2, 3));
}

/// A half turn about the bone collapses what two joints share equally: such vertices are kept posed.
#[test]
fn singular_vertices_keep_their_posed_positions() {
    let case = cases::all().unwrap().remove(0);
    let old = case.model.rig();
    let halves = vec![Influence { joint: 0, weight: 0.5 }, Influence { joint: 1, weight: 0.5 }];
    let (weights, _) =
        SkinWeights::new(old.skeleton().joint_count(), vec![halves; old.vertex_count()]).unwrap();
    let (mesh, skeleton) = (old.mesh().clone(), old.skeleton().clone());
    let rig = Arc::new(Rig::new(mesh, skeleton, weights, old.controls().to_vec()).unwrap());
    let mut twisted = rig.rest_pose();
    for world in &mut twisted.world_from_joint[1..] {
        *world = DAffine3::from_quat(DQuat::from_rotation_x(std::f64::consts::PI)) * *world;
    }
    let model = Arc::new(Model::without_corrections(rig.clone(), case.model.base().clone()));
    let set = examples_of(&Case { model, poses: vec![twisted], ..case }, 9);
    let glb = examples_glb(&RigFile::from_rig(rig, "twist").unwrap(), &set).unwrap();
    keep("singular-examples.glb", &glb);
    let written = document(&glb);
    let entry = &table_of(&written.json)["examples"]["list"][0];
    assert!(entry.get("posed").is_some(), "{entry}");
    let (_, back) = read_examples(written, &ReadOptions::default()).unwrap();
    assert_same_set(&back, &set);
}

#[test]
fn a_sheared_joint_is_an_error_that_names_it() {
    let case = cases::all().unwrap().remove(0);
    let mut poses = case.poses.clone();
    let shear = DMat3::from_cols(DVec3::X, DVec3::new(0.2, 1.0, 0.0), DVec3::Z);
    poses[2].world_from_joint[3] *= DAffine3::from_mat3(shear);
    let sheared = Case { poses, ..case.clone() };
    let error =
        examples_glb(&RigFile::from_rig(case.model.rig().clone(), "x").unwrap(), &examples_of(&sheared, 1));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("example 2") && error.contains("joint-3"), "{error}");
}

#[test]
fn another_rig_is_refused() {
    let (a, b) = (cases::random_case(1).unwrap(), cases::random_case(2).unwrap());
    assert_ne!(a.model.rig(), b.model.rig());
    let file = RigFile::from_rig(a.model.rig().clone(), "a").unwrap();
    assert!(model_glb(&file, &b.model, &ModelWriteOptions::default()).is_err());
    assert!(examples_glb(&file, &examples_of(&b, 1)).is_err());
}

#[test]
fn unknown_versions_and_kinds_are_named() {
    let case = cases::random_case(5).unwrap();
    let (glb, _) = model_glb(&file_of(&case), &case.model, &ModelWriteOptions::default()).unwrap();
    let mut newer = document(&glb);
    edit_table(&mut newer.json, |table| table["version"] = 7.into());
    let error = rig_of(newer, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains('7') && error.contains("update eigenskin"), "{error}");
    // It stands once in the file. Some exporters fail at nodes with lists or objects in their extras.
    let mut moved = document(&glb);
    assert!(moved.json["scenes"][0].get("extras").is_none());
    let nodes = moved.json["nodes"].as_array_mut().unwrap();
    let holders: Vec<usize> =
        (0..nodes.len()).filter(|&node| nodes[node]["extras"].get("eigenskin").is_some()).collect();
    assert_eq!(holders.len(), 1);
    let table = nodes[holders[0]].as_object_mut().unwrap().remove("extras").unwrap()["eigenskin"].take();
    // Version 1 had it in the scene too, as an object.
    let mut table: serde_json::Value = serde_json::from_str(table.as_str().unwrap()).unwrap();
    assert_eq!(table["version"].take(), 3);
    table["version"] = 1.into();
    moved.json["scenes"][0]["extras"] = json!({"eigenskin": table});
    assert_eq!(model_of(moved).unwrap().1, *case.model);
}

/// Joints given by a matrix can be posed: they become translation, rotation and scale.
#[test]
fn joints_given_by_a_matrix_can_be_animated() {
    let case = cases::all().unwrap().remove(0);
    let mut changed = RigFile::from_rig(case.model.rig().clone(), "x").unwrap().document().clone();
    let rest = case.model.rig().skeleton().parent_from_joint(case.model.rig().skeleton().rest_from_joint());
    let mut columns = eigenskin_core::glam::DMat4::from(rest[1]).to_cols_array();
    for v in &mut columns {
        *v = f64::from(*v as f32);
    }
    let name = changed.json["nodes"][1]["name"].clone();
    let children = changed.json["nodes"][1]["children"].clone();
    changed.json["nodes"][1] = json!({"name": name, "children": children, "matrix": columns});
    let file = rig_of(changed, &ReadOptions::default()).unwrap();
    // Control defaults of the nodes are f32, so the set is of the file's rig.
    let model = Arc::new(Model::without_corrections(file.rig().clone(), case.model.base().clone()));
    let set = examples_of(&Case { model, ..case }, 2);
    let glb = examples_glb(&file, &set).unwrap();
    keep("matrix-examples.glb", &glb);
    let written = document(&glb);
    assert!(written.json["nodes"][1].get("matrix").is_none());
    assert_same_set(&read_examples(written, &ReadOptions::default()).unwrap().1, &set);
}

/// Displacements in targets move along when a program renumbers vertices; lists of vertices beside them do not,
/// and are not believed then.
#[test]
fn renumbered_vertices_are_noticed() {
    let renumbered = |name: &str| {
        let case = cases::all().unwrap().into_iter().find(|case| case.name == name).unwrap();
        let mut file = document(&eigenskin_gltf::conformance::glb(&case).unwrap());
        let accessor = file.json["meshes"][0]["primitives"][0]["indices"].as_u64().unwrap() as usize;
        let view = file.json["accessors"][accessor]["bufferView"].as_u64().unwrap() as usize;
        let start = file.json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize;
        // Vertices 0 and 1 change places in the first triangle: enough to tell.
        file.binary.swap(start, start + 2);
        model_of(file)
    };
    let error = renumbered("after-skinning").unwrap_err().to_string();
    assert!(error.contains("renumbered") && error.contains("as eigenskin wrote it"), "{error}");
    assert!(renumbered("kernels").is_ok());
}

/// Some exporters write a skin for each mesh. Those of one skeleton are one character, unless one is asked for.
#[test]
fn skins_of_one_skeleton_are_one_character() {
    let case = cases::all().unwrap().remove(0);
    let mut changed = RigFile::from_rig(case.model.rig().clone(), "body").unwrap().document().clone();
    for key in ["skins", "meshes"] {
        let copy = changed.json[key][0].clone();
        changed.array_mut(key).unwrap().push(copy);
        changed.json[key][1]["name"] = "head".into();
    }
    let node = changed.json["nodes"].as_array().unwrap().len();
    changed.array_mut("nodes").unwrap().push(json!({"name": "head", "mesh": 1, "skin": 1}));
    changed.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(node.into());
    // Its own vertices: elsewhere, so that they are not shared.
    let moved: Vec<Vec3> = case.model.rig().mesh().positions().iter().map(|p| *p + Vec3::Y).collect();
    let accessor = append::vec3(&mut changed, "head", &moved, Usage::Vertices, true).unwrap();
    changed.json["meshes"][1]["primitives"][0]["attributes"]["POSITION"] = accessor.into();

    let count = case.model.rig().vertex_count();
    let both = rig_of(changed.clone(), &ReadOptions::default()).unwrap();
    assert_eq!((both.rig().vertex_count(), both.layout().skins.len()), (2 * count, 2));
    let only = ReadOptions { skin: Some("head".into()), ..ReadOptions::default() };
    let head = rig_of(changed.clone(), &only).unwrap();
    assert_eq!((head.rig().vertex_count(), head.layout().skins.clone()), (count, vec![1]));
    assert_eq!(head.rig().mesh().positions(), moved);

    // A model of both comes back as a model of both, a model of one as a model of one: the table remembers.
    for (file, vertices) in [(&both, 2 * count), (&head, count)] {
        let model = Model::without_corrections(file.rig().clone(), case.model.base().clone());
        for profile in [Profile::Plain, Profile::Web] {
            let options = ModelWriteOptions { profile, ..ModelWriteOptions::default() };
            let (read, _) = model_of(document(&model_glb(file, &model, &options).unwrap().0)).unwrap();
            assert_eq!(read.rig().vertex_count(), vertices);
            let off = furthest(read.rig().mesh().positions(), file.rig().mesh().positions());
            assert!(off < 2e-4 * file.rig().mesh().size(), "{off}");
        }
    }
    // Other bind matrices are another character.
    changed.json["skins"][1].as_object_mut().unwrap().remove("inverseBindMatrices");
    let error = rig_of(changed, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("several skins"), "{error}");
}
