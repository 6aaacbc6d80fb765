//! Joints that move together: which pairs have layers of their own, and what each bought.

use eigenskin::fit::CouplingReport;
use maud::{Markup, html};

use super::Report;
use super::figures::counted;

/// What coupling found, where poses move several joints.
pub(super) fn section(report: &Report) -> Markup {
    let Some(coupling) = report.fit.and_then(|fit| fit.coupling.as_ref()) else { return html! {} };
    html! {
        section aria-labelledby="coupling" {
            h2 #coupling { "Joints that move together" }
            p {
                (counted(coupling.multi_joint_examples, "pose moves", "poses move")) " several joints, so all "
                "joints were fitted together. On poses that were left out, in turn, "
                (format!("{:.3}", coupling.additive_error)) " of the displacements remained"
                @if coupling.pairs.is_empty() {
                    "."
                    @if coupling.tried_pairs > 0 {
                        " None of " (counted(coupling.tried_pairs, "pair", "pairs")) " of joints that share skin "
                        "predicts them better."
                    }
                } @else {
                    ", and " (format!("{:.3}", coupling.coupled_error)) " with "
                    (counted(coupling.pairs.len(), "pair", "pairs")) " of " (coupling.tried_pairs) " coupled."
                }
            }
            @if !coupling.pairs.is_empty() { (pair_table(coupling)) }
        }
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
                            th scope="row" { (pair.names[0]) " × " (pair.names[1]) }
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
