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
use eigenskin::progress::Step;
use eigenskin::report::page::{LengthUnit, MeasuredSet, Report, SetKind};
use serde_json::json;

use crate::base::{BaseArg, OpenBase, parse_base};
use crate::example_source::{ClipArgs, ExampleSource};
use crate::large::ShapesOnDisk;
use crate::output::{Output, counted, figure};
use crate::progress::Told;
use crate::{frames, progress, report, rigs, table};

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
/// Poses drawn with the largest errors.
const WORST_SHOWN: usize = 3;

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
        let told = Told(|step: Step<'_>| bar.set_position(step.done as u64));
        let evaluation = evaluate_each(&Arc::new(model), count, |index| truth.example(index), &told)?;
        bar.finish_and_clear();
        print_evaluation(output, &evaluation);
        output.json(&json!(evaluation))
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
            write_report(path, [&args.model, truth_path], &model, truth, &evaluation, simulation)
        })?;
    }
    output.json(&json!(evaluation))
}

fn write_report(
    path: &Path,
    [model_path, truth_path]: [&Path; 2],
    model: &Arc<Model>,
    truth: &ExampleSet,
    evaluation: &Evaluation,
    simulation: Option<&SimulationRecord>,
) -> Result<()> {
    let unit = LengthUnit::of_the_model();
    let set = MeasuredSet {
        name: report::file_name(truth_path),
        kind: SetKind::Given,
        when: String::new(),
        evaluation,
        truth: Some(truth),
    };
    let pictures = report::worst(model, &set, evaluation, WORST_SHOWN, report::view(false), &unit)?;
    let page = Report {
        title: format!("{} against {}", report::file_name(model_path), set.name),
        notes: Vec::new(),
        unit,
        model,
        fit: None,
        signals: None,
        sets: vec![set],
        methods: report::methods(None, &[truth], false)?.methods,
        unmeasured: Vec::new(),
        written: None,
        simulation: simulation.map(|record| report::simulation_summary("simulated", record)),
        pictures,
    };
    report::write(path, &page)
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
