//! The pose spaces of a pose space deformation, in their order.

use eigenskin_fit::method::{DriverReport, PsdReport, SpaceReport};
use maud::{Markup, html};

use super::Report;
use super::figures::{counted, figure};
use super::tables::short;

/// Names shown of a list before the rest is folded away.
const NAMES: usize = 6;

/// What was learnt, space by space and example by example.
pub(super) fn section(report: &Report) -> Markup {
    let Some(learnt) = report.psd() else { return html! {} };
    html! {
        section aria-labelledby="spaces" {
            h2 #spaces { "What was learnt" }
            p {
                "Examples that move the same joints and controls share a pose space. Each adds what the spaces "
                "before it leave, so that every example keeps its shape; spaces are held at nothing where earlier "
                "examples are. “Width” is how far an example reaches, in radians or values of a control; a large "
                "“condition” says that examples crowd."
            }
            p.hint { "The table is wide: scroll it sideways." }
            (space_table(learnt))
            (example_table(report, learnt))
        }
    }
}

fn space_table(learnt: &PsdReport) -> Markup {
    let any_anchors = learnt.spaces.iter().any(|space| !space.anchors.is_empty());
    html! {
        div.scroll role="region" aria-label="Pose spaces in their order" tabindex="0" {
            table.names.words {
                caption { "Pose spaces in their order" }
                thead {
                    tr {
                        th scope="col" { "pose space" }
                        th.words scope="col" { "examples" }
                        @if any_anchors { th scope="col" { "held at nothing for" } }
                        th scope="col" { "vertices" }
                        th scope="col" { "width" }
                        th scope="col" { "condition" }
                    }
                }
                tbody {
                    @for (index, space) in learnt.spaces.iter().enumerate() {
                        tr {
                            th scope="row" { (index + 1) ". " (space.name) }
                            td.words { (names(space)) }
                            @if any_anchors {
                                td {
                                    @if space.anchors.is_empty() { "–" } @else {
                                        (counted(space.anchors.len(), "example", "examples"))
                                    }
                                }
                            }
                            td { (space.vertex_count) }
                            td { (range(space, |driver| driver.width)) }
                            td { (range(space, |driver| driver.condition)) }
                        }
                    }
                }
            }
        }
    }
}

fn example_table(report: &Report, learnt: &PsdReport) -> Markup {
    let unit = short(&report.unit.name);
    let unreachable =
        learnt.examples.iter().any(|example| example.unreachable > 1e-6 * report.model.rig().mesh().size());
    html! {
        details {
            summary { "All " (counted(learnt.examples.len(), "example", "examples")) " as a table" }
            div.scroll role="region" aria-label="Examples" tabindex="0" {
                table.names {
                    caption.hidden { "What each example adds to skinning at most" }
                    thead {
                        tr {
                            th scope="col" { "example" }
                            th scope="col" { "pose space" }
                            th scope="col" { "largest correction, " (unit) }
                            th scope="col" { "at vertex" }
                            @if unreachable { th scope="col" { "out of reach, " (unit) } }
                        }
                    }
                    tbody {
                        @for example in &learnt.examples {
                            tr {
                                th scope="row" { (example.name) }
                                td { (example.space + 1) "." }
                                td { (report.unit.show(example.largest_delta)) }
                                td { (example.vertex) }
                                @if unreachable { td { (report.unit.show(example.unreachable)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The first names; without the name of the space where all begin with it.
fn names(space: &SpaceReport) -> String {
    let prefix = format!("{}:", space.name);
    let short: Option<Vec<&str>> = space.examples.iter().map(|name| name.strip_prefix(&prefix)).collect();
    let names = short.unwrap_or_else(|| space.examples.iter().map(String::as_str).collect());
    let shown = if names.len() > NAMES + 1 { NAMES } else { names.len() };
    let text = names[..shown].join(", ");
    if shown < names.len() { format!("{text} and {} more", names.len() - shown) } else { text }
}

/// A figure of all prototypes.
fn range(space: &SpaceReport, of: fn(&DriverReport) -> f64) -> String {
    let values = || space.drivers.iter().map(of);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let shown = |value: f64| if value < 1e5 { figure(value) } else { format!("{value:.0e}") };
    match (shown(low), shown(high)) {
        _ if high == 0.0 => "–".to_string(),
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    }
}
