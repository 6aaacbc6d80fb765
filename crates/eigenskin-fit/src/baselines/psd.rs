//! Pose space deformations on the same examples as all other methods, and what the methods make of
//! examples that were left out.

use std::sync::Arc;

use eigenskin_core::examples::{ExampleSet, ExamplesError};
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::skinning::BaseSkinning;
use glam::Vec3;
use rayon::prelude::*;

use super::{
    Baseline, MEASURING, MethodErrors, PoseWeights, SetErrors, ShapeInterpolation, linear_errors, of_model,
    posed,
};
use crate::during::During;
use crate::method::{
    Budget, DeltaSpace, EigenSkinParams, FitError, Method, PrototypeParams, PsdParams, fit_examples,
};
use crate::metrics::{EXACT, summary, vertex_errors};

/// A method that was not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct UnmeasuredMethod {
    /// which one
    pub method: Baseline,
    /// why, in lower case without a full stop
    pub reason: String,
}

/// The most bytes of displacement fields that a baseline may take.
const MOST_BYTES: usize = 256 << 20;
/// Leaving out one example at a time costs about examples² × vertices; beyond this it takes minutes.
const MOST_LEFT_OUT_WORK: usize = 10_000_000;

/// Measures forward, inverse and weighted pose space deformation, which learn from `training` on top of
/// `base`, on every set. Deltas and prototypes are those of the method; all else is as `params` say.
pub fn psd_baselines(
    training: &ExampleSet,
    base: BaseSkinning,
    params: &PsdParams,
    sets: &[&ExampleSet],
    progress: &dyn Progress,
) -> Result<(Vec<MethodErrors>, Vec<UnmeasuredMethod>), Cancelled> {
    let progress = &During::new(progress, MEASURING);
    let linear = linear_errors(sets, progress)?;
    let (mut methods, mut unmeasured) = (Vec::new(), Vec::new());
    for method in [Baseline::ForwardPsd, Baseline::InversePsd, Baseline::WeightedPsd] {
        match psd_model(method, training, base, params, progress) {
            Ok(model) => methods.push(of_model(method, model, sets, &linear, progress)?),
            Err(refused) => unmeasured.push(UnmeasuredMethod { method, reason: refused.reason()? }),
        }
    }
    Ok((methods, unmeasured))
}

/// Adds to `methods` their errors on the training examples, each left out in turn: to those that
/// learn nothing, to shape interpolation, to the pose space deformations, and to EigenSkin with all
/// components; the others are left as they are. Says why where that takes too long or cannot be done.
pub fn add_leave_one_out(
    methods: &mut [MethodErrors],
    training: &ExampleSet,
    base: BaseSkinning,
    eigenskin: &EigenSkinParams,
    psd: &PsdParams,
    progress: &dyn Progress,
) -> Result<Vec<UnmeasuredMethod>, Cancelled> {
    let progress = &During::new(progress, "leaving out examples of other methods");
    let Some(linear) = linear_errors(&[training], progress)?.first().copied() else { return Ok(Vec::new()) };
    let work = training.len().pow(2) * training.rig().vertex_count();
    let mut unmeasured = Vec::new();
    for errors in methods {
        let method = errors.method;
        let learnt: Option<Shapes> = match method {
            // Nothing is learnt, so nothing changes.
            Baseline::Skinning(_) | Baseline::Components(0) => {
                errors.on.extend(errors.on.first().copied());
                None
            }
            Baseline::ShapeInterpolation => {
                Some(Box::new(|set| interpolated(set, base, eigenskin, progress)))
            }
            Baseline::AllComponents => Some(Box::new(|set| all_components(set, base, eigenskin, progress))),
            Baseline::ForwardPsd | Baseline::InversePsd | Baseline::WeightedPsd => {
                Some(Box::new(move |set| {
                    let model = Arc::new(psd_model(method, set, base, psd, progress)?);
                    Ok(Box::new(move |pose| posed(&model, pose)))
                }))
            }
            Baseline::LinearMap | Baseline::Components(_) | Baseline::ExampleTargets => None,
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
            Err(refused) => unmeasured.push(UnmeasuredMethod { method, reason: refused.reason()? }),
        }
    }
    Ok(unmeasured)
}

/// Why a method has no model.
enum Refused {
    Fit(FitError),
    /// it would take too many bytes
    TooLarge(String),
    /// of the others, when one example was left out
    Without(String, Box<Refused>),
}

impl Refused {
    /// In words; not for work that was ended from outside.
    fn reason(self) -> Result<String, Cancelled> {
        match self {
            Self::Fit(FitError::Cancelled(cancelled)) => Err(cancelled),
            Self::Fit(error) => Ok(error.to_string()),
            Self::TooLarge(reason) => Ok(reason),
            Self::Without(example, refused) => {
                Ok(format!("without example {example:?}: {}", refused.reason()?))
            }
        }
    }
}

impl<E: Into<FitError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Fit(error.into())
    }
}

/// What a method makes of a pose.
type Shape<'a> = Box<dyn Fn(&Pose) -> Vec<Vec3> + 'a>;
/// How it learns that from examples.
type Shapes<'a> = Box<dyn Fn(&ExampleSet) -> Result<Shape<'static>, Refused> + Sync + 'a>;

/// Distances of every example from what a method makes of it that has learnt from the others,
/// `example × vertex`.
fn left_out(training: &ExampleSet, learn: &Shapes) -> Result<Vec<Vec<f32>>, Refused> {
    (0..training.len())
        .into_par_iter()
        .map(|left_out| {
            let example = &training.examples()[left_out];
            let others: Vec<usize> = (0..training.len()).filter(|&index| index != left_out).collect();
            let without = |refused: Refused| Refused::Without(example.name.clone(), Box::new(refused));
            let others = training.select(&others).map_err(|error: ExamplesError| without(error.into()))?;
            let shape = learn(&others).map_err(without)?;
            Ok(vertex_errors(&shape(&example.pose), &example.positions))
        })
        .collect()
}

fn interpolated(
    set: &ExampleSet,
    base: BaseSkinning,
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<Shape<'static>, Refused> {
    let (seen, _) = set.for_training(params.allows_compromise())?;
    let weights = PoseWeights::fit(&seen, base, &params.interpolation, progress)?;
    let shapes = ShapeInterpolation::new(&seen, weights);
    Ok(Box::new(move |pose| shapes.shape(pose)))
}

fn all_components(
    set: &ExampleSet,
    base: BaseSkinning,
    params: &EigenSkinParams,
    progress: &dyn Progress,
) -> Result<Shape<'static>, Refused> {
    let budget = Budget::UNLIMITED;
    let method = Method::EigenSkin(EigenSkinParams { budget, normals: false, ..params.clone() });
    let model = Arc::new(fit_examples(set, &base.into(), &method, progress)?.model);
    Ok(Box::new(move |pose| posed(&model, pose)))
}

/// A pose space deformation of positions, without radii of examples that `set` does not have.
fn psd_model(
    method: Baseline,
    set: &ExampleSet,
    base: BaseSkinning,
    params: &PsdParams,
    progress: &dyn Progress,
) -> Result<Model, Refused> {
    let (deltas, prototypes) = match method {
        Baseline::ForwardPsd => (DeltaSpace::Forward { frame: Frame::Root }, None),
        Baseline::WeightedPsd => (DeltaSpace::Inverse, Some(params.prototypes.unwrap_or_default())),
        _ => (DeltaSpace::Inverse, None),
    };
    let copies = prototypes.map_or(1, |PrototypeParams { count, .. }| count);
    let bytes = set.len() * set.rig().vertex_count() * copies * size_of::<Vec3>();
    if bytes > MOST_BYTES {
        return Err(Refused::TooLarge(format!(
            "{} fields of {} vertices would take up to {} MB",
            set.len() * copies,
            set.rig().vertex_count(),
            bytes >> 20
        )));
    }
    // Only positions are compared here.
    let params = PsdParams { deltas, prototypes, normals: false, ..params.clone() }.for_examples(set);
    Ok(fit_examples(set, &base.into(), &Method::Psd(params), progress)?.model)
}
