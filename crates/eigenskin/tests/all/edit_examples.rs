//! Examples edited without files: an arm, sculpts of it, and its other side.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin::base::BaseChoice;
use eigenskin::characters::{Character, arm, truth::SweptSkin, two_arms::two_arms};
use eigenskin::glam::{DVec3, Vec3};
use eigenskin::gltf::{EditError, ExampleList, RigFile};
use eigenskin::io::SculptedShape;
use eigenskin::jobs::edit_examples::{
    Edit, EditDone, EditExamples, EditExamplesError, EditOutcome, ExampleListing, MirrorSettings, Sculpt,
    SculptSource, SkipReason,
};
use eigenskin::mirror::MirrorPlane;
use eigenskin::pose::{JointMotion, Pose};
use eigenskin::pose_source::{ClipMoment, PoseSource};
use eigenskin::progress::Unwatched;
use eigenskin::rig::Rig;
use eigenskin::skinning::{BaseSkinning, skinned_shape};
use serde_json::json;

use crate::stop::Stop;

fn sculpt(arm: &Character, name: &str, angles: &[f64]) -> Sculpt {
    let pose = arm.pose(angles);
    let shape = SculptedShape::new(&arm.rig, &pose, SweptSkin::new(arm).shape(&pose));
    Sculpt { name: name.to_string(), pose, shape, base: None }
}

fn edited(
    file: &RigFile,
    list: Option<ExampleList>,
    edit: Edit<Sculpt>,
) -> Result<EditOutcome, EditExamplesError> {
    EditExamples { file: file.clone(), list, edit }.run(&Unwatched)
}

#[test]
fn a_set_begins_with_a_sculpt_and_is_edited() {
    let arm = arm(600).unwrap();
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let bent = edited(&file, None, Edit::Add(sculpt(&arm, "bent", &[0.0, 0.0, -0.6]))).unwrap();
    assert_eq!(bent.done, EditDone::Added { name: "bent".into() });
    let far = Edit::Add(sculpt(&arm, "far", &[0.0, 0.0, -1.2]));
    let both = edited(&file, Some(bent.list), far).unwrap();
    let names = vec!["far".to_string()];
    let muted = edited(&file, Some(both.list), Edit::Mute { names: names.clone() }).unwrap();
    let renamed = Edit::Rename { from: "far".into(), to: "further".into() };
    let renamed = edited(&file, Some(muted.list), renamed).unwrap();
    assert_eq!(
        serde_json::to_value(&renamed).unwrap(),
        json!({ "done": "renamed far to further", "examples": ["bent", "further"], "muted": ["further"] })
    );
    let listing = ExampleListing::of(&renamed.list, &Unwatched).unwrap();
    assert!(!listing.examples[0].muted && listing.examples[1].muted);
    assert!((listing.examples[1].moves[0].amount - 1.2f64.to_degrees()).abs() < 1e-3);
    assert!(listing.examples[1].largest_delta > 1e-3);

    // What does not go is told with what there is, and the job leaves its own list alone.
    let list = renamed.list;
    let again = Edit::Add(sculpt(&arm, "again", &[0.0, 0.0, -0.6]));
    let error = edited(&file, Some(list.clone()), again).unwrap_err();
    assert!(matches!(error, EditExamplesError::Edit(EditError::Repeats { .. })), "{error}");
    let error = edited(&file, Some(list.clone()), Edit::Delete { names: names.clone() }).unwrap_err();
    assert!(error.to_string().contains("no example \"far\""), "{error}");
    let error = edited(&file, None, Edit::Mute { names }).unwrap_err();
    assert!(matches!(error, EditExamplesError::NoExamples), "{error}");
    let replaced = Sculpt { name: "bent".into(), ..sculpt(&arm, "", &[-0.5, 0.0, 0.0]) };
    let replaced = edited(&file, Some(list.clone()), Edit::Replace(replaced)).unwrap();
    assert_ne!(replaced.list.set.examples()[0], list.set.examples()[0]);
    assert_eq!(replaced.list.set.examples()[1], list.set.examples()[1]);
}

#[test]
fn results_go_where_they_can() {
    let arm = arm(600).unwrap();
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let add = Edit::Add(sculpt(&arm, "bent", &[0.0, 0.0, -0.6]));
    let begins = EditExamples { file: file.clone(), list: None, edit: add.clone() };
    let (rig, set, bundle) = (Path::new("rig.glb"), Path::new("set.glb"), Path::new("set.npz"));
    assert_eq!(begins.target(rig, Some(set)).unwrap(), set);
    assert!(matches!(begins.target(rig, None), Err(EditExamplesError::BeginsNowhere { .. })));
    let list = begins.run(&Unwatched).unwrap().list;
    let more = EditExamples { file, list: Some(list), edit: add };
    assert_eq!(more.target(set, None).unwrap(), set);
    assert!(matches!(more.target(bundle, None), Err(EditExamplesError::NotInPlace { .. })));
}

#[test]
fn edits_are_stopped_and_travel_as_json() {
    let arm = arm(600).unwrap();
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let add = Edit::Add(sculpt(&arm, "bent", &[0.0, 0.0, -0.6]));
    let stopped = EditExamples { file, list: None, edit: add }.run(&Stop);
    assert!(matches!(stopped, Err(EditExamplesError::Cancelled(_))));

    let source = SculptSource {
        path: PathBuf::from("fist.obj"),
        node: None,
        rest: Some(PathBuf::from("rest.obj")),
        name: Some("fist".into()),
        pose: Some(PoseSource::Clip {
            clip: "poses".into(),
            at: Some(ClipMoment::Time(0.5)),
            from: Some(PathBuf::from("other.glb")),
        }),
        base: Some(BaseChoice::File(PathBuf::from("arm.toml"))),
    };
    let mirror = MirrorSettings {
        names: vec!["up.L".into()],
        plane: Some(MirrorPlane { axis: 1, centre: 0.25 }),
        joint_pairs: vec![("a".into(), "b".into())],
        tolerance: 0.01,
        replace: true,
    };
    let edits = [
        Edit::Add(source.clone()),
        Edit::Replace(SculptSource {
            pose: None,
            base: Some(BaseChoice::Skinning(BaseSkinning::DualQuaternion)),
            ..source
        }),
        Edit::Rename { from: "a".into(), to: "b".into() },
        Edit::Unmute { names: vec!["a".into()] },
        Edit::Mirror(mirror),
        Edit::Mirror(MirrorSettings::default()),
    ];
    for edit in edits {
        let text = serde_json::to_string(&edit).unwrap();
        let read: Edit<SculptSource> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, edit, "{text}");
    }
    // What is not said is the default.
    let read: MirrorSettings = serde_json::from_str(r#"{ "plane": "x" }"#).unwrap();
    let plane = Some(MirrorPlane { axis: 0, centre: 0.0 });
    assert_eq!(read, MirrorSettings { plane, ..MirrorSettings::default() });
    assert!(serde_json::from_str::<MirrorSettings>(r#"{ "plane": "w" }"#).is_err());
}

/// The left arm lifted by `degrees`, fatter than plain skinning has it.
fn lifted(rig: &Rig, name: &str, degrees: f64, fat: f32) -> Sculpt {
    let still = JointMotion { rotation: eigenskin::glam::DQuat::IDENTITY, translation: DVec3::ZERO };
    let turned =
        JointMotion { rotation: eigenskin::glam::DQuat::from_rotation_z(degrees.to_radians()), ..still };
    let pose = Pose::of_motions(rig.skeleton(), &[still, turned, still], vec![]);
    let positions = skinned_shape(BaseSkinning::LinearBlend, rig, &pose)
        .into_iter()
        .map(|p| p * Vec3::new(1.0, 1.0, fat));
    let shape = SculptedShape::new(rig, &pose, positions.collect());
    Sculpt { name: name.to_string(), pose, shape, base: None }
}

#[test]
fn the_other_side_is_made_once_and_replaced_when_asked() {
    let rig = Arc::new(two_arms());
    let file = RigFile::from_rig(rig.clone(), "arms").unwrap();
    let one = edited(&file, None, Edit::Add(lifted(&rig, "up.L", 60.0, 1.2))).unwrap().list;
    let mirror = |list: &ExampleList, settings: MirrorSettings| {
        edited(&file, Some(list.clone()), Edit::Mirror(settings))
    };
    let both = mirror(&one, MirrorSettings::default()).unwrap();
    let made = vec![("up.R".to_string(), "up.L".to_string())];
    assert_eq!(both.done, EditDone::Mirrored { pairs: made.clone() });
    let report = both.mirror.unwrap();
    assert_eq!((report.joint_pairs, report.middle_joints, &report.made), (1, 1, &made));
    assert!(report.unpaired_joints.is_empty() && report.asymmetric_vertices.is_empty());
    let [left, right] = [0, 1].map(|example| both.list.set.examples()[example].clone());
    for ring in 0..17 {
        for corner in 0..4 {
            let (here, there) =
                (left.positions[4 * ring + corner], right.positions[4 * (16 - ring) + corner]);
            assert!(there.distance(here * Vec3::new(-1.0, 1.0, 1.0)) < 1e-5, "{ring}, {corner}");
        }
    }

    // Again: nothing is left to do.
    let again = mirror(&both.list, MirrorSettings::default()).unwrap();
    assert!(!again.changed() && again.list == both.list);
    let skipped = again.mirror.unwrap().skipped;
    assert_eq!(skipped[0].reason, SkipReason::There { name: "up.R".into() });

    // Another shape on one side: the other is made anew only when asked, and by name.
    let fatter = Edit::Replace(lifted(&rig, "up.L", 60.0, 1.4));
    let fatter = edited(&file, Some(both.list), fatter).unwrap().list;
    let names = vec!["up.L".to_string()];
    let error = mirror(&fatter, MirrorSettings { names: names.clone(), ..MirrorSettings::default() });
    let error = error.unwrap_err();
    assert!(matches!(error, EditExamplesError::OtherSideDiffers { differs: "shape", .. }), "{error}");
    let replace = MirrorSettings { replace: true, ..MirrorSettings::default() };
    let error = mirror(&fatter, replace.clone()).unwrap_err();
    assert!(matches!(error, EditExamplesError::ReplaceNeedsNames), "{error}");
    let anew = mirror(&fatter, MirrorSettings { names, ..replace }).unwrap();
    assert!(anew.changed() && anew.list.set.len() == 2);
    assert_ne!(anew.list.set.examples()[1], right);
}
