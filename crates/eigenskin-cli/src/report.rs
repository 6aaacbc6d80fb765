//! The HTML report of a command.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use eigenskin::baselines::{
    Baseline, MethodErrors, UnmeasuredMethod, add_leave_one_out, learnt_baselines, psd_baselines,
    skinning_baselines,
};
use eigenskin::deformers::Base;
use eigenskin::examples::ExampleSet;
use eigenskin::glam::Vec3;
use eigenskin::gltf::{ModelWriteReport, SimulationRecord};
use eigenskin::method::{Fit, Method};
use eigenskin::progress::Unwatched;
use eigenskin::skinning::BaseSkinning;
use eigenskin::metrics::Evaluation;
use eigenskin::model::Model;
use eigenskin::report::page::{
    LengthUnit, MeasuredSet, PictureRow, Report, Shot, SimulatedSet, SimulationSummary, WrittenFile,
    eigendisplacement_pictures, html, invertibility_pictures, partition_pictures, worst_pose_pictures,
};
use eigenskin::report::picture::View;

use crate::fitting::{as_eigenskin, as_psd};
use crate::painter;

/// Components per joint that the table of methods goes up to, as in the EigenSkin paper.
const MOST_COMPONENTS: usize = 5;

/// How shapes are looked at.
pub fn view(z_up: bool) -> View {
    let (from_direction, up) =
        if z_up { (Vec3::new(0.35, -1.0, 0.25), Vec3::Z) } else { (Vec3::new(0.35, 0.25, 1.0), Vec3::Y) };
    View { from_direction, up, ..View::default() }
}

/// Pictures of the report from a view.
fn shot(view: View) -> Result<Shot<'static>> {
    Ok(Shot { painter: painter::for_reports()?, view })
}

/// Methods side by side, and those of which there is nothing to show.
pub struct Methods {
    /// what was measured
    pub methods: Vec<MethodErrors>,
    /// what was not, and why
    pub unmeasured: Vec<UnmeasuredMethod>,
}

/// Other methods on the sets whose poses are known; with `left_out` also on the training examples,
/// each left out in turn, as a last set.
pub fn methods(
    training: Option<(&ExampleSet, BaseSkinning, &Method)>,
    sets: &[&ExampleSet],
    left_out: bool,
) -> Result<Methods> {
    let mut methods = skinning_baselines(sets, &Unwatched)?;
    let mut unmeasured = Vec::new();
    if let Some((training, base, method)) = training {
        let (eigenskin, psd) = (as_eigenskin(method), as_psd(method));
        match learnt_baselines(training, base, &eigenskin, MOST_COMPONENTS, sets, &Unwatched) {
            Ok(learnt) => methods.extend(learnt),
            Err(error) => {
                let reason = error.to_string();
                unmeasured.push(UnmeasuredMethod { method: Baseline::AllComponents, reason });
            }
        }
        let (deformations, too_large) = psd_baselines(training, base, &psd, sets, &Unwatched)?;
        // Beside shape interpolation, which they grew from.
        let place = methods.iter().position(|m| m.method == Baseline::Components(0)).unwrap_or(methods.len());
        methods.splice(place..place, deformations);
        unmeasured.extend(too_large);
        if left_out {
            let also = add_leave_one_out(&mut methods, training, base, &eigenskin, &psd, &Unwatched)?;
            unmeasured.extend(also);
        }
    }
    Ok(Methods { methods, unmeasured })
}

/// The worst poses of a set.
pub fn worst(
    model: &Arc<Model>,
    set: &MeasuredSet,
    evaluation: &Evaluation,
    count: usize,
    view: View,
    unit: &LengthUnit,
) -> Result<Vec<PictureRow>> {
    let Some(truth) = set.truth.filter(|_| !sits_on_another_program(model)) else { return Ok(Vec::new()) };
    Ok(worst_pose_pictures(model, truth, evaluation, &set.name, count, shot(view)?, unit)?)
}

/// Its shapes are known to that program only, so they are not drawn.
fn sits_on_another_program(model: &Model) -> bool {
    matches!(model.base(), Base::Deformers(stack) if stack.has_external())
}

/// Where the examples can be pulled back; none for chains of deformers, which `check --pose` probes.
pub fn invertibility(set: &ExampleSet, base: &Base, view: View) -> Result<Option<PictureRow>> {
    let shot = shot(view)?;
    Ok(base.skinning().map(|skinning| invertibility_pictures(set, skinning, shot)).transpose()?)
}

/// The components of the strongest joint.
pub fn components(fit: &Fit, view: View, unit: &LengthUnit) -> Result<Option<PictureRow>> {
    let Some(learnt) = fit.learnt.eigenskin() else { return Ok(None) };
    Ok(eigendisplacement_pictures(&fit.model, &learnt.joints, shot(view)?, unit)?)
}

/// The parts of the skin that have signals of their own.
pub fn partition(fit: &Fit, view: View) -> Result<Option<PictureRow>> {
    Ok(partition_pictures(fit, shot(view)?)?)
}

/// What was written, for the report.
pub fn written(path: &Path, report: &ModelWriteReport) -> WrittenFile {
    WrittenFile {
        name: file_name(path),
        targets: report.targets,
        bytes: report.bytes,
        warnings: report.warnings.clone(),
    }
}

/// The simulation of one set, for the report.
pub fn simulation_summary<'a>(name: &str, record: &'a SimulationRecord) -> SimulationSummary<'a> {
    SimulationSummary { seconds: None, sets: vec![SimulatedSet { name: name.to_string(), record }] }
}

/// The name of a file without its folder.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Writes the page.
pub fn write(path: &Path, report: &Report) -> Result<()> {
    eigenskin::io::atomic::write_file(path, html(report).as_bytes())
        .with_context(|| format!("{} could not be written", path.display()))
}
