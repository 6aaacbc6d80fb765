//! The other side of a character, on a bar with two arms.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::Model;
use eigenskin_core::pose::{JointMotion, Pose};
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::{Joint, Skeleton};
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_fit::method::{EigenSkinParams, PsdParams};
use eigenskin_fit::mirror::{Mirror, MirrorError, MirrorParams, MirrorPlane, mirrored_name};

use crate::support::learn;

const NAMES: [&str; 5] = ["chest", "LeftArm", "RightArm", "LeftHand", "RightHand"];
const RINGS: i32 = 12;

/// How the joints' own axes stand.
#[derive(Clone, Copy, PartialEq)]
enum Axes {
    /// those of the right are those of the left in a mirror, but for signs
    Mirrored,
    /// every joint has its own
    Any,
}

type Fit = fn(&ExampleSet) -> Model;

struct TwoArms {
    axes: Axes,
    /// the middle
    at: f32,
    /// how the rest positions of the right side are spoilt
    off: f32,
    names: [&'static str; 5],
    /// one vertex more on one side
    wart: bool,
}

const PLAIN: TwoArms = TwoArms { axes: Axes::Mirrored, at: 0.0, off: 0.0, names: NAMES, wart: false };

impl TwoArms {
    /// A square bar along x from −3 to 3: rings of four corners and closed ends.
    fn rig(&self) -> Arc<Rig> {
        let mut positions = Vec::new();
        let mut weights = Vec::new();
        for ring in -RINGS..=RINGS {
            let x = 0.25 * ring as f32;
            for (y, z) in [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)] {
                // The left and right half must not look alike from above or from the front.
                let y = y * (1.0 + 0.1 * x.abs()) + 0.2 * z;
                let off = if x < 0.0 { self.off * ((ring * 7).rem_euclid(5) as f32 - 2.0) } else { 0.0 };
                positions.push(Vec3::new(x + self.at, y + off, z + 0.5 * off));
                weights.push(weights_at(x));
            }
        }
        let count = positions.len() as u32;
        let mut triangles =
            vec![[0, 2, 1], [0, 3, 2], [count - 4, count - 3, count - 2], [count - 4, count - 2, count - 1]];
        for ring in 0..2 * RINGS as u32 {
            for corner in 0..4 {
                let (a, b) = (4 * ring + corner, 4 * ring + (corner + 1) % 4);
                triangles.extend([[a, b, b + 4], [a, b + 4, a + 4]]);
            }
        }
        if self.wart {
            positions.push(Vec3::new(2.1 + self.at, 0.0, 0.9));
            weights.push(weights_at(2.1));
            triangles.push([count - 18, count - 17, count]);
        }
        let mesh = Mesh::new(positions, triangles, None).unwrap();
        let joints = (0..5).map(|joint| self.joint(joint)).collect();
        let skeleton = Skeleton::new(joints).unwrap();
        let weights = SkinWeights::new(5, weights).unwrap().0;
        let controls = ["smile_L", "smile_R", "breath"]
            .map(|name| Control { name: name.to_string(), default: 0.0 })
            .to_vec();
        Arc::new(Rig::new(mesh, skeleton, weights, controls).unwrap())
    }

    fn joint(&self, joint: usize) -> Joint {
        let x = [0.0, 1.0, -1.0, 2.0, -2.0][joint];
        let rotation = match (self.axes, joint) {
            (Axes::Mirrored, 0) => DMat3::IDENTITY,
            (Axes::Mirrored, 1 | 3) => DMat3::from_cols(DVec3::Y, -DVec3::X, DVec3::Z),
            (Axes::Mirrored, _) => DMat3::from_cols(-DVec3::Y, DVec3::X, DVec3::Z),
            (Axes::Any, joint) => {
                let axis = DVec3::new(1.0, joint as f64, 0.5).normalize();
                DMat3::from_quat(DQuat::from_axis_angle(axis, 0.4 + joint as f64))
            }
        };
        let at = DVec3::new(x + f64::from(self.at), 0.0, 0.0);
        Joint {
            name: self.names[joint].to_string(),
            parent: [None, Some(0), Some(0), Some(1), Some(2)][joint],
            reference: None,
            joint_from_rest: DAffine3 { matrix3: rotation, translation: at }.inverse(),
        }
    }
}

fn weights_at(x: f32) -> Vec<Influence> {
    let step = |from: f32| (0.5 + (x.abs() - from)).clamp(0.0, 1.0);
    let (arm, hand) = (step(1.0), step(2.0));
    let side = u32::from(x < 0.0);
    let shares = [(0, 1.0 - arm), (1 + side, arm - hand), (3 + side, hand)];
    shares
        .into_iter()
        .filter(|(_, weight)| *weight > 0.0)
        .map(|(joint, weight)| Influence { joint, weight })
        .collect()
}

/// Turns of chest, arm and hand of one side (radians about a slanted axis), and a control.
fn pose(rig: &Rig, side: usize, turns: [f64; 3]) -> Pose {
    let mut motions = vec![JointMotion::REST; 5];
    for (joint, turn) in [(1 + side, turns[0]), (3 + side, turns[1])] {
        let axis = DVec3::new(0.3, 0.5, 1.0).normalize();
        motions[joint].rotation = DQuat::from_axis_angle(axis, turn);
    }
    let mut pose = Pose::of_motions(rig.skeleton(), &motions, vec![0.0; 3]);
    pose.controls[side] = turns[2];
    pose.controls[2] = 0.5 * turns[2];
    pose
}

/// A bulge where the arm bends, not alike above and below.
fn shape(rig: &Rig, pose: &Pose, strength: f64) -> Vec<Vec3> {
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
    let turn = |joint: usize| pose.motion_of(rig.skeleton(), joint).shortest_turn().length();
    let positions = rig.mesh().positions();
    (0..rig.vertex_count())
        .map(|vertex| {
            let rest = positions[vertex].as_dvec3();
            let bulge = |at: f64, turn: f64| turn * (-4.0 * (rest.x - at).powi(2)).exp();
            let sum = bulge(1.0, turn(1)) + bulge(-1.0, turn(2)) + bulge(2.0, turn(3)) + bulge(-2.0, turn(4));
            let displaced = rest + strength * sum * DVec3::new(0.1 * rest.x, rest.y, 0.7 * rest.z + 0.2);
            skinning.position(vertex, displaced).as_vec3()
        })
        .collect()
}

fn example(rig: &Rig, name: &str, pose: Pose) -> Example {
    Example { name: name.to_string(), positions: shape(rig, &pose, 0.1), pose, normals: None, inverted: None }
}

fn furthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

fn evaluated(model: &Arc<Model>, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
    positions
}

#[test]
fn what_carries_the_skin_is_seen_in_the_mirror() {
    for (axes, at) in [(Axes::Mirrored, 0.0), (Axes::Any, 0.0), (Axes::Mirrored, 7.3), (Axes::Any, 7.3)] {
        let rig = TwoArms { axes, at, ..PLAIN }.rig();
        let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched).unwrap();
        assert_eq!(mirror.plane().axis, 0);
        assert!((mirror.plane().centre - f64::from(at)).abs() < 1e-6);
        assert_eq!(mirror.joints(), [Some(0), Some(2), Some(1), Some(4), Some(3)]);
        assert_eq!(mirror.controls(), [1, 0, 2]);
        assert!(mirror.asymmetric_vertices().is_empty());
        assert_eq!(mirror.is_exact(), axes == Axes::Mirrored);

        let stand =
            DAffine3::from_rotation_translation(DQuat::from_rotation_y(0.4), DVec3::new(0.2, -1.0, 3.0));
        let posed = pose(&rig, 0, [0.9, -0.6, 0.7]).moved_by(stand);
        let mirrored = mirror.pose(&posed).unwrap();
        assert_eq!(mirrored.controls, [0.0, 0.7, 0.35]);
        // Independently: F T F, as matrices.
        let flip = |p: DVec3| DVec3::new(2.0 * f64::from(at) - p.x, p.y, p.z);
        let here: Vec<DAffine3> = posed.posed_from_rest(rig.skeleton()).collect();
        let there: Vec<DAffine3> = mirrored.posed_from_rest(rig.skeleton()).collect();
        for (joint, partner) in [(0, 0), (1, 2), (2, 1), (3, 4), (4, 3)] {
            for p in [DVec3::ZERO, DVec3::X, DVec3::new(0.3, -2.0, 1.0)] {
                let expected = flip(here[joint].transform_point3(flip(p)));
                let found = there[partner].transform_point3(p);
                assert!(found.distance(expected) < 2e-5, "joint {joint}: {found} and {expected}");
            }
            assert!(there[partner].matrix3.determinant() > 0.0);
        }
        let skinned = |pose: &Pose| shape(&rig, pose, 0.0);
        let seen: Vec<Vec3> = (0..rig.vertex_count())
            .map(|v| flip(skinned(&posed)[mirror.vertices()[v].unwrap() as usize].as_dvec3()).as_vec3())
            .collect();
        assert!(furthest(&skinned(&mirrored), &seen) < 3e-5);
    }
}

#[test]
fn twice_in_the_mirror_gives_back_the_same_bits() {
    let rig = PLAIN.rig();
    let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched).unwrap();
    assert_eq!(mirror.plane(), MirrorPlane { axis: 0, centre: 0.0 });
    let mut original = example(&rig, "bent.L", pose(&rig, 0, [0.9, -0.6, 0.7]));
    original.normals = Some(rig.mesh().normals_of(&original.positions));
    let once = mirror.example(&original, mirrored_name("bent.L")).unwrap();
    assert_eq!(once.name, "bent.R");
    assert!(furthest(&once.positions, &original.positions) > 0.1);
    let twice = mirror.example(&once, mirrored_name(&once.name)).unwrap();
    assert_eq!(twice.name, original.name);
    let bits = |e: &Example| -> Vec<[u32; 3]> {
        let normals = e.normals.iter().flatten();
        e.positions.iter().chain(normals).map(|p| p.to_array().map(f32::to_bits)).collect()
    };
    assert_eq!(bits(&twice), bits(&original));
    let bits = |pose: &Pose| -> Vec<u64> {
        pose.world_from_joint.iter().flat_map(DAffine3::to_cols_array).map(f64::to_bits).collect()
    };
    assert_eq!(bits(&twice.pose), bits(&original.pose));

    // Elsewhere, and with axes of their own: the last bits may differ.
    let rig = TwoArms { axes: Axes::Any, at: 7.3, ..PLAIN }.rig();
    let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched).unwrap();
    let original = example(&rig, "bent", pose(&rig, 1, [0.9, -0.6, 0.7]));
    let once = mirror.example(&original, mirrored_name("bent")).unwrap();
    assert_eq!(once.name, "bent mirrored");
    let twice = mirror.example(&once, mirrored_name(&once.name)).unwrap();
    assert_eq!(twice.name, "bent");
    assert!(furthest(&twice.positions, &original.positions) < 2e-6);
    let pairs = twice.pose.world_from_joint.iter().zip(&original.pose.world_from_joint);
    assert!(pairs.into_iter().all(|(a, b)| a.abs_diff_eq(*b, 1e-5)));
}

#[test]
fn models_of_both_sides_are_symmetric_and_mirrored_examples_make_the_mirrored_model() {
    for axes in [Axes::Mirrored, Axes::Any] {
        let rig = TwoArms { axes, ..PLAIN }.rig();
        let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched).unwrap();
        let poses = [[0.8, 0.0, 0.0], [0.4, 0.0, 0.0], [0.0, 0.7, 0.0], [0.0, -0.4, 0.0], [0.6, 0.5, 0.0]];
        let left: Vec<Example> = poses
            .iter()
            .enumerate()
            .map(|(index, &turns)| example(&rig, &format!("{index}.L"), pose(&rig, 0, turns)))
            .collect();
        let right: Vec<Example> =
            left.iter().map(|e| mirror.example(e, mirrored_name(&e.name)).unwrap()).collect();
        let both: Vec<Example> = left.iter().chain(&right).cloned().collect();
        let set = |examples: Vec<Example>| ExampleSet::new(rig.clone(), examples).unwrap();
        let methods: [(&str, Fit); 2] = [
            ("psd", |set| learn(set, &PsdParams::default()).unwrap().model),
            ("eigenskin", |set| learn(set, &EigenSkinParams::default()).unwrap().model),
        ];
        let looked_at =
            [[0.6, 0.0, 0.0], [0.7, 0.3, 0.0], [-0.2, 0.5, 0.0]].map(|turns| pose(&rig, 0, turns));
        let in_mirror = |shape: &[Vec3]| -> Vec<Vec3> {
            let seen = |v: usize| shape[mirror.vertices()[v].unwrap() as usize];
            (0..shape.len()).map(|v| seen(v) * Vec3::new(-1.0, 1.0, 1.0)).collect()
        };
        for (name, fit) in methods {
            let [of_left, of_right, of_both] =
                [left.clone(), right.clone(), both.clone()].map(|examples| Arc::new(fit(&set(examples))));
            for pose in &looked_at {
                let mirrored = mirror.pose(pose).unwrap();
                let corrected = evaluated(&of_left, pose);
                let correction = furthest(&corrected, &shape(&rig, pose, 0.0));
                assert!(correction > 0.005, "{name}: {correction}");
                let miss = furthest(&evaluated(&of_right, &mirrored), &in_mirror(&corrected));
                assert!(miss < 3e-5, "{name}: the mirrored model is off by {miss}");
                let miss = furthest(&evaluated(&of_both, &mirrored), &in_mirror(&evaluated(&of_both, pose)));
                assert!(miss < 3e-5, "{name}: both sides are off by {miss}");
            }
        }
    }
}

#[test]
fn vertices_that_are_off_are_paired_by_what_they_are_joined_to() {
    // Off by up to 2 % of the size; the tolerance is 0.1 %.
    let rig = TwoArms { off: 0.05, ..PLAIN }.rig();
    let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched).unwrap();
    assert!(mirror.paired_by_topology() > 50, "{}", mirror.paired_by_topology());
    let exact = Mirror::new(PLAIN.rig(), &MirrorParams::default(), &Unwatched).unwrap();
    assert_eq!(mirror.vertices(), exact.vertices());
    assert!(!mirror.is_exact());
    // The sculpted bulge is carried over; the rest shape of the other side stays its own.
    let original = example(&rig, "a", pose(&rig, 0, [0.8, 0.0, 0.0]));
    let mirrored = mirror.example(&original, "b".into()).unwrap();
    let plain = shape(&rig, &mirrored.pose, 0.0);
    let clean = PLAIN.rig();
    let expected =
        exact.example(&example(&clean, "a", pose(&clean, 0, [0.8, 0.0, 0.0])), "b".into()).unwrap();
    let bulge = |positions: &[Vec3], plain: &[Vec3]| -> Vec<Vec3> {
        positions.iter().zip(plain).map(|(a, b)| *a - *b).collect()
    };
    let found = bulge(&mirrored.positions, &plain);
    let wanted = bulge(&expected.positions, &shape(&clean, &expected.pose, 0.0));
    let largest = wanted.iter().map(|d| d.length()).fold(0.0, f32::max);
    assert!(largest > 0.03 && furthest(&found, &wanted) < 0.05 * largest, "{}", furthest(&found, &wanted));
}

#[test]
fn vertices_without_another_side_are_named_and_follow_their_neighbours() {
    let rig = TwoArms { wart: true, ..PLAIN }.rig();
    let mirror = Mirror::new(rig.clone(), &MirrorParams::default(), &Unwatched).unwrap();
    let wart = rig.vertex_count() - 1;
    assert_eq!(mirror.asymmetric_vertices(), [wart]);
    // The right hand's bulge, seen on the left: the wart is lifted along with what it stands on.
    let original = example(&rig, "a", pose(&rig, 1, [0.0, 0.8, 0.0]));
    let mirrored = mirror.example(&original, "b".into()).unwrap();
    let plain = shape(&rig, &mirrored.pose, 0.0);
    let lift = |vertex: usize| mirrored.positions[vertex] - plain[vertex];
    let around = (lift(wart - 18) + lift(wart - 17)) * 0.5;
    assert!(around.length() > 1e-3 && lift(wart).distance(around) < 0.5 * around.length(), "{around}");
}

/// Two sheets that touch along a row, like lips: positions alone cannot tell them apart.
#[test]
fn touching_surfaces_are_told_apart() {
    let mut positions = Vec::new();
    let mut weights = Vec::new();
    let mut triangles = Vec::new();
    for sheet in 0..2u32 {
        for row in 0..3 {
            for column in -2..=2 {
                let y = if sheet == 0 { row } else { -row };
                positions.push(Vec3::new(column as f32, y as f32, 0.1 * (row * row) as f32));
                weights.push(vec![Influence { joint: sheet, weight: 1.0 }]);
            }
        }
        for row in 0..2 {
            for column in 0..4 {
                let a = sheet * 15 + row * 5 + column;
                triangles.extend([[a, a + 1, a + 6], [a, a + 6, a + 5]]);
            }
        }
    }
    let joint = |name: &str, x: f64| Joint {
        name: name.to_string(),
        parent: None,
        reference: None,
        joint_from_rest: DAffine3::from_translation(DVec3::new(-x, 0.0, 0.0)),
    };
    let joints = vec![joint("upper", 0.0), joint("lower", 0.0), joint("eye_L", 1.0), joint("eye_R", -1.0)];
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let rig = Rig::new(mesh, Skeleton::new(joints).unwrap(), SkinWeights::new(4, weights).unwrap().0, vec![]);
    let mirror = Mirror::new(Arc::new(rig.unwrap()), &MirrorParams::default(), &Unwatched).unwrap();
    for sheet in 0..2 {
        for row in 0..3 {
            for column in 0..5 {
                let at = |column: u32| sheet * 15 + row * 5 + column;
                assert_eq!(mirror.vertices()[at(column) as usize], Some(at(4 - column)), "{}", at(column));
            }
        }
    }
}

#[test]
fn sides_can_be_said_and_missing_ones_are_told() {
    let nameless = TwoArms { names: ["a", "b", "c", "d", "e"], ..PLAIN };
    let mut rig = (*nameless.rig()).clone();
    rig = Rig::new(rig.mesh().clone(), rig.skeleton().clone(), rig.weights().clone(), vec![]).unwrap();
    let rig = Arc::new(rig);
    let new = |params: MirrorParams| Mirror::new(rig.clone(), &params, &Unwatched);
    assert_eq!(new(MirrorParams::default()).unwrap_err(), MirrorError::NoPairs);
    let by_place =
        new(MirrorParams { plane: Some(MirrorPlane { axis: 0, centre: 0.0 }), ..MirrorParams::default() });
    let expected = [Some(0), Some(2), Some(1), Some(4), Some(3)];
    assert_eq!(by_place.unwrap().joints(), expected);
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    let said = MirrorParams { joint_pairs: vec![pair("b", "c")], ..MirrorParams::default() };
    assert_eq!(new(said).unwrap().joints(), expected);
    let unknown = MirrorParams { joint_pairs: vec![pair("b", "cc")], ..MirrorParams::default() };
    let error = new(unknown).unwrap_err().to_string();
    assert!(error.contains("\"cc\"") && error.contains("did you mean \"c\"?"), "{error}");
    let twice = MirrorParams { joint_pairs: vec![pair("b", "c"), pair("b", "d")], ..MirrorParams::default() };
    assert_eq!(new(twice).unwrap_err(), MirrorError::TwoPartners { name: "b".into() });
    let bad = MirrorParams { plane: Some(MirrorPlane { axis: 3, centre: 0.0 }), ..MirrorParams::default() };
    assert_eq!(new(bad).unwrap_err(), MirrorError::BadPlane);

    // A joint that only one side has: at rest it does no harm.
    let odd = TwoArms { names: ["chest", "LeftArm", "RightArm", "LeftHook", "x"], ..PLAIN }.rig();
    let mirror = Mirror::new(odd.clone(), &MirrorParams::default(), &Unwatched).unwrap();
    assert_eq!(mirror.joints(), [Some(0), Some(2), Some(1), None, None]);
    assert!(mirror.pose(&pose(&odd, 0, [0.5, 0.0, 0.0])).is_ok());
    let error = mirror.pose(&pose(&odd, 0, [0.5, 0.1, 0.0])).unwrap_err();
    assert_eq!(error, MirrorError::Unpaired { name: "LeftHook".into() });
}
