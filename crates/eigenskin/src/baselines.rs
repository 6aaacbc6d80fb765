//! What a model must be better than: plain skinning of three kinds, a direct linear map from
//! joints to vertices, and the same method with fewer or all components.

use std::sync::Arc;

use glam::{DAffine3, DMat3, Vec3};
use rayon::prelude::*;

use crate::evaluate::Evaluator;
use crate::examples::ExampleSet;
use crate::fit::{Budget, EigenSkinParams, FitError, fit_eigenskin};
use crate::metrics::{EXACT, ErrorSummary, shape_errors};
use crate::model::Model;
use crate::numeric::{Matrix, symmetric_pseudo_inverse};
use crate::pose::Pose;
use crate::rig::Rig;
use crate::skinning::BaseSkinning;

/// A way to pose a skin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// skinning alone
    Skinning(BaseSkinning),
    /// [`LinearMap`]
    LinearMap,
    /// EigenSkin with at most so many components for every joint, no other limit
    Components(usize),
    /// EigenSkin with every component: spans what the examples span as targets of their own
    AllComponents,
}

/// A method, what it stores, and its errors.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodErrors {
    /// which one
    pub method: Method,
    /// displacement fields
    pub fields: usize,
    /// displacement tuples at any vertex
    pub most_tuples: usize,
    /// bytes of what it stores beyond the rig, as plain `f32`
    pub bytes: usize,
    /// `set`
    pub on: Vec<SetErrors>,
}

/// Errors of a method on one set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetErrors {
    /// in the rest shape's unit
    pub errors: ErrorSummary,
    /// ‖method − truth‖ / ‖linear blending − truth‖; `None` when linear blending is exact
    pub relative_error: Option<f64>,
}

/// Measures the methods that need no examples on every set: rigid, linear blend, dual quaternion.
pub fn skinning_baselines(sets: &[&ExampleSet]) -> Vec<MethodErrors> {
    let Some(rig) = sets.first().map(|set| set.rig()) else { return Vec::new() };
    let linear = linear_errors(sets);
    [BaseSkinning::Rigid, BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion]
        .into_iter()
        .map(|base| {
            let model = Model::without_corrections(rig.clone(), base);
            of_model(Method::Skinning(base), model, sets, &linear)
        })
        .collect()
}

/// Measures the methods that learn from `training` on every set: the linear map, EigenSkin with 0
/// to `most_components` components per joint, and with all of them.
pub fn learnt_baselines(
    training: &ExampleSet,
    params: &EigenSkinParams,
    most_components: usize,
    sets: &[&ExampleSet],
) -> Result<Vec<MethodErrors>, FitError> {
    let linear = linear_errors(sets);
    let fitted = |per_joint: Option<usize>| {
        let budget = Budget { per_vertex: None, per_joint, total: None };
        // Only positions are compared here.
        fit_eigenskin(training, &EigenSkinParams { budget, normals: false, ..params.clone() })
    };
    let all = fitted(None)?;
    let largest = all.joints.iter().map(|joint| joint.component_count).max().unwrap_or(0);
    let none = Model::without_corrections(training.rig().clone(), params.base);
    let mut methods =
        vec![of_linear_map(training, sets, &linear), of_model(Method::Components(0), none, sets, &linear)];
    for count in 1..=most_components.min(largest) {
        methods.push(of_model(Method::Components(count), fitted(Some(count))?.model, sets, &linear));
    }
    methods.push(of_model(Method::AllComponents, all.model, sets, &linear));
    Ok(methods)
}

/// Bytes of the position displacements of a model, as plain `f32`.
pub fn displacement_bytes(model: &Model) -> usize {
    model.layers().iter().map(|layer| size_of_val(layer.basis.positions.as_slice())).sum()
}

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
        let displacements = examples
            .examples()
            .par_iter()
            .map(|example| {
                let rest_from_posed = root_motion(&rig, &example.pose).inverse();
                let rest = rig.mesh().positions();
                example
                    .positions
                    .iter()
                    .zip(rest)
                    .map(|(p, r)| (rest_from_posed.transform_point3(p.as_dvec3()) - r.as_dvec3()).as_vec3())
                    .collect()
            })
            .collect();
        Self { rig, features, inverse: symmetric_pseudo_inverse(&gram, NOISE), displacements }
    }

    /// Posed positions, `vertex`.
    pub fn shape(&self, pose: &Pose) -> Vec<Vec3> {
        let here = features(&self.rig, pose);
        let products: Vec<f64> = self.features.iter().map(|there| dot(there, &here)).collect();
        let mut shape = self.rig.mesh().positions().to_vec();
        for (example, displacement) in self.displacements.iter().enumerate() {
            let share: f64 = products.iter().enumerate().map(|(k, p)| self.inverse[(example, k)] * p).sum();
            for (vertex, moved) in shape.iter_mut().zip(displacement) {
                *vertex += share as f32 * *moved;
            }
        }
        let posed_from_rest = root_motion(&self.rig, pose);
        for vertex in &mut shape {
            *vertex = posed_from_rest.transform_point3(vertex.as_dvec3()).as_vec3();
        }
        shape
    }

    /// Numbers that a pose is described by.
    pub fn feature_count(&self) -> usize {
        self.features.first().map_or(0, Vec::len)
    }
}

fn of_linear_map(training: &ExampleSet, sets: &[&ExampleSet], linear: &[ErrorSummary]) -> MethodErrors {
    let map = LinearMap::fit(training);
    let fields = map.feature_count();
    MethodErrors {
        method: Method::LinearMap,
        fields,
        most_tuples: fields,
        bytes: fields * training.rig().vertex_count() * size_of::<Vec3>(),
        on: errors_on(sets, linear, |pose| map.shape(pose)),
    }
}

fn of_model(method: Method, model: Model, sets: &[&ExampleSet], linear: &[ErrorSummary]) -> MethodErrors {
    let (fields, most_tuples) = (model.component_count(), model.most_tuples_per_vertex());
    let bytes = displacement_bytes(&model);
    let model = Arc::new(model);
    let on = errors_on(sets, linear, |pose| posed(&model, pose));
    MethodErrors { method, fields, most_tuples, bytes, on }
}

fn errors_on(
    sets: &[&ExampleSet],
    linear: &[ErrorSummary],
    shape: impl Fn(&Pose) -> Vec<Vec3> + Sync,
) -> Vec<SetErrors> {
    sets.iter()
        .zip(linear)
        .map(|(set, linear)| {
            let errors = shape_errors(set, &shape);
            let exact = linear.rmse <= EXACT * set.rig().mesh().size();
            SetErrors { errors, relative_error: (!exact).then(|| errors.rmse / linear.rmse) }
        })
        .collect()
}

fn linear_errors(sets: &[&ExampleSet]) -> Vec<ErrorSummary> {
    sets.iter()
        .map(|set| {
            let linear = Model::without_corrections(set.rig().clone(), BaseSkinning::LinearBlend);
            let linear = Arc::new(linear);
            shape_errors(set, |pose| posed(&linear, pose))
        })
        .collect()
}

fn posed(model: &Arc<Model>, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
    positions
}

/// Where the first root carries the rest shape.
fn root_motion(rig: &Rig, pose: &Pose) -> DAffine3 {
    rig.skeleton().first_root().map_or(DAffine3::IDENTITY, |root| {
        pose.world_from_joint[root] * rig.skeleton().joints()[root].joint_from_rest
    })
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
