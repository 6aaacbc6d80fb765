//! Tables: methods side by side, and normals as two kinds of engine show them.

use eigenskin::baselines::{Method, MethodErrors, displacement_bytes};
use eigenskin::skinning::BaseSkinning;
use maud::{Markup, html};

use super::figures::{bytes, counted, ratio};
use super::{Report, SetKind};

/// One line of the table of methods.
struct Row {
    name: String,
    is_ours: bool,
    fields: String,
    most_tuples: String,
    bytes: String,
    /// `set`: rmse and ratio
    errors: Vec<Option<(String, String)>>,
}

/// Rigid, linear, dual quaternion, the linear map, EigenSkin with few and all components, ours.
pub(super) fn methods(report: &Report) -> Markup {
    let rows: Vec<Row> =
        report.methods.iter().map(|method| row_of(report, method)).chain([our_row(report)]).collect();
    html! {
        section aria-labelledby="methods" {
            h2 #methods { "Against other methods" }
            p {
                "Root mean square distance from the true shape, per vertex, in " (report.unit.name)
                "; “ratio” is that over the distance that linear blending leaves. Smaller is better. "
                "Poses that were learnt from and poses that were not stand in columns of their own."
            }
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
                                td { (row.most_tuples) }
                                td { (row.bytes) }
                            }
                        }
                    }
                }
            }
            p.note {
                "Fields are displacement fields (for the linear map: matrix columns), “at a vertex” is the "
                "largest number of them that any vertex carries, data are their positions as plain 32-bit "
                "numbers. “Per joint” counts components. A field with coordinates of both signs needs two morph targets. All components "
                "together span what the examples span as targets of their own."
            }
        }
    }
}

/// "model units" is too long for a column.
fn short(unit: &str) -> &str {
    if unit == "model units" { "units" } else { unit }
}

fn row_of(report: &Report, method: &MethodErrors) -> Row {
    let stores = method.fields > 0;
    let or_dash = |text: String| if stores { text } else { "–".to_string() };
    Row {
        name: name_of(method.method),
        is_ours: false,
        fields: or_dash(method.fields.to_string()),
        most_tuples: or_dash(method.most_tuples.to_string()),
        bytes: or_dash(bytes(method.bytes)),
        errors: (0..report.sets.len())
            .map(|set| {
                let on = method.on.get(set)?;
                Some((report.unit.show(on.errors.rmse), ratio(on.relative_error)))
            })
            .collect(),
    }
}

fn our_row(report: &Report) -> Row {
    let model = report.model;
    Row {
        name: "this model".to_string(),
        is_ours: true,
        fields: model.component_count().to_string(),
        most_tuples: model.most_tuples_per_vertex().to_string(),
        bytes: bytes(displacement_bytes(model)),
        errors: report
            .sets
            .iter()
            .map(|set| {
                let evaluation = set.evaluation;
                Some((report.unit.show(evaluation.model.rmse), ratio(evaluation.relative_error)))
            })
            .collect(),
    }
}

fn name_of(method: Method) -> String {
    match method {
        Method::Skinning(BaseSkinning::Rigid) => "rigid skinning".to_string(),
        Method::Skinning(BaseSkinning::LinearBlend) => "linear blend skinning".to_string(),
        Method::Skinning(BaseSkinning::DualQuaternion) => "dual quaternion skinning".to_string(),
        Method::LinearMap => "linear map from joints".to_string(),
        Method::Components(count) => format!("EigenSkin, {count} per joint"),
        Method::AllComponents => "EigenSkin, all (raw targets)".to_string(),
    }
}

/// Mean angles between true and shown normals.
pub(super) fn normals(report: &Report) -> Markup {
    let angle = |degrees: f64| format!("{degrees:.2}°");
    html! {
        section aria-labelledby="normals" {
            h2 #normals { "Normals" }
            p {
                "Mean angle between true and shown normals, which is what shading looks wrong by. Engines "
                "turn normals in one of two ways: with the blended matrix (three.js) or with its inverse "
                "transpose (Bevy)."
            }
            div.scroll role="region" aria-label="Table of normals" tabindex="0" {
                table {
                    caption.hidden { "Normal errors" }
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
                table {
                    caption.hidden {
                        "Errors per pose, " (set.name)
                        @if set.kind == SetKind::HeldOut { " (not seen)" }
                    }
                    thead {
                        tr {
                            th scope="col" { "pose" }
                            th scope="col" { "skinning rmse" }
                            th scope="col" { "model rmse" }
                            th scope="col" { "model largest" }
                        }
                    }
                    tbody {
                        @for pose in poses {
                            tr {
                                th scope="row" { (pose.name) }
                                td { (report.unit.show(pose.skinning_rmse)) }
                                td { (report.unit.show(pose.model_rmse)) }
                                td { (report.unit.show(pose.model_max)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
