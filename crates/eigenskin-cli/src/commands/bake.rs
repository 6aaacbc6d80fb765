//! `eigenskin bake`: a motion as plain animation, or as posed shapes.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use eigenskin::gltf::FileKind;
use eigenskin::io::{Matching, read_joint_map};
use eigenskin::jobs::bake::{
    Bake, BakeError, BakeInputs, BakeOutputs, BakeSettings, BakeWritten, MotionInput, MotionSource,
};
use eigenskin::rig_source::{OpenedRig, RigSource};

use crate::model_file::{self, ModelFileArgs};
use crate::output::{Output, bytes, counted};
use crate::progress::Terminal;
use crate::rigs;

/// Play a motion on a model: plain animation, or posed shapes
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin bake model.glb --clip walk -o walk.glb\n  eigenskin bake model.glb --bvh 02_01.bvh --map joints.toml --rate 30 -o walk.glb --write-pc2 walk.pc2\n\nThe map file has one line per joint:\n  [joints]\n  \"joint of the model\" = \"joint of the motion\""
)]
pub struct Args {
    /// A model written by fit, or a plain rig
    model: PathBuf,
    /// The clip to bake, of the model or of --motion; may be left out when there is only one
    #[arg(long, value_name = "NAME", conflicts_with = "bvh")]
    clip: Option<String>,
    /// Motion capture, retargeted to the model's joints
    #[arg(long, value_name = "FILE.bvh", conflicts_with = "motion")]
    bvh: Option<PathBuf>,
    /// Another rig whose clip is retargeted to the model's joints
    #[arg(long, value_name = "OTHER.glb")]
    motion: Option<PathBuf>,
    /// Which joint moves which: a TOML file, [joints] with lines "joint of the model" = "joint of
    /// the motion"; without it joints of equal names
    #[arg(long, value_name = "FILE.toml")]
    map: Option<PathBuf>,
    /// Let bones point where the motion's bones do, rather than turn by as much from rest: for
    /// characters that rest in different poses
    #[arg(long)]
    align: bool,
    /// Frames a second, exactly; without it the motion's own keys. The last key stays where it is, so that
    /// the last step may be shorter
    #[arg(long, value_name = "HZ")]
    rate: Option<f64>,
    /// The GLB to write: the model with its clips and this one, component weights keyed
    #[arg(long, short, value_name = "OUT.glb")]
    output: Option<PathBuf>,
    /// Write one OBJ per frame into this folder: frame-0001.obj …
    #[arg(long, value_name = "DIR")]
    write_obj: Option<PathBuf>,
    /// Write all frames into one point cache
    #[arg(long, value_name = "FILE.pc2")]
    write_pc2: Option<PathBuf>,
    #[command(flatten)]
    file: ModelFileArgs,
    /// The skin of a plain rig to use when its file has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// The skin of --motion to use when its file has several
    #[arg(long, value_name = "NAME", requires = "motion")]
    motion_skin: Option<String>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    check_arguments(args)?;
    let settings = BakeSettings {
        rate: args.rate,
        map: args.map.as_deref().map(read_joint_map).transpose()?,
        align: args.align,
        file: args.file.options(),
    };
    let job = Bake::open(&args.inputs(), settings).map_err(with_options)?;
    print_model(&output, &args.model, &job);
    let progress = Terminal::new(quiet);
    let mut outcome = job.run(&progress)?;
    let motion = &outcome.motion;
    let frames = counted(motion.poses.len(), "frame", "frames");
    let rate = args.rate.map_or(String::new(), |rate| format!(", {rate} a second"));
    let short = motion.short_last_step().filter(|_| args.rate.is_some());
    let short = short.map_or(String::new(), |seconds| format!("; the last step is {seconds:.4} s"));
    output.item("motion", format!("{:?}: {frames}, {:.2} s{rate}{short}", motion.name, motion.duration()));
    if let Some(matching) = &outcome.matching {
        print_matching(&output, matching);
    }
    let written = outcome.write(&args.outputs(), &progress)?;
    drop(progress);
    outcome.warnings.iter().chain(&written.warnings).for_each(|warning| output.warning(warning.to_string()));
    print_written(&output, args, &written);
    output.json(&serde_json::to_value(&outcome)?)
}

impl Args {
    fn inputs(&self) -> BakeInputs {
        let clip = self.clip.clone();
        let motion = match (&self.bvh, &self.motion) {
            (Some(path), _) => MotionSource::Capture(path.clone()),
            (None, Some(path)) => {
                let rig = RigSource { skin: self.motion_skin.clone(), ..RigSource::new(path) };
                MotionSource::Rig { rig, clip }
            }
            (None, None) => MotionSource::Own { clip },
        };
        BakeInputs { model: RigSource { skin: self.skin.clone(), ..RigSource::new(&self.model) }, motion }
    }

    fn outputs(&self) -> BakeOutputs {
        BakeOutputs { glb: self.output.clone(), obj: self.write_obj.clone(), pc2: self.write_pc2.clone() }
    }
}

/// What can be said before anything is read.
fn check_arguments(args: &Args) -> Result<()> {
    if args.output.is_none() && args.write_obj.is_none() && args.write_pc2.is_none() {
        bail!("there is nothing to write; give -o OUT.glb, --write-obj DIR or --write-pc2 FILE");
    }
    if (args.map.is_some() || args.align) && args.bvh.is_none() && args.motion.is_none() {
        bail!("--map and --align only work with --bvh or --motion; the model's own clips fit as they are");
    }
    let mut inputs: Vec<&Path> = vec![&args.model];
    inputs.extend(args.bvh.as_deref());
    inputs.extend(args.motion.as_deref());
    inputs.extend(args.map.as_deref());
    for path in [&args.output, &args.write_pc2].into_iter().flatten() {
        rigs::check_not_input(path, &inputs)?;
    }
    Ok(())
}

/// Says which option helps.
fn with_options(error: BakeError) -> anyhow::Error {
    let option = match &error {
        BakeError::NoClips { .. } => "use --motion OTHER.glb or --bvh FILE",
        BakeError::SeveralClips { .. } => "use --clip NAME",
        BakeError::ModelIsSettled { .. } => "leave --skin out",
        _ => return error.into(),
    };
    anyhow::anyhow!("{error} ({option})")
}

fn print_model(output: &Output, path: &Path, job: &Bake) {
    let guesses = |rig: &OpenedRig| {
        if let Some(guess) = &rig.guessed {
            rigs::tell_references(rig.rig(), guess, "", output);
        }
    };
    guesses(&job.rig);
    let corrections = match (job.rig.file.kind, job.model.component_count()) {
        (FileKind::Model, count) => counted(count, "component", "components"),
        _ => "no corrections".to_string(),
    };
    output.item("model", format!("{}: {}, {corrections}", path.display(), rigs::summary(job.rig.rig())));
    if let MotionInput::Rig { rig, .. } = &job.motion {
        guesses(rig);
    }
}

fn print_matching(output: &Output, matching: &Matching) {
    let count = matching.matched.len();
    output.item(
        "joints",
        format!("{} matched, translations × {:.4}", counted(count, "joint", "joints"), matching.scale),
    );
    if !matching.unmatched.is_empty() {
        output.item("unmatched", format!("of the model: {}", matching.unmatched.join(", ")));
    }
    if !matching.unused.is_empty() {
        output.item("unmatched", format!("of the motion: {}", matching.unused.join(", ")));
    }
}

fn print_written(output: &Output, args: &Args, written: &BakeWritten) {
    if let Some(report) = written.glb.as_ref().and_then(|glb| glb.model.as_ref()) {
        model_file::print_losses(output, report);
    }
    let glb = written
        .glb
        .as_ref()
        .map(|glb| format!("{}, {}", counted(glb.clips, "clip", "clips"), bytes(glb.bytes)));
    let obj = written.obj_frames.map(|frames| counted(frames, "OBJ", "OBJs"));
    let pc2 = written.pc2_bytes.map(bytes);
    for (path, what) in [(&args.output, glb), (&args.write_obj, obj), (&args.write_pc2, pc2)] {
        if let (Some(path), Some(what)) = (path, what) {
            output.item("wrote", format!("{} ({what})", path.display()));
        }
    }
}
