//! What cannot be played is refused, by name.

use std::sync::Arc;

use eigenskin_core::deformers::{Base, Deformer, DeformerStack, Smoothing};
use eigenskin_core::model::{Model, Stage};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gpu::tables::{ModelTables, Storage};
use eigenskin_gpu::{GpuError, GpuInstances, GpuModel, GpuModelParams};

use crate::adapter::context;
use crate::compare::tangents;
use crate::hand_made::{layer, model, rig};

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

#[test]
fn more_instances_than_a_grid_has() {
    let Some(context) = context() else { return };
    let plain = model(rig(4, 1, 1, 1.0), BaseSkinning::LinearBlend, Vec::new());
    let on_gpu = GpuModel::new(context, &plain, &GpuModelParams::default()).unwrap();
    let error = GpuInstances::new(context, &on_gpu, 65_536).unwrap_err();
    assert!(matches!(error, GpuError::TooLarge { size: 65_536, limit: 65_535, .. }), "{error}");
}
