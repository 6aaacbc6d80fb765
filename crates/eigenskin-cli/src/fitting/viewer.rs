//! What a stock viewer makes of a model: it skins linearly, and morphs before it skins.

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
    /// whether layers act after skinning
    after: bool,
    base: BaseSkinning,
}

impl ViewerLoss {
    /// The loss, where there is one.
    pub fn of(model: &Model, set: &ExampleSet, training: &Evaluation) -> Option<Self> {
        let after = model.layers().iter().any(|layer| layer.stage != Stage::BeforeSkinning);
        if model.base() == BaseSkinning::LinearBlend && !after {
            return None;
        }
        let before = model.layers().iter().filter(|layer| layer.stage == Stage::BeforeSkinning);
        let before: Vec<Layer> = before.cloned().collect();
        // Layers that were good enough for the model are so for a part of it.
        let shown = Model::new(model.rig().clone(), BaseSkinning::LinearBlend, before).ok()?;
        let (rmse, base) = (training.model.rmse, model.base());
        Some(Self { shown: measure(&shown, set), rmse, after, base })
    }

    /// For people.
    pub fn sentence(&self) -> String {
        let way_out = if self.after { "--deltas inverse" } else { "--base linear" };
        let what = match (self.after, self.base) {
            (true, _) => "the corrections after skinning".to_string(),
            (false, base) => format!("{} skinning", base.name()),
        };
        format!(
            "a stock viewer goes without {what}: it is off by {} on the examples (rmse), the model by {}, plain skinning by {}; {way_out} plays everywhere",
            figure(self.shown.model.rmse),
            figure(self.rmse),
            figure(self.shown.skinning.rmse)
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
