//! Poses measured for a set of feature groups: what interpolants are fitted to.

use std::ops::Range;

use eigenskin_core::driver::{Driver, FeatureGroup, Representation};
use eigenskin_core::pose::Pose;
use eigenskin_core::skeleton::Skeleton;
use glam::DQuat;

/// Measured poses, rest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// how the poses were measured
    pub groups: Vec<FeatureGroup>,
    /// `sample × feature`; sample 0 is rest
    pub features: Vec<f64>,
    /// `sample × linear coordinate`
    pub linear: Vec<f64>,
}

impl Samples {
    /// Rest, then the given poses.
    pub fn measure<'a>(
        groups: Vec<FeatureGroup>,
        skeleton: &Skeleton,
        poses: impl IntoIterator<Item = &'a Pose>,
    ) -> Self {
        let feature_count: usize = groups.iter().map(FeatureGroup::feature_count).sum();
        let linear_count: usize = groups.iter().map(FeatureGroup::linear_count).sum();
        let mut features = vec![0.0; feature_count];
        let mut at = 0;
        for group in &groups {
            group.write_rest_features(&mut features[at..at + group.feature_count()]);
            at += group.feature_count();
        }
        let mut samples = Self { groups, features, linear: vec![0.0; linear_count] };
        for pose in poses {
            samples.push(skeleton, pose);
        }
        samples
    }

    fn push(&mut self, skeleton: &Skeleton, pose: &Pose) {
        for group in &self.groups {
            let measured = group.measure(skeleton, pose);
            let start = self.features.len();
            self.features.resize(start + group.feature_count(), 0.0);
            group.write_features(&measured, &mut self.features[start..]);
            let start = self.linear.len();
            self.linear.resize(start + group.linear_count(), 0.0);
            group.write_linear(&measured, &mut self.linear[start..]);
        }
    }

    /// Number of samples, rest counted.
    pub fn count(&self) -> usize {
        let width: usize = self.groups.iter().map(FeatureGroup::feature_count).sum();
        self.features.len().checked_div(width).unwrap_or(0)
    }

    /// Features of one sample, `feature`.
    pub fn features_of(&self, sample: usize) -> &[f64] {
        let width = self.features.len() / self.count();
        &self.features[sample * width..(sample + 1) * width]
    }

    /// Linear coordinates of one sample, `linear coordinate`.
    pub fn linear_of(&self, sample: usize) -> &[f64] {
        let width = self.linear.len() / self.count();
        &self.linear[sample * width..(sample + 1) * width]
    }

    /// Distance of two samples, all groups together: √Σ_g weight_g · d_g².
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.features_of(a), self.features_of(b));
        let mut at = 0;
        let mut sum = 0.0;
        for group in &self.groups {
            let range = at..at + group.feature_count();
            sum += group.weight * group.distance(&a[range.clone()], &b[range.clone()]).powi(2);
            at = range.end;
        }
        sum.sqrt()
    }

    /// Smallest distance of two samples and largest one; infinity and zero where there are no two.
    pub(super) fn distances_within(&self) -> (f64, f64) {
        let pairs = (0..self.count()).flat_map(|second| (0..second).map(move |first| (first, second)));
        pairs
            .map(|(a, b)| self.distance(a, b))
            .fold((f64::INFINITY, 0.0), |(near, far), distance| (near.min(distance), f64::max(far, distance)))
    }

    /// Features (`feature`) and linear coordinates (`linear coordinate`) at a share of the way from one sample
    /// to another.
    pub(super) fn between(&self, from: usize, to: usize, share: f64) -> (Vec<f64>, Vec<f64>) {
        let mix = |a: f64, b: f64| (1.0 - share) * a + share * b;
        let (a, b) = (self.features_of(from), self.features_of(to));
        let mut features = Vec::with_capacity(a.len());
        for (group, range) in self.group_slices() {
            let (a, b) = (&a[range.clone()], &b[range]);
            if let Representation::Rotation | Representation::Swing { .. } = group.representation {
                let (a, b) = (quaternion(a), quaternion(b));
                features.extend(a.slerp(if a.dot(b) < 0.0 { -b } else { b }, share).to_array());
            } else {
                features.extend(a.iter().zip(b).map(|(&a, &b)| mix(a, b)));
            }
        }
        let linear = self.linear_of(from).iter().zip(self.linear_of(to)).map(|(&a, &b)| mix(a, b));
        (features, linear.collect())
    }

    /// Groups, each with the place of its features.
    pub(super) fn group_slices(&self) -> impl Iterator<Item = (&FeatureGroup, Range<usize>)> {
        self.groups.iter().scan(0, |start, group| {
            let range = *start..*start + group.feature_count();
            *start = range.end;
            Some((group, range))
        })
    }

    /// What a driver that was fitted to such samples makes of one, into `outputs` (`output`).
    pub fn evaluate(&self, driver: &Driver, sample: usize, outputs: &mut [f64]) {
        evaluate_repeated(driver, self.features_of(sample), self.linear_of(sample), outputs);
    }

    /// The samples at the given indices, in that order.
    #[must_use]
    pub fn select(&self, samples: &[usize]) -> Self {
        Self {
            groups: self.groups.clone(),
            features: samples.iter().flat_map(|&s| self.features_of(s).iter().copied()).collect(),
            linear: samples.iter().flat_map(|&s| self.linear_of(s).iter().copied()).collect(),
        }
    }
}

/// Outputs of a driver whose groups are those of the features, once or several times over.
pub(super) fn evaluate_repeated(driver: &Driver, features: &[f64], linear: &[f64], outputs: &mut [f64]) {
    let times = driver.feature_count() / features.len().max(1);
    if times == 1 {
        driver.evaluate_features(features, linear, outputs);
    } else {
        driver.evaluate_features(&features.repeat(times), &linear.repeat(times), outputs);
    }
}

fn quaternion(values: &[f64]) -> DQuat {
    DQuat::from_slice(values)
}
