//! One pose of a built-in character: the truth, and how far models are from it.

use std::sync::Arc;

use eigenskin_core::evaluate::{Evaluator, Shape};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_fit::metrics::vertex_errors;
use eigenskin_report::page::{Shot, figure};
use eigenskin_report::picture::{HeatScale, Panel, PictureError, PictureParams, Surface, View, draw_panels};

use super::side_by_side::rms;

/// A model in a picture.
#[derive(Debug, Clone)]
pub struct ShownModel<'a> {
    /// what stands below it
    pub caption: String,
    /// what is shown
    pub model: &'a Arc<Model>,
}

/// How a pose is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonLook {
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
    shape: Shape,
    /// `vertex`, millimetres
    errors: Vec<f32>,
}

impl Posed {
    fn panel<'a>(&'a self, caption: String, surface: Surface<'a>) -> Panel<'a> {
        Panel { caption, positions: &self.shape.positions, normals: &self.shape.normals, surface }
    }
}

/// On the palm, a little from below.
pub fn palm_view() -> View {
    View { from_direction: Vec3::new(0.3, -0.4, 1.0), up: Vec3::Y, ..View::default() }
}

/// The truth of one pose, then each model with its error in millimetres (lengths of the rig are
/// metres), as PNG. `note` stands below the truth.
pub fn comparison_picture(
    truth: &ExampleSet,
    index: usize,
    note: &str,
    models: &[ShownModel],
    look: ComparisonLook,
    shot: Shot,
) -> Result<Vec<u8>, PictureError> {
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
        if look == ComparisonLook::ShapesAndErrors {
            panels.push(posed.panel(format!("{}\n", posed.caption), Surface::Skin));
            caption = format!("error of {caption}");
        }
        panels.push(posed.panel(caption, Surface::Heat { errors: &posed.errors }));
    }
    let params = PictureParams {
        panel_width: 360,
        panel_height: if look == ComparisonLook::ShapesAndErrors { 440 } else { 400 },
        columns: panels.len(),
        view: shot.view,
        focus: match posed.first() {
            Some(first) if look == ComparisonLook::ErrorsNear => far_off(&first.errors),
            _ => Vec::new(),
        },
        heat: HeatScale { maximum: None, label: "error in mm".to_string() },
        ..PictureParams::default()
    };
    draw_panels(shot.painter, truth.rig().mesh(), &panels, &params)
}

fn posed(truth: &ExampleSet, index: usize, shown: &ShownModel) -> Posed {
    let example = &truth.examples()[index];
    let shape = Evaluator::new(shown.model.clone()).shape(&example.pose);
    let errors: Vec<f32> =
        vertex_errors(&shape.positions, &example.positions).iter().map(|error| 1000.0 * error).collect();
    Posed { caption: shown.caption.clone(), rmse: rms(&errors), shape, errors }
}

/// Vertices with more than a tenth of the largest error.
fn far_off(errors: &[f32]) -> Vec<u32> {
    let largest = errors.iter().copied().fold(0.0, f32::max);
    (0..errors.len() as u32).filter(|&vertex| errors[vertex as usize] > 0.1 * largest).collect()
}
