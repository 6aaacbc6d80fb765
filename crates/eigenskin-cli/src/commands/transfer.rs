//! `eigenskin transfer`: a model on another mesh of the same character.

use std::path::PathBuf;

use anyhow::Result;
use eigenskin::frame_slice::FrameSlice;
use eigenskin::jobs::transfer::{
    Transfer, TransferInputs, TransferJobError, TransferOutcome, TransferSettings,
};
use eigenskin::rig_source::RigSource;

use crate::model_file::{self, ModelFileArgs};
use crate::output::{Output, bytes, counted, figure};
use crate::progress::Terminal;
use crate::{rigs, spread};

/// Transfer a model to another mesh of the same character (levels of detail)
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin transfer model.glb --to coarse.glb -o coarse-model.glb --per-vertex 4\n  eigenskin transfer model.glb --to coarse.glb -o coarse-model.glb --truth held-out.glb --json -\n\nThe mesh may be coarser, finer or cut otherwise; joints are matched by name and rest where they did.\nTruth may be of either mesh."
)]
pub struct Args {
    /// A model written by fit
    model: PathBuf,
    /// The rig that gets the model: .glb, .gltf or .npz
    #[arg(long, value_name = "RIG")]
    to: PathBuf,
    /// The model to write
    #[arg(long, short, value_name = "MODEL.glb")]
    output: PathBuf,
    /// Most components that may move one vertex: those that move the target most are kept
    #[arg(long, value_name = "N")]
    per_vertex: Option<usize>,
    /// Most components in all; each becomes one or two morph targets
    #[arg(long, value_name = "N")]
    max_components: Option<usize>,
    /// Keep the target's own skin weights; usually the model's are transferred too, as corrections belong
    /// to the weights they were learnt with
    #[arg(long)]
    keep_weights: bool,
    /// Area-weighted average around coarse vertices instead of the nearest point, 0 to 1: for noisy
    /// models
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    averaging: f64,
    /// True shapes of the target, or of the model's own mesh: a GLB example set or a numpy bundle
    #[arg(long, value_name = "EX")]
    truth: Option<PathBuf>,
    /// Poses of the truth to compare, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true, requires = "truth")]
    frames: Option<FrameSlice>,
    #[command(flatten)]
    file: ModelFileArgs,
    /// The target's skin to use when the file has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let mut given = vec![args.model.as_path(), args.to.as_path()];
    given.extend(args.truth.as_deref());
    rigs::check_not_input(&args.output, &given)?;
    let inputs = TransferInputs {
        model: args.model.clone(),
        target: RigSource { skin: args.skin.clone(), ..RigSource::new(&args.to) },
        truth: args.truth.clone(),
        frames: args.frames,
    };
    let settings = TransferSettings {
        per_vertex: args.per_vertex,
        max_components: args.max_components,
        keep_weights: args.keep_weights,
        averaging: args.averaging,
        file: args.file.options(),
    };
    let job = Transfer::open(&inputs, settings)?;
    let components = counted(job.model.component_count(), "component", "components");
    output
        .item("model", format!("{}: {}, {components}", args.model.display(), rigs::summary(job.model.rig())));
    output.item("to", format!("{}: {}", args.to.display(), rigs::summary(job.target.rig())));
    for note in &job.target.file.notes {
        output.item("", note);
    }
    if let Some(guess) = &job.target.guessed {
        rigs::tell_references(job.target.rig(), guess, "", &output);
    }
    let outcome = job.run(&Terminal::new(quiet)).map_err(|error| with_file(args, error))?;
    print(&output, &outcome);
    outcome.write(&args.output)?;
    model_file::print_losses(&output, &outcome.written);
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(outcome.written.bytes)));
    output.json(&serde_json::to_value(&outcome)?)
}

/// Says which file, or which option, is meant.
fn with_file(args: &Args, error: TransferJobError) -> anyhow::Error {
    match &error {
        TransferJobError::Averaging { .. } => anyhow::Error::new(error).context("--averaging"),
        TransferJobError::Transfer(_) => anyhow::Error::new(error).context(args.to.display().to_string()),
        TransferJobError::Truth(_) | TransferJobError::TruthOfModel(_) => {
            let path = args.truth.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            anyhow::Error::new(error).context(path)
        }
        _ => error.into(),
    }
}

fn print(output: &Output, outcome: &TransferOutcome) {
    let transferred = &outcome.transferred;
    output.item(
        "kept",
        format!(
            "{} of {} components, at most {} at any vertex; vertices at most {} from the model's surface",
            transferred.model.component_count(),
            transferred.source_components,
            transferred.model.most_components_per_vertex(),
            figure(outcome.largest_gap()),
        ),
    );
    for warning in outcome.warnings() {
        output.warning(warning.to_string());
    }
    if let Some(evaluation) = &outcome.evaluation {
        output.item(
            "error",
            format!(
                "rmse {} of plain skinning, {} of the model ({}; {})",
                figure(evaluation.skinning.rmse),
                figure(evaluation.model.rmse),
                evaluation.relative_error.map_or("skinning is exact".to_string(), |e| format!("{e:.3} left")),
                counted(evaluation.poses, "pose", "poses")
            ),
        );
        if let Some(words) = spread::in_words(evaluation) {
            output.item("", words);
        }
    }
}
