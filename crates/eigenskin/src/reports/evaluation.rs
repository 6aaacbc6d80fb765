//! The page of an evaluation.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::Progress;
use eigenskin_fit::metrics::Evaluation;
use eigenskin_gltf::SimulationRecord;
use eigenskin_report::page::{MeasuredSet, Report, SetKind};

use super::{PageStyle, ReportError, measured, methods_side_by_side, simulation_of, worst_poses};

/// Poses drawn with the largest errors.
const WORST_SHOWN: usize = 3;

/// A model measured against true shapes.
#[derive(Debug, Clone)]
pub struct EvaluationPage<'a> {
    /// what the model is called
    pub model_name: String,
    /// what the true shapes are called
    pub truth_name: String,
    /// the model
    pub model: &'a Arc<Model>,
    /// the true shapes
    pub truth: &'a ExampleSet,
    /// the errors
    pub evaluation: &'a Evaluation,
    /// how the true shapes were simulated
    pub simulation: Option<&'a SimulationRecord>,
}

/// A model against true shapes, beside plain skinning.
pub fn evaluation_report<'a>(
    page: &EvaluationPage<'a>,
    style: &PageStyle,
    progress: &dyn Progress,
) -> Result<Report<'a>, ReportError> {
    let painter = style.watched_by(progress);
    let style = &style.painted_by(&painter);
    let &EvaluationPage { model, truth, evaluation, simulation, .. } = page;
    let set =
        MeasuredSet { truth: Some(truth), ..measured(page.truth_name.clone(), SetKind::Given, evaluation) };
    progress.doing("drawing")?;
    let pictures = worst_poses(model, &set, WORST_SHOWN, style)?;
    Ok(Report {
        title: format!("{} against {}", page.model_name, page.truth_name),
        notes: Vec::new(),
        unit: style.unit.clone(),
        model,
        fit: None,
        signals: None,
        sets: vec![set],
        methods: methods_side_by_side(None, &[truth], false, progress)?.methods,
        unmeasured: Vec::new(),
        written: None,
        simulation: simulation.map(|record| simulation_of("simulated", record)),
        pictures,
    })
}
