//! `eigenskin carry`: a model on another mesh of the same character.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::ModelWriteOptions;
use eigenskin::method::Budget;
use eigenskin::metrics::evaluate_against;
use eigenskin::model::Model;
use eigenskin::transfer::{Carried, CarryParams, carry_examples, carry_model};
use serde_json::json;

use crate::output::{Output, bytes, counted, figure};
use crate::{frames, progress, rigs};

/// Carry a model to another mesh of the same character (levels of detail)
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin carry model.glb --to coarse.glb -o coarse-model.glb --per-vertex 4\n  eigenskin carry model.glb --to coarse.glb -o coarse-model.glb --truth held-out.glb --json -\n\nThe mesh may be coarser, finer or cut otherwise; joints are matched by name and rest where they did.\nTruth may be of either mesh."
)]
pub struct Args {
    /// A model written by fit
    model: PathBuf,
    /// The rig to carry it to: .glb, .gltf or .npz
    #[arg(long, value_name = "RIG")]
    to: PathBuf,
    /// The model to write
    #[arg(long, short, value_name = "MODEL.glb")]
    output: PathBuf,
    /// Displacements at any vertex at most: those that move the target most are kept
    #[arg(long, value_name = "N")]
    per_vertex: Option<usize>,
    /// Components in all at most; each becomes one or two morph targets
    #[arg(long, value_name = "N")]
    max_components: Option<usize>,
    /// Keep the target's own skin weights; usually the model's are carried too, as corrections belong to
    /// the weights they were learnt with
    #[arg(long)]
    keep_weights: bool,
    /// How much coarse vertices take the mean over their surface instead of a point, 0 to 1: for noisy
    /// models
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    averaging: f64,
    /// True shapes of the target, or of the model's own mesh: a GLB example set or a numpy bundle
    #[arg(long, value_name = "EX")]
    truth: Option<PathBuf>,
    /// Poses of the truth to compare, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    frames: Option<String>,
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
    let mut inputs = vec![args.model.as_path(), args.to.as_path()];
    inputs.extend(args.truth.as_deref());
    rigs::check_not_input(&args.output, &inputs)?;
    if !(0.0..=1.0).contains(&args.averaging) {
        bail!("--averaging {} is no share; give a number from 0 to 1", args.averaging);
    }
    let (_, model) = eigenskin::io::read_model(&args.model)?;
    output.item(
        "model",
        format!(
            "{}: {}, {}",
            args.model.display(),
            rigs::summary(model.rig()),
            counted(model.component_count(), "component", "components")
        ),
    );
    let file = eigenskin::io::read_rig(&args.to, &rigs::read_options(args.skin.as_deref()))?;
    let rig = rigs::with_references_of(file.rig(), model.rig())?;
    let file = file.with_rig(rig)?;
    output.item("to", format!("{}: {}", args.to.display(), rigs::summary(file.rig())));
    for note in &file.notes {
        output.item("", note);
    }
    // Clips of the target say which components matter, and how large weights become.
    let sample_poses: Vec<_> = file
        .clips()
        .iter()
        .flat_map(|clip| SAMPLED.map(|share| file.sample(clip, share * clip.duration())))
        .collect();
    let params = CarryParams {
        budget: Budget { per_vertex: args.per_vertex, per_joint: None, total: args.max_components },
        weights: !args.keep_weights,
        averaging: args.averaging,
        sample_poses: sample_poses.clone(),
        ..CarryParams::default()
    };
    let carried = progress::while_doing(quiet, "carrying", || carry_model(&model, file.rig(), &params))
        .with_context(|| format!("{}", args.to.display()))?;
    tell(&output, &carried);
    let options = ModelWriteOptions { sample_poses, ..ModelWriteOptions::default() };
    let written = progress::while_doing(quiet, "writing", || {
        eigenskin::io::write_model(&args.output, &file, &carried.model, &options)
    })?;
    written.warnings.iter().for_each(|warning| output.warning(warning));
    let evaluation = args
        .truth
        .as_ref()
        .map(|path| {
            let truth = eigenskin::io::read_examples(path, &rigs::read_options(None))?.1;
            let truth = frames::select(truth, args.frames.as_deref())?;
            let truth = on_target(truth, &model, &carried).with_context(|| format!("{}", path.display()))?;
            let carried = Arc::new(carried.model.clone());
            anyhow::Ok(progress::while_doing(quiet, "comparing", || evaluate_against(&carried, &truth)))
        })
        .transpose()?;
    if let Some(evaluation) = &evaluation {
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
    }
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(written.bytes)));
    let gaps = carried.correspondence.gaps();
    output.json(&json!({
        "components": carried.model.component_count(),
        "source_components": carried.source_components,
        "most_per_vertex": carried.model.most_tuples_per_vertex(),
        "targets": written.targets,
        "bytes": written.bytes,
        "vertices": gaps.len(),
        "largest_gap": largest(gaps),
        "against": carried.correspondence.against,
        "evaluation": evaluation,
    }))
}

/// Where clips are looked at.
const SAMPLED: [f64; 9] = [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0];

fn largest(gaps: &[f64]) -> f64 {
    gaps.iter().copied().fold(0.0, f64::max)
}

fn tell(output: &Output, carried: &Carried) {
    let gaps = carried.correspondence.gaps();
    output.item(
        "carried",
        format!(
            "{} of {} components, at most {} at any vertex; vertices at most {} from the model's surface",
            carried.model.component_count(),
            carried.source_components,
            carried.model.most_tuples_per_vertex(),
            figure(largest(gaps)),
        ),
    );
    if carried.correspondence.against > 0 {
        output.warning(format!(
            "near {} the model's surface faces another way; they take the nearest point",
            counted(carried.correspondence.against, "vertex", "vertices")
        ));
    }
}

/// Truth of the target as it is; that of the model's own mesh carried along.
fn on_target(truth: ExampleSet, model: &Model, carried: &Carried) -> Result<ExampleSet> {
    let target = carried.model.input_rig();
    let own = model.input_rig();
    if truth.rig().vertex_count() != target.vertex_count() && truth.rig().vertex_count() == own.vertex_count()
    {
        return Ok(carry_examples(&truth.for_rig(own)?, carried, target)?);
    }
    Ok(truth.for_rig(target)?)
}
