//! The conformance vectors, as other runtimes play them.

use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_core::glam::Vec3;
use eigenskin_gltf::conformance::{Expectations, cases};
use eigenskin_gltf::read_model;
use eigenskin_gpu::{GpuModel, GpuModelParams, Storage};

use super::capture::{computed, drawn};
use super::compare::posed;
use crate::adapter::context;

#[test]
fn both_kernels_play_the_conformance_models() {
    let context = context();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut played = 0;
    for case in cases::all().unwrap() {
        let text = std::fs::read_to_string(folder.join(format!("{}.json", case.name))).unwrap();
        let expected: Expectations = serde_json::from_str(&text).unwrap();
        let glb = std::fs::read(folder.join(&expected.model)).unwrap();
        let (_, model) = read_model(&glb).unwrap();
        let model = Arc::new(model);
        let poses: Vec<_> = expected.poses.iter().map(|pose| pose.pose(&model).unwrap()).collect();
        let params = GpuModelParams { storage: Storage::F32, ..GpuModelParams::default() };
        let on_gpu = GpuModel::new(context, &model, &params).unwrap();
        let instances = posed(context, &on_gpu, &model, &poses);
        for found in [computed(context, &on_gpu, &instances), drawn(context, &on_gpu, &instances)] {
            let positions = expected.poses.iter().flat_map(|pose| &pose.positions);
            let normals = expected.poses.iter().flat_map(|pose| &pose.normals);
            for ((vertex, &position), &normal) in found.iter().zip(positions).zip(normals) {
                let off = vertex.position.distance(Vec3::from(position));
                assert!(f64::from(off) < 1e-5 * expected.size, "{}: {off}", case.name);
                let off = vertex.normal.as_dvec3().angle_between(Vec3::from(normal).as_dvec3()).to_degrees();
                assert!(off < 0.1, "{}: {off}°", case.name);
                played += 1;
            }
        }
    }
    assert!(played > 1000, "{played}");
}
