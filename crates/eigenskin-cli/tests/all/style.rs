//! `eigenskin style` as a user types it: sets in, a set or a model out, what is said, what is refused.

use std::path::Path;
use std::sync::Arc;

use eigenskin::characters::{Character, cylinder, square_bar};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::RigFile;
use eigenskin::io::{read_examples, read_model, write_examples};
use eigenskin::metrics::vertex_errors;
use eigenskin::pose::Pose;
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};
use eigenskin::skinning::{BaseSkinning, skinned_shape};
use serde_json::Value;

use crate::support::{eigenskin, json_of};

const LINEAR: BaseSkinning = BaseSkinning::LinearBlend;
const DUAL: BaseSkinning = BaseSkinning::DualQuaternion;

fn skinned(rig: &Arc<Rig>, poses: &[Pose], base: BaseSkinning) -> ExampleSet {
    let example = |(index, pose): (usize, &Pose)| {
        let positions = skinned_shape(base, rig, pose);
        Example {
            name: format!("pose {index}"),
            pose: pose.clone(),
            positions,
            normals: None,
            inverted: None,
        }
    };
    ExampleSet::new(rig.clone(), poses.iter().enumerate().map(example).collect()).unwrap()
}

fn bends(bar: &Character, degrees: &[f64]) -> Vec<Pose> {
    degrees.iter().map(|degrees| bar.pose(&[degrees.to_radians()])).collect()
}

fn write(path: &Path, set: &ExampleSet) {
    write_examples(path, &RigFile::from_rig(set.rig().clone(), "bar").unwrap(), set).unwrap();
}

const SHOWN: [f64; 6] = [20.0, 40.0, 60.0, 80.0, 100.0, 120.0];

/// A folder with x1.glb, x2.glb (a bar), y1.glb, y-truth.glb (a cylinder in `asked` poses).
struct Folder {
    place: tempfile::TempDir,
    truth: ExampleSet,
    target: ExampleSet,
}

impl Folder {
    fn new(asked: &[f64]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (bar, round) = (square_bar().unwrap(), cylinder(12).unwrap());
        write(&folder.path().join("x1.glb"), &skinned(&bar.rig, &bends(&bar, &SHOWN), LINEAR));
        write(&folder.path().join("x2.glb"), &skinned(&bar.rig, &bends(&bar, &SHOWN), DUAL));
        let [target, truth] = [LINEAR, DUAL].map(|base| skinned(&round.rig, &bends(&round, asked), base));
        write(&folder.path().join("y1.glb"), &target);
        Self { place: folder, truth, target }
    }

    fn path(&self, name: &str) -> String {
        self.place.path().join(name).to_str().unwrap().to_string()
    }

    /// The usual arguments, then more.
    fn style(&self, more: &[&str]) -> Vec<String> {
        let [x1, x2, y1, y2] = ["x1.glb", "x2.glb", "y1.glb", "y2.glb"].map(|name| self.path(name));
        let usual = ["style", "--from", &x1, &x2, "--to", &y1, "-o", &y2];
        usual.iter().chain(more).map(ToString::to_string).collect()
    }

    fn json(&self, more: &[&str]) -> Value {
        json_of(&self.style(more).iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn result(&self) -> ExampleSet {
        read_examples(self.path("y2.glb"), &eigenskin::gltf::ReadOptions::default()).unwrap().1
    }

    /// Fails with one sentence that has all of `words`; nothing is written.
    fn fails(&self, more: &[&str], words: &[&str]) {
        let arguments = self.style(more);
        let result = eigenskin(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let message = String::from_utf8(result.stderr).unwrap();
        assert_eq!(result.status.code(), Some(1), "{message}");
        assert!(message.lines().count() == 1 && message.starts_with("error: "), "{message}");
        for word in words {
            assert!(message.contains(word), "{word:?} is missing in: {message}");
        }
        assert!(!self.place.path().join("y2.glb").exists());
    }
}

fn rmse(a: &ExampleSet, b: &ExampleSet) -> f64 {
    let pairs = a.examples().iter().zip(b.examples());
    let errors: Vec<f32> = pairs.flat_map(|(a, b)| vertex_errors(&a.positions, &b.positions)).collect();
    (errors.iter().map(|&e| f64::from(e).powi(2)).sum::<f64>() / errors.len() as f64).sqrt()
}

#[test]
fn a_style_goes_from_file_to_file() {
    let folder = Folder::new(&SHOWN);
    let from_bones = folder.json(&["--space", "nearest-bones"]);
    assert_eq!((from_bones["rank"].as_u64(), &from_bones["space"]["chosen_by"]), (Some(2), &"asked".into()));
    let carried = from_bones["carried"].as_f64().unwrap();
    assert!(
        carried > 0.8 && rmse(&folder.result(), &folder.truth) < 0.25 * rmse(&folder.target, &folder.truth)
    );
    let figures = folder.json(&[]);
    assert_eq!((figures["poses"].as_u64(), &figures["space"]["name"]), (Some(6), &"dual-quaternion".into()));
    assert_eq!(figures["interpolated"], serde_json::json!([]));
    assert_eq!(figures["matched_by"], "names");
    assert!(figures["carried"].as_f64().unwrap() > 0.99 && figures["shared"].as_f64().unwrap() > 0.999);
    let result = folder.result();
    assert_eq!(result.rig().vertex_count(), 290);
    let before = rmse(&folder.target, &folder.truth);
    assert!(rmse(&result, &folder.truth) < 0.25 * before);
    // Half of it is half-way; none of it is Y1 to the bit, through files.
    folder.json(&["--amount", "0.5"]);
    let half = rmse(&folder.result(), &folder.target) / rmse(&result, &folder.target);
    assert!((half - 0.5).abs() < 1e-3, "{half}");
    folder.json(&["--amount", "0"]);
    let unstyled = read_examples(folder.path("y1.glb"), &eigenskin::gltf::ReadOptions::default()).unwrap().1;
    for (a, b) in folder.result().examples().iter().zip(unstyled.examples()) {
        assert_eq!((&a.name, &a.positions), (&b.name, &b.positions));
    }
    // One signal carries less; fewer poses are fewer poses.
    assert!(folder.json(&["--signals", "1"])["carried"].as_f64() < figures["carried"].as_f64());
    assert_eq!(folder.json(&["--frames", "::2"])["poses"], 3);
    assert_eq!(folder.result().len(), 3);
    for more in [&["--space", "rigid"][..], &["--regions", "joints"], &["--projected"]] {
        folder.json(more);
        assert!(rmse(&folder.result(), &folder.truth) < 0.5 * before, "{more:?}");
    }
}

#[test]
fn a_model_is_learnt_from_the_result() {
    let folder = Folder::new(&SHOWN);
    let figures = folder.json(&["--model", "--per-vertex", "3"]);
    assert_eq!(figures["model"]["method"], "patches");
    let model = read_model(folder.path("y2.glb")).unwrap().1;
    assert!(model.component_count() > 0 && model.most_components_per_vertex() <= 3);
    folder.json(&[]);
    let (y2, model) = (folder.path("y2.glb"), folder.path("model.glb"));
    let y1 = folder.path("y1.glb");
    let fit = ["fit", y1.as_str(), "--examples", &y2, "-o", &model, "--per-vertex", "3"];
    // The same as fit makes of the set.
    let fitted = json_of(&fit)["training"]["relative_error"].as_f64().unwrap();
    let styled = figures["model"]["training"]["relative_error"].as_f64().unwrap();
    assert!((fitted - styled).abs() < 1e-6, "{fitted} {styled}");
}

#[test]
fn poses_that_the_style_lacks_are_interpolated_and_guesses_are_told() {
    let folder = Folder::new(&[30.0, 60.0, 90.0, 135.0]);
    let arguments = folder.style(&[]);
    let output = eigenskin(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let (said, warned) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{warned}");
    assert!(said.contains("1 of 4 found by equal joint angles, 3 interpolated"), "{said}");
    let warnings: Vec<&str> = warned.lines().collect();
    assert_eq!(warnings.len(), 1, "{warned}");
    assert!(warned.contains("pose \"pose 3\": joint \"upper\" turns 15.0° beyond"), "{warned}");
    let figures = folder.json(&[]);
    assert_eq!(figures["interpolated"], serde_json::json!(["pose 0", "pose 2", "pose 3"]));
    assert_eq!(figures["extrapolated"][0]["joint"], "upper");
    assert!(rmse(&folder.result(), &folder.truth) < 0.6 * rmse(&folder.target, &folder.truth));
}

#[test]
fn joints_of_other_names_need_a_map() {
    let folder = Folder::new(&SHOWN);
    let rig = folder.target.rig();
    let joints = rig.skeleton().joints().iter().zip(["lower", "knee"]);
    let joints = joints.map(|(joint, name)| Joint { name: name.to_string(), ..joint.clone() }).collect();
    let renamed = Rig::new(rig.mesh().clone(), Skeleton::new(joints).unwrap(), rig.weights().clone(), vec![]);
    let target = ExampleSet::new(Arc::new(renamed.unwrap()), folder.target.examples().to_vec()).unwrap();
    write(folder.path("y1.glb").as_ref(), &target);
    folder.fails(&[], &["y1.glb", "joint \"knee\"", "no counterpart", "map"]);
    let map = folder.path("map.toml");
    std::fs::write(&map, "[joints]\nknee = \"uper\"\n").unwrap();
    folder.fails(&["--map", &map], &["\"uper\"", "does not have"]);
    std::fs::write(&map, "knee = \"upper\"\n").unwrap();
    folder.fails(&["--map", &map], &["map.toml", "[joints]"]);
    std::fs::write(&map, "[joints]\nknee = \"upper\"\n").unwrap();
    assert_eq!(folder.json(&["--map", &map])["matched_by"], "map");
    assert!(rmse(&folder.result(), &folder.truth) < 0.25 * rmse(&folder.target, &folder.truth));
}

#[test]
fn what_cannot_be_is_one_sentence() {
    let folder = Folder::new(&SHOWN);
    folder.fails(&["--amount", "1.5"], &["--amount", "0", "1.5"]);
    folder.fails(&["--signals", "0"], &["signals", "at least 1"]);
    folder.fails(&["--frames", "4:4"], &["--frames 4:4", "none"]);
    folder.fails(&["--frames", "1:2"], &["1 of the at least 2"]);
    folder.fails(&["--per-vertex", "4"], &["--per-vertex only works with --model"]);
    folder.fails(&["--space", "linear"], &["linear blending", "no signals"]);
    let [x1, y1, y2] = ["x1.glb", "y1.glb", "y2.glb"].map(|name| folder.path(name));
    let refused = |arguments: &[&str], words: &[&str]| {
        let result = eigenskin(arguments);
        let message = String::from_utf8(result.stderr).unwrap();
        assert!(!result.status.success() && words.iter().all(|word| message.contains(word)), "{message}");
    };
    refused(&["style", "--from", &x1, &y1, "--to", &y1, "-o", &y2], &["y1.glb", "290 vertices", "402"]);
    refused(&["style", "--from", &x1, "missing.glb", "--to", &y1, "-o", &y2], &["missing.glb"]);
    refused(&["style", "--from", &x1, &x1, "--to", &y1, "-o", &y1], &["both input and output"]);
    refused(&["style", "--from", &x1, "--to", &y1, "-o", &y2], &["--from"]);
    assert!(!Path::new(&y2).exists());
}
