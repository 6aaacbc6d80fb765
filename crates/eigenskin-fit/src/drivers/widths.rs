//! The one policy for kernels and widths that nobody gave (docs/methods/widths.md).
//!
//! **Up to five own examples: rules.** Left-out errors of so few are noise. The correction grows from rest to
//! an example as corrections of skinning do: for joints about as the square of the angle, for controls in
//! proportion. Beyond the example it stays, on the other side of rest there is none. That is a kernel from
//! rest ([`System::from_rest`]) of multiquadrics, −√(1 + r²/w²), for which
//! k(p, c) ≈ |p| + |c| − |p − c| (the covariance of Lévy's Brownian motion, which starts at rest), smoothed
//! over the width w; a kernel asked for by name stays what it is. Each joint and control is measured in the
//! range that own examples give it. The width is that range, or the widest share of it for which no weight of
//! an example falls below [`LOWEST_WEIGHT`] between the samples.
//!
//! **From six on: prediction.** Own examples are left out in turn, anchors never. Gaussians up to the largest
//! distance of two samples compete with the kernel of the rules.
//!
//! **Ill conditioning** is met by as little smoothing as brings it within reach of `f64`, not by narrow
//! kernels, while all examples are met within [`MET`].

use eigenskin_core::driver::{FeatureGroup, FeatureSource, Kernel};
use eigenskin_core::examples::SAME_POSE;
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use super::rbf::{INTERPOLATING, KernelChoice, MANY, RbfError, RbfParams, SMOOTHINGS, Smoothing, TailChoice, Targets};
use super::samples::{Samples, evaluate_repeated};
use super::system::{ShapeFromRest, Solution, System};

/// With fewer own examples, rules choose: left-out errors of so few are noise.
const ENOUGH_TO_PREDICT: usize = 6;
/// Weights of examples stay above this between samples.
const LOWEST_WEIGHT: f64 = -0.1;
/// Widths of the rules, as shares of the range.
const SHARES: [f64; 11] = [1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.035, 0.025];
/// Half-way between rest and an example, so much of its correction is there where joints move: a little more
/// than the quarter that a square gives, which leaves room for corrections that grow in proportion.
const HALF_WAY: f64 = 0.28;
/// A joint or control whose range is a smaller share of the largest one counts as if it had this: a joint that
/// trembles is no axis of its own.
const LEAST_RANGE: f64 = 0.1;
/// Conditions up to this are solved as they are.
const REACH: f64 = 1e12;
/// What is added to the diagonal beyond it, least first; smaller than any smoothing that is asked for.
const LEAST_SMOOTHINGS: [f64; 6] = [1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8];
/// How far examples may be missed through that, as a share of the largest.
const MET: f64 = 1e-4;
/// Smoothing is chosen when it lowers the left-out error to this share.
const PAYS: f64 = 0.75;

/// The system and its solution for parameters that leave the width open.
pub(super) fn choose<'a>(
    samples: &Samples,
    targets: &'a Targets<'a>,
    params: &RbfParams,
    smoothing: f64,
    progress: &dyn Progress,
) -> Result<(System<'a>, Solution), RbfError> {
    let kernel = params.kernel.or_gaussian();
    let automatic = params.smoothing == Smoothing::Automatic;
    let search = Search { samples, targets, smoothing, automatic, progress };
    let radial = System::radial(samples, targets, kernel, params.tail);
    let (nearest, furthest) = samples.distances_within();
    if !kernel.has_width() || furthest <= 0.0 || (smoothing == 0.0 && !automatic && nearest <= SAME_POSE) {
        let solution = radial.solve(targets.with_radii(vec![1.0; samples.count()]), smoothing);
        return Ok((radial, solution));
    }
    let asked_for = params.kernel != KernelChoice::Automatic
        || matches!(params.tail, TailChoice::Constant | TailChoice::Linear)
        || !targets.radii.is_empty();
    let from_rest = if asked_for { None } else { from_rest(samples, targets) };
    if targets.own < ENOUGH_TO_PREDICT {
        let (system, range) = from_rest.unwrap_or_else(|| (radial, range_of(samples, 0..samples.groups.len(), targets.own)));
        let solution = search.widest_without_overshoot(&system, range)?;
        return Ok((system, solution));
    }
    let predicted = search.best_width(&radial, &radial_widths(nearest, furthest))?;
    let Some((other, range)) = from_rest else { return Ok((radial, predicted)) };
    let widths: Vec<f64> = SHARES.iter().map(|share| share * range).collect();
    let other_predicted = search.best_width(&other, &widths)?;
    let is_better = other_predicted.leave_one_out < predicted.leave_one_out;
    Ok(if is_better { (other, other_predicted) } else { (radial, predicted) })
}

/// The kernel of the rules, and the range from rest that its widths are shares of.
///
/// Groups of one joint or control share a range: the largest distance from rest that own examples give them.
/// Groups are scaled so that all ranges are the largest one; factors of squared distances (weighted PSD) come
/// on top, as scales, since weights have another meaning here.
fn from_rest<'a>(samples: &Samples, targets: &'a Targets<'a>) -> Option<(System<'a>, f64)> {
    let movers = movers_of(&samples.groups);
    let ranges: Vec<f64> = movers.iter().map(|groups| range_of(samples, groups.iter().copied(), targets.own)).collect();
    let range = ranges.iter().copied().fold(0.0, f64::max);
    if range <= 0.0 {
        return None;
    }
    let joints = samples.groups.iter().any(|group| matches!(group.source, FeatureSource::Joint { .. }));
    let has_anchors = samples.count() > targets.own + 1;
    // Anchors hold a combination at zero wherever one of its joints is at rest: it starts as the product of
    // their angles, without being told to.
    let is_square = joints && (movers.len() == 1 || !has_anchors);
    let times = if is_square { 2 } else { 1 };
    let weight = if is_square { weight_for_half_way(times * movers.len()) } else { 1.0 };
    let mut scaled = samples.clone();
    for (groups, own) in movers.iter().zip(ranges) {
        let factor = range / own.max(LEAST_RANGE * range);
        for &group in groups {
            let group = &mut scaled.groups[group];
            group.scale = group.scale.times(factor * group.weight.sqrt());
            group.weight = weight;
        }
    }
    let shape = ShapeFromRest { range, times };
    Some((System::from_rest(&scaled, targets, Kernel::Multiquadric, shape), range))
}

/// The weight w for which a kernel of so many factors 1 + w·k has [`HALF_WAY`] of its value half-way, where all
/// k are ½: ((1 + w/2)ⁿ − 1) / ((1 + w)ⁿ − 1), which falls from ½ to 2⁻ⁿ.
fn weight_for_half_way(factors: usize) -> f64 {
    let n = factors as i32;
    let half_way = |w: f64| ((1.0 + 0.5 * w).powi(n) - 1.0) / ((1.0 + w).powi(n) - 1.0);
    let (mut low, mut high) = (1e-3, 1e3);
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if half_way(middle) > HALF_WAY { low = middle } else { high = middle }
    }
    high
}

/// Groups of the same joint or control, by their places.
fn movers_of(groups: &[FeatureGroup]) -> Vec<Vec<usize>> {
    let same = |a: &FeatureGroup, b: &FeatureGroup| match (&a.source, &b.source) {
        (FeatureSource::Joint { joint: a, .. }, FeatureSource::Joint { joint: b, .. })
        | (FeatureSource::Control { control: a, .. }, FeatureSource::Control { control: b, .. }) => a == b,
        _ => false,
    };
    let mut movers: Vec<Vec<usize>> = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        match movers.iter_mut().find(|mover| same(&groups[mover[0]], group)) {
            Some(mover) => mover.push(place),
            None => movers.push(vec![place]),
        }
    }
    movers
}

/// The largest distance from rest that some groups have in the first `own` samples after rest, weights left out.
fn range_of(samples: &Samples, groups: impl IntoIterator<Item = usize>, own: usize) -> f64 {
    let slices: Vec<_> = samples.group_slices().collect();
    let mut squares = vec![0.0; own];
    for group in groups {
        let (group, range) = &slices[group];
        for (sample, square) in squares.iter_mut().enumerate() {
            *square += group.distance_to_rest(&samples.features_of(sample + 1)[range.clone()]).powi(2);
        }
    }
    squares.into_iter().fold(0.0, f64::max).sqrt()
}

/// Widths of radial kernels, from half the smallest to the largest distance: wider ones are polynomials in
/// disguise, which run away outside the examples.
fn radial_widths(nearest: f64, furthest: f64) -> Vec<f64> {
    const STEPS: usize = 32;
    let low = 0.5 * nearest.max(1e-3 * furthest);
    (0..=STEPS).map(|step| low * (furthest / low).powf(step as f64 / STEPS as f64)).collect()
}

/// What widths are tried on.
struct Search<'a> {
    samples: &'a Samples,
    targets: &'a Targets<'a>,
    smoothing: f64,
    /// whether more smoothing may be chosen where examples are many
    automatic: bool,
    progress: &'a dyn Progress,
}

impl Search<'_> {
    /// Solved with one width, with the least smoothing on top that f64 needs; none if examples are missed then.
    fn within_reach(&self, system: &System<'_>, width: f64, smoothing: f64) -> Option<Solution> {
        let widths = self.targets.with_radii(vec![width; self.samples.count()]);
        let plain = system.solve(widths.clone(), smoothing);
        if plain.condition <= REACH {
            return Some(plain);
        }
        let more = LEAST_SMOOTHINGS.iter().filter(|&&more| more > smoothing);
        let solutions = more.map(|&more| Solution { smoothing, ..system.solve(widths.clone(), more) });
        let reached = { solutions }.find(|solution| solution.condition <= REACH)?;
        (smoothing > 0.0 || system.miss(&reached) <= MET).then_some(reached)
    }

    /// The width that predicts left-out examples best; where smoothing is left open and examples are many, also
    /// the smoothing.
    fn best_width(&self, system: &System<'_>, widths: &[f64]) -> Result<Solution, Cancelled> {
        let exact = self.best_width_with(system, widths, self.smoothing)?;
        if !(self.automatic && self.samples.count() > MANY) {
            return Ok(exact);
        }
        let mut best: Option<Solution> = None;
        for smoothing in SMOOTHINGS {
            let next = self.best_width_with(system, widths, smoothing)?;
            if best.as_ref().is_none_or(|best| next.leave_one_out < best.leave_one_out) {
                best = Some(next);
            }
        }
        Ok(best.filter(|best| best.leave_one_out < PAYS * exact.leave_one_out).unwrap_or(exact))
    }

    fn best_width_with(
        &self,
        system: &System<'_>,
        widths: &[f64],
        smoothing: f64,
    ) -> Result<Solution, Cancelled> {
        let solutions: Vec<Option<Solution>> = widths
            .par_iter()
            .map(|&width| {
                self.progress.doing(INTERPOLATING)?;
                Ok(self.within_reach(system, width, smoothing))
            })
            .collect::<Result<_, Cancelled>>()?;
        let best = solutions.into_iter().flatten().min_by(|a, b| a.leave_one_out.total_cmp(&b.leave_one_out));
        Ok(best.unwrap_or_else(|| self.narrowest(system, widths, smoothing)))
    }

    fn narrowest(&self, system: &System<'_>, widths: &[f64], smoothing: f64) -> Solution {
        let narrowest = widths.iter().copied().fold(f64::INFINITY, f64::min);
        system.solve(self.targets.with_radii(vec![narrowest; self.samples.count()]), smoothing)
    }

    /// The widest share of the range for which no weight of an own example falls below [`LOWEST_WEIGHT`]
    /// between samples; the one that falls least where all do.
    fn widest_without_overshoot(&self, system: &System<'_>, range: f64) -> Result<Solution, Cancelled> {
        let mut best: Option<(f64, Solution)> = None;
        for share in SHARES {
            self.progress.doing(INTERPOLATING)?;
            let Some(solution) = self.within_reach(system, share * range, self.smoothing) else { continue };
            let lowest = self.lowest_weight(system, &solution);
            if lowest >= LOWEST_WEIGHT {
                return Ok(solution);
            }
            if best.as_ref().is_none_or(|(known, _)| lowest > *known) {
                best = Some((lowest, solution));
            }
        }
        let widths: Vec<f64> = SHARES.iter().map(|share| share * range).collect();
        Ok(best.map_or_else(|| self.narrowest(system, &widths, self.smoothing), |(_, solution)| solution))
    }

    /// The lowest weight that an own example has on the straight ways between samples, of which one is rest or
    /// an own example.
    fn lowest_weight(&self, system: &System<'_>, solution: &Solution) -> f64 {
        let (own, count) = (self.targets.own, self.samples.count());
        let driver = system.cardinal_driver(solution);
        let mut weights = vec![0.0; own];
        let mut lowest = 0f64;
        for from in 0..=own {
            for to in from + 1..count {
                for share in [0.25, 0.5, 0.75] {
                    let (features, linear) = self.samples.between(from, to, share);
                    evaluate_repeated(&driver, &features, &linear, &mut weights);
                    lowest = weights.iter().copied().fold(lowest, f64::min);
                }
            }
        }
        lowest
    }
}
