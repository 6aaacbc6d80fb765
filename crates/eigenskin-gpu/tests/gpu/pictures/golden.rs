//! Pictures as they were. GPUs round differently, so a few pixels may differ a little.
//!
//! `EIGENSKIN_WRITE_GOLDEN=1` writes them anew: look at them before they are committed.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_characters::hand;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::Model;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gpu::render::{Camera, DrawParams, Renderer, Scene, Surface, Wireframe};

use crate::adapter::context;

const WIDTH: u32 = 200;
const HEIGHT: u32 = 200;

/// The built-in hand in a pose of that name, on dual quaternions.
fn posed_hand(name: &str, triangles: usize) -> (Mesh, Vec<Vec3>, Vec<Vec3>) {
    let hand = hand(triangles).unwrap();
    let named = hand.named_angles();
    let angles = &named.iter().find(|pose| pose.name.contains(name)).unwrap().angles;
    let model = Model::without_corrections(hand.rig.clone(), BaseSkinning::DualQuaternion);
    let mut positions = vec![Vec3::ZERO; hand.rig.vertex_count()];
    let mut normals = positions.clone();
    Evaluator::new(Arc::new(model)).evaluate(&hand.pose(angles), &mut positions, Some(&mut normals));
    (hand.rig.mesh().clone(), positions, normals)
}

#[test]
fn a_fist_of_clay() {
    let context = context();
    let (mesh, positions, normals) = posed_hand("fist", 6000);
    let camera = Camera::around(&positions, Vec3::new(0.3, -0.4, 1.0), Vec3::Y, 0.2, WIDTH, HEIGHT);
    let scene = Scene::new(&positions, &normals, mesh.triangles());
    check("fist", &draw(context, &scene, &camera));
}

#[test]
fn a_pinch_in_colours_with_its_edges() {
    let context = context();
    let (mesh, positions, normals) = posed_hand("pinch", 1600);
    let camera = Camera::around(&positions, Vec3::new(-0.8, -0.2, 1.0), Vec3::Y, 0.3, WIDTH, HEIGHT);
    let rest = mesh.positions().iter().zip(&positions);
    let colours: Vec<Vec3> =
        rest.map(|(a, b)| (Vec3::splat(0.3) + 6.0 * (b - a)).clamp(Vec3::ZERO, Vec3::ONE)).collect();
    let scene = Scene {
        surface: Surface::Colours { colours: &colours },
        wireframe: Some(Wireframe::default()),
        ..Scene::new(&positions, &normals, mesh.triangles())
    };
    check("pinch", &draw(context, &scene, &camera));
}

fn draw(context: &eigenskin_gpu::GpuContext, scene: &Scene, camera: &Camera) -> Vec<[u8; 4]> {
    let params = DrawParams { width: WIDTH, height: HEIGHT, ..DrawParams::default() };
    Renderer::new(context).draw(scene, camera, &params).unwrap()
}

fn check(name: &str, found: &[[u8; 4]]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.png"));
    if std::env::var_os("EIGENSKIN_WRITE_GOLDEN").is_some() {
        let mut encoder = png::Encoder::new(File::create(&path).unwrap(), WIDTH, HEIGHT);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header().unwrap().write_image_data(found.as_flattened()).unwrap();
        println!("written: {}", path.display());
        return;
    }
    let mut reader = png::Decoder::new(BufReader::new(File::open(&path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 4 * found.len(), "{name}: another size");
    // What is seen on white: colours of pixels that are hardly covered do not count.
    let on_white = |pixel: &[u8]| -> [f64; 3] {
        let share = f64::from(pixel[3]) / 255.0;
        std::array::from_fn(|i| share * f64::from(pixel[i]) + 255.0 * (1.0 - share))
    };
    let (mut sum, mut far) = (0.0, 0);
    for (wanted, found) in bytes.chunks_exact(4).zip(found) {
        let (a, b) = (on_white(wanted), on_white(found));
        let off = (0..3).map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max);
        sum += off;
        far += usize::from(off > 12.0);
    }
    let covered = found.iter().filter(|pixel| pixel[3] > 0).count();
    assert!(covered > found.len() / 6, "{name}: {covered} pixels are covered");
    assert!(sum / (covered as f64) < 1.0, "{name}: off by {} on average", sum / covered as f64);
    assert!(far * 100 < covered, "{name}: {far} of {covered} pixels are far off");
}
