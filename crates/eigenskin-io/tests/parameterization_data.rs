//! Parameterization on a simulated soft bone with six joints, two of them roots, and through files.
// Helpers of integration tests are no tests to the linter.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use eigenskin_core::deformers::Base;
use eigenskin_core::progress::Unwatched;
use std::sync::Arc;

use common::viewer::Viewer;
use common::{data, furthest, largest_angle};
use eigenskin_characters::hand;
use eigenskin_characters::truth::SweptSkin;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_fit::method::{ParameterizationParams, fit_examples, Fit};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_gltf::{ModelWriteOptions, ReadOptions, RigFile, model_glb, model_of};
use eigenskin_io::read_examples;

fn bone(test: &str) -> Option<ExampleSet> {
    let path = data(test)?.join("dem-bones/bone_anim.npz");
    Some(read_examples(&path, &ReadOptions::default()).unwrap().1)
}

/// Trains on the frames that `trained` picks and measures on all others.
fn left_out(
    all: &ExampleSet,
    trained: impl Fn(usize) -> bool,
    params: &ParameterizationParams,
) -> (f64, Fit) {
    let pick = |wanted: bool| (0..all.len()).filter(|&f| trained(f) == wanted).collect::<Vec<_>>();
    let fit = fit_examples(&all.select(&pick(true)).unwrap(), &Base::default(), &params.clone().into(), &Unwatched).unwrap();
    let model = Arc::new(fit.model.clone());
    let error = evaluate_against(&model, &all.select(&pick(false)).unwrap(), &Unwatched).unwrap().relative_error.unwrap();
    (error, fit)
}

/// Frames that were not seen, between those that were (even, every tenth) and beyond them (a half).
#[test]
fn frames_left_out_are_predicted() {
    let Some(all) = bone("frames_left_out_are_predicted") else { return };
    let splits: [(&str, &dyn Fn(usize) -> bool); 3] = [
        ("even frames", &|f| f % 2 == 0),
        ("every tenth frame", &|f| f % 10 == 0),
        ("the first half", &|f| f < 200),
    ];
    let mut worst = 0f64;
    let limits = [(Some(12), [0.03, 0.05, 0.15]), (None, [0.005, 0.03, 0.10])];
    for (signals_per_vertex, bounds) in limits {
        let params = ParameterizationParams { signals_per_vertex, ..ParameterizationParams::default() };
        for ((name, trained), bound) in splits.iter().zip(bounds) {
            let start = std::time::Instant::now();
            let (error, fit) = left_out(&all, trained, &params);
            let told = fit.learnt.parameterization().unwrap();
            println!(
                "{name}, {signals_per_vertex:?} signals: {error:.4} of {bound}, {:.2} s, expected {:?}, lost {:.4}",
                start.elapsed().as_secs_f64(),
                told.cross_validation,
                told.rest_space_error
            );
            for part in &told.parts {
                println!(
                    "    {} {:?}: {} signals, ridge {}, cv {:.4?}, {} vertices, condition {:.1e}",
                    part.name,
                    part.drivers,
                    part.signal_count,
                    part.ridge,
                    part.cross_validation,
                    part.vertex_count,
                    part.condition
                );
            }
            if let Some(limit) = signals_per_vertex {
                assert!(fit.model.most_tuples_per_vertex() <= limit);
            }
            worst = worst.max(error / bound);
        }
    }
    assert!(worst <= 1.0, "{worst} of what is allowed");
}

/// A hand in parts: written, read back bit for bit, and shown alike by a stock viewer.
#[test]
fn a_hand_in_parts_survives_the_file_and_plays_in_a_stock_viewer() {
    let character = hand(1500).unwrap();
    let skin = SweptSkin::new(&character);
    let examples =
        character.articulation().random(30, 0.6, 21).into_iter().enumerate().map(|(index, angles)| {
            let pose = character.pose(&angles.angles);
            let positions = skin.shape(&pose);
            Example { name: format!("frame {index}"), pose, positions, normals: None, inverted: None }
        });
    let set = ExampleSet::new(character.rig.clone(), examples.collect()).unwrap();
    let fitted = fit_examples(&set, &Base::default(), &ParameterizationParams::default().into(), &Unwatched).unwrap();
    assert!(fitted.learnt.parameterization().unwrap().parts.len() > 1);
    let times: Vec<f64> = (0..6).map(f64::from).collect();
    let motion = character.articulation().random(6, 0.6, 22);
    let poses: Vec<_> = motion.iter().map(|angles| character.pose(&angles.angles)).collect();
    let file =
        RigFile::from_rig(character.rig.clone(), "hand").unwrap().with_clip("poses", &times, &poses).unwrap();
    let (bytes, _) = model_glb(&file, &fitted.model, &ModelWriteOptions::default()).unwrap();
    common::keep("parameterized hand", &bytes);
    let (read_file, read) = model_of(common::document(&bytes)).unwrap();
    assert_eq!(read, fitted.model);

    let scene = read_file.layout().scene_from_mesh;
    let viewer = Viewer::open(&bytes);
    let mut evaluator = Evaluator::new(Arc::new(read));
    let size = character.rig.mesh().size();
    for &time in &times {
        let pose = read_file.sample(&read_file.clips()[0], time);
        let mut positions = vec![Vec3::ZERO; character.rig.vertex_count()];
        let mut normals = positions.clone();
        evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
        for (p, n) in positions.iter_mut().zip(&mut normals) {
            *p = scene.transform_point3(p.as_dvec3()).as_vec3();
            *n = scene.transform_vector3(n.as_dvec3()).normalize().as_vec3();
        }
        let (shown, shown_normals, _) = viewer.show(0, time as f32);
        assert!(
            furthest(&shown, &positions) < 1e-5 * size,
            "{time}: {:e}",
            furthest(&shown, &positions) / size
        );
        assert!(largest_angle(&shown_normals, &normals) < 0.1, "{time}");
    }
}
