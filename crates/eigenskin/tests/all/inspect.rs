//! What is in a file, without a file.

use std::sync::Arc;

use eigenskin::characters::{arm, square_bar, truth::true_shape};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::{
    FileKind, ModelWriteOptions, Orientation, Profile, ReadOptions, RigFile, model_glb, read_model, rig_of,
};
use eigenskin::jobs::inspect::{Inspect, InspectError, InspectInputs, Remark};
use eigenskin::model::Model;
use eigenskin::pose_source::PoseSource;
use eigenskin::progress::Unwatched;
use eigenskin::rig::Rig;
use eigenskin::skeleton::{Joint, Skeleton};
use eigenskin::skinning::BaseSkinning;
use eigenskin::weights::{Influence, SkinWeights};
use serde_json::json;

use crate::stop::Stop;

#[test]
fn examples_are_counted_and_doubles_are_told() {
    let bar = square_bar().unwrap();
    let mut angles = vec![0.0; bar.degrees_of_freedom.len()];
    angles[0] = 0.4;
    let bent = bar.pose(&angles);
    let rest = bar.rig.rest_pose();
    let example = |name: &str, pose: &eigenskin::pose::Pose| Example {
        name: name.to_string(),
        pose: pose.clone(),
        positions: true_shape(&bar, pose),
        normals: None,
        inverted: None,
    };
    let examples = vec![example("bent", &bent), example("again", &bent), example("rest", &rest)];
    let set = ExampleSet::new(bar.rig.clone(), examples).unwrap();
    let mut file = RigFile::from_rig(bar.rig.clone(), "bar").unwrap();
    file.kind = FileKind::Examples;
    let job = Inspect { file, examples: Some(Arc::new(set)), model: None, invertibility: None };
    assert!(matches!(job.run(&Stop), Err(InspectError::Cancelled(_))));
    let found = job.run(&Unwatched).unwrap();
    let repeats = Remark::Repeats { example: "again".into(), twin: "bent".into() };
    assert!(found.remarks.contains(&repeats), "{:?}", found.remarks);
    assert!(found.remarks.contains(&Remark::RestShape { example: "rest".into() }), "{:?}", found.remarks);
    assert_eq!(found.vertices, bar.rig.vertex_count());
    assert_eq!(found.joints[1].reference.as_deref(), Some(found.joints[0].name.as_str()));

    let told = serde_json::to_value(&found).unwrap();
    assert_eq!(told["kind"], "an example set");
    assert_eq!(told["examples"], json!(["bent", "again", "rest"]));
    assert!(told["components"].is_null() && told.get("invertibility").is_none());
    let bevy = told["limits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|limit| limit["engine"] == "Bevy" && limit["what"] == "influences per vertex");
    assert_eq!(bevy.unwrap()["fits"], json!(true));
}

#[test]
fn models_files_and_poses_are_looked_at() {
    let arm = arm(600).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let model = Model::without_corrections(arm.rig.clone(), BaseSkinning::DualQuaternion);
    let job = Inspect { file, examples: None, model: Some(Arc::new(model)), invertibility: None };
    let found = job.run(&Unwatched).unwrap();
    assert_eq!(found.components, Some(0));
    assert_eq!(found.model.unwrap().base, "dual-quaternion");

    let with_clip =
        job.file.with_clip("nod", &[0.0, 0.5], &[arm.rig.rest_pose(), arm.pose(&[0.0, 0.0, -1.0])]);
    eigenskin::io::write_rig(path("rig.glb"), &with_clip.unwrap()).unwrap();
    let poses = Some(PoseSource::Clip { clip: "nod".into(), at: None, from: None });
    let inputs = InspectInputs { file: path("rig.glb"), poses, ..InspectInputs::default() };
    let found = Inspect::open(&inputs).unwrap().run(&Unwatched).unwrap();
    assert_eq!((found.kind, found.clips[0].name.as_str()), (FileKind::Rig, "nod"));
    let maps = found.invertibility.unwrap();
    assert_eq!(maps.iter().map(|map| map.pose.as_str()).collect::<Vec<_>>(), ["key 0", "key 1"]);
    assert!((maps[0].least - 1.0).abs() < 1e-6 && maps[1].least < 1.0);

    let wrong = PoseSource::Clip { clip: "shake".into(), at: None, from: None };
    let error = Inspect::open(&InspectInputs { poses: Some(wrong), ..inputs }).unwrap_err().to_string();
    assert!(error.contains("no clip \"shake\"; there are nod") && !error.contains("--"), "{error}");
}

/// Each remark where it is true; a bar of two metres, joints in a row and four influences has none.
#[test]
fn remarks_are_made_where_they_are_true() {
    let bar = square_bar().unwrap();
    let scaled = |metres: f64| {
        let scale = metres / bar.rig.mesh().size();
        let file = RigFile::from_rig(bar.rig.clone(), "bar").unwrap();
        file.with_orientation(Orientation { z_up: false, metres_per_unit: scale }).unwrap()
    };
    let of = |file: RigFile| {
        Inspect { file, examples: None, model: None, invertibility: None }.run(&Unwatched).unwrap().remarks
    };
    assert_eq!(of(scaled(2.0)), []);
    for metres in [0.01, 50.0] {
        let found = of(scaled(metres));
        assert!(
            matches!(&found[..], [Remark::OddSize { metres: told }] if (told / metres - 1.0).abs() < 1e-3),
            "{found:?}"
        );
    }

    // All joints side by side.
    let arm = arm(300).unwrap();
    assert_eq!(of(RigFile::from_rig(arm.rig.clone(), "arm").unwrap()), []);
    let joints = arm.rig.skeleton().joints().iter().map(|joint| Joint {
        parent: None,
        reference: None,
        ..joint.clone()
    });
    let flat = Skeleton::new(joints.collect()).unwrap();
    let flat = Rig::new(arm.rig.mesh().clone(), flat, arm.rig.weights().clone(), vec![]).unwrap();
    let found = of(RigFile::from_rig(Arc::new(flat), "flat").unwrap());
    assert!(matches!(&found[..], [Remark::Flat { .. }]), "{found:?}");

    // More influences than engines take.
    let row: Vec<Influence> = (0..5).map(|joint| Influence { joint, weight: 0.2 }).collect();
    let weights = SkinWeights::new(5, vec![row; arm.rig.vertex_count()]).unwrap().0;
    let heavy = Rig::new(arm.rig.mesh().clone(), arm.rig.skeleton().clone(), weights, vec![]).unwrap();
    let found = of(RigFile::from_rig(Arc::new(heavy), "heavy").unwrap());
    assert!(!found.is_empty() && found.iter().all(|remark| matches!(remark, Remark::Limit(_))), "{found:?}");

    // Integers, and what a reader mended.
    let model = Model::without_corrections(arm.rig.clone(), BaseSkinning::LinearBlend);
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    for profile in [Profile::Plain, Profile::Web] {
        let options = ModelWriteOptions { profile, ..ModelWriteOptions::default() };
        let (glb, _) = model_glb(&file, &model, &options).unwrap();
        let (read, _) = read_model(&glb).unwrap();
        assert_eq!(of(read).contains(&Remark::Quantized), profile == Profile::Web);
    }
    let mut document = file.document().clone();
    document.array_mut("nodes").unwrap().push(json!({"name": "hat", "mesh": 0}));
    let index = document.array("nodes").len() - 1;
    document.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(index.into());
    let found = of(rig_of(document, &ReadOptions::default()).unwrap());
    assert!(matches!(&found[..], [Remark::Reading(note)] if note.contains("left as they are")), "{found:?}");
}

/// Two shapes of one pose are nothing to learn from, and that is a remark here.
#[test]
fn examples_that_contradict_each_other_are_remarked() {
    let bar = square_bar().unwrap();
    let mut angles = vec![0.0; bar.degrees_of_freedom.len()];
    angles[0] = 0.4;
    let pose = bar.pose(&angles);
    let example = |name: &str, shift: f32| {
        let mut positions = true_shape(&bar, &pose);
        positions[0].y += shift;
        Example { name: name.to_string(), pose: pose.clone(), positions, normals: None, inverted: None }
    };
    for (shift, is_wrong) in [(0.0, false), (1.0, true)] {
        let set = ExampleSet::new(bar.rig.clone(), vec![example("a", 0.0), example("b", shift)]).unwrap();
        let file = RigFile::from_rig(bar.rig.clone(), "bar").unwrap();
        let job = Inspect { file, examples: Some(Arc::new(set)), model: None, invertibility: None };
        let found = job.run(&Unwatched).unwrap().remarks;
        assert_eq!(found.iter().any(|remark| matches!(remark, Remark::Examples(_))), is_wrong, "{found:?}");
    }
}
