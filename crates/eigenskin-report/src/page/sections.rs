//! The sections with charts and pictures.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::Mover;
use maud::{Markup, html};

use super::chart::{Dot, DotChart, DotRow, svg, tick_label};
use super::figures::{bytes, counted};
use super::pictures::{PictureLegend, PictureRow};
use super::tables::short;
use super::{MeasuredSet, Report, SetKind, spread, tables};
use crate::picture::{direction_keys, heat_colours};

/// Poses in a chart.
const CHART_POSES: usize = 12;

/// Shapes and errors to look at.
pub(super) fn pictures(report: &Report) -> Markup {
    html! {
        @if !report.pictures.is_empty() {
            section aria-labelledby="pictures" {
                h2 #pictures { "To look at" }
                p {
                    "The true shape, what plain skinning makes of the pose, and what the model makes of it; "
                    "then how far both are off, as colours. “rmse” (root mean square error) is the typical "
                    "distance of a vertex from its true place."
                }
                @for row in &report.pictures {
                    (picture_row(row))
                }
            }
        }
    }
}

fn picture_row(row: &PictureRow) -> Markup {
    html! {
        div.row {
            h3 { (row.title) }
            @if !row.note.is_empty() {
                p { (row.note) }
            }
            @let is_large = matches!(row.legend, PictureLegend::Displacement | PictureLegend::Parts { .. });
            div.pictures.closeups[is_large] {
                @for panel in &row.panels {
                    figure {
                        img src={ "data:image/png;base64," (STANDARD.encode(&panel.png)) } alt=(panel.alt)
                            width=(panel.width) height=(panel.height);
                        figcaption { (panel.caption) @if !panel.detail.is_empty() { small { (panel.detail) } } }
                    }
                }
            }
            @match &row.legend {
                PictureLegend::None => {}
                PictureLegend::Heat { maximum, unit } => (heat_legend(*maximum, unit)),
                PictureLegend::Displacement => (displacement_legend()),
                PictureLegend::Parts { keys } => (colour_keys("Parts: ", keys)),
            }
        }
    }
}

fn heat_legend(maximum: f32, label: &str) -> Markup {
    let colours = heat_colours(60);
    let hex = |[r, g, b]: [u8; 3]| format!("#{r:02x}{g:02x}{b:02x}");
    let tick = |share: f64| tick_label(share * f64::from(maximum));
    html! {
        svg.legend viewBox="0 0 340 40" role="img"
            aria-label={ "Colours of the error, from pale for none to dark for " (tick(1.0)) " " (label) } {
            @for (index, colour) in colours.iter().enumerate() {
                rect x=(10 + 4 * index) y="4" width="4.5" height="12" fill=(hex(*colour)) {}
            }
            rect.frame x="10" y="4" width="240.5" height="12" {}
            @for (share, x) in [(0.0, 10), (0.5, 130), (1.0, 250)] {
                text.tick x=(x) y="31" text-anchor="middle" { (tick(share)) }
            }
            text.tick x="262" y="14" { (label) }
        }
    }
}

/// What the colours of displacements mean.
fn displacement_legend() -> Markup {
    colour_keys("Pushed along: ", &direction_keys().map(|(name, colour)| (colour, name.to_string())))
}

/// Squares of colour with names.
fn colour_keys(title: &str, keys: &[([u8; 3], String)]) -> Markup {
    html! {
        p.keys {
            (title)
            @for ([r, g, b], name) in keys {
                span.key {
                    svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" {
                        rect.swatch x="1" y="1" width="12" height="12" fill=(format!("#{r:02x}{g:02x}{b:02x}")) {}
                    }
                    " " (name)
                }
                " "
            }
        }
    }
}

/// Errors per pose, worst first.
pub(super) fn pose_errors(report: &Report) -> Markup {
    html! {
        section aria-labelledby="poses" {
            h2 #poses { "Pose by pose" }
            (spread::table(report))
            h3 { "Largest errors" }
            p {
                "The poses in which the model is furthest from the truth, each with the error of plain skinning and of the model: "
                "the longer the line between them, the more the model helps."
            }
            (key(&[("skinning", true, "plain skinning"), ("model", false, "model")]))
            div.charts {
                @for (index, set) in report.sets.iter().enumerate() {
                    div {
                        (svg(&pose_chart(report, set)))
                        (tables::all_poses(report, index))
                    }
                }
            }
        }
    }
}

fn pose_chart(report: &Report, set: &MeasuredSet) -> DotChart {
    let mut poses: Vec<_> = set.evaluation.per_pose.iter().collect();
    poses.sort_by(|a, b| b.model_rmse.total_cmp(&a.model_rmse));
    let dot = |length: f64, class, hollow, who: &str| Dot {
        value: report.unit.per_model_unit * length,
        class,
        hollow,
        name: format!("{who} {} {}", report.unit.show(length), report.unit.name),
    };
    let shown = poses.len().min(CHART_POSES);
    let title = format!("{}: {shown} of {}", capitalised(&set.name), counted(poses.len(), "pose", "poses"));
    let worst = poses.first().map_or(String::new(), |pose| {
        format!("Largest is {} with {} {}.", pose.name, report.unit.show(pose.model_rmse), report.unit.name)
    });
    DotChart {
        title,
        description: worst,
        axis: format!("rmse in {}", report.unit.name),
        logarithmic: false,
        without_dots: "",
        rows: poses[..shown]
            .iter()
            .map(|pose| DotRow {
                label: pose.name.clone(),
                joined: true,
                dots: vec![
                    dot(pose.skinning_rmse, "skinning", true, "plain skinning"),
                    dot(pose.model_rmse, "model", false, "model"),
                ],
            })
            .collect(),
    }
}

/// How fast each joint's singular values fall.
pub(super) fn singular_values(report: &Report) -> Markup {
    let Some(learnt) = report.eigenskin() else { return html! {} };
    let rows = learnt.joints.iter().map(|joint| DotRow {
        label: joint.name.clone(),
        joined: true,
        dots: joint
            .singular_values
            .iter()
            .enumerate()
            .map(|(index, &value)| {
                let kept = index < joint.component_count;
                Dot {
                    value: report.unit.per_model_unit * value,
                    class: if kept { "model" } else { "skinning" },
                    hollow: !kept,
                    name: format!(
                        "component {} {}, {} {}",
                        index + 1,
                        if kept { "kept" } else { "left out" },
                        report.unit.show(value),
                        report.unit.name
                    ),
                }
            })
            .collect(),
    });
    let chart = DotChart {
        title: "Singular values of each joint".to_string(),
        description: format!(
            "{} of {} components are kept.",
            report.model.component_count(),
            learnt.joints.iter().map(|joint| joint.singular_values.len()).sum::<usize>()
        ),
        axis: format!("singular value in {} (logarithmic)", report.unit.name),
        logarithmic: true,
        without_dots: "nothing to learn",
        rows: rows.collect(),
    };
    html! {
        section aria-labelledby="components" {
            h2 #components { "What was learnt" }
            p {
                "Every joint’s corrections are mixed from a few displacement patterns, its principal components. "
                "A singular value says how much of the example shapes a component explains; where they fall "
                "fast, few are enough."
            }
            (key(&[("model", false, "kept"), ("skinning", true, "left out")]))
            div.charts { (svg(&chart)) (joint_table(report)) }
        }
    }
}

fn joint_table(report: &Report) -> Markup {
    html! {
        div.scroll role="region" aria-label="What each joint has learnt" tabindex="0" {
            table.names {
                caption {
                    "What each joint has learnt"
                    small { "components kept of those found; largest singular value" }
                }
                thead {
                    tr {
                        th scope="col" { "joint" }
                        th scope="col" { "poses" }
                        th scope="col" { "vertices" }
                        th scope="col" { "kept" }
                        th scope="col" { "largest, " (short(&report.unit.name)) }
                    }
                }
                tbody {
                    @for joint in report.eigenskin().iter().flat_map(|learnt| &learnt.joints) {
                        tr {
                            th scope="row" { (joint.name) }
                            td { (joint.example_count) }
                            td { (joint.support_count) }
                            td { (joint.component_count) " of " (joint.singular_values.len()) }
                            td { (report.unit.show(joint.singular_values.first().copied().unwrap_or(0.0))) }
                        }
                    }
                }
            }
        }
    }
}

/// Which turns of each joint the poses show.
pub(super) fn coverage(report: &Report) -> Markup {
    let sets: Vec<(&MeasuredSet, &ExampleSet)> =
        report.sets.iter().filter_map(|set| Some((set, set.truth?))).collect();
    html! {
        @if sets.iter().any(|(_, truth)| truth.rig().skeleton().joint_count() > 1) {
            section aria-labelledby="coverage" {
                h2 #coverage { "Which poses were seen" }
                p {
                    "How far each joint turns away from rest in the poses of each set (the angle of the "
                    "rotation, whatever its axis); a dot is a pose. Where the training poses leave gaps, the "
                    "model guesses."
                }
                div.charts {
                    @for (set, truth) in sets {
                        (svg(&coverage_chart(set, truth)))
                    }
                }
            }
        }
    }
}

fn coverage_chart(set: &MeasuredSet, truth: &ExampleSet) -> DotChart {
    let rig = truth.rig();
    let rows: Vec<DotRow> = Mover::all(rig)
        .into_iter()
        .filter_map(|mover| {
            let Mover::Joint(joint) = mover else { return None };
            let moved = truth.examples().iter().filter(|example| mover.is_moved(rig, &example.pose));
            let dots: Vec<Dot> = moved
                .map(|example| {
                    let rotation = example.pose.motion_of(rig.skeleton(), joint).rotation;
                    let angle = 2.0 * rotation.xyz().length().atan2(rotation.w.abs()).to_degrees();
                    Dot {
                        value: angle,
                        class: if set.kind == SetKind::Training { "model" } else { "skinning" },
                        hollow: true,
                        name: format!("{}, {angle:.1}°", example.name),
                    }
                })
                .collect();
            Some(DotRow { label: mover.name(rig).to_string(), joined: false, dots })
        })
        .collect();
    let still: Vec<&str> =
        rows.iter().filter(|row| row.dots.is_empty()).map(|row| row.label.as_str()).collect();
    DotChart {
        title: format!("{}: joint angles", capitalised(&set.name)),
        description: if still.is_empty() {
            "Every joint moves.".to_string()
        } else {
            format!("These never move: {}.", still.join(", "))
        },
        axis: "angle from rest in degrees".to_string(),
        logarithmic: false,
        without_dots: "never moves",
        rows,
    }
}

/// Everything else worth knowing.
pub(super) fn details(report: &Report) -> Markup {
    let rig = report.model.rig();
    let size = report.sets.first().map(|set| set.evaluation.size);
    html! {
        section aria-labelledby="details" {
            h2 #details { "Details" }
            dl.facts {
                div { dt { "Rig" } dd {
                    (counted(rig.vertex_count(), "vertex", "vertices")) ", "
                    (counted(rig.mesh().triangles().len(), "triangle", "triangles")) ", "
                    (counted(rig.skeleton().joint_count(), "joint", "joints"))
                    @if !rig.controls().is_empty() {
                        ", " (counted(rig.controls().len(), "control", "controls"))
                    }
                } }
                @if let Some(size) = size {
                    div { dt { "Size" } dd {
                        (report.unit.show(size)) " " (report.unit.name)
                        " (diameter of the smallest sphere around the rest shape)"
                    } }
                }
                @if let Some(fit) = report.fit {
                    div { dt { "Examples" } dd {
                        (fit.example_count) " used"
                        @if !fit.merged.is_empty() {
                            ", " (fit.merged.len()) " that repeat another or the rest shape"
                        }
                    } }
                }
                @if let Some(written) = &report.written {
                    div { dt { "File" } dd {
                        (written.name) ", " (bytes(written.bytes)) ", "
                        (counted(written.targets, "morph target", "morph targets"))
                    } }
                    @for warning in &written.warnings {
                        div { dt { "Note" } dd { (warning) } }
                    }
                }
            }
            (tables::extremes(report))
        }
    }
}

/// What dots mean.
pub(super) fn key(entries: &[(&str, bool, &str)]) -> Markup {
    html! {
        p.keys {
            @for (class, hollow, name) in entries {
                span.key {
                    svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" {
                        circle class={ (class) @if *hollow { " hollow" } } cx="6" cy="6" r="4" {}
                    }
                    " " (name)
                }
                " "
            }
        }
    }
}

pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
