//! `eigenskin fit`: rig + examples → model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use eigenskin::driver::{Kernel, RbfParams, Ridge, TailChoice, Width};
use eigenskin::examples::ExampleSet;
use eigenskin::fit::{Budget, EigenSkinFit, EigenSkinParams, FitError, fit_eigenskin};
use eigenskin::metrics::{Evaluation, evaluate_against, leave_one_out};
use eigenskin::skinning::BaseSkinning;
use eigenskin::supports::{Border, SupportParams};
use eigenskin_io::{ModelWriteOptions, ModelWriteReport, Orientation, RigFile, SimulationRecord};
use eigenskin_report::page::{LengthUnit, MeasuredSet, Report, SetKind};
use serde_json::{Value, json};

use crate::budget::BudgetArgs;
use crate::example_source::{ClipArgs, ExampleSource};
use crate::output::{Output, bytes, counted, figure};
use crate::{frames, progress, report, rigs};

/// Learn a model from a rig and example shapes
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --per-vertex 10\n  eigenskin fit hand.glb --clip poses --obj sculpts/ -o model.glb\n  eigenskin fit hand.glb --sculpts sculpts.glb -o model.glb\n\nThe result is a plain GLB: morph targets, skin, drivers in its extras."
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
    output: PathBuf,
    /// How to learn
    #[arg(long, value_enum, default_value = "eigenskin")]
    method: Method,
    #[command(flatten)]
    eigenskin: EigenSkinArgs,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Also fit without each example in turn, and report the error on what was left out
    #[arg(long)]
    leave_one_out: bool,
    /// Poses to learn from, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true)]
    frames: Option<String>,
    /// Reference joints of a flat rig: a TOML file, [parents] with lines "joint" = "parent"
    #[arg(long, value_name = "FILE.toml")]
    parents: Option<PathBuf>,
    /// The axis that points up in the rig; z adds a root node that turns it
    #[arg(long, value_enum, default_value = "y")]
    up: UpAxis,
    /// The rig's unit of length; other than m adds a root node that scales it
    #[arg(long, value_enum, default_value = "m")]
    unit: Unit,
    /// The skin to use when the file has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// Write what was learnt with charts and pictures as one HTML page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Fitting methods.
#[derive(Clone, Copy, ValueEnum)]
enum Method {
    /// principal components per joint support, interpolated over the joint's rotation
    Eigenskin,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum UpAxis {
    Y,
    Z,
}

#[derive(Clone, Copy, ValueEnum)]
enum Unit {
    M,
    Cm,
    Mm,
}

impl Unit {
    fn metres(self) -> f64 {
        match self {
            Self::M => 1.0,
            Self::Cm => 0.01,
            Self::Mm => 0.001,
        }
    }
}

/// Options of the EigenSkin method.
#[derive(clap::Args)]
pub struct EigenSkinArgs {
    /// Displacement tuples that any vertex may carry [default: 10, unless --per-joint is given]
    #[arg(long, value_name = "N")]
    per_vertex: Option<usize>,
    /// Components of every joint: the paper's equal split
    #[arg(long, value_name = "K")]
    per_joint: Option<usize>,
    /// How a joint's region ends
    #[arg(long, value_enum, default_value = "smooth")]
    support_border: BorderArg,
    /// Where it ends: share of the joint's largest displacement [default: the paper's 0.04, or more
    /// where that makes better use of the limit per vertex]
    #[arg(long, value_name = "SHARE")]
    support_threshold: Option<f64>,
    /// Radial function between poses: gaussian, exponential (the paper's), linear, cubic, quintic,
    /// thin-plate, multiquadric, inverse-multiquadric or wendland-c2
    #[arg(long, value_parser = parse_kernel, default_value = "gaussian")]
    kernel: Kernel,
    /// Width of the kernels in radians, or auto (by leave-one-out)
    #[arg(long, value_parser = parse_width, default_value = "auto")]
    width: Width,
    /// How far examples may give way to smoothness: a number, 0 for exact, or auto (exact unless
    /// examples are many and contradictory)
    #[arg(long, value_parser = parse_ridge, default_value = "auto")]
    ridge: Ridge,
    /// How far corrections may leave their range over the examples (share of it), or none
    #[arg(long, value_parser = parse_clamp, default_value = "0.5")]
    clamp: ClampArg,
    /// What the corrections sit on: rigid, linear or dual-quaternion
    #[arg(long, value_parser = parse_base, default_value = "linear")]
    base: BaseSkinning,
    /// Leave normals to plain skinning
    #[arg(long)]
    no_normals: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum BorderArg {
    /// fades out, no step in the skin
    Smooth,
    /// all or nothing, as in the paper
    Hard,
}

#[derive(Clone, Copy)]
struct ClampArg(Option<f64>);

impl EigenSkinArgs {
    fn params(&self) -> EigenSkinParams {
        let per_vertex = match (self.per_vertex, self.per_joint) {
            (None, None) => Budget::default().per_vertex,
            (given, _) => given,
        };
        EigenSkinParams {
            base: self.base,
            support: SupportParams {
                threshold: self.support_threshold,
                border: match self.support_border {
                    BorderArg::Smooth => Border::Smooth,
                    BorderArg::Hard => Border::Hard,
                },
            },
            budget: Budget { per_vertex, per_joint: self.per_joint, total: None },
            interpolation: RbfParams {
                kernel: self.kernel,
                width: self.width.clone(),
                ridge: self.ridge,
                tail: TailChoice::Automatic,
            },
            normals: !self.no_normals,
            clamp_margin: self.clamp.0,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let source = ExampleSource::choose(args.examples.as_deref(), "--examples", &args.clip)?;
    rigs::check_not_input(&args.output, &[&args.rig, source.path()])?;
    if let Some(path) = &args.report {
        rigs::check_not_input(path, &[&args.rig, source.path()])?;
        if *path == args.output {
            bail!("{} is both the model and the report; choose two names", path.display());
        }
    }
    let options = rigs::read_options(args.skin.as_deref());
    let rig_file = eigenskin_io::read_rig(&args.rig, &options)?;
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
    let set = match &source {
        ExampleSource::Set(path) => eigenskin_io::read_examples(path, &options)?.1,
        ExampleSource::Clip(clip) => {
            clip.note_if_kept(&args.rig, &output);
            clip.read(&rig_file, &options, &output)?
        }
    };
    let rig = rigs::with_references_of(rig_file.rig(), set.rig())?;
    let rig = rigs::settle_references(rig, args.parents.as_deref(), &output)?;
    let orientation = Orientation { z_up: args.up == UpAxis::Z, metres_per_unit: args.unit.metres() };
    let rig_file = rig_file.with_rig(rig)?.with_orientation(orientation)?;
    let set =
        frames::select(rigs::examples_for(rig_file.rig(), set, source.path())?, args.frames.as_deref())?;
    output.item("examples", format!("{}: {}", source.path().display(), counted(set.len(), "pose", "poses")));

    let (Method::Eigenskin, mut params) = (args.method, args.eigenskin.params());
    let choice = progress::while_doing(quiet, "searching", || args.budget.choose(&set, &params, &rig_file))
        .with_context(|| format!("{}", source.path().display()))?;
    if let Some(choice) = &choice {
        params.budget.total = Some(choice.total);
        output.item("budget", &choice.sentence);
        if !choice.error_is_met {
            output.warning("--max-error is not reached; raise the other limits or give more examples");
        }
    }
    let (fit, training) =
        fit_and_measure(&set, &params, quiet).with_context(|| format!("{}", source.path().display()))?;
    let written = write(&args.output, &rig_file, &set, &fit, quiet)?;
    print_fit(&output, &fit, &training, &written);
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(written.bytes)));
    let mut figures = fit_json(&fit, &training, &written);
    if let Some(choice) = &choice {
        figures["budget"] = json!({ "total": choice.total, "error_is_met": choice.error_is_met });
    }
    let left_out = if args.leave_one_out {
        let left_out = progress::while_doing(quiet, "leaving out one example at a time", || {
            leave_one_out(&set, |others| Ok::<_, FitError>(fit_eigenskin(others, &params)?.model))
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
                params: &params,
                fit: &fit,
                training: &training,
                simulation: simulation.as_ref(),
            };
            write_report(path, args, source.path(), &learnt, left_out.as_ref(), &written)
        })?;
    }
    output.json(&figures)
}

/// A fit, and what it was made from.
struct Learnt<'a> {
    set: &'a ExampleSet,
    params: &'a EigenSkinParams,
    fit: &'a EigenSkinFit,
    training: &'a Evaluation,
    simulation: Option<&'a SimulationRecord>,
}

fn write_report(
    path: &Path,
    args: &Args,
    examples: &Path,
    &Learnt { set, params, fit, training, simulation }: &Learnt<'_>,
    left_out: Option<&Evaluation>,
    written: &ModelWriteReport,
) -> Result<()> {
    let unit = match args.unit {
        Unit::M => LengthUnit::of_the_model(),
        Unit::Cm => LengthUnit { name: "cm".to_string(), per_model_unit: 1.0 },
        Unit::Mm => LengthUnit { name: "mm".to_string(), per_model_unit: 1.0 },
    };
    let measured = |name: &str, kind, evaluation, truth| MeasuredSet {
        name: name.to_string(),
        kind,
        when: String::new(),
        evaluation,
        truth,
    };
    let mut sets = vec![measured("training", SetKind::Training, training, Some(set))];
    sets.extend(left_out.map(|evaluation| measured("left out", SetKind::LeftOut, evaluation, None)));
    let (model, view) = (Arc::new(fit.model.clone()), report::view(args.up == UpAxis::Z));
    let mut pictures = report::worst(&model, &sets[0], training, 2, view, &unit)?;
    pictures.extend(report::components(fit, view, &unit)?);
    let page = Report {
        title: report::file_name(&args.rig),
        notes: vec![format!("Learnt from {}.", report::file_name(examples))],
        unit,
        model: &fit.model,
        fit: Some(fit),
        sets,
        methods: report::methods(Some((set, params)), &[set])?,
        written: Some(report::written(&args.output, written)),
        simulation: simulation.map(|record| report::simulation_summary("training", record)),
        pictures,
    };
    report::write(path, &page)
}

/// Fits, and measures the error on the examples themselves.
pub fn fit_and_measure(
    set: &ExampleSet,
    params: &EigenSkinParams,
    quiet: bool,
) -> Result<(EigenSkinFit, Evaluation)> {
    progress::while_doing(quiet, "fitting", || {
        let fit = fit_eigenskin(set, params)?;
        let training = measure(&fit, set);
        Ok((fit, training))
    })
}

/// The errors of a fit on a set.
pub fn measure(fit: &EigenSkinFit, set: &ExampleSet) -> Evaluation {
    evaluate_against(&Arc::new(fit.model.clone()), set)
}

/// How a model fitted to `set` is written: the examples' poses tell how large coordinates become.
pub fn write_options(set: &ExampleSet) -> ModelWriteOptions {
    let sample_poses = set.examples().iter().map(|e| e.pose.clone()).collect();
    ModelWriteOptions { sample_poses, ..ModelWriteOptions::default() }
}

/// Writes the model.
pub fn write(
    path: &Path,
    rig_file: &RigFile,
    set: &ExampleSet,
    fit: &EigenSkinFit,
    quiet: bool,
) -> Result<ModelWriteReport> {
    let options = write_options(set);
    progress::while_doing(quiet, "writing", || {
        Ok(eigenskin_io::write_model(path, rig_file, &fit.model, &options)?)
    })
}

/// What was learnt, in a few lines.
pub fn print_fit(output: &Output, fit: &EigenSkinFit, training: &Evaluation, written: &ModelWriteReport) {
    for merged in &fit.merged {
        let what = merged.same_as.as_deref().map_or("the rest shape".to_string(), |name| format!("{name:?}"));
        output.item("merged", format!("example {:?} repeats {what}", merged.name));
    }
    let joints = fit.joints.iter().filter(|joint| joint.component_count > 0).count();
    let movers = if fit.model.rig().controls().is_empty() {
        counted(joints, "joint", "joints")
    } else {
        counted(joints, "joint or control", "joints and controls")
    };
    output.item(
        "model",
        format!(
            "{} of {}, at most {} at any vertex; {} morph targets",
            counted(fit.model.component_count(), "component", "components"),
            movers,
            fit.model.most_tuples_per_vertex(),
            written.targets,
        ),
    );
    let relative = training.relative_error.map_or("no error to correct".to_string(), |e| {
        format!("{e:.3} of skinning's error on the training poses")
    });
    output.item(
        "error",
        format!("{relative} (rmse {} → {})", figure(training.skinning.rmse), figure(training.model.rmse)),
    );
    for warning in &written.warnings {
        output.warning(warning);
    }
}

/// What was learnt, for machines.
pub fn fit_json(fit: &EigenSkinFit, training: &Evaluation, written: &ModelWriteReport) -> Value {
    let joints: Vec<Value> = fit
        .joints
        .iter()
        .map(|joint| {
            json!({
                "name": joint.name,
                "examples": joint.example_count,
                "support": joint.support_count,
                "components": joint.component_count,
                "singular_values": joint.singular_values,
                "width": joint.width,
                "ridge": joint.ridge,
                "condition": joint.condition,
                "leave_one_out": joint.leave_one_out,
            })
        })
        .collect();
    json!({
        "method": "eigenskin",
        "examples": fit.example_count,
        "merged": fit.merged.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(),
        "components": fit.model.component_count(),
        "largest_tuple_count": fit.model.most_tuples_per_vertex(),
        "rest_space_error": fit.rest_space_error,
        "support_threshold": fit.support_threshold,
        "training": super::evaluate::evaluation_json(training),
        "targets": written.targets,
        "bytes": written.bytes,
        "warnings": written.warnings,
        "joints": joints,
    })
}

fn parse_kernel(name: &str) -> Result<Kernel, String> {
    let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
    Kernel::named(name).ok_or_else(|| format!("choose one of {}", names.join(", ")))
}

fn parse_base(name: &str) -> Result<BaseSkinning, String> {
    BaseSkinning::named(name).ok_or_else(|| "choose rigid, linear or dual-quaternion".to_string())
}

fn parse_width(text: &str) -> Result<Width, String> {
    match text {
        "auto" => Ok(Width::LeaveOneOut),
        number => {
            number.parse().map(Width::Fixed).map_err(|_| "give a number of radians, or auto".to_string())
        }
    }
}

fn parse_ridge(text: &str) -> Result<Ridge, String> {
    match text {
        "auto" => Ok(Ridge::Automatic),
        number => {
            number.parse().map(Ridge::Fixed).map_err(|_| "give a number such as 0.01, or auto".to_string())
        }
    }
}

fn parse_clamp(text: &str) -> Result<ClampArg, String> {
    match text {
        "none" => Ok(ClampArg(None)),
        number => number
            .parse()
            .map(|m| ClampArg(Some(m)))
            .map_err(|_| "give a share such as 0.5, or none".to_string()),
    }
}
