//! `eigenskin fit` from shapes that stay on disk.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use eigenskin::gltf::{Orientation, RigFile};
use eigenskin::large_set::{LargeSet, Scratch};
use eigenskin::metrics::evaluate_each;
use eigenskin::reports::ViewerLoss;
use serde_json::json;

use super::fit::{Args, Learnt, write, write_report};
use crate::base::OpenBase;
use crate::fitting::{MethodParams, measure, summary};
use crate::large::ShapesOnDisk;
use crate::output::{Output, bytes, counted};
use crate::{progress, rigs};

/// Poses that are shown in the report, and looked at as stock viewers show them.
const SHOWN: usize = 24;

/// Runs the command.
pub fn run(
    args: &Args,
    rig_file: RigFile,
    shapes: &ShapesOnDisk<'_>,
    params: MethodParams,
    output: &Output,
    quiet: bool,
) -> Result<()> {
    let most = most_fields(args, &params)?;
    if args.solve_weights {
        bail!(
            "--solve-weights needs the shapes in memory; solve them from some of the poses first (eigenskin weights --frames), and fit the rig that it writes"
        );
    }
    let begun = Instant::now();
    let folder = args.large.folder(&args.output);
    let left_there = Scratch::found(&folder);
    let scratch = Scratch::new(&folder)?;
    let set = shapes.open(&rig_file, args.frames.as_deref(), scratch.folder(), output)?;
    let rig = rigs::with_references_of(rig_file.rig(), set.rig())?;
    let rig = rigs::settle_references(rig, args.parents.as_deref(), output)?;
    let orientation = Orientation { z_up: args.is_z_up(), metres_per_unit: args.unit };
    let rig_file = rig_file.with_rig(rig)?.with_orientation(orientation)?;
    let set = set.for_rig(rig_file.rig()).with_context(|| format!("{}", shapes.path().display()))?;
    output.item(
        "examples",
        format!(
            "{}: {}, {} of shapes that stay on disk",
            shapes.path().display(),
            counted(set.poses().len(), "pose", "poses"),
            bytes(set.bytes() as usize)
        ),
    );
    output.item("scratch", format!("{}; interrupted, the same command goes on from there", folder.display()));
    let base = match args.method.base() {
        Some(typed) => typed.open(set.rig())?,
        None => OpenBase::of(&params.base(), set.rig(), "the model")?,
    };
    let Some(skinning) = base.base.skinning() else {
        bail!(
            "shapes that stay on disk are pulled back through a skinning, not through deformers; give --base linear, dual-quaternion or rigid"
        );
    };
    let params = params.on(base.base.clone());

    let total = set.poses().len();
    let bar = progress::bar(quiet, "pulling back", total);
    let told = std::sync::atomic::AtomicBool::new(false);
    let seen = set.observe(skinning, params.allows_compromise(), &scratch, &|done, _| {
        if done > 0 && left_there.is_some() && !told.swap(true, std::sync::atomic::Ordering::Relaxed) {
            let (done, folder) = (counted(done, "pose", "poses"), folder.display());
            output.item("going on", format!("{done} are in {folder} from an earlier run"));
        }
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    let fit = progress::while_doing(quiet, "fitting", || params.fit_to(&seen, most))
        .with_context(|| format!("{}", shapes.path().display()))?;
    drop(seen);
    let model = Arc::new(fit.model().clone());
    let bar = progress::bar(quiet, "comparing", total);
    let training = evaluate_each(&model, total, |index| {
        bar.inc(1);
        set.example(index)
    })?;
    bar.finish_and_clear();
    let shown: Vec<usize> = (0..total).step_by(total.div_ceil(SHOWN).max(1)).collect();
    let sample = set.in_memory(&shown)?;
    let shown_errors = measure(fit.model(), &sample);
    let poses = set.poses().iter().map(|named| named.pose.clone()).collect();
    let mut written = write(&args.output, &rig_file, poses, fit.model(), quiet)?;
    let loss = ViewerLoss::of(fit.model(), &sample, &shown_errors);
    written.warnings.extend(loss.iter().map(ToString::to_string));
    written.warnings.extend(fit.warnings());
    summary::print(output, &fit, &training, &written);
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(written.bytes)));
    let seconds = begun.elapsed().as_secs_f64();
    let memory = peak_memory();
    let used =
        memory.map_or(String::new(), |memory| format!(", {} of memory at most", bytes(memory as usize)));
    output.item("took", format!("{seconds:.0} s{used}"));
    let mut figures = summary::json(&fit, &params, args.method.method(), &training, &written);
    figures["viewer"] = json!(loss);
    figures["streamed"] = json!({ "bytes": set.bytes(), "seconds": seconds, "peak_memory": memory });
    if let Some(path) = &args.report {
        progress::while_doing(quiet, "writing the report", || {
            let learnt = Learnt {
                set: &sample,
                weighted: &sample,
                weights: None,
                params: &params,
                most: None,
                fit: &fit,
                training: &shown_errors,
                simulation: None,
            };
            let note = note(&set, sample.len());
            write_report(path, args, shapes.path(), &learnt, None, &written, Some(note))
        })?;
    }
    drop(set);
    scratch.remove();
    output.json(&figures)
}

/// What the report says of its poses.
fn note(set: &LargeSet, shown: usize) -> String {
    format!("Learnt from {} poses; shown and measured here are {shown} of them.", set.poses().len())
}

/// Displacement fields that pose space deformation may have.
fn most_fields(args: &Args, params: &MethodParams) -> Result<usize> {
    let is_psd = matches!(params, MethodParams::Psd(_));
    let other_budget = args.budget.given() && !(is_psd && args.budget.max_targets().is_some());
    if args.leave_one_out || other_budget || args.budget.needs_search() || args.method.is_auto() {
        bail!(
            "--method auto, --leave-one-out, --max-error, --max-bytes and, except for pose space deformation, --max-targets try many models, which takes too long with shapes that stay on disk; leave them out, or choose poses with --frames"
        );
    }
    match args.budget.max_targets() {
        // A field needs one target or two.
        Some(targets) => Ok((targets / 2).max(1)),
        None if is_psd => bail!(
            "pose space deformation keeps one field per pose, which would be as large as the shapes on disk; give --max-targets N to merge them, or choose poses with --frames"
        ),
        None => Ok(usize::MAX),
    }
}

/// The most memory that this process had at any moment, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}
