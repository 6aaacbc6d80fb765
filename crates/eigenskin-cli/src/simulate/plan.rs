//! What a simulation is going to do, in lines.

use eigenskin::articulation::DegreeOfFreedom;
use eigenskin::glam::DVec3;
use eigenskin::jobs::simulate::SimulationPlan;
use eigenskin::rig::Rig;
use eigenskin::sim::jobs::Purpose;
use eigenskin::sim::ranges::{RangeSource, Ranges};

use crate::output::{Output, counted, figure};
use crate::table;

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
        RangeSource::Still => "does not move",
    }
}

/// Lattice, bones and poses in a few lines.
pub fn print_tissue(output: &Output, plan: &SimulationPlan) {
    let tissue = plan.simulation().tissue();
    let lattice = &tissue.filling.lattice;
    output.item(
        "tissue",
        format!(
            "{} of edge {} (thinnest limb {}), {} unknowns",
            counted(lattice.cell_count(), "cell", "cells"),
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
                counted(piece.cells, "cell", "cells"),
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
    let jobs = plan.jobs();
    output.item(
        "poses",
        format!(
            "{} to learn from, {} to validate with, in {}",
            jobs.count(Purpose::Training),
            jobs.count(Purpose::Validation),
            counted(jobs.jobs.len(), "job", "jobs")
        ),
    );
}
