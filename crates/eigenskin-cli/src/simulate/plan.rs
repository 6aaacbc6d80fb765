//! What a simulation is going to do, before anything is computed: lines, and a picture of lattice
//! and bones.

use anyhow::Result;
use eigenskin::articulation::DegreeOfFreedom;
use eigenskin::glam::{DVec3, Vec3};
use eigenskin::mesh::Mesh;
use eigenskin::report::picture::{Panel, PictureParams, Surface, View, draw_panels};
use eigenskin::rig::Rig;
use eigenskin::sim::jobs::{Job, Purpose};
use eigenskin::sim::lattice::corner_offset;
use eigenskin::sim::ranges::axes::BodyFrame;
use eigenskin::sim::ranges::part::{Side, places};
use eigenskin::sim::ranges::{RangeSource, Ranges};
use eigenskin::sim::simulation::Simulation;
use serde_json::{Value, json};

use crate::output::{Output, counted, figure};
use crate::{painter, table};

/// Ranges of all joints as a table.
pub fn print_ranges(output: &Output, rig: &Rig, ranges: &Ranges) {
    let rows: Vec<Vec<String>> = (0..rig.skeleton().joint_count())
        .map(|joint| {
            let degrees: Vec<String> =
                ranges.degrees.iter().filter(|degree| degree.joint == joint).map(range_in_words).collect();
            vec![
                rig.skeleton().joints()[joint].name.clone(),
                if degrees.is_empty() { "–".to_string() } else { degrees.join(", ") },
                source_in_words(ranges.sources[joint]).to_string(),
            ]
        })
        .collect();
    for line in table::lines(&["joint", "turns (degrees)", "range by"], &rows) {
        output.line(line);
    }
}

fn range_in_words(degree: &DegreeOfFreedom) -> String {
    format!(
        "{} {:.0}…{:.0}",
        axis_in_words(degree.axis),
        degree.lowest.to_degrees() + 0.0,
        degree.highest.to_degrees() + 0.0
    )
}

fn axis_in_words(axis: DVec3) -> String {
    [("x", DVec3::X), ("y", DVec3::Y), ("z", DVec3::Z)]
        .into_iter()
        .find(|(_, unit)| unit.distance(axis) < 1e-9)
        .map_or_else(
            || format!("({:.2}, {:.2}, {:.2})", axis.x, axis.y, axis.z),
            |(name, _)| name.to_string(),
        )
}

fn source_in_words(source: RangeSource) -> &'static str {
    match source {
        RangeSource::Said => "you",
        RangeSource::Name(_) => "its name",
        RangeSource::Default => "default: nothing is known of it",
        RangeSource::Still => "stays still",
    }
}

/// Lattice, bones and poses in a few lines. So many of the poses to learn from are `held_out`
/// nevertheless.
pub fn print_tissue(output: &Output, simulation: &Simulation, jobs: &[Job], held_out: usize) {
    let tissue = simulation.tissue();
    let lattice = &tissue.filling.lattice;
    output.item(
        "tissue",
        format!(
            "{} of edge {} (thinnest limb {}), {} unknowns",
            counted(lattice.cell_count(), "cube", "cubes"),
            figure(lattice.edge),
            figure(tissue.plan.thinnest),
            3 * lattice.node_count()
        ),
    );
    for piece in &tissue.filling.dropped {
        output.item(
            "",
            format!(
                "a loose piece of {} near ({}, {}, {}) is carried along, not simulated",
                counted(piece.cells, "cube", "cubes"),
                figure(piece.near.x),
                figure(piece.near.y),
                figure(piece.near.z)
            ),
        );
    }
    output.item(
        "bones",
        format!(
            "{} in {} that move, {} held",
            counted(tissue.plan.bones.len(), "bone", "bones"),
            counted(tissue.plan.groups.len(), "group", "groups"),
            counted(tissue.held.points.len(), "point", "points")
        ),
    );
    for warning in &tissue.held.warnings {
        output.warning(warning.to_string());
    }
    let poses = |purpose: Purpose| -> usize {
        jobs.iter().filter(|job| job.purpose == purpose).map(|job| job.stops.len()).sum()
    };
    output.item(
        "poses",
        format!(
            "{} to learn from, {} to validate with, in {}",
            poses(Purpose::Training) - held_out,
            poses(Purpose::Validation) + held_out,
            counted(jobs.len(), "job", "jobs")
        ),
    );
}

/// The plan for machines.
pub fn plan_json(rig: &Rig, degrees: &[DegreeOfFreedom], simulation: &Simulation, jobs: &[Job]) -> Value {
    let lattice = &simulation.tissue().filling.lattice;
    let name = |joint: usize| rig.skeleton().joints()[joint].name.clone();
    json!({
        "degrees_of_freedom": degrees.iter().map(|degree| json!({
            "joint": name(degree.joint),
            "axis": degree.axis.to_array(),
            "lowest_deg": degree.lowest.to_degrees(),
            "highest_deg": degree.highest.to_degrees(),
        })).collect::<Vec<_>>(),
        "cells": lattice.cell_count(),
        "edge": lattice.edge,
        "unknowns": 3 * lattice.node_count(),
        "jobs": jobs.iter().map(|job| job.stops.iter().map(|stop| stop.name.clone()).collect()).collect::<Vec<Vec<String>>>(),
    })
}

/// Skin, lattice and bones side by side, as PNG.
pub fn picture(simulation: &Simulation) -> Result<Vec<u8>> {
    let tissue = simulation.tissue();
    let lattice = &tissue.filling.lattice;
    let mut drawing = Drawing::of(simulation.rig().mesh());
    let skin = drawing.end_of_part();
    for (cell, corners) in lattice.corners.iter().enumerate() {
        let middle = lattice.mesh_from_lattice(tissue.filling.middle_of(cell));
        let lowest = lattice.nodes[corners[0] as usize];
        // A gap between the cubes lets them be told apart.
        let at = |corner: usize| middle.lerp(lattice.mesh_from_lattice(lowest + corner_offset(corner)), 0.92);
        drawing.add_cube(at, DVec3::ZERO);
    }
    let cubes = drawing.end_of_part();
    for held in &tissue.held.points {
        let middle = lattice.mesh_from_lattice(held.rest);
        let at = |corner: usize| middle + 0.2 * lattice.edge * (corner_offset(corner) - DVec3::splat(0.5));
        drawing.add_cube(at, colour_of(held.group));
    }
    let bones = drawing.end_of_part();

    let mesh = Mesh::new(drawing.positions, drawing.triangles, None)?;
    let only = |part: std::ops::Range<usize>| -> Vec<Vec3> {
        // What a panel does not show is put into one point, where it has no area.
        let nowhere = mesh.bounds().centre.as_vec3();
        let shown = |(index, &p): (usize, &Vec3)| if part.contains(&index) { p } else { nowhere };
        mesh.positions().iter().enumerate().map(shown).collect()
    };
    let shown = [only(0..skin), only(skin..cubes), only(cubes..bones)];
    let coloured = Surface::Displacement { vectors: &drawing.colours, scale: 1.0 };
    let panel =
        |positions, caption: String, surface| Panel { caption, positions, normals: mesh.normals(), surface };
    let panels = [
        panel(&shown[0], "skin".to_string(), Surface::Skin),
        panel(
            &shown[1],
            format!("{} cubes\nedge {}", lattice.cell_count(), figure(lattice.edge)),
            Surface::Skin,
        ),
        panel(&shown[2], "what the bones hold\none colour per bone that moves".to_string(), coloured),
    ];
    let params = PictureParams { columns: 3, view: view_of(simulation.rig()), ..PictureParams::default() };
    Ok(draw_panels(painter::for_reports()?, &mesh, &panels, &params)?)
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
