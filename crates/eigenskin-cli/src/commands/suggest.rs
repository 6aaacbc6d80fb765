//! `eigenskin suggest`: the poses where one more example would help most.

use eigenskin::progress::Unwatched;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::articulation::{Articulation, NamedPose};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{FileKind, RigFile};
use eigenskin::io::pose_file::{read_poses, write_poses};
use eigenskin::rig::Rig;
use eigenskin::sim::ranges::ranges;
use eigenskin::suggest::{SuggestParams, Suggestion, suggest_poses};
use serde_json::{Value, json};

use crate::output::{Output, counted, figure};
use crate::simulate::plan;
use crate::simulate::ranges::RangeArgs;
use crate::{progress, rigs};

/// Suggest the poses where one more example would help most
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin suggest set.glb -o next.glb\n  eigenskin suggest model.glb --examples set.glb --clip walk --count 3\n  eigenskin suggest rig.glb --candidates poses.json --poses next.json\n\nThe poses are chosen among the keys of --clip, among --candidates, or among poses that the joints'\nranges allow (as simulate finds them). OUT.glb has them as keys of the clip \"suggested\", one a second."
)]
pub struct Args {
    /// An example set, or a model or rig (then see --examples)
    file: PathBuf,
    /// The examples there are, when FILE is not their set
    #[arg(long, value_name = "EX")]
    examples: Option<PathBuf>,
    /// How many poses to suggest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5)]
    count: usize,
    /// Choose among the keys of this clip of FILE
    #[arg(long, value_name = "NAME", conflicts_with = "candidates")]
    clip: Option<String>,
    /// Choose among these poses: an example set (its shapes are not looked at) or a .json file of poses
    #[arg(long, value_name = "FILE")]
    candidates: Option<PathBuf>,
    /// Write the rig with the poses as a clip, to be opened and sculpted
    #[arg(long, short, value_name = "OUT.glb")]
    output: Option<PathBuf>,
    /// Write the poses as JSON, for examples add --pose
    #[arg(long, value_name = "FILE.json")]
    poses: Option<PathBuf>,
    #[command(flatten)]
    ranges: RangeArgs,
    /// What the joints of a flat rig turn against: a TOML file, [parents] with lines "joint" = "parent"
    #[arg(long, value_name = "FILE.toml")]
    parents: Option<PathBuf>,
    /// Write the suggestions as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Poses per degree of freedom to choose among, and poses of two joints.
const PER_DEGREE: usize = 4;
const COUPLED: usize = 60;
/// Keys of a long clip that are looked at.
const MOST_KEYS: usize = 1000;
/// The clip that is written.
const CLIP: &str = "suggested";

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    if args.count == 0 {
        bail!("--count 0 suggests nothing; give at least 1");
    }
    for path in [&args.output, &args.poses].into_iter().flatten() {
        let inputs = [Some(&args.file), args.examples.as_ref(), args.candidates.as_ref()];
        let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
        rigs::check_not_input(path, &inputs)?;
    }
    let (file, examples) = read(args, &output)?;
    let rig = file.rig().clone();
    let candidates = candidates(args, &file, &output)?;
    let params = SuggestParams { count: args.count, ..SuggestParams::default() };
    let found = progress::while_doing(quiet, "comparing poses", || {
        suggest_poses(&rig, examples.as_ref(), &candidates, &params, &Unwatched)
    })?;
    print(&rig, examples.as_ref(), &candidates, &found, &output);
    if found.is_empty() {
        return output.json(&json!({ "suggestions": [] }));
    }
    let chosen: Vec<(NamedPose, String)> = found
        .iter()
        .map(|suggestion| (candidates[suggestion.candidate].clone(), suggestion.reason()))
        .collect();
    if let Some(path) = &args.poses {
        write_poses(path, &rig, &chosen)?;
        output.item("wrote", format!("{}: {}", path.display(), counted(chosen.len(), "pose", "poses")));
    }
    if let Some(path) = &args.output {
        let times: Vec<f64> = (0..chosen.len()).map(|key| key as f64).collect();
        let poses: Vec<_> = chosen.iter().map(|(named, _)| named.pose.clone()).collect();
        let clip = unused_name(&file);
        eigenskin::io::write_rig(path, &file.with_clip(&clip, &times, &poses)?)?;
        let keys = counted(chosen.len(), "key", "keys");
        output.item("wrote", format!("{}: clip {clip:?} with {keys}", path.display()));
    }
    output.json(&json!({ "suggestions": found }))
}

/// The rig with settled reference joints, and the examples there are.
fn read(args: &Args, output: &Output) -> Result<(RigFile, Option<ExampleSet>)> {
    let options = rigs::read_options(None);
    let (file, own) = match eigenskin::io::file_kind(&args.file)? {
        FileKind::Examples => {
            let (file, set) = eigenskin::io::read_examples(&args.file, &options)?;
            (file, Some(set))
        }
        FileKind::Rig => (eigenskin::io::read_rig(&args.file, &options)?, None),
        FileKind::Model => (eigenskin::io::read_model(&args.file)?.0, None),
    };
    let set = match &args.examples {
        Some(path) => Some((eigenskin::io::read_examples(path, &options)?.1, path.as_path())),
        None => own.map(|set| (set, args.file.as_path())),
    };
    let mut rig = file.rig().clone();
    if let Some((set, _)) = &set {
        rig = rigs::with_references_of(&rig, set.rig())?;
    }
    let rig = rigs::settle_references(rig, args.parents.as_deref(), output)?;
    let file = file.with_rig(rig.clone())?;
    let set = set.map(|(set, path)| rigs::examples_for(&rig, set, path)).transpose()?;
    Ok((file, set))
}

fn candidates(args: &Args, file: &RigFile, output: &Output) -> Result<Vec<NamedPose>> {
    let rig = file.rig();
    if let Some(path) = &args.candidates {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            return Ok(read_poses(path, rig)?);
        }
        let (_, set) = eigenskin::io::read_examples(path, &rigs::read_options(None))?;
        let set = rigs::examples_for(rig, set, path)?;
        return Ok(set
            .examples()
            .iter()
            .map(|example| NamedPose { name: example.name.clone(), pose: example.pose.clone() })
            .collect());
    }
    if let Some(name) = &args.clip {
        return keys_of(file, name, output);
    }
    let given = args.ranges.given()?;
    let found = ranges(rig, &given, 1.0).with_context(|| args.file.display().to_string())?;
    plan::print_ranges(output, rig, &found);
    let articulation = Articulation { rig, degrees: &found.degrees };
    let mut angles = articulation.sweeps(PER_DEGREE, 0.0);
    angles.extend(articulation.corners(&[1.0, 0.5]));
    angles.extend(articulation.couplings(COUPLED));
    Ok(articulation.poses(&angles))
}

/// Keys of a clip by the names that sculpts of them have; evenly chosen ones of a long clip.
fn keys_of(file: &RigFile, name: &str, output: &Output) -> Result<Vec<NamedPose>> {
    let Some(clip) = file.clip_named(name) else {
        let names: Vec<&str> = file.clips().iter().map(|clip| clip.name.as_str()).collect();
        let there = if names.is_empty() {
            "the file has none".into()
        } else {
            format!("there are {}", names.join(", "))
        };
        bail!("there is no clip {name:?}; {there}");
    };
    let times = clip.key_times(file.layout());
    let step = times.len().div_ceil(MOST_KEYS).max(1);
    if step > 1 {
        output.item("clip", format!("{name:?} has {} keys; one in {step} is looked at", times.len()));
    }
    let keys = times.iter().enumerate().step_by(step);
    Ok(keys
        .map(|(key, &time)| NamedPose { name: format!("{name}@{key}"), pose: file.sample(clip, time) })
        .collect())
}

fn print(
    rig: &Arc<Rig>,
    examples: Option<&ExampleSet>,
    candidates: &[NamedPose],
    found: &[Suggestion],
    output: &Output,
) {
    let there =
        examples.map_or("no examples yet".to_string(), |set| counted(set.len(), "example", "examples"));
    output.item("poses", format!("{} to choose from, {there}", counted(candidates.len(), "pose", "poses")));
    if examples.is_none() {
        output.item("", "errors are estimates from the skin weights until there are examples");
    }
    if found.is_empty() {
        output.item("suggest", "nothing: the examples say all there is to say about these poses");
    }
    for (index, suggestion) in found.iter().enumerate() {
        let gain = 100.0 * suggestion.gain;
        output.item(
            &format!("{}.", index + 1),
            format!("{} ({gain:.0} % of the uncertainty)", suggestion.name),
        );
        output.item("", suggestion.reason());
    }
    let rest: f64 = 1.0 - found.iter().map(|suggestion| suggestion.gain).sum::<f64>();
    if !found.is_empty() {
        output.item("left", format!("{} % of the uncertainty after these", figure(100.0 * rest.max(0.0))));
    }
}

fn unused_name(file: &RigFile) -> String {
    let mut name = CLIP.to_string();
    let mut number = 2;
    while file.clip_named(&name).is_some() {
        name = format!("{CLIP} {number}");
        number += 1;
    }
    name
}
