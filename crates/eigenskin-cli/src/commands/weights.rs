//! `eigenskin weights`: a rig with skin weights solved from examples.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use eigenskin::examples::ExampleSet;
use eigenskin::io::atomic;
use eigenskin::metrics::evaluate_against;
use eigenskin::progress::Unwatched;
use eigenskin::reports::{self, PageStyle, WeightsPage, weights_model, weights_picture, weights_report};
use eigenskin::solve_weights::SolvedWeights;

use crate::example_source::{ClipArgs, ExampleSource};
use crate::output::{Output, counted};
use crate::solved_weights::{self, SolveArgs};
use crate::{frames, painter, progress, rigs};

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
    frames: Option<String>,
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
    let source = ExampleSource::choose(args.examples.as_deref(), "--examples", &args.clip)?;
    for path in [Some(&args.output), args.picture.as_ref(), args.report.as_ref()].into_iter().flatten() {
        rigs::check_not_input(path, &[&args.rig, source.path()])?;
    }
    let options = rigs::read_options(args.skin.as_deref());
    let file = eigenskin::io::read_rig(&args.rig, &options)?;
    output.item("rig", format!("{}: {}", args.rig.display(), rigs::summary(file.rig())));
    for note in &file.notes {
        output.item("", note);
    }
    let set = match &source {
        ExampleSource::Set(path) => eigenskin::io::read_examples(path, &options)?.1,
        ExampleSource::Clip(clip) => clip.read(&file, &options, &output)?,
    };
    let set = frames::select(rigs::examples_for(file.rig(), set, source.path())?, args.frames.as_deref())?;
    output.item("examples", format!("{}: {}", source.path().display(), counted(set.len(), "pose", "poses")));
    let solved = solved_weights::solve(&set, &args.solve.params(), &output, quiet)?;
    let file = file.with_weights(solved.rig.clone())?;
    eigenskin::io::write_rig(&args.output, &file)?;
    output.item("wrote", args.output.display().to_string());
    if let Some(path) = &args.picture {
        let png = weights_picture(&solved, set.rig(), &PageStyle::new(painter::for_reports()?))?;
        atomic::write_file(path, &png).with_context(|| format!("{} could not be written", path.display()))?;
        output.item("wrote", path.display().to_string());
    }
    if let Some(path) = &args.report {
        progress::while_doing(quiet, "writing the report", || {
            write_report(path, args, source.path(), &set, &solved)
        })?;
        output.item("wrote", path.display().to_string());
    }
    output.json(&solved_weights::json(&solved))
}

/// The errors before and after.
fn write_report(
    path: &Path,
    args: &Args,
    examples: &Path,
    set: &ExampleSet,
    solved: &SolvedWeights,
) -> Result<()> {
    let model = weights_model(solved, set.rig())?;
    let page = WeightsPage {
        rig_name: reports::file_name(&args.rig),
        examples_name: reports::file_name(examples),
        solved,
        examples: set,
        model: &model,
        evaluation: &evaluate_against(&model, set),
    };
    let style = PageStyle::new(painter::for_reports()?);
    Ok(reports::write_report(path, &weights_report(&page, &style, &Unwatched)?)?)
}
