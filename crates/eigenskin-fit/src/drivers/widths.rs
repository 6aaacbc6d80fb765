//! The one policy for kernels and widths that nobody gave (docs/methods/widths.md).
//!
//! **Up to five own examples: rules.** Left-out errors of so few are noise. The correction grows from rest to
//! an example as corrections of skinning do: for joints about as the square of the angle, for controls in
//! proportion. Beyond the example it stays about as it is, on the other side of rest there is none. That is a kernel from
//! rest ([`System::from_rest`]) of multiquadrics, −√(1 + r²/w²), for which
//! k(p, c) ≈ |p| + |c| − |p − c| (the covariance of Lévy's Brownian motion, which starts at rest), smoothed
//! over the width w; a kernel asked for by name stays what it is. Each joint and control is measured in the
//! range that own examples give it. The width is 0.7 of that range (an eighth for a single example, the whole
//! for a kernel asked for). Where only controls move, it is the widest share below for which no weight of an
//! example falls under [`LOWEST_WEIGHT`] between the samples: expressions of a face must not mix. For joints
//! that was tried too: a width that falls with one more sculpt made models worse twice as often. From the
//! second example of joints on, a kernel that grows in proportion is taken instead where it predicts left-out
//! examples better: that, five examples can tell.
//!
//! **From six on: prediction.** Own examples are left out in turn, anchors never. Gaussians up to the largest
//! distance of two samples are tried; up to twenty samples the kernels of the rules, too. (Among the frames of a
//! motion, and in weighted PSD, they predicted left-out neighbours better and other poses worse.)
//!
//! **Ill conditioning** is met by as little smoothing as brings it within reach of `f64`, not by narrow
//! kernels, while all examples are met within [`MET`].

use eigenskin_core::driver::{FeatureGroup, FeatureSource, Kernel};
use eigenskin_core::examples::SAME_POSE;
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use super::rbf::{
    INTERPOLATING, KernelChoice, MANY, RbfError, RbfParams, SMOOTHINGS, Smoothing, TailChoice, Targets,
};
use super::samples::{Samples, evaluate_repeated};
use super::system::{ShapeFromRest, Solution, System, WithWidths};

/// With fewer own examples, rules choose: left-out errors of so few are noise.
pub(crate) const ENOUGH_TO_PREDICT: usize = 6;
/// Weights of examples stay above this between samples where only controls move.
const LOWEST_WEIGHT: f64 = -0.1;
/// Widths of the rules, as shares of the range.
const SHARES: [f64; 11] = [1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.035, 0.025];
/// The widest of them that kernels from rest start with: wider ones go on growing beyond the examples.
const WIDEST: f64 = 0.7;
/// The same for a single example.
const WIDEST_FOR_ONE: f64 = 0.12;
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
    let (from_rest, range) = if asked_for { (Vec::new(), 0.0) } else { from_rest(samples, targets) };
    let mut found: Vec<(System<'a>, Solution)> = Vec::new();
    if targets.own < ENOUGH_TO_PREDICT {
        let lowest = if asked_for || moves_joints(samples) { f64::NEG_INFINITY } else { LOWEST_WEIGHT };
        let (systems, widths) = if from_rest.is_empty() {
            let range = range_of(samples, 0..samples.groups.len(), targets.own);
            (vec![radial], shares_of(range, 1.0))
        } else {
            (from_rest, shares_of(range, if targets.own == 1 { WIDEST_FOR_ONE } else { WIDEST }))
        };
        for system in systems {
            let solution = search.widest_without_overshoot(&system, &widths, lowest)?;
            found.push((system, solution));
        }
    } else {
        let solution = search.best_width(&radial, &radial_widths(nearest, furthest))?;
        found.push((radial, solution));
        let is_plain = samples.groups.iter().all(|group| group.weight == 1.0);
        for system in from_rest.into_iter().filter(|_| is_plain && samples.count() <= MANY) {
            let solution = search.best_width(&system, &shares_of(range, 1.0))?;
            found.push((system, solution));
        }
    }
    // The first of those that predict left-out examples equally well: a single one predicts nothing.
    let mut best = found.remove(0);
    for next in found {
        if next.1.leave_one_out < best.1.leave_one_out {
            best = next;
        }
    }
    Ok(best)
}

/// The shares of a range up to the widest.
fn shares_of(range: f64, widest: f64) -> Vec<f64> {
    SHARES.iter().filter(|share| **share <= widest).map(|share| share * range).collect()
}

/// The kernels of the rules, and the range from rest that their widths are shares of. Where joints move, the
/// first grows as a square; the second, in proportion.
///
/// Groups of one joint or control share a range: the largest distance from rest that own examples give them.
/// Groups are scaled so that all ranges are the largest one; factors of squared distances (weighted PSD) come
/// on top, as scales, since weights have another meaning here.
fn from_rest<'a>(samples: &Samples, targets: &'a Targets<'a>) -> (Vec<System<'a>>, f64) {
    let movers = movers_of(&samples.groups);
    let own_range = |groups: &Vec<usize>| range_of(samples, groups.iter().copied(), targets.own);
    let ranges: Vec<f64> = movers.iter().map(own_range).collect();
    let range = ranges.iter().copied().fold(0.0, f64::max);
    if range <= 0.0 {
        return (Vec::new(), range);
    }
    let mut scaled = samples.clone();
    for (groups, own) in movers.iter().zip(ranges) {
        let factor = range / own.max(LEAST_RANGE * range);
        for &group in groups {
            let group = &mut scaled.groups[group];
            group.scale = group.scale.times(factor * group.weight.sqrt());
        }
    }
    let mut with = |times: usize, weight: f64| {
        for group in &mut scaled.groups {
            group.weight = weight;
        }
        System::from_rest(&scaled, targets, Kernel::Multiquadric, ShapeFromRest { range, times })
    };
    // Anchors hold a combination at zero wherever one of its joints is at rest: it starts as the product of
    // their angles, without being told to.
    let has_anchors = samples.count() > targets.own + 1;
    let in_proportion = with(1, 1.0);
    if moves_joints(samples) && (movers.len() == 1 || !has_anchors) {
        (vec![with(2, weight_for_half_way(2 * movers.len())), in_proportion], range)
    } else {
        (vec![in_proportion], range)
    }
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

fn moves_joints(samples: &Samples) -> bool {
    samples.groups.iter().any(|group| matches!(group.source, FeatureSource::Joint { .. }))
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
    /// One width for all.
    fn with_width<'s, 't>(&self, system: &'s System<'t>, width: f64) -> WithWidths<'s, 't> {
        system.with_widths(self.targets.with_radii(vec![width; self.samples.count()]))
    }

    /// Solved with the least smoothing on top that f64 needs; none if examples are missed then.
    fn within_reach(system: &WithWidths<'_, '_>, smoothing: f64) -> Option<Solution> {
        let plain = system.solve(smoothing);
        if plain.condition <= REACH {
            return Some(plain);
        }
        let more = LEAST_SMOOTHINGS.iter().filter(|&&more| more > smoothing);
        let solutions = more.map(|&more| Solution { smoothing, ..system.solve(more) });
        let reached = { solutions }.find(|solution| solution.condition <= REACH)?;
        (smoothing > 0.0 || system.miss(&reached) <= MET).then_some(reached)
    }

    /// The width that predicts left-out examples best; where smoothing is left open and examples are many, also
    /// the smoothing.
    fn best_width(&self, system: &System<'_>, widths: &[f64]) -> Result<Solution, Cancelled> {
        let is_open = self.automatic && self.samples.count() > MANY;
        let smoothings: Vec<f64> =
            [self.smoothing].into_iter().chain(SMOOTHINGS.into_iter().filter(|_| is_open)).collect();
        // Kernels are computed once per width. Inverses are large: only errors are kept.
        let errors: Vec<Vec<Option<f64>>> = widths
            .par_iter()
            .map(|&width| {
                let system = self.with_width(system, width);
                let error = |&smoothing: &f64| {
                    self.progress.doing(INTERPOLATING)?;
                    Ok(Self::within_reach(&system, smoothing).map(|solution| solution.leave_one_out))
                };
                smoothings.iter().map(error).collect::<Result<_, Cancelled>>()
            })
            .collect::<Result<_, Cancelled>>()?;
        let best = |place: usize| {
            let reached = widths.iter().zip(&errors).filter_map(|(&width, of)| Some((width, of[place]?)));
            let best = reached.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(width, _)| width);
            let solution =
                best.and_then(|width| Self::within_reach(&self.with_width(system, width), smoothings[place]));
            solution.unwrap_or_else(|| self.narrowest(system, widths, smoothings[place]))
        };
        let exact = best(0);
        let smoothed = (1..smoothings.len()).map(best);
        let smoothed = smoothed.min_by(|a, b| a.leave_one_out.total_cmp(&b.leave_one_out));
        Ok(smoothed.filter(|best| best.leave_one_out < PAYS * exact.leave_one_out).unwrap_or(exact))
    }

    fn narrowest(&self, system: &System<'_>, widths: &[f64], smoothing: f64) -> Solution {
        let narrowest = widths.iter().copied().fold(f64::INFINITY, f64::min);
        self.with_width(system, narrowest).solve(smoothing)
    }

    /// The first of falling widths for which no weight of an own example falls below `allowed` between samples;
    /// the one that falls least where all do.
    fn widest_without_overshoot(
        &self,
        system: &System<'_>,
        widths: &[f64],
        allowed: f64,
    ) -> Result<Solution, Cancelled> {
        let mut best: Option<(f64, Solution)> = None;
        for &width in widths {
            self.progress.doing(INTERPOLATING)?;
            let with_width = self.with_width(system, width);
            let Some(solution) = Self::within_reach(&with_width, self.smoothing) else { continue };
            let lowest = self.lowest_weight(system, &solution);
            if lowest >= allowed {
                return Ok(solution);
            }
            if best.as_ref().is_none_or(|(known, _)| lowest > *known) {
                best = Some((lowest, solution));
            }
        }
        Ok(best.map_or_else(|| self.narrowest(system, widths, self.smoothing), |(_, solution)| solution))
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
