//! The panel beside the character.

use egui::{Align, Color32, CornerRadius, Layout, RichText, Sense, Stroke, StrokeKind, Ui, pos2, vec2};

use crate::measure::Measure;
use crate::message::Shown;
use crate::state::ViewState;

/// Width of the panel, points.
const WIDTH: f32 = 316.0;
/// Apricot, from the heat map: what is chosen.
const ACCENT: Color32 = Color32::from_rgb(248, 172, 96);
const FAINT: Color32 = Color32::from_rgb(146, 152, 166);
/// Of a joint's x, y and z.
const AXES: [(&str, Color32); 3] = [
    ("x", Color32::from_rgb(236, 112, 106)),
    ("y", Color32::from_rgb(132, 200, 120)),
    ("z", Color32::from_rgb(108, 164, 240)),
];

/// What the panel tells beside the state.
#[derive(Debug, Default)]
pub struct Figures {
    /// milliseconds from frame to frame while something moves
    pub frame_milliseconds: f64,
    /// bytes of the last frame's pose
    pub uploaded: usize,
    /// the GPU's name
    pub gpu: String,
    /// where the pose stream listens
    pub stream: Option<String>,
    /// `component`: α of the last frame
    pub coordinates: Vec<f32>,
    /// `component`: the largest α seen
    pub largest_coordinates: Vec<f32>,
}

/// Colours, spaces and corners of everything.
pub fn set_style(context: &egui::Context) {
    context.set_theme(egui::Theme::Dark);
    context.style_mut_of(egui::Theme::Dark, |style| {
        let visuals = &mut style.visuals;
        visuals.panel_fill = Color32::from_rgb(24, 26, 32);
        visuals.window_fill = Color32::from_rgb(30, 33, 40);
        visuals.extreme_bg_color = Color32::from_rgb(14, 15, 19);
        visuals.override_text_color = Some(Color32::from_rgb(222, 225, 232));
        visuals.selection.bg_fill = Color32::from_rgb(150, 92, 44);
        visuals.selection.stroke = Stroke::new(1.0, Color32::WHITE);
        visuals.slider_trailing_fill = true;
        visuals.handle_shape = egui::style::HandleShape::Circle;
        for widget in [
            &mut visuals.widgets.inactive,
            &mut visuals.widgets.hovered,
            &mut visuals.widgets.active,
            &mut visuals.widgets.open,
        ] {
            widget.corner_radius = CornerRadius::same(6);
        }
        visuals.widgets.inactive.weak_bg_fill = Color32::from_rgb(42, 46, 55);
        visuals.widgets.inactive.bg_fill = Color32::from_rgb(52, 57, 68);
        visuals.widgets.hovered.weak_bg_fill = Color32::from_rgb(56, 61, 73);
        style.spacing.item_spacing = vec2(8.0, 7.0);
        style.spacing.button_padding = vec2(9.0, 4.0);
        style.spacing.slider_width = 168.0;
        style.spacing.interact_size.y = 22.0;
    });
}

/// Shows the panel and changes the state as its user wants.
pub fn show(ui: &mut Ui, state: &mut ViewState, measure: &mut Measure, figures: &Figures) {
    let frame = egui::Frame::side_top_panel(ui.style()).inner_margin(egui::Margin::symmetric(16, 14));
    egui::Panel::right("panel").exact_size(WIDTH).resizable(false).frame(frame).show(ui, |ui| {
        footer(ui, figures);
        egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            title(ui, state);
            views(ui, state);
            if state.shown == Shown::Heat {
                legend(ui, state, measure);
            }
            clips(ui, state);
            truth(ui, state);
            joints(ui, state);
            controls(ui, state);
            corrections(ui, state, figures);
        });
    });
}

fn heading(ui: &mut Ui, text: &str) {
    ui.add_space(12.0);
    ui.label(RichText::new(text.to_uppercase()).size(10.5).strong().color(FAINT).extra_letter_spacing(1.2));
}

fn title(ui: &mut Ui, state: &ViewState) {
    let rig = state.subject.model.rig();
    ui.label(RichText::new(&state.subject.name).size(19.0).strong());
    let text = format!(
        "{} vertices · {} triangles · {} joints",
        thousands(rig.vertex_count()),
        thousands(rig.mesh().triangles().len()),
        rig.skeleton().joint_count()
    );
    ui.label(RichText::new(text).size(11.5).color(FAINT));
}

fn views(ui: &mut Ui, state: &mut ViewState) {
    heading(ui, "Show");
    let has_truth = state.subject.truth.is_some();
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let mut choice = |ui: &mut Ui, shown: Shown, text: &str, enabled: bool, hint: &str| {
            let button = egui::Button::selectable(state.shown == shown, text);
            if ui.add_enabled(enabled, button).on_hover_text(hint).on_disabled_hover_text(hint).clicked() {
                state.shown = shown;
            }
        };
        choice(ui, Shown::Model, "Model", true, "skinning and learnt corrections (1)");
        choice(ui, Shown::Skinning, "Skinning", true, "plain skinning (2)");
        choice(ui, Shown::Truth, "Truth", has_truth, "the true shape (3); needs --truth FILE.glb");
        choice(
            ui,
            Shown::Heat,
            "Heat map",
            true,
            "distance of the model from skinning, or from the truth (4)",
        );
    });
    ui.checkbox(&mut state.wireframe, "Edges").on_hover_text("W");
    if state.shown == Shown::Truth && state.example.is_none() {
        let text =
            "The truth is known in the poses of its file only: choose one. Until then this is the model.";
        ui.label(RichText::new(text).size(11.5).color(ACCENT));
    }
}

/// The heat map's colours with numbers.
fn legend(ui: &mut Ui, state: &ViewState, measure: &mut Measure) {
    let found = measure.of(state);
    let unit = &state.subject.unit;
    ui.add_space(4.0);
    let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), 12.0), Sense::hover());
    let colours = &state.subject.heat_colours;
    let mut mesh = egui::Mesh::default();
    for (index, &[red, green, blue]) in colours.iter().enumerate() {
        let x = area.left() + area.width() * index as f32 / (colours.len().max(2) - 1) as f32;
        let colour = Color32::from_rgb(red, green, blue);
        mesh.colored_vertex(pos2(x, area.top()), colour);
        mesh.colored_vertex(pos2(x, area.bottom()), colour);
        if index > 0 {
            let last = 2 * index as u32;
            mesh.add_triangle(last - 2, last - 1, last);
            mesh.add_triangle(last - 1, last, last + 1);
        }
    }
    ui.painter().add(mesh);
    let edge = Stroke::new(1.0, Color32::from_black_alpha(120));
    ui.painter().rect_stroke(area, CornerRadius::same(2), edge, StrokeKind::Outside);
    let scale = measure.scale();
    ui.columns(3, |columns| {
        let small = |value: f64| RichText::new(unit.tell(value)).size(11.5);
        columns[0].label(small(0.0));
        columns[1].vertical_centered(|ui| ui.label(small(0.5 * scale)));
        columns[2].with_layout(Layout::right_to_left(Align::Min), |ui| ui.label(small(scale)));
    });
    let other = if state.example.is_some() { "the truth" } else { "skinning" };
    let text =
        format!("Model against {other}: at most {}, rms {}", unit.tell(found.largest), unit.tell(found.rms));
    ui.label(RichText::new(text).size(11.5).color(FAINT));
    if ui.button("Fit the scale to this pose").clicked() {
        measure.rescale();
        measure.of(state);
    }
}

fn clips(ui: &mut Ui, state: &mut ViewState) {
    let clips = state.subject.file.clips();
    if clips.is_empty() {
        return;
    }
    heading(ui, "Clip");
    let shown = state.player.shown();
    let mut chosen = None;
    ui.horizontal(|ui| {
        let text = if state.player.is_playing() { "Pause" } else { "Play" };
        if ui.button(text).on_hover_text("play or pause (space)").clicked() {
            state.player.toggle();
        }
        let name = shown.map_or("choose a clip", |(clip, _)| clips[clip].name.as_str());
        egui::ComboBox::from_id_salt("clip").selected_text(name).width(ui.available_width()).show_ui(
            ui,
            |ui| {
                for (index, clip) in clips.iter().enumerate() {
                    if ui.selectable_label(shown.is_some_and(|(clip, _)| clip == index), &clip.name).clicked()
                    {
                        chosen = Some(index);
                    }
                }
            },
        );
    });
    if let Some(clip) = chosen {
        state.player.show(clip, None);
    }
    if let Some((_, mut time)) = state.player.shown() {
        ui.horizontal(|ui| {
            ui.spacing_mut().slider_width = ui.available_width() - 66.0;
            let range = 0.0..=state.player.duration().max(1e-6);
            if ui.add(egui::Slider::new(&mut time, range).fixed_decimals(2).suffix(" s")).changed() {
                state.player.scrub(time);
            }
        });
        // Also when it stands still: the pose is the clip's.
        if state.player.shown() != shown {
            state.sample();
        }
    }
}

fn truth(ui: &mut Ui, state: &mut ViewState) {
    let subject = state.subject.clone();
    let Some(truth) = &subject.truth else { return };
    heading(ui, "Pose of a true shape");
    let name = state.example.map_or("choose a pose", |index| truth.examples()[index].name.as_str());
    let mut chosen = None;
    let width = ui.available_width();
    egui::ComboBox::from_id_salt("truth").selected_text(name).width(width).show_ui(ui, |ui| {
        for (index, example) in truth.examples().iter().enumerate() {
            if ui.selectable_label(state.example == Some(index), &example.name).clicked() {
                chosen = Some(index);
            }
        }
    });
    if let Some(example) = chosen {
        state.show_example(example);
    }
}

fn joints(ui: &mut Ui, state: &mut ViewState) {
    let rig = state.subject.model.rig().clone();
    let joints = rig.skeleton().joints();
    if joints.is_empty() {
        return;
    }
    heading(ui, "Joint");
    let width = ui.available_width();
    let name = joints[state.joint].name.as_str();
    egui::ComboBox::from_id_salt("joint").selected_text(name).width(width).height(420.0).show_ui(ui, |ui| {
        for (index, joint) in joints.iter().enumerate() {
            let mark = if state.pose.is_turned(index) {
                RichText::new(&joint.name).color(ACCENT)
            } else {
                RichText::new(&joint.name)
            };
            if ui.selectable_label(state.joint == index, mark).clicked() {
                state.joint = index;
            }
        }
    });
    let mut degrees = state.pose.angles(state.joint);
    let mut changed = false;
    for ((name, colour), angle) in AXES.into_iter().zip(&mut degrees) {
        ui.horizontal(|ui| {
            ui.label(RichText::new(name).strong().color(colour));
            ui.spacing_mut().slider_width = ui.available_width() - 66.0;
            ui.visuals_mut().selection.bg_fill = colour.gamma_multiply(0.75);
            let slider = egui::Slider::new(angle, -180.0..=180.0)
                .custom_formatter(|angle, _| degrees_text(angle))
                .suffix("°");
            changed |= ui.add(slider.clamping(egui::SliderClamping::Never)).changed();
        });
    }
    if changed {
        state.turn_joint(degrees);
    }
    ui.horizontal(|ui| {
        if ui.button("Reset joint").clicked() {
            state.turn_joint([0.0; 3]);
        }
        if ui.button("Rest pose").on_hover_text("all joints and controls (R)").clicked() {
            state.reset();
        }
    });
}

fn controls(ui: &mut Ui, state: &mut ViewState) {
    let rig = state.subject.model.rig().clone();
    if rig.controls().is_empty() {
        return;
    }
    heading(ui, "Controls");
    for (index, control) in rig.controls().iter().enumerate() {
        let mut value = state.pose.pose().controls[index];
        ui.label(RichText::new(&control.name).size(12.0));
        ui.spacing_mut().slider_width = ui.available_width() - 66.0;
        let range = control.default.min(0.0)..=control.default.max(1.0);
        let slider = egui::Slider::new(&mut value, range).clamping(egui::SliderClamping::Never);
        if ui.add(slider.fixed_decimals(2)).changed() && value.is_finite() {
            state.set_control(index, value);
        }
    }
}

/// α of the layers, as bars around zero, each against the largest seen.
fn corrections(ui: &mut Ui, state: &ViewState, figures: &Figures) {
    let layers = state.subject.model.layers();
    if layers.is_empty() || figures.coordinates.is_empty() {
        return;
    }
    heading(ui, "Corrections");
    ui.spacing_mut().interact_size.y = 14.0;
    ui.spacing_mut().item_spacing.y = 4.0;
    let mut first = 0;
    for layer in layers {
        let range = first..first + layer.component_count();
        first = range.end;
        ui.horizontal(|ui| {
            let (text, _) = ui.allocate_exact_size(vec2(172.0, 14.0), Sense::hover());
            let font = egui::FontId::proportional(11.0);
            ui.painter().with_clip_rect(text).text(
                text.left_center(),
                egui::Align2::LEFT_CENTER,
                &layer.name,
                font,
                FAINT,
            );
            let (area, _) = ui.allocate_exact_size(vec2(ui.available_width(), 14.0), Sense::hover());
            let count = range.len().max(1) as f32;
            let width = (area.width() / count).min(24.0);
            for (place, component) in range.enumerate() {
                let largest = figures.largest_coordinates[component].max(1e-9);
                let share = (figures.coordinates[component] / largest).clamp(-1.0, 1.0);
                let left = area.left() + place as f32 * width;
                let middle = area.center().y;
                let line = [pos2(left, middle), pos2(left + width - 2.0, middle)];
                ui.painter().line_segment(line, Stroke::new(1.0, Color32::from_gray(58)));
                let tip = pos2(left + width - 2.0, middle - 7.0 * share);
                let bar = egui::Rect::from_two_pos(pos2(left, middle), tip);
                ui.painter().rect_filled(bar, CornerRadius::same(1), ACCENT);
            }
        });
    }
}

fn footer(ui: &mut Ui, figures: &Figures) {
    egui::Panel::bottom("figures")
        .frame(egui::Frame::new().inner_margin(egui::Margin { top: 8, ..Default::default() }))
        .show(ui, |ui| {
            let small = |text: String| RichText::new(text).size(11.0).color(FAINT);
            ui.spacing_mut().item_spacing.y = 3.0;
            let bytes = format!("{} bytes uploaded per frame", thousands(figures.uploaded));
            // A picture stands alone: it has no frame before.
            let text = match figures.frame_milliseconds {
                0.0 => bytes,
                milliseconds => format!("{milliseconds:.1} ms · {bytes}"),
            };
            ui.label(small(text));
            ui.add(egui::Label::new(small(figures.gpu.clone())).truncate());
            if let Some(stream) = &figures.stream {
                ui.label(small(stream.clone()));
            }
        });
}

/// One decimal, and no minus before zero.
fn degrees_text(angle: f64) -> String {
    format!("{:.1}", if angle.abs() < 0.05 { 0.0 } else { angle })
}

/// 13,976
fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_degrees_have_no_sign() {
        assert_eq!(degrees_text(-1e-6), "0.0");
        assert_eq!(degrees_text(-0.06), "-0.1");
        assert_eq!(degrees_text(90.0), "90.0");
    }

    #[test]
    fn counts_have_commas() {
        for (count, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (13_976, "13,976"), (1_234_567, "1,234,567")]
        {
            assert_eq!(thousands(count), text);
        }
    }
}
