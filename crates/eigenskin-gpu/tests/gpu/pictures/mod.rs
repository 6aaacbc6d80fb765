//! Pictures drawn on the GPU: what must be in them by construction, and two as they were.

mod golden;
mod live;
#[cfg(feature = "report")]
mod painter;

use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_gpu::GpuError;
use eigenskin_gpu::render::{Camera, DrawParams, Openness, Projection, Renderer, Scene, Surface, Wireframe};

use crate::adapter::context;

/// A square from −1 to 1 in the plane of the picture.
const SQUARE: [Vec3; 4] = [
    Vec3::new(-1.0, -1.0, 0.0),
    Vec3::new(1.0, -1.0, 0.0),
    Vec3::new(1.0, 1.0, 0.0),
    Vec3::new(-1.0, 1.0, 0.0),
];
const TRIANGLES: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];

/// Ten pixels per unit on 40 × 30 pixels; the middle of the square at `offset`.
fn straight(offset: [f64; 2]) -> Camera {
    Camera::new(&Projection {
        axes: [DVec3::X, DVec3::Y, DVec3::Z],
        centre: DVec3::ZERO,
        radius: 2f64.sqrt(),
        reach: 2.0,
        inverse_distance: 0.0,
        pixels_per_unit: 10.0,
        offset,
        size: [40.0, 30.0],
    })
}

fn params() -> DrawParams {
    DrawParams { width: 40, height: 30, samples: 4, outline: false }
}

fn square(normals: &[Vec3]) -> Scene<'_> {
    Scene { openness: Openness::Everywhere, ..Scene::new(&SQUARE, normals, &TRIANGLES) }
}

#[test]
fn coverage_is_opacity_and_colours_are_not_multiplied() {
    let context = context();
    let normals = [Vec3::Z; 4];
    let colours = [Vec3::X; 4];
    let scene = Scene { surface: Surface::Colours { colours: &colours }, ..square(&normals) };
    // From 10.5 to 30.5 across and from 4 to 24 down.
    let picture = Renderer::new(context).draw(&scene, &straight([20.5, 14.0]), &params()).unwrap();
    let at = |x: usize, y: usize| picture[y * 40 + x];
    assert_eq!(
        (at(0, 0), at(9, 14), at(20, 3), at(20, 24), at(31, 14)),
        ([0; 4], [0; 4], [0; 4], [0; 4], [0; 4])
    );
    assert_eq!((at(20, 4)[3], at(20, 23)[3], at(11, 14)[3], at(29, 14)[3]), (255, 255, 255, 255));
    for half in [at(10, 14), at(30, 14)] {
        assert_eq!(half[3], 128);
        assert_eq!(half[..3], at(20, 14)[..3], "the same colour as inside");
    }
    let [red, green, blue, _] = at(20, 14);
    assert!(red > 200 && green == 0 && blue == 0, "{red} {green} {blue}");
}

#[test]
fn colours_mix_across_triangles_and_up_is_up() {
    let context = context();
    let normals = [Vec3::Z; 4];
    let colours = [Vec3::X, Vec3::X, Vec3::Y, Vec3::Y];
    let scene = Scene { surface: Surface::Colours { colours: &colours }, ..square(&normals) };
    let picture = Renderer::new(context).draw(&scene, &straight([20.0, 15.0]), &params()).unwrap();
    let column: Vec<[u8; 4]> = (5..25).map(|y| picture[y * 40 + 17]).collect();
    assert!(column[0][1] > 230 && column[0][0] < 60, "green above: {:?}", column[0]);
    assert!(column[19][0] > 230 && column[19][1] < 60, "red below: {:?}", column[19]);
    // Mixed in linear light: half red, half green is brighter than half of the bytes.
    assert!(column[10][0].abs_diff(column[9][1]) < 8 && column[10][0] > 170, "{:?}", column[10]);
}

#[test]
fn the_inside_is_darker_and_lines_are_where_edges_are() {
    let context = context();
    let renderer = Renderer::new(context);
    let normals = [Vec3::Z; 4];
    let outside = renderer.draw(&square(&normals), &straight([20.0, 15.0]), &params()).unwrap();
    let turned = [[0, 2, 1], [0, 3, 2]];
    let backward = [Vec3::NEG_Z; 4];
    let inside = Scene { triangles: &turned, ..square(&backward) };
    let inside = renderer.draw(&inside, &straight([20.0, 15.0]), &params()).unwrap();
    let pixel = 15 * 40 + 14;
    for channel in 0..3 {
        assert!(outside[pixel][channel] > inside[pixel][channel] + 20);
    }
    let lines = Wireframe { colour: Vec3::ZERO, opacity: 1.0, width: 1.0 };
    let lined = Scene { wireframe: Some(lines), ..square(&normals) };
    let lined = renderer.draw(&lined, &straight([20.0, 15.0]), &params()).unwrap();
    // The diagonal from lower left to upper right, and only its neighbourhood.
    for step in 3..17 {
        let (x, y) = (10 + step, 24 - step);
        assert!(lined[y * 40 + x][1] < outside[y * 40 + x][1] / 2, "{step}: {:?}", lined[y * 40 + x]);
    }
    assert_eq!(lined[pixel], outside[pixel]);
}

#[test]
fn outlines_are_dark_and_only_at_the_rim() {
    let context = context();
    let renderer = Renderer::new(context);
    let normals = [Vec3::Z; 4];
    let plain = renderer.draw(&square(&normals), &straight([20.0, 15.0]), &params()).unwrap();
    let with = DrawParams { outline: true, ..params() };
    let lined = renderer.draw(&square(&normals), &straight([20.0, 15.0]), &with).unwrap();
    let at = |x: usize, y: usize| y * 40 + x;
    assert_eq!(lined[at(20, 15)], plain[at(20, 15)]);
    for rim in [at(10, 15), at(29, 15), at(20, 5), at(20, 24)] {
        assert!(lined[rim][1] + 10 < plain[rim][1] && lined[rim][3] == 255, "{:?}", lined[rim]);
    }
}

/// A parallel square of side 2 at distance 1 fills 0.5541 of the hemisphere, by cosine.
#[test]
fn a_roof_takes_the_light_of_what_is_below_it() {
    let context = context();
    let renderer = Renderer::new(context);
    let sheet = |z: f32| {
        let corners = SQUARE.map(|p| p + Vec3::Z * z);
        [[Vec3::Z * z].as_slice(), &corners].concat()
    };
    let fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]];
    let roof = fan.map(|corners: [u32; 3]| corners.map(|v| v + 5));
    let shares_of = |positions: &[Vec3], triangles: &[[u32; 3]]| {
        let normals = vec![Vec3::Z; positions.len()];
        renderer.openness(&Scene::new(positions, &normals, triangles), &straight([20.0, 15.0])).unwrap()[0]
    };
    assert_eq!(shares_of(&sheet(0.0), &fan), [1.0; 4]);
    let both = [fan, roof].concat();
    let [light, hemisphere, below_light, below] = shares_of(&[sheet(0.0), sheet(1.0)].concat(), &both);
    assert!((hemisphere - (1.0 - 0.5541)).abs() < 0.02, "{hemisphere}");
    assert!(light > 0.0 && light < 0.7 && below == 1.0 && below_light == 1.0, "{light}");
    let [_, close, ..] = shares_of(&[sheet(0.0), sheet(0.15)].concat(), &both);
    assert!(close < 0.03, "{close}");
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let context = context();
    let renderer = Renderer::new(context);
    let normals = [Vec3::Z; 4];
    let draw = |scene: &Scene, params: &DrawParams| renderer.draw(scene, &straight([20.0, 15.0]), params);
    let error = draw(&square(&normals[..3]), &params()).unwrap_err();
    assert!(matches!(error, GpuError::ShapeLength { what: "normals", given: 3, vertices: 4 }), "{error}");
    let triangles = [[0, 1, 2], [0, 9, 1]];
    let error = draw(&Scene { triangles: &triangles, ..square(&normals) }, &params()).unwrap_err();
    assert!(matches!(error, GpuError::NoSuchVertex { triangle: 1, vertex: 9, vertices: 4 }), "{error}");
    for (width, height) in [(0, 10), (1_000_000, 10)] {
        let error = draw(&square(&normals), &DrawParams { width, height, ..params() }).unwrap_err();
        assert!(matches!(error, GpuError::TooLarge { .. }), "{error}");
    }
    // Nothing to draw is a clear picture.
    let nothing = Scene::new(&[], &[], &[]);
    assert!(draw(&nothing, &params()).unwrap().iter().all(|&pixel| pixel == [0; 4]));
}
