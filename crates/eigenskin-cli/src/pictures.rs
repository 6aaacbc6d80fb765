//! One pose of a built-in character: the truth, and how far models are from it.

use std::sync::Arc;

use anyhow::Result;
use eigenskin::examples::ExampleSet;
use eigenskin::glam::Vec3;
use eigenskin::metrics::vertex_errors;
use eigenskin::model::Model;
use eigenskin::report::picture::{HeatScale, Panel, PictureParams, Surface, View, draw_panels};

use crate::output::figure;
use crate::painter;
use crate::render::{Shape, rms};

/// A model in a picture.
pub struct Shown<'a> {
    /// what stands below it
    pub caption: String,
    /// what is shown
    pub model: &'a Arc<Model>,
}

/// How a pose is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// each model coloured by its error
    Errors,
    /// the same, of that part where the first model is off
    ErrorsNear,
    /// each model as it is, then coloured by its error
    ShapesAndErrors,
}

/// A model in one pose.
struct Posed {
    caption: String,
    rmse: f64,
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    /// `vertex`, millimetres
    errors: Vec<f32>,
}

impl Posed {
    fn panel<'a>(&'a self, caption: String, surface: Surface<'a>) -> Panel<'a> {
        Panel { caption, positions: &self.positions, normals: &self.normals, surface }
    }
}

/// On the palm, a little from below.
pub fn palm_view() -> View {
    View { from_direction: Vec3::new(0.3, -0.4, 1.0), up: Vec3::Y, ..View::default() }
}

/// The truth of one pose, then each model with its error in millimetres (lengths of the rig are
/// metres), as PNG. `note` stands below the truth.
pub fn compare(
    truth: &ExampleSet,
    index: usize,
    note: &str,
    models: &[Shown],
    look: Look,
    view: View,
) -> Result<Vec<u8>> {
    let example = &truth.examples()[index];
    let posed: Vec<Posed> = models.iter().map(|shown| posed(truth, index, shown)).collect();
    let true_normals = truth.normals_of(index);
    let mut panels = vec![Panel {
        caption: format!("truth\n{}{note}", example.name),
        positions: &example.positions,
        normals: &true_normals,
        surface: Surface::Skin,
    }];
    for posed in &posed {
        let mut caption = format!("{}\nrmse {} mm", posed.caption, figure(posed.rmse));
        if look == Look::ShapesAndErrors {
            panels.push(posed.panel(format!("{}\n", posed.caption), Surface::Skin));
            caption = format!("error of {caption}");
        }
        panels.push(posed.panel(caption, Surface::Heat { errors: &posed.errors }));
    }
    let params = PictureParams {
        panel_width: 360,
        panel_height: if look == Look::ShapesAndErrors { 440 } else { 400 },
        columns: panels.len(),
        view,
        focus: match posed.first() {
            Some(first) if look == Look::ErrorsNear => far_off(&first.errors),
            _ => Vec::new(),
        },
        heat: HeatScale { maximum: None, label: "error in mm".to_string() },
        ..PictureParams::default()
    };
    Ok(draw_panels(painter::for_reports()?, truth.rig().mesh(), &panels, &params)?)
}

fn posed(truth: &ExampleSet, index: usize, shown: &Shown) -> Posed {
    let example = &truth.examples()[index];
    let Shape { positions, normals } = Shape::of(shown.model, &example.pose);
    let errors: Vec<f32> =
        vertex_errors(&positions, &example.positions).iter().map(|error| 1000.0 * error).collect();
    Posed { caption: shown.caption.clone(), rmse: rms(&errors), positions, normals, errors }
}

/// Vertices with more than a tenth of the largest error.
fn far_off(errors: &[f32]) -> Vec<u32> {
    let largest = errors.iter().copied().fold(0.0, f32::max);
    (0..errors.len() as u32).filter(|&vertex| errors[vertex as usize] > 0.1 * largest).collect()
}
