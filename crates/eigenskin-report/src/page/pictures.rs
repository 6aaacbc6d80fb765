//! Pictures for the report: the worst poses, and what the strongest joint has learnt.

use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;
use eigenskin_core::model::{Layer, Model};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::method::JointReport;
use eigenskin_fit::metrics::{Evaluation, vertex_errors};

use super::figures::{LengthUnit, counted, percent};
use crate::picture::painter::PanelPainter;
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
    /// what the colours mean
    pub legend: PictureLegend,
}

/// What the colours of a row mean.
#[derive(Debug, Clone, PartialEq)]
pub enum PictureLegend {
    /// nothing
    None,
    /// how far vertices are off
    Heat {
        /// error of the last colour
        maximum: f32,
        /// in which it is measured
        unit: String,
    },
    /// where vertices go: x, y and z as red, green and blue around grey
    Displacement,
    /// what vertices belong to
    Parts {
        /// sRGB colours and names
        keys: Vec<([u8; 3], String)>,
    },
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

/// By whom and from where pictures are taken.
#[derive(Clone, Copy)]
pub struct Shot<'a> {
    /// who paints
    pub painter: &'a dyn PanelPainter,
    /// from where
    pub view: View,
}

/// Twice the size that a desktop shows, so that fine screens have something to show.
pub(super) const WIDTH: usize = 320;
pub(super) const HEIGHT: usize = 384;
/// Components of the strongest joint that are shown.
const COMPONENTS: usize = 5;

/// Truth, skinning, model and both errors of the `count` poses with the largest errors of the model, and of
/// the pose in which the largest share of skinning's error is left, where it is none of them. `set` is what
/// the poses are called, such as "held out, many joints".
pub fn worst_pose_pictures(
    model: &Arc<Model>,
    truth: &ExampleSet,
    evaluation: &Evaluation,
    set: &str,
    count: usize,
    shot: Shot,
    unit: &LengthUnit,
) -> Result<Vec<PictureRow>, PictureError> {
    let mut worst: Vec<usize> = (0..evaluation.per_pose.len().min(truth.len())).collect();
    let error = |index: usize| evaluation.per_pose[index].model_rmse;
    worst.sort_by(|&a, &b| error(b).total_cmp(&error(a)));
    let shares = worst.iter().filter_map(|&index| Some((index, evaluation.per_pose[index].relative_error?)));
    let largest_share = shares.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index);
    worst.truncate(count);
    let heads = std::iter::once("Largest error").chain(std::iter::repeat("Next largest error"));
    let by_share = largest_share.filter(|index| count > 0 && !worst.contains(index));
    let mut rows: Vec<(&str, usize)> = heads.zip(worst).collect();
    rows.extend(by_share.map(|index| ("Largest share of skinning’s error left", index)));
    rows.into_iter()
        .map(|(head, index)| {
            let title = format!("{head}, {set}: {}", truth.examples()[index].name);
            pose_row(model, truth, evaluation, index, title, shot, unit)
        })
        .collect()
}

fn pose_row(
    model: &Arc<Model>,
    truth: &ExampleSet,
    evaluation: &Evaluation,
    index: usize,
    title: String,
    shot: Shot,
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
    let plain = Arc::new(Model::without_corrections(model.input_rig().clone(), BaseSkinning::LinearBlend));
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
    let params = PictureParams {
        panel_width: WIDTH,
        panel_height: HEIGHT,
        view: shot.view,
        ..PictureParams::default()
    };
    let cutouts = draw_cutouts(shot.painter, model.rig().mesh(), &panels, &params)?;
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
            match errors.relative_error {
                Some(share) => {
                    format!("{}, {} left", rmse(errors.model_rmse), percent(share))
                }
                None => rmse(errors.model_rmse),
            },
            format!("heat map of the model’s error, {}", rmse(errors.model_rmse)),
        ),
    ];
    let legend = cutouts
        .heat_maximum
        .map_or(PictureLegend::None, |maximum| PictureLegend::Heat { maximum, unit: unit.name.clone() });
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
    Ok(PictureRow { title, note: String::new(), panels, legend })
}

/// The first components of the joint with the largest singular value as colours on the part of the
/// rest shape that the joint acts on (EigenSkin, Figure 5); `None` when nothing was learnt.
pub fn eigendisplacement_pictures(
    model: &Model,
    joints: &[JointReport],
    shot: Shot,
    unit: &LengthUnit,
) -> Result<Option<PictureRow>, PictureError> {
    let largest = |joint: &JointReport| joint.singular_values.first().copied().unwrap_or(0.0);
    let strongest = joints
        .iter()
        .filter_map(|joint| Some((joint, model.layers().iter().find(|layer| layer.name == joint.name)?)))
        .max_by(|(a, _), (b, _)| largest(a).total_cmp(&largest(b)));
    let Some((joint, layer)) = strongest else { return Ok(None) };

    let mesh = model.rig().mesh();
    let fields = component_fields(layer, mesh.vertex_count());
    let panels: Vec<Panel> = fields
        .iter()
        .map(|field| Panel {
            caption: String::new(),
            positions: mesh.positions(),
            normals: mesh.normals(),
            surface: Surface::Displacement { vectors: field, scale: full_colour(field, &layer.support) },
        })
        .collect();
    let params = PictureParams {
        panel_width: WIDTH,
        panel_height: WIDTH,
        view: from_the_side_that_moves(shot.view, mesh, &fields[0]),
        focus: layer.support.clone(),
        ..PictureParams::default()
    };
    let cutouts = draw_cutouts(shot.painter, mesh, &panels, &params)?;
    let panel = |(component, png): (usize, Vec<u8>)| {
        let value = joint.singular_values.get(component).copied().unwrap_or(0.0);
        let name = format!("{}, component {}", joint.name, component + 1);
        PicturePanel {
            detail: format!("singular value {} {}", unit.show(value), unit.name),
            alt: format!("{name}, on the part of the rest shape it moves: displacements as colours"),
            caption: name,
            png,
            width: WIDTH,
            height: WIDTH,
        }
    };
    Ok(Some(PictureRow {
        title: format!("What the strongest joint has learnt: {}", joint.name),
        note: format!(
            "The model corrects the skin around this joint with {}, added up in amounts that depend on how \
             far the joint turns. The pictures are close-ups of the rest shape; a colour says which way the \
             skin is pushed there, grey is not at all. Each picture uses its colours fully: how much a \
             component matters is told by its singular value.",
            counted(
                layer.component_count(),
                "displacement pattern (component)",
                "displacement patterns (components)"
            )
        ),
        panels: cutouts.files.into_iter().enumerate().map(panel).collect(),
        legend: PictureLegend::Displacement,
    }))
}

/// The first components of a layer on the whole mesh, `component × vertex`.
pub fn component_fields(layer: &Layer, vertex_count: usize) -> Vec<Vec<Vec3>> {
    (0..layer.component_count().min(COMPONENTS))
        .map(|component| {
            let mut field = vec![Vec3::ZERO; vertex_count];
            let values = layer.basis.component_positions(component, layer.support.len());
            for (&vertex, &value) in layer.support.iter().zip(values) {
                field[vertex as usize] = value;
            }
            field
        })
        .collect()
}

/// The length that gets full colour: a few vertices, often deep in a fold, may have more.
pub fn full_colour(field: &[Vec3], support: &[u32]) -> f32 {
    let mut lengths: Vec<f32> =
        support.iter().map(|&vertex| field[vertex as usize].abs().max_element()).collect();
    lengths.sort_by(f32::total_cmp);
    lengths.get((lengths.len() * 97) / 100).copied().unwrap_or(0.0)
}

/// The view, from behind where most of what a field (`vertex`) moves would be out of sight.
pub fn from_the_side_that_moves(view: View, mesh: &Mesh, field: &[Vec3]) -> View {
    let outward: Vec3 =
        field.iter().zip(mesh.normals()).map(|(moved, normal)| moved.length() * *normal).sum();
    let behind = outward.dot(view.from_direction) < 0.0;
    View { from_direction: if behind { -view.from_direction } else { view.from_direction }, ..view }
}
