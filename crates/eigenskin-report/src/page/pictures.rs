//! Pictures for the report: the worst poses, and what the strongest joint has learnt.

use std::sync::Arc;

use eigenskin::evaluate::Evaluator;
use eigenskin::examples::ExampleSet;
use eigenskin::fit::JointReport;
use eigenskin::glam::Vec3;
use eigenskin::metrics::{Evaluation, vertex_errors};
use eigenskin::model::Model;
use eigenskin::skinning::BaseSkinning;

use super::figures::LengthUnit;
use crate::picture::{Panel, PictureError, PictureParams, Surface, View, draw_cutouts};

/// Pictures side by side under one heading.
#[derive(Debug, Clone)]
pub struct PictureRow {
    /// heading
    pub title: String,
    /// a sentence below it; may be empty
    pub note: String,
    /// from the left
    pub panels: Vec<PicturePanel>,
    /// top of the heat scale, and what it measures
    pub heat: Option<(f32, String)>,
}

/// One picture.
#[derive(Debug, Clone)]
pub struct PicturePanel {
    /// words below
    pub caption: String,
    /// smaller words below these
    pub detail: String,
    /// for those who do not see it
    pub alt: String,
    /// a PNG file
    pub png: Vec<u8>,
    /// pixels
    pub width: usize,
    /// pixels
    pub height: usize,
}

/// Twice the size that a desktop shows, so that fine screens have something to show.
const WIDTH: usize = 320;
const HEIGHT: usize = 384;
/// Components of the strongest joint that are shown.
const COMPONENTS: usize = 5;

/// Truth, skinning, model and both errors of the `count` poses that the model gets worst. `set` is
/// what the poses are called, such as "held out, many joints".
pub fn worst_pose_pictures(
    model: &Arc<Model>,
    truth: &ExampleSet,
    evaluation: &Evaluation,
    set: &str,
    count: usize,
    view: View,
    unit: &LengthUnit,
) -> Result<Vec<PictureRow>, PictureError> {
    let mut worst: Vec<usize> = (0..evaluation.per_pose.len().min(truth.len())).collect();
    let error = |index: usize| evaluation.per_pose[index].model_rmse;
    worst.sort_by(|&a, &b| error(b).total_cmp(&error(a)));
    worst.truncate(count);
    worst
        .into_iter()
        .enumerate()
        .map(|(rank, index)| {
            let name = &truth.examples()[index].name;
            let title = if rank == 0 {
                format!("Worst pose, {set}: {name}")
            } else {
                format!("Next worst, {set}: {name}")
            };
            pose_row(model, truth, evaluation, index, title, view, unit)
        })
        .collect()
}

fn pose_row(
    model: &Arc<Model>,
    truth: &ExampleSet,
    evaluation: &Evaluation,
    index: usize,
    title: String,
    view: View,
    unit: &LengthUnit,
) -> Result<PictureRow, PictureError> {
    let (example, errors) = (&truth.examples()[index], &evaluation.per_pose[index]);
    let shape = |model: &Arc<Model>| {
        let mut positions = vec![Vec3::ZERO; example.positions.len()];
        let mut normals = positions.clone();
        Evaluator::new(model.clone()).evaluate(&example.pose, &mut positions, Some(&mut normals));
        let factor = unit.per_model_unit as f32;
        let off: Vec<f32> =
            vertex_errors(&positions, &example.positions).iter().map(|e| factor * e).collect();
        (positions, normals, off)
    };
    let plain = Arc::new(Model::without_corrections(model.rig().clone(), BaseSkinning::LinearBlend));
    let (skinned, skinned_normals, skinned_off) = shape(&plain);
    let (modelled, modelled_normals, modelled_off) = shape(model);
    let true_normals = truth.normals_of(index);
    let panel = |positions, normals, surface| Panel { caption: String::new(), positions, normals, surface };
    let panels = [
        panel(&example.positions, &true_normals, Surface::Skin),
        panel(&skinned, &skinned_normals, Surface::Skin),
        panel(&modelled, &modelled_normals, Surface::Skin),
        panel(&skinned, &skinned_normals, Surface::Heat { errors: &skinned_off }),
        panel(&modelled, &modelled_normals, Surface::Heat { errors: &modelled_off }),
    ];
    let params = PictureParams { panel_width: WIDTH, panel_height: HEIGHT, view, ..PictureParams::default() };
    let cutouts = draw_cutouts(model.rig().mesh(), &panels, &params)?;
    let rmse = |length: f64| format!("rmse {} {}", unit.show(length), unit.name);
    let words = [
        ("truth", String::new(), "the true shape".to_string()),
        ("plain skinning", String::new(), "the shape of plain skinning".to_string()),
        ("model", String::new(), "the shape of the model".to_string()),
        (
            "error of skinning",
            rmse(errors.skinning_rmse),
            format!("heat map of skinning’s error, {}", rmse(errors.skinning_rmse)),
        ),
        (
            "error of the model",
            rmse(errors.model_rmse),
            format!("heat map of the model’s error, {}", rmse(errors.model_rmse)),
        ),
    ];
    let heat = cutouts.heat_maximum.map(|maximum| (maximum, unit.name.clone()));
    let panels = words
        .into_iter()
        .zip(cutouts.files)
        .map(|((caption, detail, alt), png)| PicturePanel {
            caption: caption.to_string(),
            detail,
            alt: format!("{}: {alt}", example.name),
            png,
            width: WIDTH,
            height: HEIGHT,
        })
        .collect();
    Ok(PictureRow { title, note: String::new(), panels, heat })
}

/// The first components of the joint with the largest singular value as colours on the rest shape
/// (EigenSkin, Figure 5); `None` when nothing was learnt.
pub fn eigendisplacement_pictures(
    model: &Model,
    joints: &[JointReport],
    view: View,
    unit: &LengthUnit,
) -> Result<Option<PictureRow>, PictureError> {
    let largest = |joint: &JointReport| joint.singular_values.first().copied().unwrap_or(0.0);
    let strongest = joints
        .iter()
        .filter_map(|joint| Some((joint, model.layers().iter().find(|layer| layer.name == joint.name)?)))
        .max_by(|(a, _), (b, _)| largest(a).total_cmp(&largest(b)));
    let Some((joint, layer)) = strongest else { return Ok(None) };

    let mesh = model.rig().mesh();
    let count = layer.component_count().min(COMPONENTS);
    let fields: Vec<Vec<Vec3>> = (0..count)
        .map(|component| {
            let mut field = vec![Vec3::ZERO; mesh.vertex_count()];
            let values = layer.basis.component_positions(component, layer.support.len());
            for (&vertex, &value) in layer.support.iter().zip(values) {
                field[vertex as usize] = value;
            }
            field
        })
        .collect();
    let panels: Vec<Panel> = fields
        .iter()
        .map(|field| Panel {
            caption: String::new(),
            positions: mesh.positions(),
            normals: mesh.normals(),
            surface: Surface::Displacement {
                vectors: field,
                scale: field.iter().map(|v| v.abs().max_element()).fold(0.0, f32::max),
            },
        })
        .collect();
    let params = PictureParams { panel_width: WIDTH, panel_height: HEIGHT, view, ..PictureParams::default() };
    let cutouts = draw_cutouts(mesh, &panels, &params)?;
    let panels = cutouts
        .files
        .into_iter()
        .enumerate()
        .map(|(component, png)| {
            let value = joint.singular_values.get(component).copied().unwrap_or(0.0);
            PicturePanel {
                caption: format!("component {}", component + 1),
                detail: format!("singular value {} {}", unit.show(value), unit.name),
                alt: format!(
                    "Component {} of {} on the rest shape, displacements as colours",
                    component + 1,
                    joint.name
                ),
                png,
                width: WIDTH,
                height: HEIGHT,
            }
        })
        .collect();
    Ok(Some(PictureRow {
        title: format!("What the strongest joint has learnt: {}", joint.name),
        note:
            "Each component is a displacement of the skin: x, y and z are red, green and blue around grey, \
               which is no displacement. Every picture uses its colours fully; the singular value says how \
               much the component matters."
                .to_string(),
        panels,
        heat: None,
    }))
}
