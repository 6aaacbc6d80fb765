//! What viewers without eigenskin show of a model: they skin linearly, and morph before they skin.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::{Layer, Model, Stage};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::metrics::{ErrorSummary, Evaluation, evaluate_against};
use serde::Serialize;

/// What a viewer that knows nothing of eigenskin shows of the examples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ViewerLoss {
    /// from the examples, as viewers show them
    pub rmse: f64,
    /// from the examples, as viewers show them
    pub max: f64,
    /// ‖shown − truth‖ / ‖skinning − truth‖; `None` when skinning is exact
    pub relative_error: Option<f64>,
    /// from the examples, by plain skinning
    #[serde(skip)]
    pub skinning: ErrorSummary,
    /// from the examples, as the model has them
    #[serde(skip)]
    pub model: ErrorSummary,
    /// what viewers do not show
    #[serde(skip)]
    pub without: Unshown,
}

/// What viewers without eigenskin do not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unshown {
    /// a stack of deformers, of that name
    Deformers(String),
    /// another skinning than linear blending
    Skinning(BaseSkinning),
    /// corrections after skinning, which is all there are
    AllCorrections,
    /// what is added after skinning where skinning collapses
    CollapsedDirections,
}

impl ViewerLoss {
    /// The loss, where there is one; `training` are the errors of the model on `set`.
    pub fn of(model: &Model, set: &ExampleSet, training: &Evaluation) -> Option<Self> {
        let after = model.layers().iter().any(|layer| layer.stage != Stage::BeforeSkinning);
        if *model.base() == Base::Skinning(BaseSkinning::LinearBlend) && !after {
            return None;
        }
        let before = model.layers().iter().filter(|layer| layer.stage == Stage::BeforeSkinning);
        let before: Vec<Layer> = before.cloned().collect();
        // Layers that were good enough for the model are so for a part of it.
        let shown = Arc::new(Model::new(model.rig().clone(), BaseSkinning::LinearBlend, before).ok()?);
        let without = match model.base() {
            Base::Deformers(stack) => Unshown::Deformers(stack.name.clone()),
            Base::Skinning(BaseSkinning::LinearBlend) if shown.layers().is_empty() => Unshown::AllCorrections,
            Base::Skinning(BaseSkinning::LinearBlend) => Unshown::CollapsedDirections,
            Base::Skinning(base) => Unshown::Skinning(*base),
        };
        let found = evaluate_against(&shown, set);
        Some(Self {
            rmse: found.model.rmse,
            max: found.model.max,
            relative_error: found.relative_error,
            skinning: found.skinning,
            model: training.model,
            without,
        })
    }
}
