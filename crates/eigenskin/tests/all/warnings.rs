//! Every warning about a model is said where it is true, and only there.

use std::collections::BTreeSet;
use std::sync::Arc;

use eigenskin::characters::{Character, arm, mouth_expressions};
use eigenskin::deformers::{Base, Deformer, DeformerStack};
use eigenskin::examples::{Example, ExampleSet, Inverted};
use eigenskin::glam::{DAffine3, DQuat, Vec3};
use eigenskin::mesh::Mesh;
use eigenskin::method::{
    DeltaSpace, EigenSkinParams, Fit, FitWarning, Method, ParameterizationParams, PsdInterpolation,
    PsdParams, fit_examples,
};
use eigenskin::metrics::evaluate_against;
use eigenskin::model::{Frame, Model, Stage};
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;
use eigenskin::reports::{NotShown, ViewerLoss};
use eigenskin::rig::{Control, Rig};
use eigenskin::skeleton::Skeleton;
use eigenskin::skinning::{BaseSkinning, skinned_shape};
use eigenskin::weights::{Influence, SkinWeights};
use eigenskin_gltf::internals::append::{self, Usage};
use eigenskin_gltf::{ModelWarning, ModelWriteOptions, Profile, ReadOptions, RigFile, model_glb, rig_of};
use serde_json::json;

/// The arm with the elbow bent, and a bulge.
fn bent(character: &Character, angle: f64) -> Example {
    example(&character.rig, &format!("bent {angle}"), character.pose(&[0.0, 0.0, angle]))
}

/// The arm with the forearm twisted by half a turn: linear blending collapses.
fn twisted(character: &Character) -> Example {
    let rig = &character.rig;
    let skeleton = rig.skeleton();
    let (elbow, wrist) = (skeleton.rest_position(2), skeleton.rest_position(3));
    let turn = DQuat::from_axis_angle((wrist - elbow).normalize(), std::f64::consts::PI);
    let twist =
        DAffine3::from_translation(elbow) * DAffine3::from_quat(turn) * DAffine3::from_translation(-elbow);
    let mut pose = rig.rest_pose();
    for joint in &mut pose.world_from_joint[2..] {
        *joint = twist * *joint;
    }
    let positions = skinned_shape(BaseSkinning::DualQuaternion, rig, &pose);
    Example { name: "twisted".to_string(), pose, positions, normals: None, inverted: None }
}

fn example(rig: &Rig, name: &str, pose: Pose) -> Example {
    let mut positions = skinned_shape(BaseSkinning::LinearBlend, rig, &pose);
    let forearm = pose.world_from_joint[2].translation.as_vec3();
    for position in &mut positions {
        let near = (-200.0 * position.distance_squared(forearm)).exp();
        position.y += 0.02 * near;
    }
    Example { name: name.to_string(), pose, positions, normals: None, inverted: None }
}

fn set(character: &Character, examples: Vec<Example>) -> ExampleSet {
    ExampleSet::new(character.rig.clone(), examples).unwrap()
}

fn learnt(set: &ExampleSet, base: &Base, method: impl Into<Method>) -> Fit {
    fit_examples(set, base, &method.into(), &Unwatched).unwrap()
}

fn stack() -> Base {
    let steps = vec![Deformer::Skinning(BaseSkinning::LinearBlend)];
    Base::Deformers(Arc::new(DeformerStack { name: "fleshy".to_string(), steps }))
}

/// Its name; a new warning is not compiled until it has one, and then needs a case below.
fn kind(warning: &ModelWarning) -> &'static str {
    match warning {
        ModelWarning::OtherSkinning { .. } => "other skinning",
        ModelWarning::Deformers { .. } => "deformers",
        ModelWarning::AfterSkinning { .. } => "after skinning",
        ModelWarning::NoNormals => "no normals",
        ModelWarning::Limit(_) => "limit",
        ModelWarning::NotForWeb { .. } => "not for web",
        ModelWarning::StepsRamp { .. } => "steps ramp",
        ModelWarning::TooLong { .. } => "too long",
    }
}

/// The kinds of warnings that writing a model gives.
fn said(file: &RigFile, model: &Model, profile: Profile) -> BTreeSet<&'static str> {
    let options = ModelWriteOptions { profile, ..ModelWriteOptions::default() };
    let (_, report) = model_glb(file, model, &options).unwrap();
    assert!(report.warnings.iter().all(|warning| warning.to_string().len() > 20));
    report.warnings.iter().map(kind).collect()
}

#[test]
fn writing_a_model_says_what_viewers_will_not_do() {
    let arm = arm(300).unwrap();
    let examples = set(&arm, vec![bent(&arm, -0.8), bent(&arm, -1.6)]);
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let plain = learnt(&examples, &Base::default(), EigenSkinParams::default()).model;
    let nothing = BTreeSet::new();
    assert_eq!(said(&file, &plain, Profile::Plain), nothing);
    assert_eq!(said(&file, &plain, Profile::Web), nothing);

    let rounder = learnt(&examples, &BaseSkinning::DualQuaternion.into(), EigenSkinParams::default()).model;
    assert_eq!(said(&file, &rounder, Profile::Plain), BTreeSet::from(["other skinning"]));
    let deformed = Model::new(arm.rig.clone(), stack(), vec![]).unwrap();
    assert_eq!(said(&file, &deformed, Profile::Plain), BTreeSet::from(["deformers"]));
    let forward = PsdParams { deltas: DeltaSpace::Forward { frame: Frame::Root }, ..PsdParams::default() };
    let forward = learnt(&examples, &Base::default(), forward).model;
    assert_eq!(said(&file, &forward, Profile::Plain), BTreeSet::from(["after skinning"]));

    let mut bare = file.document().clone();
    bare.entry_mut("meshes", 0).unwrap()["primitives"][0]["attributes"]
        .as_object_mut()
        .unwrap()
        .remove("NORMAL");
    let bare = rig_of(bare, &ReadOptions::default()).unwrap();
    assert_eq!(said(&bare, &plain, Profile::Plain), BTreeSet::from(["no normals"]));
    let without = EigenSkinParams { normals: false, ..EigenSkinParams::default() };
    let without = learnt(&examples, &Base::default(), without).model;
    assert_eq!(said(&bare, &without, Profile::Plain), nothing);

    for (influences, right) in [(4, nothing.clone()), (5, BTreeSet::from(["limit"]))] {
        let rig = Arc::new(with_influences(&arm.rig, influences));
        let file = RigFile::from_rig(rig.clone(), "arm").unwrap();
        let model = Model::without_corrections(rig, BaseSkinning::LinearBlend);
        assert_eq!(said(&file, &model, Profile::Plain), right);
    }

    let mouth = mouth_expressions().unwrap();
    let face = RigFile::from_rig(mouth.rig().clone(), "mouth").unwrap();
    let model = learnt(&mouth, &Base::default(), PsdParams::default()).model;
    assert_eq!(said(&face, &model, Profile::Plain), nothing);
    assert_eq!(said(&face, &model, Profile::Web), BTreeSet::from(["not for web"]));

    let poses = [arm.rig.rest_pose(), arm.pose(&[0.0, 0.0, -1.0])];
    for (seconds, right) in [(1e3, nothing), (1e6, BTreeSet::from(["too long"]))] {
        let file = file.clone().with_clip("slow", &[0.0, seconds], &poses).unwrap();
        assert_eq!(said(&file, &plain, Profile::Plain), right, "{seconds} s");
    }
}

/// So many joints, of equal weight, at every vertex.
fn with_influences(rig: &Rig, count: u32) -> Rig {
    let all = (0..count).map(|joint| Influence { joint, weight: 1.0 / count as f32 }).collect::<Vec<_>>();
    let rows = vec![all; rig.vertex_count()];
    let (weights, _) = SkinWeights::new(rig.skeleton().joint_count(), rows).unwrap();
    Rig::new(rig.mesh().clone(), rig.skeleton().clone(), weights, vec![]).unwrap()
}

/// Morph weights of the file that jump, beside joints that do not: in one channel they ramp.
#[test]
fn weights_that_jumped_are_told_beside_joints_that_do_not() {
    let arm = arm(300).unwrap();
    let examples = set(&arm, vec![bent(&arm, -0.8), bent(&arm, -1.6)]);
    let model = learnt(&examples, &Base::default(), EigenSkinParams::default()).model;
    let poses = [arm.rig.rest_pose(), arm.pose(&[0.0, 0.0, -1.0])];
    let file =
        RigFile::from_rig(arm.rig.clone(), "arm").unwrap().with_clip("nod", &[0.0, 1.0], &poses).unwrap();
    for (interpolation, right) in [("LINEAR", BTreeSet::new()), ("STEP", BTreeSet::from(["steps ramp"]))] {
        let mut document = file.document().clone();
        let bump = vec![Vec3::Y * 0.01; arm.rig.vertex_count()];
        let target = append::vec3(&mut document, "bump", &bump, Usage::Vertices, true).unwrap();
        let times = append::scalars(&mut document, "times", &[0.0, 1.0], true).unwrap();
        let weights = append::scalars(&mut document, "weights", &[0.0, 1.0], false).unwrap();
        let mesh = document.entry_mut("meshes", 0).unwrap();
        mesh["primitives"][0]["targets"] = json!([{ "POSITION": target }]);
        mesh["weights"] = json!([0.0]);
        let node = document.array("nodes").iter().position(|node| node.get("mesh").is_some()).unwrap();
        let clip = document.entry_mut("animations", 0).unwrap();
        let samplers = clip["samplers"].as_array_mut().unwrap();
        samplers.push(json!({"input": times, "output": weights, "interpolation": interpolation}));
        let sampler = samplers.len() - 1;
        let channel = json!({"sampler": sampler, "target": {"node": node, "path": "weights"}});
        clip["channels"].as_array_mut().unwrap().push(channel);
        let file = rig_of(document, &ReadOptions::default()).unwrap();
        assert_eq!(said(&file, &model, Profile::Plain), right, "{interpolation}");
    }
}

#[test]
fn what_skinning_cannot_reach_is_told_by_pose_space_deformation_and_parameterization() {
    let arm = arm(300).unwrap();
    let easy = set(&arm, vec![bent(&arm, -0.8), bent(&arm, -1.6)]);
    let hard = set(&arm, vec![bent(&arm, -0.8), twisted(&arm)]);
    let warnings = |set: &ExampleSet, method: Method| learnt(set, &Base::default(), method).warnings();
    let psd = || Method::from(PsdParams::default());
    let forward = PsdParams { deltas: DeltaSpace::Forward { frame: Frame::Root }, ..PsdParams::default() };
    let signals = || Method::from(ParameterizationParams::default());

    assert_eq!(warnings(&easy, psd()), []);
    let found = warnings(&hard, psd());
    let [FitWarning::AddedAfterSkinning { example, distance }] = &found[..] else { panic!("{found:?}") };
    assert!(example == "twisted" && *distance > 0.01, "{example}: {distance}");
    assert_eq!(warnings(&hard, forward.into()), []);
    // It is added, not missed: the model meets the example.
    let model = Arc::new(learnt(&hard, &Base::default(), psd()).model);
    let miss = evaluate_against(&model, &hard, &Unwatched).unwrap().model.max;
    assert!(miss < 1e-5 * arm.rig.mesh().size(), "{miss}");

    assert_eq!(warnings(&easy, signals()), []);
    assert_eq!(warnings(&hard, signals()), [FitWarning::ResidualsIgnored { examples: 1 }]);
    for method in [EigenSkinParams::default().into(), Method::default()] {
        assert_eq!(warnings(&hard, method), []);
    }
}

/// What a chain leaves is added after it: that is no collapse of skinning, and nothing is missed.
#[test]
fn what_deformers_leave_is_not_called_a_collapse() {
    let arm = arm(300).unwrap();
    let mut example = bent(&arm, -1.0);
    let deltas = vec![Vec3::Y * 0.01; example.positions.len()];
    let residuals = vec![Vec3::X * 0.5; example.positions.len()];
    example.inverted = Some(Inverted { base: stack(), deltas, residuals });
    let fit = learnt(&set(&arm, vec![example]), &stack(), PsdParams::default());
    assert!(fit.learnt.psd().unwrap().examples[0].unreachable > 0.4);
    assert!(fit.model.layers().iter().any(|layer| layer.stage != Stage::BeforeSkinning));
    assert_eq!(fit.warnings(), []);
}

#[test]
fn weights_that_miss_their_examples_are_told() {
    let arm = arm(300).unwrap();
    // Weights linear in the pose cannot be one at each of three angles and zero at the others.
    let examples = set(&arm, [-0.5, -1.0, -1.5].map(|angle| bent(&arm, angle)).to_vec());
    let linear = PsdParams { interpolation: PsdInterpolation::Linear, ..PsdParams::default() };
    let found = learnt(&examples, &Base::default(), linear.clone()).warnings();
    assert!(
        matches!(&found[..], [FitWarning::NotExact { space, miss }] if space == "forearm" && *miss > 0.1)
    );
    assert_eq!(learnt(&examples, &Base::default(), PsdParams::default()).warnings(), []);
    let one = set(&arm, vec![bent(&arm, -1.0)]);
    assert_eq!(learnt(&one, &Base::default(), linear).warnings(), []);
}

#[test]
fn viewers_lose_what_is_not_linear_skinning_and_nothing_else() {
    let arm = arm(300).unwrap();
    let easy = set(&arm, vec![bent(&arm, -0.8), bent(&arm, -1.6)]);
    let hard = set(&arm, vec![bent(&arm, -0.8), twisted(&arm)]);
    let forward = PsdParams { deltas: DeltaSpace::Forward { frame: Frame::Root }, ..PsdParams::default() };
    let lost = |set: &ExampleSet, model: Model| {
        let model = Arc::new(model);
        // A chain of deformers is posed by others: any figures do.
        let linear = Arc::new(Model::without_corrections(model.rig().clone(), BaseSkinning::LinearBlend));
        let measured = evaluate_against(&linear, set, &Unwatched).unwrap();
        ViewerLoss::of(&model, set, &measured, &Unwatched).unwrap().map(|loss| loss.not_shown)
    };
    let of = |set, base: Base, params: PsdParams| lost(set, learnt(set, &base, params).model);
    assert_eq!(of(&easy, Base::default(), PsdParams::default()), None);
    assert_eq!(of(&hard, Base::default(), PsdParams::default()), Some(NotShown::Residual));
    assert_eq!(of(&easy, Base::default(), forward), Some(NotShown::Corrections));
    let rounder = BaseSkinning::DualQuaternion;
    assert_eq!(of(&easy, rounder.into(), PsdParams::default()), Some(NotShown::Skinning(rounder)));
    let deformed = Model::new(arm.rig.clone(), stack(), vec![]).unwrap();
    assert_eq!(lost(&easy, deformed), Some(NotShown::Deformers("fleshy".to_string())));
}

/// Lips that touch at rest and part: nothing turns, so nothing is added after skinning, and no joint's twist is to
/// blame.
#[test]
fn a_face_without_joints_has_nothing_after_skinning() {
    let lip =
        |side: f32| [-1.0, 0.0, 1.0].map(|x| [Vec3::new(x, 0.0, 0.0), Vec3::new(x, side, 0.0)]).concat();
    let positions = [lip(1.0), lip(-1.0)].concat();
    let triangles =
        vec![[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5], [6, 7, 8], [7, 9, 8], [8, 9, 10], [9, 11, 10]];
    let mesh = Mesh::new(positions.clone(), triangles, None).unwrap();
    let controls = ["open", "pout"].map(|name| Control { name: name.to_string(), default: 0.0 }).to_vec();
    let weights = SkinWeights::none(positions.len());
    let rig = Arc::new(Rig::new(mesh, Skeleton::empty(), weights, controls).unwrap());
    let shape = |open: f64, pout: f64| {
        let moved = positions.iter().enumerate().map(|(vertex, rest)| {
            let side = if vertex < 6 { 1.0 } else { -1.0 };
            *rest + Vec3::new(0.0, side * 0.3 * open as f32, 0.2 * pout as f32 * (1.0 - rest.x * rest.x))
        });
        let pose = Pose { world_from_joint: vec![], controls: vec![open, pout] };
        let name = format!("open {open} pout {pout}");
        Example { name, pose, positions: moved.collect(), normals: None, inverted: None }
    };
    let examples = vec![shape(0.5, 0.0), shape(1.0, 0.0), shape(0.0, 1.0), shape(1.0, 1.0)];
    let set = ExampleSet::new(rig, examples).unwrap();
    for method in [
        Method::default(),
        EigenSkinParams::default().into(),
        PsdParams::default().into(),
        ParameterizationParams::default().into(),
    ] {
        let name = method.name();
        let fit = learnt(&set, &Base::default(), method);
        assert!(fit.model.layers().iter().all(|layer| layer.stage == Stage::BeforeSkinning), "{name}");
        assert_eq!(fit.warnings(), [], "{name}");
        let measured = evaluate_against(&Arc::new(fit.model.clone()), &set, &Unwatched).unwrap();
        assert_eq!(ViewerLoss::of(&fit.model, &set, &measured, &Unwatched).unwrap(), None, "{name}");
    }
}
