//! A fit in figures and sentences: for `--json`, Python and the studio alike.

use eigenskin_fit::method::{ErrorLimit, FitWarning};
use eigenskin_report::page::{counted, figure};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::FitOutcome;

impl Serialize for FitOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.figures().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl FitOutcome {
    /// What deserves attention, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.written.warnings.iter().map(ToString::to_string).collect();
        warnings.extend(self.viewer.as_ref().map(ToString::to_string));
        warnings.extend(self.fit.warnings().iter().map(sentence));
        warnings
    }

    fn figures(&self) -> Result<Value, serde_json::Error> {
        let mut figures = serde_json::to_value(&self.fit)?;
        figures["training"] = serde_json::to_value(&self.training)?;
        figures["targets"] = json!(self.written.targets);
        figures["bytes"] = json!(self.written.bytes);
        figures["warnings"] = json!(self.warnings());
        if let Some(choice) = &self.choice {
            figures["auto"] = serde_json::to_value(choice)?;
        }
        if let Some(solved) = &self.solved {
            figures["weights"] = serde_json::to_value(solved)?;
        }
        figures["viewer"] = serde_json::to_value(&self.viewer)?;
        if let Some(allowed) = &self.within_limits {
            let error_is_met = !matches!(allowed.error, ErrorLimit::Missed { .. });
            figures["budget"] = json!({ "total": allowed.components, "error_is_met": error_is_met });
        }
        if let Some(left_out) = &self.left_out {
            figures["leave_one_out"] = serde_json::to_value(left_out)?;
        }
        if let Some((bytes, seconds)) = self.on_disk {
            figures["streamed"] = json!({ "bytes": bytes, "seconds": seconds });
        }
        Ok(figures)
    }
}

fn sentence(warning: &FitWarning) -> String {
    match warning {
        FitWarning::AddedAfterSkinning { example, distance } => format!(
            "up to {} of example {example:?} is added after skinning, where skinning collapses and has no inverse; viewers without eigenskin leave that out",
            figure(*distance)
        ),
        FitWarning::NotExact { space, miss } => format!(
            "pose space {space:?} misses its examples by up to {} of its largest correction: it does not pass exactly through them",
            figure(*miss)
        ),
        FitWarning::ResidualsIgnored { examples } => format!(
            "what corrections before skinning cannot reach in {} is left out: signals act before skinning only; the methods patches, eigenskin and psd add it afterwards",
            counted(*examples, "example", "examples")
        ),
    }
}
