//! `eigenskin simulate`: training poses for a rig that has none.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use eigenskin::frame_slice::FrameSlice;
use eigenskin::jobs::simulate::{
    PartsError, PartsStore, PoseFile, PoseSettings, Simulate, SimulateError, SimulateInputs,
    SimulateSettings, SimulationPlan, TissueSettings,
};
use eigenskin::rig_source::RigSource;
use eigenskin::sim::ranges::RangeError;
use serde_json::json;

use crate::output::{Output, counted};
use crate::progress::Terminal;
use crate::simulate::ranges::RangeArgs;
use crate::simulate::{by_option, outcome, plan};
use crate::{painter, rigs};

/// Options whose values a set already has, beside those of [`NOT_WITH_POSES`].
const NOT_WITH_MORE: [&str; 9] =
    ["poses", "cell_size", "max_cells", "poisson", "bone_radius", "gap", "no_contact", "exclude", "parents"];

/// Options about poses that are made, of which `--poses` needs none.
const NOT_WITH_POSES: [&str; 10] = [
    "per_degree",
    "no_corners",
    "multi_joint_poses",
    "validation_poses",
    "validation",
    "seed",
    "ranges",
    "range",
    "lock",
    "range_share",
];

/// Bend a rigged character as soft tissue around its bones: training poses without sculpts
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin simulate hand.glb --plan\n  eigenskin simulate hand.glb -o examples.glb\n  eigenskin simulate examples.glb --more 24\n  eigenskin simulate man.glb --range 'leg_joint_L_2:flex=0..120' --lock neck_joint_1 -o examples.glb\n\nOn a cluster: --list-jobs tells how many jobs there are; --job N solves one of them into the folder\nOUT.parts; --resume collects them and solves what is missing.\n\nA file of ranges has a table per joint, in degrees away from rest:\n  [joints.\"forearm.L\"]\n  flex = [0, 110]    # or side, twist, or the joint's own x, y, z"
)]
pub struct Args {
    /// The rig: .glb, .gltf or .npz; with --more the example set
    rig: PathBuf,
    /// The example set to write
    #[arg(long, short, value_name = "EXAMPLES.glb")]
    output: Option<PathBuf>,
    /// Where to write the poses to validate with [default: EXAMPLES.validation.glb]
    #[arg(long, value_name = "FILE.glb", hide_short_help = true)]
    validation: Option<PathBuf>,
    /// Only tell what would be done, with a picture of lattice and bones
    #[arg(long)]
    plan: bool,
    /// Where to write the picture of the plan [default: EXAMPLES.plan.png, else RIG.plan.png in this folder]
    #[arg(long, value_name = "FILE.png", requires = "plan", hide_short_help = true)]
    picture: Option<PathBuf>,
    #[command(flatten)]
    poses: PoseArgs,
    #[command(flatten)]
    tissue: TissueArgs,
    #[command(flatten)]
    work: WorkArgs,
    /// Write one CalculiX input file per job into this folder, and stop
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    export_calculix: Option<PathBuf>,
    /// Which skin, when the file has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// What the joints of a flat rig turn against: a TOML file, [parents] with lines "joint" = "parent"
    #[arg(long, value_name = "FILE.toml", hide_short_help = true)]
    parents: Option<PathBuf>,
    /// Write plan and quality of all poses as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Which poses.
#[derive(clap::Args)]
#[command(next_help_heading = "Poses")]
struct PoseArgs {
    /// Poses per degree of freedom, one joint at a time
    #[arg(long, value_name = "N", default_value_t = 6)]
    per_degree: usize,
    /// Leave out the poses that turn a joint about two axes at once
    #[arg(long, hide_short_help = true)]
    no_corners: bool,
    /// Poses of all joints, to learn what joints do together: of many random ones those that tell most
    #[arg(long, value_name = "N", default_value_t = 24)]
    multi_joint_poses: usize,
    /// Go on with an example set that was simulated: RIG is the set, which gets N more poses of all joints, chosen
    /// given the examples it has. It keeps those, and the settings it was simulated with. Without -o the set itself is
    /// written anew
    #[arg(long, value_name = "N", conflicts_with_all = NOT_WITH_POSES, conflicts_with_all = NOT_WITH_MORE)]
    more: Option<usize>,
    /// Random poses of all joints, to validate with
    #[arg(long, value_name = "N", default_value_t = 25, hide_short_help = true)]
    validation_poses: usize,
    /// Seed of the random poses
    #[arg(long, value_name = "N", default_value_t = 2002, hide_short_help = true)]
    seed: u64,
    #[command(flatten)]
    ranges: RangeArgs,
    /// Share of the ranges that were not given
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, hide_short_help = true)]
    range_share: f64,
    /// Simulate the poses of this example set instead (its shapes are not looked at), and make none
    #[arg(long, value_name = "EX", conflicts_with_all = NOT_WITH_POSES, hide_short_help = true)]
    poses: Option<PathBuf>,
    /// Choose among the poses of --poses: START:STOP:STEP
    #[arg(
        long,
        value_name = "SLICE",
        requires = "poses",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    frames: Option<FrameSlice>,
}

/// What the tissue is like.
#[derive(clap::Args)]
#[command(next_help_heading = "Tissue")]
struct TissueArgs {
    /// Edge of the lattice's cells, in the rig's unit [default: a third of the thinnest limb]
    #[arg(long, value_name = "LENGTH", conflicts_with = "max_cells", hide_short_help = true)]
    cell_size: Option<f64>,
    /// The most cells that an automatic edge gives
    #[arg(long, value_name = "N", default_value_t = 3000)]
    max_cells: usize,
    /// Poisson's ratio: towards 0.5 the tissue keeps its volume
    #[arg(long, value_name = "RATIO", default_value_t = 0.45, hide_short_help = true)]
    poisson: f64,
    /// Radius of the bones as a share of their depth below the skin
    #[arg(long, value_name = "SHARE", default_value_t = 0.3, hide_short_help = true)]
    bone_radius: f64,
    /// Length left free at joints as a share of the depth there
    #[arg(long, value_name = "SHARE", default_value_t = 0.75, hide_short_help = true)]
    gap: f64,
    /// Let parts of the body pass through each other: faster, and wrong where skin touches skin
    #[arg(long)]
    no_contact: bool,
    /// A mesh, mesh node or material that is no skin and is carried along; may be repeated
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    exclude: Vec<String>,
}

/// How the work is done.
#[derive(clap::Args)]
#[command(next_help_heading = "Work")]
struct WorkArgs {
    /// Go on with what an interrupted run, or runs with --job, left in OUT.parts
    #[arg(long)]
    resume: bool,
    /// List the jobs and stop
    #[arg(long, hide_short_help = true)]
    list_jobs: bool,
    /// Solve this job only, into OUT.parts
    #[arg(long, value_name = "N", conflicts_with = "resume", hide_short_help = true)]
    job: Option<usize>,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", hide_short_help = true)]
    threads: Option<usize>,
}

impl Args {
    fn inputs(&self) -> SimulateInputs {
        let (path, skin, parents) = (self.rig.clone(), self.skin.clone(), self.parents.clone());
        let frames = self.poses.frames;
        SimulateInputs {
            rig: RigSource { path, skin, parents },
            ranges: self.poses.ranges.file().map(PathBuf::from),
            poses: self.poses.poses.clone().map(|path| PoseFile { path, frames }),
            more: self.poses.more,
        }
    }

    fn settings(&self) -> Result<SimulateSettings> {
        let (poses, tissue) = (&self.poses, &self.tissue);
        Ok(SimulateSettings {
            poses: PoseSettings {
                per_degree: poses.per_degree,
                corners: !poses.no_corners,
                multi_joint_poses: poses.multi_joint_poses,
                validation_poses: poses.validation_poses,
                seed: poses.seed,
                ranges: poses.ranges.ranges()?,
                locked: poses.ranges.locked().to_vec(),
                range_share: poses.range_share,
            },
            tissue: TissueSettings {
                cell_size: tissue.cell_size,
                max_cells: tissue.max_cells,
                poisson: tissue.poisson,
                bone_radius: tissue.bone_radius,
                gap: tissue.gap,
                contact: !tissue.no_contact,
            },
            exclude: tissue.exclude.clone(),
            threads: self.work.threads,
        })
    }

    /// The example set that is written: with --more, the one that is read where no other is given.
    fn target(&self) -> Option<&Path> {
        let itself = self.poses.more.map(|_| self.rig.as_path());
        self.output.as_deref().or(itself)
    }

    /// Where the poses to validate with go.
    fn validation_path(&self, examples: &Path) -> PathBuf {
        self.validation.clone().unwrap_or_else(|| examples.with_extension("validation.glb"))
    }

    /// Where the picture of the plan goes: beside what would be written, else into the current folder.
    fn picture_path(&self) -> PathBuf {
        let beside = |examples: &PathBuf| examples.with_extension("plan.png");
        let here =
            || Path::new(self.rig.file_name().unwrap_or(self.rig.as_os_str())).with_extension("plan.png");
        self.picture.clone().unwrap_or_else(|| self.output.as_ref().map_or_else(here, beside))
    }

    /// An error in the words of the command; what is wrong with the rig begins with its name.
    fn explained(&self, error: SimulateError) -> anyhow::Error {
        let rig = self.rig.display();
        match error {
            SimulateError::Ranges(RangeError::NothingMoves) => {
                anyhow!("{rig}: {}, such as --range 'JOINT:x=-30..30'", RangeError::NothingMoves)
            }
            SimulateError::Ranges(RangeError::NoJoints) => anyhow!(
                "{rig}: {}; sculpt examples of its controls instead (eigenskin examples add)",
                RangeError::NoJoints
            ),
            SimulateError::Ranges(_) | SimulateError::Simulation(_) => {
                anyhow::Error::new(error).context(rig.to_string())
            }
            SimulateError::UnknownPart { .. } => anyhow::Error::new(error).context("--exclude"),
            SimulateError::NoSuchJob { job, .. } => anyhow::Error::new(error).context(format!("--job {job}")),
            SimulateError::NoPoses => anyhow!("{error} with --per-degree"),
            SimulateError::Parts(PartsError::EarlierRun { folder }) => anyhow!(
                "{} holds jobs of an earlier run; add --resume to go on with them, or remove the folder",
                folder.display()
            ),
            error => by_option(error),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    check_arguments(args)?;
    let explained = |error| args.explained(error);
    let (job, guessed) = Simulate::open(&args.inputs(), args.settings()?).map_err(explained)?;
    let rig = job.file.rig();
    if let Some(guess) = &guessed {
        rigs::tell_references(rig, guess, " (--parents FILE.toml to correct)", &output);
    }
    output.item("rig", rigs::summary(rig));

    let jobs = job.jobs(&Terminal::new(quiet)).map_err(explained)?;
    if let Some(ranges) = &jobs.ranges {
        plan::print_ranges(&output, rig, ranges);
    }
    if args.work.list_jobs {
        for (index, job) in jobs.jobs.iter().enumerate() {
            output.line(format!("{index:4}  {}", job.description()));
        }
        return output.json(&json!({ "jobs": jobs.jobs.len() }));
    }
    let planned = job.plan(jobs, &Terminal::new(quiet)).map_err(explained)?;
    plan::print_tissue(&output, &planned);
    if args.plan {
        return draw(args, &planned, &output);
    }
    if let Some(folder) = &args.export_calculix {
        return export_calculix(folder, &planned, &output, quiet);
    }
    solve_and_write(args, &planned, &output, quiet)
}

/// What can be said before anything is read.
fn check_arguments(args: &Args) -> Result<()> {
    let asks = args.plan || args.work.list_jobs || args.export_calculix.is_some();
    if args.target().is_none() && !asks {
        bail!("there is nothing to write; give -o EXAMPLES.glb, or --plan to see what would be done");
    }
    if args.poses.more.is_some() {
        return Ok(());
    }
    let inputs: Vec<&Path> =
        [Some(args.rig.as_path()), args.poses.poses.as_deref()].into_iter().flatten().collect();
    let validation = args.output.as_deref().map(|output| args.validation_path(output));
    for path in [args.output.as_ref(), validation.as_ref(), args.picture.as_ref()].into_iter().flatten() {
        rigs::check_not_input(path, &inputs)?;
    }
    if let (Some(output), Some(validation)) = (&args.output, &validation)
        && output == validation
    {
        bail!("{} cannot hold both examples and validation; give two names", output.display());
    }
    Ok(())
}

fn draw(args: &Args, planned: &SimulationPlan, output: &Output) -> Result<()> {
    let path = args.picture_path();
    let png = planned.picture(painter::for_reports()?)?;
    eigenskin::io::atomic::write_file(&path, &png)
        .with_context(|| format!("{} could not be written", path.display()))?;
    output.item("wrote", path.display().to_string());
    output.json(&json!(planned.facts()))
}

fn export_calculix(folder: &Path, planned: &SimulationPlan, output: &Output, quiet: bool) -> Result<()> {
    planned.write_calculix(folder, &Terminal::new(quiet))?;
    let count = planned.jobs().jobs.len();
    output.item("wrote", format!("{} in {}", counted(count, "input file", "input files"), folder.display()));
    output.item("", "solve one with: ccx job-0000 (lengths in cell edges, stress in shear moduli)");
    output.json(&json!({ "jobs": count }))
}

fn solve_and_write(args: &Args, planned: &SimulationPlan, output: &Output, quiet: bool) -> Result<()> {
    let explained = |error| args.explained(error);
    let Some(path) = args.target() else {
        bail!("there is nothing to write; give -o EXAMPLES.glb, or --plan")
    };
    let folder = PartsStore::folder_for(path);
    let goes_on = args.work.resume || args.work.job.is_some();
    let store = if goes_on { PartsStore::open(folder, planned) } else { PartsStore::create(folder, planned) };
    let store = store.map_err(|error| explained(error.into()))?;
    if let Some(index) = args.work.job {
        let solved = planned.run_job(index, &store, &Terminal::new(quiet)).map_err(explained)?;
        output.item("job", format!("{index}: {}", planned.jobs().jobs[index].description()));
        return output.json(&json!(solved));
    }
    let found = planned.run(Some(&store), &Terminal::new(quiet)).map_err(explained)?;
    outcome::print(output, &found);
    let validation = args.validation_path(path);
    let written = found.write(path, &validation).map_err(explained)?;
    output.item("wrote", format!("{}: {}", path.display(), counted(written.training, "pose", "poses")));
    if written.validation > 0 {
        let count = counted(written.validation, "pose", "poses");
        output.item("", format!("{}: {count} to validate with", validation.display()));
    }
    store.remove()?;
    let mut figures = json!(found);
    if let Some(ahead) = found.outlook(&Terminal::new(quiet)).map_err(explained)? {
        outcome::print_outlook(output, &ahead, path);
        figures["outlook"] = json!(ahead);
    }
    output.json(&figures)
}
