//! Choosing a method: what predicts left-out examples best.
//!
//! Methods race. Examples are left out in four parts; after each part, methods drop out whose squared error is above
//! the best one's by more than twice the standard error of the difference, pose by pose. Mostly one part is enough.
//! After [`ROUNDS`] parts what is left is within noise, and the least error wins. All methods are on equal terms: none
//! may move a vertex by more components than another.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::progress::Progress;
use serde::Serialize;

use super::{EigenSkinParams, FitError, Method, ParameterizationParams, PatchesParams, PsdParams, fit};
use crate::displacements::Observations;
use crate::during::During;
use crate::metrics::{PoseErrors, evaluate_against};

/// A method, and what else was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// how to learn
    #[serde(skip)]
    pub method: Method,
    /// its name in settings
    pub chosen: &'static str,
    /// all that were tried, in their order
    pub tried: Vec<Trial>,
    /// methods that could not learn from these examples, and why
    #[serde(skip)]
    pub refused: Vec<(&'static str, FitError)>,
}

/// How a method did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// by its name in settings
    #[serde(rename = "name")]
    pub method: &'static str,
    /// ‖model − truth‖ / ‖plain skinning − truth‖ over examples, each against a model that was learnt without it
    pub left_out_error: f64,
    /// standard error of that
    pub standard_error: f64,
    /// how many examples were left out
    pub examples: usize,
}

impl Choice {
    /// How the one that was chosen did.
    pub fn best(&self) -> Option<&Trial> {
        self.tried.iter().find(|trial| trial.method == self.chosen)
    }
}

/// Parts that examples are left out in.
const FOLDS: usize = 4;
/// Parts that are looked at, at most, where there are many examples.
const ROUNDS: usize = 2;
/// With fewer examples all parts are looked at.
const MANY: usize = 24;
/// Standard errors by which a method must be worse to drop out.
const CLEARLY: f64 = 2.0;

/// Tries methods on examples that they have not seen. `start` is how EigenSkin would learn; its limit per vertex and
/// its normals hold for the others too.
///
/// ```
/// use eigenskin_core::{deformers::Base, progress::Unwatched};
/// use eigenskin_fit::method::{EigenSkinParams, choose_method, fit_examples};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let base = Base::default();
/// let choice = choose_method(&examples, &base, &EigenSkinParams::default(), &Unwatched)?;
/// println!("{}: {:?}", choice.chosen, choice.tried);
/// let fit = fit_examples(&examples, &base, &choice.method, &Unwatched)?;
/// # Ok::<(), eigenskin_fit::method::FitError>(())
/// ```
pub fn choose_method(
    set: &ExampleSet,
    base: &Base,
    start: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<Choice, FitError> {
    let progress = &During::new(progress, "trying methods");
    let folds = folds(set);
    if folds.len() < 2 {
        return Err(FitError::NothingToLeaveOut { examples: set.len() });
    }
    let rounds = if set.len() < MANY { folds.len() } else { ROUNDS };
    let mut racing: Vec<Runner> = methods(set, start).into_iter().map(Runner::new).collect();
    let (mut out, mut refused): (Vec<Runner>, Vec<(&'static str, FitError)>) = (Vec::new(), Vec::new());
    for fold in folds.iter().take(rounds) {
        let mut still = Vec::new();
        for mut runner in racing {
            match runner.run(set, base, fold, progress) {
                Ok(()) => still.push(runner),
                Err(FitError::Cancelled(cancelled)) => return Err(cancelled.into()),
                Err(error) => refused.push((runner.method.name(), error)),
            }
        }
        let Some(best) = least(&still) else {
            return Err(refused.pop().map_or(FitError::NothingMoves, |(_, error)| error));
        };
        let best = still[best].squares.clone();
        let (dropped, kept) = still.into_iter().partition(|runner| is_clearly_worse(&runner.squares, &best));
        racing = kept;
        out.extend::<Vec<Runner>>(dropped);
        if racing.len() == 1 {
            break;
        }
    }
    let Some(best) = least(&racing) else { return Err(FitError::NothingMoves) };
    let method = racing[best].method.clone();
    let tried = racing.iter().chain(&out).map(Runner::trial).collect();
    Ok(Choice { chosen: method.name(), method, tried, refused })
}

/// A method and what it left so far.
struct Runner {
    method: Method,
    /// `left-out pose`: squared errors of the model and of plain skinning
    squares: Vec<[f64; 2]>,
}

impl Runner {
    fn new(method: Method) -> Self {
        Self { method, squares: Vec::new() }
    }

    /// Learns without some examples, and is measured on these.
    fn run(
        &mut self,
        set: &ExampleSet,
        base: &Base,
        fold: &[usize],
        progress: &dyn Progress,
    ) -> Result<(), FitError> {
        let others: Vec<usize> = (0..set.len()).filter(|example| !fold.contains(example)).collect();
        let others = set.select(&others)?;
        let method = self.method.for_examples(&others);
        let seen = Observations::of(&others, base, method.allows_compromise(), progress)?;
        let model = fit(&seen, &method, None, progress)?.model;
        let measured = evaluate_against(&Arc::new(model), &set.select(fold)?, progress)?;
        let squares = |pose: &PoseErrors| [pose.model_rmse.powi(2), pose.skinning_rmse.powi(2)];
        self.squares.extend(measured.per_pose.iter().map(squares));
        Ok(())
    }

    fn trial(&self) -> Trial {
        let (left_out_error, standard_error) = error_and_spread(&self.squares);
        Trial { method: self.method.name(), left_out_error, standard_error, examples: self.squares.len() }
    }
}

/// The one with the least error.
fn least(runners: &[Runner]) -> Option<usize> {
    let error = |place: &usize| error_and_spread(&runners[*place].squares).0;
    (0..runners.len()).min_by(|a, b| error(a).total_cmp(&error(b)))
}

/// √(Σ model² / Σ skinning²) over poses, and its standard error, by leaving out each pose in turn (jackknife).
fn error_and_spread(squares: &[[f64; 2]]) -> (f64, f64) {
    let ratio = |model: f64, skinning: f64| if skinning > 0.0 { (model / skinning).sqrt() } else { 0.0 };
    let sum = |which: usize| squares.iter().map(|pose| pose[which]).sum::<f64>();
    let (model, skinning, count) = (sum(0), sum(1), squares.len() as f64);
    let without: Vec<f64> =
        squares.iter().map(|pose| ratio((model - pose[0]).max(0.0), skinning - pose[1])).collect();
    let mean = without.iter().sum::<f64>() / count.max(1.0);
    let variance = without.iter().map(|error| (error - mean).powi(2)).sum::<f64>();
    (ratio(model, skinning), ((count - 1.0).max(0.0) / count.max(1.0) * variance).sqrt())
}

/// Whether squared errors are above those of the best by more than chance, pose by pose.
fn is_clearly_worse(squares: &[[f64; 2]], best: &[[f64; 2]]) -> bool {
    let count = squares.len() as f64;
    let differences: Vec<f64> = squares.iter().zip(best).map(|(own, best)| own[0] - best[0]).collect();
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    mean > 0.0 && mean > CLEARLY * (variance / count).sqrt()
}

/// The methods to try; a further one is a further runner.
fn methods(set: &ExampleSet, start: &EigenSkinParams) -> Vec<Method> {
    let default = PatchesParams::default();
    let patches = PatchesParams {
        per_vertex: start.budget.per_vertex.unwrap_or(default.per_vertex),
        normals: start.normals,
        ..default
    };
    let mut methods = vec![Method::Patches(patches), Method::EigenSkin(start.clone())];
    if moved(set).iter().any(|movers| movers.len() > 1) {
        methods.push(Method::Parameterization(ParameterizationParams {
            signals_per_vertex: start.budget.per_vertex,
            normals: start.normals,
            ..ParameterizationParams::default()
        }));
    }
    // Pose space deformation has a field per example, and most reach far.
    if start.budget.per_vertex.is_none_or(|limit| set.len() <= limit) {
        methods.push(Method::Psd(PsdParams { normals: start.normals, ..PsdParams::default() }));
    }
    methods
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &[f64]) -> Vec<[f64; 2]> {
        model.iter().map(|&square| [square, 1.0]).collect()
    }

    /// By hand: √(10/4), and of the ratios without each pose √(9/3), √(8/3), √(7/3), √(6/3).
    #[test]
    fn errors_and_how_far_they_are_sure() {
        let (error, spread) = error_and_spread(&of(&[1.0, 2.0, 3.0, 4.0]));
        let without = [3.0f64.sqrt(), (8.0 / 3.0f64).sqrt(), (7.0 / 3.0f64).sqrt(), 2.0f64.sqrt()];
        let mean = without.iter().sum::<f64>() / 4.0;
        let expected = (0.75 * without.iter().map(|w| (w - mean).powi(2)).sum::<f64>()).sqrt();
        assert!((error - 2.5f64.sqrt()).abs() < 1e-15 && (spread - expected).abs() < 1e-15);
        assert_eq!(error_and_spread(&[[1.0, 0.0]]), (0.0, 0.0));
    }

    /// Differences 1, 1, 1, 0.9 are sure; 3, −1, 2, −0.5 are not, though their mean is near.
    #[test]
    fn chance_drops_nobody() {
        let best = of(&[1.0, 2.0, 3.0, 4.0]);
        assert!(is_clearly_worse(&of(&[2.0, 3.0, 4.0, 4.9]), &best));
        assert!(!is_clearly_worse(&of(&[4.0, 1.0, 5.0, 3.5]), &best));
        assert!(!is_clearly_worse(&best, &best));
        assert!(!is_clearly_worse(&of(&[0.5, 1.5, 2.5, 3.5]), &best));
    }
}
