//! What a stock viewer makes of a model: it skins linearly, and morphs before it skins.

use eigenskin::deformers::Base;
use eigenskin::examples::ExampleSet;
use eigenskin::metrics::Evaluation;
use eigenskin::model::{Layer, Model, Stage};
use eigenskin::skinning::BaseSkinning;
use serde_json::{Value, json};

use super::measure;
use crate::output::figure;

/// What a viewer that knows nothing of eigenskin shows of the examples.
pub struct ViewerLoss {
    /// from the examples, as viewers show them
    shown: Evaluation,
    /// from the examples, as the model has them
    rmse: f64,
    /// what viewers go without
    without: String,
    /// how to make a model that plays everywhere
    way_out: &'static str,
}

impl ViewerLoss {
    /// The loss, where there is one.
    pub fn of(model: &Model, set: &ExampleSet, training: &Evaluation) -> Option<Self> {
        let after = model.layers().iter().any(|layer| layer.stage != Stage::BeforeSkinning);
        if *model.base() == Base::Skinning(BaseSkinning::LinearBlend) && !after {
            return None;
        }
        let before = model.layers().iter().filter(|layer| layer.stage == Stage::BeforeSkinning);
        let before: Vec<Layer> = before.cloned().collect();
        // Layers that were good enough for the model are so for a part of it.
        let shown = Model::new(model.rig().clone(), BaseSkinning::LinearBlend, before).ok()?;
        let (without, way_out) = match model.base() {
            Base::Deformers(stack) => {
                (format!("the deformers {:?}", stack.name), "--base linear plays everywhere")
            }
            Base::Skinning(BaseSkinning::LinearBlend) if shown.layers().is_empty() => {
                ("the corrections after skinning".to_string(), "--deltas inverse plays everywhere")
            }
            Base::Skinning(BaseSkinning::LinearBlend) => (
                "what is added after skinning where skinning collapses".to_string(),
                "less twist per joint avoids it (check --pose shows where)",
            ),
            Base::Skinning(base) => (format!("{} skinning", base.name()), "--base linear plays everywhere"),
        };
        Some(Self { shown: measure(&shown, set).ok()?, rmse: training.model.rmse, without, way_out })
    }

    /// For people.
    pub fn sentence(&self) -> String {
        format!(
            "a stock viewer goes without {}: it is off by {} on the examples (rmse), the model by {}, plain skinning by {}; {}",
            self.without,
            figure(self.shown.model.rmse),
            figure(self.rmse),
            figure(self.shown.skinning.rmse),
            self.way_out
        )
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "rmse": self.shown.model.rmse,
            "max": self.shown.model.max,
            "relative_error": self.shown.relative_error,
        })
    }
}
