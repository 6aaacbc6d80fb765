//! Errors of plain skinning and of a model against true shapes.
//!
//! `rmse` is per vertex, √(mean ‖e‖²); "of 100" sets the rest shape's size to 100.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use crate::deformers::{BlackBox, BlackBoxError};
use crate::evaluate::Evaluator;
use crate::examples::{ExampleSet, ExamplesError};
use crate::model::Model;
use crate::pose::Pose;
use crate::skinning::{BaseSkinning, PosedSkinning};

/// Errors of one method over all poses and vertices, in the rest shape's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorSummary {
    /// √(mean over poses and vertices of ‖e‖²)
    pub rmse: f64,
    /// largest
    pub max: f64,
    /// 95th percentile
    pub p95: f64,
    /// `rmse` with the size set to 100
    pub rmse_of_100: f64,
    /// `max` with the size set to 100
    pub max_of_100: f64,
}

/// Mean angles between true and shown normals, degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalAngles {
    /// plain skinning, blended matrix (three.js)
    pub skinning_mean: f64,
    /// the model, blended matrix (three.js)
    pub model_mean: f64,
    /// plain skinning, inverse transpose of the blended matrix (Bevy)
    pub skinning_mean_inverse_transpose: f64,
    /// the model, inverse transpose of the blended matrix (Bevy)
    pub model_mean_inverse_transpose: f64,
}

/// Errors in one pose.
#[derive(Debug, Clone, PartialEq)]
pub struct PoseErrors {
    /// name of the true shape
    pub name: String,
    /// of plain skinning
    pub skinning_rmse: f64,
    /// of the model
    pub model_rmse: f64,
    /// of the model, largest
    pub model_max: f64,
}

/// A model against true shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// true shapes
    pub poses: usize,
    /// vertices of the rig
    pub vertices: usize,
    /// diameter of the rest shape's smallest enclosing sphere
    pub size: f64,
    /// linear blending with the rig's own weights, whatever the model's base is
    pub skinning: ErrorSummary,
    /// the model
    pub model: ErrorSummary,
    /// ‖model − truth‖ / ‖skinning − truth‖ over all poses; `None` when skinning is exact
    pub relative_error: Option<f64>,
    /// shading
    pub normal_angles: NormalAngles,
    /// in the order of the truth
    pub per_pose: Vec<PoseErrors>,
}

/// Skinning errors below this share of the size count as exact.
pub(crate) const EXACT: f64 = 1e-9;

/// Compares plain skinning and `model` with true shapes of the same rig.
pub fn evaluate_against(model: &Arc<Model>, truth: &ExampleSet) -> Evaluation {
    let plain = plain_skinning(truth);
    let compared: Vec<ComparedPose> = (0..truth.len())
        .into_par_iter()
        .map_init(
            || (Evaluator::new(plain.clone()), Evaluator::new(model.clone())),
            |(plain, model), index| ComparedPose::new(plain, model, truth, index),
        )
        .collect();
    summarise(truth, &compared)
}

/// The same for a model that sits on a black box, asked pose after pose.
pub fn evaluate_through(
    model: &Arc<Model>,
    black_box: &mut dyn BlackBox,
    truth: &ExampleSet,
) -> Result<Evaluation, BlackBoxError> {
    let (mut plain, mut model) = (Evaluator::new(plain_skinning(truth)), Evaluator::new(model.clone()));
    let compared: Vec<ComparedPose> = (0..truth.len())
        .map(|index| {
            let pose = &truth.examples()[index].pose;
            let mut positions = vec![Vec3::ZERO; truth.rig().vertex_count()];
            let mut normals = positions.clone();
            model.evaluate_through(black_box, pose, &mut positions, Some(&mut normals))?;
            let true_normals = truth.normals_of(index);
            let skinning = Compared::new(&mut plain, truth, index, &true_normals);
            let normal_angle = mean_angle(&normals, &true_normals);
            let errors = vertex_errors(&positions, &truth.examples()[index].positions);
            let model = Compared { errors, normal_angle, normal_angle_inverse_transpose: normal_angle };
            Ok(ComparedPose { skinning, model })
        })
        .collect::<Result<_, BlackBoxError>>()?;
    Ok(summarise(truth, &compared))
}

/// Honest leave-one-out: every example against a model that `fit` made from all the others. (The
/// closed form that chooses kernel widths still has the example in its basis.)
pub fn leave_one_out<E: From<ExamplesError> + Send>(
    examples: &ExampleSet,
    fit: impl Fn(&ExampleSet) -> Result<Model, E> + Sync,
) -> Result<Evaluation, E> {
    let plain = plain_skinning(examples);
    let compared: Vec<ComparedPose> = (0..examples.len())
        .into_par_iter()
        .map(|left_out| {
            let others: Vec<usize> = (0..examples.len()).filter(|&index| index != left_out).collect();
            let model = Arc::new(fit(&examples.select(&others)?)?);
            let (mut plain, mut model) = (Evaluator::new(plain.clone()), Evaluator::new(model));
            Ok(ComparedPose::new(&mut plain, &mut model, examples, left_out))
        })
        .collect::<Result<_, E>>()?;
    Ok(summarise(examples, &compared))
}

fn plain_skinning(truth: &ExampleSet) -> Arc<Model> {
    Arc::new(Model::without_corrections(truth.rig().clone(), BaseSkinning::LinearBlend))
}

fn summarise(truth: &ExampleSet, compared: &[ComparedPose]) -> Evaluation {
    let size = truth.rig().mesh().size();
    let squared = |of: fn(&ComparedPose) -> &Compared| -> f64 {
        compared.iter().map(|pose| of(pose).squared_sum()).sum()
    };
    let (skinning_squared, model_squared) = (squared(|p| &p.skinning), squared(|p| &p.model));
    let skinning = summary(compared.iter().map(|p| p.skinning.errors.as_slice()), size);
    let mean = |of: fn(&ComparedPose) -> f64| compared.iter().map(of).sum::<f64>() / compared.len() as f64;
    Evaluation {
        poses: truth.len(),
        vertices: truth.rig().vertex_count(),
        size,
        relative_error: (skinning.rmse > EXACT * size).then(|| (model_squared / skinning_squared).sqrt()),
        skinning,
        model: summary(compared.iter().map(|p| p.model.errors.as_slice()), size),
        normal_angles: NormalAngles {
            skinning_mean: mean(|p| p.skinning.normal_angle),
            model_mean: mean(|p| p.model.normal_angle),
            skinning_mean_inverse_transpose: mean(|p| p.skinning.normal_angle_inverse_transpose),
            model_mean_inverse_transpose: mean(|p| p.model.normal_angle_inverse_transpose),
        },
        per_pose: truth
            .examples()
            .iter()
            .zip(compared)
            .map(|(example, pose)| PoseErrors {
                name: example.name.clone(),
                skinning_rmse: pose.skinning.rmse(),
                model_rmse: pose.model.rmse(),
                model_max: pose.model.errors.iter().copied().fold(0.0, f32::max).into(),
            })
            .collect(),
    }
}

/// Distances of a shape from the truth, `vertex`.
pub fn vertex_errors(shape: &[Vec3], truth: &[Vec3]) -> Vec<f32> {
    shape.iter().zip(truth).map(|(a, b)| a.as_dvec3().distance(b.as_dvec3()) as f32).collect()
}

/// Errors of any method, given as a function from poses to positions (`vertex`).
pub fn shape_errors(truth: &ExampleSet, shape: impl Fn(&Pose) -> Vec<Vec3> + Sync) -> ErrorSummary {
    let errors: Vec<Vec<f32>> =
        truth.examples().par_iter().map(|e| vertex_errors(&shape(&e.pose), &e.positions)).collect();
    summary(errors.iter().map(Vec::as_slice), truth.rig().mesh().size())
}

struct ComparedPose {
    skinning: Compared,
    model: Compared,
}

impl ComparedPose {
    fn new(plain: &mut Evaluator, model: &mut Evaluator, truth: &ExampleSet, index: usize) -> Self {
        let normals = truth.normals_of(index);
        Self {
            skinning: Compared::new(plain, truth, index, &normals),
            model: Compared::new(model, truth, index, &normals),
        }
    }
}

/// One method in one pose.
struct Compared {
    /// `vertex`
    errors: Vec<f32>,
    /// mean, degrees
    normal_angle: f64,
    /// mean, degrees
    normal_angle_inverse_transpose: f64,
}

impl Compared {
    fn new(evaluator: &mut Evaluator, truth: &ExampleSet, index: usize, true_normals: &[Vec3]) -> Self {
        let example = &truth.examples()[index];
        let mut positions = vec![Vec3::ZERO; example.positions.len()];
        let mut normals = positions.clone();
        evaluator.evaluate(&example.pose, &mut positions, Some(&mut normals));
        let model = evaluator.model();
        // The same normals as an engine shows that skins them with the inverse transpose.
        let Some(base) = model.base().skinning() else {
            // Shapes from a chain of deformers are shaded as they come out, in every engine.
            let normal_angle = mean_angle(&normals, true_normals);
            let errors = vertex_errors(&positions, &example.positions);
            return Self { errors, normal_angle, normal_angle_inverse_transpose: normal_angle };
        };
        let skinning = PosedSkinning::new(base, model.rig(), &example.pose);
        let other_normals: Vec<Vec3> = normals
            .iter()
            .enumerate()
            .map(|(vertex, normal)| {
                let rest = skinning.inverse_normal(vertex, normal.as_dvec3());
                let matrix = skinning.posed_from_rest(vertex).matrix3;
                let turned = matrix.inverse().transpose() * rest;
                if turned.is_finite() { turned.normalize_or_zero().as_vec3() } else { *normal }
            })
            .collect();
        Self {
            errors: vertex_errors(&positions, &example.positions),
            normal_angle: mean_angle(&normals, true_normals),
            normal_angle_inverse_transpose: mean_angle(&other_normals, true_normals),
        }
    }

    fn squared_sum(&self) -> f64 {
        self.errors.iter().map(|&e| f64::from(e).powi(2)).sum()
    }

    fn rmse(&self) -> f64 {
        (self.squared_sum() / self.errors.len() as f64).sqrt()
    }
}

/// Mean angle between directions, degrees.
fn mean_angle(a: &[Vec3], b: &[Vec3]) -> f64 {
    let sum: f64 = a
        .iter()
        .zip(b)
        .map(|(a, b)| {
            let (a, b) = (a.as_dvec3(), b.as_dvec3());
            a.cross(b).length().atan2(a.dot(b)).to_degrees()
        })
        .sum();
    sum / a.len() as f64
}

/// Of distances, `pose × vertex`.
pub(crate) fn summary<'a>(poses: impl Iterator<Item = &'a [f32]>, size: f64) -> ErrorSummary {
    let mut errors: Vec<f32> = poses.flat_map(|errors| errors.iter().copied()).collect();
    errors.sort_by(f32::total_cmp);
    let squared: f64 = errors.iter().map(|&e| f64::from(e).powi(2)).sum();
    let rmse = (squared / errors.len() as f64).sqrt();
    let at = |share: f64| {
        f64::from(errors[((errors.len() as f64 * share).ceil() as usize).clamp(1, errors.len()) - 1])
    };
    let max = at(1.0);
    ErrorSummary {
        rmse,
        max,
        p95: at(0.95),
        rmse_of_100: 100.0 * rmse / size,
        max_of_100: 100.0 * max / size,
    }
}
