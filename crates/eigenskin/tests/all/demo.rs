//! The demo, as small as it can be.

use eigenskin::io::{read_examples, read_model};
use eigenskin::jobs::demo::{Demo, DemoError, DemoOutcome, DemoSettings, HandSettings};
use eigenskin::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin::report::picture::painter::CpuPainter;
use serde_json::Value;

fn small() -> Demo {
    let hand = HandSettings {
        per_degree: 1,
        multi_joint_poses: 2,
        validation_poses: 1,
        named_poses: false,
        max_cells: 500,
        contact: false,
        ..HandSettings::default()
    };
    Demo { settings: DemoSettings { triangles: 1500, hand } }
}

struct Never;

impl Progress for Never {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        Err(Cancelled)
    }
}

#[test]
fn a_hand_is_bent_learnt_measured_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/demo");
    let outcome = small().run(&CpuPainter, &Unwatched).unwrap();
    let error = |poses: &eigenskin::jobs::demo::DemoPoses| poses.errors.relative_error.unwrap();
    assert!(error(&outcome.training) < 0.5 && error(&outcome.one_joint) < 0.8);
    assert!(!out.exists());
    outcome.write(&out, None).unwrap();

    let names = [
        DemoOutcome::RIG,
        DemoOutcome::EXAMPLES,
        DemoOutcome::VALIDATION,
        DemoOutcome::MODEL,
        DemoOutcome::REPORT,
        DemoOutcome::COMPARISON,
        DemoOutcome::FIGURES,
    ];
    let mut found: Vec<String> =
        std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let mut expected = names.map(String::from);
    expected.sort();
    assert_eq!(found, expected);
    let examples =
        read_examples(out.join(DemoOutcome::EXAMPLES), &eigenskin::gltf::ReadOptions::default()).unwrap().1;
    let validation =
        read_examples(out.join(DemoOutcome::VALIDATION), &eigenskin::gltf::ReadOptions::default()).unwrap().1;
    assert_eq!(examples.len(), outcome.training.set.len());
    assert_eq!(validation.len(), outcome.one_joint.set.len() + outcome.many_joints.set.len());
    let (file, model) = read_model(out.join(DemoOutcome::MODEL)).unwrap();
    assert_eq!(model.component_count(), outcome.fit.model().component_count());
    assert!(file.clip_named("grasp").is_some());

    let figures: Value =
        serde_json::from_slice(&std::fs::read(out.join(DemoOutcome::FIGURES)).unwrap()).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&figures), "simulation fit held_out_single_joint held_out_multi_joint");
    assert_eq!(keys(&figures["simulation"]), "cubes unknowns contact seconds dropped poses");
    let poses = &figures["simulation"]["poses"];
    assert_eq!(keys(poses), "training held_out_single_joint held_out_multi_joint");
    assert_eq!(poses["training"].as_array().unwrap().len(), examples.len());

    // The page may go elsewhere.
    let page = folder.path().join("page.html");
    outcome.write(&out, Some(&page)).unwrap();
    assert_eq!(std::fs::read_to_string(page).unwrap(), outcome.report);
}

#[test]
fn it_ends_when_told_to_and_says_what_is_too_little() {
    assert!(matches!(small().run(&CpuPainter, &Never), Err(DemoError::Cancelled(_))));
    let mut demo = small();
    demo.settings.hand.max_cells = 100;
    let error = demo.run(&CpuPainter, &Unwatched).unwrap_err();
    assert!(error.to_string().contains("max_cells 100") && error.to_string().contains("at least 200"));
}

#[test]
fn settings_go_through_json() {
    let demo = small();
    let text = serde_json::to_string(&demo).unwrap();
    assert_eq!(serde_json::from_str::<Demo>(&text).unwrap(), demo);
    assert_eq!(serde_json::from_str::<DemoSettings>("{}").unwrap(), DemoSettings::default());
}
