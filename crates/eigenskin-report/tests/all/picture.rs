//! Pictures of shapes whose look is known.

use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_report::picture::painter::CpuPainter;
use eigenskin_report::picture::{
    Background, HeatScale, Panel, PictureError, PictureParams, Surface, View, draw_panels,
};

/// A decoded picture.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    fn decode(file: &[u8]) -> Self {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let info = reader.info();
        assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
        assert!(info.srgb.is_some(), "the file does not say that it is sRGB");
        let (width, height) = (info.width as usize, info.height as usize);
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        let pixels = bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
        Self { width, height, pixels }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * self.width + x]
    }

    /// Pixels that are not the paper.
    fn inked(&self) -> usize {
        let paper = self.pixels[0];
        self.pixels.iter().filter(|&&p| p != paper).count()
    }
}

/// A sphere of radius 1 with poles on the y axis.
fn sphere() -> Mesh {
    let (rings, sectors) = (24, 48);
    let mut positions = vec![Vec3::Y];
    for ring in 1..rings {
        for sector in 0..sectors {
            let down = std::f32::consts::PI * ring as f32 / rings as f32;
            let round = std::f32::consts::TAU * sector as f32 / sectors as f32;
            positions.push(Vec3::new(down.sin() * round.sin(), down.cos(), down.sin() * round.cos()));
        }
    }
    positions.push(Vec3::NEG_Y);
    let last = positions.len() as u32 - 1;
    let at = |ring: u32, sector: u32| 1 + (ring - 1) * sectors + sector % sectors;
    let mut triangles = Vec::new();
    for sector in 0..sectors {
        triangles.push([0, at(1, sector), at(1, sector + 1)]);
        triangles.push([last, at(rings - 1, sector + 1), at(rings - 1, sector)]);
        for ring in 1..rings - 1 {
            let [a, b] = [at(ring, sector), at(ring, sector + 1)];
            let [c, d] = [at(ring + 1, sector), at(ring + 1, sector + 1)];
            triangles.extend([[a, c, b], [b, c, d]]);
        }
    }
    Mesh::new(positions, triangles, None).unwrap()
}

/// Two squares of side 2 that face +z: the first at z = 0, the second, shifted to the right by 1,
/// at z = 1 before it.
fn two_squares() -> Mesh {
    let square = |x: f32, z: f32| {
        [[x - 1.0, -1.0, z], [x + 1.0, -1.0, z], [x + 1.0, 1.0, z], [x - 1.0, 1.0, z]].map(Vec3::from)
    };
    let positions = [square(0.0, 0.0), square(1.0, 1.0)].concat();
    Mesh::new(positions, vec![[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]], None).unwrap()
}

fn at_rest<'a>(mesh: &'a Mesh, caption: &str, surface: Surface<'a>) -> Panel<'a> {
    Panel { caption: caption.to_owned(), positions: mesh.positions(), normals: mesh.normals(), surface }
}

/// Small panels without perspective, 2 % margin.
fn small() -> PictureParams {
    let view = View { perspective: 0.0, ..View::default() };
    PictureParams { panel_width: 200, panel_height: 200, view, ..PictureParams::default() }
}

/// Left and top of the first panel: 1.4 times the text size of 20.
const MARGIN: usize = 28;

#[test]
fn a_sphere_covers_its_disc_and_is_lit_from_the_upper_left() {
    let mesh = sphere();
    let picture = Picture::decode(
        &draw_panels(&CpuPainter, &mesh, &[at_rest(&mesh, "", Surface::Skin)], &small()).unwrap(),
    );
    assert_eq!((picture.width, picture.height), (200 + 2 * MARGIN, 200 + 2 * MARGIN));

    // Radius 0.48 × 200 = 96 pixels. Pixels that the rim only touches count too: half of the
    // about 8·r that it crosses.
    let disc = std::f64::consts::PI * 96.0 * 96.0;
    let covered = picture.inked() as f64;
    assert!(covered > disc && covered < disc + 8.0 * 96.0, "{covered} pixels for a disc of {disc}");

    let centre = MARGIN + 100;
    let [red, green, blue] = picture.at(centre, centre);
    assert!(red > green && green > blue && red > 120, "not clay: {red} {green} {blue}");
    let brightness = |x: usize, y: usize| picture.at(x, y).iter().map(|&c| u32::from(c)).sum::<u32>();
    assert!(brightness(centre - 45, centre - 45) > brightness(centre, centre));
    assert!(brightness(centre, centre) > brightness(centre + 55, centre + 55));
}

/// The two triangles of a square share its diagonal: with lines it is dark, and the middle of a triangle is
/// as it was.
#[test]
fn lines_lie_along_edges() {
    let mesh = two_squares();
    let draw = |wireframe: bool| {
        let params = PictureParams { wireframe, ..small() };
        let panel = at_rest(&mesh, "", Surface::Skin);
        Picture::decode(&draw_panels(&CpuPainter, &mesh, &[panel], &params).unwrap())
    };
    let (plain, lines) = (draw(false), draw(true));
    // The nearer square covers x from 0 to 2 of −1 to 2, at 64 pixels per unit.
    let at = |picture: &Picture, x: f64, y: f64| {
        let place = |offset: f64| (MARGIN as f64 + 100.0 + 64.0 * offset) as usize;
        i32::from(picture.at(place(x - 0.5), place(-y))[1])
    };
    assert_eq!(at(&plain, 1.5, -0.5), at(&lines, 1.5, -0.5));
    // The diagonal runs between this pixel and the one on its left.
    let pixel = 1.0 / 64.0;
    let darkest = |picture: &Picture| at(picture, 1.0, 0.0).min(at(picture, 1.0 - pixel, 0.0));
    let (before, after) = (darkest(&plain), darkest(&lines));
    assert!(after < before - 30, "{before} {after}");
}

/// Heat 0 is pale and heat 1 dark, so the colour tells which square is in front.
#[test]
fn the_nearer_surface_wins_in_any_order() {
    let mesh = two_squares();
    let mut reversed = mesh.triangles().to_vec();
    reversed.reverse();
    let reversed = Mesh::new(mesh.positions().to_vec(), reversed, None).unwrap();
    let errors = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let mut brightness_of = Vec::new();
    for (mesh, from_direction) in
        [(&mesh, Vec3::Z), (&reversed, Vec3::Z), (&mesh, Vec3::NEG_Z), (&reversed, Vec3::NEG_Z)]
    {
        let mut params = small();
        params.view.from_direction = from_direction;
        let panel = at_rest(mesh, "", Surface::Heat { errors: &errors });
        let picture = Picture::decode(&draw_panels(&CpuPainter, mesh, &[panel], &params).unwrap());
        brightness_of.push(picture.at(MARGIN + 100, MARGIN + 100)[1]);
    }
    let [front, front_reversed, back, back_reversed] = brightness_of[..] else { unreachable!() };
    assert_eq!((front, back), (front_reversed, back_reversed));
    assert!(front < 40, "from the front the dark square must hide the pale one: {front}");
    assert!(back > 100, "from the back the pale square must hide the dark one: {back}");
}

/// Rows are drawn in bands of 16; an edge that lies between two bands must get its line as well.
/// The heights put the near square's edge at row 80 of the panel, which begins a band, and at row
/// 160, before which one ends.
#[test]
fn a_near_part_is_outlined_against_a_far_one() {
    let mesh = two_squares();
    for (up, panel_height, on_line, inside) in [(Vec3::NEG_X, 236, 80, 86), (Vec3::X, 242, 159, 153)] {
        let mut params = PictureParams { panel_height, ..small() };
        params.view.up = up;
        let panel = at_rest(&mesh, "", Surface::Skin);
        let picture = Picture::decode(&draw_panels(&CpuPainter, &mesh, &[panel], &params).unwrap());
        let green = |row: usize| i32::from(picture.at(MARGIN + 100, MARGIN + row)[1]);
        assert!(green(on_line) < green(inside) - 10, "{} {}", green(on_line), green(inside));
    }
}

#[test]
fn displacements_have_a_swatch_for_each_direction() {
    let mesh = sphere();
    let right = vec![Vec3::X; mesh.vertex_count()];
    let panel = at_rest(&mesh, "", Surface::Displacement { vectors: &right, scale: 1.0 });
    let picture = Picture::decode(&draw_panels(&CpuPainter, &mesh, &[panel], &small()).unwrap());
    // Down through the swatches: x and its opposite, y, z; then no displacement at all.
    let x = MARGIN + 200 + 2 * 24 + 5;
    let mut swatches: Vec<[u8; 3]> = (0..picture.height).map(|y| picture.at(x, y)).collect();
    swatches.dedup();
    swatches.retain(|&colour| colour != [255; 3]);
    assert_eq!(swatches.len(), 7, "{swatches:?}");
    let [grey, plus, minus] = [6, 0, 1].map(|index| swatches[index].map(i32::from));
    assert!(grey[0] == grey[1] && grey[1] == grey[2]);
    assert!(plus[0] > grey[0] && minus[0] < grey[0] && plus[1] == grey[1] && minus[2] == grey[2]);
    for axis in 0..3 {
        assert!(swatches[2 * axis][axis] > swatches[6][axis], "{swatches:?}");
    }
}

#[test]
fn a_long_legend_label_breaks_instead_of_leaving_the_picture() {
    let mesh = two_squares();
    let width = |label: &str| {
        let mut params = small();
        params.heat.label = label.to_owned();
        let panel = at_rest(&mesh, "", Surface::Heat { errors: &[1.0; 8] });
        Picture::decode(&draw_panels(&CpuPainter, &mesh, &[panel], &params).unwrap()).width
    };
    let (none, short) = (width(""), width("error (mm)"));
    let long = width("distance to the truth in millimetres");
    assert!(short > none);
    // The second line takes a line's height of 0.85 × 20 pixel letters more.
    assert!(long > short + 17 && long < short + 30, "{none} {short} {long}");
}

#[test]
fn a_scale_stands_beside_heat_maps_only() {
    let mesh = sphere();
    let errors = vec![0.5; mesh.vertex_count()];
    let mut params = small();
    params.heat = HeatScale { maximum: Some(2.0), label: "error (mm)".to_owned() };
    let plain = Picture::decode(
        &draw_panels(&CpuPainter, &mesh, &[at_rest(&mesh, "", Surface::Skin)], &params).unwrap(),
    );
    let heat = at_rest(&mesh, "", Surface::Heat { errors: &errors });
    let heat = Picture::decode(&draw_panels(&CpuPainter, &mesh, &[heat], &params).unwrap());
    assert_eq!(plain.width, 200 + 2 * MARGIN);
    assert!(heat.width > plain.width + 60);

    // Down through the bar: from the darkest to the palest colour, and never brighter upward.
    let x = MARGIN + 200 + 2 * 24 + 5;
    let bar: Vec<u8> = (MARGIN + 22..MARGIN + 178).map(|y| heat.at(x, y)[1]).collect();
    assert!(bar[0] < 25 && bar[bar.len() - 1] > 230, "{} … {}", bar[0], bar[bar.len() - 1]);
    assert!(bar.windows(2).all(|pair| pair[0] <= pair[1]));

    // The sphere shows a quarter of the scale: the colour at three quarters down, shaded.
    let shown = heat.at(MARGIN + 70, MARGIN + 70);
    let legend = heat.at(x, MARGIN + 20 + 120);
    for channel in 0..3 {
        let (shown, legend) = (i32::from(shown[channel]), i32::from(legend[channel]));
        assert!(shown <= legend + 2 && shown > legend * 3 / 4, "{shown} against {legend}");
    }
}

#[test]
fn captions_add_ink_below_their_panel_and_break_when_long() {
    let mesh = sphere();
    let draw = |caption: &str| {
        Picture::decode(
            &draw_panels(&CpuPainter, &mesh, &[at_rest(&mesh, caption, Surface::Skin)], &small()).unwrap(),
        )
    };
    let (none, one) = (draw(""), draw("truth"));
    let long = draw("linear blending of a fist that was not among the examples");
    assert!(none.height < one.height && one.height < long.height);
    assert_eq!((none.width, one.width), (long.width, long.width));
    let below = |picture: &Picture| {
        let paper = picture.at(0, 0);
        let start = (MARGIN + 200) * picture.width;
        picture.pixels[start..].iter().filter(|&&p| p != paper).count()
    };
    assert_eq!(below(&none), 0);
    assert!(below(&one) > 100 && below(&long) > 5 * below(&one));
}

#[test]
fn threads_do_not_change_a_byte() {
    let mesh = sphere();
    let errors: Vec<f32> = mesh.positions().iter().map(|p| p.x.abs()).collect();
    let panels = [
        at_rest(&mesh, "skin", Surface::Skin),
        at_rest(&mesh, "error", Surface::Heat { errors: &errors }),
        at_rest(&mesh, "displacement", Surface::Displacement { vectors: mesh.positions(), scale: 1.0 }),
    ];
    let params = PictureParams { columns: 2, background: Background::Dark, ..small() };
    let draw = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| draw_panels(&CpuPainter, &mesh, &panels, &params).unwrap())
    };
    let one = draw(1);
    assert!(one == draw(2));
    assert!(Picture::decode(&one).inked() > 3 * 25_000);
}

/// Posing may flatten triangles, or the whole shape; normals may then be zero.
#[test]
fn shapes_without_area_do_not_stop_the_picture() {
    let mesh = two_squares();
    let zero = vec![Vec3::ZERO; 8];
    let line: Vec<Vec3> = (0..8).map(|i| Vec3::X * i as f32).collect();
    let mut folded = mesh.positions().to_vec();
    folded[2] = folded[0];
    for positions in [&zero, &line, &folded] {
        let panel = Panel { caption: String::new(), positions, normals: &zero, surface: Surface::Skin };
        let picture = Picture::decode(&draw_panels(&CpuPainter, &mesh, &[panel], &small()).unwrap());
        // Only the folded shape has anything left to draw.
        assert_eq!(picture.inked() > 0, positions == &folded);
        assert_ne!(picture.at(MARGIN + 150, MARGIN + 100), [0, 0, 0]);
    }
}

#[test]
fn wrong_input_is_named() {
    let mesh = two_squares();
    let message = |panel: Panel, params: &PictureParams| {
        draw_panels(&CpuPainter, &mesh, &[panel], params).unwrap_err().to_string()
    };
    let short = Surface::Heat { errors: &[1.0, 2.0] };
    assert_eq!(
        message(at_rest(&mesh, "fist", short), &small()),
        "panel 0 (fist) has 2 errors for a mesh of 8 vertices"
    );
    let mut broken = mesh.positions().to_vec();
    broken[3].y = f32::NAN;
    let panel = Panel { positions: &broken, ..at_rest(&mesh, "fist", Surface::Skin) };
    assert_eq!(message(panel, &small()), "panel 0 (fist): the position of vertex 3 is not a finite number");
    let params = PictureParams { panel_width: 0, ..small() };
    assert!(message(at_rest(&mesh, "", Surface::Skin), &params).contains("0 × 200 pixels"));
    assert!(matches!(draw_panels(&CpuPainter, &mesh, &[], &small()), Err(PictureError::NoPanels)));
}
