//! Settings that people wrote for earlier versions, in files that only the command reads, still mean what
//! they meant. What the library reads is tested by the test of this name in `eigenskin-io`.

use std::path::PathBuf;
use std::process::Command;

use eigenskin::gltf::ReadOptions;
use eigenskin::io::pose_file::read_poses;
use eigenskin::io::{read_cache, read_model, read_rig};

/// A file of a version.
fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/versions/0.1").join(name)
}

/// Runs the command; relative paths are files of version 0.1.
fn run(words: &[&str]) {
    let is_fixture = |word: &str| word.contains('/') && !word.starts_with('/');
    let words = words.iter().map(|word| if is_fixture(word) { fixture(word) } else { PathBuf::from(word) });
    let result = Command::new(env!("CARGO_BIN_EXE_eigenskin")).args(words).output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
}

#[test]
fn the_settings_are_those_that_are_tested_here() {
    let entries = std::fs::read_dir(fixture("settings")).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["parents.toml", "ranges.toml", "walk-map.toml"]);
}

#[test]
fn a_map_of_joints_carries_the_same_motion() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("walk.pc2");
    let motion = ["--bvh", "inputs/walk.bvh", "--map", "settings/walk-map.toml"];
    let model = ["bake", "models/eigenskin.glb"];
    run(&[&model[..], &motion, &["--write-pc2", made.to_str().unwrap()]].concat());
    let (made, then) = (read_cache(&made).unwrap(), read_cache(fixture("baked/walk.pc2")).unwrap());
    let size = read_model(fixture("models/eigenskin.glb")).unwrap().1.rig().mesh().size();
    assert_eq!(made.frames.len(), then.frames.len());
    for (made, then) in made.frames.iter().zip(&then.frames) {
        assert_eq!(made.len(), then.len());
        assert!(made.iter().zip(then).all(|(a, b)| f64::from(a.distance(*b)) <= 1e-6 * size));
    }
}

#[test]
fn parents_of_a_flat_rig_are_the_same_joints() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("flat.glb");
    let rig = "inputs/leg-flat.npz";
    let output = made.to_str().unwrap();
    run(&["fit", rig, "--examples", rig, "--parents", "settings/parents.toml", "-o", output]);
    let references = |path: PathBuf| -> Vec<(String, Option<usize>)> {
        let (_, model) = read_model(&path).unwrap();
        model.rig().skeleton().joints().iter().map(|j| (j.name.clone(), j.reference)).collect()
    };
    let then = references(fixture("models/flat.glb"));
    assert_eq!(then.iter().filter(|(_, reference)| reference.is_some()).count(), 2);
    assert_eq!(references(made), then);
}

#[test]
fn ranges_allow_the_same_poses() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("poses.json");
    let output = made.to_str().unwrap();
    run(&["suggest", "inputs/leg-few.npz", "--ranges", "settings/ranges.toml", "--write-poses", output]);
    let file = read_rig(fixture("inputs/leg-few.npz"), &ReadOptions::default()).unwrap();
    let skeleton = file.rig().skeleton();
    let turn = |pose: &eigenskin::pose::Pose, joint: &str| {
        let motion = pose.motion_of(skeleton, skeleton.joint_named(joint).unwrap());
        motion.shortest_turn().length().to_degrees()
    };
    let poses = read_poses(&made, file.rig()).unwrap();
    let furthest = poses.iter().map(|named| turn(&named.pose, "knee")).fold(0.0, f64::max);
    assert!((furthest - 50.0).abs() < 1e-3, "{furthest}");
    assert!(poses.iter().all(|named| turn(&named.pose, "foot") < 1e-3));
}
