//! How the poses were made, where they come from a simulation.

use eigenskin_gltf::{PoseRecord, SimulationRecord};
use maud::{Markup, html};

use super::Report;
use super::chart::{Dot, DotChart, DotRow, svg, tick_label};
use super::figures::{counted, figure, percent};
use super::sections::capitalised;
use super::tables::short;

/// Poses that were simulated.
#[derive(Debug, Clone)]
pub struct SimulationSummary<'a> {
    /// how long it took, where that is known
    pub seconds: Option<f64>,
    /// sets from one simulation; at least one
    pub sets: Vec<SimulatedSet<'a>>,
}

/// One set and how good its poses are.
#[derive(Debug, Clone)]
pub struct SimulatedSet<'a> {
    /// such as "training"
    pub name: String,
    /// settings and poses
    pub record: &'a SimulationRecord,
}

/// Settings, then the quality of the poses.
pub(super) fn section(report: &Report) -> Markup {
    let Some(summary) = &report.simulation else { return html! {} };
    let Some(first) = summary.sets.first() else { return html! {} };
    let dropped: Vec<(&str, &str, &str)> = summary
        .sets
        .iter()
        .flat_map(|set| set.record.dropped.iter().map(|pose| (set.name.as_str(), &*pose.name, &*pose.reason)))
        .collect();
    html! {
        section aria-labelledby="simulation" {
            h2 #simulation { "How the poses were made" }
            p {
                "The character was filled with cubes of soft tissue and bent around its bones, from rest to "
                "every pose; the tissue comes to lie where its energy is lowest."
                @if first.record.contact { " Skin pushes skin away." }
            }
            (facts(report, summary, first.record, dropped.len()))
            h3 { "How good they are" }
            p {
                "Soft tissue keeps its volume, no point of it may turn inside out, skin may not lie within other "
                "skin, and it may not snap from one shape to another between poses of one sweep. A dot is a pose."
            }
            div.charts {
                @for measure in measures(first.record) {
                    (svg(&chart(summary, &measure)))
                }
            }
            @for set in &summary.sets {
                (all_poses(set))
            }
            (dropped_poses(&dropped))
        }
    }
}

fn facts(report: &Report, summary: &SimulationSummary, record: &SimulationRecord, dropped: usize) -> Markup {
    let poses: usize = summary.sets.iter().map(|set| set.record.poses.len()).sum();
    let by_set: Vec<String> =
        summary.sets.iter().map(|set| format!("{} {}", set.record.poses.len(), set.name)).collect();
    html! {
        dl.facts {
            div { dt { "Tissue" } dd {
                (counted(record.cubes, "cell", "cells")) " of edge " (report.unit.show(record.edge)) " "
                (short(&report.unit.name)) ", " (counted(record.unknowns, "unknown", "unknowns")) ", "
                (counted(record.bones, "bone that moves", "bones that move"))
            } }
            div { dt { "Material" } dd {
                (record.material) ", Poisson’s ratio " (tick_label(record.poisson))
                @if !record.contact { "; parts may pass through each other" }
            } }
            div { dt { "Poses" } dd {
                (poses) " converged and good enough"
                @if by_set.len() > 1 { ": " (by_set.join("; ")) }
                @if dropped > 0 { ". Dropped: " (dropped) }
            } }
            @if let Some(seconds) = summary.seconds {
                div { dt { "Time" } dd { (duration(seconds)) } }
            }
        }
    }
}

fn duration(seconds: f64) -> String {
    if seconds < 99.5 { format!("{seconds:.0} seconds") } else { format!("{:.1} minutes", seconds / 60.0) }
}

/// Something that every pose has.
struct Measure {
    title: &'static str,
    axis: &'static str,
    /// how the worst is found and called
    worst: (fn(f64, f64) -> bool, &'static str),
    of: fn(&PoseRecord) -> f64,
}

fn measures(record: &SimulationRecord) -> Vec<Measure> {
    let larger = |a: f64, b: f64| a > b;
    let mut measures = vec![
        Measure {
            title: "Volume gained or lost",
            axis: "% of rest (5 is too much)",
            worst: (larger, "Largest"),
            of: |pose| 100.0 * (pose.volume - 1.0).abs(),
        },
        Measure {
            title: "The most squeezed point of the tissue",
            axis: "smallest J: volume left, rest is 1",
            worst: (|a, b| a < b, "Smallest"),
            of: |pose| pose.smallest_j,
        },
        Measure {
            title: "Jump against the pose before",
            axis: "% of the size (5 is too much)",
            worst: (larger, "Largest"),
            of: |pose| 100.0 * pose.jump,
        },
    ];
    if record.contact {
        measures.push(Measure {
            title: "Deepest skin within other skin",
            axis: "% of the size (2 is too much)",
            worst: (larger, "Deepest"),
            of: |pose| 100.0 * pose.penetration.unwrap_or(0.0),
        });
    }
    measures
}

/// A row per set, a dot per pose.
fn chart(summary: &SimulationSummary, measure: &Measure) -> DotChart {
    let all = summary.sets.iter().flat_map(|set| &set.record.poses);
    let (is_worse, word) = measure.worst;
    let worst = all.reduce(|a, b| if is_worse((measure.of)(b), (measure.of)(a)) { b } else { a });
    let rows = summary.sets.iter().enumerate().map(|(index, set)| DotRow {
        label: set.name.clone(),
        joined: false,
        dots: set
            .record
            .poses
            .iter()
            .map(|pose| {
                let value = (measure.of)(pose);
                let class = if index == 0 { "model" } else { "skinning" };
                Dot { value, class, hollow: true, name: format!("{}, {}", pose.name, figure(value)) }
            })
            .collect(),
    });
    DotChart {
        title: measure.title.to_string(),
        description: worst.map_or(String::new(), |pose| {
            format!("{word}: {} in {}.", figure((measure.of)(pose)), pose.name)
        }),
        axis: measure.axis.to_string(),
        logarithmic: false,
        without_dots: "none",
        rows: rows.collect(),
    }
}

fn all_poses(set: &SimulatedSet) -> Markup {
    let poses = &set.record.poses;
    html! {
        details {
            summary { (capitalised(&set.name)) ": " (counted(poses.len(), "pose", "poses")) " as a table" }
            div.scroll role="region" aria-label={ "Simulated poses, " (set.name) } tabindex="0" {
                table.names {
                    caption.hidden { "Quality of simulated poses, " (set.name) }
                    thead {
                        tr {
                            th scope="col" { "pose" }
                            th scope="col" { "volume" }
                            th scope="col" { "smallest J" }
                            @if set.record.contact { th scope="col" { "deepest" } }
                            th scope="col" { "jump" }
                        }
                    }
                    tbody {
                        @for pose in poses {
                            tr {
                                th scope="row" { (pose.name) @if !pose.stable { " (may snap)" } }
                                td { (format!("{:.1} %", 100.0 * pose.volume)) }
                                td { (format!("{:.2}", pose.smallest_j)) }
                                @if set.record.contact {
                                    td { (pose.penetration.map_or("–".to_string(), percent)) }
                                }
                                td { (percent(pose.jump)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `(set, pose, reason)`
fn dropped_poses(dropped: &[(&str, &str, &str)]) -> Markup {
    html! {
        h3 { "Dropped poses" }
        @if dropped.is_empty() {
            p { "None: every pose was reached and is good enough." }
        } @else {
            p { "Neither learnt from nor tested with, since they could not be reached or are not good enough:" }
            dl.facts {
                @for (set, name, reason) in dropped {
                    div { dt { (name) " (" (set) ")" } dd { (reason) } }
                }
            }
        }
    }
}
