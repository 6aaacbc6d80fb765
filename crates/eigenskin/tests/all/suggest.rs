//! Suggestions without files.

use std::sync::Arc;

use eigenskin::characters::{arm, truth::SweptSkin};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::io::pose_file::read_poses;
use eigenskin::jobs::suggest::{CandidateSource, Suggest, SuggestError, SuggestInputs, SuggestParams};
use eigenskin::progress::Unwatched;
use eigenskin::rig_source::RigSource;

use crate::stop::Stop;

#[test]
fn poses_are_suggested_until_none_is_left() {
    let arm = arm(600).unwrap();
    let skin = SweptSkin::new(&arm);
    let candidates = arm.single_joint_poses(3);
    let settings = SuggestParams { count: 2 };
    let job = Suggest { rig: arm.rig.clone(), examples: None, candidates: candidates.clone(), settings };
    assert!(matches!(job.run(&Stop), Err(SuggestError::Cancelled(_))));
    let first = job.run(&Unwatched).unwrap();
    assert_eq!(first, job.run(&Unwatched).unwrap());
    assert_eq!((first.suggestions.len(), first.candidates), (2, candidates.len()));
    assert!(first.suggestions[0].suggestion.gain >= first.suggestions[1].suggestion.gain && first.left < 1.0);
    let told = serde_json::to_value(&first).unwrap();
    let names: Vec<&String> = told["suggestions"][0].as_object().unwrap().keys().collect();
    let expected = ["name", "reason", "expected_error", "gain", "moves", "nearest", "leave_one_out"];
    assert_eq!(names, expected.map(str::to_string).iter().collect::<Vec<_>>());

    // With an example of every candidate nothing is left to say.
    let example = |named: &eigenskin::articulation::NamedPose| Example {
        name: named.name.clone(),
        pose: named.pose.clone(),
        positions: skin.shape(&named.pose),
        normals: None,
        inverted: None,
    };
    let set = ExampleSet::new(arm.rig.clone(), candidates.iter().map(example).collect()).unwrap();
    let known = Suggest { examples: Some(Arc::new(set)), ..job.clone() };
    assert!(known.run(&Unwatched).unwrap().suggestions.is_empty());
    let none = Suggest { settings: SuggestParams { count: 0 }, ..job };
    assert!(matches!(none.run(&Unwatched), Err(SuggestError::NoCount)));
}

#[test]
fn suggestions_are_written_as_poses_and_as_a_clip() {
    let arm = arm(600).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let file = file.with_clip("suggested", &[0.0], &[arm.rig.rest_pose()]).unwrap();
    eigenskin::io::write_rig(path("rig.glb"), &file).unwrap();
    let inputs = SuggestInputs { rig: RigSource::new(path("rig.glb")), ..SuggestInputs::default() };
    let opened = Suggest::open(&inputs, SuggestParams::default()).unwrap();
    // From what the joints can do, as nothing else was said.
    assert!(opened.ranges.is_some() && opened.guessed.is_none() && opened.thinned.is_none());
    let outcome = opened.job.run(&Unwatched).unwrap();
    outcome.write_poses(path("next.json"), &opened.job.rig).unwrap();
    let clip = outcome.write_clip(path("next.glb"), &opened.file).unwrap().unwrap();
    // The rig has a clip of that name.
    assert_eq!(clip, "suggested 2");
    let poses = read_poses(path("next.json"), &arm.rig).unwrap();
    let read = eigenskin::io::read_rig(path("next.glb"), &ReadOptions::default()).unwrap();
    for (key, (pose, suggested)) in poses.iter().zip(&outcome.suggestions).enumerate() {
        assert_eq!(pose.name, suggested.suggestion.name);
        let sampled = read.sample(read.clip_named(&clip).unwrap(), key as f64);
        for found in [&pose.pose, &sampled] {
            let pairs = found.world_from_joint.iter().zip(&suggested.pose.pose.world_from_joint);
            assert!(pairs.into_iter().all(|(a, b)| a.abs_diff_eq(*b, 1e-5)), "{}", pose.name);
        }
    }
    let walk = SuggestInputs { candidates: CandidateSource::Clip("walk".into()), ..inputs };
    let error = Suggest::open(&walk, SuggestParams::default()).unwrap_err().to_string();
    assert!(error.contains("no clip \"walk\"; there are suggested"), "{error}");
}

#[test]
fn settings_travel_as_json() {
    let settings = SuggestParams { count: 3 };
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<SuggestParams>(&text).unwrap(), settings);
    assert_eq!(serde_json::from_str::<SuggestParams>("{}").unwrap(), SuggestParams::default());
}
