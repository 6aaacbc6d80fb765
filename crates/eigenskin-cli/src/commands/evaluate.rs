//! `eigenskin evaluate`: errors of plain skinning and of a model against true shapes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{RigFile, SimulationRecord};
use eigenskin::large_set::LARGE;
use eigenskin::large_set::Scratch;
use eigenskin::metrics::{ErrorSummary, Evaluation, evaluate_each};
use eigenskin::model::Model;
use eigenskin::progress::Unwatched;
use eigenskin::reports::{self, EvaluationPage, PageStyle, evaluation_report};
use serde_json::{Value, json};

use crate::base::{BaseArg, OpenBase, parse_base};
use crate::example_source::{ClipArgs, ExampleSource};
use crate::large::ShapesOnDisk;
use crate::output::{Output, counted, figure};
use crate::{frames, painter, progress, rigs, table};

/// Measure a model against true shapes
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  eigenskin evaluate model.glb --truth validation.glb --json -\n  eigenskin evaluate model.glb --clip poses --cache shapes.pc2"
)]
pub struct Args {
    /// A model written by fit
    model: PathBuf,
    /// True shapes: a GLB example set or a numpy bundle (.npz)
    #[arg(long, value_name = "EX")]
    truth: Option<PathBuf>,
    #[command(flatten)]
    clip: ClipArgs,
    /// The box file (.toml) of a model that sits on another program
    #[arg(long, value_name = "BOX", value_parser = parse_base)]
    base: Option<BaseArg>,
    /// Poses to compare, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    frames: Option<String>,
    /// Write the figures with charts and pictures as one HTML page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the figures as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Poses listed with the largest errors.
const WORST: usize = 5;

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let source = ExampleSource::choose(args.truth.as_deref(), "--truth", &args.clip)?;
    let (model_file, model) = eigenskin::io::read_model(&args.model)?;
    if let Some(shapes) = source.on_disk()
        && shapes.are_large()
    {
        return run_large(args, &shapes, (&model_file, model), &output, quiet);
    }
    let truth = match &source {
        ExampleSource::Set(path) => eigenskin::io::read_examples(path, &rigs::read_options(None))?.1,
        ExampleSource::Clip(clip) => clip.read(&model_file, &rigs::read_options(None), &output)?,
    };
    let truth =
        frames::select(rigs::examples_for(model.input_rig(), truth, source.path())?, args.frames.as_deref())?;
    let simulation = args.report.as_ref().and_then(|_| source.simulation(&truth, &output));
    measure(args, source.path(), model, &truth, simulation.as_ref(), &output, quiet)
}

/// True shapes that are read one after the other; as many as fit in memory are treated as a set.
fn run_large(
    args: &Args,
    shapes: &ShapesOnDisk<'_>,
    (model_file, model): (&RigFile, Model),
    output: &Output,
    quiet: bool,
) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("eigenskin-evaluate-{}", std::process::id()));
    let scratch = Scratch::new(&folder)?;
    let measured = (|| {
        let truth = shapes.open(model_file, args.frames.as_deref(), scratch.folder(), output)?;
        let truth =
            truth.for_rig(model.input_rig()).with_context(|| format!("{}", shapes.path().display()))?;
        let count = truth.poses().len();
        if truth.bytes() <= LARGE {
            let truth = truth.in_memory(&(0..count).collect::<Vec<_>>())?;
            return measure(args, shapes.path(), model, &truth, None, output, quiet);
        }
        if args.report.is_some() || model.base().skinning().is_none() {
            bail!(
                "the report, and models that sit on deformers, need the shapes in memory; choose poses with --frames, such as ::100"
            );
        }
        let bar = progress::bar(quiet, "comparing", count);
        let evaluation = evaluate_each(&Arc::new(model), count, |index| {
            bar.inc(1);
            truth.example(index)
        })?;
        bar.finish_and_clear();
        print_evaluation(output, &evaluation);
        output.json(&evaluation_json(&evaluation))
    })();
    scratch.remove();
    measured
}

fn measure(
    args: &Args,
    truth_path: &Path,
    model: Model,
    truth: &ExampleSet,
    simulation: Option<&SimulationRecord>,
    output: &Output,
    quiet: bool,
) -> Result<()> {
    let model = Arc::new(model);
    let mut base = OpenBase::of_or_typed(model.base(), args.base.as_ref(), model.rig(), "the model")?;
    let evaluation = progress::while_doing(quiet, "comparing", || base.measure(&model, truth))?;
    print_evaluation(output, &evaluation);
    if let Some(path) = &args.report {
        rigs::check_not_input(path, &[&args.model, truth_path])?;
        progress::while_doing(quiet, "writing the report", || {
            let page = EvaluationPage {
                model_name: reports::file_name(&args.model),
                truth_name: reports::file_name(truth_path),
                model: &model,
                truth,
                evaluation: &evaluation,
                simulation,
            };
            write_report(path, &page)
        })?;
    }
    output.json(&evaluation_json(&evaluation))
}

fn write_report(path: &Path, page: &EvaluationPage<'_>) -> Result<()> {
    let style = PageStyle::new(painter::for_reports()?);
    Ok(reports::write_report(path, &evaluation_report(page, &style, &Unwatched)?)?)
}

fn print_evaluation(output: &Output, evaluation: &Evaluation) {
    output.line(format!(
        "{}, {}, size {}",
        counted(evaluation.poses, "pose", "poses"),
        counted(evaluation.vertices, "vertex", "vertices"),
        figure(evaluation.size)
    ));
    output.line("");
    let angles = evaluation.normal_angles;
    let row = |name: &str, errors: &ErrorSummary, angle: f64| {
        vec![
            name.to_string(),
            figure(errors.rmse),
            figure(errors.p95),
            figure(errors.max),
            figure(errors.rmse_of_100),
            format!("{angle:.2}°"),
        ]
    };
    let rows = [
        row("plain skinning", &evaluation.skinning, angles.skinning_mean),
        row("model", &evaluation.model, angles.model_mean),
    ];
    for line in table::lines(&["", "rmse", "95 %", "max", "rmse of 100", "normals"], &rows) {
        output.line(line);
    }
    output.line("");
    match evaluation.relative_error {
        Some(error) => output.line(format!("The model leaves {:.1} % of skinning's error.", 100.0 * error)),
        None => output.line("Plain skinning is already exact on these poses."),
    }
    let mut worst: Vec<_> = evaluation.per_pose.iter().collect();
    worst.sort_by(|a, b| b.model_rmse.total_cmp(&a.model_rmse));
    let rows: Vec<Vec<String>> = worst
        .iter()
        .take(WORST)
        .map(|pose| {
            vec![
                pose.name.clone(),
                figure(pose.skinning_rmse),
                figure(pose.model_rmse),
                figure(pose.model_max),
            ]
        })
        .collect();
    output.line("");
    for line in table::lines(&["worst poses", "skinning rmse", "model rmse", "model max"], &rows) {
        output.line(line);
    }
}

/// Errors of one method for machines.
pub fn errors_json(errors: &ErrorSummary) -> Value {
    json!({
        "rmse": errors.rmse,
        "max": errors.max,
        "p95": errors.p95,
        "rmse_of_100": errors.rmse_of_100,
        "max_of_100": errors.max_of_100,
    })
}

/// The figures for machines.
pub fn evaluation_json(evaluation: &Evaluation) -> Value {
    let angles = evaluation.normal_angles;
    let per_pose: Vec<Value> = evaluation
        .per_pose
        .iter()
        .map(|pose| {
            json!({
                "name": pose.name,
                "skinning_rmse": pose.skinning_rmse,
                "model_rmse": pose.model_rmse,
                "model_max": pose.model_max,
            })
        })
        .collect();
    json!({
        "poses": evaluation.poses,
        "vertices": evaluation.vertices,
        "size": evaluation.size,
        "skinning": errors_json(&evaluation.skinning),
        "model": errors_json(&evaluation.model),
        "relative_error": evaluation.relative_error,
        "normal_angle_deg": {
            "skinning_mean": angles.skinning_mean,
            "model_mean": angles.model_mean,
            "skinning_mean_inverse_transpose": angles.skinning_mean_inverse_transpose,
            "model_mean_inverse_transpose": angles.model_mean_inverse_transpose,
        },
        "per_pose": per_pose,
    })
}
