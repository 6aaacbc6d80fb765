//! `eigenskin fit`: rig + examples → model.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use eigenskin::base::BaseError;
use eigenskin::example_source::{ExampleSource, ExampleSourceError, Examples};
use eigenskin::frame_slice::FrameSlice;
use eigenskin::gltf::Orientation;
use eigenskin::jobs::fit::{Fit, FitInputs, FitJobError, FitOutcome, FitSettings, ManyModels};
use eigenskin::method::{Allowed, ErrorLimit, Limits, SizeLimit};
use eigenskin::report::page::LengthUnit;
use eigenskin::reports::{self, FitPage, PageStyle, fit_report};
use eigenskin::rig_source::RigSource;
use serde_json::json;

use crate::example_source::{ClipArgs, simulation};
use crate::fitting::options::MethodArgs;
use crate::fitting::summary;
use crate::model_file::{self, ModelFileArgs};
use crate::output::{Output, bytes, counted, ratio};
use crate::progress::Terminal;
use crate::solved_weights::{self, SolveArgs};
use crate::{inverted, painter, rigs, spread};

/// Learn a model from a rig and example shapes
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --per-vertex 10\n  eigenskin fit hand.glb --clip poses --obj sculpts/ -o model.glb\n  eigenskin fit hand.glb --sculpts sculpts.glb -o model.glb\n  eigenskin fit arm.glb --sculpts sculpts.glb -o model.glb --method psd --radius elbow=0.6\n  eigenskin fit face.glb --examples faces.glb -o model.glb --method psd --max-targets 32\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --method weighted-psd --prototypes 6\n  eigenskin fit body.glb --examples motion.npz -o model.glb --method parameterization --signals 12\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --method patches\n  eigenskin fit hand.glb --examples poses.glb -o model.glb --solve-weights\n\nThe result is a plain GLB: morph targets, skin, drivers in its extras."
)]
pub struct Args {
    /// The rigged character: .glb, .gltf or .npz
    rig: PathBuf,
    /// Example shapes: a GLB example set or a numpy bundle (.npz)
    #[arg(long, value_name = "EX", help_heading = "Input")]
    examples: Option<PathBuf>,
    #[command(flatten)]
    clip: ClipArgs,
    /// The model to write
    #[arg(long, short, value_name = "MODEL.glb", help_heading = "Output")]
    output: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
    /// First solve the skin weights from the examples; the model keeps those of the rig beside them
    #[arg(long, help_heading = "Skin weights")]
    solve_weights: bool,
    #[command(flatten)]
    solve: SolveArgs,
    /// Also fit without each example in turn, and report the error on what was left out
    #[arg(long, help_heading = "Output")]
    leave_one_out: bool,
    /// Poses to learn from, as a Python slice START:STOP:STEP
    #[arg(long, value_name = "A:B:C", allow_hyphen_values = true, help_heading = "Input")]
    frames: Option<FrameSlice>,
    /// Reference joints of a flat rig: a TOML file, [parents] with lines "joint" = "parent"
    #[arg(long, value_name = "FILE.toml", hide_short_help = true, help_heading = "Rig")]
    parents: Option<PathBuf>,
    /// The axis that points up in the rig; z adds a root node that turns it
    #[arg(long, value_enum, default_value = "y", hide_short_help = true, help_heading = "Rig")]
    up: UpAxis,
    /// The rig's unit of length; other than m adds a root node that scales it
    #[arg(long, value_parser = unit_parser(), default_value = "m", hide_short_help = true, help_heading = "Rig")]
    unit: f64,
    /// The skin to use when the file has several
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "Rig")]
    skin: Option<String>,
    /// Write what was learnt with charts and pictures as one HTML page
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<String>,
    #[command(flatten)]
    file: ModelFileArgs,
    #[command(flatten)]
    large: LargeArgs,
    // Last, as its headings in the help hold for all that follows.
    #[command(flatten)]
    method: MethodArgs,
}

impl Args {
    /// Whether z points up in the rig.
    fn is_z_up(&self) -> bool {
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

/// Limits on what is written and on the error that remains.
#[derive(clap::Args, Clone, Copy)]
#[allow(clippy::struct_field_names, reason = "they name the options")]
struct LimitArgs {
    /// Morph targets that the written file may have at most; a component needs one or two. Pose
    /// space deformation merges its fields
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_targets: Option<usize>,
    /// Bytes that the written file may have at most
    #[arg(long, value_name = "N", hide_short_help = true, help_heading = "Limits")]
    max_bytes: Option<usize>,
    /// Target error, relative to plain skinning, on the training poses: the fewest components that
    /// reach it
    #[arg(long, value_name = "E", value_parser = parse_error, help_heading = "Limits")]
    max_error: Option<f64>,
}

fn parse_error(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|error| *error >= 0.0 && error.is_finite());
    number.ok_or_else(|| "give a share of plain skinning's error, such as 0.1".to_string())
}

/// How shapes are treated that do not fit in memory.
#[derive(clap::Args)]
struct LargeArgs {
    /// Leave the shapes of a cache or numpy bundle on disk, as is done anyway above 256 MB
    #[arg(long, hide_short_help = true, help_heading = "Shapes on disk")]
    stream: bool,
    /// Folder for scratch files of shapes that are left on disk: about twice their size
    /// [default: the output's name with .scratch]
    #[arg(long, value_name = "DIR", hide_short_help = true, help_heading = "Shapes on disk")]
    scratch: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    let (inputs, settings) = (args.inputs()?, args.settings()?);
    check_outputs(args, &inputs)?;
    let job = Fit::open(&inputs, settings).map_err(|error| in_options(error, &inputs))?;
    if let Examples::InMemory(set) = &job.examples {
        args.method.check_names(set)?;
    }
    print_inputs(&output, &inputs, &job, args.large.scratch.is_some());

    let watcher = Terminal::new(quiet);
    let outcome = job.run(&watcher).map_err(|error| in_options(error, &inputs))?;
    drop(watcher);
    outcome.write(&args.output)?;
    print_outcome(&output, args, &job, &outcome);
    if let Some(path) = &args.report {
        let simulation = match &job.examples {
            Examples::InMemory(set) => {
                let names: Vec<&str> = set.examples().iter().map(|example| example.name.as_str()).collect();
                simulation(&inputs.examples, &names, &output)
            }
            Examples::OnDisk(_) => None,
        };
        let page = FitPage {
            title: reports::file_name(&args.rig),
            examples_name: reports::file_name(inputs.examples.path()),
            outcome: &outcome,
            written: Some(reports::written_file(&args.output, &outcome.written)),
            simulation: simulation.as_ref(),
        };
        let view = reports::default_view(args.is_z_up());
        let style =
            PageStyle { painter: painter::for_reports()?, view, unit: LengthUnit::of_a_rig(args.unit) };
        reports::write_report(path, &fit_report(&page, &style, &Terminal::new(quiet))?)?;
    }
    let mut figures = serde_json::to_value(&outcome)?;
    if outcome.on_disk.is_some() {
        figures["streamed"]["peak_memory"] = json!(peak_memory());
    }
    job.finish();
    output.json(&figures)
}

impl Args {
    fn inputs(&self) -> Result<FitInputs> {
        let examples = self.clip.source(self.examples.as_deref(), "--examples")?;
        let rig =
            RigSource { path: self.rig.clone(), skin: self.skin.clone(), parents: self.parents.clone() };
        let scratch = self.large.scratch.clone().unwrap_or_else(|| {
            let mut name = self.output.as_os_str().to_owned();
            name.push(".scratch");
            name.into()
        });
        Ok(FitInputs {
            rig,
            examples,
            frames: self.frames,
            base: self.method.base().cloned(),
            orientation: Orientation { z_up: self.is_z_up(), metres_per_unit: self.unit },
            on_disk: self.large.stream,
            scratch,
        })
    }

    fn settings(&self) -> Result<FitSettings> {
        if !self.solve_weights && self.solve.given() {
            bail!("--influences and --smooth only work with --solve-weights, not with the rig's own weights");
        }
        let LimitArgs { max_targets, max_bytes, max_error } = self.limits;
        Ok(FitSettings {
            method: self.method.wanted()?,
            limits: Limits { targets: max_targets, bytes: max_bytes, error: max_error },
            solve_weights: self.solve_weights.then(|| self.solve.params()),
            leave_one_out: self.leave_one_out,
            file: self.file.options(),
        })
    }
}

/// Outputs are no inputs, and are not the same.
fn check_outputs(args: &Args, inputs: &FitInputs) -> Result<()> {
    let given: [&Path; 2] = [&args.rig, inputs.examples.path()];
    rigs::check_not_input(&args.output, &given)?;
    if let Some(path) = &args.report {
        rigs::check_not_input(path, &given)?;
        if *path == args.output {
            bail!("{} is both the model and the report; choose two names", path.display());
        }
    }
    Ok(())
}

/// An error with the options that help.
fn in_options(error: FitJobError, inputs: &FitInputs) -> anyhow::Error {
    let options = match &error {
        FitJobError::SeveralBases { .. } | FitJobError::DeformersOnDisk { .. } => "--base",
        FitJobError::Base(BaseError::Program { .. }) => "--base FILE.toml",
        FitJobError::ManyModelsThroughProgram => {
            "leave out --leave-one-out, --max-error, --max-targets and --max-bytes"
        }
        FitJobError::NeedsMemory { what: ManyModels::Weights } => {
            "eigenskin weights --frames ::100 first, then fit the rig that it writes without --solve-weights"
        }
        FitJobError::NeedsMemory { what: ManyModels::LeaveOneOut } => {
            "leave out --leave-one-out, or --frames ::100"
        }
        FitJobError::NeedsMemory { what: ManyModels::Limits } => {
            "leave out --max-error, --max-bytes and, except for pose space deformation, --max-targets, or --frames ::100"
        }
        FitJobError::PsdNeedsLimit => "--max-targets N, or --frames ::100",
        FitJobError::LimitBelowRig { limit: SizeLimit::Targets(_), .. } => "--max-targets",
        FitJobError::LimitBelowRig { limit: SizeLimit::Bytes(_), .. } => "--max-bytes",
        FitJobError::Source(ExampleSourceError::NotStreamable { .. }) => {
            "give the shapes with --cache FILE or as a numpy bundle, or leave out --stream"
        }
        FitJobError::Source(ExampleSourceError::Frames(_)) => "--frames",
        FitJobError::Scratch(_) => "--scratch DIR",
        FitJobError::Learn(_) => {
            let path = inputs.examples.path().display().to_string();
            return anyhow::Error::new(error).context(path);
        }
        _ => return error.into(),
    };
    anyhow!("{error} ({options})")
}

fn print_inputs(output: &Output, inputs: &FitInputs, job: &Fit, scratch_given: bool) {
    rigs::print_file(output, &inputs.rig.path, &job.rig.file);
    if let Some(guess) = &job.rig.guessed {
        rigs::tell_references(job.rig.rig(), guess, " (--parents FILE.toml to correct)", output);
    }
    for note in &job.notes {
        output.item("shapes", note);
    }
    if let Some(what) = kept_in_rig(inputs) {
        output.item(
            "shapes",
            format!("the model keeps the {what} of its rig; give a rig without them to be rid of them"),
        );
    }
    let poses = counted(job.examples.len(), "pose", "poses");
    let path = inputs.examples.path().display();
    match &job.examples {
        Examples::InMemory(_) => {
            output.item("examples", format!("{path}: {poses}"));
            if scratch_given {
                output.item("scratch", "not used: the shapes are in memory (--stream leaves them on disk)");
            }
        }
        Examples::OnDisk(set) => {
            let size = bytes(set.bytes() as usize);
            output.item("examples", format!("{path}: {poses}, {size} of shapes that stay on disk"));
            let folder = inputs.scratch.display();
            output.item("scratch", format!("{folder}; interrupted, the same command goes on from there"));
            if let Some(done) = job.resumed {
                let done = counted(done, "pose", "poses");
                output.item("going on", format!("{done} are in {folder} from an earlier run"));
            }
        }
    }
}

/// Sculpts or shape keys that stand in the rig's own file, and so in the model's.
fn kept_in_rig(inputs: &FitInputs) -> Option<&'static str> {
    let what = match inputs.examples {
        ExampleSource::Sculpts { .. } => "sculpts",
        ExampleSource::ShapeKeys { .. } => "shape keys",
        _ => return None,
    };
    let [rig, shapes] = [&inputs.rig.path, inputs.examples.path()].map(Path::canonicalize);
    matches!((rig, shapes), (Ok(a), Ok(b)) if a == b).then_some(what)
}

fn print_outcome(output: &Output, args: &Args, job: &Fit, outcome: &FitOutcome) {
    if let Some(inverted) = &outcome.inverted {
        inverted::tell(inverted, output);
    }
    if let (Some(solved), Some(params)) = (&outcome.solved, &job.settings.solve_weights) {
        solved_weights::print(output, solved, params.influences);
    }
    if let Some(choice) = &outcome.choice {
        summary::print_choice(output, choice);
    }
    if let Some(found) = outcome.within_limits {
        print_limits(output, found, args.limits);
    }
    summary::print(output, outcome);
    model_file::print_losses(output, &outcome.written);
    output.item("wrote", format!("{} ({})", args.output.display(), bytes(outcome.written.bytes)));
    if let Some((_, seconds)) = outcome.on_disk {
        let used = peak_memory()
            .map_or(String::new(), |memory| format!(", {} of memory at most", bytes(memory as usize)));
        output.item("took", format!("{seconds:.0} s{used}"));
    }
    if let Some(left_out) = &outcome.left_out {
        let ratio = ratio(left_out.relative_error);
        output.item(
            "left out",
            format!("{ratio} of plain skinning's error, each example against a model fitted to the others"),
        );
        if let Some(words) = spread::in_words(left_out) {
            output.item("", words);
        }
    }
}

fn print_limits(output: &Output, found: Allowed, limits: LimitArgs) {
    let what = format!("{} of {}", counted(found.components, "component", "components"), found.unlimited);
    let limit = found.limited_by.map(|limit| match limit {
        SizeLimit::Targets(most) => format!("--max-targets {most}"),
        SizeLimit::Bytes(most) => format!("--max-bytes {most} ({})", bytes(most)),
    });
    let sentence = match (found.error, limit) {
        (ErrorLimit::Open, None) => format!("{what}, no limit was reached"),
        (ErrorLimit::Open, Some(limit)) => format!("{what}, the most that {limit} allows"),
        (ErrorLimit::Met, _) => {
            format!("{what}, the fewest that reach an error of {}", limits.max_error.unwrap_or_default())
        }
        (ErrorLimit::Missed { best }, limit) => {
            let why = limit.unwrap_or_else(|| "--per-vertex or the examples".to_string());
            format!("{what}; {why} allow no error below {best:.4}")
        }
    };
    output.item("budget", sentence);
    if matches!(found.error, ErrorLimit::Missed { .. }) {
        output.warning("--max-error is not reached; raise the other limits or give more examples");
    }
}

/// The most memory that this process had at any moment, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}
