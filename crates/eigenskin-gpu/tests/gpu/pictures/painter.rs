//! The report's pictures, painted on the GPU, against those of the CPU.
//!
//! `EIGENSKIN_SHOW_PICTURES=FOLDER` writes both, to be looked at.

use eigenskin_characters::hand;
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_gpu::render::GpuPainter;
use eigenskin_report::picture::painter::{CpuPainter, PanelPainter};
use eigenskin_report::picture::{Panel, PictureParams, Surface, View, draw_cutouts, draw_panels};

use crate::adapter::context;

/// Pixels of a PNG, and bytes per pixel.
fn decoded(file: &[u8]) -> (Vec<u8>, usize) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (bytes, info.color_type.samples())
}

#[test]
fn panels_look_alike_whoever_paints() {
    let context = context();
    let hand = hand(6000).unwrap();
    let mesh = hand.rig.mesh();
    let (positions, normals) = (mesh.positions(), mesh.normals());
    let errors: Vec<f32> = positions.iter().map(|p| 20.0 * p.y.abs()).collect();
    let panel = |surface| Panel { caption: "hand".into(), positions, normals, surface };
    let vectors: Vec<Vec3> = normals.iter().map(|n| 0.5 * *n).collect();
    let panels = [
        panel(Surface::Skin),
        panel(Surface::Heat { errors: &errors }),
        panel(Surface::Displacement { vectors: &vectors, scale: 1.0 }),
    ];
    let view = View { from_direction: Vec3::new(0.3, -0.4, 1.0), ..View::default() };
    let plain = PictureParams { panel_width: 200, panel_height: 240, view, ..PictureParams::default() };
    let lines = PictureParams { wireframe: true, ..plain.clone() };
    let gpu = GpuPainter::new(context);
    for (name, params) in [("", &plain), ("-lines", &lines)] {
        compare(&gpu, mesh, &panels, params, name);
    }
}

fn compare(gpu: &GpuPainter, mesh: &Mesh, panels: &[Panel], params: &PictureParams, name: &str) {
    let draw = |painter: &dyn PanelPainter| draw_panels(painter, mesh, panels, params).unwrap();
    let ((a, channels), (b, _)) = (decoded(&draw(&CpuPainter)), decoded(&draw(gpu)));
    assert_eq!((a.len(), channels), (b.len(), 3));
    if let Some(folder) = std::env::var_os("EIGENSKIN_SHOW_PICTURES") {
        std::fs::write(std::path::Path::new(&folder).join(format!("cpu{name}.png")), draw(&CpuPainter))
            .unwrap();
        std::fs::write(std::path::Path::new(&folder).join(format!("gpu{name}.png")), draw(gpu)).unwrap();
    }
    let off: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).collect();
    let mean = off.iter().map(|&off| f64::from(off)).sum::<f64>() / off.len() as f64;
    let far = off.iter().filter(|&&off| off > 24).count();
    println!("mean difference {mean:.3} of 255, {far} of {} bytes differ by more than 24", off.len());
    assert!(mean < 1.5 && far * 100 < off.len());

    let cutouts = |painter: &dyn PanelPainter| draw_cutouts(painter, mesh, panels, params).unwrap();
    let (cpu, gpu) = (cutouts(&CpuPainter), cutouts(gpu));
    assert_eq!(cpu.heat_maximum, gpu.heat_maximum);
    let opacity = |file: &[u8]| decoded(file).0.iter().skip(3).step_by(4).map(|&a| f64::from(a)).sum::<f64>();
    let (a, b) = (opacity(&cpu.files[0]), opacity(&gpu.files[0]));
    assert!((a / b - 1.0).abs() < 0.005, "covered: {a} and {b}");
}
