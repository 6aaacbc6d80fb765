//! A fit in figures and sentences: for `--json`, Python and the studio alike.

use eigenskin_fit::method::psd::{DriverReport, SpaceReport};
use eigenskin_fit::method::{
    CouplingReport, EigenSkinFit, JointReport, PairReport, ParameterizationFit, PartReport, PsdFit,
};
use eigenskin_fit::solve_weights::SolvedWeights;
use eigenskin_report::page::{counted, figure};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::method::{Learnt, Method};
use super::{FitOutcome, FoundWithinLimits};

/// Weights that miss their examples by more are worth a word.
const MISS: f64 = 1e-3;
/// So is what no delta reaches, as a share of the size.
const UNREACHABLE: f64 = 1e-4;

impl Serialize for FitOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.figures().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl FitOutcome {
    /// What deserves attention, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.written.warnings.clone();
        warnings.extend(self.viewer.as_ref().map(ToString::to_string));
        warnings.extend(self.learnt.warnings());
        warnings
    }

    fn figures(&self) -> Result<Value, serde_json::Error> {
        let mut figures = match &self.learnt {
            Learnt::EigenSkin(fit) => eigenskin(fit),
            Learnt::Psd(fit) => psd(fit, &self.method),
            Learnt::Parameterization(fit) => parameterization(fit),
        };
        let model = self.model();
        figures["merged"] = self.learnt.merged().iter().map(|merged| merged.name.as_str()).collect();
        figures["components"] = json!(model.component_count());
        figures["largest_tuple_count"] = json!(model.most_tuples_per_vertex());
        figures["training"] = serde_json::to_value(&self.training)?;
        figures["targets"] = json!(self.written.targets);
        figures["bytes"] = json!(self.written.bytes);
        figures["warnings"] = json!(self.warnings());
        if let Some(choice) = &self.choice {
            figures["auto"] = serde_json::to_value(choice)?;
        }
        if let Some(solved) = &self.solved {
            figures["weights"] = solved_weights_figures(solved)?;
        }
        figures["viewer"] = serde_json::to_value(&self.viewer)?;
        if let Some(FoundWithinLimits { total, error_is_met, .. }) = self.within_limits {
            figures["budget"] = json!({ "total": total, "error_is_met": error_is_met });
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

impl Learnt {
    /// What deserves attention, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Psd(fit) => psd_warnings(fit),
            Self::Parameterization(fit) if fit.residuals_ignored > 0 => vec![format!(
                "what skinning cannot reach in {} is left out: signals act before skinning only; the methods eigenskin and psd add it after skinning",
                counted(fit.residuals_ignored, "example", "examples")
            )],
            Self::EigenSkin(_) | Self::Parameterization(_) => Vec::new(),
        }
    }
}

fn psd_warnings(fit: &PsdFit) -> Vec<String> {
    let size = fit.model.rig().mesh().size();
    let missed = fit.examples.iter().filter(|example| example.unreachable > UNREACHABLE * size).map(|example| {
        format!(
            "example {:?} is missed by up to {} where skinning collapses and has no inverse; forward deltas reach it",
            example.name,
            figure(example.unreachable)
        )
    });
    let inexact = fit.spaces.iter().filter_map(|space| {
        let miss = space.drivers.iter().map(|driver| driver.miss).fold(0.0, f64::max);
        (miss > MISS).then(|| {
            format!(
                "the weights of pose space {:?} miss its examples by up to {}: it does not interpolate them exactly",
                space.name,
                figure(miss)
            )
        })
    });
    missed.chain(inexact).collect()
}

fn eigenskin(fit: &EigenSkinFit) -> Value {
    let joint = |joint: &JointReport| {
        json!({
            "name": joint.name,
            "examples": joint.example_count,
            "support": joint.support_count,
            "components": joint.component_count,
            "singular_values": joint.singular_values,
            "width": joint.width,
            "ridge": joint.ridge,
            "condition": joint.condition,
            "leave_one_out": joint.leave_one_out,
        })
    };
    json!({
        "method": "eigenskin",
        "examples": fit.example_count,
        "rest_space_error": fit.rest_space_error,
        "support_threshold": fit.support_threshold,
        "joints": fit.joints.iter().map(joint).collect::<Vec<_>>(),
        "coupling": fit.coupling.as_ref().map(coupling),
    })
}

fn coupling(coupling: &CouplingReport) -> Value {
    let pair = |pair: &PairReport| {
        json!({
            "joints": pair.names,
            "examples": pair.example_count,
            "support": pair.support_count,
            "components": pair.component_count,
            "gain": pair.gain,
        })
    };
    json!({
        "multi_joint_examples": coupling.multi_joint_examples,
        "ridge": coupling.ridge,
        "width_factor": coupling.width_factor,
        "ridge_curve": coupling.ridge_curve,
        "additive_left_out_error": coupling.additive_error,
        "coupled_left_out_error": coupling.coupled_error,
        "tried_pairs": coupling.tried_pairs,
        "too_many_for_pairs": coupling.too_many_for_pairs,
        "pairs": coupling.pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}

fn psd(fit: &PsdFit, method: &Method) -> Value {
    let driver = |driver: &DriverReport| {
        json!({
            "width": driver.width,
            "condition": driver.condition,
            "leave_one_out": driver.leave_one_out,
            "miss": driver.miss,
        })
    };
    let space = |space: &SpaceReport| {
        json!({
            "name": space.name,
            "movers": space.movers,
            "examples": space.examples,
            "anchors": space.anchors,
            "vertices": space.vertex_count,
            "drivers": space.drivers.iter().map(driver).collect::<Vec<_>>(),
        })
    };
    let deltas: Vec<Value> = fit
        .examples
        .iter()
        .map(|example| {
            json!({
                "name": example.name,
                "space": fit.spaces.get(example.space).map(|space| space.name.as_str()),
                "largest_delta": example.largest_delta,
                "vertex": example.vertex,
                "unreachable": example.unreachable,
            })
        })
        .collect();
    let prototypes =
        method.psd().prototypes.map(|_| fit.spaces.first().map_or(0, |space| space.drivers.len()));
    json!({
        "method": method.name(),
        "examples": fit.examples.len(),
        "prototypes": prototypes,
        "spaces": fit.spaces.iter().map(space).collect::<Vec<_>>(),
        "deltas": deltas,
    })
}

fn parameterization(fit: &ParameterizationFit) -> Value {
    let part = |part: &PartReport| {
        json!({
            "name": part.name,
            "drivers": part.drivers,
            "vertices": part.vertex_count,
            "signals": part.signal_count,
            "energy_kept": part.energy_kept,
            "energies": part.energies,
            "centres": part.centre_count,
            "ridge": part.ridge,
            "condition": part.condition,
            "cross_validation": part.cross_validation,
        })
    };
    json!({
        "method": "parameterization",
        "examples": fit.example_count,
        "rest_space_error": fit.rest_space_error,
        "cross_validation": fit.cross_validation,
        "residuals_ignored": fit.residuals_ignored,
        "parts": fit.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

/// Solved skin weights for machines.
pub(in crate::jobs) fn solved_weights_figures(solved: &SolvedWeights) -> Result<Value, serde_json::Error> {
    Ok(json!({
        "before": serde_json::to_value(solved.before)?,
        "after": serde_json::to_value(solved.after)?,
        "vertices": solved.moved.len(),
        "changed_vertices": solved.changed_vertices,
        "limited_vertices": solved.limited_vertices,
        "influences": solved.rig.weights().most_influences(),
        "most_moved": solved.moved.iter().copied().fold(0.0, f32::max),
    }))
}
