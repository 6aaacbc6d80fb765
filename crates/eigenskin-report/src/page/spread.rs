//! How errors spread over poses: pooled, median, 90th percentile and worst, with and without contact apart.

use eigenskin_fit::metrics::{Evaluation, GroupErrors};
use maud::{Markup, html};

use super::Report;
use super::figures::ratio;

/// Heads of the columns of [`spread_cells`].
pub const SPREAD_HEAD: [&str; 6] = ["poses", "pooled", "median", "90 %", "worst", "worst pose"];

/// The groups of poses that are worth a line: all of them (without a name), and where parts of the character
/// touch in some of them, those with and those without contact.
pub fn spread_groups(evaluation: &Evaluation) -> Vec<(Option<&'static str>, &GroupErrors)> {
    let groups = &evaluation.groups;
    let mut shown = vec![(None, &groups.all)];
    if groups.with_contact.poses > 0 {
        shown.push((Some("with contact"), &groups.with_contact));
        shown.push((Some("without contact"), &groups.without_contact));
    }
    shown
}

/// A line of a table: the number of poses, what is left of plain skinning's error, and the name of the worst
/// pose.
pub fn spread_cells(group: &GroupErrors) -> [String; 6] {
    [
        group.poses.to_string(),
        ratio(group.pooled),
        ratio(group.median),
        ratio(group.p90),
        ratio(group.worst),
        group.worst_pose.clone().unwrap_or_default(),
    ]
}

/// All sets and groups in one table.
pub(super) fn table(report: &Report) -> Markup {
    let [poses, pooled, median, p90, worst, worst_pose] = SPREAD_HEAD;
    let touching = report.sets.iter().any(|set| set.evaluation.groups.with_contact.poses > 0);
    html! {
        p { "What the model leaves of plain skinning’s error: 1 is no better, 0 is perfect." }
        dl.facts {
            div { dt { (pooled) } dd {
                "The squared errors of all poses are summed before dividing, so a few bad poses can decide it."
            } }
            div { dt { (median) ", " (p90) ", " (worst) } dd {
                "Of every pose’s own error over plain skinning’s in that pose. Half of the poses are below the "
                "median, nine of ten below “" (p90) "”. The worst may be a large share of a small error. Poses "
                "in which plain skinning has no error are left out."
            } }
            @if touching {
                div { dt { "with contact" } dd {
                    "Poses in which parts of the character that are not neighbours press against each other, as "
                    "capsules around the bones tell."
                } }
            }
        }
        p.hint { "The table is wide: scroll it sideways." }
        div.scroll role="region" aria-label="Table of errors over poses" tabindex="0" {
            table.names.spread {
                caption.hidden { "What the model leaves of plain skinning’s error, over poses" }
                thead {
                    tr {
                        th scope="col" { "set" }
                        @for head in [poses, pooled, median, p90, worst] {
                            th scope="col" { (head) }
                        }
                        th.words scope="col" { (worst_pose) }
                    }
                }
                tbody {
                    @for set in &report.sets {
                        @for (part, group) in spread_groups(set.evaluation) {
                            @let [figures @ .., name] = spread_cells(group);
                            tr {
                                th.part[part.is_some()] scope="row" { (part.unwrap_or(&set.name)) }
                                @for figure in figures { td { (figure) } }
                                td.words { (name) }
                            }
                        }
                    }
                }
            }
        }
    }
}
