//! `eigenskin fit`: rig + examples → model.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{ModelWriteOptions, ModelWriteReport, Orientation, RigFile, SimulationRecord};
use eigenskin::metrics::{Evaluation, leave_one_out};
use eigenskin::model::Model;
use eigenskin::pose::Pose;
use eigenskin::progress::Unwatched;
use eigenskin::report::page::LengthUnit;
use eigenskin::reports::{self, FitPage, PageStyle, ViewerLoss, fit_report};
use eigenskin::skinning::BaseSkinning;
use eigenskin::solve_weights::SolvedWeights;
use serde_json::json;

use crate::base::OpenBase;
use crate::budget::BudgetArgs;
use crate::example_source::{ClipArgs, ExampleSource};
use crate::fitting::options::MethodArgs;
use crate::fitting::{Fit, MethodParams, summary};
use crate::large::LargeArgs;
use crate::output::{Output, bytes, counted};
use crate::solved_weights::{self, SolveArgs};
use crate::{frames, painter, progress, rigs};

/// Learn a model from a rig and example shapes
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --per-vertex 10\n  eigenskin fit hand.glb --clip poses --obj sculpts/ -o model.glb\n  eigenskin fit hand.glb --sculpts sculpts.glb -o model.glb\n  eigenskin fit arm.glb --sculpts sculpts.glb -o model.glb --method psd --radius elbow=0.6\n  eigenskin fit face.glb --examples faces.glb -o model.glb --method psd --max-targets 32\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --method weighted-psd --prototypes 6\n  eigenskin fit body.glb --examples motion.npz -o model.glb --method parameterization --signals 12\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --method auto\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --solve-weights\n\nThe result is a plain GLB: morph targets, skin, drivers in its extras."
)]
pub struct Args {
    /// The rigged character: .glb, .gltf or .npz
    rig: PathBuf,
    /// Example shapes: a GLB example set or a numpy bundle (.npz)
    #[arg(long, value_name = "EX")]
    examples: Option<PathBuf>,
    #[command(flatten)]
    clip: ClipArgs,
    /// The model to write
    #[arg(long, short, value_name = "MODEL.glb")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) budget: BudgetArgs,
    /// First solve the skin weights from the examples; the model keeps those of the rig beside them
    #[arg(long)]
    pub(super) solve_weights: bool,
    #[command(flatten)]
    solve: SolveArgs,
    /// Also fit without each example in turn, and report the error on what was left out
    #[arg(long)]
    pub(super) leave_one_out: bool,
    /// Poses to learn from, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    pub(super) frames: Option<String>,
    /// Reference joints of a flat rig: a TOML file, [parents] with lines "joint" = "parent"
    #[arg(long, value_name = "FILE.toml")]
    pub(super) parents: Option<PathBuf>,
    /// The axis that points up in the rig; z adds a root node that turns it
    #[arg(long, value_enum, default_value = "y")]
    up: UpAxis,
    /// The rig's unit of length; other than m adds a root node that scales it
    #[arg(long, value_parser = unit_parser(), default_value = "m")]
    pub(super) unit: f64,
    /// The skin to use when the file has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// Write what was learnt with charts and pictures as one HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(super) report: Option<PathBuf>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    #[command(flatten)]
    pub(super) large: LargeArgs,
    // Last, as its headings in the help hold for all that follows.
    #[command(flatten)]
    pub(super) method: MethodArgs,
}

impl Args {
    /// Whether z points up in the rig.
    pub(super) fn is_z_up(&self) -> bool {
        self.up == UpAxis::Z
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum UpAxis {
    Y,
    Z,
}

/// Metres per unit of length, by its name.
fn unit_parser() -> impl TypedValueParser<Value = f64> {
    PossibleValuesParser::new(["m", "cm", "mm"]).map(|name| match name.as_str() {
        "cm" => 0.01,
        "mm" => 0.001,
        _ => 1.0,
    })
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let params = args.method.params()?;
    let source = ExampleSource::choose(args.examples.as_deref(), "--examples", &args.clip)?;
    rigs::check_not_input(&args.output, &[&args.rig, source.path()])?;
    if let Some(path) = &args.report {
        rigs::check_not_input(path, &[&args.rig, source.path()])?;
        if *path == args.output {
            bail!("{} is both the model and the report; choose two names", path.display());
        }
    }
    let options = rigs::read_options(args.skin.as_deref());
    let rig_file = eigenskin::io::read_rig(&args.rig, &options)?;
    output.item("rig", format!("{}: {}", args.rig.display(), rigs::summary(rig_file.rig())));
    for note in &rig_file.notes {
        output.item("", note);
    }
    if rig_file.rig().skeleton().joint_count() == 0 && rig_file.rig().controls().is_empty() {
        bail!(
            "{} has neither joints nor controls, so nothing can drive a correction; bind the mesh to a skeleton, or add a node named control:NAME whose translation.x is the control's value",
            args.rig.display()
        );
    }
    let on_disk = source.on_disk();
    if args.large.wants(on_disk.as_ref())?
        && let Some(shapes) = &on_disk
    {
        return super::fit_large::run(args, rig_file, shapes, params, &output, quiet);
    }
    let set = match &source {
        ExampleSource::Set(path) => eigenskin::io::read_examples(path, &options)?.1,
        ExampleSource::Clip(clip) => {
            clip.note_if_kept(&args.rig, &output);
            clip.read(&rig_file, &options, &output)?
        }
    };
    let rig = rigs::with_references_of(rig_file.rig(), set.rig())?;
    let rig = rigs::settle_references(rig, args.parents.as_deref(), &output)?;
    let orientation = Orientation { z_up: args.is_z_up(), metres_per_unit: args.unit };
    let rig_file = rig_file.with_rig(rig)?.with_orientation(orientation)?;
    let set =
        frames::select(rigs::examples_for(rig_file.rig(), set, source.path())?, args.frames.as_deref())?;
    output.item("examples", format!("{}: {}", source.path().display(), counted(set.len(), "pose", "poses")));

    args.method.check_names(&set)?;
    let mut base = open_base(args, &set)?;
    let set = base.invert(set, &output, quiet)?;
    let solved = solve_weights(args, &set, &base, &output, quiet)?;
    // Learnt on the solved weights, measured against the rig as it was given.
    let learnt_from = match &solved {
        Some(solved) => set.clone().for_rig(&solved.rig)?,
        None => set.clone(),
    };
    let auto =
        progress::while_doing(quiet, "trying methods", || args.method.choose(&learnt_from, &base.base))
            .with_context(|| format!("{}", source.path().display()))?;
    let (params, method) = match &auto {
        Some(auto) => (auto.params.clone(), auto.method),
        None => (params.on(base.base.clone()), args.method.method()),
    };
    for (index, sentence) in auto.iter().flat_map(|auto| &auto.sentences).enumerate() {
        output.item(if index == 0 { "auto" } else { "" }, sentence);
    }
    let choice = progress::while_doing(quiet, "searching", || {
        args.budget.choose([&learnt_from, &set], &params, &rig_file)
    })
    .with_context(|| format!("{}", source.path().display()))?;
    let most = choice.as_ref().map(|choice| choice.total).or(auto.as_ref().and_then(|auto| auto.most));
    if let Some(choice) = &choice {
        output.item("budget", &choice.sentence);
        if !choice.error_is_met {
            output.warning("--max-error is not reached; raise the other limits or give more examples");
        }
    }
    let (fit, training) = progress::while_doing(quiet, "fitting", || {
        let fit = params.fit(&learnt_from, most)?.with_input_rig(set.rig())?;
        let training = base.measure(fit.model(), &set)?;
        Ok::<_, anyhow::Error>((fit, training))
    })
    .with_context(|| format!("{}", source.path().display()))?;
    let mut written = write(&args.output, &rig_file, poses_of(&set), fit.model(), quiet)?;
    let loss = ViewerLoss::of(fit.model(), &set, &training);
    written.warnings.extend(loss.iter().map(ToString::to_string));
    written.warnings.extend(fit.warnings());
    summary::print(&output, &fit, &training, &written);
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(written.bytes)));
    let mut figures = summary::json(&fit, &params, method, &training, &written);
    if let Some(auto) = &auto {
        figures["auto"] = auto.json.clone();
    }
    if let Some(solved) = &solved {
        figures["weights"] = solved_weights::json(solved);
    }
    figures["viewer"] = json!(loss);
    if let Some(choice) = &choice {
        figures["budget"] = json!({ "total": choice.total, "error_is_met": choice.error_is_met });
    }
    let left_out = if args.leave_one_out {
        let left_out = progress::while_doing(quiet, "leaving out one example at a time", || {
            let learn = |others: &ExampleSet| {
                let params = params.for_examples(others);
                if solved.is_none() {
                    return params.fit(others, most);
                }
                let weights = eigenskin::solve_weights::solve_weights(others, &args.solve.params())?;
                params.fit(&others.clone().for_rig(&weights.rig)?, most)
            };
            leave_one_out(&set, |others| Ok::<_, anyhow::Error>(learn(others)?.into_model()))
        })?;
        let ratio = left_out.relative_error.map_or("–".to_string(), |error| format!("{error:.3}"));
        output.item(
            "left out",
            format!("{ratio} of skinning's error, each example against a model fitted to the others"),
        );
        figures["leave_one_out"] = super::evaluate::evaluation_json(&left_out);
        Some(left_out)
    } else {
        None
    };
    if let Some(path) = &args.report {
        let simulation = source.simulation(&set, &output);
        progress::while_doing(quiet, "writing the report", || {
            let learnt = Learnt {
                set: &set,
                weighted: &learnt_from,
                weights: solved.as_ref(),
                params: &params,
                most,
                fit: &fit,
                training: &training,
                simulation: simulation.as_ref(),
            };
            write_report(path, args, source.path(), &learnt, left_out.as_ref(), &written, None)
        })?;
    }
    output.json(&figures)
}

/// What the corrections sit on: as typed, or what examples were pulled back through; those that were
/// not will be.
fn open_base(args: &Args, set: &ExampleSet) -> Result<OpenBase> {
    let inverted = || set.examples().iter().filter_map(|example| Some((example, example.inverted.as_ref()?)));
    let open = match (args.method.base(), inverted().next()) {
        (Some(typed), _) => typed.open(set.rig())?,
        (None, Some((example, first))) => {
            if let Some((other, base)) = inverted().find(|(_, other)| other.base != first.base) {
                bail!(
                    "example {:?} was pulled back through {:?}, example {:?} through {:?}; say with --base what the model sits on",
                    example.name,
                    first.base.name(),
                    other.name,
                    base.base.name()
                );
            }
            OpenBase::of(&first.base, set.rig(), "what the examples were pulled back through")?
        }
        (None, None) => OpenBase::of(&BaseSkinning::LinearBlend.into(), set.rig(), "the model")?,
    };
    if open.has_external() && (args.leave_one_out || args.budget.given() || args.method.is_auto()) {
        bail!(
            "--method auto, --leave-one-out, --max-error, --max-targets and --max-bytes try many models, which takes too long through another program; leave them out"
        );
    }
    Ok(open)
}

/// New skin weights, where they are asked for.
fn solve_weights(
    args: &Args,
    set: &ExampleSet,
    base: &OpenBase,
    output: &Output,
    quiet: bool,
) -> Result<Option<SolvedWeights>> {
    if !args.solve_weights {
        if args.solve.given() {
            bail!("--influences and --smooth are about solved weights; add --solve-weights");
        }
        return Ok(None);
    }
    if base.base != BaseSkinning::LinearBlend.into() {
        bail!(
            "--solve-weights finds weights for linear blending, but the model sits on {:?}; leave one of them out",
            base.base.name()
        );
    }
    Ok(Some(solved_weights::solve(set, &args.solve.params(), output, quiet)?))
}

/// A fit, and what it was made from.
pub(super) struct Learnt<'a> {
    pub set: &'a ExampleSet,
    /// the same with the weights that were solved
    pub weighted: &'a ExampleSet,
    pub weights: Option<&'a SolvedWeights>,
    pub params: &'a MethodParams,
    /// displacement fields in all
    pub most: Option<usize>,
    pub fit: &'a Fit,
    pub training: &'a Evaluation,
    pub simulation: Option<&'a SimulationRecord>,
}

pub(super) fn write_report(
    path: &Path,
    args: &Args,
    examples: &Path,
    &Learnt { set, weighted, weights, params, most, fit, training, simulation }: &Learnt<'_>,
    left_out: Option<&Evaluation>,
    written: &ModelWriteReport,
    note: Option<String>,
) -> Result<()> {
    let learnt = match (fit, params) {
        (Fit::EigenSkin(fit), _) => reports::Learnt::EigenSkin(fit),
        (Fit::Psd(fit), _) => reports::Learnt::Psd(fit),
        (Fit::Parameterization(fit), MethodParams::Parameterization(params)) => {
            reports::Learnt::Parameterization { fit, params, most }
        }
        (Fit::Parameterization(_), _) => bail!("fits come from parameters of their own kind"),
    };
    let page = FitPage {
        title: reports::file_name(&args.rig),
        examples_name: reports::file_name(examples),
        notes: note.into_iter().collect(),
        learnt,
        examples: set,
        learnt_from: weighted,
        weights,
        eigenskin: &params.eigenskin(),
        psd: &params.psd(),
        training,
        left_out,
        written: Some(reports::written_file(&args.output, written)),
        simulation,
    };
    let style = PageStyle {
        painter: painter::for_reports()?,
        view: reports::default_view(args.is_z_up()),
        unit: LengthUnit::of_a_rig(args.unit),
    };
    Ok(reports::write_report(path, &fit_report(&page, &style, &Unwatched)?)?)
}

/// How a model fitted to `set` is written: the examples' poses tell how large coordinates become.
pub fn write_options(set: &ExampleSet) -> ModelWriteOptions {
    ModelWriteOptions { sample_poses: poses_of(set), ..ModelWriteOptions::default() }
}

/// The poses of a set.
pub(super) fn poses_of(set: &ExampleSet) -> Vec<Pose> {
    set.examples().iter().map(|example| example.pose.clone()).collect()
}

/// Writes the model, which was fitted to these poses.
pub(super) fn write(
    path: &Path,
    rig_file: &RigFile,
    sample_poses: Vec<Pose>,
    model: &Model,
    quiet: bool,
) -> Result<ModelWriteReport> {
    let options = ModelWriteOptions { sample_poses, ..ModelWriteOptions::default() };
    progress::while_doing(quiet, "writing", || {
        Ok(eigenskin::io::write_model(path, rig_file, model, &options)?)
    })
}
