//! What is said of a fit, whatever the method.

use eigenskin::examples::MergedExample;
use eigenskin::jobs::fit::FitOutcome;
use eigenskin::jobs::fit::method::Learnt;
use eigenskin::method::{CouplingReport, EigenSkinFit};
use eigenskin::metrics::Evaluation;

use super::{parameterization_summary, psd_summary};
use crate::output::{Output, counted, figure};

/// What was learnt, in a few lines.
pub fn print(output: &Output, outcome: &FitOutcome) {
    let FitOutcome { training, written, .. } = outcome;
    print_merged(output, outcome.learnt.merged());
    match &outcome.learnt {
        Learnt::EigenSkin(fit) => print_eigenskin(output, fit, training, written.targets),
        Learnt::Psd(fit) => {
            output.item("model", psd_summary::model_line(fit, written.targets));
            print_error(output, training);
            psd_summary::print_spaces(output, fit);
        }
        Learnt::Parameterization(fit) => {
            output.item("model", parameterization_summary::model_line(fit, written.targets));
            print_error(output, training);
            parameterization_summary::print_parts(output, fit);
        }
    }
    for warning in outcome.warnings() {
        output.warning(warning);
    }
}

fn print_eigenskin(output: &Output, fit: &EigenSkinFit, training: &Evaluation, targets: usize) {
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
            targets,
        ),
    );
    print_error(output, training);
    if let Some(coupling) = &fit.coupling {
        print_coupling(output, coupling);
    }
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
