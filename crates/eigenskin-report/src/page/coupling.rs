//! Joints that move together: which pairs have layers of their own, and what each bought.

use eigenskin_fit::method::CouplingReport;
use maud::{Markup, html};

use super::Report;
use super::chart::{Dot, DotChart, DotRow, svg};
use super::figures::{counted, figure};
use super::sections::key;

/// What coupling found, where poses move several joints.
pub(super) fn section(report: &Report) -> Markup {
    let Some(coupling) = report.eigenskin().and_then(|learnt| learnt.coupling.as_ref()) else {
        return html! {};
    };
    html! {
        section aria-labelledby="coupling" {
            h2 #coupling { "Joints that move together" }
            p {
                (counted(coupling.multi_joint_examples, "pose moves", "poses move")) " several joints, so all "
                "joints were fitted together. On poses that were left out, in turn, "
                (format!("{:.3}", coupling.additive_error)) " of the displacements remained"
                @if coupling.pairs.is_empty() {
                    "."
                    @if coupling.too_many_for_pairs {
                        " Pairs of joints were not tried: there are too many examples and vertices."
                    }
                    @if coupling.tried_pairs > 0 {
                        " None of " (counted(coupling.tried_pairs, "pair", "pairs")) " of joints that share skin "
                        "predicts them better."
                    }
                } @else {
                    ", and " (format!("{:.3}", coupling.coupled_error)) " with "
                    (counted(coupling.pairs.len(), "pair", "pairs")) " of " (coupling.tried_pairs) " coupled."
                }
            }
            @if coupling.smoothing_curve.len() > 1 {
                (key(&[("model", false, "chosen"), ("skinning", true, "tried")]))
            }
            div.charts {
                @if coupling.smoothing_curve.len() > 1 { (svg(&smoothing_chart(coupling))) }
                @if !coupling.pairs.is_empty() { (pair_table(coupling)) }
            }
        }
    }
}

/// What each amount of smoothing leaves of poses it has not seen.
fn smoothing_chart(coupling: &CouplingReport) -> DotChart {
    let rows = coupling.smoothing_curve.iter().map(|&(smoothing, error)| {
        let chosen = smoothing == coupling.smoothing;
        DotRow {
            label: if smoothing == 0.0 { "0, exact".to_string() } else { format!("{smoothing:.0e}") },
            joined: false,
            dots: vec![Dot {
                value: error,
                class: if chosen { "model" } else { "skinning" },
                hollow: !chosen,
                name: figure(error),
            }],
        }
    });
    DotChart {
        title: "Error by smoothing, single joints only".to_string(),
        description: format!("The smoothing that was chosen is {}.", figure(coupling.smoothing)),
        axis: "share of the displacements left on left-out poses".to_string(),
        logarithmic: false,
        without_dots: "",
        rows: rows.collect(),
    }
}

fn pair_table(coupling: &CouplingReport) -> Markup {
    html! {
        div.scroll role="region" aria-label="Pairs of joints that are coupled" tabindex="0" {
            table.names {
                caption {
                    "Pairs of joints that are coupled"
                    small { "gain: share of the squared error on left-out poses that the pair took away when it was added" }
                }
                thead {
                    tr {
                        th scope="col" { "joints" }
                        th scope="col" { "poses" }
                        th scope="col" { "points" }
                        th scope="col" { "kept" }
                        th scope="col" { "gain, %" }
                    }
                }
                tbody {
                    @for pair in &coupling.pairs {
                        tr {
                            th scope="row" { (pair.names.join(" × ")) }
                            td { (pair.example_count) }
                            td { (pair.support_count) }
                            td { (pair.component_count) }
                            td { (format!("{:.1}", 100.0 * pair.gain)) }
                        }
                    }
                }
            }
        }
    }
}
