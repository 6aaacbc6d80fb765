//! Choosing a method: what predicts left-out examples best.
//!
//! Methods race. Of many examples half take part, spread over all kinds of poses: a race must not cost more than what
//! it is for. They are pulled back once, and left out in four parts; after each part, methods drop out whose error is
//! above the best one's by more than twice the standard error of the difference, pose by pose. Mostly one part is
//! enough. After [`ROUNDS`] parts what is left is within noise, and patches win if they are still there: they gain most
//! from the examples that did not take part. So of many examples one part is enough if patches are ahead.
//!
//! All methods are on equal terms: none may move a vertex by more components than another. Fewer than
//! [`ENOUGH_TO_PREDICT`] examples cannot tell: there, and where every model would run through another program, patches
//! are the rule.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Budget, EigenSkinParams, FitError, Method, ParameterizationParams, PatchesParams, PsdParams, fit,
};
use crate::displacements::Observations;
use crate::drivers::ENOUGH_TO_PREDICT;
use crate::during::During;

/// What is wanted of the model, whichever method learns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceParams {
    /// most components that may move one vertex
    pub per_vertex: usize,
    /// whether normals are corrected too
    pub normals: bool,
}

impl Default for ChoiceParams {
    fn default() -> Self {
        let PatchesParams { per_vertex, normals, .. } = PatchesParams::default();
        Self { per_vertex, normals }
    }
}

/// A method, and what else was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// how to learn
    #[serde(skip)]
    pub method: Method,
    /// its name in settings
    pub chosen: &'static str,
    /// all that were tried, those that lasted longest first
    pub tried: Vec<Trial>,
    /// why none was tried
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<NotCompared>,
    /// methods that could not learn from these examples, and why
    #[serde(skip)]
    pub refused: Vec<(&'static str, FitError)>,
}

/// Why methods were not compared, and patches were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCompared {
    /// errors of so few examples, left out in turn, are noise
    FewExamples,
    /// the base is another program's deformer, which is too slow for many models
    OtherProgram,
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
    /// how many others each model was learnt from, at least
    pub learnt_from: usize,
}

impl Choice {
    /// Patches, without a race.
    pub fn by_rule(params: &ChoiceParams, why: NotCompared) -> Self {
        let method = patches(params);
        let chosen = method.name();
        Self { method, chosen, tried: Vec::new(), not_compared: Some(why), refused: Vec::new() }
    }

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
/// Of no more examples than this all take part, of more at least so many.
const ALL: usize = 64;
/// Standard errors by which a method must be worse to drop out.
const CLEARLY: f64 = 2.0;

/// Tries methods on examples that they have not seen.
///
/// ```
/// use eigenskin_core::{deformers::Base, progress::Unwatched};
/// use eigenskin_fit::method::{ChoiceParams, choose_method, fit_examples};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let base = Base::default();
/// let choice = choose_method(&examples, &base, &ChoiceParams::default(), &Unwatched)?;
/// println!("{}: {:?}", choice.chosen, choice.tried);
/// let fit = fit_examples(&examples, &base, &choice.method, &Unwatched)?;
/// # Ok::<(), eigenskin_fit::method::FitError>(())
/// ```
pub fn choose_method(
    set: &ExampleSet,
    base: &Base,
    params: &ChoiceParams,
    progress: &dyn Progress,
) -> Result<Choice, FitError> {
    let progress = &During::new(progress, "trying methods");
    let poses: Vec<&Pose> = set.examples().iter().map(|example| &example.pose).collect();
    // The same shape twice would be left out and learnt from.
    let (set, _) = set.select(&examples_that_race(set.rig(), &poses))?.for_training(false)?;
    if set.len() < ENOUGH_TO_PREDICT {
        return Ok(Choice::by_rule(params, NotCompared::FewExamples));
    }
    let seen = Observations::of(&set, base, false, progress)?;
    let by_skinning = skinning_errors(&set, progress)?;
    let folds = folds(&set);
    let rounds = if set.len() < MANY { folds.len() } else { ROUNDS };
    let mut racing: Vec<Runner> = methods(&set, params).into_iter().map(Runner::new).collect();
    let (mut out, mut refused): (Vec<Runner>, Vec<(&'static str, FitError)>) = (Vec::new(), Vec::new());
    for fold in folds.iter().take(rounds) {
        let others: Vec<usize> = (0..set.len()).filter(|example| !fold.contains(example)).collect();
        let others = seen.select(&others)?;
        let run = |mut runner: Runner| match runner.run(&others, &set, &by_skinning, fold, progress) {
            Ok(()) => Ok(runner),
            Err(error) => Err((runner.method.name(), error)),
        };
        let mut still = Vec::new();
        for ran in racing.into_par_iter().map(run).collect::<Vec<_>>() {
            match ran {
                Ok(runner) => still.push(runner),
                Err((_, FitError::Cancelled(cancelled))) => return Err(cancelled.into()),
                Err(error) => refused.push(error),
            }
        }
        let Some(best) = least(&still) else {
            return Err(refused.pop().map_or(FitError::NothingMoves, |(_, error)| error));
        };
        let best = still[best].errors.clone();
        let (dropped, kept) = still.into_iter().partition(|runner| is_clearly_worse(&runner.errors, &best));
        racing = kept;
        out.extend::<Vec<Runner>>(dropped);
        // The first one also wins what noise decides, so it need not be ahead by much.
        let first_is_ahead = least(&racing) == Some(0) && set.len() >= MANY;
        if racing.len() == 1 || first_is_ahead {
            break;
        }
    }
    // In the order of the methods.
    let Some(first) = racing.first() else { return Err(FitError::NothingMoves) };
    let method = first.method.clone();
    let tried = racing.iter().chain(&out).map(Runner::trial).collect();
    Ok(Choice { chosen: method.name(), method, tried, not_compared: None, refused })
}

/// A method and what it left so far.
struct Runner {
    method: Method,
    /// `left-out pose`: root mean square errors of the model and of plain skinning
    errors: Vec<[f64; 2]>,
    /// the fewest examples that a model was learnt from
    learnt_from: usize,
}

impl Runner {
    fn new(method: Method) -> Self {
        Self { method, errors: Vec::new(), learnt_from: usize::MAX }
    }

    /// Learns from the others, and is measured on the examples of `fold`.
    fn run(
        &mut self,
        others: &Observations,
        set: &ExampleSet,
        by_skinning: &[f64],
        fold: &[usize],
        progress: &dyn Progress,
    ) -> Result<(), FitError> {
        let mut evaluator = Evaluator::new(Arc::new(fit(others, &self.method, None, progress)?.model));
        let mut posed = vec![Vec3::ZERO; set.rig().vertex_count()];
        for &example in fold {
            let truth = &set.examples()[example];
            self.errors.push([root_mean_square(&mut evaluator, truth, &mut posed), by_skinning[example]]);
        }
        self.learnt_from = self.learnt_from.min(others.len());
        Ok(())
    }

    fn trial(&self) -> Trial {
        let (left_out_error, standard_error) = error_and_spread(&self.errors);
        Trial {
            method: self.method.name(),
            left_out_error,
            standard_error,
            examples: self.errors.len(),
            learnt_from: self.learnt_from,
        }
    }
}

/// `example`: root mean square error of plain skinning.
fn skinning_errors(set: &ExampleSet, progress: &dyn Progress) -> Result<Vec<f64>, Cancelled> {
    let plain = Arc::new(Model::without_corrections(set.rig().clone(), BaseSkinning::LinearBlend));
    let mut evaluator = Evaluator::new(plain);
    let mut posed = vec![Vec3::ZERO; set.rig().vertex_count()];
    let error = |truth| root_mean_square(&mut evaluator, truth, &mut posed);
    progress.doing("comparing")?;
    Ok(set.examples().iter().map(error).collect())
}

/// How far a model is from a true shape; `posed` is where it puts the vertices.
fn root_mean_square(evaluator: &mut Evaluator, truth: &Example, posed: &mut [Vec3]) -> f64 {
    evaluator.evaluate(&truth.pose, posed, None);
    let squares =
        posed.iter().zip(&truth.positions).map(|(a, b)| a.as_dvec3().distance_squared(b.as_dvec3()));
    (squares.sum::<f64>() / posed.len().max(1) as f64).sqrt()
}

/// The one with the least error.
fn least(runners: &[Runner]) -> Option<usize> {
    let error = |place: &usize| error_and_spread(&runners[*place].errors).0;
    (0..runners.len()).min_by(|a, b| error(a).total_cmp(&error(b)))
}

/// √(Σ model² / Σ skinning²) over poses, and its standard error, by leaving out each pose in turn (jackknife).
fn error_and_spread(errors: &[[f64; 2]]) -> (f64, f64) {
    let ratio = |model: f64, skinning: f64| if skinning > 0.0 { (model / skinning).sqrt() } else { 0.0 };
    let sum = |which: usize| errors.iter().map(|pose| pose[which].powi(2)).sum::<f64>();
    let (model, skinning, count) = (sum(0), sum(1), errors.len() as f64);
    let without = |pose: &[f64; 2]| ratio((model - pose[0].powi(2)).max(0.0), skinning - pose[1].powi(2));
    let without: Vec<f64> = errors.iter().map(without).collect();
    let mean = without.iter().sum::<f64>() / count.max(1.0);
    let variance = without.iter().map(|error| (error - mean).powi(2)).sum::<f64>();
    (ratio(model, skinning), ((count - 1.0).max(0.0) / count.max(1.0) * variance).sqrt())
}

/// Whether errors are above those of the best by more than chance, pose by pose. Not squared: a single pose that all
/// methods miss would hide what the others tell.
fn is_clearly_worse(errors: &[[f64; 2]], best: &[[f64; 2]]) -> bool {
    let count = errors.len() as f64;
    let differences: Vec<f64> = errors.iter().zip(best).map(|(own, best)| own[0] - best[0]).collect();
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    mean > 0.0 && mean > CLEARLY * (variance / count).sqrt()
}

/// The methods to try; of those that are equally good the first one wins.
fn methods(set: &ExampleSet, params: &ChoiceParams) -> Vec<Method> {
    let &ChoiceParams { per_vertex, normals } = params;
    let budget = Budget { per_vertex: Some(per_vertex), ..Budget::default() };
    let eigenskin = EigenSkinParams { budget, normals, ..EigenSkinParams::default() };
    let mut methods = vec![patches(params), eigenskin.into()];
    if moved(set).iter().any(|movers| movers.len() > 1) {
        let signals_per_vertex = Some(per_vertex);
        let default = ParameterizationParams::default();
        methods.push(ParameterizationParams { signals_per_vertex, normals, ..default }.into());
    }
    // Pose space deformation has a field per example, and most reach far.
    if set.len() <= per_vertex {
        methods.push(PsdParams { normals, ..PsdParams::default() }.into());
    }
    methods
}

fn patches(params: &ChoiceParams) -> Method {
    let &ChoiceParams { per_vertex, normals } = params;
    PatchesParams { per_vertex, normals, ..PatchesParams::default() }.into()
}

fn moved(set: &ExampleSet) -> Vec<Vec<usize>> {
    let poses = set.examples().iter().map(|example| &example.pose);
    moved_by_poses(set.rig(), poses, &Mover::all(set.rig()))
}

/// The examples that take part, in their order: all, or half of them, spread evenly over those that move many joints,
/// few joints, and over the order they are in. No more than fit in memory.
pub fn examples_that_race(rig: &Rig, poses: &[&Pose]) -> Vec<usize> {
    let moved = moved_by_poses(rig, poses.iter().copied(), &Mover::all(rig));
    let order = by_joints_moved(&moved);
    let room = (Observations::LARGE / rig.vertex_count().max(1)).max(MANY);
    let count = (poses.len() / 2).max(ALL).min(room).min(poses.len());
    let mut chosen: Vec<usize> = (0..count).map(|place| order[place * poses.len() / count]).collect();
    chosen.sort_unstable();
    chosen
}

/// Examples by how many joints and controls they move, most first.
fn by_joints_moved(moved: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..moved.len()).collect();
    order.sort_by_key(|&example| std::cmp::Reverse(moved[example].len()));
    order
}

/// Every example is left out once; those that move many joints are spread evenly.
fn folds(set: &ExampleSet) -> Vec<Vec<usize>> {
    let mut folds = vec![Vec::new(); FOLDS];
    for (place, example) in by_joints_moved(&moved(set)).into_iter().enumerate() {
        folds[place % FOLDS].push(example);
    }
    folds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &[f64]) -> Vec<[f64; 2]> {
        model.iter().map(|&error| [error, 1.0]).collect()
    }

    /// By hand: √(10/4), and of the ratios without each pose √(9/3), √(8/3), √(7/3), √(6/3).
    #[test]
    fn errors_and_how_far_they_are_sure() {
        let squares = [1.0f64, 2.0, 3.0, 4.0];
        let (error, spread) = error_and_spread(&of(&squares.map(f64::sqrt)));
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

    /// All of 64, 64 of 100, half of 200; of these, half of the poses of several joints and half of the others.
    #[test]
    fn half_of_many_examples_race() {
        let character = eigenskin_characters::arm(300).unwrap();
        let several = character.multi_joint_poses(40, 1).into_iter().map(|named| named.pose);
        let alone = character.single_joint_poses(80).into_iter().map(|named| named.pose);
        let poses: Vec<Pose> = alone.take(160).chain(several).collect();
        let racing = |count: usize| {
            let poses: Vec<&Pose> = poses[poses.len() - count..].iter().collect();
            examples_that_race(&character.rig, &poses)
        };
        assert_eq!(racing(64), (0..64).collect::<Vec<_>>());
        assert_eq!((racing(100).len(), racing(200).len()), (64, 100));
        let several = racing(200).into_iter().filter(|&example| example >= 160).count();
        assert_eq!(several, 20);
        assert!(racing(200).is_sorted());
    }

    /// A pose that both miss by nearly the same, and seven that tell.
    #[test]
    fn one_pose_that_all_miss_hides_nothing() {
        let best = of(&[100.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(is_clearly_worse(&of(&[101.0, 2.0, 2.1, 1.9, 2.0, 2.1, 1.9, 2.0]), &best));
    }
}
