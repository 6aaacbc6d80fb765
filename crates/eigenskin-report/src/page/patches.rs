//! Patches of the skin: what drives each, and how well it is predicted.

use eigenskin_fit::method::{PatchReport, PatchesReport};
use maud::{Markup, html};

use super::Report;
use super::chart::{Dot, DotChart, DotRow, svg};
use super::figures::{counted, figure};

/// What was learnt of each patch.
pub(super) fn section(report: &Report) -> Markup {
    let Some(learnt) = report.fit.and_then(|fit| fit.learnt.patches()) else { return html! {} };
    let touched = learnt.patches.iter().filter(|patch| patch.contacts > 0).count();
    html! {
        section aria-labelledby="patches" {
            h2 #patches { "Patches of the skin" }
            p {
                "The skin is cut into " (counted(learnt.patches.len(), "patch", "patches")) " that overlap. Their "
                "components alone leave " (format!("{:.3}", learnt.rest_space_error)) " of the displacements. Each "
                "patch follows the joints that move it, alone and together; "
                @if touched == 0 {
                    "contact between parts of the skin did not help any of them."
                } @else {
                    (touched) " of them also follow bones that press against each other."
                }
            }
            div.charts { (svg(&chart(learnt))) }
            details {
                summary { "What drives each patch" }
                (table(learnt))
            }
        }
    }
}

/// What is left of each patch in poses that were left out.
fn chart(learnt: &PatchesReport) -> DotChart {
    let mut patches: Vec<&PatchReport> = learnt.patches.iter().collect();
    patches.sort_by(|a, b| b.cross_validation.total_cmp(&a.cross_validation));
    let rows = patches.into_iter().map(|patch| DotRow {
        label: patch.name.clone(),
        joined: false,
        dots: vec![Dot {
            value: patch.cross_validation,
            class: "model",
            hollow: false,
            name: figure(patch.cross_validation),
        }],
    });
    DotChart {
        title: "Error of each patch on left-out poses".to_string(),
        description: "Every pose of several joints was left out in turn; of few such poses, every pose."
            .to_string(),
        axis: "share of the coordinates left".to_string(),
        logarithmic: false,
        without_dots: "",
        rows: rows.collect(),
    }
}

fn table(learnt: &PatchesReport) -> Markup {
    html! {
        div.scroll role="region" aria-label="What drives each patch" tabindex="0" {
            table.names {
                caption {
                    "Patches, each named after the joint that holds most of it"
                    small { "contacts: pairs of bones whose touch it follows; smoothing: share of the kernel" }
                }
                thead {
                    tr {
                        th scope="col" { "patch" }
                        th scope="col" { "driven by" }
                        th scope="col" { "contacts" }
                        th scope="col" { "smoothing" }
                        th scope="col" { "left on left-out poses" }
                    }
                }
                tbody {
                    @for patch in &learnt.patches {
                        tr {
                            th scope="row" { (patch.name) }
                            td { (patch.drivers.join(", ")) }
                            td { (patch.contacts) }
                            td { (figure(patch.smoothing)) }
                            td { (format!("{:.3}", patch.cross_validation)) }
                        }
                    }
                }
            }
        }
    }
}
