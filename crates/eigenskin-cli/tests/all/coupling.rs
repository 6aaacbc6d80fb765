//! Joints that move together, as a user types it: `--coupling`, `--method auto`, what both print.

use eigenskin::articulation::NamedPose;
use eigenskin::characters::{arm, truth::coupled_bulge};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::RigFile;
use eigenskin::io::{write_examples, write_rig};
use serde_json::Value;

use crate::support::{eigenskin, json_of};

#[test]
fn coupling_and_auto_are_chosen_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let character = arm(600).unwrap();
    let poses = character.single_joint_poses(4).into_iter().chain(character.multi_joint_poses(16, 7));
    let examples = poses.map(|NamedPose { name, pose }| {
        let positions = coupled_bulge(&character, &pose);
        Example { name, pose, positions, normals: None, inverted: None }
    });
    let set = ExampleSet::new(character.rig.clone(), examples.collect()).unwrap();
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    let (rig, examples, model) = (path("arm.glb"), path("poses.glb"), path("model.glb"));
    write_rig(&rig, &file).unwrap();
    write_examples(&examples, &file, &set).unwrap();
    let fit_arguments = ["fit", &rig, "--examples", &examples, "-o", &model];
    let fit = |options: &[&str]| -> Value { json_of(&[&fit_arguments, options].concat()) };

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
    let output = eigenskin(&[&fit_arguments[..], &["--method", "auto", "--per-vertex", "8"]].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("auto        eigenskin with coupled joints") && said.contains("others: "),
        "{said}"
    );

    let refused = eigenskin(&[&fit_arguments[..], &["--method", "psd", "--coupling", "none"]].concat());
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("--coupling only works with --method eigenskin"), "{message}");
}
