//! `eigenskin suggest`, and the loop: suggest → sculpt → add → fit.

use std::path::Path;

use eigenskin::characters::{arm, truth::SweptSkin};
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::io::vertex_cache::write_obj;
use eigenskin::io::{read_examples, read_rig};
use eigenskin::pose::Pose;
use serde_json::Value;

use crate::support::{eigenskin, json_of};

fn number(value: &Value, at: &str) -> f64 {
    value.pointer(at).and_then(Value::as_f64).unwrap_or_else(|| panic!("{at} of {value}"))
}

#[test]
fn the_loop_of_an_artist() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let arm = arm(600).unwrap();
    let skin = SweptSkin::new(&arm);
    let poses: Vec<Pose> = arm.single_joint_poses(8).into_iter().map(|named| named.pose).collect();
    let times: Vec<f64> = (0..poses.len()).map(|key| key as f64 / 24.0).collect();
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap().with_clip("range", &times, &poses).unwrap();
    eigenskin::io::write_rig(Path::new(&path("rig.glb")), &file).unwrap();
    let (rig, set, next) = (path("rig.glb"), path("set.glb"), path("next.glb"));

    let mut error = f64::INFINITY;
    for round in 0..3 {
        let from = if round == 0 { &rig } else { &set };
        let json = path("next.json");
        let found =
            json_of(&["suggest", from, "--clip", "range", "-n", "2", "-o", &next, "--write-poses", &json]);
        let suggestions = found["suggestions"].as_array().unwrap();
        assert_eq!(suggestions.len(), 2);
        // What the artist opens: the suggested keys as a clip.
        let opened = read_rig(Path::new(&next), &ReadOptions::default()).unwrap();
        let clip = opened.clip_named("suggested").unwrap();
        for (key, suggestion) in suggestions.iter().enumerate() {
            let name = suggestion["name"].as_str().unwrap();
            let of_range: usize = name.strip_prefix("range@").unwrap().parse().unwrap();
            let pose = opened.sample(clip, key as f64);
            let pairs = pose.world_from_joint.iter().zip(&poses[of_range].world_from_joint);
            assert!(pairs.into_iter().all(|(a, b)| a.abs_diff_eq(*b, 1e-5)), "{name}");
            assert!(!suggestion["reason"].as_str().unwrap().is_empty());
            let sculpt = path("sculpt.obj");
            write_obj(Path::new(&sculpt), &skin.shape(&pose), &[], arm.rig.mesh().triangles()).unwrap();
            let from = if round == 0 && key == 0 { &rig } else { &set };
            let frame = key.to_string();
            // By the clip that was written, or by the file of poses.
            let by_clip = ["--clip", "suggested", "--clip-from", &next, "--frame", &frame];
            let by_name = ["--pose", &json];
            let pose: &[&str] = if key == 0 { &by_clip } else { &by_name };
            let add = ["examples", "add", from, &sculpt, "--name", name, "-o", &set];
            json_of(&[&add[..], pose].concat());
        }
        let model = path("model.glb");
        json_of(&["fit", &rig, "--examples", &set, "-o", &model]);
        let truth = path("truth.glb");
        if round == 0 {
            let examples = poses
                .iter()
                .enumerate()
                .map(|(index, pose)| eigenskin::examples::Example {
                    name: format!("{index}"),
                    positions: skin.shape(pose),
                    pose: pose.clone(),
                    normals: None,
                    inverted: None,
                })
                .collect();
            let truth_set = eigenskin::examples::ExampleSet::new(arm.rig.clone(), examples).unwrap();
            eigenskin::io::write_examples(Path::new(&truth), &file, &truth_set).unwrap();
        }
        let now = number(&json_of(&["evaluate", &model, "--truth", &truth]), "/relative_error");
        assert!(now < error, "round {round}: {now} after {error}");
        error = now;
    }
    // Six sculpts of four joints: 0.357.
    assert!(error < 0.36, "{error}");
    assert_eq!(read_examples(Path::new(&set), &ReadOptions::default()).unwrap().1.len(), 6);

    // Among what joints can do, for a model and the examples it was fitted to.
    let found = json_of(&["suggest", &path("model.glb"), "--examples", &set, "-n", "3"]);
    let again = json_of(&["suggest", &path("model.glb"), "--examples", &set, "-n", "3"]);
    assert_eq!(found, again);
    assert_eq!(found["suggestions"].as_array().unwrap().len(), 3);
    assert!(number(&found, "/suggestions/0/leave_one_out") >= 0.0);
}

#[test]
fn bad_input_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let arm = arm(600).unwrap();
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let rig = path("rig.glb");
    eigenskin::io::write_rig(
        Path::new(&rig),
        &file.with_clip("still", &[0.0], &[arm.rig.rest_pose()]).unwrap(),
    )
    .unwrap();
    std::fs::write(path("none.json"), r#"{"poses": []}"#).unwrap();
    std::fs::write(path("other.json"), r#"{"name": "a", "joints": {"tail": [0, 0, 5]}}"#).unwrap();
    let (none, other, out) = (path("none.json"), path("other.json"), path("out.glb"));
    let cases: [(&[&str], &str); 7] = [
        (&["--clip", "walk"], "no clip \"walk\"; there are still"),
        (&["--clip", "still"], "none of the poses moves"),
        (&["--candidates", &none], "it has none"),
        (&["--candidates", &other], "joint \"tail\""),
        (&["--count", "0"], "at least 1"),
        (&["--examples", &rig], "a plain rig"),
        (&["--range", "tail:x=0..9"], "joint \"tail\""),
    ];
    for (arguments, expected) in cases {
        let output = eigenskin(&[&["suggest", &rig, "-o", &out], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(expected), "{arguments:?}: {error}");
        assert!(!Path::new(&out).exists());
    }
    let output = eigenskin(&["suggest", &rig, "-o", &rig]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("both input and output"));
}
