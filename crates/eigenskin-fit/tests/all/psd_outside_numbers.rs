//! Pose space deformation against numbers that scipy's `RBFInterpolator` gave (fixtures/make_fixtures.py).

use std::sync::Arc;

use eigenskin_core::driver::Kernel;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{Control, Rig};
use eigenskin_core::skeleton::Skeleton;
use eigenskin_core::weights::SkinWeights;
use eigenskin_fit::drivers::{RbfParams, Smoothing, Width};
use eigenskin_fit::method::PsdInterpolation;
use eigenskin_fit::method::PsdParams;
use serde_json::Value;

use crate::support::learn;

fn rows(value: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    value.as_array().unwrap().iter().map(row).collect()
}

fn rig() -> Arc<Rig> {
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::NEG_X];
    let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3], [0, 4, 2]];
    let mesh = Mesh::new(positions, triangles, None).unwrap();
    let controls = ["first", "second"].map(|name| Control { name: name.into(), default: 0.0 });
    Arc::new(Rig::new(mesh, Skeleton::empty(), SkinWeights::none(5), controls.to_vec()).unwrap())
}

#[test]
fn weights_and_vertices_agree_with_scipy() {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/psd.json")).unwrap();
    let rig = rig();
    let pose = |controls: &[f64]| Pose { world_from_joint: vec![], controls: controls.to_vec() };
    let cases = fixture["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let kernel = Kernel::named(case["kernel"].as_str().unwrap()).unwrap();
        let examples = rows(&case["poses"])
            .iter()
            .zip(rows(&case["deltas"]))
            .enumerate()
            .map(|(index, (controls, delta))| {
                let rest = rig.mesh().positions().iter();
                let moved = rest
                    .zip(delta.chunks_exact(3))
                    .map(|(rest, delta)| *rest + DVec3::from_slice(delta).as_vec3());
                Example {
                    name: format!("{index}"),
                    pose: pose(controls),
                    positions: moved.collect(),
                    normals: None,
                    inverted: None,
                }
            })
            .collect();
        let rbf = RbfParams {
            kernel: kernel.into(),
            width: Width::Fixed(case["width"].as_f64().unwrap()),
            smoothing: Smoothing::Fixed(0.0),
            ..RbfParams::default()
        };
        let params = PsdParams { interpolation: PsdInterpolation::Rbf(rbf), ..PsdParams::default() };
        let set = ExampleSet::new(rig.clone(), examples).unwrap();
        let model = Arc::new(learn(&set, &params).unwrap().model);
        let expected = rows(&case["weights"]).into_iter().zip(rows(&case["displacements"]));
        for (query, (weights, displacements)) in rows(&case["queries"]).iter().zip(expected) {
            let mut found = Vec::new();
            for layer in model.layers() {
                let mut scratch = vec![0.0; layer.driver.scratch_count()];
                let mut outputs = vec![0.0; layer.component_count()];
                layer.driver.evaluate(rig.skeleton(), &pose(query), &mut scratch, &mut outputs);
                found.extend(outputs);
            }
            assert_eq!(found.len(), weights.len());
            for (found, expected) in found.iter().zip(&weights) {
                assert!((found - expected).abs() < 1e-9, "{kernel:?}: {found} {expected}");
            }
            let mut positions = vec![Vec3::ZERO; 5];
            Evaluator::new(model.clone()).evaluate(&pose(query), &mut positions, None);
            for (vertex, expected) in displacements.chunks_exact(3).enumerate() {
                let found = positions[vertex].as_dvec3() - rig.mesh().positions()[vertex].as_dvec3();
                let distance = found.distance(DVec3::from_slice(expected));
                assert!(distance < 1e-5, "{kernel:?}, vertex {vertex}: {distance:e}");
            }
        }
    }
}
