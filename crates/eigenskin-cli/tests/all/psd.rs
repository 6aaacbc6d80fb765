//! Pose space deformation as a user types it: fit, its options and files, the report, bad input.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin::articulation::NamedPose;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{arm, mouth_expressions};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::io::{read_examples, read_model, write_examples, write_rig};
use eigenskin::pose::Pose;
use serde_json::{Value, json};

use crate::support::{eigenskin, json_of};

/// Rigs and sculpts as in Lewis, Cordner, Fong 2000: an arm with three, a mouth without joints with four.
struct Lewis {
    folder: tempfile::TempDir,
}

/// One sculpt of the elbow, two of the shoulder: degree of freedom, and how far it goes.
fn arm_sculpts() -> ExampleSet {
    let character = arm(1500).unwrap();
    let sculpts = [("elbow", 2, -90f64), ("shoulder up", 0, -75.0), ("shoulder down", 0, 75.0)];
    let poses = sculpts.map(|(name, degree, angle)| {
        let mut angles = vec![0.0; character.degrees_of_freedom.len()];
        angles[degree] = angle.to_radians();
        NamedPose { name: name.to_string(), pose: character.pose(&angles) }
    });
    SweptSkin::new(&character).examples(poses).unwrap()
}

impl Lewis {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (rig, examples, set) in [
            ("arm", "arm-sculpts", arm_sculpts()),
            ("mouth", "mouth-expressions", mouth_expressions().unwrap()),
        ] {
            let path = |name: &str| folder.path().join(format!("{name}.glb"));
            let file = RigFile::from_rig(set.rig().clone(), rig).unwrap();
            write_rig(path(rig), &file).unwrap();
            write_examples(path(examples), &file, &set).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    /// Fits the arm or the mouth with options.
    fn fit(&self, what: &str, options: &[&str]) -> Value {
        let (rig, examples, model) = self.files(what);
        json_of(&[&["fit", &rig, "--examples", &examples, "-o", &model][..], options].concat())
    }

    /// The sentence with which a fit is refused; nothing is written.
    fn refused(&self, what: &str, options: &[&str]) -> String {
        let (rig, examples, _) = self.files(what);
        self.refused_with(&rig, &examples, options)
    }

    fn refused_with(&self, rig: &str, examples: &str, options: &[&str]) -> String {
        let model = self.text("refused.glb");
        let output = eigenskin(&[&["fit", rig, "--examples", examples, "-o", &model][..], options].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && !Path::new(&model).exists(), "{options:?}: {message}");
        assert!(message.lines().filter(|line| line.starts_with("error: ")).count() == 1, "{message}");
        message
    }

    fn files(&self, what: &str) -> (String, String, String) {
        let examples = if what == "arm" { "arm-sculpts.glb" } else { "mouth-expressions.glb" };
        (self.text(&format!("{what}.glb")), self.text(examples), self.text(&format!("{what}-model.glb")))
    }

    /// What the last fit has learnt, from its file, in a pose of the mouth.
    fn weights(&self, happiness: f64) -> Vec<f32> {
        let (_, model) = read_model(self.path("mouth-model.glb")).unwrap();
        let pose = Pose { world_from_joint: vec![], controls: vec![happiness, 0.0] };
        Evaluator::new(Arc::new(model)).drive(&pose).to_vec()
    }

    /// The expressions of the mouth, changed and written again.
    fn changed_mouth(&self, change: impl FnOnce(&mut Vec<Example>)) -> String {
        let options = ReadOptions::default();
        let (file, set) = read_examples(self.path("mouth-expressions.glb"), &options).unwrap();
        let mut examples = set.examples().to_vec();
        change(&mut examples);
        let set = ExampleSet::new(set.rig().clone(), examples).unwrap();
        let path = self.path("changed.glb");
        write_examples(&path, &file, &set).unwrap();
        path.to_str().unwrap().to_string()
    }
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is missing in {value}"))
}

#[test]
fn examples_are_met_by_every_variant_and_from_the_file() {
    let lewis = Lewis::new();
    let variants: [&[&str]; 8] = [
        &["--method", "psd"],
        &["--method", "psd", "--deltas", "forward"],
        &["--method", "psd", "--deltas", "forward", "--axes", "heaviest-joint"],
        &["--method", "psd", "--kernel", "thin-plate", "--clamp", "0.5"],
        &["--method", "psd", "--interpolation", "shepard"],
        &["--method", "psd", "--width", "0.8", "--radius", "elbow=0.5", "--order", "forearm,upper-arm"],
        &["--method", "psd", "--base", "dual-quaternion", "--axis-radii", "forearm=0.5,1,1"],
        &["--method", "weighted-psd", "--prototypes", "3"],
    ];
    for options in variants {
        let figures = lewis.fit("arm", options);
        assert_eq!(figures["method"], options[1]);
        assert!(number(&figures, "/training/relative_error") < 1e-4, "{options:?}: {figures}");
        let again =
            json_of(&["evaluate", &lewis.text("arm-model.glb"), "--truth", &lewis.text("arm-sculpts.glb")]);
        assert!(number(&again, "/relative_error") < 1e-4, "{options:?}: {again}");

        // What stock viewers lose is told where they lose something, and only there.
        let (forward, dual) = (options.contains(&"forward"), options.contains(&"dual-quaternion"));
        let warnings = figures["warnings"].to_string();
        assert_eq!(
            warnings.contains("viewers without eigenskin"),
            forward || dual,
            "{options:?}: {warnings}"
        );
        if forward {
            assert!((number(&figures, "/viewer/relative_error") - 1.0).abs() < 1e-9);
            assert_eq!(figures["targets"], 0);
        } else if dual {
            assert!(number(&figures, "/viewer/relative_error") > 0.01);
        } else {
            assert_eq!(figures["viewer"], Value::Null);
        }
        let spaces: Vec<&Value> =
            figures["spaces"].as_array().unwrap().iter().map(|space| &space["name"]).collect();
        let expected =
            if options.contains(&"--order") { ["forearm", "upper-arm"] } else { ["upper-arm", "forearm"] };
        assert_eq!(spaces, expected);
    }
    // One morph target for each sculpt; two where weights may have both signs.
    for options in [&["--clamp", "0.5"][..], &["--interpolation", "shepard"]] {
        let figures = lewis.fit("arm", &[&["--method", "psd"], options].concat());
        assert_eq!((&figures["targets"], &figures["components"]), (&json!(3), &json!(3)));
    }
    let figures = lewis.fit("arm", &["--method", "psd"]);
    assert_eq!((&figures["targets"], &figures["components"]), (&json!(6), &json!(3)));
    assert_eq!(figures["spaces"][0]["examples"], json!(["shoulder up", "shoulder down"]));
    assert!(number(&figures, "/spaces/0/drivers/0/condition") > 1.0);
    // Of people, too.
    let (rig, examples, model) = lewis.files("arm");
    let output = eigenskin(&["fit", &rig, "--examples", &examples, "-o", &model, "--method", "psd"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("1  upper-arm")).unwrap();
    assert!(
        lines[first].contains("shoulder up, shoulder down") && lines[first + 1].starts_with("2  forearm")
    );
}

#[test]
fn a_limit_of_targets_merges_fields_and_tells_the_loss() {
    let lewis = Lewis::new();
    for method in ["psd", "weighted-psd"] {
        let error = |clamp: &str, most: &str| {
            let options = ["--method", method, "--clamp", clamp, "--max-targets", most];
            let figures = lewis.fit("mouth", &options);
            assert!(number(&figures, "/targets") <= most.parse().unwrap(), "{figures}");
            number(&figures, "/training/relative_error")
        };
        // Without a clamp every field has two targets.
        for (clamp, [two, three, four]) in [("0.5", ["2", "3", "4"]), ("none", ["4", "6", "8"])] {
            let (two, three, four) = (error(clamp, two), error(clamp, three), error(clamp, four));
            assert!(
                four < 1e-4 && four < three && three <= two && two < 1.0,
                "{method}, {clamp}: {two} {three} {four}"
            );
        }
    }
    for (clamp, most) in [("0.5", 6), ("none", 12)] {
        let most_text = most.to_string();
        let options = ["--method", "weighted-psd", "--clamp", clamp, "--max-targets", &most_text];
        let figures = lewis.fit("arm", &options);
        assert!(number(&figures, "/targets") <= f64::from(most), "{figures}");
        assert!(number(&figures, "/training/relative_error") < 0.5, "{figures}");
    }
    let figures = lewis.fit("mouth", &["--method", "psd", "--max-error", "0.5"]);
    let error = number(&figures, "/training/relative_error");
    assert!(number(&figures, "/components") < 4.0 && error > 1e-3 && error <= 0.5, "{figures}");
}

/// Weights by hand: one example at 1 of a control, rest at 0.
#[test]
fn radii_do_what_they_say() {
    let lewis = Lewis::new();
    let smile = ["--method", "psd", "--frames", "2:3"];
    let expected = |at_rest: f64, at_smile: f64, x: f64| {
        let phi = |d: f64, radius: f64| (-d * d / (2.0 * radius * radius)).exp();
        let scale = 1.0 / (1.0 - phi(1.0, at_rest) * phi(1.0, at_smile));
        scale * (phi(x - 1.0, at_smile) - phi(1.0, at_smile) * phi(x, at_rest))
    };
    for (options, at_rest, at_smile) in [
        (&["--width", "0.4"][..], 0.4, 0.4),
        (&["--width", "0.4", "--radius", "smile=0.8"], 0.4, 0.8),
        (&["--axis-radii", "happiness=0.5"], 0.5, 0.5),
        (&["--axis-radii", "happiness=0.5", "--width", "2"], 0.5, 0.5),
    ] {
        lewis.fit("mouth", &[&smile[..], options].concat());
        for x in [0.3, 0.7, 1.4] {
            let (found, expected) = (f64::from(lewis.weights(x)[0]), expected(at_rest, at_smile, x));
            assert!((found - expected).abs() < 1e-5, "{options:?} at {x}: {found} {expected}");
        }
    }
}

#[test]
fn options_of_another_method_are_refused_naming_both() {
    let lewis = Lewis::new();
    for (options, words) in [
        (&["--method", "psd", "--per-joint", "3"][..], ["--per-joint", "--method psd"]),
        (&["--method", "weighted-psd", "--per-vertex", "3"], ["--per-vertex", "--method weighted-psd"]),
        (&["--method", "psd", "--support-border", "hard"], ["--support-border", "--method psd"]),
        (&["--deltas", "forward"], ["--deltas", "--method auto"]),
        (&["--method", "patches", "--radius", "elbow=1"], ["--radius", "--method patches"]),
        (&["--order", "as-given"], ["--order", "--method auto"]),
        (&["--method", "psd", "--prototypes", "3"], ["--prototypes", "--method psd"]),
        (&["--method", "psd", "--axes", "root"], ["--axes", "--deltas auto"]),
        (&["--method", "psd", "--interpolation", "shepard", "--width", "1"], ["--width", "shepard"]),
        (
            &["--method", "psd", "--interpolation", "linear", "--axis-radii", "forearm=1,1,1"],
            ["--axis-radii", "linear"],
        ),
        (&["--method", "psd", "--axis-radii", "forearm=1,1,1", "--width", "auto"], ["--axis-radii", "auto"]),
    ] {
        let message = lewis.refused("arm", options);
        assert!(words.iter().all(|word| message.contains(word)), "{options:?}: {message}");
    }
}

#[test]
fn bad_names_and_examples_are_refused_by_name() {
    let lewis = Lewis::new();
    let psd = ["--method", "psd"];
    for (what, options, words) in [
        ("mouth", &["--radius", "simle=0.4"][..], &["--radius", "\"simle\"", "smile"][..]),
        ("mouth", &["--radius", "smile=0"], &["above zero"]),
        ("mouth", &["--radius", "smile=1", "--radius", "smile=2"], &["\"smile\" twice"]),
        ("mouth", &["--axis-radii", "hapiness=0.4"], &["--axis-radii", "\"hapiness\"", "happiness"]),
        ("mouth", &["--axis-radii", "happiness=1,1,1"], &["control \"happiness\"", "give one"]),
        ("arm", &["--axis-radii", "forearm=0.4"], &["joint \"forearm\"", "three"]),
        ("arm", &["--axis-radii", "forearm=0.4,0,1"], &["three numbers above zero"]),
        ("arm", &["--order", "elbow"], &["\"elbow\"", "forearm"]),
        ("arm", &["--order", "forearm,,upper-arm"], &["narrow-first"]),
        // To the axis of happiness alone, delight is a smile.
        ("mouth", &["--order", "happiness + arousal, happiness"], &["\"delighted\"", "\"smile\"", "order"]),
    ] {
        let message = lewis.refused(what, &[&psd[..], options].concat());
        assert!(words.iter().all(|word| message.contains(word)), "{options:?}: {message}");
    }

    let (rig, ..) = lewis.files("mouth");
    let twice = lewis.changed_mouth(|examples| {
        let mut other = examples[2].clone();
        other.name = "grin".to_string();
        other.positions[7].y += 0.1;
        examples.push(other);
    });
    let message = lewis.refused_with(&rig, &twice, &psd);
    assert!(["\"smile\"", "\"grin\"", "vertex 7"].iter().all(|word| message.contains(word)), "{message}");
    // Smoothing lets them meet half-way.
    let model = lewis.text("compromise.glb");
    let fit = json_of(&[
        "fit",
        &rig,
        "--examples",
        &twice,
        "-o",
        &model,
        "--method",
        "psd",
        "--smoothing",
        "0.001",
        "--width",
        "0.5",
    ]);
    let error = number(&fit, "/training/relative_error");
    assert!(error > 1e-3 && error < 0.2, "{error}");

    let at_rest = lewis.changed_mouth(|examples| examples[1].pose.controls[0] = 0.0);
    let message = lewis.refused_with(&rig, &at_rest, &psd);
    assert!(message.contains("\"smirk\" is at the rest pose"), "{message}");
}

#[test]
fn the_report_compares_the_methods_and_lists_the_spaces() {
    let lewis = Lewis::new();
    let report = lewis.text("report.html");
    for method in ["psd", "eigenskin"] {
        let figures = lewis.fit("mouth", &["--method", method, "--leave-one-out", "--report", &report]);
        let page = std::fs::read_to_string(&report).unwrap();
        let row = |name: &str| {
            let row = page.split("<tr").find(|row| row.contains(&format!(">{name}</th>"))).unwrap();
            let cells = row.split("<td").skip(1);
            cells
                .map(|cell| cell.split_once('>').unwrap().1.split('<').next().unwrap().to_string())
                .collect::<Vec<_>>()
        };
        // Training and left out, rmse and ratio each.
        for name in ["forward PSD", "inverse PSD", "weighted PSD"] {
            assert_eq!(row(name)[..2], ["0", "0.000"], "{name}");
        }
        for name in
            ["linear blend skinning", "shape interpolation", "inverse PSD", "EigenSkin, all components"]
        {
            assert!(row(name)[3].parse::<f64>().unwrap() > 0.1, "{name}: {:?}", row(name));
        }
        assert_eq!(page.contains("Pose spaces in their order"), method == "psd");
        if method == "psd" {
            let left_out = number(&figures, "/leave_one_out/relative_error");
            assert_eq!(row("this model")[3], format!("{left_out:.3}"));
            assert_eq!(row("this model")[..4], row("inverse PSD")[..4]);
            assert!(page.contains("1. happiness</th>") && page.contains("2. happiness + arousal</th>"));
        }
    }
}
