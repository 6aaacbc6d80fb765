//! `eigenskin weights`: a rig with skin weights solved from examples.

use std::path::PathBuf;

use anyhow::{Context, Result};
use eigenskin::frame_slice::FrameSlice;
use eigenskin::io::atomic;
use eigenskin::jobs::weights::{Weights, WeightsInputs};
use eigenskin::metrics::evaluate_against;
use eigenskin::reports::{self, PageStyle, WeightsPage, weights_model, weights_picture, weights_report};
use eigenskin::rig_source::RigSource;

use crate::example_source::ClipArgs;
use crate::output::{Output, counted};
use crate::progress::Terminal;
use crate::solved_weights::{self, SolveArgs};
use crate::{painter, rigs};

/// Solve skin weights from example shapes
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin weights hand.glb --examples poses.glb -o better.glb\n  eigenskin weights hand.glb --examples poses.glb -o better.glb --influences 8 --picture weights.png\n\nAll else in the file stays as it is. No vertex gets worse on the examples, unless it had more influences\nthan are allowed. fit --solve-weights does the same below a correction."
)]
pub struct Args {
    /// The rigged character: .glb, .gltf or .npz
    rig: PathBuf,
    /// Example shapes: a GLB example set or a numpy bundle (.npz)
    #[arg(long, value_name = "EX")]
    examples: Option<PathBuf>,
    #[command(flatten)]
    clip: ClipArgs,
    /// The rig to write
    #[arg(long, short, value_name = "RIG.glb")]
    output: PathBuf,
    #[command(flatten)]
    solve: SolveArgs,
    /// Poses to learn from, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    frames: Option<FrameSlice>,
    /// The skin to use when the file has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// Draw where weights moved, and the joints that changed most, as PNG
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
    /// Write the errors before and after with charts and pictures as one HTML page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let source = args.clip.source(args.examples.as_deref(), "--examples")?;
    for path in [Some(&args.output), args.picture.as_ref(), args.report.as_ref()].into_iter().flatten() {
        rigs::check_not_input(path, &[&args.rig, source.path()])?;
    }
    let rig = RigSource { skin: args.skin.clone(), ..RigSource::new(&args.rig) };
    let inputs = WeightsInputs { rig, examples: source, frames: args.frames };
    let job = Weights::open(&inputs, args.solve.params())?;
    rigs::print_file(&output, &args.rig, &job.rig);
    for note in &job.notes {
        output.item("shapes", note);
    }
    let count = counted(job.examples.len(), "pose", "poses");
    output.item("examples", format!("{}: {count}", inputs.examples.path().display()));
    let watcher = Terminal::new(quiet);
    let outcome = job.run(&watcher)?;
    solved_weights::print(&output, &outcome.solved, job.settings.influences);
    outcome.write(&args.output)?;
    output.item("wrote", args.output.display().to_string());
    if let Some(path) = &args.picture {
        let style = PageStyle::new(painter::for_reports()?);
        let png = weights_picture(&outcome.solved, job.examples.rig(), &style)?;
        atomic::write_file(path, &png).with_context(|| format!("{} could not be written", path.display()))?;
        output.item("wrote", path.display().to_string());
    }
    if let Some(path) = &args.report {
        let model = weights_model(&outcome.solved, job.examples.rig())?;
        let page = WeightsPage {
            rig_name: reports::file_name(&args.rig),
            examples_name: reports::file_name(inputs.examples.path()),
            solved: &outcome.solved,
            examples: &job.examples,
            model: &model,
            evaluation: &evaluate_against(&model, &job.examples, &watcher)?,
        };
        let style = PageStyle::new(painter::for_reports()?);
        reports::write_report(path, &weights_report(&page, &style, &watcher)?)?;
        output.item("wrote", path.display().to_string());
    }
    drop(watcher);
    output.json(&serde_json::to_value(&outcome)?)
}
