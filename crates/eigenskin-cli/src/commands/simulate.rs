//! `eigenskin simulate`: training poses for a rig that has none.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::articulation::{Articulation, NamedPose};
use eigenskin::gltf::RigFile;
use eigenskin::progress::Unwatched;
use eigenskin::rig::Rig;
use eigenskin::sim::calculix;
use eigenskin::sim::jobs::{Job, Purpose, SamplingParams, jobs, jobs_of_poses};
use eigenskin::sim::ranges::ranges;
use eigenskin::sim::simulation::{Simulation, SimulationParams};
use serde_json::{Value, json};

use crate::output::{Output, counted};
use crate::simulate::parts::{Parts, quality_json};
use crate::simulate::ranges::RangeArgs;
use crate::simulate::{fingerprint, plan, run};
use crate::{progress, rigs};

/// Bend a rigged character as soft tissue around its bones: training poses without sculpts
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin simulate hand.glb --plan\n  eigenskin simulate hand.glb -o examples.glb\n  eigenskin simulate man.glb --range 'leg_joint_L_2:flex=0..120' --still neck_joint_1 -o examples.glb\n\nOn a cluster: --list-jobs tells how many jobs there are; --job N solves one of them into the folder\nOUT.parts; --resume collects them and solves what is missing.\n\nA file of ranges has a table per joint, in degrees away from rest:\n  [joints.\"forearm.L\"]\n  flex = [0, 110]    # or side, twist, or the joint's own x, y, z"
)]
pub struct Args {
    /// The rig: .glb, .gltf or .npz
    rig: PathBuf,
    /// The example set to write
    #[arg(long, short, value_name = "EXAMPLES.glb")]
    output: Option<PathBuf>,
    /// Where to write the poses to validate with [default: EXAMPLES.validation.glb]
    #[arg(long, value_name = "FILE.glb")]
    validation: Option<PathBuf>,
    /// Only tell what would be done, with a picture of lattice and bones
    #[arg(long)]
    plan: bool,
    /// Where to write the picture of the plan [default: RIG.plan.png]
    #[arg(long, value_name = "FILE.png", requires = "plan")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    poses: PoseArgs,
    #[command(flatten)]
    tissue: TissueArgs,
    #[command(flatten)]
    work: WorkArgs,
    /// Write one CalculiX input file per job into this folder, and stop
    #[arg(long, value_name = "DIR")]
    export_calculix: Option<PathBuf>,
    /// Which skin, when the file has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// What the joints of a flat rig turn against: a TOML file, [parents] with lines "joint" = "parent"
    #[arg(long, value_name = "FILE.toml")]
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
    #[arg(long)]
    no_corners: bool,
    /// Poses that turn two neighbouring joints at once
    #[arg(long, value_name = "N", default_value_t = 0)]
    coupled: usize,
    /// Poses of all joints, to learn what joints do together
    #[arg(long, value_name = "N", default_value_t = 24)]
    together: usize,
    /// Random poses of all joints, to validate with
    #[arg(long, value_name = "N", default_value_t = 25)]
    validation_poses: usize,
    /// Seed of the random poses
    #[arg(long, value_name = "N", default_value_t = 2002)]
    seed: u64,
    #[command(flatten)]
    ranges: RangeArgs,
    /// Share of the ranges that were not given
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    range_share: f64,
    /// Simulate the poses of this example set instead (its shapes are not looked at)
    #[arg(long, value_name = "EX")]
    poses: Option<PathBuf>,
    /// Choose among the poses of --poses: START:STOP:STEP
    #[arg(long, value_name = "SLICE", requires = "poses", allow_hyphen_values = true)]
    frames: Option<String>,
}

/// What the tissue is like.
#[derive(clap::Args)]
#[command(next_help_heading = "Tissue")]
struct TissueArgs {
    /// Edge of the lattice's cubes, in the rig's unit [default: a third of the thinnest limb]
    #[arg(long, value_name = "LENGTH")]
    cube: Option<f64>,
    /// The most cubes that an automatic edge gives
    #[arg(long, value_name = "N", default_value_t = 3000)]
    cubes: usize,
    /// Poisson's ratio: towards 0.5 the tissue keeps its volume
    #[arg(long, value_name = "RATIO", default_value_t = 0.45)]
    poisson: f64,
    /// Radius of the bones as a share of their depth below the skin
    #[arg(long, value_name = "SHARE")]
    bone_radius: Option<f64>,
    /// Length left free at joints as a share of the depth there
    #[arg(long, value_name = "SHARE")]
    gap: Option<f64>,
    /// Let parts of the body pass through each other: faster, and wrong where skin touches skin
    #[arg(long)]
    no_contact: bool,
    /// A mesh, mesh node or material that is no skin and is carried along; may be repeated
    #[arg(long, value_name = "NAME")]
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
    #[arg(long)]
    list_jobs: bool,
    /// Solve this job only, into OUT.parts
    #[arg(long, value_name = "N", requires = "output", conflicts_with = "resume")]
    job: Option<usize>,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    check_arguments(args)?;
    let file = eigenskin::io::read_rig(&args.rig, &rigs::read_options(args.skin.as_deref()))?;
    let rig = rigs::settle_references(file.rig().clone(), args.parents.as_deref(), &output)?;
    let file = file.with_rig(rig.clone())?;
    output.item("rig", rigs::summary(&rig));

    let (jobs, degrees) = wanted_jobs(args, &rig, &output)?;
    if args.work.list_jobs {
        for (index, job) in jobs.iter().enumerate() {
            output.line(format!("{index:4}  {}", job.description()));
        }
        return output.json(&json!({ "jobs": jobs.len() }));
    }
    let excluded = excluded_vertices(&file, &args.tissue.exclude)?;
    let simulation = progress::while_doing(quiet, "filling the skin", || {
        Simulation::new(rig.clone(), &jobs, &excluded, &simulation_params(&args.tissue), &Unwatched)
    })
    .with_context(|| args.rig.display().to_string())?;
    plan::print_tissue(&output, &simulation, &jobs, 0);
    let planned = plan::plan_json(&rig, &degrees, &simulation, &jobs);

    if args.plan {
        let path = args.picture.clone().unwrap_or_else(|| args.rig.with_extension("plan.png"));
        let png = progress::while_doing(quiet, "drawing", || plan::picture(&simulation))?;
        eigenskin::io::atomic::write_file(&path, &png)
            .with_context(|| format!("{} could not be written", path.display()))?;
        output.item("wrote", path.display().to_string());
        return output.json(&planned);
    }
    if let Some(folder) = &args.export_calculix {
        return export_calculix(folder, &simulation, &jobs, &output);
    }
    let Some(path) = &args.output else {
        bail!("there is nothing to write; give -o EXAMPLES.glb, or --plan")
    };
    match args.work.threads {
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .context("threads could not be started")?
            .install(|| solve_and_write(args, path, &file, &simulation, &jobs, &planned, &output, quiet)),
        None => solve_and_write(args, path, &file, &simulation, &jobs, &planned, &output, quiet),
    }
}

/// What can be said before anything is read.
fn check_arguments(args: &Args) -> Result<()> {
    let asks = args.plan || args.work.list_jobs || args.export_calculix.is_some();
    if args.output.is_none() && !asks {
        bail!("there is nothing to write; give -o EXAMPLES.glb, or --plan to see what would be done");
    }
    let inputs: Vec<&Path> =
        [Some(args.rig.as_path()), args.poses.poses.as_deref()].into_iter().flatten().collect();
    let validation = args.output.as_deref().map(|output| validation_path(args, output));
    for path in [args.output.as_ref(), validation.as_ref(), args.picture.as_ref()].into_iter().flatten() {
        rigs::check_not_input(path, &inputs)?;
    }
    if let (Some(output), Some(validation)) = (&args.output, &validation)
        && output == validation
    {
        bail!("{} cannot hold both examples and validation; give two names", output.display());
    }
    check_tissue(&args.tissue)?;
    if !(args.poses.range_share > 0.0 && args.poses.range_share <= 1.5) {
        bail!("--range-share {} is not possible; give a share above 0 and up to 1.5", args.poses.range_share);
    }
    if args.work.threads == Some(0) {
        bail!("--threads 0 cannot do anything; give at least 1");
    }
    Ok(())
}

/// Options of the tissue, by their names on the command line.
fn check_tissue(args: &TissueArgs) -> Result<()> {
    if let Some(edge) = args.cube.filter(|edge| !(edge.is_finite() && *edge > 0.0)) {
        bail!("--cube {edge} is not possible; give a length above 0, in the rig's unit");
    }
    if !(20..=300_000).contains(&args.cubes) {
        bail!("--cubes {} is not possible; give a number from 20 to 300000", args.cubes);
    }
    if let Some(share) = args.bone_radius.filter(|share| !(*share > 0.0 && *share < 1.0)) {
        bail!("--bone-radius {share} is not possible; give a share above 0 and below 1, such as 0.3");
    }
    if let Some(share) = args.gap.filter(|share| !(share.is_finite() && *share >= 0.0)) {
        bail!("--gap {share} is not possible; give a share of 0 or more, such as 0.75");
    }
    Ok(())
}

/// Where the poses to validate with go.
fn validation_path(args: &Args, output: &Path) -> PathBuf {
    args.validation.clone().unwrap_or_else(|| output.with_extension("validation.glb"))
}

/// The poses as jobs, and the degrees of freedom they come from.
fn wanted_jobs(
    args: &Args,
    rig: &Arc<Rig>,
    output: &Output,
) -> Result<(Vec<Job>, Vec<eigenskin::articulation::DegreeOfFreedom>)> {
    let poses = &args.poses;
    if let Some(path) = &poses.poses {
        let (_, set) = eigenskin::io::read_examples(path, &rigs::read_options(args.skin.as_deref()))?;
        let set = crate::frames::select(rigs::examples_for(rig, set, path)?, poses.frames.as_deref())?;
        let named: Vec<NamedPose> = set
            .examples()
            .iter()
            .map(|example| NamedPose { name: example.name.clone(), pose: example.pose.clone() })
            .collect();
        return Ok((jobs_of_poses(rig, &named, Purpose::Training), Vec::new()));
    }
    let given = poses.ranges.given()?;
    let found = ranges(rig, &given, poses.range_share).with_context(|| args.rig.display().to_string())?;
    plan::print_ranges(output, rig, &found);
    let sampling = SamplingParams {
        per_degree: poses.per_degree,
        corner_shares: if poses.no_corners { Vec::new() } else { SamplingParams::default().corner_shares },
        couplings: poses.coupled,
        together: poses.together,
        validation: poses.validation_poses,
        seed: poses.seed,
        ..SamplingParams::default()
    };
    let articulation = Articulation { rig, degrees: &found.degrees };
    Ok((jobs(articulation, &sampling), found.degrees))
}

fn simulation_params(args: &TissueArgs) -> SimulationParams {
    let mut params = run::params_with_cubes(args.cubes);
    params.tissue.fill.edge = args.cube;
    params.material.poisson = args.poisson;
    if args.no_contact {
        params.contact = None;
    }
    if let Some(share) = args.bone_radius {
        params.tissue.bones.radius_share = share;
    }
    if let Some(share) = args.gap {
        params.tissue.bones.gap_share = share;
    }
    params
}

/// `vertex` → whether it belongs to something that is named as no skin.
fn excluded_vertices(file: &RigFile, names: &[String]) -> Result<Vec<bool>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let parts = file.named_parts();
    let mut excluded = vec![false; file.rig().vertex_count()];
    for name in names {
        let mut found = false;
        for part in parts.iter().filter(|part| part.names.contains(name)) {
            excluded[part.vertices.clone()].fill(true);
            found = true;
        }
        if !found {
            let mut known: Vec<&str> =
                parts.iter().flat_map(|part| &part.names).map(String::as_str).collect();
            known.sort_unstable();
            known.dedup();
            bail!(
                "--exclude {name:?} is no mesh, node or material of the rig; there are: {}",
                known.join(", ")
            );
        }
    }
    Ok(excluded)
}

fn export_calculix(folder: &Path, simulation: &Simulation, jobs: &[Job], output: &Output) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} could not be made", folder.display()))?;
    for (index, job) in jobs.iter().enumerate() {
        let poses: Vec<_> = job.stops.iter().map(|stop| simulation.motions(job, stop.share)).collect();
        let mut text = Vec::new();
        calculix::write_inp(&mut text, simulation.problem(), &poses)?;
        let path = folder.join(format!("job-{index:04}.inp"));
        eigenskin::io::atomic::write_file(&path, &text)
            .with_context(|| format!("{} could not be written", path.display()))?;
    }
    output.item(
        "wrote",
        format!("{} in {}", counted(jobs.len(), "input file", "input files"), folder.display()),
    );
    output.item("", "solve one with: ccx job-0000 (lengths in cube edges, stress in shear moduli)");
    output.json(&json!({ "jobs": jobs.len() }))
}

#[allow(clippy::too_many_arguments)]
fn solve_and_write(
    args: &Args,
    path: &Path,
    file: &RigFile,
    simulation: &Simulation,
    jobs: &[Job],
    planned: &Value,
    output: &Output,
    quiet: bool,
) -> Result<()> {
    let folder = Parts::folder_of(path);
    if folder.exists() && !args.work.resume && args.work.job.is_none() {
        bail!(
            "{} holds jobs of an earlier run; add --resume to go on with them, or remove the folder",
            folder.display()
        );
    }
    let settings = json!({ "plan": planned, "all": fingerprint::of(file, jobs, &args.tissue.exclude, &simulation_params(&args.tissue)) });
    let parts = Parts::open(&folder, file, &settings)?;
    if let Some(index) = args.work.job {
        let job = jobs
            .get(index)
            .with_context(|| format!("--job {index}: there are {} jobs, counted from 0", jobs.len()))?;
        let result = progress::while_doing(quiet, "simulating", || {
            anyhow::Ok(simulation.run(
                &mut simulation.solver()?,
                simulation.contact(&Unwatched)?.as_ref(),
                job,
                &Unwatched,
            )?)
        })?;
        parts.write(index, &result)?;
        output.item("job", format!("{index}: {}", job.description()));
        return output
            .json(&json!({ "job": index, "poses": result.poses.len(), "failed": result.failed.len() }));
    }
    let outcome = run::solve_and_sort(simulation, jobs, Some(&parts), |_| false, output, quiet)?;
    let write = |path: &Path, purpose: Purpose| -> Result<usize> {
        let set = outcome.examples(simulation.rig(), |pose| pose.purpose == purpose)?;
        let params = simulation_params(&args.tissue);
        let record = outcome.record(simulation, &params, |of, _| of == purpose);
        eigenskin::io::write_simulated_examples(path, file, &set, &record)?;
        Ok(set.len())
    };
    let count = write(path, Purpose::Training)?;
    output.item("wrote", format!("{}: {}", path.display(), counted(count, "pose", "poses")));
    if outcome.count(Purpose::Validation) > 0 {
        let path = validation_path(args, path);
        let count = write(&path, Purpose::Validation)?;
        output.item("", format!("{}: {} to validate with", path.display(), counted(count, "pose", "poses")));
    }
    parts.remove()?;
    output.json(&json!({
        "plan": planned,
        "seconds": outcome.seconds,
        "dropped": outcome.dropped_json(),
        "poses": outcome.solved.iter().map(|(name, quality)| quality_json(name, quality)).collect::<Vec<_>>(),
    }))
}
