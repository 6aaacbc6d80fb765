//! Motions baked without a command: values in, outcome out.

use std::path::Path;
use std::sync::{Arc, Mutex};

use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, arm};
use eigenskin::deformers::Base;
use eigenskin::evaluate::Evaluator;
use eigenskin::glam::Vec3;
use eigenskin::gltf::internals::append::{self, Usage};
use eigenskin::gltf::{FileKind, ModelWriteOptions, Profile, ReadOptions, RigFile, rig_of};
use eigenskin::io::Bvh;
use eigenskin::jobs::bake::{
    Bake, BakeError, BakeInputs, BakeOutputs, BakeSettings, BakeWarning, MotionInput, MotionSource,
};
use eigenskin::method::{EigenSkinParams, fit_examples};
use eigenskin::model::Model;
use eigenskin::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin::rig_source::{OpenedRig, RigSource};
use eigenskin::skinning::BaseSkinning;

use crate::stop::Stop;

const WAVE: &str = "HIERARCHY\nROOT Shoulder\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\nJOINT Arm\n{\nOFFSET 10 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 26 0 0\n}\n}\n}\nMOTION\nFrames: 3\nFrame Time: 0.1\n0 0 0 0 0 0  0 0 0\n0 1 0 0 0 0  0 0 20\n0 2 0 0 0 9  0 9 20\n";

fn arm_file(character: &Character) -> RigFile {
    let (times, poses) = character.demo_motion();
    RigFile::from_rig(character.rig.clone(), "arm").unwrap().with_clip("demo", &times, &poses).unwrap()
}

/// The arm with its own clip, as a model, or as a plain rig.
fn own_clip(settings: BakeSettings, fitted: bool) -> Bake {
    let character = arm(300).unwrap();
    let file = arm_file(&character);
    let model = if fitted {
        let set = SweptSkin::new(&character).examples(character.single_joint_poses(2)).unwrap();
        fit_examples(&set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap().model
    } else {
        Model::without_corrections(character.rig.clone(), BaseSkinning::LinearBlend)
    };
    let clip = file.clips()[0].clone();
    Bake {
        rig: OpenedRig { file, guessed: None },
        model: Arc::new(model),
        motion: MotionInput::Own(clip),
        settings,
    }
}

#[test]
fn shapes_are_those_of_the_model_in_the_poses_of_the_clip() {
    let job = own_clip(BakeSettings { rate: Some(10.0), ..BakeSettings::default() }, true);
    let outcome = job.run(&Unwatched).unwrap();
    assert_eq!(outcome.motion.name, "demo");
    assert!(outcome.matching.is_none() && outcome.warnings.is_empty());
    let mut shapes: Vec<Vec<Vec3>> = Vec::new();
    let take = |positions: &[Vec3], _: &[Vec3]| {
        shapes.push(positions.to_vec());
        Ok(())
    };
    outcome.each_shape(take, &Unwatched).unwrap();
    assert_eq!(shapes.len(), outcome.motion.poses.len());
    let mut evaluator = Evaluator::new(job.model.clone());
    let mut expected = vec![Vec3::ZERO; job.model.rig().vertex_count()];
    for (pose, shape) in outcome.motion.poses.iter().zip(&shapes) {
        evaluator.evaluate(pose, &mut expected, None);
        let furthest = shape.iter().zip(&expected).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        assert!(furthest <= 1e-6 * outcome.size as f32, "{furthest}");
    }
    let json = serde_json::to_value(&outcome).unwrap();
    let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["clip", "duration", "frames", "size", "times", "written"]);
    assert_eq!(json["frames"], shapes.len());
}

#[test]
fn motion_capture_is_retargeted_and_its_joints_are_told() {
    let settings = BakeSettings {
        map: Some([("shoulder", "Shoulder"), ("upper-arm", "Arm")].map(|(a, b)| (a.into(), b.into())).into()),
        ..BakeSettings::default()
    };
    let capture = |text: &str| MotionInput::Capture {
        name: "wave".into(),
        bvh: Bvh::parse(text).unwrap(),
        path: "wave.bvh".into(),
    };
    let job = Bake { motion: capture(WAVE), ..own_clip(settings, false) };
    let outcome = job.run(&Unwatched).unwrap();
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["matched"][1], serde_json::json!({ "joint": "upper-arm", "source": "Arm" }));
    assert_eq!(json["unmatched"], serde_json::json!(["forearm", "forearm-twist", "hand"]));
    assert_eq!((json["unused"].as_array().unwrap().len(), &json["clip"]), (0, &"wave".into()));
    let clips: Vec<&str> = outcome.file.clips().iter().map(|clip| clip.name.as_str()).collect();
    assert_eq!(clips, ["demo", "wave"]);

    // Nothing in common without the map; the file is named.
    let settings = BakeSettings::default();
    let error = Bake { settings, ..job }.run(&Unwatched).unwrap_err();
    assert!(error.to_string().starts_with("wave.bvh: "), "{error}");
}

#[test]
fn own_clips_are_not_retargeted() {
    let job = own_clip(BakeSettings { align: true, ..BakeSettings::default() }, false);
    assert!(matches!(job.run(&Unwatched), Err(BakeError::OwnClipFits)));
}

#[test]
fn files_are_read_and_clips_are_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arm.glb");
    let character = arm(300).unwrap();
    let (times, poses) = character.demo_motion();
    eigenskin::io::write_rig(&path, &arm_file(&character)).unwrap();
    let open = |clip: Option<&str>| {
        let motion = MotionSource::Own { clip: clip.map(str::to_string) };
        let inputs = BakeInputs { model: RigSource::new(&path), motion };
        Bake::open(&inputs, BakeSettings::default())
    };
    assert!(matches!(&open(None).unwrap().motion, MotionInput::Own(clip) if clip.name == "demo"));
    let error = open(Some("run")).unwrap_err();
    assert!(matches!(&error, BakeError::UnknownClip { known, .. } if known == &["demo"]), "{error}");

    let two = arm_file(&character).with_clip("run", &times, &poses).unwrap();
    eigenskin::io::write_rig(&path, &two).unwrap();
    let error = open(None).unwrap_err();
    assert!(matches!(&error, BakeError::SeveralClips { known, .. } if known.len() == 2), "{error}");
    let none = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    eigenskin::io::write_rig(&path, &none).unwrap();
    assert!(matches!(open(Some("run")), Err(BakeError::NoClips { .. })));
}

/// Stops at the third posed shape.
struct StopPosing(Mutex<usize>);

impl Progress for StopPosing {
    fn step(&self, step: Step<'_>) -> Result<(), Cancelled> {
        let mut posed = self.0.lock().unwrap();
        *posed += usize::from(step.doing == "posing");
        if *posed >= 3 { Err(Cancelled) } else { Ok(()) }
    }
}

fn outputs(folder: &Path) -> BakeOutputs {
    BakeOutputs {
        glb: Some(folder.join("out.glb")),
        obj: Some(folder.join("frames")),
        pc2: Some(folder.join("out.pc2")),
    }
}

#[test]
fn all_is_written_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let job = own_clip(BakeSettings::default(), true);
    assert!(matches!(job.run(&Stop), Err(BakeError::Cancelled(Cancelled))));
    let mut outcome = job.run(&Unwatched).unwrap();
    let stopped = outcome.write(&outputs(folder.path()), &StopPosing(Mutex::new(0)));
    assert!(matches!(stopped, Err(BakeError::Cancelled(Cancelled))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(outcome.written.is_empty());

    let written = outcome.write(&outputs(folder.path()), &Unwatched).unwrap();
    let frames = outcome.motion.poses.len();
    assert_eq!(written.obj_frames, Some(frames));
    assert_eq!(std::fs::read_dir(folder.path().join("frames")).unwrap().count(), frames);
    let bytes = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len() as usize;
    assert_eq!(written.pc2_bytes, Some(bytes("out.pc2")));
    assert_eq!(written.glb.unwrap().bytes, bytes("out.glb"));
    assert_eq!(outcome.written.len(), 3);

    // A shorter motion into the same folder.
    let mut short = outcome.clone();
    short.motion.poses.truncate(2);
    short.motion.times.truncate(2);
    let frames_only = BakeOutputs { obj: Some(folder.path().join("frames")), ..BakeOutputs::default() };
    let written = short.write(&frames_only, &Unwatched).unwrap();
    assert!(matches!(&written.warnings[..], [BakeWarning::OlderFrames { .. }]), "{:?}", written.warnings);
}

#[test]
fn settings_go_through_json() {
    let settings = BakeSettings {
        rate: Some(24.0),
        map: Some([("a".to_string(), "b".to_string())].into()),
        align: true,
        file: ModelWriteOptions { tolerance: 0.0, profile: Profile::Web, ..ModelWriteOptions::default() },
    };
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<BakeSettings>(&text).unwrap(), settings);
    assert_eq!(serde_json::from_str::<BakeSettings>("{}").unwrap(), BakeSettings::default());
    assert!(serde_json::from_str::<BakeSettings>(r#"{ "speed": 2 }"#).is_err());
}

/// The arm's clip at these times, as steps or not, with a morph target of the file's own or not.
fn clip_at(times: &[f64], steps: bool, own_target: bool) -> RigFile {
    let character = arm(300).unwrap();
    let poses: Vec<_> = times.iter().map(|time| character.pose(&[0.0, 0.0, -0.3 * time])).collect();
    let file =
        RigFile::from_rig(character.rig.clone(), "arm").unwrap().with_clip("bend", times, &poses).unwrap();
    let mut document = file.document().clone();
    if steps {
        for sampler in document.entry_mut("animations", 0).unwrap()["samplers"].as_array_mut().unwrap() {
            sampler["interpolation"] = "STEP".into();
        }
    }
    if own_target {
        let bump = vec![Vec3::Y * 0.01; character.rig.vertex_count()];
        let target = append::vec3(&mut document, "bump", &bump, Usage::Vertices, true).unwrap();
        let mesh = document.entry_mut("meshes", 0).unwrap();
        mesh["primitives"][0]["targets"] = serde_json::json!([{ "POSITION": target }]);
    }
    rig_of(document, &ReadOptions::default()).unwrap()
}

/// Its name; a new warning is not compiled until it has one, and then needs a case below.
fn kind(warning: &BakeWarning) -> &'static str {
    match warning {
        BakeWarning::StepsRamp { .. } => "steps ramp",
        BakeWarning::OwnTargets => "own targets",
        BakeWarning::UnevenKeys => "uneven keys",
        BakeWarning::ShortLastStep { .. } => "short last step",
        BakeWarning::OlderFrames { .. } => "older frames",
        BakeWarning::Model(_) => "model",
    }
}

/// Each warning where it is true, and in nothing that differs from it by one thing. Older frames are above.
#[test]
fn warnings_are_said_where_they_are_true() {
    let folder = tempfile::tempdir().unwrap();
    let [even, uneven] = [[0.0, 0.5, 1.0], [0.0, 0.2, 1.0]];
    let (obj, pc2) = (Some(folder.path().join("frames")), Some(folder.path().join("out.pc2")));
    let [nothing, shapes, cache] = [
        BakeOutputs::default(),
        BakeOutputs { obj, ..BakeOutputs::default() },
        BakeOutputs { pc2, ..BakeOutputs::default() },
    ];
    let linear = BaseSkinning::LinearBlend;
    let character = arm(300).unwrap();
    let set = SweptSkin::new(&character).examples(character.single_joint_poses(2)).unwrap();
    let said = |mut file: RigFile, rate: Option<f64>, outputs: &BakeOutputs, base: BaseSkinning| {
        let fit = fit_examples(&set, &base.into(), &EigenSkinParams::default().into(), &Unwatched);
        let model = Arc::new(fit.unwrap().model);
        file.kind = FileKind::Model;
        let motion = MotionInput::Own(file.clips()[0].clone());
        let settings = BakeSettings { rate, ..BakeSettings::default() };
        let rig = OpenedRig { file, guessed: None };
        let mut outcome = Bake { rig, model, motion, settings }.run(&Unwatched).unwrap();
        let written = outcome.write(outputs, &Unwatched).unwrap();
        let all = outcome.warnings.iter().chain(&written.warnings);
        all.map(kind).collect::<Vec<_>>()
    };
    assert_eq!(said(clip_at(&even, true, false), Some(10.0), &nothing, linear), ["steps ramp"]);
    assert!(said(clip_at(&even, true, false), None, &nothing, linear).is_empty());
    assert!(said(clip_at(&even, false, false), Some(10.0), &nothing, linear).is_empty());

    assert_eq!(said(clip_at(&even, false, true), None, &shapes, linear), ["own targets"]);
    assert!(said(clip_at(&even, false, true), None, &nothing, linear).is_empty());
    assert!(said(clip_at(&even, false, false), None, &shapes, linear).is_empty());

    assert_eq!(said(clip_at(&uneven, false, false), None, &cache, linear), ["uneven keys"]);
    assert!(said(clip_at(&uneven, false, false), None, &shapes, linear).is_empty());
    assert!(said(clip_at(&uneven, false, false), Some(10.0), &cache, linear).is_empty());
    assert!(said(clip_at(&even, false, false), None, &cache, linear).is_empty());

    assert_eq!(said(clip_at(&even, false, false), Some(3.3), &cache, linear), ["short last step"]);
    assert!(said(clip_at(&even, false, false), Some(4.0), &cache, linear).is_empty());

    let glb = BakeOutputs { glb: Some(folder.path().join("out.glb")), ..BakeOutputs::default() };
    assert_eq!(said(clip_at(&even, false, false), None, &glb, BaseSkinning::DualQuaternion), ["model"]);
    assert!(said(clip_at(&even, false, false), None, &glb, linear).is_empty());
}
