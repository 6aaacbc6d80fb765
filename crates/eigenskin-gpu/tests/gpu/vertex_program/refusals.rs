//! What cannot be played is refused, by name.

use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gpu::{GpuError, GpuInstances, GpuModel, GpuModelParams};

use super::hand_made::{model, rig};
use crate::adapter::context;

#[test]
fn more_instances_than_a_grid_has() {
    let context = context();
    let plain = model(rig(4, 1, 1, 1.0), BaseSkinning::LinearBlend, Vec::new());
    let on_gpu = GpuModel::new(context, &plain, &GpuModelParams::default()).unwrap();
    let error = GpuInstances::new(context, &on_gpu, 65_536).unwrap_err();
    assert!(matches!(error, GpuError::TooLarge { size: 65_536, limit: 65_535, .. }), "{error}");
}
