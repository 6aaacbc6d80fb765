//! `--clip` with `--obj` or `--cache`, as a user types it.

use std::path::Path;

use eigenskin::characters::{square_bar, truth::true_shape};
use eigenskin::glam::Vec3;
use eigenskin::gltf::RigFile;
use eigenskin::io::vertex_cache::{write_mdd, write_obj, write_pc2};
use eigenskin::pose::Pose;
use serde_json::Value;

use crate::support::{eigenskin, json_of};

/// A bar with the clips "bends" and "between", their shapes beside it.
fn prepare(folder: &Path) {
    let bar = square_bar().unwrap();
    let bends: Vec<Pose> = bar.single_joint_poses(4).into_iter().map(|named| named.pose).collect();
    let between: Vec<Pose> = bar.single_joint_poses_between(4).into_iter().map(|named| named.pose).collect();
    let times: Vec<f64> = (0..bends.len()).map(|key| key as f64).collect();
    let file = RigFile::from_rig(bar.rig.clone(), "bar")
        .unwrap()
        .with_clip("bends", &times, &bends)
        .unwrap()
        .with_clip("between", &times, &between)
        .unwrap();
    eigenskin::io::write_rig(folder.join("bar.glb"), &file).unwrap();
    let frames = |poses: &[Pose]| -> Vec<Vec<Vec3>> {
        let rest = bar.rig.mesh().positions().to_vec();
        std::iter::once(rest).chain(poses.iter().map(|pose| true_shape(&bar, pose))).collect()
    };
    write_pc2(folder.join("bends.pc2"), &frames(&bends), 0.0, 1.0).unwrap();
    std::fs::create_dir(folder.join("obj")).unwrap();
    for (frame, shape) in frames(&bends).iter().enumerate() {
        // As a z-up program writes it.
        let z_up: Vec<Vec3> = shape.iter().map(|p| Vec3::new(p.x, -p.z, p.y)).collect();
        let path = folder.join("obj").join(format!("bend {frame}.obj"));
        write_obj(&path, &z_up, &[], bar.rig.mesh().triangles()).unwrap();
    }
    let between = frames(&between);
    let times: Vec<f32> = (0..between.len()).map(|frame| frame as f32).collect();
    write_mdd(folder.join("between.mdd"), &times, &between).unwrap();
    write_mdd(folder.join("short.mdd"), &times[..3], &between[..3]).unwrap();
}

#[test]
fn a_clip_and_shapes_fit_and_measure_a_model() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let number = |value: &Value, at: &str| value.pointer(at).and_then(Value::as_f64).unwrap();
    let (rig, model) = (path("bar.glb"), path("model.glb"));
    let cache = path("bends.pc2");
    let from_cache = json_of(&["fit", &rig, "--clip", "bends", "--cache", &cache, "-o", &model]);
    let between = path("between.mdd");
    let found = json_of(&["evaluate", &model, "--clip", "between", "--cache", &between]);
    assert!(number(&found, "/relative_error") < 0.2, "{found}");
    assert_eq!(found["per_pose"][1]["name"], "between 1");

    let obj = path("obj");
    let output = eigenskin(&["fit", &rig, "--clip", "bends", "--obj", &obj, "-o", &path("again.glb")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("other axes"), "{text}");
    let again = json_of(&["evaluate", &path("again.glb"), "--clip", "bends", "--obj", &obj]);
    assert_eq!(again["per_pose"][0]["name"], "bend 1");
    let (a, b) = (number(&from_cache, "/training/model/rmse"), number(&again, "/model/rmse"));
    assert!((a - b).abs() <= 1e-6 * number(&again, "/size"), "{a} and {b}");
}

#[test]
fn exactly_one_source_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (rig, output, cache, obj) = (path("bar.glb"), path("model.glb"), path("bends.pc2"), path("obj"));
    let short = path("short.mdd");
    let cases: [(&[&str], &[&str]); 9] = [
        (&[], &["--examples EX", "--clip NAME"]),
        (&["--clip", "bends"], &["--clip bends", "--obj DIR"]),
        (&["--cache", &cache], &["--cache needs", "add --clip NAME"]),
        (&["--clip", "bends", "--cache", &cache, "--obj", &obj], &["--obj and --cache"]),
        (&["--examples", &rig, "--clip", "bends", "--cache", &cache], &["two sources"]),
        (&["--examples", &rig, "--rest-frame", "1"], &["--rest-frame"]),
        (&["--clip", "wave", "--cache", &cache], &["\"wave\"", "\"bends\", \"between\""]),
        (&["--clip", "bends", "--cache", &short], &["short.mdd", "3 frames", "8 keys"]),
        (&["--clip", "bends", "--cache", &path("no.pc2")], &["no.pc2"]),
    ];
    for (options, words) in cases {
        let result = eigenskin(&[&["fit", &rig, "-o", &output], options].concat());
        let message = String::from_utf8(result.stderr).unwrap();
        assert_eq!(result.status.code(), Some(1), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for word in words {
            assert!(message.contains(word), "{word:?} is missing in: {message}");
        }
    }
    let result = eigenskin(&["evaluate", &rig]);
    assert!(String::from_utf8(result.stderr).unwrap().contains("--truth EX"));
    assert!(!folder.path().join("model.glb").exists());
}
