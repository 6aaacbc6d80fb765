//! Models transferred without a command: values in, outcome out.

use std::sync::Arc;

use eigenskin::articulation::NamedPose;
use eigenskin::characters::truth::{SweptSkin, true_shape};
use eigenskin::characters::{Character, arm, square_bar};
use eigenskin::deformers::Base;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::{ModelWarning, ModelWriteOptions, Profile, RigFile};
use eigenskin::jobs::transfer::{
    Transfer, TransferInputs, TransferJobError, TransferOutcome, TransferSettings, TransferWarning,
};
use eigenskin::mesh::Mesh;
use eigenskin::method::{EigenSkinParams, fit_examples};
use eigenskin::progress::{Cancelled, Unwatched};
use eigenskin::rig::Rig;
use eigenskin::rig_source::{OpenedRig, RigSource};
use eigenskin::skinning::BaseSkinning;
use eigenskin::transfer::TransferError;

use crate::stop::Stop;

fn truth(character: &Character) -> ExampleSet {
    SweptSkin::new(character).examples(character.single_joint_poses(2)).unwrap()
}

/// A model of a fine arm, for a coarse one; the true shapes are of the coarse one.
fn to_coarse(settings: TransferSettings) -> Transfer {
    let (fine, coarse) = (arm(1_500).unwrap(), arm(400).unwrap());
    let model = fit_examples(&truth(&fine), &Base::default(), &EigenSkinParams::default().into(), &Unwatched)
        .unwrap()
        .model;
    let file = RigFile::from_rig(coarse.rig.clone(), "coarse").unwrap();
    Transfer {
        model: Arc::new(model),
        target: OpenedRig { file, guessed: None },
        truth: Some(Arc::new(truth(&coarse))),
        settings,
    }
}

fn relative_error(outcome: &TransferOutcome) -> f64 {
    outcome.evaluation.as_ref().unwrap().relative_error.unwrap()
}

#[test]
fn a_coarse_arm_gets_the_model_of_a_fine_one() {
    let job = to_coarse(TransferSettings { per_vertex: Some(3), ..TransferSettings::default() });
    let outcome = job.run(&Unwatched).unwrap();
    assert!(outcome.transferred.model.most_components_per_vertex() <= 3);
    let error = relative_error(&outcome);
    assert!(error < 0.5, "{error}");
    let json = serde_json::to_value(&outcome).unwrap();
    let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "against",
        "bytes",
        "components",
        "evaluation",
        "largest_gap",
        "most_per_vertex",
        "source_components",
        "targets",
        "vertices",
    ];
    assert_eq!(names, expected);
    assert_eq!(json["bytes"], outcome.glb.len());

    // True shapes of the fine mesh say much the same.
    let of_fine = Arc::new(truth(&arm(1_500).unwrap()));
    let other = Transfer { truth: Some(of_fine), ..job.clone() }.run(&Unwatched).unwrap();
    assert!((0.7..1.4).contains(&(relative_error(&other) / error)));

    // What is written is that model.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("coarse.glb");
    outcome.write(&path).unwrap();
    let (_, read) = eigenskin::io::read_model(&path).unwrap();
    assert_eq!(read.component_count(), outcome.transferred.model.component_count());
}

#[test]
fn files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let job = to_coarse(TransferSettings::default());
    let outcome = job.run(&Unwatched).unwrap();
    outcome.write(at("model.glb")).unwrap();
    eigenskin::io::write_rig(at("coarse.glb"), &job.target.file).unwrap();
    let inputs = TransferInputs {
        model: at("model.glb"),
        target: RigSource::new(at("coarse.glb")),
        truth: None,
        frames: None,
    };
    let again = Transfer::open(&inputs, TransferSettings::default()).unwrap().run(&Unwatched).unwrap();
    let count = |outcome: &TransferOutcome| outcome.transferred.model.component_count();
    assert_eq!(count(&again), count(&outcome));
    assert!(again.evaluation.is_none() && again.largest_gap() < 1e-6);
}

#[test]
fn another_character_is_refused() {
    let job = to_coarse(TransferSettings::default());
    let bar = RigFile::from_rig(square_bar().unwrap().rig, "bar").unwrap();
    let error = Transfer { target: OpenedRig { file: bar, guessed: None }, ..job.clone() }.run(&Unwatched);
    assert!(matches!(error, Err(TransferJobError::Transfer(TransferError::MissingJoint { .. }))));
    let settings = TransferSettings { averaging: f64::NAN, ..TransferSettings::default() };
    let error = Transfer { settings, ..job }.run(&Unwatched);
    assert!(matches!(error, Err(TransferJobError::Averaging { .. })));
}

#[test]
fn it_can_be_stopped() {
    let job = to_coarse(TransferSettings::default());
    assert!(matches!(job.run(&Stop), Err(TransferJobError::Cancelled(Cancelled))));
}

#[test]
fn settings_go_through_json() {
    let settings = TransferSettings {
        per_vertex: Some(4),
        max_components: None,
        keep_weights: true,
        averaging: 0.25,
        file: ModelWriteOptions { tolerance: 0.0, profile: Profile::Web, ..ModelWriteOptions::default() },
    };
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<TransferSettings>(&text).unwrap(), settings);
    assert_eq!(serde_json::from_str::<TransferSettings>("{}").unwrap(), TransferSettings::default());
}

/// A bar whose target is inside out: its sides are further apart than sides are looked for.
#[test]
fn a_mesh_that_is_inside_out_is_told() {
    let bar = square_bar().unwrap();
    let poses = bar.single_joint_poses(2).into_iter().map(|NamedPose { name, pose }| Example {
        positions: true_shape(&bar, &pose),
        name,
        pose,
        normals: None,
        inverted: None,
    });
    let set = ExampleSet::new(bar.rig.clone(), poses.collect()).unwrap();
    let learnt = |base: BaseSkinning| {
        let fit = fit_examples(&set, &base.into(), &EigenSkinParams::default().into(), &Unwatched);
        Arc::new(fit.unwrap().model)
    };
    let said = |rig: Arc<Rig>, base: BaseSkinning| {
        let file = RigFile::from_rig(rig, "bar").unwrap();
        let target = OpenedRig { file, guessed: None };
        let settings = TransferSettings::default();
        Transfer { model: learnt(base), target, truth: None, settings }.run(&Unwatched).unwrap().warnings()
    };
    let (linear, other) = (BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion);
    assert_eq!(said(bar.rig.clone(), linear), []);
    let mesh = bar.rig.mesh();
    let turned = mesh.triangles().iter().map(|&[a, b, c]| [a, c, b]).collect();
    let mesh = Mesh::new(mesh.positions().to_vec(), turned, None).unwrap();
    let rig = Rig::new(mesh, bar.rig.skeleton().clone(), bar.rig.weights().clone(), vec![]).unwrap();
    let vertices = rig.vertex_count();
    assert_eq!(said(Arc::new(rig), linear), [TransferWarning::FacesAway { vertices }]);

    // A model that viewers cannot play is one on another mesh too.
    let found = said(bar.rig.clone(), other);
    assert!(matches!(&found[..], [TransferWarning::Model(ModelWarning::OtherSkinning { .. })]), "{found:?}");
}
