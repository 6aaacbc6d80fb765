//! Skin weights from examples and levels of detail, as a user types them.

use std::path::Path;

use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, arm};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::Document;
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::io::{read_model, read_rig, write_examples, write_rig};
use serde_json::Value;

use crate::support::bundle::bar_bundle;
use crate::support::{eigenskin, json_of, two_meshes};

/// Writes the rig of an arm and its true shapes in poses of one joint.
fn write_arm(character: &Character, rig: &str, examples: &str) {
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    write_rig(rig, &file).unwrap();
    let set = SweptSkin::new(character).examples(character.single_joint_poses(4)).unwrap();
    write_examples(examples, &file, &set).unwrap();
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value}"))
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = eigenskin(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && words.iter().all(|word| said.contains(word)), "{said}");
}

#[test]
fn weights_are_solved_written_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (rig, examples, better, model) = (path("a.glb"), path("ex.glb"), path("b.glb"), path("m.glb"));
    let (picture, report) = (path("weights.png"), path("report.html"));
    write_arm(&arm(800).unwrap(), &rig, &examples);
    let solve = ["weights", &rig, "--examples", &examples, "-o", &better];
    let said = json_of(&[&solve[..], &["--picture", &picture, "--report", &report]].concat());
    let (before, after) = (number(&said, "/before/rmse"), number(&said, "/after/rmse"));
    assert!(after < 0.95 * before && number(&said, "/influences") <= 4.0, "{said}");
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    assert!(std::fs::read_to_string(&report).unwrap().contains("new skin weights"));
    // The rig as written skins as was said.
    let again = json_of(&["weights", &better, "--examples", &examples, "-o", &path("c.glb")]);
    assert!((number(&again, "/before/rmse") - after).abs() < 1e-6 * after, "{again}");

    let fit = ["fit", &rig, "--examples", &examples, "-o", &model];
    let plain = json_of(&fit);
    assert_eq!(plain.get("weights"), None);
    let solved = json_of(&[&fit[..], &["--solve-weights", "--report", &report]].concat());
    assert_eq!(number(&solved, "/weights/after/rmse"), after);
    assert!(std::fs::read_to_string(&report).unwrap().contains("new skin weights"));
    // Skinning stays that of the rig as it was given, also when the model is read again.
    let measured = json_of(&["evaluate", &model, "--truth", &examples]);
    for figures in [&measured, &solved["training"]] {
        assert!((number(figures, "/skinning/rmse") - before).abs() < 1e-6 * before, "{figures}");
    }
    assert!(number(&measured, "/model/rmse") < after);
    let (file, model) = read_model(&model).unwrap();
    let given = read_rig(&rig, &ReadOptions::default()).unwrap();
    assert_eq!(model.input_rig().weights(), given.rig().weights());
    assert_ne!(model.rig().weights(), given.rig().weights());
    assert_eq!(file.rig().weights(), given.rig().weights());

    refused(&[&fit[..], &["--smooth", "3"]].concat(), &["--solve-weights"]);
    refused(&[&fit[..], &["--solve-weights", "--base", "dual-quaternion"]].concat(), &["linear blending"]);
    refused(&[&solve[..], &["--influences", "0"]].concat(), &["1 to 12"]);
}

/// Several meshes and primitives, textures, a camera: all but the weights stays.
#[test]
fn all_else_in_a_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (rig, better) = (at("two.glb"), at("better.glb"));
    two_meshes::write(&rig);
    let file = read_rig(&rig, &ReadOptions::default()).unwrap();
    // Shapes of another truth: the bar's bends, with a third of each vertex's weight on one joint.
    let clip = file.clip_named("bends").unwrap();
    let lists = (0..file.rig().vertex_count()).map(|vertex| {
        let mut list: Vec<_> = file.rig().weights().of(vertex).to_vec();
        list.push(eigenskin::weights::Influence { joint: 1, weight: 0.5 });
        list
    });
    let joints = file.rig().skeleton().joint_count();
    let truth = eigenskin::weights::SkinWeights::new(joints, lists).unwrap().0;
    let list = (0..4).map(|key| {
        let pose = file.sample(clip, f64::from(key));
        let carried: Vec<_> = pose.posed_from_rest(file.rig().skeleton()).collect();
        let place = |vertex: usize| {
            let rest = file.rig().mesh().positions()[vertex].as_dvec3();
            let parts = truth.of(vertex).iter();
            let sum: eigenskin::glam::DVec3 =
                parts.map(|i| f64::from(i.weight) * carried[i.joint as usize].transform_point3(rest)).sum();
            sum.as_vec3()
        };
        let positions = (0..file.rig().vertex_count()).map(place).collect();
        Example { name: format!("bend {key}"), pose, positions, normals: None, inverted: None }
    });
    let set = ExampleSet::new(file.rig().clone(), list.collect()).unwrap();
    write_examples(at("ex.glb"), &file, &set).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_string();
    let said = json_of(&["weights", &text(&rig), "--examples", &text(&at("ex.glb")), "-o", &text(&better)]);
    assert!(number(&said, "/after/rmse") < 1e-3 * number(&said, "/before/rmse"), "{said}");
    let read = read_rig(&better, &ReadOptions::default()).unwrap();
    assert_eq!(read.rig().mesh(), file.rig().mesh());
    let [old, new] =
        [&rig, &better].map(|path| Document::from_bytes(&std::fs::read(path).unwrap(), None).unwrap());
    for key in ["materials", "textures", "images", "cameras", "extensions", "animations", "skins"] {
        assert_eq!(old.json.get(key), new.json.get(key), "{key}");
    }
    for mesh in 0..2 {
        for primitive in 0..2 {
            let of = |document: &Document| document.json["meshes"][mesh]["primitives"][primitive].clone();
            let (old, new) = (of(&old), of(&new));
            for name in ["POSITION", "NORMAL", "TEXCOORD_0"] {
                assert_eq!(old["attributes"][name], new["attributes"][name]);
            }
            assert_ne!(old["attributes"]["WEIGHTS_0"], new["attributes"]["WEIGHTS_0"]);
            assert_eq!((&old["material"], &old["indices"]), (&new["material"], &new["indices"]));
        }
    }
}

#[test]
fn models_are_carried_to_coarser_meshes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (fine, fine_examples) = (path("fine.glb"), path("fine-ex.glb"));
    let (coarse, coarse_examples) = (path("coarse.glb"), path("coarse-ex.glb"));
    write_arm(&arm(3_000).unwrap(), &fine, &fine_examples);
    write_arm(&arm(800).unwrap(), &coarse, &coarse_examples);
    let (model, carried) = (path("model.glb"), path("carried.glb"));
    let _ = json_of(&["fit", &fine, "--examples", &fine_examples, "-o", &model]);
    let carry = ["transfer", &model, "--to", &coarse, "-o", &carried];
    let own = json_of(&[&carry[..], &["--truth", &coarse_examples, "--per-vertex", "3"]].concat());
    assert!(number(&own, "/most_per_vertex") <= 3.0, "{own}");
    assert!(number(&own, "/evaluation/relative_error") < 0.5, "{own}");
    // Truth of the fine mesh says much the same.
    let other = json_of(&[&carry[..], &["--truth", &fine_examples, "--per-vertex", "3"]].concat());
    let ratio = number(&other, "/evaluation/model/rmse") / number(&own, "/evaluation/model/rmse");
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    // The file is a model like others.
    let measured = json_of(&["evaluate", &carried, "--truth", &coarse_examples]);
    assert_eq!(measured["skinning"], own["evaluation"]["skinning"]);
    assert!((number(&measured, "/model/rmse") - number(&own, "/evaluation/model/rmse")).abs() < 1e-9);

    let bar = path("bar.npz");
    bar_bundle().write(bar.as_ref());
    refused(&["transfer", &model, "--to", &bar, "-o", &path("no.glb")], &["bar.npz", "no joint"]);
    refused(&[&carry[..], &["--averaging", "2"]].concat(), &["0 to 1"]);
    assert!(!Path::new(&path("no.glb")).exists());
}
