//! Errors of plain skinning and of a model against true shapes.
//!
//! `rmse` is per vertex, √(mean ‖e‖²); "of 100" sets the rest shape's size to 100.

mod contact;
mod distances;
mod poses;

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;
use serde::Serialize;

use crate::during::During;
use contact::Contact;
use distances::Distances;
use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};

pub use poses::{GroupErrors, PoseErrors, PoseGroups};

/// Errors of one method over all poses and vertices, in the rest shape's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

/// A model against true shapes.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// ‖model − truth‖ / ‖skinning − truth‖ over all poses, the same as `groups.all.pooled`; `None` when
    /// skinning is exact
    pub relative_error: Option<f64>,
    /// the same, and how it spreads: over all poses, and with and without contact
    pub groups: PoseGroups,
    /// shading
    #[serde(rename = "normal_angle_deg")]
    pub normal_angles: NormalAngles,
    /// in the order of the truth
    pub per_pose: Vec<PoseErrors>,
}

/// Skinning errors below this share of the size count as exact.
pub(crate) const EXACT: f64 = 1e-9;

/// Compares plain skinning and `model` with true shapes of the same rig.
///
/// ```
/// use std::sync::Arc;
/// use eigenskin_core::deformers::Base;
/// use eigenskin_core::progress::Unwatched;
/// use eigenskin_fit::method::{Method, fit_examples};
/// use eigenskin_fit::metrics::evaluate_against;
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let fit = fit_examples(&examples, &Base::default(), &Method::default(), &Unwatched)?;
/// let errors = evaluate_against(&Arc::new(fit.model), &examples, &Unwatched)?;
/// assert!(errors.model.rmse < errors.skinning.rmse);
/// # Ok::<(), eigenskin_fit::method::FitError>(())
/// ```
pub fn evaluate_against(
    model: &Arc<Model>,
    truth: &ExampleSet,
    progress: &dyn Progress,
) -> Result<Evaluation, Cancelled> {
    let (plain, contact) = (plain_skinning(truth), Contact::of(truth.rig()));
    let counted = Counted::new(progress, COMPARING, truth.len());
    let compared: Vec<ComparedPose> = (0..truth.len())
        .into_par_iter()
        .map_init(
            || (Evaluator::new(plain.clone()), Evaluator::new(model.clone())),
            |(plain, model), index| {
                let (example, normals) = (&truth.examples()[index], truth.normals_of(index));
                let compared = ComparedPose::new(plain, model, example, &normals, &contact);
                counted.next()?;
                Ok(compared)
            },
        )
        .collect::<Result<_, Cancelled>>()?;
    Ok(summarise(truth, &compared))
}

/// The same for true shapes that are fetched one after the other, in the order of their `poses`.
pub fn evaluate_each<E: From<Cancelled> + Send>(
    model: &Arc<Model>,
    pose_count: usize,
    fetch: impl Fn(usize) -> Result<Example, E> + Sync,
    progress: &dyn Progress,
) -> Result<Evaluation, E> {
    let counted = Counted::new(progress, COMPARING, pose_count);
    let plain = Arc::new(Model::without_corrections(model.input_rig().clone(), BaseSkinning::LinearBlend));
    let contact = Contact::of(model.rig());
    let mut tally = Tally::new(model.rig(), pose_count * model.rig().vertex_count());
    let indices: Vec<usize> = (0..pose_count).collect();
    for batch in indices.chunks(4 * rayon::current_num_threads().max(1)) {
        let compared: Vec<(String, ComparedPose)> = batch
            .par_iter()
            .map_init(
                || (Evaluator::new(plain.clone()), Evaluator::new(model.clone())),
                |(plain, model), &index| {
                    let example = fetch(index)?;
                    let normals = match &example.normals {
                        Some(normals) => normals.clone(),
                        None => model.model().rig().mesh().normals_of(&example.positions),
                    };
                    let compared = ComparedPose::new(plain, model, &example, &normals, &contact);
                    counted.next()?;
                    Ok((example.name, compared))
                },
            )
            .collect::<Result<_, E>>()?;
        for (name, pose) in &compared {
            tally.add(name, pose);
        }
    }
    Ok(tally.evaluation())
}

/// The same for a model whose base is a black box, asked pose after pose.
pub fn evaluate_through(
    model: &Arc<Model>,
    black_box: &mut dyn BlackBox,
    truth: &ExampleSet,
    progress: &dyn Progress,
) -> Result<Evaluation, BlackBoxError> {
    let counted = Counted::new(progress, COMPARING, truth.len());
    let (mut plain, mut model) = (Evaluator::new(plain_skinning(truth)), Evaluator::new(model.clone()));
    let contact = Contact::of(truth.rig());
    let compared: Vec<ComparedPose> = (0..truth.len())
        .map(|index| {
            let pose = &truth.examples()[index].pose;
            let mut positions = vec![Vec3::ZERO; truth.rig().vertex_count()];
            let mut normals = positions.clone();
            model.evaluate_through(black_box, pose, &mut positions, Some(&mut normals))?;
            let true_normals = truth.normals_of(index);
            let skinning = Compared::new(&mut plain, &truth.examples()[index], &true_normals);
            let normal_angle = mean_angle(&normals, &true_normals);
            let errors = vertex_errors(&positions, &truth.examples()[index].positions);
            let model = Compared { errors, normal_angle, normal_angle_inverse_transpose: normal_angle };
            counted.next()?;
            Ok(ComparedPose { skinning, model, contact: contact.is_in(pose) })
        })
        .collect::<Result<_, BlackBoxError>>()?;
    Ok(summarise(truth, &compared))
}

/// Honest leave-one-out: every example against a model that `fit` made from all the others. (The
/// closed form that chooses kernel widths still has the example in its basis.)
///
/// `fit` is given a [`Progress`] too: what it does counts as leaving out.
///
/// ```
/// use eigenskin_core::{Base, ExampleSet, Progress, Unwatched};
/// use eigenskin_fit::metrics::leave_one_out;
/// use eigenskin_fit::{FitError, Method, fit_examples};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let fit = |others: &ExampleSet, progress: &dyn Progress| {
///     Ok::<_, FitError>(fit_examples(others, &Base::default(), &Method::default(), progress)?.model)
/// };
/// let errors = leave_one_out(&examples, fit, &Unwatched)?;
/// assert_eq!(errors.poses, examples.len());
/// # Ok::<(), FitError>(())
/// ```
pub fn leave_one_out<E: From<ExamplesError> + From<Cancelled> + Send>(
    examples: &ExampleSet,
    fit: impl Fn(&ExampleSet, &dyn Progress) -> Result<Model, E> + Sync,
    progress: &dyn Progress,
) -> Result<Evaluation, E> {
    let counted = Counted::new(progress, LEAVING_OUT, examples.len());
    let during = During::new(progress, LEAVING_OUT);
    let (plain, contact) = (plain_skinning(examples), Contact::of(examples.rig()));
    let compared: Vec<ComparedPose> = (0..examples.len())
        .into_par_iter()
        .map(|left_out| {
            let others: Vec<usize> = (0..examples.len()).filter(|&index| index != left_out).collect();
            let model = Arc::new(fit(&examples.select(&others)?, &during)?);
            let (mut plain, mut model) = (Evaluator::new(plain.clone()), Evaluator::new(model));
            let (example, normals) = (&examples.examples()[left_out], examples.normals_of(left_out));
            let compared = ComparedPose::new(&mut plain, &mut model, example, &normals, &contact);
            counted.next()?;
            Ok(compared)
        })
        .collect::<Result<_, E>>()?;
    Ok(summarise(examples, &compared))
}

/// What is said while shapes are compared.
const COMPARING: &str = "comparing";
/// What is said while examples are left out.
const LEAVING_OUT: &str = "leaving out one example at a time";

fn plain_skinning(truth: &ExampleSet) -> Arc<Model> {
    Arc::new(Model::without_corrections(truth.rig().clone(), BaseSkinning::LinearBlend))
}

fn summarise(truth: &ExampleSet, compared: &[ComparedPose]) -> Evaluation {
    let mut tally = Tally::new(truth.rig(), truth.len() * truth.rig().vertex_count());
    truth.examples().iter().zip(compared).for_each(|(example, pose)| tally.add(&example.name, pose));
    tally.evaluation()
}

/// What is kept of compared poses.
struct Tally {
    size: f64,
    vertices: usize,
    skinning: Distances,
    model: Distances,
    /// sums over the poses
    angles: [f64; 4],
    per_pose: Vec<PoseErrors>,
}

impl Tally {
    fn new(rig: &Rig, distance_count: usize) -> Self {
        Self {
            size: rig.mesh().size(),
            vertices: rig.vertex_count(),
            skinning: Distances::new(distance_count),
            model: Distances::new(distance_count),
            angles: [0.0; 4],
            per_pose: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, ComparedPose { skinning, model, contact }: &ComparedPose) {
        self.skinning.add(&skinning.errors);
        self.model.add(&model.errors);
        let angles = [
            skinning.normal_angle,
            model.normal_angle,
            skinning.normal_angle_inverse_transpose,
            model.normal_angle_inverse_transpose,
        ];
        self.angles.iter_mut().zip(angles).for_each(|(sum, angle)| *sum += angle);
        let (skinning_rmse, model_rmse) = (skinning.rmse(), model.rmse());
        self.per_pose.push(PoseErrors {
            name: name.to_string(),
            skinning_rmse,
            model_rmse,
            model_max: model.errors.iter().copied().fold(0.0, f32::max).into(),
            relative_error: PoseErrors::relative(skinning_rmse, model_rmse, self.size),
            contact: *contact,
        });
    }

    fn evaluation(self) -> Evaluation {
        let poses = self.per_pose.len();
        let [skinning_mean, model_mean, skinning_mean_inverse_transpose, model_mean_inverse_transpose] =
            self.angles.map(|sum| sum / poses as f64);
        let groups = PoseGroups::of(&self.per_pose, self.size);
        Evaluation {
            poses,
            vertices: self.vertices,
            size: self.size,
            relative_error: groups.all.pooled,
            groups,
            skinning: self.skinning.summary(self.size),
            model: self.model.summary(self.size),
            normal_angles: NormalAngles {
                skinning_mean,
                model_mean,
                skinning_mean_inverse_transpose,
                model_mean_inverse_transpose,
            },
            per_pose: self.per_pose,
        }
    }
}

/// Distances of a shape from the truth, `vertex`.
pub fn vertex_errors(shape: &[Vec3], truth: &[Vec3]) -> Vec<f32> {
    shape.iter().zip(truth).map(|(a, b)| a.as_dvec3().distance(b.as_dvec3()) as f32).collect()
}

/// Errors of any method, given as a function from poses to positions (`vertex`).
pub fn shape_errors(
    truth: &ExampleSet,
    shape: impl Fn(&Pose) -> Vec<Vec3> + Sync,
    progress: &dyn Progress,
) -> Result<ErrorSummary, Cancelled> {
    let counted = Counted::new(progress, COMPARING, truth.len());
    let errors = truth.examples().par_iter().map(|example| {
        let errors = vertex_errors(&shape(&example.pose), &example.positions);
        counted.next()?;
        Ok(errors)
    });
    let errors: Vec<Vec<f32>> = errors.collect::<Result<_, Cancelled>>()?;
    Ok(summary(errors.iter().map(Vec::as_slice), truth.rig().mesh().size()))
}

struct ComparedPose {
    skinning: Compared,
    model: Compared,
    contact: bool,
}

impl ComparedPose {
    fn new(
        plain: &mut Evaluator,
        model: &mut Evaluator,
        example: &Example,
        normals: &[Vec3],
        contact: &Contact,
    ) -> Self {
        Self {
            skinning: Compared::new(plain, example, normals),
            model: Compared::new(model, example, normals),
            contact: contact.is_in(&example.pose),
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
    fn new(evaluator: &mut Evaluator, example: &Example, true_normals: &[Vec3]) -> Self {
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
    let mut distances = Distances::new(0);
    poses.for_each(|errors| distances.add(errors));
    distances.summary(size)
}
