//! What drives each part: which joints and controls, and how its signals follow them (S(θ) in
//! Kim 2011 Equation 2).

use eigenskin_core::driver::{Clamp, Driver, Kernel};
use eigenskin_core::mover::Mover;
use eigenskin_core::progress::{Cancelled, Progress};

use super::folds::{Fold, Interpolation};
use super::params::ParameterizationParams;
use super::partition::Part;
use super::search::{CutPart, Observed};
use crate::drivers::{MANY, RbfFit, RbfParams, Samples, Smoothing, clamp_beyond, fit_rbf_on_centres};
use crate::method::joint_driver::{example_range, without_repeats};
use crate::method::moving_things::MovingThing;
use crate::method::{FitError, Interpolated};

/// What automatic smoothing tries, for features of about 1 (radians, bone lengths, ranges of controls).
const SMOOTHINGS: [f64; 5] = [0.0, 1e-6, 1e-4, 1e-3, 1e-2];
/// With how much smoothing sets of joints are compared.
const COMPARING_SMOOTHING: f64 = 1e-4;
/// A joint belongs to a part where it has at least this share of the skin.
const LEAST_SHARE: f64 = 0.01;
/// A control belongs to a part where its examples show at least this share of the part's energy.
const LEAST_ENERGY: f64 = 1e-3;

/// How a part's signals are driven.
#[derive(Debug, Clone)]
pub(super) struct PartDriver {
    /// indices of the moving things, rising
    pub movers: Vec<usize>,
    pub smoothing: Smoothing,
    /// squared error of the part over all examples, each left out with its stretch; `None` with too few
    /// examples to tell
    pub unseen: Option<f64>,
}

/// Sets of moving things that may drive a part, narrow to wide, each different and not empty: what
/// moves within the part; also what moves at its border; all. `energies`: of the part, by example.
fn candidates(Observed { seen, things }: Observed<'_>, part: &Part, energies: &[f64]) -> Vec<Vec<usize>> {
    let rig = &seen.rig;
    let mut held = vec![0.0; rig.skeleton().joint_count()];
    for (&point, &mask) in part.points.iter().zip(&part.mask) {
        for influence in rig.weights().of(seen.displacements.points.first_vertex(point as usize)) {
            held[influence.joint as usize] += f64::from(mask * influence.weight);
        }
    }
    let least = LEAST_SHARE * part.mask.iter().map(|&m| f64::from(m)).sum::<f64>();
    let control_acts = |thing: &MovingThing| {
        let moving = (0..seen.len()).filter(|&e| thing.mover.is_moved(rig, &seen.poses[e]));
        moving.map(|e| energies[e]).sum::<f64>() > LEAST_ENERGY * energies.iter().sum::<f64>()
    };
    let chosen = |wanted: &dyn Fn(bool, bool) -> bool| -> Vec<usize> {
        let is_wanted = |thing: &MovingThing| match thing.mover {
            Mover::Control(_) => control_acts(thing),
            Mover::Joint(joint) => {
                let reference = rig.skeleton().joints()[joint].reference.unwrap_or(joint);
                wanted(held[joint] > least, held[reference] > least)
            }
        };
        (0..things.len()).filter(|&thing| is_wanted(&things[thing])).collect()
    };
    let within = chosen(&|joint, reference| joint && reference);
    let near = chosen(&|joint, reference| joint || reference);
    let mut sets = vec![within, near, (0..things.len()).collect()];
    sets.retain(|set| !set.is_empty());
    sets.dedup();
    sets
}

fn measured(Observed { seen, things }: Observed<'_>, chosen: &[usize]) -> Samples {
    let groups = chosen.iter().flat_map(|&thing| things[thing].groups.iter().cloned()).collect();
    Samples::measure(groups, seen.rig.skeleton(), &seen.poses)
}

/// The set of joints and controls that predicts left-out stretches of the examples best, with the smoothing
/// that was given or one of middle size.
pub(super) fn best_movers(
    observed: Observed<'_>,
    part: &Part,
    energies: &[f64],
    folds: &[Fold],
    interpolation: &Interpolation<'_>,
) -> Result<PartDriver, Cancelled> {
    let smoothing = match interpolation.params.smoothing {
        Smoothing::Automatic => Smoothing::Fixed(if folds.is_empty() { 0.0 } else { COMPARING_SMOOTHING }),
        given @ Smoothing::Fixed(_) => given,
    };
    let mut sets = candidates(observed, part, energies);
    if folds.is_empty() {
        // Nothing to compare by: the neighbourhood.
        sets.truncate(2);
        let movers = sets.pop().unwrap_or_default();
        return Ok(PartDriver { movers, smoothing, unseen: None });
    }
    let mut best: Option<PartDriver> = None;
    for movers in sets {
        let unseen = interpolation.error_unseen(&measured(observed, &movers), folds, smoothing)?;
        if best.as_ref().and_then(|best| best.unseen).is_none_or(|least| unseen.is_some_and(|u| u < least)) {
            best = Some(PartDriver { movers, smoothing, unseen });
        }
    }
    Ok(best.unwrap_or(PartDriver { movers: Vec::new(), smoothing, unseen: None }))
}

/// The same driver with the smoothing that predicts left-out stretches best, where that is left open.
pub(super) fn with_best_smoothing(
    observed: Observed<'_>,
    chosen: &PartDriver,
    folds: &[Fold],
    interpolation: &Interpolation<'_>,
) -> Result<PartDriver, Cancelled> {
    if interpolation.params.smoothing != Smoothing::Automatic || folds.is_empty() {
        return Ok(chosen.clone());
    }
    let samples = measured(observed, &chosen.movers);
    let mut best: Option<(f64, f64)> = None;
    let is_few = samples.count() <= MANY;
    for smoothing in SMOOTHINGS.into_iter().filter(|&smoothing| is_few || smoothing > 0.0) {
        let unseen = interpolation.error_unseen(&samples, folds, Smoothing::Fixed(smoothing))?;
        let Some(unseen) = unseen else { continue };
        // Few examples are taken to be made with care: they give way only where that takes a quarter off
        // the error.
        let pays = if is_few { 0.75f64.powi(2) } else { 1.0 };
        if best.is_none_or(|(_, least)| unseen < pays * least) {
            best = Some((smoothing, unseen));
        }
    }
    Ok(match best {
        Some((smoothing, unseen)) => PartDriver {
            movers: chosen.movers.clone(),
            smoothing: Smoothing::Fixed(smoothing),
            unseen: Some(unseen),
        },
        None => chosen.clone(),
    })
}

/// Interpolates a part's signals (`component × example`) over what drives it.
pub(super) fn fit_driver(
    observed: Observed<'_>,
    CutPart { part, driver: chosen, .. }: CutPart<'_>,
    signals: &[Vec<f64>],
    params: &ParameterizationParams,
    progress: &dyn Progress,
) -> Result<RbfFit, FitError> {
    let seen = observed.seen;
    let coordinates: Vec<f64> = (0..seen.len()).flat_map(|e| signals.iter().map(move |s| s[e])).collect();
    let all = measured(observed, &chosen.movers);
    let (kept, values) = without_repeats(&all, &coordinates, signals.len());
    let rbf = RbfParams { smoothing: chosen.smoothing, ..params.interpolation.radial() };
    let name = |place: usize| match kept[place] {
        0 => "rest".to_string(),
        sample => seen.names[sample - 1].clone(),
    };
    let fit = fit_rbf_on_centres(&all.select(&kept), &values, &rbf, params.most_centres, progress)
        .map_err(|error| FitError::interpolating(Interpolated::Part(part.name.clone()), error, name))?;
    let clamp =
        params.clamp_margin.map_or(Clamp::None, |margin| widened_range(&values, signals.len(), margin));
    Ok(RbfFit { driver: Driver { clamp, ..fit.driver }, ..fit })
}

/// The range of every signal over rest and examples (`sample × component`), widened by `margin` of the
/// widest range: weak signals have hardly been seen moving, and may well move more in other poses.
fn widened_range(values: &[f64], component_count: usize, margin: f64) -> Clamp {
    let Clamp::Range { lowest, highest } = example_range(values, component_count, 0.0) else {
        return Clamp::None;
    };
    let widest = lowest.iter().zip(&highest).map(|(low, high)| high - low).fold(0.0, f64::max);
    clamp_beyond(lowest.into_iter().zip(highest), |_, _| margin * widest)
}

/// Thin plates with their linear tail (Kim 2011 §3).
pub(super) fn thin_plates() -> RbfParams {
    RbfParams { kernel: Kernel::ThinPlate.into(), ..RbfParams::default() }
}
