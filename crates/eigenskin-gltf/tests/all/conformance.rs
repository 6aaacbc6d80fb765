//! The conformance folder of the repository is what the code says, and its models read back.

use std::path::PathBuf;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_gltf::conformance::{self, Expectations, cases};
use eigenskin_gltf::model_of;

use crate::support::cases::document;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn stored(name: &str) -> Expectations {
    let text = std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Two rounding steps of f32: platforms differ in the last bit of sines and exponentials.
fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 2.4e-7 * a.abs().max(1.0)
}

#[test]
fn the_stored_vectors_are_what_the_code_makes() {
    for case in cases::all().unwrap() {
        let (stored, fresh) = (stored(&case.name), conformance::expectations(&case));
        assert_eq!((&stored.about, &stored.model), (&fresh.about, &fresh.model));
        assert!((stored.size - fresh.size).abs() < 1e-9);
        assert_eq!(stored.poses.len(), fresh.poses.len());
        for (a, b) in stored.poses.iter().zip(&fresh.poses) {
            assert!(a.joints.keys().eq(b.joints.keys()) && a.controls.keys().eq(b.controls.keys()));
            let numbers = |p: &conformance::PoseExpectation| -> Vec<f64> {
                p.joints.values().flatten().flatten().chain(p.controls.values()).copied().collect()
            };
            assert!(numbers(a).iter().zip(numbers(b)).all(|(a, b)| (a - b).abs() < 1e-9), "{}", case.name);
            let values = |p: &conformance::PoseExpectation| -> Vec<f32> {
                let vectors = p.positions.iter().chain(&p.normals).flatten();
                p.coordinates.iter().chain(vectors).copied().collect()
            };
            assert_eq!(values(a).len(), values(b).len());
            assert!(values(a).iter().zip(values(b)).all(|(&a, b)| close(a, b)), "{}", case.name);
        }
    }
}

#[test]
fn the_stored_models_give_the_stored_shapes() {
    for case in cases::all().unwrap() {
        let expected = stored(&case.name);
        let glb = std::fs::read(folder().join(&expected.model)).unwrap();
        let (_, model) = model_of(document(&glb)).unwrap();
        let mut evaluator = Evaluator::new(model);
        for wanted in &expected.poses {
            let pose = wanted.pose(evaluator.model()).unwrap();
            let mut positions = vec![Vec3::ZERO; wanted.positions.len()];
            let mut normals = positions.clone();
            evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
            assert!(evaluator.coordinates().iter().zip(&wanted.coordinates).all(|(&a, &b)| close(a, b)));
            for (found, wanted) in
                positions.iter().chain(&normals).zip(wanted.positions.iter().chain(&wanted.normals))
            {
                assert!((*found - Vec3::from_array(*wanted)).length() < 1e-6, "{}", case.name);
            }
        }
    }
}

#[test]
fn the_folder_is_small_and_complete() {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        bytes += entry.unwrap().metadata().unwrap().len();
    }
    assert!(bytes < 1 << 20, "{bytes}");
    // Something moves in every case: a table of zeros would pass everything else.
    for case in cases::all().unwrap() {
        let expected = stored(&case.name);
        let largest = expected.poses.iter().flat_map(|p| &p.coordinates).fold(0f32, |m, c| m.max(c.abs()));
        assert!(largest > 0.05, "{}: {largest}", case.name);
    }
}
