//! Skin weights that were solved: their page, their picture, and a sentence on them.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::Progress;
use eigenskin_core::rig::{Rig, RigError};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::weights::Influence;
use eigenskin_fit::metrics::Evaluation;
use eigenskin_fit::solve_weights::SolvedWeights;
use eigenskin_report::page::{MeasuredSet, Report, SetKind, counted, figure};
use eigenskin_report::picture::{HeatScale, Panel, PictureError, PictureParams, Surface, draw_panels};

use super::{PageStyle, ReportError, measured, methods_side_by_side, worst_poses};

/// Poses drawn with the largest errors.
const WORST_SHOWN: usize = 3;
/// Joints that are drawn: those whose weights changed most.
const DRAWN: usize = 3;

/// Solved weights, and what they were solved from.
#[derive(Debug, Clone)]
pub struct WeightsPage<'a> {
    /// what the rig is called
    pub rig_name: String,
    /// what the examples are called
    pub examples_name: String,
    /// the weights
    pub solved: &'a SolvedWeights,
    /// the examples, on the rig as it was given
    pub examples: &'a ExampleSet,
    /// plain skinning with the new weights ([`weights_model`])
    pub model: &'a Arc<Model>,
    /// its errors on the examples
    pub evaluation: &'a Evaluation,
}

/// Plain skinning with solved weights, as a model that remembers the rig it was solved for.
pub fn weights_model(solved: &SolvedWeights, input: &Arc<Rig>) -> Result<Arc<Model>, RigError> {
    let model = Model::without_corrections(solved.rig.clone(), BaseSkinning::LinearBlend);
    Ok(Arc::new(model.with_input_rig(input.clone())?))
}

/// The errors before and after.
pub fn weights_report<'a>(
    page: &WeightsPage<'a>,
    style: &PageStyle,
    progress: &dyn Progress,
) -> Result<Report<'a>, ReportError> {
    let painter = style.watched_by(progress);
    let style = &style.painted_by(&painter);
    let &WeightsPage { solved, examples, model, evaluation, .. } = page;
    let set = MeasuredSet { truth: Some(examples), ..measured("training", SetKind::Training, evaluation) };
    progress.doing("drawing")?;
    let pictures = worst_poses(model, &set, WORST_SHOWN, style)?;
    Ok(Report {
        title: format!("Skin weights of {}", page.rig_name),
        notes: vec![
            format!("Solved from {}. “Model” is plain skinning with the new weights.", page.examples_name),
            format!("Skin weights: {}.", weights_sentence(solved)),
        ],
        unit: style.unit.clone(),
        model,
        fit: None,
        signals: None,
        sets: vec![set],
        methods: methods_side_by_side(None, &[examples], false, progress)?.methods,
        unmeasured: Vec::new(),
        written: None,
        simulation: None,
        pictures,
    })
}

/// What the weights are good for.
pub fn weights_sentence(solved: &SolvedWeights) -> String {
    format!(
        "plain skinning's rmse on the examples {} → {} (largest error {} → {}) by new skin weights at {}, up to {} per vertex",
        figure(solved.before.rmse),
        figure(solved.after.rmse),
        figure(solved.before.max),
        figure(solved.after.max),
        counted(solved.changed_vertices, "vertex", "vertices"),
        counted(solved.rig.weights().most_influences(), "influence", "influences"),
    )
}

/// Where weights moved to other joints, and the joints that changed most, before above after, as PNG.
pub fn weights_picture(
    solved: &SolvedWeights,
    input: &Rig,
    style: &PageStyle,
) -> Result<Vec<u8>, PictureError> {
    let mesh = input.mesh();
    let joints = most_changed(solved, input);
    let of = |rig: &Rig, joint: u32| -> Vec<f32> {
        (0..rig.vertex_count()).map(|vertex| weight_of(rig.weights().of(vertex), joint)).collect()
    };
    let before: Vec<Vec<f32>> = joints.iter().map(|&joint| of(input, joint)).collect();
    let after: Vec<Vec<f32>> = joints.iter().map(|&joint| of(&solved.rig, joint)).collect();
    let panel = |caption: String, surface| Panel {
        caption,
        positions: mesh.positions(),
        normals: mesh.normals(),
        surface,
    };
    let name = |joint: u32| &input.skeleton().joints()[joint as usize].name;
    let mut panels = vec![panel(
        format!("moved to other joints\n{}", counted(solved.changed_vertices, "vertex", "vertices")),
        Surface::Heat { errors: &solved.moved },
    )];
    for (&joint, weights) in joints.iter().zip(&before) {
        panels.push(panel(format!("{}\nbefore", name(joint)), Surface::Heat { errors: weights }));
    }
    panels.push(panel("rest shape\n".to_string(), Surface::Skin));
    for (&joint, weights) in joints.iter().zip(&after) {
        panels.push(panel(format!("{}\nafter", name(joint)), Surface::Heat { errors: weights }));
    }
    let params = PictureParams {
        panel_width: 360,
        panel_height: 360,
        columns: 1 + joints.len(),
        view: style.view,
        heat: HeatScale { maximum: Some(1.0), label: "share of the vertex's weight".to_string() },
        ..PictureParams::default()
    };
    draw_panels(style.painter, mesh, &panels, &params)
}

/// Joints by how much of their weight came or went, most first; at least one.
fn most_changed(solved: &SolvedWeights, input: &Rig) -> Vec<u32> {
    let mut change = vec![0.0f64; input.skeleton().joint_count()];
    for vertex in 0..input.vertex_count() {
        let (old, new) = (input.weights().of(vertex), solved.rig.weights().of(vertex));
        for &Influence { joint, .. } in old.iter().chain(new) {
            let [old, new] = [old, new].map(|list| f64::from(weight_of(list, joint)));
            change[joint as usize] += (old - new).abs();
        }
    }
    let mut order: Vec<u32> = (0..change.len() as u32).collect();
    order.sort_by(|&a, &b| change[b as usize].total_cmp(&change[a as usize]).then(a.cmp(&b)));
    order.truncate(DRAWN);
    order
}

fn weight_of(influences: &[Influence], joint: u32) -> f32 {
    influences.iter().find(|influence| influence.joint == joint).map_or(0.0, |influence| influence.weight)
}
