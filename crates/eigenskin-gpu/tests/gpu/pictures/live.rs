//! Frames of the live renderer: where things are, which colours they have, and what is behind.

use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_gpu::render::{
    Background, Camera, LiveFrame, LiveRenderer, LiveSurface, Projection, Renderer, Scene, Wireframe,
};
use eigenskin_gpu::{GpuContext, GpuError, wgpu};

use super::{SQUARE, TRIANGLES, params, straight};
use crate::adapter::context;

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const SIZE: [u32; 2] = [40, 30];
const ROOM: Background = Background { middle: Vec3::new(0.2, 0.2, 0.2), rim: Vec3::ZERO };
/// From no distance to the largest.
const HEAT: [Vec3; 2] = [Vec3::X, Vec3::Z];

fn square_on(context: &GpuContext) -> LiveRenderer {
    LiveRenderer::new(context, FORMAT, &TRIANGLES, SQUARE.len(), &HEAT).unwrap()
}

fn frame<'a>(shape: &'a wgpu::Buffer, surface: LiveSurface<'a>, camera: &'a Camera) -> LiveFrame<'a> {
    LiveFrame {
        shape,
        surface,
        camera,
        pixels_per_unit: 10.0,
        radius: 2f64.sqrt(),
        wireframe: None,
        background: ROOM,
        size: SIZE,
    }
}

/// sRGB bytes, `row × column`.
fn drawn(context: &GpuContext, renderer: &mut LiveRenderer, frame: &LiveFrame) -> Vec<[u8; 4]> {
    let [width, height] = frame.size;
    let texture = context.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: FORMAT,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
    let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    renderer.record(&mut encoder, &view, frame).unwrap();
    context.queue().submit([encoder.finish()]);
    context.read_texture(&texture).unwrap()
}

#[test]
fn clay_has_the_colour_that_still_pictures_give_it() {
    let context = context();
    let mut live = square_on(context);
    let camera = straight([20.0, 15.0]);
    let normals = [Vec3::Z; 4];
    let shape = live.shape(&SQUARE, &normals).unwrap();
    let picture = drawn(context, &mut live, &frame(&shape, LiveSurface::Clay, &camera));
    let still =
        Renderer::new(context).draw(&Scene::new(&SQUARE, &normals, &TRIANGLES), &camera, &params()).unwrap();
    // The square takes 10 to 30 across and 5 to 25 down; a flat one has no folds.
    for (x, y) in [(20, 15), (14, 9), (26, 21)] {
        let (found, wanted) = (picture[y * 40 + x], still[y * 40 + x]);
        for channel in 0..3 {
            assert!(found[channel].abs_diff(wanted[channel]) <= 3, "{x} {y}: {found:?} {wanted:?}");
        }
    }
    // Behind it the room: grey, darker toward the corners.
    let [middle, corner] = [picture[15 * 40 + 7], picture[0]];
    assert!(
        middle[0] == middle[1] && middle[1] == middle[2] && middle[0] > corner[0] + 10,
        "{middle:?} {corner:?}"
    );
}

#[test]
fn heat_is_the_distance_from_another_shape() {
    let context = context();
    let mut live = square_on(context);
    let camera = straight([20.0, 15.0]);
    let normals = [Vec3::Z; 4];
    let shape = live.shape(&SQUARE, &normals).unwrap();
    // The right side is three units away, the left one is where it is.
    let moved: Vec<Vec3> = SQUARE.iter().map(|p| *p + Vec3::Y * if p.x > 0.0 { 3.0 } else { 0.0 }).collect();
    let compared = live.shape(&moved, &normals).unwrap();
    let mut heat_at = |largest: f32| {
        let surface = LiveSurface::Heat { compared: &compared, largest };
        drawn(context, &mut live, &frame(&shape, surface, &camera))
    };
    let picture = heat_at(3.0);
    let [left, right] = [picture[15 * 40 + 12], picture[15 * 40 + 27]];
    assert!(left[0] > left[2] + 80 && right[2] > right[0] + 80, "{left:?} {right:?}");
    // On a scale ten times as long all of it is near the first colour.
    let picture = heat_at(30.0);
    let right = picture[15 * 40 + 27];
    assert!(right[0] > right[2] + 80, "{right:?}");
}

#[test]
fn edges_are_drawn_and_frames_may_change_their_size() {
    let context = context();
    let mut live = square_on(context);
    let camera = straight([20.0, 15.0]);
    let shape = live.shape(&SQUARE, &[Vec3::Z; 4]).unwrap();
    let plain = frame(&shape, LiveSurface::Clay, &camera);
    let lines = Wireframe { colour: Vec3::ZERO, opacity: 1.0, width: 2.0 };
    let without = drawn(context, &mut live, &plain);
    let with = drawn(context, &mut live, &LiveFrame { wireframe: Some(lines), ..plain });
    // The diagonal goes through the middle, and not where x is 26 and y is 9 + 10.
    assert!(with[15 * 40 + 20][0] + 60 < without[15 * 40 + 20][0]);
    assert_eq!(with[19 * 40 + 26], without[19 * 40 + 26]);

    let large = Camera::new(&Projection {
        axes: [DVec3::X, DVec3::Y, DVec3::Z],
        centre: DVec3::ZERO,
        radius: 2f64.sqrt(),
        reach: 2.0,
        inverse_distance: 0.0,
        pixels_per_unit: 20.0,
        offset: [40.0, 30.0],
        size: [80.0, 60.0],
    });
    let twice = LiveFrame { camera: &large, pixels_per_unit: 20.0, size: [80, 60], ..plain };
    let picture = drawn(context, &mut live, &twice);
    let (inside, outside) = (picture[30 * 80 + 57], picture[30 * 80 + 62]);
    assert!(inside[0] > outside[0] + 40, "{inside:?} {outside:?}");
    assert_eq!(drawn(context, &mut live, &plain), without);
}

#[test]
fn shapes_of_another_mesh_are_refused() {
    let context = context();
    let refused = LiveRenderer::new(context, FORMAT, &[[0, 1, 4]], 4, &HEAT);
    assert!(matches!(refused, Err(GpuError::NoSuchVertex { triangle: 0, vertex: 4, vertices: 4 })));
    let live = square_on(context);
    let refused = live.shape(&SQUARE, &[Vec3::Z; 3]);
    assert!(matches!(refused, Err(GpuError::ShapeLength { what: "normals", given: 3, vertices: 4 })));
}
