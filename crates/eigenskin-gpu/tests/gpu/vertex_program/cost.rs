//! What a frame costs, for information: on a GPU that the CPU imitates it says nothing about others.

use std::time::Instant;

use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gpu::{GpuModel, GpuModelParams, SkinCompute, Storage, wgpu};

use super::compare::posed;
use super::random_models::{Random, Shape, model, pose};
use crate::adapter::context;

#[test]
#[ignore = "prints times, asserts nothing; a stage of check"]
fn time_of_a_frame() {
    let context = context();
    for storage in [Storage::F32, Storage::F16] {
        let base = BaseSkinning::LinearBlend;
        let model =
            model(Shape { seed: 3, base, joints: 20, influences: 4, rings: 1000, layers: 12, offset: 0.0 });
        let params = GpuModelParams { storage, ..GpuModelParams::default() };
        let on_gpu = GpuModel::new(context, &model, &params).unwrap();
        let mut random = Random::new(8);
        let poses: Vec<Pose> = (0..10).map(|_| pose(&mut random, model.rig(), false)).collect();
        let mut instances = posed(context, &on_gpu, &model, &poses);
        let skin = SkinCompute::new(context, &on_gpu);
        let output = skin.output(context, &instances).unwrap();
        let mut times = Vec::new();
        for _ in 0..20 {
            let start = Instant::now();
            instances.upload(context);
            let mut encoder =
                context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            skin.record(&mut encoder, &instances, &output);
            context.queue().submit([encoder.finish()]);
            context.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
            times.push(start.elapsed());
        }
        times.sort();
        println!(
            "{}: {} instances of {} vertices, {storage:?}, {:.0} bytes per vertex, {} bytes uploaded: {:.2} ms a frame (median of 20)",
            context.name(),
            poses.len(),
            model.rig().vertex_count(),
            on_gpu.bytes_per_vertex(),
            instances.bytes_per_frame(),
            1e3 * times[10].as_secs_f64(),
        );
    }
}
