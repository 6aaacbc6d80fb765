//! Choosing a method: what predicts left-out examples best.
//!
//! 1. Every method is tried on the same folds, on equal terms: none may move a vertex by more components than
//!    another.
//! 2. Kernels, smoothing and budgets of the best one are tried after that; each must pay.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::driver::Kernel;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::progress::Progress;
use serde::{Serialize, Serializer};

use super::{
    EigenSkinParams, FitError, Method, ParameterizationParams, PatchesParams, PsdParams, fit, fit_examples,
};
use crate::displacements::Observations;
use crate::drivers::{KernelChoice, Smoothing};
use crate::during::During;
use crate::metrics::evaluate_against;

/// A method, and what else was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// how to learn
    pub method: Method,
    /// components in all, where that was limited
    pub most_components: Option<usize>,
    /// parts that examples were left out in
    pub folds: usize,
    /// the one that was chosen, by its place among the trials
    pub chosen: usize,
    /// all that were tried, in their order
    pub tried: Vec<Trial>,
    /// methods that could not learn from these examples, and why
    pub refused: Vec<(Candidate, FitError)>,
}

/// A way to learn, and how it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// which one
    pub candidate: Candidate,
    /// ‖model − truth‖ / ‖plain skinning − truth‖ over all examples, each against a model that was learnt
    /// without it
    pub left_out_error: f64,
    /// the share of the least error so far that it had to stay below to be taken
    pub needed: f64,
}

/// A way to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// the method, by its name in settings
    pub method: &'static str,
    /// what differs from the method as it was asked for
    pub refinement: Option<Refinement>,
}

/// What is tried of the best method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refinement {
    /// another kernel
    Kernel(Kernel),
    /// smoothing
    Smoothing(f64),
    /// another limit per vertex
    PerVertex(usize),
}

impl Candidate {
    /// In a few words.
    pub fn name(&self) -> String {
        let refinement = match self.refinement {
            None => String::new(),
            Some(Refinement::Kernel(kernel)) => format!(", {} kernel", kernel.name()),
            Some(Refinement::Smoothing(smoothing)) => format!(", smoothing {smoothing}"),
            Some(Refinement::PerVertex(limit)) => format!(", {limit} per vertex"),
        };
        format!("{}{refinement}", self.method)
    }
}

impl Choice {
    /// The error of the one that was chosen.
    pub fn left_out_error(&self) -> f64 {
        self.tried[self.chosen].left_out_error
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Tried {
            name: String,
            left_out_error: f64,
        }
        #[derive(Serialize)]
        struct Told {
            chosen: String,
            folds: usize,
            left_out_error: f64,
            tried: Vec<Tried>,
        }
        let tried =
            |trial: &Trial| Tried { name: trial.candidate.name(), left_out_error: trial.left_out_error };
        let told = Told {
            chosen: self.tried[self.chosen].candidate.name(),
            folds: self.folds,
            left_out_error: self.left_out_error(),
            tried: self.tried.iter().map(tried).collect(),
        };
        told.serialize(serializer)
    }
}

/// Parts that examples are left out in.
const FOLDS: usize = 4;
/// A kernel or smoothing other than the default must lower the error to this share.
const PAYS: f64 = 0.97;
/// A smaller budget may raise the error to this share.
const AS_GOOD: f64 = 1.02;
/// A larger one must lower it to this share.
const MUCH_BETTER: f64 = 0.9;

/// Tries methods, then kernels, smoothing and (unless `budget_is_given`) budgets of the best one. `start` is
/// how EigenSkin would learn; its limit per vertex and its normals hold for the others too.
///
/// ```
/// use eigenskin_core::{deformers::Base, progress::Unwatched};
/// use eigenskin_fit::method::{EigenSkinParams, choose_method, fit_examples};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let base = Base::default();
/// let choice = choose_method(&examples, &base, &EigenSkinParams::default(), false, &Unwatched)?;
/// println!("{}: {:.3}", choice.tried[choice.chosen].candidate.name(), choice.left_out_error());
/// let fit = fit_examples(&examples, &base, &choice.method, &Unwatched)?;
/// # Ok::<(), eigenskin_fit::method::FitError>(())
/// ```
pub fn choose_method(
    set: &ExampleSet,
    base: &Base,
    start: &EigenSkinParams,
    budget_is_given: bool,
    progress: &dyn Progress,
) -> Result<Choice, FitError> {
    let progress = &During::new(progress, "trying methods");
    let folds = folds(set);
    if folds.len() < 2 {
        return Err(FitError::NothingToLeaveOut { examples: set.len() });
    }
    let (mut tried, mut refused): (Vec<Trial>, Vec<(Candidate, FitError)>) = (Vec::new(), Vec::new());
    let mut best: Option<(Attempt, usize)> = None;
    let least = |tried: &[Trial], best: &Option<(Attempt, usize)>| {
        best.as_ref().map_or(f64::INFINITY, |(_, place)| tried[*place].left_out_error)
    };
    for attempt in methods(set, base, start, progress)? {
        match attempt.left_out_error(set, base, &folds, progress) {
            Ok(left_out_error) => {
                if left_out_error < least(&tried, &best) {
                    best = Some((attempt.clone(), tried.len()));
                }
                tried.push(Trial { candidate: attempt.candidate, left_out_error, needed: 1.0 });
            }
            Err(FitError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(error) => refused.push((attempt.candidate, error)),
        }
    }
    let Some((mut attempt, mut chosen)) = best else {
        let last = refused.pop().map(|(_, error)| error);
        return Err(last.unwrap_or(FitError::NothingMoves));
    };
    for (next, needed) in refinements(&attempt, budget_is_given) {
        match next.left_out_error(set, base, &folds, progress) {
            Ok(left_out_error) => {
                let is_taken = left_out_error < needed * tried[chosen].left_out_error;
                tried.push(Trial { candidate: next.candidate.clone(), left_out_error, needed });
                if is_taken {
                    (attempt, chosen) = (next, tried.len() - 1);
                }
            }
            Err(FitError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(error) => refused.push((next.candidate, error)),
        }
    }
    let Attempt { method, most_components, .. } = attempt;
    Ok(Choice { method, most_components, folds: folds.len(), chosen, tried, refused })
}

/// A candidate with its settings.
#[derive(Clone)]
struct Attempt {
    candidate: Candidate,
    method: Method,
    most_components: Option<usize>,
}

impl Attempt {
    fn new(method: Method) -> Self {
        let candidate = Candidate { method: method.name(), refinement: None };
        Self { candidate, method, most_components: None }
    }

    /// ‖model − truth‖ / ‖plain skinning − truth‖ over all examples, each against a model that was learnt
    /// without it.
    fn left_out_error(
        &self,
        set: &ExampleSet,
        base: &Base,
        folds: &[Vec<usize>],
        progress: &dyn Progress,
    ) -> Result<f64, FitError> {
        let (mut of_model, mut of_skinning) = (0.0, 0.0);
        for fold in folds {
            let others: Vec<usize> = (0..set.len()).filter(|example| !fold.contains(example)).collect();
            let others = set.select(&others)?;
            let method = self.method.for_examples(&others);
            let seen = Observations::of(&others, base, method.allows_compromise(), progress)?;
            let model = fit(&seen, &method, self.most_components, progress)?.model;
            let measured = evaluate_against(&Arc::new(model), &set.select(fold)?, progress)?;
            let poses = fold.len() as f64;
            of_model += poses * measured.model.rmse.powi(2);
            of_skinning += poses * measured.skinning.rmse.powi(2);
        }
        Ok(if of_skinning > 0.0 { (of_model / of_skinning).sqrt() } else { 0.0 })
    }
}

/// The methods to try; a further one is a further attempt.
fn methods(
    set: &ExampleSet,
    base: &Base,
    start: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<Vec<Attempt>, FitError> {
    let together = moved(set).iter().any(|movers| movers.len() > 1);
    let default = PatchesParams::default();
    let patches = PatchesParams {
        per_vertex: start.budget.per_vertex.unwrap_or(default.per_vertex),
        normals: start.normals,
        ..default
    };
    let mut attempts =
        vec![Attempt::new(Method::EigenSkin(start.clone())), Attempt::new(Method::Patches(patches))];
    if together {
        let params = ParameterizationParams {
            signals_per_vertex: start.budget.per_vertex,
            normals: start.normals,
            ..ParameterizationParams::default()
        };
        attempts.push(Attempt::new(Method::Parameterization(params)));
    }
    // Pose space deformation has a field per example, and most reach far: on equal terms, it may not
    // carry more at any vertex.
    let most = fit_examples(set, base, &attempts[0].method, progress)?.model.component_count();
    let most_components = (set.len() > most).then_some(most.max(1));
    let limit = start.budget.per_vertex.unwrap_or(usize::MAX);
    let psd = PsdParams { normals: start.normals, ..PsdParams::default() };
    let psd = Attempt { most_components, ..Attempt::new(Method::Psd(psd)) };
    let seen = Observations::of(set, base, psd.method.allows_compromise(), progress);
    let fitted =
        seen.map_err(FitError::from).and_then(|seen| fit(&seen, &psd.method, most_components, progress));
    match fitted {
        Ok(fit) if fit.model.most_components_per_vertex() <= limit => attempts.push(psd),
        Err(FitError::Cancelled(cancelled)) => return Err(cancelled.into()),
        Ok(_) | Err(_) => {}
    }
    Ok(attempts)
}

/// Variants of the method that was best, and the share of its error that each must stay below.
fn refinements(best: &Attempt, budget_is_given: bool) -> Vec<(Attempt, f64)> {
    let Method::EigenSkin(params) = &best.method else { return Vec::new() };
    let variant = |refinement: Refinement, change: &dyn Fn(&mut EigenSkinParams)| {
        let mut params = params.clone();
        change(&mut params);
        let candidate = Candidate { refinement: Some(refinement), ..best.candidate.clone() };
        Attempt { candidate, method: Method::EigenSkin(params), ..best.clone() }
    };
    let mut found = Vec::new();
    for kernel in [Kernel::Exponential, Kernel::InverseMultiquadric] {
        if params.interpolation.kernel == KernelChoice::Automatic {
            let next =
                variant(Refinement::Kernel(kernel), &|params| params.interpolation.kernel = kernel.into());
            found.push((next, PAYS));
        }
    }
    if params.interpolation.smoothing == Smoothing::Automatic {
        let smoothing = 0.01;
        let next = variant(Refinement::Smoothing(smoothing), &|params| {
            params.interpolation.smoothing = Smoothing::Fixed(smoothing);
        });
        found.push((next, PAYS));
    }
    if let Some(limit) = params.budget.per_vertex.filter(|_| !budget_is_given) {
        for (limit, share) in [(limit * 6 / 10, AS_GOOD), (limit * 2, MUCH_BETTER)] {
            let change = |params: &mut EigenSkinParams| params.budget.per_vertex = Some(limit);
            found.push((variant(Refinement::PerVertex(limit), &change), share));
        }
    }
    found
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
