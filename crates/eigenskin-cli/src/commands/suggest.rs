//! `eigenskin suggest`: the poses where one more example would help most.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use eigenskin::jobs::suggest::{
    CandidateSource, OpenedSuggest, Suggest, SuggestError, SuggestInputs, SuggestOutcome, SuggestParams,
    SuggestedPose,
};
use eigenskin::rig_source::RigSource;
use eigenskin::sim::ranges::RangeError;

use crate::output::{Output, counted, figure};
use crate::progress::Terminal;
use crate::rigs;
use crate::simulate::plan;
use crate::simulate::ranges::RangeArgs;

/// Suggest the poses where one more example would help most
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin suggest set.glb -o next.glb\n  eigenskin suggest model.glb --examples set.glb --clip walk --count 3\n  eigenskin suggest rig.glb --candidates poses.json --write-poses next.json\n\nThe poses are chosen among the keys of --clip, among --candidates, or among poses that the joints'\nranges allow (as simulate finds them). OUT.glb has them as keys of the clip \"suggested\", one a second."
)]
pub struct Args {
    /// An example set, or a model or rig (then see --examples)
    file: PathBuf,
    /// The skin to pose when FILE has several
    #[arg(long, value_name = "NAME")]
    skin: Option<String>,
    /// The existing examples, when FILE is not their set
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
    write_poses: Option<PathBuf>,
    #[command(flatten)]
    ranges: RangeArgs,
    /// What the joints of a flat rig turn against: a TOML file, [parents] with lines "joint" = "parent"
    #[arg(long, value_name = "FILE.toml")]
    parents: Option<PathBuf>,
    /// Write the suggestions as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, args.json.as_deref());
    for path in [&args.output, &args.write_poses].into_iter().flatten() {
        let inputs = [Some(&args.file), args.examples.as_ref(), args.candidates.as_ref()];
        let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
        rigs::check_not_input(path, &inputs)?;
    }
    let settings = SuggestParams { count: args.count };
    let opened = Suggest::open(&args.inputs()?, settings).map_err(with_options)?;
    tell_opened(&opened, args, &output);
    let outcome = opened.job.run(&Terminal::new(quiet)).map_err(with_options)?;
    print(&opened.job, &outcome, &output);
    let count = outcome.suggestions.len();
    if let Some(path) = args.write_poses.as_ref().filter(|_| count > 0) {
        outcome.write_poses(path, &opened.job.rig)?;
        output.item("wrote", format!("{}: {}", path.display(), counted(count, "pose", "poses")));
    }
    if let Some(path) = &args.output
        && let Some(clip) = outcome.write_clip(path, &opened.file)?
    {
        let keys = counted(count, "key", "keys");
        output.item("wrote", format!("{}: clip {clip:?} with {keys}", path.display()));
    }
    output.json(&serde_json::to_value(&outcome)?)
}

impl Args {
    fn inputs(&self) -> Result<SuggestInputs> {
        let ranges = self.ranges.given()?;
        let candidates = match (&self.candidates, &self.clip) {
            (None, None) => CandidateSource::Ranges(ranges),
            _ if !ranges.is_empty() => {
                bail!("ranges of joints only work without --clip and --candidates; leave them out")
            }
            (Some(path), _) => CandidateSource::File(path.clone()),
            (None, Some(clip)) => CandidateSource::Clip(clip.clone()),
        };
        let rig =
            RigSource { path: self.file.clone(), skin: self.skin.clone(), parents: self.parents.clone() };
        Ok(SuggestInputs { rig, examples: self.examples.clone(), candidates })
    }
}

fn with_options(error: SuggestError) -> anyhow::Error {
    match error {
        SuggestError::NoCount => anyhow!("{error} (--count)"),
        SuggestError::Ranges { error: RangeError::NoJoints, .. } => {
            anyhow!("{error}; choose among poses of a file or of a clip (--candidates FILE, --clip NAME)")
        }
        SuggestError::Ranges { error: RangeError::NothingMoves, .. } => anyhow!(
            "{error}, such as --range 'JOINT:x=-30..30', or choose among poses of a file or of a clip (--candidates FILE, --clip NAME)"
        ),
        other => anyhow!(other),
    }
}

fn tell_opened(opened: &OpenedSuggest, args: &Args, output: &Output) {
    let rig = &opened.job.rig;
    if let Some(guess) = &opened.guessed {
        rigs::tell_references(rig, guess, " (--parents FILE.toml to correct)", output);
    }
    if let Some(ranges) = &opened.ranges {
        plan::print_ranges(output, rig, ranges);
    }
    if let (Some((keys, step)), Some(clip)) = (opened.thinned, &args.clip) {
        output.item("clip", format!("{clip:?} has {keys} keys; one in {step} is looked at"));
    }
}

fn print(job: &Suggest, outcome: &SuggestOutcome, output: &Output) {
    let examples = job.examples.as_deref();
    let there =
        examples.map_or("no examples yet".to_string(), |set| counted(set.len(), "example", "examples"));
    let candidates = counted(outcome.candidates, "pose", "poses");
    output.item("poses", format!("{candidates} to choose from, {there}"));
    if examples.is_none() {
        output.item("", "errors are estimates from the skin weights until there are examples");
    }
    if outcome.suggestions.is_empty() {
        output.item("suggest", "nothing: no useful pose left");
        return;
    }
    for (index, SuggestedPose { suggestion, .. }) in outcome.suggestions.iter().enumerate() {
        let gain = 100.0 * suggestion.gain;
        output.item(
            &format!("{}.", index + 1),
            format!("{} ({gain:.0} % of the uncertainty)", suggestion.name),
        );
        output.item("", suggestion.reason());
    }
    output.item("left", format!("{} % of the uncertainty after these", figure(100.0 * outcome.left)));
}
