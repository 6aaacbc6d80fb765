//! What more or fewer signals and frames would do, for the report.

use eigenskin::examples::ExampleSet;
use eigenskin::fit::{ParameterizationFit, ParameterizationParams, fit_parameterization};
use eigenskin::metrics::Evaluation;
use eigenskin_report::page::{FramesTrial, SignalsSummary, SignalsTrial};

use super::measure;
use crate::output::counted;

/// Limits of signals at a vertex that are tried, and that of the model.
const LIMITS: [usize; 8] = [1, 2, 4, 6, 8, 12, 16, 24];
/// Steps between frames that are tried.
const STEPS: [usize; 3] = [2, 4, 8];
/// Fewer frames are not worth a fit.
const LEAST_FRAMES: usize = 4;
/// Vertices times squared frames: beyond this the fits would take longer than a few seconds. Not measured by a
/// clock, so that the same input gives the same page.
const MOST_WORK: usize = 20_000_000;

/// What the report tells of a fit, `evaluation` being its errors on `set`.
pub fn summary<'a>(
    fit: &'a ParameterizationFit,
    params: &ParameterizationParams,
    most: Option<usize>,
    set: &ExampleSet,
    evaluation: &Evaluation,
) -> SignalsSummary<'a> {
    let params = ParameterizationParams { most_signals: most.or(params.most_signals), ..params.clone() };
    let without_trials = why_not(&params, set);
    let (by_signals, by_frames) = if without_trials.is_empty() {
        (by_signals(fit, &params, set, evaluation), by_frames(&params, set))
    } else {
        (Vec::new(), Vec::new())
    };
    SignalsSummary { fit, by_signals, by_frames, without_trials }
}

/// The reason to try nothing; empty where there is none.
fn why_not(params: &ParameterizationParams, set: &ExampleSet) -> String {
    let vertices = set.rig().vertex_count();
    if params.base.skinning().is_none() {
        return "Other numbers of signals and frames were not tried: through deformers it takes too long."
            .to_string();
    }
    if vertices.saturating_mul(set.len().saturating_mul(set.len())) > MOST_WORK {
        return format!(
            "Other numbers of signals and frames were not tried: with {} in {} it takes too long. Fewer frames \
             (--frames ::{}) would do.",
            counted(vertices, "vertex", "vertices"),
            counted(set.len(), "frame", "frames"),
            step_that_is_quick(vertices, set.len()),
        );
    }
    String::new()
}

/// The smallest step between frames that leaves few enough.
fn step_that_is_quick(vertices: usize, frames: usize) -> usize {
    let quick = |step: &usize| vertices.saturating_mul(frames.div_ceil(*step).pow(2)) <= MOST_WORK;
    (2..frames.max(3)).find(quick).unwrap_or(frames.max(3))
}

/// Fits with other limits; that of the model is the model.
fn by_signals(
    fit: &ParameterizationFit,
    params: &ParameterizationParams,
    set: &ExampleSet,
    evaluation: &Evaluation,
) -> Vec<SignalsTrial> {
    let own = params.signals_per_vertex.unwrap_or_else(|| fit.model.most_tuples_per_vertex());
    let this_model = SignalsTrial {
        signals: own,
        is_this_model: true,
        training: evaluation.relative_error,
        unseen: fit.cross_validation,
    };
    // There are no more components than frames.
    let others = LIMITS.into_iter().filter(|&limit| limit != own && limit < set.len());
    let tried = others.filter_map(|limit| {
        let params = ParameterizationParams { signals_per_vertex: Some(limit), ..params.clone() };
        let fit = fit_parameterization(set, &params).ok()?;
        Some(SignalsTrial {
            signals: limit,
            is_this_model: false,
            training: measure(&fit.model, set).relative_error,
            unseen: fit.cross_validation,
        })
    });
    let mut trials: Vec<SignalsTrial> = tried.chain([this_model]).collect();
    trials.sort_by_key(|trial| trial.signals);
    trials
}

/// Fits to every second, fourth and eighth frame, all measured on the frames between the second ones.
fn by_frames(params: &ParameterizationParams, set: &ExampleSet) -> Vec<FramesTrial> {
    let every = |first: usize, step: usize| -> Vec<usize> { (first..set.len()).step_by(step).collect() };
    let Ok(unseen) = set.select(&every(1, STEPS[0])) else { return Vec::new() };
    let steps = STEPS.into_iter().filter(|&step| set.len().div_ceil(step) >= LEAST_FRAMES);
    steps
        .filter_map(|step| {
            let seen = set.select(&every(0, step)).ok()?;
            let fit = fit_parameterization(&seen, params).ok()?;
            Some(FramesTrial {
                every: step,
                frames: seen.len(),
                training: measure(&fit.model, &seen).relative_error,
                unseen: measure(&fit.model, &unseen).relative_error,
            })
        })
        .collect()
}
