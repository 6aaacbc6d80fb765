//! What is said of a fit, whatever the method.

use eigenskin::examples::MergedExample;
use eigenskin::gltf::ModelWriteReport;
use eigenskin::method::{CouplingReport, EigenSkinReport, Fit, Learnt};
use eigenskin::metrics::Evaluation;
use serde_json::{Value, json};

use super::{parameterization_summary, psd_summary};
use crate::output::{Output, counted, figure};

/// What was learnt, in a few lines.
pub fn print(output: &Output, fit: &Fit, training: &Evaluation, written: &ModelWriteReport) {
    print_merged(output, &fit.merged);
    match &fit.learnt {
        Learnt::EigenSkin(learnt) => {
            output.item("model", eigenskin_line(fit, learnt, written.targets));
            print_error(output, training);
            if let Some(coupling) = &learnt.coupling {
                print_coupling(output, coupling);
            }
        }
        Learnt::Psd(learnt) => {
            output.item("model", psd_summary::model_line(fit, learnt, written.targets));
            print_error(output, training);
            psd_summary::print_spaces(output, learnt);
        }
        Learnt::Parameterization(learnt) => {
            output.item("model", parameterization_summary::model_line(fit, learnt, written.targets));
            print_error(output, training);
            parameterization_summary::print_parts(output, learnt);
        }
    }
    print_warnings(output, written);
}

fn eigenskin_line(fit: &Fit, learnt: &EigenSkinReport, targets: usize) -> String {
    let joints = learnt.joints.iter().filter(|joint| joint.component_count > 0).count();
    let movers = if fit.model.rig().controls().is_empty() {
        counted(joints, "joint", "joints")
    } else {
        counted(joints, "joint or control", "joints and controls")
    };
    format!(
        "{} of {}, at most {} at any vertex; {targets} morph targets",
        counted(fit.model.component_count(), "component", "components"),
        movers,
        fit.model.most_tuples_per_vertex(),
    )
}

/// What joints that move together needed.
fn print_coupling(output: &Output, coupling: &CouplingReport) {
    let poses = counted(coupling.multi_joint_examples, "pose", "poses");
    output.item(
        "coupling",
        format!(
            "all joints fitted together, as {poses} move several: {:.3} of the displacements left on left-out poses",
            coupling.additive_error
        ),
    );
    if coupling.too_many_for_pairs {
        return output.item("", "pairs of joints were not tried: there are too many examples and vertices");
    }
    if coupling.tried_pairs == 0 {
        return;
    }
    if coupling.pairs.is_empty() {
        let tried = counted(coupling.tried_pairs, "pair", "pairs");
        return output.item("", format!("none of {tried} predicts left-out poses better"));
    }
    let pairs = counted(coupling.pairs.len(), "pair", "pairs");
    output
        .item("", format!("{:.3} with {pairs} of {} coupled:", coupling.coupled_error, coupling.tried_pairs));
    for pair in &coupling.pairs {
        let share = 100.0 * pair.gain;
        output.item("", format!("{}: {share:.1} % of the squared error", pair.names.join(" × ")));
    }
}

fn print_merged(output: &Output, merged: &[MergedExample]) {
    for merged in merged {
        let what = merged.same_as.as_deref().map_or("the rest shape".to_string(), |name| format!("{name:?}"));
        output.item("merged", format!("example {:?} repeats {what}", merged.name));
    }
}

fn print_error(output: &Output, training: &Evaluation) {
    let relative = training.relative_error.map_or("no error to correct".to_string(), |e| {
        format!("{e:.3} of skinning's error on the training poses")
    });
    output.item(
        "error",
        format!("{relative} (rmse {} → {})", figure(training.skinning.rmse), figure(training.model.rmse)),
    );
}

fn print_warnings(output: &Output, written: &ModelWriteReport) {
    for warning in &written.warnings {
        output.warning(warning);
    }
}

/// What was learnt, for machines.
pub fn json(fit: &Fit, training: &Evaluation, written: &ModelWriteReport) -> Value {
    let mut told = json!(fit);
    told["training"] = json!(training);
    told["targets"] = json!(written.targets);
    told["bytes"] = json!(written.bytes);
    told["warnings"] = json!(written.warnings);
    told
}
