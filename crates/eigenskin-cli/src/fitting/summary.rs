//! What is said of a fit, whatever the method.

use eigenskin::examples::MergedExample;
use eigenskin::jobs::fit::FitOutcome;
use eigenskin::method::{
    Budget, Choice, EigenSkinParams, EigenSkinReport, Learnt, Method, NotCompared, PatchesReport, Trial,
};
use eigenskin::metrics::Evaluation;
use eigenskin::model::Model;

use super::{parameterization_summary, psd_summary};
use crate::output::{Output, counted, figure};
use crate::spread;

/// What was learnt, in a few lines.
pub fn print(output: &Output, outcome: &FitOutcome) {
    let FitOutcome { fit, training, written, .. } = outcome;
    print_merged(output, &fit.merged);
    let of = match &fit.learnt {
        Learnt::EigenSkin(learnt) => movers(learnt, &fit.model),
        Learnt::Psd(learnt) => counted(learnt.spaces.len(), "pose space", "pose spaces"),
        Learnt::Parameterization(learnt) => counted(learnt.parts.len(), "part", "parts"),
        Learnt::Patches(learnt) => counted(learnt.patches.len(), "patch", "patches"),
    };
    output.item(
        "model",
        format!(
            "{} of {of}, at most {} at any vertex; {} morph targets",
            counted(fit.model.component_count(), "component", "components"),
            fit.model.most_components_per_vertex(),
            written.targets,
        ),
    );
    print_error(output, training);
    match &fit.learnt {
        Learnt::EigenSkin(learnt) => print_per_joint(output, outcome, learnt),
        Learnt::Psd(learnt) => psd_summary::print_spaces(output, learnt),
        Learnt::Parameterization(learnt) => parameterization_summary::print_parts(output, learnt),
        Learnt::Patches(learnt) => print_patches(output, learnt),
    }
    for warning in outcome.warnings() {
        output.warning(warning);
    }
}

/// Which method learnt, and how the others did.
pub fn print_choice(output: &Output, choice: &Choice) {
    let share = |trial: &Trial| format!("{:.3} ± {:.3}", trial.left_out_error, trial.standard_error);
    if let Some(why) = choice.not_compared {
        let why = match why {
            NotCompared::FewExamples => "too few examples to compare methods by leaving some out",
            NotCompared::OtherProgram => "comparing methods takes too long through another program",
        };
        output.item("method", format!("{}: {why}", choice.chosen));
        return;
    }
    let Some(best) = choice.best() else { return };
    let left_out = counted(best.examples, "example", "examples");
    let what = format!("of plain skinning's error on {left_out} left out");
    output.item("method", format!("{}: {} {what}", choice.chosen, share(best)));
    let others = || choice.tried.iter().filter(|trial| trial.method != choice.chosen);
    let errors: Vec<String> = others().map(|trial| format!("{} {}", trial.method, share(trial))).collect();
    let errors = if errors.is_empty() { "none".to_string() } else { errors.join(", ") };
    let is_behind = others().any(|trial| trial.left_out_error < best.left_out_error);
    let sure = if is_behind { ", none clearly better" } else { "" };
    output.item("", format!("others: {errors} (each learnt from {}{sure})", best.learnt_from));
}

/// How well patches are shown and predicted.
fn print_patches(output: &Output, learnt: &PatchesReport) {
    let lefts = || learnt.patches.iter().map(|patch| patch.cross_validation);
    let drivers = learnt.patches.iter().map(|patch| patch.drivers.len()).max().unwrap_or(0);
    output.item(
        "patches",
        format!(
            "{:.3} of the displacements left by the components alone; {:.3} of the coordinates of a patch on left-out poses (best {:.3}, worst {:.3}); driven by up to {drivers} joints or controls",
            learnt.rest_space_error,
            lefts().sum::<f64>() / learnt.patches.len().max(1) as f64,
            lefts().fold(f64::INFINITY, f64::min),
            lefts().fold(0.0, f64::max),
        ),
    );
}

/// Joints and controls with components.
fn movers(learnt: &EigenSkinReport, model: &Model) -> String {
    let joints = learnt.joints.iter().filter(|joint| joint.component_count > 0).count();
    if model.rig().controls().is_empty() {
        counted(joints, "joint", "joints")
    } else {
        counted(joints, "joint or control", "joints and controls")
    }
}

/// Joints that got fewer components than were asked for each.
fn print_per_joint(output: &Output, outcome: &FitOutcome, learnt: &EigenSkinReport) {
    let Method::EigenSkin(EigenSkinParams { budget: Budget { per_joint: Some(asked), .. }, .. }) =
        &outcome.method
    else {
        return;
    };
    let short = learnt.joints.iter().filter(|joint| joint.component_count < *asked);
    let short: Vec<String> =
        short.map(|joint| format!("{} ({})", joint.name, joint.component_count)).collect();
    if !short.is_empty() {
        let why = "their examples show no more, or another limit is reached";
        output.item("per joint", format!("fewer than {asked} for {}: {why}", short.join(", ")));
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
    if let Some(words) = spread::in_words(training) {
        output.item("", words);
    }
}
