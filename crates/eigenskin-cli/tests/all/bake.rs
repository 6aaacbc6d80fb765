//! `bake`, the budgets of `fit`, and completions, as a user types them.

use std::path::Path;

use eigenskin::characters::truth::true_shape;
use eigenskin::characters::{Character, arm};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::glam::Vec3;
use eigenskin::gltf::{Orientation, RigFile};
use serde_json::Value;

use crate::support::point_cache::read_pc2;
use crate::support::viewer::Viewer;
use crate::support::{eigenskin, json_of};

/// The built-in arm with its motion, and its true shapes in single-joint poses. The arm lies in
/// other axes and another unit than the scene.
fn write_arm(folder: &Path) -> (Character, String, String) {
    let character = arm(1000).unwrap();
    let (times, poses) = character.demo_motion();
    let file = RigFile::from_rig(character.rig.clone(), "arm")
        .unwrap()
        .with_clip("demo", &times, &poses)
        .unwrap()
        .with_orientation(Orientation { z_up: true, metres_per_unit: 0.01 })
        .unwrap();
    let examples = character
        .single_joint_poses(4)
        .into_iter()
        .map(|named| Example {
            positions: true_shape(&character, &named.pose),
            name: named.name,
            pose: named.pose,
            normals: None,
            inverted: None,
        })
        .collect();
    let set = ExampleSet::new(character.rig.clone(), examples).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (rig, examples) = (path("arm.glb"), path("examples.glb"));
    eigenskin::io::write_rig(Path::new(&rig), &file).unwrap();
    eigenskin::io::write_examples(Path::new(&examples), &file, &set).unwrap();
    (character, rig, examples)
}

fn fitted(folder: &Path, more: &[&str]) -> (String, Value) {
    let (_, rig, examples) = write_arm(folder);
    let model = folder.join("model.glb").to_str().unwrap().to_string();
    let report = json_of(&[&["fit", &rig, "--examples", &examples, "-o", &model], more].concat());
    (model, report)
}

/// Positions and normals of an OBJ.
fn read_obj(path: &Path) -> (Vec<Vec3>, Vec<Vec3>) {
    let (mut positions, mut normals) = (Vec::new(), Vec::new());
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let mut words = line.split(' ');
        let list = match words.next() {
            Some("v") => &mut positions,
            Some("vn") => &mut normals,
            _ => continue,
        };
        let numbers: Vec<f32> = words.map(|word| word.parse().unwrap()).collect();
        list.push(Vec3::from_slice(&numbers));
    }
    (positions, normals)
}

/// Compares the GLB's clip, as a stock viewer shows it, with OBJs and point cache. Gives the morph
/// weights of each frame.
fn compare(glb: &Path, clip: &str, objs: &Path, pc2: &Path) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(glb).unwrap();
    let viewer = Viewer::open(&bytes);
    let index = viewer.document.animations().position(|a| a.name() == Some(clip)).unwrap();
    let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes).unwrap();
    let animation = document.animations().nth(index).unwrap();
    let rotation = gltf::animation::Property::Rotation;
    let channel = animation.channels().find(|channel| channel.target().property() == rotation).unwrap();
    let times: Vec<f32> = channel.reader(|_| blob.as_deref()).read_inputs().unwrap().collect();
    let cache = read_pc2(pc2);
    assert_eq!(cache.len(), times.len());
    assert_eq!(std::fs::read_dir(objs).unwrap().count(), times.len());
    let mut all_weights = Vec::new();
    for (frame, &time) in times.iter().enumerate() {
        let (positions, normals) = read_obj(&objs.join(format!("frame-{:04}.obj", frame + 1)));
        assert_eq!(positions, cache[frame]);
        let (shown, shown_normals, weights) = viewer.show(index, time);
        let low = positions.iter().copied().fold(Vec3::INFINITY, Vec3::min);
        let high = positions.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
        let furthest = positions.iter().zip(&shown).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        assert!(furthest < 1e-4 * low.distance(high), "frame {frame}: {furthest}");
        assert_eq!(positions.len(), shown.len());
        let cosine = normals.iter().zip(&shown_normals).map(|(a, b)| a.dot(*b)).fold(1.0, f32::min);
        assert!(cosine > 0.9999, "frame {frame}: {cosine}");
        all_weights.push(weights);
    }
    all_weights
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_baked_clip_is_what_the_shapes_show() {
    let folder = tempfile::tempdir().unwrap();
    let (model, _) = fitted(folder.path(), &[]);
    let at = |name: &str| folder.path().join(name);
    for (rate, expected) in [(None, None), (Some("12"), Some(12.0))] {
        let (glb, objs, pc2) = (at("out.glb"), at("objs").join(rate.unwrap_or("own")), at("out.pc2"));
        let mut arguments = vec!["bake", &model, "--clip", "demo", "-o", text(&glb)];
        // With all keys: the viewer of these tests looks at keys only.
        arguments.extend(["--exact", "--write-obj", text(&objs), "--write-pc2", text(&pc2)]);
        arguments.extend(rate.iter().flat_map(|rate| ["--rate", rate]));
        let report = json_of(&arguments);
        let (frames, duration) = (report["frames"].as_u64().unwrap(), report["duration"].as_f64().unwrap());
        let times = report["times"].as_array().unwrap();
        assert_eq!(times.len() as u64, frames);
        assert!(
            (times[times.len() - 1].as_f64().unwrap() - times[0].as_f64().unwrap() - duration).abs() < 1e-9
        );
        // The scene is in metres, the arm in centimetres.
        let size = arm(1000).unwrap().rig.mesh().size() * 0.01;
        assert!((report["size"].as_f64().unwrap() / size - 1.0).abs() < 1e-5, "{}", report["size"]);
        if let Some(rate) = expected {
            assert_eq!(frames as f64, 1.0 + (duration * rate - 1e-6).ceil());
            let step = times[1].as_f64().unwrap() - times[0].as_f64().unwrap();
            assert!((step * rate - 1.0).abs() < 1e-9, "{step}");
        }
        let weights = compare(&glb, "demo", &objs, &pc2);
        assert_eq!(weights.len() as u64, frames);
        // Some coordinate is positive in one frame and negative in another.
        let viewer = Viewer::open(&std::fs::read(&glb).unwrap());
        let mesh = viewer.document.meshes().next().unwrap();
        let extras: Value = serde_json::from_str(mesh.extras().as_ref().unwrap().get()).unwrap();
        let names: Vec<&str> =
            extras["targetNames"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        let used = |name: &str| {
            let target = names.iter().position(|other| *other == name);
            target.is_some_and(|target| weights.iter().any(|frame| frame[target] > 0.05))
        };
        let both = |name: &&&str| used(name) && used(&name.replace("_pos", "_neg"));
        assert!(names.iter().filter(|name| name.ends_with("_pos")).any(|name| both(&name)), "{names:?}");
        // The demo motion is a loop.
        let loops = |frames: Vec<Vec<Vec3>>| {
            let pairs = frames[0].iter().zip(frames.last().unwrap());
            pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
        };
        assert!(loops(read_pc2(&pc2)) < 1e-6);
        // What was baked is still the same model.
        assert_eq!(json_of(&["check", text(&glb)])["kind"], json_of(&["check", &model])["kind"]);
    }
}

const WAVE: &str = "HIERARCHY\nROOT Shoulder\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\nJOINT Arm\n{\nOFFSET 10 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nJOINT Elbow\n{\nOFFSET 30 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 26 0 0\n}\n}\n}\n}\nMOTION\nFrames: 5\nFrame Time: 0.1\n0 0 0 0 0 0  0 0 0  0 0 0\n0 1 0 0 0 0  0 0 20  0 0 30\n0 2 0 0 0 9  0 9 20  0 0 60\n0 1 0 0 0 0  0 0 -20  0 0 30\n0 0 0 0 0 0  0 0 0  0 0 0\n";

#[test]
fn motion_capture_moves_the_arm_and_loops() {
    let folder = tempfile::tempdir().unwrap();
    let (model, _) = fitted(folder.path(), &[]);
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("wave.bvh"), WAVE).unwrap();
    std::fs::write(
        at("map.toml"),
        "[joints]\nshoulder = \"Shoulder\"\nupper-arm = \"Arm\"\nforearm = \"Elbow\"\n",
    )
    .unwrap();
    let (bvh, map, glb, objs, pc2) =
        (at("wave.bvh"), at("map.toml"), at("out.glb"), at("objs"), at("out.pc2"));
    let report = json_of(&[
        "bake",
        &model,
        "--bvh",
        text(&bvh),
        "--map",
        text(&map),
        "--rate",
        "30",
        "-o",
        text(&glb),
        "--write-obj",
        text(&objs),
        "--write-pc2",
        text(&pc2),
    ]);
    assert_eq!(report["frames"], 13);
    assert_eq!(report["matched"].as_array().unwrap().len(), 3);
    assert_eq!(report["unmatched"], serde_json::json!(["forearm-twist", "hand"]));
    let weights = compare(&glb, "wave", &objs, &pc2);
    assert!(weights.iter().any(|frame| frame.iter().any(|&w| w > 0.1)), "the corrections are driven");
    let frames = read_pc2(&pc2);
    let furthest = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(furthest(&frames[0], &frames[12]) < 1e-7);
    assert!(furthest(&frames[0], &frames[6]) > 0.001);
    // The file's own clip is still there.
    let viewer = Viewer::open(&std::fs::read(&glb).unwrap());
    let clips: Vec<_> = viewer.document.animations().map(|a| a.name().unwrap().to_string()).collect();
    assert_eq!(clips, ["demo", "wave"]);

    // From one character to the same one: the same shapes.
    let again = at("again.pc2");
    json_of(&["bake", &model, "--motion", text(&glb), "--clip", "wave", "--write-pc2", text(&again)]);
    for (a, b) in read_pc2(&again).iter().zip(&frames) {
        assert!(furthest(a, b) < 1e-6);
    }
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (_, rig, _) = write_arm(folder.path());
    let at = |name: &str| folder.path().join(name);
    let (bvh, map, glb) = (at("wave.bvh"), at("map.toml"), at("out.glb"));
    let fails = |arguments: &[&str], words: &[&str]| {
        let output = eigenskin(&[&["bake", &rig], arguments].concat());
        assert!(!output.status.success(), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr).to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(!glb.exists(), "{arguments:?}");
    };
    std::fs::write(&bvh, WAVE).unwrap();
    let o = ["-o", text(&glb)];
    fails(&["--clip", "demo"], &["-o", "--write-obj", "--write-pc2"]);
    fails(&[&["--clip", "run"], &o[..]].concat(), &["\"run\"", "\"demo\""]);
    fails(&[&["--bvh", text(&bvh)], &o[..]].concat(), &["Shoulder", "forearm", "map"]);
    fails(&[&["--clip", "demo", "--rate", "0"], &o[..]].concat(), &["rate"]);
    fails(&["--clip", "demo", "-o", &rig], &["both input and output"]);
    for bad in ["forearm = 3", "[joints]\nforearm = 3", "[joints]\n\"elbow\" = \"Elbow\"", "[joints", ""] {
        std::fs::write(&map, bad).unwrap();
        fails(&[&["--bvh", text(&bvh), "--map", text(&map)], &o[..]].concat(), &["joint"]);
    }
    fails(&[&["--map", text(&map)], &o[..]].concat(), &["--bvh"]);
    std::fs::write(&bvh, WAVE.replace("0 1 0 0 0 0  0 0 20", "0 1 0 zero 0 0  0 0 20")).unwrap();
    fails(&[&["--bvh", text(&bvh)], &o[..]].concat(), &["wave.bvh", "line 25", "zero"]);
}

#[test]
fn budgets_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (_, rig, examples) = write_arm(folder.path());
    let model = folder.path().join("model.glb");
    let fit = |more: &[&str]| {
        // Errors of EigenSkin fall with every component; those of patches on the whole.
        let method = if more.contains(&"--method") { "" } else { "--method=eigenskin" };
        let common = ["fit", &rig, "--examples", &examples, "-o", text(&model), method];
        let common = &common[..common.len() - usize::from(method.is_empty())];
        let report = json_of(&[common, more].concat());
        // What the file itself has, not what the report says.
        let viewer = Viewer::open(&std::fs::read(&model).unwrap());
        let primitive = viewer.document.meshes().next().unwrap().primitives().next().unwrap();
        let targets = primitive.morph_targets().count() as u64;
        assert_eq!(report["targets"], targets);
        (report.clone(), targets, report["training"]["relative_error"].as_f64().unwrap())
    };
    let (free, all_targets, best) = fit(&[]);
    let mut last_error = f64::INFINITY;
    for most in [0, 3, 7, all_targets - 1] {
        let (report, targets, error) = fit(&["--max-targets", &most.to_string()]);
        // Components that predict nothing are left out as soon as not all have room: two of them here.
        let room = if most + 1 == all_targets { 4 } else { 1 };
        assert!(targets <= most && targets + room >= most, "{targets} of {most}");
        assert!(error <= last_error + 1e-9 && error >= best - 1e-9);
        assert_eq!(report["budget"]["error_is_met"], true);
        last_error = error;
    }
    let bytes = |report: &Value| report["bytes"].as_u64().unwrap();
    let small = bytes(&fit(&["--max-targets", "0"]).0);
    let limit = u64::midpoint(small, bytes(&free));
    let (report, _, error) = fit(&["--max-bytes", &limit.to_string()]);
    assert!(bytes(&report) <= limit && bytes(&report) > small);
    assert_eq!(std::fs::metadata(&model).unwrap().len(), bytes(&report));
    assert!(error < 1.0);

    // The fewest that reach an error: one fewer does not.
    let wanted = 0.5 * (1.0 + best);
    let (report, _, error) = fit(&["--max-error", &wanted.to_string()]);
    let total = report["budget"]["total"].as_u64().unwrap();
    assert!(error <= wanted && total > 0 && report["components"].as_u64().unwrap() == total);
    let (fewer, targets, error_of_fewer) = fit(&["--max-error", &(error - 1e-6).to_string()]);
    assert!(error_of_fewer < error && fewer["budget"]["total"].as_u64().unwrap() > total && targets > 0);
    let (report, _, error) = fit(&["--max-error", "0"]);
    assert!(report["budget"]["error_is_met"] == false && (error - best).abs() < 1e-9);
    // With the other limits: one tuple at any vertex.
    let (report, targets, _) = fit(&["--per-vertex", "1", "--max-targets", "2"]);
    assert!(report["most_components_per_vertex"].as_u64().unwrap() <= 1 && targets <= 2);

    // Patches, the default, keep to them too.
    for most in [0, 3, 40] {
        let (report, targets, error) = fit(&["--method", "patches", "--max-targets", &most.to_string()]);
        assert!(
            report["method"] == "patches" && targets <= most && targets + 2 >= most,
            "{targets} of {most}"
        );
        assert!(if most == 0 { error == 1.0 } else { error < 1.0 }, "{error}");
    }

    let output = eigenskin(&["fit", &rig, "--examples", &examples, "-o", text(&model), "--max-bytes", "100"]);
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(!output.status.success() && said.contains("--max-bytes"), "{said}");
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = eigenskin(&["completions", shell]);
        let script = String::from_utf8_lossy(&output.stdout).to_string();
        assert!(output.status.success());
        assert!(
            ["bake", "fit", "evaluate", "max-targets"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
    }
}
