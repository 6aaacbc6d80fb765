//! Pose space deformations on the same examples as all other methods, and what the methods make of
//! examples that were left out.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::{
    Method, MethodErrors, PoseWeights, SetErrors, ShapeInterpolation, linear_errors, of_model, posed,
};
use crate::method::psd::{DeltaSpace, PrototypeParams};
use crate::method::{Budget, EigenSkinParams, FitError, PsdError, PsdParams, fit_eigenskin, fit_psd};
use crate::metrics::{EXACT, summary, vertex_errors};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::pose::Pose;

/// A method that was not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct UnmeasuredMethod {
    /// which one
    pub method: Method,
    /// why, in lower case without a full stop
    pub reason: String,
}

/// The most bytes of displacement fields that a baseline may take.
const MOST_BYTES: usize = 256 << 20;
/// Leaving out one example at a time costs about examples² × vertices; beyond this it takes minutes.
const MOST_LEFT_OUT_WORK: usize = 10_000_000;

/// Measures forward, inverse and weighted pose space deformation, which learn from `training`, on
/// every set. Deltas and prototypes are those of the method; all else is as `params` say.
pub fn psd_baselines(
    training: &ExampleSet,
    params: &PsdParams,
    sets: &[&ExampleSet],
) -> (Vec<MethodErrors>, Vec<UnmeasuredMethod>) {
    let linear = linear_errors(sets);
    let (mut methods, mut unmeasured) = (Vec::new(), Vec::new());
    for method in [Method::ForwardPsd, Method::InversePsd, Method::WeightedPsd] {
        match psd_model(method, training, params) {
            Ok(model) => methods.push(of_model(method, model, sets, &linear)),
            Err(reason) => unmeasured.push(UnmeasuredMethod { method, reason }),
        }
    }
    (methods, unmeasured)
}

/// Adds to `methods` their errors on the training examples, each left out in turn: to those that
/// learn nothing, to shape interpolation, to the pose space deformations, and to EigenSkin with all
/// components; the others are left as they are. Says why where that takes too long or cannot be done.
pub fn add_leave_one_out(
    methods: &mut [MethodErrors],
    training: &ExampleSet,
    eigenskin: &EigenSkinParams,
    psd: &PsdParams,
) -> Vec<UnmeasuredMethod> {
    let Some(linear) = linear_errors(&[training]).first().copied() else { return Vec::new() };
    let work = training.len().pow(2) * training.rig().vertex_count();
    let mut unmeasured = Vec::new();
    for errors in methods {
        let method = errors.method;
        let learnt: Option<Shapes> = match method {
            // Nothing is learnt, so nothing changes.
            Method::Skinning(_) | Method::Components(0) => {
                errors.on.extend(errors.on.first().copied());
                None
            }
            Method::ShapeInterpolation => Some(Box::new(|set| interpolated(set, eigenskin))),
            Method::AllComponents => Some(Box::new(|set| all_components(set, eigenskin))),
            Method::ForwardPsd | Method::InversePsd | Method::WeightedPsd => Some(Box::new(move |set| {
                let model = Arc::new(psd_model(method, set, psd)?);
                Ok(Box::new(move |pose| posed(&model, pose)))
            })),
            Method::LinearMap | Method::Components(_) | Method::ExampleTargets => None,
        };
        let Some(learnt) = learnt else { continue };
        if work > MOST_LEFT_OUT_WORK {
            let reason = format!(
                "leaving out each of {} examples of {} vertices in turn would take too long",
                training.len(),
                training.rig().vertex_count()
            );
            unmeasured.push(UnmeasuredMethod { method, reason });
            continue;
        }
        match left_out(training, &learnt) {
            Ok(distances) => {
                let size = training.rig().mesh().size();
                let found = summary(distances.iter().map(Vec::as_slice), size);
                let exact = linear.rmse <= EXACT * size;
                let relative_error = (!exact).then(|| found.rmse / linear.rmse);
                errors.on.push(SetErrors { errors: found, relative_error });
            }
            Err(reason) => unmeasured.push(UnmeasuredMethod { method, reason }),
        }
    }
    unmeasured
}

/// What a method makes of a pose.
type Shape<'a> = Box<dyn Fn(&Pose) -> Vec<Vec3> + 'a>;
/// How it learns that from examples.
type Shapes<'a> = Box<dyn Fn(&ExampleSet) -> Result<Shape<'static>, String> + Sync + 'a>;

/// Distances of every example from what a method makes of it that has learnt from the others,
/// `example × vertex`.
fn left_out(training: &ExampleSet, learn: &Shapes) -> Result<Vec<Vec<f32>>, String> {
    (0..training.len())
        .into_par_iter()
        .map(|left_out| {
            let example = &training.examples()[left_out];
            let others: Vec<usize> = (0..training.len()).filter(|&index| index != left_out).collect();
            let without = |reason: String| format!("without example {:?}: {reason}", example.name);
            let others = training.select(&others).map_err(|error| without(error.to_string()))?;
            let shape = learn(&others).map_err(without)?;
            Ok(vertex_errors(&shape(&example.pose), &example.positions))
        })
        .collect()
}

fn interpolated(set: &ExampleSet, params: &EigenSkinParams) -> Result<Shape<'static>, String> {
    let said = |error: FitError| error.to_string();
    let (seen, _) = set.for_training(params.allows_compromise()).map_err(|error| error.to_string())?;
    let shapes = ShapeInterpolation::new(&seen, PoseWeights::fit(&seen, params).map_err(said)?);
    Ok(Box::new(move |pose| shapes.shape(pose)))
}

fn all_components(set: &ExampleSet, params: &EigenSkinParams) -> Result<Shape<'static>, String> {
    let budget = Budget { per_vertex: None, per_joint: None, total: None };
    let base = params.base.closed_form().into();
    let params = EigenSkinParams { base, budget, normals: false, ..params.clone() };
    let model = Arc::new(fit_eigenskin(set, &params).map_err(|error| error.to_string())?.model);
    Ok(Box::new(move |pose| posed(&model, pose)))
}

/// A pose space deformation of positions, without radii of examples that `set` does not have.
fn psd_model(method: Method, set: &ExampleSet, params: &PsdParams) -> Result<Model, String> {
    let (deltas, prototypes) = match method {
        Method::ForwardPsd => (DeltaSpace::Forward { frame: Frame::Root }, None),
        Method::WeightedPsd => (DeltaSpace::Inverse, Some(params.prototypes.unwrap_or_default())),
        _ => (DeltaSpace::Inverse, None),
    };
    let copies = prototypes.map_or(1, |PrototypeParams { count, .. }| count);
    let bytes = set.len() * set.rig().vertex_count() * copies * size_of::<Vec3>();
    if bytes > MOST_BYTES {
        return Err(format!(
            "{} fields of {} vertices would take up to {} MB",
            set.len() * copies,
            set.rig().vertex_count(),
            bytes >> 20
        ));
    }
    // Only positions are compared here.
    let base = params.base.closed_form().into();
    let params = PsdParams { base, deltas, prototypes, normals: false, ..params.clone() }.for_examples(set);
    Ok(fit_psd(set, &params).map_err(|error: PsdError| error.to_string())?.model)
}
