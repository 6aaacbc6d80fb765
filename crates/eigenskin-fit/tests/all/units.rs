//! The unit of a control changes nothing: a slider from 0 to 100 is a slider from 0 to 1.

use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::weights::SkinWeights;
use eigenskin_fit::method::{
    EigenSkinParams, Method, ParameterizationParams, PatchesParams, PsdParams, fit_examples,
};
use eigenskin_fit::suggest::{SuggestParams, suggest_poses};

use crate::support::{furthest, shape};

/// A sheet of skin that a smile and a frown move.
fn sheet() -> Arc<Rig> {
    let at = |x: u32, y: u32| Vec3::new(x as f32 / 9.0, y as f32 / 9.0, 0.0);
    let positions: Vec<Vec3> = (0..10).flat_map(|y| (0..10).map(move |x| at(x, y))).collect();
    let corner = |x: u32, y: u32| 10 * y + x;
    let triangles = (0..9).flat_map(|y| (0..9).map(move |x| (x, y))).flat_map(|(x, y)| {
        [
            [corner(x, y), corner(x + 1, y), corner(x, y + 1)],
            [corner(x + 1, y), corner(x + 1, y + 1), corner(x, y + 1)],
        ]
    });
    let mesh = Mesh::new(positions, triangles.collect(), None).unwrap();
    let control = |name: &str| Control { name: name.to_string(), default: 0.0 };
    let controls = vec![control("smile"), control("frown")];
    Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(100), controls).unwrap())
}

/// What the sheet does at a smile and a frown between 0 and 1: more than the sum of both.
fn true_shape(rig: &Rig, [smile, frown]: [f64; 2]) -> Vec<Vec3> {
    let moved = |p: &Vec3| {
        let height = (0.2 * smile.powf(1.5)) as f32 * p.x * p.x
            + (0.15 * (1.5 * frown).sin()) as f32 * (1.0 - p.x) * p.y
            - (0.1 * smile * frown) as f32 * p.y;
        *p + Vec3::Z * height
    };
    rig.mesh().positions().iter().map(moved).collect()
}

const EXAMPLES: [[f64; 2]; 7] =
    [[0.5, 0.0], [1.0, 0.0], [0.0, 0.4], [0.0, 1.0], [1.0, 1.0], [0.6, 0.5], [0.3, 0.9]];
const OTHERS: [[f64; 2]; 5] = [[0.25, 0.0], [0.8, 0.3], [0.99, 0.99], [0.1, 0.7], [1.0, 0.55]];

/// A pose at values in units of which `units` make one.
fn pose(at: [f64; 2], units: [f64; 2]) -> Pose {
    Pose { world_from_joint: Vec::new(), controls: vec![at[0] * units[0], at[1] * units[1]] }
}

fn set(rig: &Arc<Rig>, units: [f64; 2]) -> ExampleSet {
    let example = |&at: &[f64; 2]| Example {
        name: format!("{at:?}"),
        positions: true_shape(rig, at),
        pose: pose(at, units),
        normals: None,
        inverted: None,
    };
    ExampleSet::new(rig.clone(), EXAMPLES.iter().map(example).collect()).unwrap()
}

#[test]
fn sliders_from_0_to_100_are_learnt_as_those_from_0_to_1() {
    let rig = sheet();
    let methods: [Method; 4] = [
        PatchesParams::default().into(),
        PsdParams::default().into(),
        EigenSkinParams::default().into(),
        ParameterizationParams::default().into(),
    ];
    for method in methods {
        let model = |units| {
            let fit = fit_examples(&set(&rig, units), &Base::default(), &method, &Unwatched).unwrap();
            Arc::new(fit.model)
        };
        let plain = model([1.0, 1.0]);
        for units in [[100.0, 1.0], [1.0, 100.0], [100.0, 100.0], [0.1, 12.0]] {
            let scaled = model(units);
            for at in EXAMPLES.into_iter().chain(OTHERS) {
                let (expected, _) = shape(&plain, &pose(at, [1.0, 1.0]));
                let (found, _) = shape(&scaled, &pose(at, units));
                let apart = furthest(&found, &expected) / rig.mesh().size();
                assert!(apart < 1e-6, "{method:?}, {units:?} at {at:?}: {apart:e}");
            }
        }
    }
}

#[test]
fn suggestions_do_not_see_the_unit() {
    let rig = sheet();
    let found = |units: [f64; 2], known: bool| {
        let others = OTHERS.iter().map(|&at| NamedPose { name: format!("{at:?}"), pose: pose(at, units) });
        let candidates: Vec<NamedPose> = others.collect();
        let set = set(&rig, units);
        let params = SuggestParams { count: 4 };
        let examples = known.then_some(&set);
        let found = suggest_poses(&rig, examples, &candidates, &params, &Unwatched).unwrap();
        let told = |s: &eigenskin_fit::suggest::Suggestion| {
            (s.name.clone(), s.moves.clone(), s.nearest.as_ref().map(|nearest| nearest.name.clone()))
        };
        found.iter().map(told).collect::<Vec<_>>()
    };
    for known in [false, true] {
        let plain = found([1.0, 1.0], known);
        assert_eq!(plain.len(), 4);
        for units in [[100.0, 1.0], [1.0, 100.0], [0.1, 12.0]] {
            assert_eq!(found(units, known), plain, "{units:?}");
        }
    }
}
