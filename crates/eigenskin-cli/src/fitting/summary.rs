//! What is said of a fit, whatever the method.

use eigenskin::examples::MergedExample;
use eigenskin::gltf::ModelWriteReport;
use eigenskin::method::{CouplingReport, EigenSkinFit, PairReport};
use eigenskin::metrics::Evaluation;
use eigenskin::model::Model;
use serde_json::{Value, json};

use super::{Fit, MethodParams, parameterization_summary, psd_summary};
use crate::commands::evaluate::evaluation_json;
use crate::fitting::options::Method;
use crate::output::{Output, counted, figure};

/// What was learnt, in a few lines.
pub fn print(output: &Output, fit: &Fit, training: &Evaluation, written: &ModelWriteReport) {
    match fit {
        Fit::EigenSkin(fit) => print_eigenskin(output, fit, training, written),
        Fit::Psd(fit) => {
            print_merged(output, &fit.merged);
            output.item("model", psd_summary::model_line(fit, written.targets));
            print_error(output, training);
            psd_summary::print_spaces(output, fit);
            print_warnings(output, written);
        }
        Fit::Parameterization(fit) => {
            print_merged(output, &fit.merged);
            output.item("model", parameterization_summary::model_line(fit, written.targets));
            print_error(output, training);
            parameterization_summary::print_parts(output, fit);
            print_warnings(output, written);
        }
    }
}

/// The same of EigenSkin.
pub fn print_eigenskin(
    output: &Output,
    fit: &EigenSkinFit,
    training: &Evaluation,
    written: &ModelWriteReport,
) {
    print_merged(output, &fit.merged);
    let joints = fit.joints.iter().filter(|joint| joint.component_count > 0).count();
    let movers = if fit.model.rig().controls().is_empty() {
        counted(joints, "joint", "joints")
    } else {
        counted(joints, "joint or control", "joints and controls")
    };
    output.item(
        "model",
        format!(
            "{} of {}, at most {} at any vertex; {} morph targets",
            counted(fit.model.component_count(), "component", "components"),
            movers,
            fit.model.most_tuples_per_vertex(),
            written.targets,
        ),
    );
    print_error(output, training);
    if let Some(coupling) = &fit.coupling {
        print_coupling(output, coupling);
    }
    print_warnings(output, written);
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

fn coupling_json(coupling: &CouplingReport) -> Value {
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
pub fn json(
    fit: &Fit,
    params: &MethodParams,
    method: Method,
    training: &Evaluation,
    written: &ModelWriteReport,
) -> Value {
    match (fit, params) {
        (Fit::EigenSkin(fit), _) => eigenskin_json(fit, training, written),
        (Fit::Psd(fit), params) => {
            let own = psd_summary::json(fit, &params.psd(), method);
            with_common(own, &fit.model, &fit.merged, training, written)
        }
        (Fit::Parameterization(fit), _) => {
            with_common(parameterization_summary::json(fit), &fit.model, &fit.merged, training, written)
        }
    }
}

/// The same of EigenSkin.
pub fn eigenskin_json(fit: &EigenSkinFit, training: &Evaluation, written: &ModelWriteReport) -> Value {
    let joints: Vec<Value> = fit
        .joints
        .iter()
        .map(|joint| {
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
        })
        .collect();
    let own = json!({
        "method": Method::Eigenskin.name(),
        "examples": fit.example_count,
        "rest_space_error": fit.rest_space_error,
        "support_threshold": fit.support_threshold,
        "joints": joints,
        "coupling": fit.coupling.as_ref().map(coupling_json),
    });
    with_common(own, &fit.model, &fit.merged, training, written)
}

/// What can be said of all methods, added to what a method says of itself.
fn with_common(
    mut own: Value,
    model: &Model,
    merged: &[MergedExample],
    training: &Evaluation,
    written: &ModelWriteReport,
) -> Value {
    let common = json!({
        "merged": merged.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(),
        "components": model.component_count(),
        "largest_tuple_count": model.most_tuples_per_vertex(),
        "training": evaluation_json(training),
        "targets": written.targets,
        "bytes": written.bytes,
        "warnings": written.warnings,
    });
    if let (Value::Object(own), Value::Object(common)) = (&mut own, common) {
        own.extend(common);
    }
    own
}
