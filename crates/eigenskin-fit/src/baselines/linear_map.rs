//! The direct linear map from joints to vertices (after Morris).

use std::sync::Arc;

use glam::{DMat3, Vec3};

use super::{blended, carry_with_root, displacements_from_root, root_motion};
use crate::numeric::{Matrix, symmetric_pseudo_inverse};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;

/// A least-squares linear map from joint transforms and controls to vertices (after Morris), of
/// minimum norm. It is learnt in the first root's space, so moving the character commutes with it,
/// and away from rest, so rest stays rest.
#[derive(Debug, Clone)]
pub struct LinearMap {
    rig: Arc<Rig>,
    /// `example × feature`
    features: Vec<Vec<f64>>,
    /// pseudo-inverse of features · featuresᵀ, `example × example`
    inverse: Matrix,
    /// away from rest in the root's space, `example × vertex`
    displacements: Vec<Vec<Vec3>>,
}

/// Squared singular values below this share of the largest are noise of `f32` transforms.
const NOISE: f64 = 1e-10;

impl LinearMap {
    /// Learns the map.
    pub fn fit(examples: &ExampleSet) -> Self {
        let rig = examples.rig().clone();
        let features: Vec<Vec<f64>> = examples.examples().iter().map(|e| features(&rig, &e.pose)).collect();
        let count = features.len();
        let gram = Matrix::from_fn(count, count, |a, b| dot(&features[a], &features[b]));
        let displacements = displacements_from_root(examples);
        Self { rig, features, inverse: symmetric_pseudo_inverse(&gram, NOISE), displacements }
    }

    /// Posed positions, `vertex`.
    pub fn shape(&self, pose: &Pose) -> Vec<Vec3> {
        let here = features(&self.rig, pose);
        let products: Vec<f64> = self.features.iter().map(|there| dot(there, &here)).collect();
        let share = |example: usize| -> f64 {
            products.iter().enumerate().map(|(k, p)| self.inverse[(example, k)] * p).sum()
        };
        let shares: Vec<f64> = (0..self.displacements.len()).map(share).collect();
        let mut shape = blended(&self.rig, &shares, &self.displacements);
        carry_with_root(&self.rig, pose, &mut shape);
        shape
    }

    /// Numbers that a pose is described by.
    pub fn feature_count(&self) -> usize {
        self.features.first().map_or(0, Vec::len)
    }
}

/// How the joints carry the rest shape, seen from the first root, away from rest; then the
/// controls. Translations are in sizes of the character, so that the minimum norm has no unit.
fn features(rig: &Rig, pose: &Pose) -> Vec<f64> {
    let (root, rest_from_posed) = (rig.skeleton().first_root(), root_motion(rig, pose).inverse());
    let size = rig.mesh().size();
    let joints = pose.posed_from_rest(rig.skeleton()).enumerate().filter(|&(joint, _)| Some(joint) != root);
    let mut features = Vec::new();
    for (_, posed_from_rest) in joints {
        let seen = rest_from_posed * posed_from_rest;
        features.extend((seen.matrix3 - DMat3::IDENTITY).to_cols_array());
        features.extend((seen.translation / size).to_array());
    }
    features.extend(pose.controls.iter().zip(rig.controls()).map(|(value, c)| value - c.default));
    features
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
