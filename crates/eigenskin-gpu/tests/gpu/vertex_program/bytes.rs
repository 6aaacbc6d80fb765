//! What is uploaded, counted by hand.

use eigenskin_core::model::{Frame, Stage};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gpu::frame::FrameTables;
use eigenskin_gpu::tables::{HEAVIEST, ModelTables, Storage};
use eigenskin_gpu::{GpuInstances, GpuModel, GpuModelParams};

use super::hand_made::{layer, model, rig, tangents};
use crate::adapter::context;

#[test]
fn bytes_are_what_counting_by_hand_gives() {
    let context = context();
    // Vertices with 1, 2 and 3 joints: 6 influences. Vertices 0 and 2 carry two displacements and two
    // normal corrections each: 8 in all.
    let rig = rig(3, 3, 3, 1.0);
    let one = || vec![layer(vec![0, 2], 2, Stage::BeforeSkinning, true, 1.0)];
    let linear = model(rig.clone(), BaseSkinning::LinearBlend, one());
    let per_vertex = |storage, tangents| {
        let params = GpuModelParams { storage, tangents };
        let on_gpu = GpuModel::new(context, &linear, &params).unwrap();
        let five = GpuInstances::new(context, &on_gpu, 5).unwrap();
        (on_gpu.bytes_per_vertex(), five.bytes_per_frame())
    };
    // 40 + (6 × 8 + 8 × 16) / 3; five times four joints (one stands still) × 48 + two coordinates × 4.
    assert_eq!(per_vertex(Storage::F32, vec![]), (40.0 + 176.0 / 3.0, 5 * (4 * 48 + 2 * 4)));
    // Half the displacements; positions and normals have coordinates of their own.
    assert_eq!(per_vertex(Storage::F16, vec![]), (40.0 + 112.0 / 3.0, 5 * (4 * 48 + 4 * 4)));
    // 16 more for each vertex.
    assert_eq!(per_vertex(Storage::F32, tangents(&linear)).0, 40.0 + 224.0 / 3.0);

    let tables =
        |base, layers| ModelTables::new(&model(rig.clone(), base, layers), Storage::F32, &[]).unwrap();
    // Rigid: one joint per vertex. Dual quaternions: 2 + 3 vectors per joint.
    assert_eq!(tables(BaseSkinning::Rigid, one()).bytes_per_vertex(), 40.0 + (3.0 * 8.0 + 128.0) / 3.0);
    assert_eq!(tables(BaseSkinning::DualQuaternion, one()).bytes_per_instance(), 4 * 80 + 8);
    // A layer after skinning needs a rotation per joint, and leaves normals alone.
    let after = Stage::AfterSkinning { frame: Frame::HeaviestJoint };
    let with_after = tables(BaseSkinning::LinearBlend, vec![layer(vec![0, 2], 2, after, true, 1.0)]);
    assert_eq!(with_after.bytes_per_instance(), 4 * 64 + 8);
    assert_eq!(with_after.bytes_per_vertex(), 40.0 + (48.0 + 4.0 * 16.0) / 3.0);
    assert_eq!(with_after.frames(), [HEAVIEST; 2]);
    assert_eq!(size_of_val(&FrameTables::new(&with_after, 1).counts()), 32);
}
