//! The page of a fit.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Progress;
use eigenskin_fit::method::{EigenSkinParams, Learnt, Method, ParameterizationParams, PsdParams};
use eigenskin_gltf::SimulationRecord;
use eigenskin_report::page::{
    MeasuredSet, Report, SetKind, WrittenFile, eigendisplacement_pictures, invertibility_pictures,
    partition_pictures,
};

use super::{
    Methods, PageStyle, ReportError, SameFooting, measured, methods_side_by_side, signals_summary,
    simulation_of, weights_sentence, worst_poses,
};
use crate::jobs::fit::{FitOutcome, Shown};

/// Poses drawn with the largest errors.
const WORST_SHOWN: usize = 2;

/// A fit, and what it was made from.
#[derive(Debug)]
pub struct FitPage<'a> {
    /// heading, usually the name of the rig
    pub title: String,
    /// what the examples are called
    pub examples_name: String,
    /// what was learnt
    pub outcome: &'a FitOutcome,
    /// what was written
    pub written: Option<WrittenFile>,
    /// how the examples were simulated
    pub simulation: Option<&'a SimulationRecord>,
}

/// What a model has learnt, beside what other methods learn from the same examples.
pub fn fit_report<'a>(
    page: &FitPage<'a>,
    style: &PageStyle,
    progress: &dyn Progress,
) -> Result<Report<'a>, ReportError> {
    let painter = style.watched_by(progress);
    let style = &style.painted_by(&painter);
    let outcome = page.outcome;
    let Shown { set: examples, weighted: learnt_from, errors: training } = &outcome.shown;
    let left_out = outcome.left_out.as_ref();
    let model = outcome.model();
    let mut sets =
        vec![MeasuredSet { truth: Some(examples), ..measured("training", SetKind::Training, training) }];
    sets.extend(left_out.map(|evaluation| measured("left out", SetKind::LeftOut, evaluation)));

    progress.doing("drawing")?;
    let mut pictures = worst_poses(&Arc::new(model.clone()), &sets[0], WORST_SHOWN, style)?;
    let mut signals = None;
    match (&outcome.fit.learnt, &outcome.method) {
        (Learnt::EigenSkin(learnt), _) => {
            pictures.extend(eigendisplacement_pictures(model, &learnt.joints, style.shot(), &style.unit)?);
        }
        (Learnt::Parameterization(_), Method::Parameterization(params)) => {
            pictures.extend(partition_pictures(&outcome.fit, style.shot())?);
            let sets: [&ExampleSet; 2] = [learnt_from, examples];
            let most_signals = outcome.most_components.or(params.most_signals);
            let params = ParameterizationParams { most_signals, ..params.clone() };
            signals = Some(signals_summary(&outcome.fit, &params, sets, training, progress)?);
        }
        (Learnt::Psd(_) | Learnt::Parameterization(_) | Learnt::Patches(_), _) => {}
    }
    // None for chains of deformers, whose poses are probed one by one.
    if let Some(skinning) = model.base().skinning() {
        progress.doing("drawing")?;
        pictures.push(invertibility_pictures(learnt_from, skinning, style.shot())?);
    }
    let (eigenskin, psd) = on_the_same_footing(&outcome.method);
    let base = model.base().closed_form();
    let footing = SameFooting { training: examples, base, eigenskin: &eigenskin, psd: &psd };
    let Methods { methods, unmeasured } =
        methods_side_by_side(Some(footing), &[examples], left_out.is_some(), progress)?;
    let weights =
        outcome.solved.as_ref().map(|solved| format!("Skin weights: {}.", weights_sentence(solved)));
    Ok(Report {
        title: page.title.clone(),
        notes: [format!("Learnt from {}.", page.examples_name)]
            .into_iter()
            .chain(weights)
            .chain(outcome.on_disk.map(|_| of_how_many(outcome)))
            .collect(),
        unit: style.unit.clone(),
        model,
        fit: Some(&outcome.fit),
        signals,
        sets,
        methods,
        unmeasured,
        written: page.written.clone(),
        simulation: page.simulation.map(|record| simulation_of("training", record)),
        pictures,
    })
}

/// How EigenSkin and pose space deformation learn beside a method: as it says where it is one of them.
fn on_the_same_footing(method: &Method) -> (EigenSkinParams, PsdParams) {
    match method {
        Method::EigenSkin(params) => (params.clone(), PsdParams::default()),
        Method::Psd(params) => (EigenSkinParams::default(), params.clone()),
        Method::Parameterization(_) | Method::Patches(_) => {
            (EigenSkinParams::default(), PsdParams::default())
        }
    }
}

/// Of shapes on disk only some are shown.
fn of_how_many(outcome: &FitOutcome) -> String {
    let (all, shown) = (outcome.training.poses, outcome.shown.set.len());
    format!("Learnt from {all} poses; shown and measured here are {shown} of them.")
}
