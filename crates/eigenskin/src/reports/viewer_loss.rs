//! What viewers without eigenskin make of a model: they skin linearly, and morph before they skin.

use std::fmt;
use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::{Layer, Model, Stage};
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::metrics::{Evaluation, evaluate_against};
use eigenskin_report::page::figure;

/// What a viewer that knows nothing of eigenskin shows of the examples.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ViewerLoss {
    /// root of the mean squared error of what viewers show
    pub rmse: f64,
    /// its largest error
    pub max: f64,
    /// its error, relative to plain skinning; `None` where that is exact
    pub relative_error: Option<f64>,
    /// the same root of the model as it is
    #[serde(skip)]
    pub model_rmse: f64,
    /// and of plain skinning
    #[serde(skip)]
    pub skinning_rmse: f64,
    /// what viewers do not show
    #[serde(skip)]
    pub not_shown: NotShown,
}

/// What viewers without eigenskin do not show of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum NotShown {
    /// deformers of that name below the corrections
    Deformers(String),
    /// a base other than linear blending
    Skinning(BaseSkinning),
    /// all corrections, as they are added after skinning
    Corrections,
    /// the part of corrections that is added after skinning, where skinning collapses
    Residual,
}

impl ViewerLoss {
    /// The loss on examples that the model was measured on, where there is one.
    pub fn of(
        model: &Model,
        set: &ExampleSet,
        evaluation: &Evaluation,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, Cancelled> {
        let after = model.layers().iter().any(|layer| layer.stage != Stage::BeforeSkinning);
        if *model.base() == Base::Skinning(BaseSkinning::LinearBlend) && !after {
            return Ok(None);
        }
        let before = model.layers().iter().filter(|layer| layer.stage == Stage::BeforeSkinning);
        let before: Vec<Layer> = before.cloned().collect();
        let not_shown = match model.base() {
            Base::Deformers(stack) => NotShown::Deformers(stack.name.clone()),
            Base::Skinning(BaseSkinning::LinearBlend) if before.is_empty() => NotShown::Corrections,
            Base::Skinning(BaseSkinning::LinearBlend) => NotShown::Residual,
            Base::Skinning(base) => NotShown::Skinning(*base),
        };
        // Layers that were good enough for the model are so for a part of it.
        let Ok(shown) = Model::new(model.rig().clone(), BaseSkinning::LinearBlend, before) else {
            return Ok(None);
        };
        let shown = evaluate_against(&Arc::new(shown), set, progress)?;
        Ok(Some(Self {
            rmse: shown.model.rmse,
            max: shown.model.max,
            relative_error: shown.relative_error,
            model_rmse: evaluation.model.rmse,
            skinning_rmse: shown.skinning.rmse,
            not_shown,
        }))
    }
}

/// For people: what is missing, how much that is, and how to avoid it.
impl fmt::Display for ViewerLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (missing, remedy) = match &self.not_shown {
            NotShown::Deformers(name) => {
                (format!("the deformers {name:?}"), "a model on linear blending plays everywhere")
            }
            NotShown::Skinning(base) => {
                (format!("{} skinning", base.name()), "a model on linear blending plays everywhere")
            }
            NotShown::Corrections => (
                "the corrections after skinning".to_string(),
                "corrections before skinning (inverse deltas) play everywhere",
            ),
            NotShown::Residual => (
                "what is added after skinning where skinning collapses".to_string(),
                "less twist per joint avoids it",
            ),
        };
        write!(
            f,
            "viewers without eigenskin do not show {missing}: they are off by {} on the examples (rmse), the model by {}, plain skinning by {}; {remedy}",
            figure(self.rmse),
            figure(self.model_rmse),
            figure(self.skinning_rmse),
        )
    }
}
