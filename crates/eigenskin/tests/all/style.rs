//! Styles transferred without a command: values in, outcome out.

use std::sync::Arc;

use eigenskin::characters::{Character, cylinder, square_bar};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::RigFile;
use eigenskin::jobs::fit::FitSettings;
use eigenskin::jobs::style::{
    OpenedSet, Style, StyleInputs, StyleJobError, StyleOutcome, StyleSettings, StyleWarning,
};
use eigenskin::progress::{Cancelled, Unwatched};
use eigenskin::skinning::{BaseSkinning, skinned_shape};
use eigenskin::style::{Form, Regions, Space, StyleError, StyleParams};
use serde_json::json;

use crate::stop::Stop;

/// Frames of a twist from rest to so many degrees, with a skinning.
fn twist(character: &Character, degrees: f64, base: BaseSkinning) -> ExampleSet {
    let example = |frame: u32| {
        let pose = character.pose(&[0.0, degrees.to_radians() * f64::from(frame) / 8.0]);
        Example {
            name: format!("frame {frame}"),
            positions: skinned_shape(base, &character.rig, &pose),
            pose,
            normals: None,
            inverted: None,
        }
    };
    ExampleSet::new(character.rig.clone(), (0..9).map(example).collect()).unwrap()
}

fn opened(set: ExampleSet) -> OpenedSet {
    let file = RigFile::from_rig(set.rig().clone(), "rig").unwrap();
    OpenedSet { file, guessed: None, set: Arc::new(set) }
}

/// From linear blending to dual quaternions on a square bar, for a cylinder that twists so far.
fn bar_to_cylinder(settings: StyleSettings, degrees: f64) -> Style {
    let (bar, round) = (square_bar().unwrap(), cylinder(12).unwrap());
    Style {
        from: opened(twist(&bar, 120.0, BaseSkinning::LinearBlend)),
        to: Arc::new(twist(&bar, 120.0, BaseSkinning::DualQuaternion)),
        target: opened(twist(&round, degrees, BaseSkinning::LinearBlend)),
        settings,
    }
}

/// Mean distance of the outcome from dual quaternions, as a share of linear blending's.
fn left(outcome: &StyleOutcome, job: &Style) -> f64 {
    let truth = twist(&cylinder(12).unwrap(), 120.0, BaseSkinning::DualQuaternion);
    let distance = |set: &ExampleSet| -> f64 {
        let pairs = set.examples().iter().zip(truth.examples());
        let of = |(a, b): (&Example, &Example)| -> f64 {
            a.positions.iter().zip(&b.positions).map(|(a, b)| f64::from(a.distance(*b))).sum()
        };
        pairs.map(of).sum()
    };
    distance(outcome.set()) / distance(&job.target.set)
}

#[test]
fn dual_quaternions_go_from_a_bar_to_a_cylinder() {
    let job = bar_to_cylinder(StyleSettings::default(), 120.0);
    let outcome = job.run(&Unwatched).unwrap();
    let found = left(&outcome, &job);
    assert!(found < 0.3, "{found}");
    assert!(outcome.warnings().is_empty(), "{:?}", outcome.warnings());
    let json = serde_json::to_value(&outcome).unwrap();
    let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "amount",
        "carried",
        "change_of_100",
        "extrapolated",
        "interpolated",
        "matched_by",
        "matched_joints",
        "model",
        "moving_alone",
        "poses",
        "rank",
        "shared",
        "signals",
        "space",
        "style_of_100",
        "vertices",
    ];
    assert_eq!(names, expected);
    assert!(json["model"].is_null() && json["matched_by"] == "names");
    // Half of it is half the way.
    let half = StyleSettings { amount: 0.5, ..StyleSettings::default() };
    let half = Style { settings: half, ..job }.run(&Unwatched).unwrap();
    let ratio = half.transferred.change / outcome.transferred.change;
    assert!((ratio - 0.5).abs() < 1e-4, "{ratio}");
}

#[test]
fn guesses_name_pose_and_joint() {
    let outcome = bar_to_cylinder(StyleSettings::default(), 150.0).run(&Unwatched).unwrap();
    let guesses: Vec<_> = outcome
        .warnings()
        .into_iter()
        .filter_map(|warning| match warning {
            StyleWarning::Extrapolated(guess) => Some(guess),
            _ => None,
        })
        .collect();
    let last = guesses.iter().find(|guess| guess.pose == "frame 8").unwrap();
    assert!((last.beyond.to_degrees() - 30.0).abs() < 0.1, "{last:?}");
    let joints: Vec<String> =
        square_bar().unwrap().rig.skeleton().joints().iter().map(|joint| joint.name.clone()).collect();
    assert!(joints.contains(&last.joint), "{last:?}");
    assert!(outcome.interpolated().contains(&"frame 8"));
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["extrapolated"].as_array().unwrap().len(), guesses.len());
}

#[test]
fn a_model_is_fitted_where_one_is_asked_for() {
    let settings = StyleSettings { fit: Some(FitSettings::default()), ..StyleSettings::default() };
    let outcome = bar_to_cylinder(settings, 120.0).run(&Unwatched).unwrap();
    let model = outcome.model.as_ref().unwrap();
    assert!(model.model().component_count() > 0);
    let told = &serde_json::to_value(&outcome).unwrap()["model"];
    assert_eq!((&told["method"], &told["auto"]["chosen"]), (&json!(model.method.name()), &told["method"]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.glb");
    assert_eq!(outcome.write(&path).unwrap() as u64, path.metadata().unwrap().len());
    let (_, read) = eigenskin::io::read_model(&path).unwrap();
    assert_eq!(read.component_count(), model.model().component_count());
}

#[test]
fn files_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let job = bar_to_cylinder(StyleSettings::default(), 120.0);
    let sets = [("x1.glb", &job.from.file, &job.from.set), ("x2.glb", &job.from.file, &job.to)];
    for (name, file, set) in sets.into_iter().chain([("y1.glb", &job.target.file, &job.target.set)]) {
        eigenskin::io::write_examples(at(name), file, set).unwrap();
    }
    let inputs = StyleInputs {
        from: at("x1.glb"),
        to: at("x2.glb"),
        target: at("y1.glb"),
        frames: Some("::2".parse().unwrap()),
    };
    let outcome = Style::open(&inputs, StyleSettings::default()).unwrap().run(&Unwatched).unwrap();
    assert_eq!(outcome.set().len(), 5);
    outcome.write(at("y2.glb")).unwrap();
    let (_, read) =
        eigenskin::io::read_examples(at("y2.glb"), &eigenskin::gltf::ReadOptions::default()).unwrap();
    assert_eq!(read.len(), 5);
    let error = Style::open(&StyleInputs { to: at("y1.glb"), ..inputs }, StyleSettings::default());
    assert!(matches!(&error, Err(StyleJobError::OtherRig { path, .. }) if path.ends_with("y1.glb")));
}

#[test]
fn what_cannot_be_is_refused() {
    let job = bar_to_cylinder(StyleSettings { amount: 1.5, ..StyleSettings::default() }, 120.0);
    assert!(matches!(job.run(&Unwatched), Err(StyleJobError::Amount { amount: 1.5 })));
    let one = Arc::new(job.target.set.select(&[4]).unwrap());
    let target = OpenedSet { set: one, ..job.target.clone() };
    let error = Style { target, settings: StyleSettings::default(), ..job }.run(&Unwatched);
    assert!(matches!(error, Err(StyleJobError::Style(StyleError::TooFewPoses { .. }))));
}

#[test]
fn it_can_be_stopped() {
    let job = bar_to_cylinder(StyleSettings::default(), 120.0);
    assert!(matches!(job.run(&Stop), Err(StyleJobError::Cancelled(Cancelled))));
}

#[test]
fn settings_go_through_json() {
    for space in Space::ALL {
        let settings = StyleSettings {
            amount: 0.5,
            capture: StyleParams {
                signals: Some(7),
                form: Form::Projected,
                regions: Regions::joints(),
                space: Some(space),
                joint_map: Some([("a".to_string(), "b".to_string())].into()),
            },
            fit: Some(FitSettings { leave_one_out: true, ..FitSettings::default() }),
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<StyleSettings>(&text).unwrap(), settings, "{text}");
    }
    assert_eq!(serde_json::from_str::<StyleSettings>("{}").unwrap(), StyleSettings::default());
    let wrong = serde_json::from_str::<StyleSettings>(r#"{ "capture": { "space": "outer" } }"#).unwrap_err();
    assert!(wrong.to_string().contains("nearest-bones, rigid"), "{wrong}");
}

/// Each where it is true; none of them in the transfer from bar to cylinder above.
#[test]
fn foreign_styles_and_targets_are_told() {
    // One signal does not hold a style of many. (From dual quaternions this style is nothing at all.)
    let space = Some(Space::NearestBones);
    let few = StyleParams { signals: Some(1), space, ..StyleParams::default() };
    let few = StyleSettings { capture: few, ..StyleSettings::default() };
    let found = bar_to_cylinder(few, 120.0).run(&Unwatched).unwrap().warnings();
    assert!(matches!(&found[..], [StyleWarning::LittleCarried { carried }] if *carried < 0.5), "{found:?}");

    // The target does what the style's character never does.
    let job = bar_to_cylinder(StyleSettings::default(), 120.0);
    let wild = |(frame, example): (usize, &Example)| {
        let wave = |vertex: usize| ((7 * vertex + 3 * frame) as f32).sin();
        let mut example = example.clone();
        if frame > 0 {
            example.positions.iter_mut().enumerate().for_each(|(vertex, p)| p.x += 3.0 * wave(vertex));
        }
        example
    };
    let examples = job.target.set.examples().iter().enumerate().map(wild).collect();
    let target = opened(ExampleSet::new(job.target.set.rig().clone(), examples).unwrap());
    let found = Style { target, ..job }.run(&Unwatched).unwrap().warnings();
    assert!(matches!(&found[..], [StyleWarning::LittleShared { shared }] if *shared < 0.5), "{found:?}");
}
