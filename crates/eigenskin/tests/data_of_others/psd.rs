//! Pose space deformation on characters of others: an animated one, and a face.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::weights::SkinWeights;
use eigenskin_fit::drivers::{RbfParams, Smoothing};
use eigenskin_fit::method::{DeltaSpace, EigenSkinParams, Method, PrototypeParams, PsdInterpolation};
use eigenskin_fit::method::{PsdParams, fit_examples};
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_examples;

use crate::data;

/// Largest distance between two lists of points.
fn furthest(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max)
}

fn shape(evaluator: &mut Evaluator, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; evaluator.model().rig().vertex_count()];
    evaluator.evaluate(pose, &mut positions, None);
    positions
}

#[test]
fn frames_of_an_animated_character_are_met() {
    let data = data();
    let path = data.join("dem-bones/bone_anim.npz");
    let (_, all) = read_examples(&path, &ReadOptions::default()).unwrap();
    let set = all.select(&(0..20).map(|k| 10 + 20 * k).collect::<Vec<_>>()).unwrap();
    let size = set.rig().mesh().size();
    let miss = |model: &Arc<Model>| {
        let mut evaluator = Evaluator::new(model.clone());
        let misses = set.examples().iter().map(|e| furthest(&shape(&mut evaluator, &e.pose), &e.positions));
        misses.fold(0.0, f64::max) / size
    };
    let plain = Arc::new(Model::without_corrections(set.rig().clone(), BaseSkinning::LinearBlend));
    assert!(miss(&plain) > 1e-3, "{}", miss(&plain));
    for base in [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion] {
        for deltas in [DeltaSpace::Inverse, DeltaSpace::Forward { frame: Frame::Root }] {
            for prototypes in [None, Some(PrototypeParams::default())] {
                let params = PsdParams { deltas, prototypes, ..PsdParams::default() };
                let fit = fit_examples(&set, &base.into(), &params.into(), &Unwatched).unwrap();
                let model = Arc::new(fit.model);
                let miss = miss(&model);
                assert!(miss < 1e-5, "{base:?} {deltas:?} {prototypes:?}: {miss:e}");
            }
        }
    }
}

/// The neutral face and named expressions.
struct Face {
    neutral: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    names: Vec<String>,
    /// `expression × vertex`
    deltas: Vec<Vec3>,
}

impl Face {
    fn read(path: &Path) -> Self {
        let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
        // What follows the header of an array in version 1 of the format.
        let mut array = |key: &str| {
            let mut bytes = Vec::new();
            archive.by_name(&format!("{key}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
            let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            bytes.split_off(header)
        };
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let vectors = |bytes: &[u8]| -> Vec<Vec3> {
            let numbers: Vec<f32> = words(bytes).into_iter().map(f32::from_bits).collect();
            numbers.chunks_exact(3).map(Vec3::from_slice).collect()
        };
        let mut triangles = Vec::new();
        for face in words(&array("faces")).chunks_exact(4) {
            triangles.push([face[0], face[1], face[2]]);
            if face[3] != u32::MAX {
                triangles.push([face[0], face[2], face[3]]);
            }
        }
        let name =
            |codes: &[u32]| codes.iter().filter_map(|&c| char::from_u32(c)).filter(|&c| c != '\0').collect();
        Self {
            neutral: vectors(&array("neutral")),
            triangles,
            names: words(&array("names")).chunks_exact(16).map(name).collect(),
            deltas: vectors(&array("deltas")),
        }
    }

    fn rig(&self, controls: &[&str]) -> Arc<Rig> {
        let mesh = Mesh::new(self.neutral.clone(), self.triangles.clone(), None).unwrap();
        let controls = controls.iter().map(|&name| Control { name: name.into(), default: 0.0 }).collect();
        let weights = SkinWeights::none(self.neutral.len());
        Arc::new(Rig::new(mesh, Skeleton::empty(), weights, controls).unwrap())
    }

    fn expression(&self, name: &str, controls: &[f64], parts: &[(&str, f32)]) -> Example {
        let mut positions = self.neutral.clone();
        for (part, share) in parts {
            let index = self.names.iter().position(|name| name == part).unwrap();
            let deltas = &self.deltas[index * positions.len()..(index + 1) * positions.len()];
            positions.iter_mut().zip(deltas).for_each(|(p, d)| *p += *share * *d);
        }
        let pose = Pose { world_from_joint: vec![], controls: controls.to_vec() };
        Example { name: name.into(), pose, positions, normals: None, inverted: None }
    }
}

const FROWN: &[(&str, f32)] =
    &[("mouthFrown_L", 1.0), ("mouthFrown_R", 1.0), ("browDown_L", 0.7), ("browDown_R", 0.7)];
const SMIRK: &[(&str, f32)] = &[("mouthSmile_L", 0.8), ("mouthDimple_L", 0.6), ("mouthLeft", 0.3)];
const SMILE: &[(&str, f32)] =
    &[("mouthSmile_L", 1.0), ("mouthSmile_R", 1.0), ("cheekSquint_L", 0.6), ("cheekSquint_R", 0.6)];
const HALF_SMILE: &[(&str, f32)] =
    &[("mouthSmile_L", 0.6), ("mouthSmile_R", 0.6), ("mouthPress_L", 0.5), ("mouthPress_R", 0.5)];

fn fitted(rig: &Arc<Rig>, examples: Vec<Example>, interpolation: PsdInterpolation) -> Evaluator {
    let set = ExampleSet::new(rig.clone(), examples).unwrap();
    let params = PsdParams { interpolation, ..PsdParams::default() };
    let model =
        Arc::new(fit_examples(&set, &Base::default(), &params.clone().into(), &Unwatched).unwrap().model);
    let mut evaluator = Evaluator::new(model);
    for example in set.examples() {
        let miss = furthest(&shape(&mut evaluator, &example.pose), &example.positions);
        assert!(miss < 1e-5 * rig.mesh().size(), "{}: {miss}", example.name);
    }
    evaluator
}

/// The most that the velocity of any vertex changes from one step to the next along a path from −1
/// to 1: falls with the step where the path is smooth, stays where it has a kink.
fn sharpest_turn(evaluator: &mut Evaluator, steps: usize, controls: impl Fn(f64) -> Vec<f64>) -> f64 {
    let step = 2.0 / steps as f64;
    let mut at = |k: usize| {
        let controls = controls(-1.0 + step * k as f64);
        shape(evaluator, &Pose { world_from_joint: vec![], controls })
    };
    let (mut before, mut here) = (at(0), at(1));
    let mut sharpest = 0f64;
    for k in 2..=steps {
        let after = at(k);
        for ((a, b), c) in before.iter().zip(&here).zip(&after) {
            let turn = (a.as_dvec3() - 2.0 * b.as_dvec3() + c.as_dvec3()).length() / step;
            sharpest = sharpest.max(turn);
        }
        (before, here) = (here, after);
    }
    sharpest
}

/// Lewis, Cordner, Fong 2000, Figures 7 and 10: frown, neutral, smirk and smile on one axis.
#[test]
fn a_face_moves_smoothly_through_its_expressions() {
    let data = data();
    let face = Face::read(&data.join("ict-facekit/ict_facekit_expressions.npz"));
    let one_axis = face.rig(&["mood"]);
    let mut psd = fitted(
        &one_axis,
        vec![
            face.expression("frown", &[-1.0], FROWN),
            face.expression("smirk", &[0.5], SMIRK),
            face.expression("smile", &[1.0], SMILE),
        ],
        PsdInterpolation::default(),
    );
    // Shape interpolation has an axis for each expression.
    let own_axes = face.rig(&["frown", "smirk", "smile"]);
    let mut blended = fitted(
        &own_axes,
        vec![
            face.expression("frown", &[1.0, 0.0, 0.0], FROWN),
            face.expression("smirk", &[0.0, 1.0, 0.0], SMIRK),
            face.expression("smile", &[0.0, 0.0, 1.0], SMILE),
        ],
        PsdInterpolation::Linear,
    );
    let along =
        |x: f64| vec![(-x).max(0.0), (1.0 - (2.0 * x - 1.0).abs()).max(0.0), (2.0 * x - 1.0).max(0.0)];
    let smooth = [40, 80].map(|steps| sharpest_turn(&mut psd, steps, |x| vec![x]));
    let kinked = [40, 80].map(|steps| sharpest_turn(&mut blended, steps, along));
    assert!(smooth[1] < 0.6 * smooth[0], "{smooth:?}");
    assert!(kinked[1] > 0.95 * kinked[0], "{kinked:?}");
    assert!(smooth[1] < 0.2 * kinked[1], "{smooth:?} {kinked:?}");
}

/// A half-smile half-way on the axis of the smile: one control rises and the mouth goes one way,
/// where shape interpolation brings the half-smile in and takes it out again.
#[test]
fn a_half_smile_lies_on_the_way_to_the_smile() {
    let data = data();
    let face = Face::read(&data.join("ict-facekit/ict_facekit_expressions.npz"));
    let rig = face.rig(&["smile"]);
    let smile = face.expression("smile", &[1.0], SMILE);
    let examples = vec![face.expression("half-smile", &[0.5], HALF_SMILE), smile.clone()];
    let mut psd = fitted(&rig, examples, PsdInterpolation::default());
    let travel: Vec<f32> = smile.positions.iter().zip(&face.neutral).map(|(a, b)| a.distance(*b)).collect();
    let corner = (0..travel.len()).max_by(|&a, &b| travel[a].total_cmp(&travel[b])).unwrap();
    let way = (smile.positions[corner] - face.neutral[corner]).normalize();
    let progress: Vec<f32> = (0..=40)
        .map(|k| {
            let controls = vec![f64::from(k) / 40.0];
            let found = shape(&mut psd, &Pose { world_from_joint: vec![], controls });
            (found[corner] - face.neutral[corner]).dot(way)
        })
        .collect();
    assert!(progress.windows(2).all(|pair| pair[1] > pair[0]), "{progress:?}");

    let own_axes = face.rig(&["half-smile", "smile"]);
    let examples = vec![
        face.expression("half-smile", &[1.0, 0.0], HALF_SMILE),
        face.expression("smile", &[0.0, 1.0], SMILE),
    ];
    let mut blended = fitted(&own_axes, examples, PsdInterpolation::Linear);
    // The same three shapes on the way need weights of the half-smile that rise and fall.
    let weights = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]].map(|controls| {
        let controls = controls.to_vec();
        blended.drive(&Pose { world_from_joint: vec![], controls })[0]
    });
    assert_eq!(weights, [0.0, 1.0, 0.0]);
    // Both at once, as half and full smile on the way, is more than either.
    let both = shape(&mut blended, &Pose { world_from_joint: vec![], controls: vec![1.0, 1.0] });
    assert!((both[corner] - face.neutral[corner]).dot(way) > 1.3 * progress[40]);
}

/// Frown, neutral, smirk and smile on one axis: a half-frown is half a frown, and nothing of a smile.
#[test]
fn expressions_on_one_axis_do_not_mix() {
    let data = data();
    let face = Face::read(&data.join("ict-facekit/ict_facekit_expressions.npz"));
    let rig = face.rig(&["mood"]);
    let examples = vec![
        face.expression("frown", &[-1.0], FROWN),
        face.expression("smirk", &[0.5], SMIRK),
        face.expression("smile", &[1.0], SMILE),
    ];
    let mut psd = fitted(&rig, examples, PsdInterpolation::default());
    let mut weights =
        |mood: f64| psd.drive(&Pose { world_from_joint: vec![], controls: vec![mood] }).to_vec();
    let half = weights(-0.5);
    let lowest = (-100..=100).flat_map(|step| weights(f64::from(step) / 100.0)).fold(0f32, f32::min);
    println!(
        "half-frown: frown {:.3}, smirk {:.3}, smile {:.3}; lowest weight {lowest:.3}",
        half[0], half[1], half[2]
    );
    assert!(lowest >= -0.1, "{lowest}");
    assert!((half[0] - 0.5).abs() < 0.05 && half[1].abs() < 0.1 && half[2].abs() < 0.05, "{half:?}");
}

/// Share of plain skinning's error that a model of one set leaves in another.
fn error_left(training: &ExampleSet, held_out: &ExampleSet, method: &Method) -> f64 {
    let model = Arc::new(fit_examples(training, &Base::default(), method, &Unwatched).unwrap().model);
    let plain = Arc::new(Model::without_corrections(training.rig().clone(), BaseSkinning::LinearBlend));
    let [left, skinning] = [model, plain].map(|model| {
        let mut evaluator = Evaluator::new(model);
        let squares = held_out.examples().iter().map(|example| {
            let found = shape(&mut evaluator, &example.pose);
            found.iter().zip(&example.positions).map(|(a, b)| f64::from(a.distance_squared(*b))).sum::<f64>()
        });
        squares.sum::<f64>()
    });
    (left / skinning).sqrt()
}

fn read(path: &str) -> ExampleSet {
    read_examples(data().join(path), &ReadOptions::default()).unwrap().1
}

/// Poses of one joint each, judged on poses of many: no worse than the Gaussians of before.
#[test]
fn a_hand_is_predicted_no_worse_than_by_gaussians() {
    let training = read("fem-hand/train.npz");
    let held_out = read("fem-hand/held_out.npz").for_rig(training.rig()).unwrap();
    let weighted = PsdParams { prototypes: Some(PrototypeParams::default()), ..PsdParams::default() };
    let mut worse = Vec::new();
    for (name, method, before) in [
        ("psd", Method::from(PsdParams::default()), 0.327),
        ("weighted psd", weighted.into(), 0.338),
        ("eigenskin", EigenSkinParams::default().into(), 0.346),
    ] {
        let left = error_left(&training, &held_out, &method);
        println!("{name}: {left:.4} of skinning's error on held-out poses");
        if left > before {
            worse.push(format!("{name}: {left}"));
        }
    }
    assert!(worse.is_empty(), "{worse:?}");
}

/// Crowded poses need wide kernels, which `f64` can solve for: every tenth frame, judged on the odd ones.
#[test]
fn crowded_frames_are_interpolated_by_wide_kernels() {
    let smoothed = RbfParams { smoothing: Smoothing::Automatic, ..RbfParams::default() };
    let psd = |interpolation| PsdParams { interpolation, ..PsdParams::default() };
    let weighted = PsdParams { prototypes: Some(PrototypeParams::default()), ..PsdParams::default() };
    let all = read("dem-bones/bone_anim.npz");
    let frames =
        |first: usize, step: usize| all.select(&(first..400).step_by(step).collect::<Vec<_>>()).unwrap();
    let (every_tenth, odd) = (frames(0, 10), frames(1, 2));
    let mut worse = Vec::new();
    for (name, method, most) in [
        ("psd", psd(PsdInterpolation::default()).into(), 0.035),
        ("psd with automatic smoothing", psd(PsdInterpolation::Rbf(smoothed)).into(), 0.035),
        ("weighted psd", weighted.into(), 0.1),
        // 0.20731 before, with widths that ended at a condition of 1e9
        ("eigenskin", EigenSkinParams::default().into(), 0.2074),
    ] {
        let left = error_left(&every_tenth, &odd, &method);
        println!("{name}: {left:.4} of skinning's error on odd frames");
        if left > most {
            worse.push(format!("{name}: {left}"));
        }
    }
    assert!(worse.is_empty(), "{worse:?}");
}
