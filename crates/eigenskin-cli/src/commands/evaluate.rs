//! `eigenskin evaluate`: errors of plain skinning and of a model against true shapes.

use std::path::PathBuf;

use anyhow::Result;
use eigenskin::base::BaseChoice;
use eigenskin::frame_slice::FrameSlice;
use eigenskin::jobs::evaluate::{Evaluate, EvaluateInputs};
use eigenskin::metrics::{ErrorSummary, Evaluation};
use eigenskin::reports::{self, EvaluationPage, PageStyle, evaluation_report};

use crate::example_source::{ClipArgs, simulation};
use crate::output::{Output, counted, figure, ratio};
use crate::progress::Terminal;
use crate::{painter, rigs, spread, table};

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

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let truth = args.clip.source(args.truth.as_deref(), "--truth")?;
    if let Some(path) = &args.report {
        rigs::check_not_input(path, &[&args.model, truth.path()])?;
    }
    let inputs =
        EvaluateInputs { model: args.model.clone(), truth, frames: args.frames, base: args.base.clone() };
    let job = Evaluate::open(&inputs)?;
    for note in &job.notes {
        output.item("shapes", note);
    }
    let outcome = job.run(&Terminal::new(quiet))?;
    print_evaluation(&output, &outcome.evaluation);
    if let Some(path) = &args.report {
        let truth = job.truth_in_memory()?;
        let names: Vec<&str> = truth.examples().iter().map(|example| example.name.as_str()).collect();
        let record = simulation(&inputs.truth, &names, &output);
        let page = EvaluationPage {
            model_name: reports::file_name(&args.model),
            truth_name: reports::file_name(inputs.truth.path()),
            model: &job.model,
            truth,
            evaluation: &outcome.evaluation,
            simulation: record.as_ref(),
        };
        let style = PageStyle::new(painter::for_reports()?);
        reports::write_report(path, &evaluation_report(&page, &style, &Terminal::new(quiet))?)?;
    }
    output.json(&serde_json::to_value(&outcome)?)
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
    if evaluation.relative_error.is_some() {
        spread::print(output, &[("all poses", evaluation)]);
    } else {
        output.line("Plain skinning is already exact on these poses.");
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
                ratio(pose.relative_error),
                if pose.contact { "yes" } else { "no" }.to_string(),
            ]
        })
        .collect();
    output.line("");
    let head = ["largest errors", "skinning rmse", "model rmse", "model max", "error left", "contact"];
    for line in table::lines(&head, &rows) {
        output.line(line);
    }
}
