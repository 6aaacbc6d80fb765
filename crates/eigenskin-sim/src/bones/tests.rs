//! Tests of [`super::plan_bones`] and [`super::hold`].

use eigenskin_characters::hand;
use eigenskin_core::glam::{DAffine3, DVec3};
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::weights::{Influence, SkinWeights};

use super::*;
use crate::lattice::FillParams;
use crate::test_support::{add_cylinder, mesh_of};
use crate::tissue::{Tissue, TissueError, TissueParams};

/// A limb of radius 1 along z from 0 to 8, with joints as (name, reference, place). A vertex
/// follows the joint that `follows` names for its height.
fn limb(joints: &[(&str, Option<usize>, DVec3)], follows: impl Fn(f64) -> u32) -> Rig {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    add_cylinder(&mut points, &mut triangles, 1.0, [0.0, 8.0], 16);
    let joint = |&(name, parent, at): &(&str, Option<usize>, DVec3)| Joint {
        name: name.into(),
        parent,
        reference: None,
        joint_from_rest: DAffine3::from_translation(-at),
    };
    let weights = points.iter().map(|p| vec![Influence { joint: follows(p.z), weight: 1.0 }]);
    let weights = SkinWeights::new(joints.len(), weights.collect::<Vec<_>>()).unwrap().0;
    let skeleton = Skeleton::new(joints.iter().map(joint).collect()).unwrap();
    Rig::new(mesh_of(&points, &triangles), skeleton, weights, vec![]).unwrap()
}

fn up(z: f64) -> DVec3 {
    DVec3::new(0.0, 0.0, z)
}

fn with_edge(edge: f64) -> TissueParams {
    let fill = FillParams { edge: Some(edge), ..FillParams::default() };
    TissueParams { fill, ..TissueParams::default() }
}

/// No cell is held twice, every cell as stiff as asked, points where they say they are.
fn assert_sound(tissue: &Tissue, stiffness: f64) {
    let lattice = &tissue.filling.lattice;
    for points in tissue.held.points.chunk_by(|a, b| a.embedded.cell == b.embedded.cell) {
        assert!(points.iter().all(|point| point.group == points[0].group));
        let total: f64 = points.iter().map(|point| point.stiffness).sum();
        assert!((total / stiffness - 1.0).abs() < 1e-12);
    }
    let mut cells: Vec<u32> = tissue.held.points.iter().map(|point| point.embedded.cell).collect();
    assert!(cells.is_sorted());
    cells.dedup();
    assert!(cells.len() < lattice.cell_count());
    for point in &tissue.held.points {
        assert!((lattice.at(&point.embedded, &lattice.nodes) - point.rest).length() < 1e-12);
    }
    for group in 0..tissue.plan.groups.len() {
        let count = tissue.held.points.iter().filter(|point| point.group == group).count();
        assert_eq!(count, tissue.held.points_of_group[group]);
    }
}

#[test]
fn bones_keep_their_gaps_and_radii() {
    let rig = limb(&[("root", None, up(0.5)), ("elbow", Some(0), up(4.0))], |z| u32::from(z > 4.0));
    let tissue = Tissue::of(&rig, &[true, true], &[], &with_edge(0.4), &Unwatched).unwrap();
    assert_sound(&tissue, 300.0);
    assert!(tissue.held.warnings.is_empty());
    let [upper, lower] = tissue.plan.bones.as_slice() else { panic!() };
    // The limb is one deep; the last bone ends at 0.7 of the way out.
    assert!((lower.to - up(4.0 + 0.7 * 4.0)).length() < 1e-2);
    assert!((upper.gap_to - 0.75).abs() < 0.01 && (lower.gap_from - 0.75).abs() < 0.01);
    assert_eq!((upper.gap_from, lower.gap_to), (0.0, 0.0));
    assert!((tissue.plan.thinnest - 2.0).abs() < 0.05);
    for point in &tissue.held.points {
        let at = tissue.filling.lattice.mesh_from_lattice(point.rest);
        assert!((at.z - 4.0).abs() > 0.74, "{at} is in the gap");
        assert!(at.truncate().length() < 0.451);
        assert_eq!(point.group, usize::from(at.z > 4.0));
    }
    // The bone is filled all along, not only here and there.
    for z in [1.0, 2.0, 3.0, 5.0, 6.0, 6.7] {
        let near =
            |point: &&HeldPoint| tissue.filling.lattice.mesh_from_lattice(point.rest).distance(up(z)) < 0.3;
        assert!(tissue.held.points.iter().any(|point| near(&point)), "nothing held at {z}");
    }
    // A short bone keeps at least 40 % of itself.
    let rig = limb(&[("a", None, up(1.0)), ("b", Some(0), up(4.0)), ("c", Some(1), up(5.0))], |z| {
        u32::from(z > 4.0) + u32::from(z > 5.0)
    });
    let tissue = Tissue::of(&rig, &[true; 3], &[], &with_edge(0.4), &Unwatched).unwrap();
    assert_sound(&tissue, 300.0);
    let short = tissue.plan.bones.iter().find(|bone| bone.joint == 1).unwrap();
    assert!((short.gap_from - 0.3).abs() < 1e-6 && (short.gap_to - 0.3).abs() < 1e-6);
    assert!(tissue.held.points_of_group.iter().all(|&count| count >= 4));
}

#[test]
fn joints_that_never_move_belong_to_their_reference() {
    let joints = [
        ("root", None, up(0.5)),
        ("stiff", Some(0), up(2.0)),
        ("elbow", Some(1), up(4.0)),
        ("helper", Some(2), up(5.0)),
        ("hand", Some(3), up(6.0)),
        ("tip", Some(4), up(7.5)),
    ];
    let follows = |z: f64| {
        if z < 2.0 {
            0
        } else if z < 4.0 {
            1
        } else if z < 6.0 {
            2
        } else {
            4
        }
    };
    let rig = limb(&joints, follows);
    // The tip moves, but no skin follows it. The helper has no skin either, but moves the hand.
    let tissue =
        Tissue::of(&rig, &[true, false, true, true, true, true], &[], &with_edge(0.4), &Unwatched).unwrap();
    let leaders: Vec<usize> = tissue.plan.groups.iter().map(|group| group.leader).collect();
    assert_eq!(leaders, [0, 2, 3, 4]);
    assert_eq!(tissue.plan.groups[0].joints, [0, 1]);
    assert_eq!(tissue.plan.groups[3].joints, [4, 5]);
    assert_eq!(tissue.plan.has_skin, [true, true, false, true]);
    assert_eq!(tissue.held.points_of_group[2], 0);
    assert!([0, 1, 3].iter().all(|&group| tissue.held.points_of_group[group] >= 4));
    assert!(tissue.held.warnings.is_empty(), "{:?}", tissue.held.warnings);
    // No gap at the stiff joint: the first group is one bone from the root to the elbow.
    let first: Vec<&Bone> = tissue.plan.bones.iter().filter(|bone| bone.group == 0).collect();
    assert_eq!((first[0].gap_to, first[1].gap_from), (0.0, 0.0));
    assert!(first[1].gap_to > 0.5);
    // The tip marks where the last bone ends.
    assert!(tissue.plan.bones.iter().any(|bone| bone.joint == 4 && bone.to.distance(up(7.5)) < 1e-6));
}

#[test]
fn bones_outside_hold_the_skin_and_say_so() {
    let aside = DVec3::new(30.0, 0.0, 7.0);
    // A joint far off whose skin's middle is outside as well would find nothing: here it is a ring.
    let joints = [("root", None, up(0.5)), ("stray", Some(0), aside), ("end", Some(1), aside + DVec3::X)];
    let rig = limb(&joints, |z| u32::from(z > 5.0) + u32::from(z > 7.0));
    let tissue = Tissue::of(&rig, &[true; 3], &[], &with_edge(0.5), &Unwatched).unwrap();
    assert_sound(&tissue, 300.0);
    let stray = tissue.held.warnings.iter().any(
        |warning| matches!(warning, BoneWarning::HeldBySkin { joint, points } if joint == "stray" && *points > 8),
    );
    assert!(stray, "{:?}", tissue.held.warnings);
    assert!(tissue.held.points_of_group.iter().all(|&count| count > 0));
    let all_aside = limb(&[("root", None, aside), ("next", Some(0), aside + DVec3::Y)], |_| 0);
    // Skin that hangs on nothing nearer would be flung about.
    let error = Tissue::of(&all_aside, &[true; 2], &[], &with_edge(0.5), &Unwatched).unwrap_err();
    assert!(error.to_string().contains("\"root\"") && error.to_string().contains("same place"), "{error}");
}

#[test]
fn bones_without_length_are_no_trouble() {
    // Three joints in one place, one per axis, as some rigs have them.
    let joints =
        [("root", None, up(0.5)), ("x", Some(0), up(4.0)), ("y", Some(1), up(4.0)), ("z", Some(2), up(4.0))];
    let rig = limb(&joints, |z| if z > 4.0 { 3 } else { 0 });
    let tissue = Tissue::of(&rig, &[true; 4], &[], &with_edge(0.4), &Unwatched).unwrap();
    assert_sound(&tissue, 300.0);
    assert_eq!(tissue.plan.groups.len(), 4);
    assert!(tissue.held.points_of_group[3] > 10 && tissue.held.points_of_group[0] > 10);
    assert_eq!(tissue.held.points_of_group[1..3], [0, 0]);
    assert!(tissue.held.warnings.is_empty());
}

#[test]
fn bones_thinner_than_a_voxel_hold_by_points_around_their_line() {
    let rig = limb(&[("root", None, up(0.5)), ("elbow", Some(0), up(4.0))], |z| u32::from(z > 4.0));
    let bones = BoneParams { radius_share: 0.02, ..BoneParams::default() };
    let params = TissueParams { bones, ..with_edge(0.9) };
    let tissue = Tissue::of(&rig, &[true, true], &[], &params, &Unwatched).unwrap();
    assert_sound(&tissue, 300.0);
    assert!(tissue.held.points_of_group.iter().all(|&count| count >= 4));
    let off_axis =
        |point: &HeldPoint| tissue.filling.lattice.mesh_from_lattice(point.rest).truncate().length();
    assert!(tissue.held.points.iter().all(|point| off_axis(point) < 0.021));
    assert!(tissue.held.points.iter().any(|point| off_axis(point) > 0.01));
}

#[test]
fn the_built_in_hand_is_one_piece_with_all_its_bones() {
    let character = hand(3500).unwrap();
    let rig = &character.rig;
    let mut moving = vec![false; rig.skeleton().joint_count()];
    for degree in &character.degrees_of_freedom {
        moving[degree.joint] = true;
    }
    let tissue = Tissue::of(rig, &moving, &[], &TissueParams::default(), &Unwatched).unwrap();
    assert_sound(&tissue, 300.0);
    assert_eq!(tissue.filling.piece_count, 1);
    let cells = tissue.filling.lattice.cell_count();
    assert!((600..=6000).contains(&cells), "{cells}");
    assert!(tissue.held.warnings.is_empty(), "{:?}", tissue.held.warnings);
    for (group, &count) in tissue.plan.groups.iter().zip(&tissue.held.points_of_group) {
        let name = &rig.skeleton().joints()[group.leader].name;
        assert!(count >= 4, "{name} holds {count} points");
    }
    assert!(tissue.embedding.largest_extrapolation < 0.5, "{}", tissue.embedding.largest_extrapolation);
    let volume = tissue.surface.body_volume();
    assert!((tissue.filling.volume() / volume - 1.0).abs() < 0.05);
}

#[test]
fn bad_input_is_named() {
    let rig = limb(&[("root", None, up(0.5)), ("elbow", Some(0), up(4.0))], |z| u32::from(z > 4.0));
    let refused = |moving: &[bool], bones: BoneParams| {
        let params = TissueParams { bones, ..with_edge(0.5) };
        Tissue::of(&rig, moving, &[], &params, &Unwatched).err()
    };
    let error = refused(&[true], BoneParams::default());
    assert_eq!(error, Some(TissueError::Bones(BoneError::MovingCount { given: 1, joints: 2 })));
    let error = refused(&[true; 2], BoneParams { radius_share: 1.5, ..BoneParams::default() });
    assert!(matches!(error, Some(TissueError::Bones(BoneError::BadParameter { name: "radius_share", .. }))));
    let error = refused(&[true; 2], BoneParams { stiffness: f64::NAN, ..BoneParams::default() });
    assert!(matches!(error, Some(TissueError::Bones(BoneError::BadParameter { name: "stiffness", .. }))));
    let face = Rig::new(rig.mesh().clone(), Skeleton::empty(), SkinWeights::none(rig.vertex_count()), vec![])
        .unwrap();
    let error = Tissue::of(&face, &[], &[], &with_edge(0.5), &Unwatched).err();
    assert_eq!(error, Some(TissueError::Bones(BoneError::NoJoints)));
}

/// A second cylinder beside the limb has no bone in it: it goes with the joint that its skin follows.
#[test]
fn a_piece_without_a_bone_is_told() {
    let joints = [("root", None, up(0.5)), ("elbow", Some(0), up(4.0))];
    let whole = limb(&joints, |z| u32::from(z > 4.0));
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    add_cylinder(&mut points, &mut triangles, 1.0, [0.0, 8.0], 16);
    let first = points.len();
    add_cylinder(&mut points, &mut triangles, 1.0, [0.0, 8.0], 16);
    points[first..].iter_mut().for_each(|point| point.x += 4.0);
    let follows = |(vertex, p): (usize, &DVec3)| {
        vec![Influence { joint: u32::from(vertex >= first || p.z > 4.0), weight: 1.0 }]
    };
    let weights = SkinWeights::new(2, points.iter().enumerate().map(follows).collect::<Vec<_>>()).unwrap().0;
    let two = Rig::new(mesh_of(&points, &triangles), whole.skeleton().clone(), weights, vec![]).unwrap();
    let warnings =
        |rig: &Rig| Tissue::of(rig, &[true; 2], &[], &with_edge(0.5), &Unwatched).unwrap().held.warnings;
    assert_eq!(warnings(&whole), []);
    let found = warnings(&two);
    assert!(
        matches!(&found[..], [BoneWarning::LoosePiece { cells, joint }] if *cells > 20 && joint == "elbow"),
        "{found:?}"
    );
}

/// The same limb in cells so long that other bones are in all of the stray joint's.
#[test]
fn a_joint_whose_cells_are_taken_is_told() {
    let aside = DVec3::new(30.0, 0.0, 7.0);
    let joints = [("root", None, up(0.5)), ("stray", Some(0), aside), ("end", Some(1), aside + DVec3::X)];
    let rig = limb(&joints, |z| u32::from(z > 5.0) + u32::from(z > 7.0));
    let is_told = |edge: f64| {
        let found = Tissue::of(&rig, &[true; 3], &[], &with_edge(edge), &Unwatched).unwrap().held.warnings;
        found.iter().any(|warning| matches!(warning, BoneWarning::HoldsNothing { .. }))
    };
    assert!(!is_told(0.5));
    assert!([1.0, 1.5, 2.0, 2.5, 3.0, 4.0].into_iter().any(is_told));
}
