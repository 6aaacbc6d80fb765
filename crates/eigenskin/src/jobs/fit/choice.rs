//! The method that predicts left-out examples best.

use std::sync::Arc;

use eigenskin_core::driver::Kernel;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::progress::Progress;
use eigenskin_fit::drivers::Ridge;
use eigenskin_fit::method::{Coupling, EigenSkinParams, ParameterizationParams};
use eigenskin_fit::metrics::evaluate_against;
use serde::Serialize;

use super::FitJobError;
use super::method::{LearnError, Method};

/// What was chosen, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodChoice {
    /// name of what was chosen, as in `tried`
    pub chosen: String,
    /// parts that examples were left out in, in turn
    pub folds: usize,
    /// ‖model − truth‖ / ‖skinning − truth‖ over all examples, each against a model learnt without it
    pub left_out_error: f64,
    /// all that was tried, in order
    pub tried: Vec<Tried>,
    /// how to learn
    #[serde(skip)]
    pub method: Method,
    /// displacement fields in all, where that was limited
    #[serde(skip)]
    pub most: Option<usize>,
}

/// A way to learn that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// for people
    pub name: String,
    /// as [`MethodChoice::left_out_error`]
    pub left_out_error: f64,
}

/// A way to learn that is tried.
struct Candidate {
    name: String,
    method: Method,
    /// displacement fields in all
    most: Option<usize>,
}

/// Parts that examples are left out in.
const FOLDS: usize = 4;
/// A kernel or ridge other than the default must lower the error to this share.
const PAYS: f64 = 0.97;
/// A smaller budget may raise the error to this share.
const AS_GOOD: f64 = 1.02;
/// A larger one must lower it to this share.
const MUCH_BETTER: f64 = 0.9;

/// Tries methods, then kernels, ridges and smaller budgets of the best one. `start` is what is wanted of
/// EigenSkin; a budget that is given stays.
pub(super) fn choose(
    set: &ExampleSet,
    start: &EigenSkinParams,
    budget_is_given: bool,
    progress: &dyn Progress,
) -> Result<MethodChoice, FitJobError> {
    let folds = folds(set);
    if folds.len() < 2 {
        return Err(FitJobError::TooFewToLeaveOut);
    }
    let mut tried: Vec<Tried> = Vec::new();
    let mut best: Option<(Candidate, f64)> = None;
    let mut refused = None;
    for candidate in methods(set, start)? {
        match left_out_error(set, &folds, &candidate, progress) {
            Ok(error) => {
                tried.push(Tried { name: candidate.name.clone(), left_out_error: error });
                if best.as_ref().is_none_or(|(_, least)| error < *least) {
                    best = Some((candidate, error));
                }
            }
            Err(FitJobError::Cancelled(error)) => return Err(error.into()),
            Err(error) => refused = Some(error),
        }
    }
    let Some((mut best, mut least)) = best else {
        return Err(refused.unwrap_or(FitJobError::NoMethod));
    };
    for (candidate, share) in refinements(&best, budget_is_given) {
        let error = match left_out_error(set, &folds, &candidate, progress) {
            Ok(error) => error,
            Err(FitJobError::Cancelled(error)) => return Err(error.into()),
            Err(_) => continue,
        };
        tried.push(Tried { name: candidate.name.clone(), left_out_error: error });
        if error < share * least {
            (best, least) = (candidate, error);
        }
    }
    Ok(MethodChoice {
        chosen: best.name,
        folds: folds.len(),
        left_out_error: least,
        tried,
        method: best.method,
        most: best.most,
    })
}

/// The methods to try; a further one is a further candidate.
fn methods(set: &ExampleSet, start: &EigenSkinParams) -> Result<Vec<Candidate>, LearnError> {
    let together = moved(set).iter().any(|movers| movers.len() > 1);
    let eigenskin = |name: &str, coupling| Candidate {
        name: name.to_string(),
        method: Method::EigenSkin(EigenSkinParams { coupling, ..start.clone() }),
        most: None,
    };
    let mut candidates = vec![eigenskin("eigenskin", Coupling::None)];
    if together && start.coupling != Coupling::None {
        let coupled = if start.coupling == Coupling::Additive { Coupling::Additive } else { Coupling::Pairs };
        candidates.push(eigenskin("eigenskin with coupled joints", coupled));
    }
    if together {
        let params = ParameterizationParams {
            base: start.base.clone(),
            signals_per_vertex: start.budget.per_vertex,
            normals: start.normals,
            ..ParameterizationParams::default()
        };
        let method = Method::Parameterization(params);
        candidates.push(Candidate { name: "parameterization".to_string(), method, most: None });
    }
    // Pose space deformation has a field per example, and most reach far: on equal terms, it may not
    // carry more at any vertex.
    let method = Method::Psd(candidates[0].method.psd());
    let most = candidates[0].method.fit(set, None)?.model().component_count();
    let most = (set.len() > most).then_some(most.max(1));
    let limit = start.budget.per_vertex.unwrap_or(usize::MAX);
    if let Ok(fit) = method.fit(set, most)
        && fit.model().most_tuples_per_vertex() <= limit
    {
        candidates.push(Candidate { name: "psd".to_string(), method, most });
    }
    Ok(candidates)
}

/// Variants of the method that was best, and the share of its error that each must stay below.
fn refinements(best: &Candidate, budget_is_given: bool) -> Vec<(Candidate, f64)> {
    let Method::EigenSkin(params) = &best.method else { return Vec::new() };
    let variant = |what: String, params: EigenSkinParams| Candidate {
        name: format!("{}, {what}", best.name),
        method: Method::EigenSkin(params),
        most: best.most,
    };
    let mut found = Vec::new();
    for kernel in [Kernel::Exponential, Kernel::InverseMultiquadric] {
        if params.interpolation.kernel == Kernel::Gaussian {
            let mut params = params.clone();
            params.interpolation.kernel = kernel;
            found.push((variant(format!("{} kernel", kernel.name()), params), PAYS));
        }
    }
    if params.coupling == Coupling::None && params.interpolation.ridge == Ridge::Automatic {
        let mut params = params.clone();
        params.interpolation.ridge = Ridge::Fixed(0.01);
        found.push((variant("ridge 0.01".to_string(), params), PAYS));
    }
    if let Some(limit) = params.budget.per_vertex.filter(|_| !budget_is_given) {
        for (limit, share) in [(limit * 6 / 10, AS_GOOD), (limit * 2, MUCH_BETTER)] {
            let mut params = params.clone();
            params.budget.per_vertex = Some(limit);
            found.push((variant(format!("{limit} per vertex"), params), share));
        }
    }
    found
}

fn left_out_error(
    set: &ExampleSet,
    folds: &[Vec<usize>],
    candidate: &Candidate,
    progress: &dyn Progress,
) -> Result<f64, FitJobError> {
    let (mut of_model, mut of_skinning) = (0.0, 0.0);
    for fold in folds {
        progress.doing(&format!("trying {}", candidate.name))?;
        let others: Vec<usize> = (0..set.len()).filter(|example| !fold.contains(example)).collect();
        let others = set.select(&others)?;
        let model = candidate.method.for_examples(&others).fit(&others, candidate.most)?.into_model();
        let measured = evaluate_against(&Arc::new(model), &set.select(fold)?);
        let poses = fold.len() as f64;
        of_model += poses * measured.model.rmse.powi(2);
        of_skinning += poses * measured.skinning.rmse.powi(2);
    }
    Ok(if of_skinning > 0.0 { (of_model / of_skinning).sqrt() } else { 0.0 })
}

fn moved(set: &ExampleSet) -> Vec<Vec<usize>> {
    let poses = set.examples().iter().map(|example| &example.pose);
    moved_by_poses(set.rig(), poses, &Mover::all(set.rig()))
}

/// Every example is left out once; those that move many joints are spread evenly.
fn folds(set: &ExampleSet) -> Vec<Vec<usize>> {
    let moved = moved(set);
    let mut order: Vec<usize> = (0..set.len()).collect();
    order.sort_by_key(|&example| std::cmp::Reverse(moved[example].len()));
    let mut folds = vec![Vec::new(); FOLDS.min(set.len())];
    let count = folds.len();
    for (place, example) in order.into_iter().enumerate() {
        folds[place % count].push(example);
    }
    folds
}
