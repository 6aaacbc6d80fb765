//! Joints that move together, as a user types it: `--coupling`, `--method auto`, what both print.

use eigenskin::articulation::NamedPose;
use eigenskin::characters::{Character, arm};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::Vec3;
use eigenskin::gltf::RigFile;
use eigenskin::io::{write_examples, write_rig};
use eigenskin::pose::Pose;
use eigenskin::skinning::{BaseSkinning, PosedSkinning};
use serde_json::Value;

use crate::support::{eigenskin, json_of};

/// The arm bulges along its normals by a product of two joints' turns, and by each of them.
fn shape(character: &Character, pose: &Pose) -> Vec<Vec3> {
    let rig = &character.rig;
    let turn = |joint: usize| pose.motion_of(rig.skeleton(), joint).rotation.w.abs().min(1.0).acos().sin();
    let (first, second) = (turn(1), turn(2));
    let amount = 0.05 * rig.mesh().size() * (first + 0.5 * second + 2.0 * first * second);
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
    let rest = rig.mesh().positions().iter().zip(rig.mesh().normals());
    let bulged = rest.map(|(p, n)| p.as_dvec3() + amount * n.as_dvec3());
    bulged.enumerate().map(|(vertex, p)| skinning.position(vertex, p).as_vec3()).collect()
}

#[test]
fn coupling_and_auto_are_chosen_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let character = arm(600).unwrap();
    let poses = character.single_joint_poses(4).into_iter().chain(character.multi_joint_poses(16, 7));
    let examples = poses.map(|NamedPose { name, pose }| {
        let positions = shape(&character, &pose);
        Example { name, pose, positions, normals: None, inverted: None }
    });
    let set = ExampleSet::new(character.rig.clone(), examples.collect()).unwrap();
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    let (rig, examples, model) = (path("arm.glb"), path("poses.glb"), path("model.glb"));
    write_rig(&rig, &file).unwrap();
    write_examples(&examples, &file, &set).unwrap();
    let fit = |options: &[&str]| -> Value {
        json_of(&[&["fit", &rig, "--examples", &examples, "-o", &model][..], options].concat())
    };

    assert_eq!(fit(&["--coupling", "none"])["coupling"], Value::Null);
    let additive = fit(&["--coupling", "additive"]);
    assert_eq!(additive["coupling"]["tried_pairs"], 0);
    let pairs = fit(&[]);
    assert!(!pairs["coupling"]["pairs"].as_array().unwrap().is_empty(), "{pairs}");
    let error = |figures: &Value| figures["coupling"]["coupled_left_out_error"].as_f64().unwrap();
    assert!(error(&pairs) < 0.8 * error(&additive));

    let auto = fit(&["--method", "auto"]);
    assert_eq!(auto["method"], "eigenskin");
    let tried = auto["auto"]["tried"].as_array().unwrap();
    let of =
        |name: &str| tried.iter().find(|t| t["name"] == name).unwrap()["left_out_error"].as_f64().unwrap();
    assert!(of("eigenskin with coupled joints") < 0.9 * of("eigenskin"), "{tried:?}");
    assert!(auto["auto"]["chosen"].as_str().unwrap().starts_with("eigenskin with coupled joints"));
    let output = eigenskin(&[
        "fit",
        &rig,
        "--examples",
        &examples,
        "-o",
        &model,
        "--method",
        "auto",
        "--per-vertex",
        "8",
    ]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("auto        eigenskin with coupled joints") && said.contains("others: "),
        "{said}"
    );

    let refused = eigenskin(&[
        "fit",
        &rig,
        "--examples",
        &examples,
        "-o",
        &model,
        "--method",
        "psd",
        "--coupling",
        "none",
    ]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("--coupling only works with --method eigenskin"), "{message}");
}
