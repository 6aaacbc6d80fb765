//! `eigenskin examples`: edit an example set, one sculpt at a time.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use eigenskin::base::BaseChoice;
use eigenskin::io::vertex_cache::SculptError;
use eigenskin::jobs::edit_examples::{
    Edit, EditExamples, EditExamplesError, ExampleListing, ListedExample, MirrorReport, MirrorSettings,
    Moved, Sculpt, SculptSource, SkipReason, read_list,
};
use eigenskin::mirror::{MirrorError, MirrorPlane};
use eigenskin::mover::Mover;
use eigenskin::rig::Rig;
use eigenskin::rig_source::RigSource;

use crate::output::{Output, counted, figure};
use crate::pose_source::{self, PoseArgs};
use crate::progress::Terminal;
use crate::{inverted, rigs, table};

/// Edit an example set: list, add, replace, rename, delete, mute, mirror
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin examples add rig.glb fist.obj --name fist --clip poses --frame 3 -o set.glb\n  eigenskin examples add set.glb elbow.glb --name elbow-90 --pose poses.json\n  eigenskin examples add set.glb elbow.glb --name elbow-90 --pose poses.json --base rig-deformers.toml\n  eigenskin examples list set.glb\n  eigenskin examples mirror set.glb elbow-90.L"
)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

/// Where the result goes.
#[derive(clap::Args)]
struct Target {
    /// Write to this file instead of FILE
    #[arg(long, short, value_name = "SET.glb")]
    output: Option<PathBuf>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// What a sculpt is, and what it was made after.
#[derive(clap::Args)]
struct SculptArgs {
    /// The sculpted character: .obj, or a mesh without a skin in a .glb
    #[arg(value_name = "SCULPT")]
    path: PathBuf,
    /// Which mesh of SCULPT, when it has several
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// The unposed mesh from the same program, when its vertices are not the rig's in its order
    #[arg(long, value_name = "MESH")]
    rest: Option<PathBuf>,
    /// The base that the sculpt was made after, to pull it back through: a deformer-stack file (.toml)
    #[arg(long, value_name = "BASE")]
    base: Option<BaseChoice>,
    // Last, as its heading in the help holds for all that follows.
    #[command(flatten)]
    pose: PoseArgs,
}

/// How the two sides are found.
#[derive(clap::Args)]
#[command(next_help_heading = "Mirror")]
struct MirrorArgs {
    /// The mirror plane: the axis it stands across, and where on it, such as x or x=0.5 [default:
    /// found from the joints]
    #[arg(long, value_name = "AXIS[=PLACE]")]
    plane: Option<MirrorPlane>,
    /// Joints that belong together, beyond what their names tell; a joint of the middle with itself.
    /// May be repeated
    #[arg(long = "pair", value_name = "LEFT=RIGHT", value_parser = pair)]
    pairs: Vec<(String, String)>,
    /// Rest positions agree within this share of the size
    #[arg(long, value_name = "SHARE", default_value_t = 1e-3)]
    tolerance: f64,
    /// Replace examples of the other side; needs the names of those to mirror
    #[arg(long)]
    replace: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show the examples: what they move, their largest displacement, which are muted
    List {
        /// An example set
        file: PathBuf,
        /// Write the list as JSON to a file, or - for standard output
        #[arg(long, value_name = "FILE")]
        json: Option<String>,
    },
    /// Add a sculpt in a pose
    Add {
        /// An example set, or a rig to begin one from
        file: PathBuf,
        /// The skin of the sculpt when FILE has several
        #[arg(long, value_name = "NAME")]
        skin: Option<String>,
        /// What to call it [default: the sculpt's file name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        sculpt: Box<SculptArgs>,
    },
    /// Put another sculpt in the place of an example; without a pose it keeps its own
    Replace {
        /// An example set
        file: PathBuf,
        /// The example
        name: String,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        sculpt: Box<SculptArgs>,
    },
    /// Give an example another name
    Rename {
        /// An example set
        file: PathBuf,
        /// The example
        from: String,
        /// Its new name
        to: String,
        #[command(flatten)]
        target: Target,
    },
    /// Take examples out
    Delete {
        #[command(flatten)]
        named: Named,
    },
    /// Keep examples in the file, but do not learn from them
    Mute {
        #[command(flatten)]
        named: Named,
    },
    /// Learn from muted examples again
    Unmute {
        #[command(flatten)]
        named: Named,
    },
    /// Add the same examples for the other side
    Mirror {
        /// An example set
        file: PathBuf,
        /// The examples [default: all that are not muted]
        names: Vec<String>,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        mirror: MirrorArgs,
    },
}

/// Examples of a set by name.
#[derive(clap::Args)]
struct Named {
    /// An example set
    file: PathBuf,
    /// The examples
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    match &args.action {
        Action::List { file, json } => list(file, &Output::new(quiet, json.as_deref()), quiet),
        Action::Add { file, skin, name, target, sculpt } => {
            let source = RigSource { skin: skin.clone(), ..RigSource::new(file) };
            edit(&source, &Edit::Add(sculpt.source(name.clone())), target, quiet)
        }
        Action::Replace { file, name, target, sculpt } => {
            edit(&RigSource::new(file), &Edit::Replace(sculpt.source(Some(name.clone()))), target, quiet)
        }
        Action::Rename { file, from, to, target } => {
            let rename = Edit::Rename { from: from.clone(), to: to.clone() };
            edit(&RigSource::new(file), &rename, target, quiet)
        }
        Action::Delete { named } => named.edit(|names| Edit::Delete { names }, quiet),
        Action::Mute { named } => named.edit(|names| Edit::Mute { names }, quiet),
        Action::Unmute { named } => named.edit(|names| Edit::Unmute { names }, quiet),
        Action::Mirror { file, names, target, mirror } => {
            let settings = MirrorSettings {
                names: names.clone(),
                plane: mirror.plane,
                joint_pairs: mirror.pairs.clone(),
                tolerance: mirror.tolerance,
                replace: mirror.replace,
            };
            edit(&RigSource::new(file), &Edit::Mirror(settings), target, quiet)
        }
    }
}

impl Named {
    fn edit(&self, with: fn(Vec<String>) -> Edit<SculptSource>, quiet: bool) -> Result<()> {
        edit(&RigSource::new(&self.file), &with(self.names.clone()), &self.target, quiet)
    }
}

impl SculptArgs {
    fn source(&self, name: Option<String>) -> SculptSource {
        SculptSource {
            path: self.path.clone(),
            node: self.node.clone(),
            rest: self.rest.clone(),
            name,
            pose: self.pose.source(),
            base: self.base.clone(),
        }
    }
}

fn pair(text: &str) -> Result<(String, String)> {
    let (left, right) = text.split_once('=').context("write LEFT=RIGHT")?;
    Ok((left.to_string(), right.to_string()))
}

fn edit(source: &RigSource, edit: &Edit<SculptSource>, target: &Target, quiet: bool) -> Result<()> {
    let output = Output::new(quiet, target.json.as_deref());
    let (job, guessed) = EditExamples::open(source, edit).map_err(with_options)?;
    let path = job.target(&source.path, target.output.as_deref()).map_err(with_options)?;
    if let Some(guess) = &guessed {
        rigs::tell_references(job.file.rig(), guess, "", &output);
    }
    if let Some(sculpt) = job.sculpt() {
        tell_sculpt(sculpt, &output);
    }
    let outcome = job.run(&Terminal::new(quiet)).map_err(with_options)?;
    if let Some(inversion) = &outcome.inversion {
        inverted::tell(inversion, &output);
    }
    if let Some(mirror) = &outcome.mirror {
        tell_mirror(mirror, job.file.rig(), &output);
    }
    if outcome.changed() {
        outcome.write(path, &job.file)?;
        output.item("examples", outcome.done.to_string());
        let list = &outcome.list;
        let muted =
            if list.muted.is_empty() { String::new() } else { format!(", {} muted", list.muted.len()) };
        let count = counted(list.set.len(), "example", "examples");
        output.item("wrote", format!("{}: {count}{muted}", path.display()));
    }
    output.json(&serde_json::to_value(&outcome)?)
}

/// The library tells facts; which option is the remedy is told here.
#[allow(clippy::needless_pass_by_value, reason = "as map_err wants it")]
fn with_options(error: EditExamplesError) -> anyhow::Error {
    use EditExamplesError as E;
    let option = match &error {
        E::Pose(error) => return pose_source::with_options(error),
        E::NoPose => &format!(": {}", pose_source::HOW),
        E::BeginsNowhere { .. } | E::NotInPlace { .. } => " (-o SET.glb)",
        E::NoName { .. } => " (--name)",
        E::Sculpt(SculptError::OtherVertexCount { .. } | SculptError::OtherOrder { .. }) => " (--rest MESH)",
        E::Sculpt(SculptError::Several { .. } | SculptError::NoSuchMesh { .. }) => " (--node NAME)",
        E::Mirror(error) | E::MirrorExample { error, .. } => match error {
            MirrorError::NoPairs => " (--pair LEFT=RIGHT, --plane x)",
            MirrorError::NoPlane => " (--plane x=0)",
            MirrorError::Unpaired { .. } => " (--pair)",
            _ => "",
        },
        E::OtherSideDiffers { .. } => " (--replace)",
        E::ReplaceNeedsNames => {
            return anyhow!(
                "--replace needs the names of the examples to mirror, else both sides would change places"
            );
        }
        _ => "",
    };
    anyhow!("{error}{option}")
}

/// What reading a sculpt and pulling it back to rest showed.
fn tell_sculpt(sculpt: &Sculpt, output: &Output) {
    let shape = &sculpt.shape;
    for note in &shape.notes {
        output.item("sculpt", note);
    }
    if sculpt.is_after_deformers() {
        return;
    }
    let (delta, vertex) = shape.largest_delta;
    output.item("sculpt", format!("moves the skin by up to {} at rest, vertex {vertex}", figure(delta)));
    if !shape.singular.is_empty() {
        output.warning(format!(
            "{} collapsed by the skinning in this pose (vertices {}): a displacement at rest misses the sculpt there by up to {}",
            counted(shape.singular.len(), "vertex is", "vertices are"),
            first(&shape.singular),
            figure(shape.largest_loss)
        ));
    }
}

fn tell_mirror(report: &MirrorReport, rig: &Rig, output: &Output) {
    output.item(
        "mirror",
        format!(
            "across {} at {}: {} of joints, {} in the middle",
            report.plane.axis_name(),
            figure(report.plane.centre),
            counted(report.joint_pairs, "pair", "pairs"),
            report.middle_joints
        ),
    );
    if !report.unpaired_joints.is_empty() {
        let alone = report.unpaired_joints.join(", ");
        output.warning(format!("joints without another side: {alone} (--pair)"));
    }
    if !report.asymmetric_vertices.is_empty() {
        output.warning(format!(
            "{} of {} have no vertex at their mirror image ({}): they get the displacement of their neighbours",
            report.asymmetric_vertices.len(),
            counted(rig.vertex_count(), "vertex", "vertices"),
            first(&report.asymmetric_vertices)
        ));
    }
    for skipped in &report.skipped {
        let reason = match &skipped.reason {
            SkipReason::OwnImage => "its pose is its own mirror image".to_string(),
            SkipReason::There { name } => format!("its other side is there as {name}"),
        };
        output.item("skipped", format!("{}: {reason}", skipped.name));
    }
}

/// The first few of some vertices.
fn first(vertices: &[usize]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = vertices.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if vertices.len() > SHOWN { ", …" } else { "" };
    shown.join(", ") + more
}

fn list(file: &Path, output: &Output, quiet: bool) -> Result<()> {
    let (_, list) = read_list(&RigSource::new(file)).map_err(with_options)?;
    let listing = ExampleListing::of(&list, &Terminal::new(quiet))?;
    let in_words = |moved: &Moved| match moved.mover {
        Mover::Joint(_) => format!("{} {:.0}°", moved.name, moved.amount),
        Mover::Control(_) => format!("{} {:.2}", moved.name, moved.amount),
    };
    let row = |example: &ListedExample| {
        let moves: Vec<String> = example.moves.iter().map(in_words).collect();
        vec![
            example.name.clone(),
            figure(example.largest_delta),
            if example.muted { "muted" } else { "" }.to_string(),
            if moves.is_empty() { "nothing".to_string() } else { moves.join(", ") },
        ]
    };
    let rows: Vec<Vec<String>> = listing.examples.iter().map(row).collect();
    for line in table::lines(&["example", "largest delta", "", "moves"], &rows) {
        output.line(line);
    }
    output.json(&serde_json::to_value(&listing)?)
}
