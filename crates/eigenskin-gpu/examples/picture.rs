//! Draws a posed model, posed and painted on the GPU:
//!
//! ```sh
//! cargo run --release -p eigenskin-gpu --example picture -- eigenskin-demo/model.glb eigenskin-demo/validation.glb fist picture.png
//! ```
//! The second file is an example set, the third argument the name of one of its poses. Left is the
//! skin, right the displacement that the model adds, as colours, with all edges.
#![allow(clippy::print_stderr, reason = "says what it costs")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_gpu::render::{Camera, DrawParams, Renderer, Scene, Surface, Wireframe};
use eigenskin_gpu::{GpuContext, GpuInstances, GpuModel, GpuModelParams, SkinCompute, wgpu};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, set, name, out] = &arguments[..] else {
        return Err("usage: picture MODEL.glb SET.glb POSE OUT.png".into());
    };
    let (_, model) = eigenskin_io::read_model(Path::new(model))?;
    let (_, set) = eigenskin_io::read_examples(Path::new(set), &eigenskin_gltf::ReadOptions::default())?;
    let example = set.examples().iter().find(|example| example.name.contains(name.as_str()));
    let pose = &example.ok_or("the set has no pose of that name")?.pose;

    let context = GpuContext::headless()?;
    let model = Arc::new(model);
    let plain = Arc::new(Model::without_corrections(model.rig().clone(), model.base().clone()));
    let (positions, normals) = posed(&context, &model, pose)?;
    let (skinned, _) = posed(&context, &plain, pose)?;
    let moved: Vec<Vec3> = positions.iter().zip(&skinned).map(|(a, b)| *a - *b).collect();
    let scale = moved.iter().map(|d| d.abs().max_element()).fold(1e-9, f32::max);
    let colours: Vec<Vec3> = moved.iter().map(|d| (Vec3::splat(0.5) + 0.5 * d / scale).powf(2.2)).collect();

    let renderer = Renderer::new(&context);
    let params = DrawParams { width: 640, height: 720, ..DrawParams::default() };
    let from = Vec3::new(0.3, -0.4, 1.0);
    let camera = Camera::around(&positions, from, Vec3::Y, 0.2, params.width, params.height);
    let triangles = model.rig().mesh().triangles();
    let skin = Scene::new(&positions, &normals, triangles);
    let chart = Scene {
        surface: Surface::Colours { colours: &colours },
        wireframe: Some(Wireframe::default()),
        ..skin
    };
    let start = Instant::now();
    let panels = [renderer.draw(&skin, &camera, &params)?, renderer.draw(&chart, &camera, &params)?];
    eprintln!("{}: two panels in {:.0} ms", context.name(), 1e3 * start.elapsed().as_secs_f64());
    write(Path::new(out), &panels, &params)
}

/// Positions and normals.
fn posed(
    context: &GpuContext,
    model: &Arc<Model>,
    pose: &Pose,
) -> Result<(Vec<Vec3>, Vec<Vec3>), Box<dyn Error>> {
    let on_gpu = GpuModel::new(context, model, &GpuModelParams::default())?;
    let mut instances = GpuInstances::new(context, &on_gpu, 1)?;
    instances.set(0, pose, Evaluator::new(model.clone()).drive(pose));
    instances.upload(context);
    let (read, sent) = (on_gpu.bytes_per_vertex(), instances.bytes_per_frame());
    eprintln!("{read:.0} bytes are read per vertex, {sent} uploaded per frame");
    let skin = SkinCompute::new(context, &on_gpu);
    let output = skin.output(context, &instances)?;
    let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    skin.record(&mut encoder, &instances, &output);
    context.queue().submit([encoder.finish()]);
    let numbers = output.read(context)?;
    let vertices = numbers.chunks_exact(6);
    Ok(vertices.map(|v| (Vec3::from_slice(v), Vec3::from_slice(&v[3..]))).unzip())
}

/// Panels side by side.
fn write(path: &Path, panels: &[Vec<[u8; 4]>], params: &DrawParams) -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    for row in 0..params.height as usize {
        let width = params.width as usize;
        for panel in panels {
            bytes.extend(panel[row * width..(row + 1) * width].iter().flatten());
        }
    }
    let file = std::fs::File::create(path)?;
    let mut encoder = png::Encoder::new(file, params.width * panels.len() as u32, params.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&bytes)?;
    Ok(())
}
