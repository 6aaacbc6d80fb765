//! `eigenskin evaluate`: errors of plain skinning and of a model against true shapes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use eigenskin::base::BaseChoice;
use eigenskin::examples::ExampleSet;
use eigenskin::frame_slice::FrameSlice;
use eigenskin::gltf::SimulationRecord;
use eigenskin::jobs::evaluate::{Evaluate, EvaluateInputs};
use eigenskin::metrics::{ErrorSummary, Evaluation};
use eigenskin::model::Model;
use eigenskin::report::page::{LengthUnit, MeasuredSet, Report, SetKind};

use crate::example_source::ClipArgs;
use crate::output::{Output, counted, figure};
use crate::progress::Terminal;
use crate::{progress, report, rigs, table};

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
    /// The deformer-stack file (.toml) of a model that needs another program
    #[arg(long, value_name = "FILE.toml")]
    base: Option<BaseChoice>,
    /// Poses to compare, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    frames: Option<FrameSlice>,
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
    let truth = args.clip.source(args.truth.as_deref(), "--truth")?;
    if let Some(path) = &args.report {
        rigs::check_not_input(path, &[&args.model, truth.path()])?;
    }
    let inputs = EvaluateInputs {
        model: args.model.clone(),
        truth,
        frames: args.frames,
        base: args.base.clone(),
    };
    let job = Evaluate::open(&inputs)?;
    for note in &job.notes {
        output.item("shapes", note);
    }
    let outcome = job.run(&Terminal::new(quiet))?;
    print_evaluation(&output, &outcome.evaluation);
    if let Some(path) = &args.report {
        let truth = job.truth_in_memory()?;
        let names: Vec<&str> = truth.examples().iter().map(|example| example.name.as_str()).collect();
        let simulation = report::simulation_or_warning(&inputs.truth, &names, &output);
        progress::while_doing(quiet, "writing the report", || {
            let paths = [&args.model, inputs.truth.path()];
            write_report(path, paths, &job.model, truth, &outcome.evaluation, simulation.as_ref())
        })?;
    }
    output.json(&serde_json::to_value(&outcome)?)
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
        psd: None,
        signals: None,
        sets: vec![set],
        methods: report::methods(None, &[truth], false).methods,
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
