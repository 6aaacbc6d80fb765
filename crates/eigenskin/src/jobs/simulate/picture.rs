//! A picture of what a simulation is going to do: skin, lattice and bones side by side.

use std::ops::Range;

use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::mesh::Mesh;
use eigenskin_core::rig::Rig;
use eigenskin_report::page::figure;
use eigenskin_report::picture::painter::PanelPainter;
use eigenskin_report::picture::{Panel, PictureParams, Surface, View, draw_panels};
use eigenskin_sim::lattice::corner_offset;
use eigenskin_sim::ranges::axes::BodyFrame;
use eigenskin_sim::ranges::part::{Side, places};

use super::SimulateError;
use super::plan::SimulationPlan;

impl SimulationPlan {
    /// Skin, lattice and bones side by side, as PNG.
    pub fn picture(&self, painter: &dyn PanelPainter) -> Result<Vec<u8>, SimulateError> {
        let tissue = self.simulation.tissue();
        let lattice = &tissue.filling.lattice;
        let mut drawing = Drawing::of(self.simulation.rig().mesh());
        let skin = drawing.end_of_part();
        for (cell, corners) in lattice.corners.iter().enumerate() {
            let middle = lattice.mesh_from_lattice(tissue.filling.middle_of(cell));
            let lowest = lattice.nodes[corners[0] as usize];
            // A gap between the cells lets them be told apart.
            let at =
                |corner: usize| middle.lerp(lattice.mesh_from_lattice(lowest + corner_offset(corner)), 0.92);
            drawing.add_cube(at, DVec3::ZERO);
        }
        let cells = drawing.end_of_part();
        for held in &tissue.held.points {
            let middle = lattice.mesh_from_lattice(held.rest);
            let at =
                |corner: usize| middle + 0.2 * lattice.edge * (corner_offset(corner) - DVec3::splat(0.5));
            drawing.add_cube(at, colour_of(held.group));
        }
        let bones = drawing.end_of_part();

        let mesh = Mesh::new(drawing.positions, drawing.triangles, None)?;
        let only = |part: Range<usize>| -> Vec<Vec3> {
            // What a panel does not show is put into one point, where it has no area.
            let nowhere = mesh.bounds().centre.as_vec3();
            let shown = |(index, &p): (usize, &Vec3)| if part.contains(&index) { p } else { nowhere };
            mesh.positions().iter().enumerate().map(shown).collect()
        };
        let shown = [only(0..skin), only(skin..cells), only(cells..bones)];
        let coloured = Surface::Displacement { vectors: &drawing.colours, scale: 1.0 };
        let panel = |positions, caption: String, surface| Panel {
            caption,
            positions,
            normals: mesh.normals(),
            surface,
        };
        let panels = [
            panel(&shown[0], "skin".to_string(), Surface::Skin),
            panel(
                &shown[1],
                format!("{} cells\nedge {}", lattice.cell_count(), figure(lattice.edge)),
                Surface::Skin,
            ),
            panel(&shown[2], "what the bones hold\none colour per bone that moves".to_string(), coloured),
        ];
        let params =
            PictureParams { columns: 3, view: view_of(self.simulation.rig()), ..PictureParams::default() };
        Ok(draw_panels(painter, &mesh, &panels, &params)?)
    }
}

/// Bodies are looked at from the front, others at their broad side; a little from above.
fn view_of(rig: &Rig) -> View {
    let places = places(rig.skeleton());
    let has = |wanted: Side| places.iter().any(|place| place.side == wanted);
    let (toward_eye, up) = if has(Side::Left) && has(Side::Right) {
        let body = BodyFrame::of(rig.skeleton(), &places);
        (body.front.as_vec3(), body.up.as_vec3())
    } else {
        let positions = rig.mesh().positions();
        let fold = |(low, high): (Vec3, Vec3), &p: &Vec3| (low.min(p), high.max(p));
        let (low, high) = positions.iter().fold((Vec3::MAX, Vec3::MIN), fold);
        let along = |axis: Vec3| (high - low).dot(axis);
        let axes = [Vec3::Z, Vec3::Y, Vec3::X];
        let thinnest = axes.into_iter().min_by(|a, b| along(*a).total_cmp(&along(*b))).unwrap_or(Vec3::Z);
        (thinnest, if thinnest == Vec3::Y { Vec3::Z } else { Vec3::Y })
    };
    View { from_direction: toward_eye + 0.25 * up + 0.15 * up.cross(toward_eye), up, ..View::default() }
}

/// Well separated directions on the colour circle.
fn colour_of(group: usize) -> DVec3 {
    let turn = group as f64 * 2.399_963;
    DVec3::new(turn.cos(), (turn + 2.094).cos(), (turn + 4.189).cos())
}

/// Triangles of several parts in one mesh.
struct Drawing {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    /// `vertex`
    colours: Vec<Vec3>,
}

impl Drawing {
    fn of(mesh: &Mesh) -> Self {
        Self {
            positions: mesh.positions().to_vec(),
            triangles: mesh.triangles().to_vec(),
            colours: vec![Vec3::ZERO; mesh.vertex_count()],
        }
    }

    fn end_of_part(&self) -> usize {
        self.positions.len()
    }

    /// A cube with flat sides from its corners, numbered as those of a lattice cell.
    fn add_cube(&mut self, at: impl Fn(usize) -> DVec3, colour: DVec3) {
        const SIDES: [[usize; 4]; 6] =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        for side in SIDES {
            let first = self.positions.len() as u32;
            self.positions.extend(side.map(|corner| at(corner).as_vec3()));
            self.colours.extend([colour.as_vec3(); 4]);
            self.triangles.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
        }
    }
}
