//! What pictures of a model show.

pub mod camera;
pub mod figures;

use std::sync::Arc;

use anyhow::{Result, bail};
use eigenskin::evaluate::Evaluator;
use eigenskin::examples::ExampleSet;
use eigenskin::glam::Vec3;
use eigenskin::metrics::vertex_errors;
use eigenskin::model::Model;
use eigenskin::pose::Pose;
use eigenskin::report::page::LengthUnit;
use eigenskin::skinning::BaseSkinning;

use crate::output::figure;
use figures::{OwnedPanel, OwnedSurface};

/// What a panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Show {
    /// the true shape
    Truth,
    /// plain skinning
    Linear,
    /// the model
    Model,
    /// plain skinning, coloured by its distance from the truth
    LinearError,
    /// the model, coloured by its distance from the truth
    ModelError,
    /// the model, coloured by how far it moves plain skinning
    Correction,
}

/// A model and the plain skinning below it.
pub struct Subject {
    pub model: Arc<Model>,
    pub plain: Arc<Model>,
}

/// A posed shape.
#[derive(Clone)]
pub struct Shape {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
}

impl Shape {
    /// A model in a pose.
    pub fn of(model: &Arc<Model>, pose: &Pose) -> Self {
        let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
        let mut normals = positions.clone();
        Evaluator::new(model.clone()).evaluate(pose, &mut positions, Some(&mut normals));
        Self { positions, normals }
    }
}

impl Subject {
    pub fn new(model: Arc<Model>) -> Self {
        let plain = Model::without_corrections(model.input_rig().clone(), BaseSkinning::LinearBlend);
        Self { model, plain: Arc::new(plain) }
    }

    /// Millimetres where lengths can be metres, as glTF wants them.
    pub fn unit(&self) -> LengthUnit {
        if self.model.rig().mesh().size() < 10.0 {
            LengthUnit { name: "mm".into(), per_model_unit: 1000.0 }
        } else {
            LengthUnit::of_the_model()
        }
    }

    /// The example that the model gets worst.
    pub fn worst(&self, truth: &ExampleSet) -> Option<usize> {
        let error = |index: &usize| {
            let example = &truth.examples()[*index];
            rms(&vertex_errors(&Shape::of(&self.model, &example.pose).positions, &example.positions))
        };
        (0..truth.len()).max_by(|a, b| error(a).total_cmp(&error(b)))
    }

    /// One pose, side by side.
    pub fn panels(
        &self,
        pose: &Pose,
        truth: Option<(&ExampleSet, usize)>,
        show: &[Show],
        unit: &LengthUnit,
    ) -> Result<Vec<OwnedPanel>> {
        let all: &[Show] = match truth {
            Some(_) => &[Show::Truth, Show::Linear, Show::Model, Show::LinearError, Show::ModelError],
            None => &[Show::Linear, Show::Model, Show::Correction],
        };
        let linear = Shape::of(&self.plain, pose);
        let model = Shape::of(&self.model, pose);
        let heat = |from: &Shape, to: &[Vec3]| -> OwnedSurface {
            let factor = unit.per_model_unit as f32;
            OwnedSurface::Heat(
                vertex_errors(&from.positions, to).iter().map(|error| factor * error).collect(),
            )
        };
        let mut panels = Vec::new();
        for what in if show.is_empty() { all } else { show } {
            let true_shape = || match truth {
                Some((set, index)) => Ok((&set.examples()[index], set.normals_of(index))),
                None => bail!("--show {what:?} needs true shapes; give --truth EX"),
            };
            let error_caption = |name: &str, surface: &OwnedSurface| {
                let OwnedSurface::Heat(errors) = surface else { return name.to_string() };
                format!("{name}\nrmse {} {}", figure(rms(errors)), unit.name)
            };
            panels.push(match what {
                Show::Truth => {
                    let (example, normals) = true_shape()?;
                    let shape = Shape { positions: example.positions.clone(), normals };
                    OwnedPanel::new(format!("truth\n{}", example.name), shape, OwnedSurface::Skin)
                }
                Show::Linear => OwnedPanel::new("plain skinning", linear.clone(), OwnedSurface::Skin),
                Show::Model => OwnedPanel::new("eigenskin", model.clone(), OwnedSurface::Skin),
                Show::LinearError => {
                    let surface = heat(&linear, &true_shape()?.0.positions);
                    OwnedPanel::new(
                        error_caption("error of plain skinning", &surface),
                        linear.clone(),
                        surface,
                    )
                }
                Show::ModelError => {
                    let surface = heat(&model, &true_shape()?.0.positions);
                    OwnedPanel::new(error_caption("error of eigenskin", &surface), model.clone(), surface)
                }
                Show::Correction => {
                    let surface = heat(&model, &linear.positions);
                    OwnedPanel::new("what eigenskin moves", model.clone(), surface)
                }
            });
        }
        Ok(panels)
    }
}

/// √(mean of squares).
pub fn rms(errors: &[f32]) -> f64 {
    let squares: f64 = errors.iter().map(|&error| f64::from(error).powi(2)).sum();
    (squares / errors.len().max(1) as f64).sqrt()
}
