//! What more or fewer signals and frames would do, for the report.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_fit::method::{Fit, FitError, Method, ParameterizationParams, fit_examples};
use eigenskin_fit::metrics::{Evaluation, evaluate_against};
use eigenskin_report::page::{FramesTrial, SignalsSummary, SignalsTrial, counted};

/// Limits of signals at a vertex that are tried, and that of the model.
const LIMITS: [usize; 8] = [1, 2, 4, 6, 8, 12, 16, 24];
/// Steps between frames that are tried.
const STEPS: [usize; 3] = [2, 4, 8];
/// Fewer frames are not worth a fit.
const LEAST_FRAMES: usize = 4;
/// Beyond this the fits would take longer than a few seconds. Not measured by a clock, so that the same input
/// gives the same page.
const MOST_WORK: usize = 15_000_000;

/// What the report tells of a fit to `set`, `evaluation` being its errors on `measured`: the same
/// examples on the rig as it was given.
pub fn signals_summary(
    fit: &Fit,
    params: &ParameterizationParams,
    [set, measured]: [&ExampleSet; 2],
    evaluation: &Evaluation,
    progress: &dyn Progress,
) -> Result<SignalsSummary, Cancelled> {
    let base = fit.model.base();
    let without_trials = why_not(base, set);
    let (by_signals, by_frames) = if without_trials.is_empty() {
        (
            by_signals(fit, params, [set, measured], evaluation, progress)?,
            by_frames(params, base, [set, measured], progress)?,
        )
    } else {
        (Vec::new(), Vec::new())
    };
    Ok(SignalsSummary { by_signals, by_frames, without_trials })
}

/// The reason to try nothing; empty where there is none.
fn why_not(base: &Base, set: &ExampleSet) -> String {
    let vertices = set.rig().vertex_count();
    if base.skinning().is_none() {
        return "Other numbers of signals and frames were not tried: through deformers it takes too long."
            .to_string();
    }
    if work(vertices, set.len()) > MOST_WORK {
        let step = step_that_is_quick(vertices, set.len());
        let advice = if set.len() / step < LEAST_FRAMES {
            String::new()
        } else {
            format!(" One frame in {step} would be few enough.")
        };
        return format!(
            "Other numbers of signals and frames were not tried: with {} in {} it takes too long.{advice}",
            counted(vertices, "vertex", "vertices"),
            counted(set.len(), "frame", "frames"),
        );
    }
    String::new()
}

/// What a fit costs: components take vertices times squared frames, drivers cubed frames.
fn work(vertices: usize, frames: usize) -> usize {
    frames.saturating_mul(8).saturating_add(vertices).saturating_mul(frames.saturating_mul(frames))
}

/// The smallest step between frames that leaves few enough.
fn step_that_is_quick(vertices: usize, frames: usize) -> usize {
    let quick = |step: &usize| work(vertices, frames.div_ceil(*step)) <= MOST_WORK;
    (2..frames.max(3)).find(quick).unwrap_or(frames.max(3))
}

/// What is left on frames not seen.
fn unseen(fit: &Fit) -> Option<f64> {
    fit.learnt.parameterization().and_then(|learnt| learnt.cross_validation)
}

/// Fits with other limits; that of the model is the model.
fn by_signals(
    fit: &Fit,
    params: &ParameterizationParams,
    [set, measured]: [&ExampleSet; 2],
    evaluation: &Evaluation,
    progress: &dyn Progress,
) -> Result<Vec<SignalsTrial>, Cancelled> {
    let reached = fit.model.most_components_per_vertex();
    let own = params.signals_per_vertex.map_or(reached, |limit| limit.min(reached));
    let mut trials = vec![SignalsTrial {
        signals: own,
        is_this_model: true,
        training: evaluation.relative_error,
        unseen: unseen(fit),
    }];
    // There are no more components than frames, and a limit for the whole skin stays.
    let end = if params.most_signals.is_some() { own } else { set.len() };
    for limit in LIMITS.into_iter().filter(|&limit| limit != own && limit < end) {
        let params = ParameterizationParams { signals_per_vertex: Some(limit), ..params.clone() };
        let Some(fit) = tried(set, fit.model.base(), params, progress)? else { continue };
        trials.push(SignalsTrial {
            signals: limit,
            is_this_model: false,
            unseen: unseen(&fit),
            training: relative_error(fit.model, measured, progress)?,
        });
    }
    trials.sort_by_key(|trial| trial.signals);
    Ok(trials)
}

/// Fits to every second, fourth and eighth frame, all measured on the frames between the second ones.
fn by_frames(
    params: &ParameterizationParams,
    base: &Base,
    [set, measured]: [&ExampleSet; 2],
    progress: &dyn Progress,
) -> Result<Vec<FramesTrial>, Cancelled> {
    let every = |first: usize, step: usize| -> Vec<usize> { (first..set.len()).step_by(step).collect() };
    let Ok(unseen) = measured.select(&every(1, STEPS[0])) else { return Ok(Vec::new()) };
    let mut trials = Vec::new();
    for step in STEPS.into_iter().filter(|&step| set.len().div_ceil(step) >= LEAST_FRAMES) {
        let frames = every(0, step);
        let (Ok(seen), Ok(seen_as_given)) = (set.select(&frames), measured.select(&frames)) else { continue };
        let Some(fit) = tried(&seen, base, params.clone(), progress)? else { continue };
        trials.push(FramesTrial {
            every: step,
            frames: seen.len(),
            training: relative_error(fit.model.clone(), &seen_as_given, progress)?,
            unseen: relative_error(fit.model, &unseen, progress)?,
        });
    }
    Ok(trials)
}

/// A fit, if these examples allow one.
fn tried(
    set: &ExampleSet,
    base: &Base,
    params: ParameterizationParams,
    progress: &dyn Progress,
) -> Result<Option<Fit>, Cancelled> {
    match fit_examples(set, base, &Method::Parameterization(params), progress) {
        Ok(fit) => Ok(Some(fit)),
        Err(FitError::Cancelled(cancelled)) => Err(cancelled),
        Err(_) => Ok(None),
    }
}

fn relative_error(model: Model, set: &ExampleSet, progress: &dyn Progress) -> Result<Option<f64>, Cancelled> {
    Ok(evaluate_against(&Arc::new(model), set, progress)?.relative_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_that_is_told_is_the_smallest_that_is_quick() {
        for (vertices, frames) in [(754, 400), (20, 3000), (60_000, 90), (5_000_000, 40)] {
            let step = step_that_is_quick(vertices, frames);
            let enough = |step: usize| work(vertices, frames.div_ceil(step)) <= MOST_WORK;
            assert!(enough(step) || step == frames, "{vertices} × {frames}: {step}");
            assert!(!enough(step - 1), "{vertices} × {frames}: {step}");
        }
        assert_eq!(work(usize::MAX, 2), usize::MAX, "no overflow");
    }
}
