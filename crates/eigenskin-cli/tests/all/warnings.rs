//! Warnings that the command itself words: where they are true, and where they must not appear. Those of models and
//! of jobs are tested with the library.

use std::sync::Arc;

use eigenskin::articulation::NamedPose;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::two_arms::two_arms;
use eigenskin::characters::{arm, mouth_expressions};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::{DAffine3, DVec3, Vec3};
use eigenskin::gltf::internals::edit_table;
use eigenskin::gltf::{Document, RigFile};
use eigenskin::io::pose_file::write_poses;
use eigenskin::io::{write_examples, write_rig};
use eigenskin::mesh::Mesh;
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};
use eigenskin::skinning::{BaseSkinning, skinned_shape};
use eigenskin::weights::{Influence, SkinWeights};

use crate::support::eigenskin;

/// The lines on standard error of a command that succeeds.
fn warnings(arguments: &[&str]) -> Vec<String> {
    let output = eigenskin(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text.lines().map(str::to_string).collect()
}

/// An arm in poses of one joint each: the rig and the set.
fn arm_files(folder: &std::path::Path) -> [String; 2] {
    let character = arm(300).unwrap();
    let set = SweptSkin::new(&character).examples(character.single_joint_poses(2)).unwrap();
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    let [rig, examples] = ["rig.glb", "set.glb"].map(|name| folder.join(name).to_str().unwrap().to_string());
    write_rig(&rig, &file).unwrap();
    write_examples(&examples, &file, &set).unwrap();
    [rig, examples]
}

#[test]
fn limits_that_are_not_reached_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let [rig, set] = arm_files(folder.path());
    let model = folder.path().join("model.glb").to_str().unwrap().to_string();
    let fit = |more: &[&str]| {
        let method = ["--method", "eigenskin", "-o", &model];
        warnings(&[&["fit", &rig, "--examples", &set], &method[..], more].concat())
    };
    let found = fit(&["--max-error", "0.0001", "--per-vertex", "1"]);
    assert!(found.len() == 1 && found[0].starts_with("warning: --max-error is not reached"), "{found:?}");
    assert!(fit(&["--max-error", "0.9"]).is_empty());

    let found = fit(&["--solve-weights", "--influences", "1"]);
    assert!(found.len() == 1 && found[0].contains("had more than 1 influences"), "{found:?}");
    assert!(fit(&["--solve-weights", "--influences", "5"]).is_empty());
}

/// A face is posed by controls: `suggest` says how poses are given, and takes them; `simulate` says what to do
/// instead.
#[test]
fn a_face_is_not_asked_for_ranges_of_joints() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let set = mouth_expressions().unwrap();
    let file = RigFile::from_rig(set.rig().clone(), "mouth").unwrap();
    write_examples(path("set.glb"), &file, &set).unwrap();
    write_rig(path("mouth.glb"), &file).unwrap();
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = eigenskin(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.lines().count() == 1, "{text}");
        assert!(words.iter().all(|word| text.contains(word)) && !text.contains("JOINT"), "{text}");
    };
    refused(&["suggest", &path("set.glb")], &["has no joints", "--candidates FILE", "--clip NAME"]);
    refused(&["simulate", &path("mouth.glb"), "--plan"], &["has no joints", "examples add"]);

    // What it asks for helps.
    let poses: Vec<_> = [(0.3, 0.0), (-0.5, 0.4), (0.8, -0.6)]
        .map(|(happiness, arousal)| {
            let mut pose = set.examples()[0].pose.clone();
            pose.controls = vec![happiness, arousal];
            let name = format!("{happiness} {arousal}");
            (NamedPose { name, pose }, String::new())
        })
        .to_vec();
    write_poses(path("poses.json"), set.rig(), &poses).unwrap();
    let output = eigenskin(&["suggest", &path("set.glb"), "--candidates", &path("poses.json"), "-n", "2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("3 poses to choose from, 4 examples"), "{text}");
}

/// A rig with joints that are all locked is told how to move one.
#[test]
fn a_rig_whose_joints_are_locked_is_asked_for_a_range() {
    let folder = tempfile::tempdir().unwrap();
    let [rig, _] = arm_files(folder.path());
    let locks = ["upper-arm", "forearm", "forearm-twist", "hand"].map(|joint| ["--lock", joint]).concat();
    for command in [&["suggest", &rig][..], &["simulate", &rig, "--plan"]] {
        let output = eigenskin(&[command, &locks].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains("--range 'JOINT:x=-30..30'"), "{text}");
    }
}

/// Options of poses that are made do nothing where poses are given, and a bound on cells nothing where their size is.
#[test]
fn options_of_simulate_that_contradict_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [rig, set] = arm_files(folder.path());
    for option in [
        "--per-degree=2",
        "--no-corners",
        "--multi-joint-poses=2",
        "--validation-poses=2",
        "--validation=v.glb",
        "--seed=3",
        "--range=forearm:x=-10..10",
        "--ranges=ranges.toml",
        "--lock=hand",
        "--range-share=0.5",
    ] {
        let output = eigenskin(&["simulate", &rig, "--plan", "--poses", &set, option]);
        let text = String::from_utf8(output.stderr).unwrap();
        let name = option.split('=').next().unwrap();
        assert!(!output.status.success() && text.contains("--poses") && text.contains(name), "{text}");
    }
    let output = eigenskin(&["simulate", &rig, "--plan", "--cell-size", "0.02", "--max-cells", "500"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && text.contains("--cell-size") && text.contains("--max-cells"),
        "{text}"
    );
}

/// What mirroring says of two arms, one of them raised, with a flap and a joint that the other side may lack.
fn mirrored(flap: bool, tail: bool) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set.glb").to_str().unwrap().to_string();
    let arms = two_arms();
    let (mut positions, mut triangles) = (arms.mesh().positions().to_vec(), arms.mesh().triangles().to_vec());
    let mut weights: Vec<Vec<Influence>> =
        (0..positions.len()).map(|vertex| arms.weights().of(vertex).to_vec()).collect();
    if flap {
        let first = positions.len() as u32;
        positions.extend([[1.4, 0.9, 0.0], [1.6, 0.9, 0.0], [1.5, 1.1, 0.0]].map(Vec3::from));
        triangles.push([first, first + 1, first + 2]);
        weights.extend(vec![vec![Influence { joint: 1, weight: 1.0 }]; 3]);
    }
    let mut joints = arms.skeleton().joints().to_vec();
    if tail {
        let at = DAffine3::from_translation(DVec3::new(-0.4, 1.0, 0.0));
        joints.push(Joint { name: "tail".to_string(), joint_from_rest: at, ..joints[1].clone() });
    }
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let weights = SkinWeights::new(joints.len(), weights).unwrap().0;
    let rig = Arc::new(Rig::new(mesh, Skeleton::new(joints).unwrap(), weights, vec![]).unwrap());
    let mut pose = rig.rest_pose();
    pose.world_from_joint[1] *= DAffine3::from_rotation_z(0.5);
    let mut positions = skinned_shape(BaseSkinning::LinearBlend, &rig, &pose);
    positions.iter_mut().filter(|position| position.x > 1.0).for_each(|position| position.y += 0.05);
    let example = Example { name: "up.L".to_string(), pose, positions, normals: None, inverted: None };
    let file = RigFile::from_rig(rig.clone(), "arms").unwrap();
    write_examples(&set, &file, &ExampleSet::new(rig, vec![example]).unwrap()).unwrap();
    warnings(&["examples", "mirror", &set])
}

#[test]
fn what_has_no_other_side_is_told() {
    assert_eq!(mirrored(false, false), Vec::<String>::new());
    assert_eq!(mirrored(false, true), ["warning: joints without another side: tail (--pair)"]);
    let found = mirrored(true, false);
    let words = "3 of 71 vertices have no vertex at their mirror image";
    assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
}

/// A set that was simulated and one that was not; and one whose record another program has damaged.
#[test]
fn a_damaged_record_of_a_simulation_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let [rig, set] = arm_files(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let [model, report] = ["model.glb", "report.html"].map(path);
    let fit = |set: &str| {
        let outputs = ["-o", &model, "--report", &report];
        warnings(&[&["fit", &rig, "--examples", set, "--method", "psd"], &outputs[..]].concat())
    };
    assert!(fit(&set).is_empty());
    let mut document = Document::from_bytes(&std::fs::read(&set).unwrap(), None).unwrap();
    edit_table(&mut document.json, |table| {
        table["examples"]["simulation"] = serde_json::json!({ "poses": 7 });
    });
    let damaged = path("damaged.glb");
    std::fs::write(&damaged, document.to_glb().unwrap()).unwrap();
    let found = fit(&damaged);
    assert!(found.len() == 1 && found[0].contains("the report says nothing of the simulation"), "{found:?}");
}
