//! Tables: methods side by side, and normals as two kinds of engine show them.

use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::baselines::{Baseline, MethodErrors, UnmeasuredMethod, displacement_bytes};
use eigenskin_fit::metrics::ErrorSummary;
use maud::{Markup, html};

use super::figures::{bytes, counted, figure, ratio};
use super::{Report, SetKind};

/// One line of the table of methods.
struct Row {
    name: String,
    is_ours: bool,
    fields: String,
    most_per_vertex: String,
    bytes: String,
    /// `set`: rmse and ratio
    errors: Vec<Option<(String, String)>>,
}

/// Rigid, linear, dual quaternion, the linear map, shapes, EigenSkin, raw targets, ours.
pub(super) fn methods(report: &Report) -> Markup {
    let rows: Vec<Row> =
        report.methods.iter().map(|method| row_of(report, method)).chain([our_row(report)]).collect();
    html! {
        section aria-labelledby="methods" {
            h2 #methods { "Against other methods" }
            p {
                "What simpler methods make of the same poses. “rmse” is the typical distance from the true shape "
                "in " (report.unit.name) ", “ratio” is that over the distance that linear blend skinning leaves: "
                "1 is no better, 0 is perfect. What the methods store beyond the rig is the price."
            }
            p.hint { "The table is wide: scroll it sideways." }
            div.scroll role="region" aria-label="Table of methods" tabindex="0" {
                table.methods {
                    caption.hidden { "Errors of methods, and what they store" }
                    thead {
                        tr {
                            th scope="col" rowspan="2" { "method" }
                            @for set in &report.sets {
                                th.group scope="colgroup" colspan="2" {
                                    (set.name) " "
                                    small { (counted(set.evaluation.poses, "pose", "poses")) }
                                }
                            }
                            th.group scope="colgroup" colspan="3" { "stored beyond the rig" }
                        }
                        tr {
                            @for _ in &report.sets {
                                th.first scope="col" { "rmse, " (short(&report.unit.name)) }
                                th scope="col" { "ratio" }
                            }
                            th.first scope="col" { "fields" }
                            th scope="col" { "at a vertex" }
                            th scope="col" { "data" }
                        }
                    }
                    tbody {
                        @for row in &rows {
                            tr.ours[row.is_ours] {
                                th scope="row" { (row.name) }
                                @for errors in &row.errors {
                                    @let (rmse, ratio) = errors.clone().unwrap_or(("–".into(), "–".into()));
                                    td.first { (rmse) }
                                    td { (ratio) }
                                }
                                td.first { (row.fields) }
                                td { (row.most_per_vertex) }
                                td { (row.bytes) }
                            }
                        }
                    }
                }
            }
            p.note {
                "Fields are displacement fields (for the linear map: matrix columns); “at a vertex” is the "
                "largest number of them that any vertex carries; data are their positions as plain 32-bit "
                "numbers. A field whose amount takes both signs needs two morph targets."
            }
            @for (reason, methods) in reasons(&report.unmeasured) {
                p.note { "Not measured: " (methods.join(", ")) ". Why: " (reason) "." }
            }
            @if report.methods.iter().any(|method| method.method == Baseline::LinearMap) {
                (glossary(report))
            }
        }
    }
}

/// Methods without figures, by reason, in their order.
fn reasons(unmeasured: &[UnmeasuredMethod]) -> Vec<(&str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for UnmeasuredMethod { method, reason } in unmeasured {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, methods)) => methods.push(name_of(*method)),
            None => reasons.push((reason, vec![name_of(*method)])),
        }
    }
    reasons
}

/// What the methods are.
fn glossary(report: &Report) -> Markup {
    let ours = if report.psd().is_some() {
        "pose space deformation with the options it was asked for"
    } else if report.signals.is_some() {
        "signals of parts of the skin, interpolated over the joints that drive them"
    } else {
        "EigenSkin with the components that matter most under the limit per vertex"
    };
    let entries = [
        (
            "rigid, linear blend, dual quaternion",
            "every vertex follows its strongest joint, or a mixture of \
            its joints’ matrices or dual quaternions; nothing is learnt",
        ),
        (
            "linear map from joints",
            "one large matrix from all joint transforms to all vertices, by least \
            squares",
        ),
        ("shape interpolation", "the example shapes themselves are blended as they stand, without skinning"),
        ("EigenSkin, k per joint", "skinning plus at most k components for every joint, no other limit"),
        (
            "raw example targets",
            "skinning plus every example’s whole correction as a morph target of its own, \
            in the amounts that shape interpolation uses",
        ),
        (
            "forward, inverse, weighted PSD",
            "pose space deformation: skinning plus one field per example, which fades out around the \
            example’s pose; added after skinning, before it, or with a reach of its own in every part of \
            the skin",
        ),
        ("this model", ours),
    ];
    html! {
        details {
            summary { "What these methods are" }
            dl.facts {
                @for (name, what) in entries {
                    div { dt { (name) } dd { (what) } }
                }
            }
        }
    }
}

/// "model units" is too long for a column.
pub(super) fn short(unit: &str) -> &str {
    if unit == "model units" { "units" } else { unit }
}

fn row_of(report: &Report, method: &MethodErrors) -> Row {
    let stores = method.fields > 0;
    let or_dash = |text: String| if stores { text } else { "–".to_string() };
    Row {
        name: name_of(method.method),
        is_ours: false,
        fields: or_dash(method.fields.to_string()),
        most_per_vertex: or_dash(method.most_per_vertex.to_string()),
        bytes: or_dash(bytes(method.bytes)),
        errors: (0..report.sets.len())
            .map(|set| {
                let on = method.on.get(set)?;
                Some((shown(report, &on.errors), ratio(on.relative_error)))
            })
            .collect(),
    }
}

/// A length; nothing where only the rounding of `f32` is left.
fn shown(report: &Report, errors: &ErrorSummary) -> String {
    if errors.rmse_of_100 < 1e-5 { "0".to_string() } else { report.unit.show(errors.rmse) }
}

fn our_row(report: &Report) -> Row {
    let model = report.model;
    Row {
        name: "this model".to_string(),
        is_ours: true,
        fields: model.component_count().to_string(),
        most_per_vertex: model.most_components_per_vertex().to_string(),
        bytes: bytes(displacement_bytes(model)),
        errors: report
            .sets
            .iter()
            .map(|set| {
                let evaluation = set.evaluation;
                Some((shown(report, &evaluation.model), ratio(evaluation.relative_error)))
            })
            .collect(),
    }
}

fn name_of(method: Baseline) -> String {
    match method {
        Baseline::Skinning(BaseSkinning::Rigid) => "rigid skinning".to_string(),
        Baseline::Skinning(BaseSkinning::LinearBlend) => "linear blend skinning".to_string(),
        Baseline::Skinning(BaseSkinning::DualQuaternion) => "dual quaternion skinning".to_string(),
        Baseline::LinearMap => "linear map from joints".to_string(),
        Baseline::Components(count) => format!("EigenSkin, {count} per joint"),
        Baseline::AllComponents => "EigenSkin, all components".to_string(),
        Baseline::ShapeInterpolation => "shape interpolation".to_string(),
        Baseline::ExampleTargets => "raw example targets".to_string(),
        Baseline::ForwardPsd => "forward PSD".to_string(),
        Baseline::InversePsd => "inverse PSD".to_string(),
        Baseline::WeightedPsd => "weighted PSD".to_string(),
    }
}

/// Mean angles between true and shown normals.
pub(super) fn normals(report: &Report) -> Markup {
    let angle = |degrees: f64| format!("{degrees:.2}°");
    html! {
        section aria-labelledby="normals" {
            h2 #normals { "Normals" }
            p {
                "Normals tell where the skin faces, so they decide its shading. This is the mean angle by which "
                "they are off. Engines turn normals in one of two ways: with the blended matrix (three.js) or "
                "with its inverse transpose (Bevy)."
            }
            div.scroll role="region" aria-label="Table of normals" tabindex="0" {
                table.names {
                    caption.hidden { "Mean angle between true and shown normals" }
                    thead {
                        tr {
                            th scope="col" rowspan="2" { "poses" }
                            th.group scope="colgroup" colspan="2" { "blended matrix" }
                            th.group scope="colgroup" colspan="2" { "inverse transpose" }
                        }
                        tr {
                            th.first scope="col" { "skinning" } th scope="col" { "model" }
                            th.first scope="col" { "skinning" } th scope="col" { "model" }
                        }
                    }
                    tbody {
                        @for set in &report.sets {
                            @let angles = set.evaluation.normal_angles;
                            tr {
                                th scope="row" { (set.name) }
                                td.first { (angle(angles.skinning_mean)) }
                                td { (angle(angles.model_mean)) }
                                td.first { (angle(angles.skinning_mean_inverse_transpose)) }
                                td { (angle(angles.model_mean_inverse_transpose)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// All poses of all sets, worst first.
pub(super) fn all_poses(report: &Report, set: usize) -> Markup {
    let set = &report.sets[set];
    let mut poses: Vec<_> = set.evaluation.per_pose.iter().collect();
    poses.sort_by(|a, b| b.model_rmse.total_cmp(&a.model_rmse));
    html! {
        details {
            summary { "All " (set.evaluation.poses) " as a table" }
            div.scroll role="region" aria-label={ "Poses, " (set.name) } tabindex="0" {
                table.names {
                    caption.hidden {
                        "Errors per pose, " (set.name)
                        @if set.kind == SetKind::HeldOut { " (not seen)" }
                    }
                    thead {
                        tr {
                            th scope="col" { "pose" }
                            th scope="col" { "skinning rmse, " (short(&report.unit.name)) }
                            th scope="col" { "model rmse, " (short(&report.unit.name)) }
                            th scope="col" { "model largest, " (short(&report.unit.name)) }
                            th scope="col" { "ratio" }
                            th scope="col" { "contact" }
                        }
                    }
                    tbody {
                        @for pose in poses {
                            tr {
                                th scope="row" { (pose.name) }
                                td { (report.unit.show(pose.skinning_rmse)) }
                                td { (report.unit.show(pose.model_rmse)) }
                                td { (report.unit.show(pose.model_max)) }
                                td { (ratio(pose.relative_error)) }
                                td { (if pose.contact { "yes" } else { "–" }) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where nearly all vertices and where the worst are.
pub(super) fn extremes(report: &Report) -> Markup {
    let unit = &report.unit;
    html! {
        h3 #extremes { "Most and worst vertices" }
        div.scroll role="region" aria-label="Table of the largest errors" tabindex="0" {
            table.names {
                caption.hidden { "Errors that most vertices stay below, and the largest, in " (unit.name) }
                thead {
                    tr {
                        th scope="col" rowspan="2" { "errors in " (short(&unit.name)) }
                        th.group scope="colgroup" colspan="2" { "skinning" }
                        th.group scope="colgroup" colspan="3" { "model" }
                    }
                    tr {
                        th.first scope="col" { "95 % below" } th scope="col" { "largest" }
                        th.first scope="col" { "95 % below" } th scope="col" { "largest" }
                        th scope="col" { "rmse, % of size" }
                    }
                }
                tbody {
                    @for set in &report.sets {
                        @let (skinning, model) = (&set.evaluation.skinning, &set.evaluation.model);
                        tr {
                            th scope="row" { (set.name) }
                            td.first { (unit.show(skinning.p95)) }
                            td { (unit.show(skinning.max)) }
                            td.first { (unit.show(model.p95)) }
                            td { (unit.show(model.max)) }
                            td { (figure(model.rmse_of_100)) }
                        }
                    }
                }
            }
        }
    }
}
