//! Poses measured for a set of feature groups: what interpolants are fitted to.

use eigenskin_core::driver::FeatureGroup;
use eigenskin_core::pose::Pose;
use eigenskin_core::skeleton::Skeleton;

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
