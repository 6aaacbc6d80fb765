//! The page of a fit.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::Progress;
use eigenskin_fit::method::{
    EigenSkinFit, EigenSkinParams, ParameterizationFit, ParameterizationParams, PsdFit, PsdParams,
};
use eigenskin_fit::metrics::Evaluation;
use eigenskin_fit::solve_weights::SolvedWeights;
use eigenskin_gltf::SimulationRecord;
use eigenskin_report::page::{
    MeasuredSet, Report, SetKind, WrittenFile, eigendisplacement_pictures, invertibility_pictures,
    partition_pictures,
};

use super::{
    Methods, PageStyle, ReportError, SameFooting, measured, methods_side_by_side, signals_summary,
    simulation_of, weights_sentence, worst_poses,
};

/// Poses drawn with the largest errors.
const WORST_SHOWN: usize = 2;

/// A fit, and what it was made from.
#[derive(Debug, Clone)]
pub struct FitPage<'a> {
    /// heading, usually the name of the rig
    pub title: String,
    /// what the examples are called
    pub examples_name: String,
    /// more to say, a sentence each
    pub notes: Vec<String>,
    /// what was learnt
    pub learnt: Learnt<'a>,
    /// the examples on the rig as it was given
    pub examples: &'a ExampleSet,
    /// the same with the skin weights that the model has
    pub learnt_from: &'a ExampleSet,
    /// skin weights that were solved first
    pub weights: Option<&'a SolvedWeights>,
    /// how EigenSkin would learn on the same footing
    pub eigenskin: &'a EigenSkinParams,
    /// how pose space deformation would learn on the same footing
    pub psd: &'a PsdParams,
    /// errors on the examples
    pub training: &'a Evaluation,
    /// errors on each example, left out in turn
    pub left_out: Option<&'a Evaluation>,
    /// what was written
    pub written: Option<WrittenFile>,
    /// how the examples were simulated
    pub simulation: Option<&'a SimulationRecord>,
}

/// What was learnt, by whatever method.
#[derive(Debug, Clone, Copy)]
pub enum Learnt<'a> {
    /// components per joint
    EigenSkin(&'a EigenSkinFit),
    /// one field per example, weighted or not
    Psd(&'a PsdFit),
    /// signals per part of the skin
    Parameterization {
        /// what was learnt
        fit: &'a ParameterizationFit,
        /// how, to try other numbers of signals and frames
        params: &'a ParameterizationParams,
        /// most signals in all
        most: Option<usize>,
    },
}

impl<'a> Learnt<'a> {
    /// The model.
    pub fn model(self) -> &'a Model {
        match self {
            Self::EigenSkin(fit) => &fit.model,
            Self::Psd(fit) => &fit.model,
            Self::Parameterization { fit, .. } => &fit.model,
        }
    }
}

/// What a model has learnt, beside what other methods learn from the same examples.
pub fn fit_report<'a>(
    page: &FitPage<'a>,
    style: &PageStyle,
    progress: &dyn Progress,
) -> Result<Report<'a>, ReportError> {
    let &FitPage { learnt, examples, learnt_from, training, left_out, .. } = page;
    let model = learnt.model();
    let mut sets =
        vec![MeasuredSet { truth: Some(examples), ..measured("training", SetKind::Training, training) }];
    sets.extend(left_out.map(|evaluation| measured("left out", SetKind::LeftOut, evaluation)));

    progress.doing("drawing")?;
    let mut pictures = worst_poses(&Arc::new(model.clone()), &sets[0], WORST_SHOWN, style)?;
    let (mut fit, mut psd, mut signals) = (None, None, None);
    match learnt {
        Learnt::EigenSkin(learnt) => {
            pictures.extend(eigendisplacement_pictures(model, &learnt.joints, style.shot(), &style.unit)?);
            fit = Some(learnt);
        }
        Learnt::Psd(learnt) => psd = Some(learnt),
        Learnt::Parameterization { fit, params, most } => {
            pictures.extend(partition_pictures(fit, style.shot())?);
            let sets = [learnt_from, examples];
            signals = Some(signals_summary(fit, params, most, sets, training, progress)?);
        }
    }
    // None for chains of deformers, whose poses are probed one by one.
    if let Some(skinning) = model.base().skinning() {
        progress.doing("drawing")?;
        pictures.push(invertibility_pictures(learnt_from, skinning, style.shot())?);
    }
    let footing = SameFooting { training: examples, eigenskin: page.eigenskin, psd: page.psd };
    let Methods { methods, unmeasured } =
        methods_side_by_side(Some(footing), &[examples], left_out.is_some(), progress)?;
    let weights = page.weights.map(|solved| format!("Skin weights: {}.", weights_sentence(solved)));
    Ok(Report {
        title: page.title.clone(),
        notes: [format!("Learnt from {}.", page.examples_name)]
            .into_iter()
            .chain(weights)
            .chain(page.notes.iter().cloned())
            .collect(),
        unit: style.unit.clone(),
        model,
        fit,
        psd,
        signals,
        sets,
        methods,
        unmeasured,
        written: page.written.clone(),
        simulation: page.simulation.map(|record| simulation_of("training", record)),
        pictures,
    })
}
