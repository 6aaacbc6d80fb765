//! The first screen: a sentence that everybody understands, and the key figures.

use maud::{Markup, html};

use super::figures::{bytes, counted, percent};
use super::{MeasuredSet, Report, SetKind};

/// The sentence, and where the data come from.
pub(super) fn lead(report: &Report) -> Markup {
    html! {
        p.lead { (sentence(report)) }
        p {
            "Plain skinning is how engines bend a character’s skin on their own. Its error is the distance "
            "between the bent skin and the true shape: 0 % left would be a perfect match, 100 % no help at all."
            " The error is pooled over the poses, so a few bad ones can decide it; "
            a href="#poses" { "pose by pose" } " says how it spreads."
            @if report.sets.iter().any(|set| set.kind == SetKind::HeldOut) {
                " “Held out” poses were kept aside and never shown to the model."
            }
        }
        @for note in &report.notes {
            p.note { (note) }
        }
    }
}

/// What the model achieves, in words.
fn sentence(report: &Report) -> String {
    let of = |kind: SetKind| report.sets.iter().filter(move |set| set.kind == kind);
    let mut sentences = Vec::new();
    let held_out: Vec<&MeasuredSet> = of(SetKind::HeldOut).collect();
    if let Some(part) = leaves(&held_out) {
        sentences.push(format!("In poses it has never seen, {part}."));
    }
    let left_out: Vec<&MeasuredSet> = of(SetKind::LeftOut).collect();
    if let Some(part) = leaves(&left_out) {
        sentences.push(format!("With every example left out in turn and then compared, {part}."));
    }
    for set in of(SetKind::Given) {
        let poses = counted(set.evaluation.poses, "pose", "poses");
        sentences.extend(leaves(&[set]).map(|part| format!("In the {poses} of {}, {part}.", set.name)));
    }
    for set in of(SetKind::Training) {
        let poses = counted(set.evaluation.poses, "pose", "poses");
        sentences.extend(leaves(&[set]).map(|part| format!("In the {poses} it learnt from, {part}.")));
    }
    sentences.join(" ")
}

/// "the model leaves 6 % of plain skinning's error when one joint moves and 29 % when …"
fn leaves(sets: &[&MeasuredSet]) -> Option<String> {
    let mut parts = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        let when = if set.when.is_empty() { String::new() } else { format!(" {}", set.when) };
        parts.push(match set.evaluation.relative_error {
            Some(error) if index == 0 => {
                format!("the model leaves {} of plain skinning’s error{when}", percent(error))
            }
            Some(error) => format!("{}{when}", percent(error)),
            None => format!("plain skinning is already exact{when}"),
        });
    }
    match parts.split_last() {
        None => None,
        Some((only, [])) => Some(only.clone()),
        Some((last, others)) => Some(format!("{} and {last}", others.join(", "))),
    }
}

/// Key figures.
pub(super) fn tiles(report: &Report) -> Markup {
    html! {
        dl.tiles {
            @let (learnt_from, others): (Vec<&MeasuredSet>, Vec<&MeasuredSet>) =
                report.sets.iter().partition(|set| set.kind == SetKind::Training);
            @for set in others.into_iter().chain(learnt_from) {
                div.main[set.kind != SetKind::Training] {
                    dt { "Error left: " (set.name) }
                    dd {
                        (set.evaluation.relative_error.map_or("exact".to_string(), percent))
                        small {
                            (report.unit.show(set.evaluation.skinning.rmse)) " → "
                            (report.unit.show(set.evaluation.model.rmse)) " " (report.unit.name)
                        }
                        @let all = &set.evaluation.groups.all;
                        @if let (Some(median), Some(worst)) = (all.median, all.worst) {
                            small { "median pose " (percent(median)) ", worst " (percent(worst)) }
                        }
                    }
                }
            }
            div {
                dt { "Displacements that a vertex has at most" }
                dd {
                    (report.model.most_components_per_vertex())
                    @let [one, many] = if report.psd().is_some() {
                        ["field", "fields"]
                    } else if report.signals.is_some() {
                        ["signal", "signals"]
                    } else {
                        ["component", "components"]
                    };
                    small { (counted(report.model.component_count(), one, many)) " in all" }
                }
            }
            @if let Some(written) = &report.written {
                div {
                    dt { "File" }
                    dd {
                        (bytes(written.bytes))
                        small { (counted(written.targets, "morph target", "morph targets")) }
                    }
                }
            }
        }
    }
}
