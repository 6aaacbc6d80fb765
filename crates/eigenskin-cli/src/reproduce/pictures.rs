//! One pose as heat maps: the truth, and how far models are from it.

use std::sync::Arc;

use anyhow::Result;
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::ExampleSet;
use eigenskin::glam::Vec3;
use eigenskin::metrics::vertex_errors;
use eigenskin::model::Model;
use eigenskin_report::picture::{HeatScale, Panel, PictureParams, Surface, View, draw_panels};

use crate::output::figure;

/// A model in a picture.
pub struct Shown<'a> {
    /// what stands below it
    pub caption: String,
    /// what is shown
    pub model: &'a Arc<Model>,
}

/// A model in one pose.
struct Posed {
    caption: String,
    positions: Vec<Vec3>,
    normals: Vec<Vec3>,
    /// `vertex`, millimetres
    errors: Vec<f32>,
}

/// The truth of one pose, then each model coloured by its error in millimetres (lengths of the rig
/// are metres), as PNG. `near` looks only at where the first model is off.
pub fn compare(truth: &ExampleSet, index: usize, models: &[Shown], near: bool) -> Result<Vec<u8>> {
    let example = &truth.examples()[index];
    let posed: Vec<Posed> = models.iter().map(|shown| posed(truth, index, shown)).collect();
    let true_normals = truth.normals_of(index);
    let mut panels = vec![Panel {
        caption: format!("truth\n{}", example.name),
        positions: &example.positions,
        normals: &true_normals,
        surface: Surface::Skin,
    }];
    panels.extend(posed.iter().map(|posed| Panel {
        caption: posed.caption.clone(),
        positions: &posed.positions,
        normals: &posed.normals,
        surface: Surface::Heat { errors: &posed.errors },
    }));
    let params = PictureParams {
        panel_width: 360,
        panel_height: 400,
        columns: panels.len(),
        // On the palm, a little from below.
        view: View { from_direction: Vec3::new(0.3, -0.4, 1.0), up: Vec3::Y, ..View::default() },
        focus: if near {
            posed.first().map(|first| far_off(&first.errors)).unwrap_or_default()
        } else {
            vec![]
        },
        heat: HeatScale { maximum: None, label: "error in mm".to_string() },
        ..PictureParams::default()
    };
    Ok(draw_panels(truth.rig().mesh(), &panels, &params)?)
}

fn posed(truth: &ExampleSet, index: usize, shown: &Shown) -> Posed {
    let example = &truth.examples()[index];
    let mut positions = vec![Vec3::ZERO; example.positions.len()];
    let mut normals = positions.clone();
    Evaluator::new(shown.model.clone()).evaluate(&example.pose, &mut positions, Some(&mut normals));
    let errors: Vec<f32> =
        vertex_errors(&positions, &example.positions).iter().map(|error| 1000.0 * error).collect();
    let squares: f64 = errors.iter().map(|&error| f64::from(error).powi(2)).sum();
    let rmse = (squares / errors.len().max(1) as f64).sqrt();
    Posed { caption: format!("{}\nrmse {} mm", shown.caption, figure(rmse)), positions, normals, errors }
}

/// Vertices with more than a tenth of the largest error.
fn far_off(errors: &[f32]) -> Vec<u32> {
    let largest = errors.iter().copied().fold(0.0, f32::max);
    (0..errors.len() as u32).filter(|&vertex| errors[vertex as usize] > 0.1 * largest).collect()
}
