//! Example sets are checked when they are made, and name what is wrong.

use std::sync::Arc;

use eigenskin_characters::tube::{set_of, sweeps, tube};
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::glam::{DAffine3, DQuat, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::rig::{Rig, RigError};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};

fn refused(change: impl Fn(&mut Example)) -> ExamplesError {
    let rig = tube();
    let mut examples = sweeps(&rig).examples().to_vec();
    change(&mut examples[2]);
    ExampleSet::new(rig, examples).unwrap_err()
}

#[test]
fn bad_examples_are_refused_by_name() {
    let name = sweeps(&tube()).examples()[2].name.clone();
    let vertices = refused(|e| e.positions.truncate(5));
    assert_eq!(vertices, ExamplesError::VertexCount { name: name.clone(), found: 5, expected: 117 });
    let nan = refused(|e| e.positions[7].y = f32::NAN);
    assert_eq!(nan, ExamplesError::NotFinite { name: name.clone(), vertex: 7 });
    let infinite = refused(|e| e.normals = Some(vec![Vec3::INFINITY; 117]));
    assert_eq!(infinite, ExamplesError::NotFinite { name: name.clone(), vertex: 0 });
    let joints = refused(|e| e.pose.world_from_joint.truncate(2));
    assert_eq!(joints, ExamplesError::JointCount { name: name.clone(), found: 2, expected: 3 });
    let collapsed = refused(|e| e.pose.world_from_joint[1].matrix3.x_axis = DVec3::ZERO);
    assert_eq!(collapsed, ExamplesError::BadTransform { name: name.clone(), joint: "elbow".into() });
    let control = refused(|e| e.pose.controls[0] = f64::INFINITY);
    assert_eq!(control, ExamplesError::BadControl { name: name.clone(), control: "heavy".into() });
    let controls = refused(|e| e.pose.controls.clear());
    assert_eq!(controls, ExamplesError::ControlCount { name, found: 0, expected: 1 });
    let twice = refused(|e| e.name = "elbow y 1".into());
    assert_eq!(twice, ExamplesError::Name { index: 2, name: "elbow y 1".into() });
    assert_eq!(ExampleSet::new(tube(), vec![]).unwrap_err(), ExamplesError::Empty);
}

/// The tube with its joints in another order and the wrist's axes turned.
fn reordered_tube() -> Arc<Rig> {
    let rig = tube();
    let old = rig.skeleton().joints();
    let turn = DAffine3::from_quat(DQuat::from_rotation_x(0.7));
    let joint = |index: usize, parent, change: DAffine3| Joint {
        parent,
        reference: None,
        joint_from_rest: change * old[index].joint_from_rest,
        name: old[index].name.clone(),
    };
    let joints = vec![
        joint(2, Some(1), turn),
        joint(1, Some(2), DAffine3::IDENTITY),
        joint(0, None, DAffine3::IDENTITY),
    ];
    let weights = (0..rig.vertex_count()).map(|v| {
        rig.weights().of(v).iter().map(|i| Influence { joint: 2 - i.joint, weight: i.weight }).collect()
    });
    let weights = SkinWeights::new(3, weights).unwrap().0;
    Arc::new(
        Rig::new(rig.mesh().clone(), Skeleton::new(joints).unwrap(), weights, rig.controls().to_vec())
            .unwrap(),
    )
}

/// A set made with other joint order and axes moves the skin alike.
#[test]
fn poses_carry_over_between_files_of_one_character() {
    let (rig, other) = (tube(), reordered_tube());
    let set = sweeps(&rig);
    let carried = set.clone().for_rig(&other).unwrap();
    for (original, carried) in set.examples().iter().zip(carried.examples()) {
        let ours: Vec<DAffine3> = original.pose.posed_from_rest(rig.skeleton()).collect();
        let theirs: Vec<DAffine3> = carried.pose.posed_from_rest(other.skeleton()).collect();
        for joint in 0..3 {
            assert!(ours[joint].abs_diff_eq(theirs[2 - joint], 1e-6), "{}", original.name);
        }
    }
}

#[test]
fn sets_of_another_character_are_refused() {
    let rig = tube();
    let set = sweeps(&rig);
    let rebuilt = |positions: Vec<Vec3>, names: [&str; 3]| {
        let joints = rig
            .skeleton()
            .joints()
            .iter()
            .zip(names)
            .map(|(j, name)| Joint { name: name.into(), ..j.clone() });
        let mesh = Mesh::new(positions, rig.mesh().triangles().to_vec(), None).unwrap();
        let skeleton = Skeleton::new(joints.collect()).unwrap();
        Arc::new(Rig::new(mesh, skeleton, rig.weights().clone(), rig.controls().to_vec()).unwrap())
    };
    let names = ["root", "elbow", "wrist"];
    let mut moved = rig.mesh().positions().to_vec();
    moved[11].z += 0.5;
    let error = set.clone().for_rig(&rebuilt(moved, names)).unwrap_err();
    assert!(matches!(error, ExamplesError::OtherRig(RigError::OtherRestShape { vertex: 11, .. })), "{error}");
    let renamed = rebuilt(rig.mesh().positions().to_vec(), ["root", "knee", "wrist"]);
    let error = set.for_rig(&renamed).unwrap_err();
    assert_eq!(error, ExamplesError::OtherRig(RigError::MissingJoint { name: "knee".into() }));
}

/// Lips that touch at rest and part in an example are two points, not a seam.
#[test]
fn touching_surfaces_that_part_are_no_seam() {
    let rig = tube();
    let set = set_of(&rig, vec![("open".into(), DVec3::Y * 0.5, DVec3::ZERO, 0.25)]);
    let points = |set: &ExampleSet| {
        let displacements = eigenskin_fit::displacements::skinned_displacements(
            set,
            eigenskin_core::skinning::BaseSkinning::LinearBlend,
            &eigenskin_core::progress::Unwatched,
        )
        .unwrap();
        (
            displacements.points.group_of(0) == displacements.points.group_of(8),
            displacements.points.group_count(),
        )
    };
    assert_eq!(points(&set), (true, 104));
    let mut examples = set.examples().to_vec();
    examples[0].positions[8].z += 0.1;
    let parted = ExampleSet::new(rig, examples).unwrap();
    assert_eq!(points(&parted), (false, 105));
}
