//! The tables that go to the GPU, and what is refused before one is asked.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "../gpu/vertex_program/hand_made.rs"]
mod hand_made;

use std::sync::Arc;

use eigenskin_core::deformers::{Base, Deformer, DeformerStack, Smoothing};
use eigenskin_core::model::{Frame, Model, Stage};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gpu::GpuError;
use eigenskin_gpu::tables::{ModelTables, Storage};
use hand_made::{layer, model, rig, tangents};

/// A vertex lists what reaches it and nothing else.
#[test]
fn lists_are_as_long_as_supports_say() {
    let rig = rig(5, 2, 2, 1.0);
    let after = Stage::AfterSkinning { frame: Frame::Joint(1) };
    let layers = vec![
        layer(vec![1, 3], 3, Stage::BeforeSkinning, true, 1.0),
        layer(vec![3], 1, after, false, 1.0),
        layer(vec![0, 3], 2, Stage::BeforeSkinning, false, 1.0),
    ];
    for storage in [Storage::F32, Storage::F16] {
        let model = model(rig.clone(), BaseSkinning::LinearBlend, layers.clone());
        let tables = ModelTables::new(&model, storage, &[]).unwrap();
        let counts: Vec<[u32; 3]> = tables
            .vertices()
            .windows(2)
            .map(|pair| {
                let [own, next] = [pair[0], pair[1]];
                [
                    own.first_turning - own.first_before,
                    own.first_after - own.first_turning,
                    next.first_before - own.first_after,
                ]
            })
            .collect();
        assert_eq!(counts, [[2, 0, 0], [3, 3, 0], [0, 0, 0], [5, 3, 1], [0, 0, 0]]);
    }
}

#[test]
fn chains_of_deformers_and_foreign_tangents() {
    let rig = rig(6, 2, 2, 1.0);
    let steps =
        vec![Deformer::Skinning(BaseSkinning::LinearBlend), Deformer::Smoothing(Smoothing::corrective())];
    let stack = DeformerStack { name: "smooth".into(), steps };
    let chained = Model::new(rig.clone(), Base::Deformers(Arc::new(stack)), Vec::new()).unwrap();
    let error = ModelTables::new(&chained, Storage::F32, &[]).unwrap_err();
    assert!(matches!(&error, GpuError::Deformers { name } if name == "smooth"), "{error}");

    let plain = model(rig, BaseSkinning::LinearBlend, Vec::new());
    let error = ModelTables::new(&plain, Storage::F32, &tangents(&plain)[1..]).unwrap_err();
    assert!(matches!(error, GpuError::TangentCount { given: 5, vertices: 6 }), "{error}");
}

#[test]
fn more_coordinates_than_sixteen_bits_can_number() {
    let layers = vec![layer(vec![2], 65_537, Stage::BeforeSkinning, false, 1.0)];
    let model = model(rig(4, 1, 1, 1.0), BaseSkinning::LinearBlend, layers);
    assert!(ModelTables::new(&model, Storage::F32, &[]).is_ok());
    let error = ModelTables::new(&model, Storage::F16, &[]).unwrap_err();
    assert!(matches!(error, GpuError::TooManyCoordinates { count: 65_537 }), "{error}");
}
