//! Shapes in one pose, side by side.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use eigenskin_core::evaluate::{Evaluator, Shape};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Counted, Progress};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::metrics::vertex_errors;
use eigenskin_report::page::{LengthUnit, figure};
use serde::{Deserialize, Serialize};

use super::RenderError;
use super::figures::{OwnedPanel, OwnedSurface};

/// What a panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// A name that nothing has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot be shown; there are {}", Show::ALL.map(Show::name).join(", "))]
pub struct UnknownShow {
    /// the name given
    pub name: String,
}

impl Show {
    /// All that there is.
    pub const ALL: [Self; 6] =
        [Self::Truth, Self::Linear, Self::Model, Self::LinearError, Self::ModelError, Self::Correction];

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Truth => "truth",
            Self::Linear => "linear",
            Self::Model => "model",
            Self::LinearError => "linear-error",
            Self::ModelError => "model-error",
            Self::Correction => "correction",
        }
    }

    /// For people.
    pub fn description(self) -> &'static str {
        match self {
            Self::Truth => "the true shape",
            Self::Linear => "plain skinning",
            Self::Model => "the model",
            Self::LinearError => "plain skinning, coloured by its distance from the truth",
            Self::ModelError => "the model, coloured by its distance from the truth",
            Self::Correction => "the model, coloured by how far it moves plain skinning",
        }
    }
}

impl FromStr for Show {
    type Err = UnknownShow;

    fn from_str(name: &str) -> Result<Self, UnknownShow> {
        let found = Self::ALL.into_iter().find(|show| show.name() == name);
        found.ok_or_else(|| UnknownShow { name: name.to_string() })
    }
}

impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A model and the plain skinning below it.
pub(super) struct Subject {
    pub model: Arc<Model>,
    pub plain: Arc<Model>,
    /// millimetres where lengths can be metres, as glTF wants them
    pub unit: LengthUnit,
}

impl Subject {
    pub fn new(model: Arc<Model>) -> Self {
        let plain = Model::without_corrections(model.input_rig().clone(), BaseSkinning::LinearBlend);
        let is_in_metres = model.rig().mesh().size() < 10.0;
        let unit = if is_in_metres { LengthUnit::millimetres() } else { LengthUnit::of_the_model() };
        Self { model, plain: Arc::new(plain), unit }
    }

    /// The example that the model gets worst, the last of equal ones.
    pub fn worst(&self, truth: &ExampleSet, progress: &dyn Progress) -> Result<usize, Cancelled> {
        let counted = Counted::new(progress, "comparing", truth.len());
        let mut evaluator = Evaluator::new(self.model.clone());
        let (mut worst, mut largest) = (0, f64::NEG_INFINITY);
        for (index, example) in truth.examples().iter().enumerate() {
            let error = rms(&vertex_errors(&evaluator.shape(&example.pose).positions, &example.positions));
            if error >= largest {
                (worst, largest) = (index, error);
            }
            counted.next()?;
        }
        Ok(worst)
    }

    /// Errors as colours, in the unit that is shown.
    pub fn heat(&self, errors: &[f32]) -> OwnedSurface {
        let factor = self.unit.per_model_unit as f32;
        OwnedSurface::Heat(errors.iter().map(|error| factor * error).collect())
    }

    /// One pose, side by side.
    pub fn panels(
        &self,
        pose: &Pose,
        truth: Option<(&ExampleSet, usize)>,
        show: &[Show],
    ) -> Result<Vec<OwnedPanel>, RenderError> {
        let all: &[Show] = match truth {
            Some(_) => &[Show::Truth, Show::Linear, Show::Model, Show::LinearError, Show::ModelError],
            None => &[Show::Linear, Show::Model, Show::Correction],
        };
        let linear = Evaluator::new(self.plain.clone()).shape(pose);
        let model = Evaluator::new(self.model.clone()).shape(pose);
        let panel = |&what: &Show| {
            let true_shape = || {
                let (set, index) = truth.ok_or(RenderError::NeedsTruth { what: what.description() })?;
                Ok::<_, RenderError>((&set.examples()[index], set.normals_of(index)))
            };
            let compared = |name: &str, shape: &Shape, with: &[Vec3]| {
                let heat = self.heat(&vertex_errors(&shape.positions, with));
                let OwnedSurface::Heat(errors) = &heat else { return (name.to_string(), heat) };
                (format!("{name}\nrmse {} {}", figure(rms(errors)), self.unit.name), heat)
            };
            Ok(match what {
                Show::Truth => {
                    let (example, normals) = true_shape()?;
                    let shape = Shape { positions: example.positions.clone(), normals };
                    OwnedPanel::new(format!("truth\n{}", example.name), shape, OwnedSurface::Skin)
                }
                Show::Linear => OwnedPanel::new("plain skinning", linear.clone(), OwnedSurface::Skin),
                Show::Model => OwnedPanel::new("eigenskin", model.clone(), OwnedSurface::Skin),
                Show::LinearError => {
                    let (caption, heat) =
                        compared("error of plain skinning", &linear, &true_shape()?.0.positions);
                    OwnedPanel::new(caption, linear.clone(), heat)
                }
                Show::ModelError => {
                    let (caption, heat) = compared("error of eigenskin", &model, &true_shape()?.0.positions);
                    OwnedPanel::new(caption, model.clone(), heat)
                }
                Show::Correction => {
                    let heat = self.heat(&vertex_errors(&model.positions, &linear.positions));
                    OwnedPanel::new("what eigenskin moves", model.clone(), heat)
                }
            })
        };
        (if show.is_empty() { all } else { show }).iter().map(panel).collect()
    }
}

/// √(mean of squares).
pub(super) fn rms(errors: &[f32]) -> f64 {
    let squares: f64 = errors.iter().map(|&error| f64::from(error).powi(2)).sum();
    (squares / errors.len().max(1) as f64).sqrt()
}
