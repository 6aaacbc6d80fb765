//! The driver of one support: its coordinates interpolated over the motion of its joint
//! (EigenSkin §2.4).

use eigenskin_core::driver::{Clamp, Driver, FeatureGroup, FeatureScale, Representation};
use eigenskin_core::examples::SAME_POSE;
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;
use eigenskin_core::rig::Rig;
use rayon::prelude::*;

use super::coordinates::SupportCoordinates;
use super::eigenskin::EigenSkinParams;
use super::eigenskin::regions::Regions;
use super::{FitError, Interpolated};
use crate::displacements::Observations;
use crate::drivers::{RbfFit, RbfParams, Samples, clamp_beyond, fit_rbf_on_centres};
use crate::supports::JointSupport;

/// With more distinct settings of a joint, so many are centres and the rest is met by least squares.
const MOST_CENTRES: usize = 256;

/// A sample that is further from rest than another by this share of their distance lies beyond it.
const BEYOND: f64 = 0.7;
/// More samples than this are not chosen axis by axis.
const MOST_OF_AXES: usize = 100;
/// Lengths that differ by a smaller share are the same: rotations are a curved space.
const STRAIGHT: f64 = 0.1;

/// The driver of every support, `support`.
pub fn joint_drivers(
    seen: &Observations,
    regions: &Regions,
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<Vec<RbfFit>, FitError> {
    let of = |support: usize| {
        let observed = regions.coordinates_of(support);
        let EigenSkinParams { interpolation, clamp_margin, .. } = params;
        fit_joint_driver(seen, &regions.supports[support], &observed, interpolation, *clamp_margin, progress)
    };
    (0..regions.supports.len()).into_par_iter().map(of).collect()
}

/// Interpolates a support's coordinates over the motion of its joint.
pub fn fit_joint_driver(
    seen: &Observations,
    support: &JointSupport,
    observed: &SupportCoordinates,
    interpolation: &RbfParams,
    clamp_margin: Option<f64>,
    progress: &dyn Progress,
) -> Result<RbfFit, FitError> {
    let settings = JointSettings::of(seen, support, observed);
    let fit = settings.interpolated(seen, support, interpolation, progress)?;
    let clamp = clamp_margin
        .map_or(Clamp::None, |margin| example_range(&settings.values, observed.component_count, margin));
    Ok(RbfFit { driver: Driver { clamp, ..fit.driver }, ..fit })
}

/// Squared errors of a support's coordinates in examples that are left out in turn, `component`. Examples at the ends of
/// a joint's range are left out only where it was seen to turn about several axes, but never about two at once: there,
/// poses of several joints go beyond all that was seen.
pub fn left_out_squares(
    seen: &Observations,
    support: &JointSupport,
    observed: &SupportCoordinates,
    interpolation: &RbfParams,
    progress: &dyn Progress,
) -> Result<Vec<f64>, FitError> {
    let settings = JointSettings::of(seen, support, observed);
    let fit = settings.interpolated(seen, support, interpolation, progress)?;
    let keeps_ends = settings.lie_on_one_line() || settings.have_corners();
    let is_left_out = |sample: &usize| !keeps_ends || settings.is_inside(*sample);
    let left_out: Vec<usize> = (1..settings.samples.count()).filter(is_left_out).collect();
    let of = |component: usize| left_out.iter().map(|&s| fit.left_out[(s - 1, component)].powi(2)).sum();
    Ok((0..observed.component_count).map(of).collect())
}

/// How a joint was held in the examples, and the coordinates there. Examples that hold it alike but differ elsewhere
/// agree on the mean.
struct JointSettings {
    /// rest first
    samples: Samples,
    /// `sample × component`
    values: Vec<f64>,
    /// `sample`: the first example that holds it so; none for rest
    examples: Vec<Option<usize>>,
}

impl JointSettings {
    fn of(seen: &Observations, support: &JointSupport, observed: &SupportCoordinates) -> Self {
        let rig = &seen.rig;
        let poses = || observed.examples.iter().map(|&example| &seen.poses[example]);
        let groups = feature_groups(rig, support.mover, poses());
        let all = Samples::measure(groups, rig.skeleton(), poses());
        let coordinates: Vec<f64> =
            (0..observed.examples.len()).flat_map(|e| observed.of(e)).copied().collect();
        let (kept, values) = without_repeats(&all, &coordinates, observed.component_count);
        let example = |sample: &usize| sample.checked_sub(1).map(|place| observed.examples[place]);
        Self { samples: all.select(&kept), values, examples: kept.iter().map(example).collect() }
    }

    fn interpolated(
        &self,
        seen: &Observations,
        support: &JointSupport,
        interpolation: &RbfParams,
        progress: &dyn Progress,
    ) -> Result<RbfFit, FitError> {
        let name =
            |sample: usize| self.examples[sample].map_or("rest".to_string(), |e| seen.names[e].clone());
        let of = || Interpolated::Joint(support.mover.name(&seen.rig).to_string());
        fit_rbf_on_centres(&self.samples, &self.values, interpolation, MOST_CENTRES, progress)
            .map_err(|error| FitError::interpolating(of(), error, name))
    }

    /// Whether another sample lies beyond this one, seen from rest.
    fn is_inside(&self, sample: usize) -> bool {
        let distance = |a: usize, b: usize| self.samples.distance(a, b);
        (1..self.samples.count()).any(|other| {
            other != sample && distance(0, other) >= distance(0, sample) + BEYOND * distance(sample, other)
        })
    }

    /// Whether all samples lie on one line with rest, as those of a hinge do.
    fn lie_on_one_line(&self) -> bool {
        let count = self.samples.count();
        (1..count).all(|a| (1..a).all(|b| self.are_on_one_line(a, b)))
    }

    /// Whether two samples lie on one line with rest.
    fn are_on_one_line(&self, a: usize, b: usize) -> bool {
        let distance = |a: usize, b: usize| self.samples.distance(a, b);
        let (to_a, to_b, between) = (distance(0, a), distance(0, b), distance(a, b));
        let off = |straight: f64| (between - straight).abs() <= STRAIGHT * between;
        off(to_a + to_b) || off((to_a - to_b).abs())
    }

    /// Whether some sample is the fourth corner of a parallelogram over rest and two others: the joint turns about two
    /// axes at once. So many samples that nobody chose them axis by axis count as such.
    fn have_corners(&self) -> bool {
        let distance = |a: usize, b: usize| self.samples.distance(a, b);
        let count = self.samples.count();
        if count > MOST_OF_AXES {
            return true;
        }
        let is_corner = |a: usize, b: usize, corner: usize| {
            let allowed = STRAIGHT * distance(0, corner);
            (distance(a, corner) - distance(0, b)).abs() <= allowed
                && (distance(b, corner) - distance(0, a)).abs() <= allowed
        };
        let mut pairs = (1..count).flat_map(|a| (1..a).map(move |b| (a, b)));
        pairs.any(|(a, b)| {
            !self.are_on_one_line(a, b)
                && (1..count).any(|corner| corner != a && corner != b && is_corner(a, b, corner))
        })
    }
}

/// The samples to interpolate, rest first, and their values (`sample × component`), from those of all
/// examples (`example × component`): a sample that repeats an earlier setting joins it, and they
/// agree on the mean.
pub(super) fn without_repeats(
    all: &Samples,
    coordinates: &[f64],
    component_count: usize,
) -> (Vec<usize>, Vec<f64>) {
    let mut kept: Vec<usize> = vec![0];
    let mut sums: Vec<Vec<f64>> = vec![vec![0.0; component_count]];
    let mut repeats = vec![1.0];
    for sample in 1..all.count() {
        let twin = (0..kept.len()).skip(1).find(|&k| all.distance(kept[k], sample) <= SAME_POSE);
        let place = twin.unwrap_or_else(|| {
            kept.push(sample);
            sums.push(vec![0.0; component_count]);
            repeats.push(0.0);
            kept.len() - 1
        });
        repeats[place] += 1.0;
        let values = &coordinates[(sample - 1) * component_count..sample * component_count];
        for (sum, value) in sums[place].iter_mut().zip(values) {
            *sum += value;
        }
    }
    let values =
        sums.iter().zip(&repeats).flat_map(|(sum, &count)| sum.iter().map(move |s| s / count)).collect();
    (kept, values)
}

/// The range of every coordinate over rest and examples (`sample × component`), widened by
/// `margin` of its extent as [`clamp_beyond`] does it.
pub(super) fn example_range(values: &[f64], component_count: usize, margin: f64) -> Clamp {
    let mut lowest = vec![0f64; component_count];
    let mut highest = vec![0f64; component_count];
    for sample in values.chunks_exact(component_count.max(1)) {
        for (component, &value) in sample.iter().enumerate() {
            lowest[component] = lowest[component].min(value);
            highest[component] = highest[component].max(value);
        }
    }
    clamp_beyond(lowest.into_iter().zip(highest), |low, high| margin * (high - low))
}

/// The joint's rotation by geodesic angle (§2.4), its translation where some pose has any; a control in the range
/// that the poses give it, so that its unit changes nothing.
pub(crate) fn feature_groups<'a>(
    rig: &Rig,
    mover: Mover,
    mut poses: impl Iterator<Item = &'a Pose>,
) -> Vec<FeatureGroup> {
    match mover {
        Mover::Control(control) => {
            let rest = rig.controls()[control].default;
            let range = poses.map(|pose| (pose.controls[control] - rest).abs()).fold(0.0, f64::max);
            let scale = FeatureScale::One(if range > 0.0 { 1.0 / range } else { 1.0 });
            vec![FeatureGroup::control(control, rest).scaled(scale)]
        }
        Mover::Joint(joint) => {
            let translates = poses.any(|pose| {
                let motion = pose.motion_of(rig.skeleton(), joint);
                motion.translation.length() > SAME_POSE * rig.mesh().size() * 100.0
            });
            let rotation = FeatureGroup::joint(rig.skeleton(), joint, Representation::Rotation);
            let translation = FeatureGroup::joint(rig.skeleton(), joint, Representation::Translation)
                .filter(|_| translates)
                .map(|group| group.scaled(FeatureScale::One(1.0 / rig.mesh().size())));
            rotation.into_iter().chain(translation).collect()
        }
    }
}
