//! What a model must be better than: plain skinning of three kinds, a direct linear map from
//! joints to vertices, shape interpolation, the same method with fewer or all components, and the
//! example shapes stored whole.

mod example_targets;
mod linear_map;
mod psd;

use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;
use glam::{DAffine3, Vec3};
use rayon::prelude::*;

use crate::during::During;
use crate::method::{Budget, EigenSkinParams, Fit, FitError, JointReport, Method, fit_examples};
use crate::metrics::{EXACT, ErrorSummary, shape_errors};

pub use example_targets::{ExampleTargets, PoseWeights, ShapeInterpolation};
pub use linear_map::LinearMap;
pub use psd::{UnmeasuredMethod, add_leave_one_out, psd_baselines};

/// A way to pose a skin that models are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// plain skinning
    Skinning(BaseSkinning),
    /// [`LinearMap`]
    LinearMap,
    /// EigenSkin with at most so many components for every joint, no other limit
    Components(usize),
    /// EigenSkin with every component
    AllComponents,
    /// [`ShapeInterpolation`]
    ShapeInterpolation,
    /// [`ExampleTargets`]
    ExampleTargets,
    /// pose space deformation after skinning, in the root's axes
    ForwardPsd,
    /// pose space deformation before skinning
    InversePsd,
    /// the same, with distances of poses weighted by skin weights
    WeightedPsd,
}

/// A method, what it stores, and its errors.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodErrors {
    /// which one
    pub method: Baseline,
    /// displacement fields
    pub fields: usize,
    /// most components that move one vertex
    pub most_per_vertex: usize,
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
///
/// ```
/// use eigenskin_core::Unwatched;
/// use eigenskin_fit::baselines::skinning_baselines;
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// for method in skinning_baselines(&[&examples], &Unwatched)? {
///     println!("{:?}: {:.4}", method.method, method.on[0].errors.rmse);
/// }
/// # Ok::<(), eigenskin_core::Cancelled>(())
/// ```
pub fn skinning_baselines(
    sets: &[&ExampleSet],
    progress: &dyn Progress,
) -> Result<Vec<MethodErrors>, Cancelled> {
    let Some(rig) = sets.first().map(|set| set.rig()) else { return Ok(Vec::new()) };
    let linear = linear_errors(sets, progress)?;
    [BaseSkinning::Rigid, BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion]
        .into_iter()
        .map(|base| {
            let model = Model::without_corrections(rig.clone(), base);
            of_model(Baseline::Skinning(base), model, sets, &linear, progress)
        })
        .collect()
}

/// Measures the methods that learn from `training`, on top of `base`, on every set: the linear map, shape
/// interpolation, EigenSkin with 0 to `most_components` components per joint and with all of them,
/// and whole example targets.
pub fn learnt_baselines(
    training: &ExampleSet,
    base: BaseSkinning,
    params: &EigenSkinParams,
    most_components: usize,
    sets: &[&ExampleSet],
    progress: &dyn Progress,
) -> Result<Vec<MethodErrors>, FitError> {
    let progress = &During::new(progress, MEASURING);
    let linear = linear_errors(sets, progress)?;
    let fitted = |per_joint: Option<usize>| -> Result<Fit, FitError> {
        let budget = Budget { per_vertex: None, per_joint, total: None };
        // Only positions are compared here.
        let params = EigenSkinParams { budget, normals: false, ..params.clone() };
        fit_examples(training, &base.into(), &Method::EigenSkin(params), progress)
    };
    let all = fitted(None)?;
    let joints = all.learnt.eigenskin().map_or(&[][..], |report| &report.joints);
    let largest = joints.iter().map(|joint: &JointReport| joint.component_count).max().unwrap_or(0);
    let none = Model::without_corrections(training.rig().clone(), base);
    let (seen, _) = training.for_training(params.allows_compromise())?;
    let weights = PoseWeights::fit(&seen, base, &params.interpolation, progress)?;
    let shapes = ShapeInterpolation::new(&seen, weights.clone());
    let targets = ExampleTargets::new(&seen, base, weights, progress)?;
    let shape = |pose: &Pose| shapes.shape(pose);
    let mut methods = vec![
        of_linear_map(training, sets, &linear, progress)?,
        of_fields(Baseline::ShapeInterpolation, seen.len(), sets, &linear, shape, progress)?,
        of_model(Baseline::Components(0), none, sets, &linear, progress)?,
    ];
    for count in 1..=most_components.min(largest) {
        let model = fitted(Some(count))?.model;
        methods.push(of_model(Baseline::Components(count), model, sets, &linear, progress)?);
    }
    methods.push(of_model(Baseline::AllComponents, all.model, sets, &linear, progress)?);
    let shape = |pose: &Pose| targets.shape(pose);
    methods.push(of_fields(Baseline::ExampleTargets, seen.len(), sets, &linear, shape, progress)?);
    Ok(methods)
}

/// What is said while other methods are measured.
const MEASURING: &str = "measuring other methods";

/// Bytes of the position displacements of a model, as plain `f32`.
pub fn displacement_bytes(model: &Model) -> usize {
    model.layers().iter().map(|layer| size_of_val(layer.basis.positions.as_slice())).sum()
}

fn of_linear_map(
    training: &ExampleSet,
    sets: &[&ExampleSet],
    linear: &[ErrorSummary],
    progress: &dyn Progress,
) -> Result<MethodErrors, Cancelled> {
    let map = LinearMap::fit(training);
    of_fields(Baseline::LinearMap, map.feature_count(), sets, linear, |pose| map.shape(pose), progress)
}

/// A method that stores whole fields: one tuple of each at every vertex.
fn of_fields(
    method: Baseline,
    fields: usize,
    sets: &[&ExampleSet],
    linear: &[ErrorSummary],
    shape: impl Fn(&Pose) -> Vec<Vec3> + Sync,
    progress: &dyn Progress,
) -> Result<MethodErrors, Cancelled> {
    let vertices = sets.first().map_or(0, |set| set.rig().vertex_count());
    let bytes = fields * vertices * size_of::<Vec3>();
    let on = errors_on(sets, linear, shape, progress)?;
    Ok(MethodErrors { method, fields, most_per_vertex: fields, bytes, on })
}

fn of_model(
    method: Baseline,
    model: Model,
    sets: &[&ExampleSet],
    linear: &[ErrorSummary],
    progress: &dyn Progress,
) -> Result<MethodErrors, Cancelled> {
    let (fields, most_per_vertex) = (model.component_count(), model.most_components_per_vertex());
    let bytes = displacement_bytes(&model);
    let model = Arc::new(model);
    let on = errors_on(sets, linear, |pose| posed(&model, pose), progress)?;
    Ok(MethodErrors { method, fields, most_per_vertex, bytes, on })
}

fn errors_on(
    sets: &[&ExampleSet],
    linear: &[ErrorSummary],
    shape: impl Fn(&Pose) -> Vec<Vec3> + Sync,
    progress: &dyn Progress,
) -> Result<Vec<SetErrors>, Cancelled> {
    sets.iter()
        .zip(linear)
        .map(|(set, linear)| {
            let errors = shape_errors(set, &shape, progress)?;
            let exact = linear.rmse <= EXACT * set.rig().mesh().size();
            Ok(SetErrors { errors, relative_error: (!exact).then(|| errors.rmse / linear.rmse) })
        })
        .collect()
}

fn linear_errors(sets: &[&ExampleSet], progress: &dyn Progress) -> Result<Vec<ErrorSummary>, Cancelled> {
    sets.iter()
        .map(|set| {
            let linear = Model::without_corrections(set.rig().clone(), BaseSkinning::LinearBlend);
            let linear = Arc::new(linear);
            shape_errors(set, |pose| posed(&linear, pose), progress)
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

/// Carries a shape (`vertex`) that is seen from the first root to where the root is.
fn carry_with_root(rig: &Rig, pose: &Pose, shape: &mut [Vec3]) {
    let posed_from_rest = root_motion(rig, pose);
    for vertex in shape {
        *vertex = posed_from_rest.transform_point3(vertex.as_dvec3()).as_vec3();
    }
}

/// How far the examples are from the rest shape, seen from the first root, `example × vertex`.
fn displacements_from_root(set: &ExampleSet) -> Vec<Vec<Vec3>> {
    let rig = set.rig();
    let rest = rig.mesh().positions();
    set.examples()
        .par_iter()
        .map(|example| {
            let rest_from_posed = root_motion(rig, &example.pose).inverse();
            let pairs = example.positions.iter().zip(rest);
            pairs
                .map(|(p, r)| (rest_from_posed.transform_point3(p.as_dvec3()) - r.as_dvec3()).as_vec3())
                .collect()
        })
        .collect()
}

/// The rest shape plus `shares` (`field`) of displacement fields (`field × vertex`).
fn blended(rig: &Rig, shares: &[f64], fields: &[Vec<Vec3>]) -> Vec<Vec3> {
    let mut shape = rig.mesh().positions().to_vec();
    for (&share, field) in shares.iter().zip(fields).filter(|&(&share, _)| share != 0.0) {
        for (vertex, moved) in shape.iter_mut().zip(field) {
            *vertex += share as f32 * *moved;
        }
    }
    shape
}
