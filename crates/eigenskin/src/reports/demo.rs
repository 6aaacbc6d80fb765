//! The page of the demo: a hand that was simulated, fitted and tested.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Progress;
use eigenskin_fit::method::{EigenSkinParams, Fit, PsdParams};
use eigenskin_fit::metrics::Evaluation;
use eigenskin_gltf::SimulationRecord;
use eigenskin_report::page::{
    MeasuredSet, Report, SetKind, SimulatedSet, SimulationSummary, WrittenFile, eigendisplacement_pictures,
};

use super::{Methods, PageStyle, ReportError, SameFooting, measured, methods_side_by_side, worst_poses};

/// A fit to simulated poses, and how far it is from them.
#[derive(Debug, Clone)]
pub struct DemoPage<'a> {
    /// what was learnt
    pub fit: &'a Fit,
    /// learnt from
    pub training: DemoSet<'a>,
    /// held out, one joint moves
    pub one_joint: DemoSet<'a>,
    /// held out, many joints move
    pub many_joints: DemoSet<'a>,
    /// what all of the simulation took
    pub seconds: f64,
    /// what was written
    pub written: WrittenFile,
}

/// Poses, how they were simulated, and how far the model is from them.
#[derive(Debug, Clone, Copy)]
pub struct DemoSet<'a> {
    /// the poses
    pub poses: &'a ExampleSet,
    /// how they were simulated
    pub record: &'a SimulationRecord,
    /// the errors
    pub evaluation: &'a Evaluation,
}

/// What the demo did.
pub fn demo_report<'a>(
    page: &DemoPage<'a>,
    style: &PageStyle,
    progress: &dyn Progress,
) -> Result<Report<'a>, ReportError> {
    let painter = style.watched_by(progress);
    let style = &style.painted_by(&painter);
    let fit = page.fit;
    let sets = [
        (page.training, "training", SetKind::Training, ""),
        (page.one_joint, "held out, one joint", SetKind::HeldOut, "when one joint moves"),
        (page.many_joints, "held out, many joints", SetKind::HeldOut, "when many joints move at once"),
    ];
    let [training, one_joint, many_joints] = sets.map(|(set, name, kind, when)| MeasuredSet {
        when: when.to_string(),
        truth: Some(set.poses),
        ..measured(name, kind, set.evaluation)
    });
    let simulated = sets.map(|(set, name, ..)| SimulatedSet { name: name.to_string(), record: set.record });
    progress.doing("drawing")?;
    let model = Arc::new(fit.model.clone());
    let mut pictures = worst_poses(&model, &many_joints, 2, style)?;
    pictures.extend(worst_poses(&model, &one_joint, 1, style)?);
    if let Some(learnt) = fit.learnt.eigenskin() {
        pictures.extend(eigendisplacement_pictures(&fit.model, &learnt.joints, style.shot(), &style.unit)?);
    }
    let (eigenskin, psd) = (EigenSkinParams::default(), PsdParams::default());
    let (training_poses, base) = (page.training.poses, fit.model.base().closed_form());
    let footing = SameFooting { training: training_poses, base, eigenskin: &eigenskin, psd: &psd };
    let Methods { methods, unmeasured } =
        methods_side_by_side(Some(footing), &sets.map(|(set, ..)| set.poses), false, progress)?;
    Ok(Report {
        title: "A hand that bends".to_string(),
        notes: vec!["The hand is built in; its true shapes are simulated soft tissue.".to_string()],
        unit: style.unit.clone(),
        model: &fit.model,
        fit: Some(fit),
        signals: None,
        sets: vec![training, one_joint, many_joints],
        methods,
        unmeasured,
        written: Some(page.written.clone()),
        simulation: Some(SimulationSummary { seconds: Some(page.seconds), sets: simulated.into() }),
        pictures,
    })
}
