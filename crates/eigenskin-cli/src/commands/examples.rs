//! `eigenskin examples`: edit an example set, one sculpt at a time.

use eigenskin::progress::Unwatched;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::displacements::skinned_displacements;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::gltf::{ExampleList, FileKind, RigFile};
use eigenskin::io::{SculptedShape, read_sculpt};
use eigenskin::mover::Mover;
use eigenskin::pose::Pose;
use eigenskin::rig::Rig;
use eigenskin::skinning::BaseSkinning;
use serde_json::{Value, json};

use crate::base::{BaseArg, parse_base};
use crate::mirror_examples::{self, MirrorArgs};
use crate::output::{Output, counted, figure};
use crate::pose_source::PoseArgs;
use crate::{rigs, table};

/// Edit an example set: list, add, replace, rename, delete, mute, mirror
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin examples add rig.glb fist.obj --name fist --clip poses --frame 3 -o set.glb\n  eigenskin examples add set.glb elbow.glb --name elbow-90 --pose poses.json\n  eigenskin examples add set.glb elbow.glb --name elbow-90 --pose poses.json --through rig-deformers.toml\n  eigenskin examples list set.glb\n  eigenskin examples mirror set.glb elbow-90.L"
)]
pub struct Args {
    #[command(subcommand)]
    edit: Edit,
}

/// Where the result goes.
#[derive(clap::Args)]
pub struct Target {
    /// Write to this file instead of FILE
    #[arg(long, short, value_name = "SET.glb")]
    output: Option<PathBuf>,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// What a sculpt is.
#[derive(clap::Args)]
struct Sculpt {
    /// The sculpted character: .obj, or a mesh without a skin in a .glb
    #[arg(value_name = "SCULPT")]
    path: PathBuf,
    /// Which mesh of SCULPT, when it has several
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// The unposed mesh from the same program, when its vertices are not the rig's in its order
    #[arg(long, value_name = "MESH")]
    rest: Option<PathBuf>,
}

/// What the sculpt was made after.
#[derive(clap::Args)]
struct Through {
    /// Pull the sculpt back through this box: a file (.toml) that describes the deformers it was made
    /// after
    #[arg(long, value_name = "BOX", value_parser = parse_base)]
    through: Option<BaseArg>,
}

#[derive(clap::Subcommand)]
enum Edit {
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
        #[command(flatten)]
        sculpt: Sculpt,
        /// What to call it [default: the sculpt's file name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        pose: Box<PoseArgs>,
        #[command(flatten)]
        through: Through,
        #[command(flatten)]
        target: Target,
    },
    /// Put another sculpt in the place of an example; without a pose it keeps its own
    Replace {
        /// An example set
        file: PathBuf,
        /// The example
        name: String,
        #[command(flatten)]
        sculpt: Sculpt,
        #[command(flatten)]
        pose: Box<PoseArgs>,
        #[command(flatten)]
        through: Through,
        #[command(flatten)]
        target: Target,
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
        /// An example set
        file: PathBuf,
        /// The examples
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Keep examples in the file, but do not learn from them
    Mute {
        /// An example set
        file: PathBuf,
        /// The examples
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Learn from muted examples again
    Unmute {
        /// An example set
        file: PathBuf,
        /// The examples
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Add the same examples for the other side
    Mirror {
        /// An example set
        file: PathBuf,
        /// The examples [default: all that are not muted]
        names: Vec<String>,
        #[command(flatten)]
        mirror: MirrorArgs,
        #[command(flatten)]
        target: Target,
    },
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    match &args.edit {
        Edit::List { file, json } => list(file, &Output::new(quiet, json.as_deref())),
        Edit::Add { file, sculpt, name, pose, through, target } => {
            add(file, sculpt, name.as_deref(), pose, through, target, quiet)
        }
        Edit::Replace { file, name, sculpt, pose, through, target } => {
            let output = target.output(quiet);
            let (rig_file, mut list) = open(file)?;
            let old = list.find(name)?;
            let pose = if pose.given() {
                pose.read(&rig_file, name)?
            } else {
                list.set.examples()[old].pose.clone()
            };
            let shape = sculpt.read(&rig_file, &pose)?;
            let (example, inversion) = through.example(rig_file.rig(), name, pose, shape, &output, quiet)?;
            list.replace(name, example)?;
            target.write(file, &rig_file, &list, &format!("replaced {name}"), inversion, &output)
        }
        Edit::Rename { file, from, to, target } => {
            edit(file, target, quiet, &format!("renamed {from} to {to}"), |list| Ok(list.rename(from, to)?))
        }
        Edit::Delete { file, names, target } => {
            let done = format!("deleted {}", names.join(", "));
            edit(file, target, quiet, &done, |list| Ok(list.delete(names)?))
        }
        Edit::Mute { file, names, target } => {
            let done = format!("muted {}", names.join(", "));
            edit(file, target, quiet, &done, |list| Ok(list.set_muted(names, true)?))
        }
        Edit::Unmute { file, names, target } => {
            let done = format!("unmuted {}", names.join(", "));
            edit(file, target, quiet, &done, |list| Ok(list.set_muted(names, false)?))
        }
        Edit::Mirror { file, names, mirror, target } => {
            let output = target.output(quiet);
            let (rig_file, mut list) = open(file)?;
            let done = mirror_examples::run(&mut list, names, mirror, &output)?;
            match done {
                Some(done) => target.write(file, &rig_file, &list, &done, None, &output),
                None => output.json(&summary_json(&list, "nothing changed")),
            }
        }
    }
}

impl Target {
    fn output(&self, quiet: bool) -> Output {
        Output::new(quiet, self.json.as_deref())
    }

    /// Writes the edited set, in place where no other file was named.
    fn write(
        &self,
        file: &Path,
        rig_file: &RigFile,
        list: &ExampleList,
        done: &str,
        inversion: Option<Value>,
        output: &Output,
    ) -> Result<()> {
        let path = self.path(file)?;
        eigenskin::io::write_example_list(path, rig_file, list)?;
        output.item("examples", done);
        let muted =
            if list.muted.is_empty() { String::new() } else { format!(", {} muted", list.muted.len()) };
        let count = counted(list.set.len(), "example", "examples");
        output.item("wrote", format!("{}: {count}{muted}", path.display()));
        let mut summary = summary_json(list, done);
        if let Some(inversion) = inversion {
            summary["inversion"] = inversion;
        }
        output.json(&summary)
    }

    fn path<'a>(&'a self, file: &'a Path) -> Result<&'a Path> {
        let in_place = file.extension().is_some_and(|e| e.eq_ignore_ascii_case("glb"));
        match &self.output {
            Some(path) => Ok(path),
            None if in_place => Ok(file),
            None => bail!("{} cannot be edited in place; add -o SET.glb", file.display()),
        }
    }
}

impl Sculpt {
    fn read(&self, file: &RigFile, pose: &Pose) -> Result<SculptedShape> {
        Ok(read_sculpt(file, pose, &self.path, self.node.as_deref(), self.rest.as_deref())?)
    }
}

fn edit(
    file: &Path,
    target: &Target,
    quiet: bool,
    done: &str,
    change: impl FnOnce(&mut ExampleList) -> Result<()>,
) -> Result<()> {
    let (rig_file, mut list) = open(file)?;
    change(&mut list)?;
    target.write(file, &rig_file, &list, done, None, &target.output(quiet))
}

/// The set at `path`, muted examples too.
fn open(path: &Path) -> Result<(RigFile, ExampleList)> {
    match eigenskin::io::file_kind(path)? {
        FileKind::Examples => Ok(eigenskin::io::read_example_list(path, &rigs::read_options(None))?),
        FileKind::Rig => bail!("{} is a plain rig without examples; add one first", path.display()),
        FileKind::Model => bail!("{} is a model; give the example set it was fitted to", path.display()),
    }
}

fn add(
    file: &Path,
    sculpt: &Sculpt,
    name: Option<&str>,
    pose: &PoseArgs,
    through: &Through,
    target: &Target,
    quiet: bool,
) -> Result<()> {
    let output = &target.output(quiet);
    let from_file = || sculpt.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = name.map(str::to_string).or_else(from_file).context("give the example a --name")?;
    let (rig_file, list) = if eigenskin::io::file_kind(file)? == FileKind::Rig {
        if target.output.is_none() {
            bail!("{} is a plain rig; add -o SET.glb for the example set that begins here", file.display());
        }
        let rig_file = eigenskin::io::read_rig(file, &rigs::read_options(None))?;
        let rig = rigs::settle_references(rig_file.rig().clone(), None, output)?;
        (rig_file.with_rig(rig)?, None)
    } else {
        let (rig_file, list) = open(file)?;
        (rig_file, Some(list))
    };
    let pose = pose.read(&rig_file, &name)?;
    let shape = sculpt.read(&rig_file, &pose)?;
    let (example, inversion) = through.example(rig_file.rig(), &name, pose, shape, output, quiet)?;
    let list = if let Some(mut list) = list {
        list.add(example)?;
        list
    } else {
        let list = ExampleList::new(ExampleSet::new(rig_file.rig().clone(), vec![example.clone()])?);
        list.check_news(&example)?;
        list
    };
    target.write(file, &rig_file, &list, &format!("added {name}"), inversion, output)
}

impl Through {
    /// The sculpt as an example, pulled back, and how that went through a box.
    fn example(
        &self,
        rig: &Arc<Rig>,
        name: &str,
        pose: Pose,
        shape: SculptedShape,
        output: &Output,
        quiet: bool,
    ) -> Result<(Example, Option<Value>)> {
        let mut base = self.through.as_ref().map(|base| base.open(rig)).transpose()?;
        match &base {
            Some(open) if open.base.skinning().is_none() => {
                shape.notes.iter().for_each(|note| output.item("sculpt", note));
            }
            _ => tell_shape(&shape, output),
        }
        let mut example = Example {
            name: name.to_string(),
            pose,
            positions: shape.positions,
            normals: None,
            inverted: None,
        };
        let inversion = match &mut base {
            Some(open) => open.invert_one(rig, &mut example, output, quiet)?,
            None => None,
        };
        Ok((example, inversion))
    }
}

/// What pulling the sculpt back to rest showed.
fn tell_shape(shape: &SculptedShape, output: &Output) {
    for note in &shape.notes {
        output.item("sculpt", note);
    }
    let (delta, vertex) = shape.largest_delta;
    output.item("sculpt", format!("moves the skin by up to {} at rest, vertex {vertex}", figure(delta)));
    if !shape.singular.is_empty() {
        let first: Vec<String> = shape.singular.iter().take(8).map(ToString::to_string).collect();
        let more = if shape.singular.len() > first.len() { ", …" } else { "" };
        output.warning(format!(
            "{} collapsed by the skinning in this pose (vertices {}{more}): a displacement at rest misses the sculpt there by up to {}",
            counted(shape.singular.len(), "vertex is", "vertices are"),
            first.join(", "),
            figure(shape.largest_loss)
        ));
    }
}

fn list(file: &Path, output: &Output) -> Result<()> {
    let (_, list) = open(file)?;
    let rig = list.set.rig();
    let displacements = skinned_displacements(&list.set, BaseSkinning::LinearBlend, &Unwatched)?;
    let members = displacements.points.members();
    let mut rows = Vec::with_capacity(list.set.len());
    let mut entries = Vec::with_capacity(list.set.len());
    for (index, example) in list.set.examples().iter().enumerate() {
        let (point, delta) = displacements
            .positions
            .held_of(index)
            .iter()
            .enumerate()
            .map(|(point, d)| (point, f64::from(d.length())))
            .fold((0, 0.0), |worst, next| if next.1 > worst.1 { next } else { worst });
        let moved = moved(rig, &example.pose);
        let words: Vec<String> = moved.iter().map(|(name, amount, _)| format!("{name} {amount}")).collect();
        let muted = list.is_muted(&example.name);
        rows.push(vec![
            example.name.clone(),
            figure(delta),
            if muted { "muted" } else { "" }.to_string(),
            if words.is_empty() { "nothing".to_string() } else { words.join(", ") },
        ]);
        entries.push(json!({
            "name": example.name,
            "muted": muted,
            "moves": moved.iter().map(|(name, _, value)| json!({ "name": name, "amount": value })).collect::<Vec<_>>(),
            "largest_delta": delta,
            "vertex": members[point].first(),
        }));
    }
    for line in table::lines(&["example", "largest delta", "", "moves"], &rows) {
        output.line(line);
    }
    output.json(&json!({ "examples": entries }))
}

/// Joints and controls that a pose moves, each with how far: in words, and in degrees or as a value.
fn moved(rig: &Rig, pose: &Pose) -> Vec<(String, String, f64)> {
    let movers = Mover::all(rig).into_iter().filter(|mover| mover.is_moved(rig, pose));
    movers
        .map(|mover| {
            let (words, value) = match mover {
                Mover::Joint(joint) => {
                    let degrees = pose.motion_of(rig.skeleton(), joint).shortest_turn().length().to_degrees();
                    (format!("{degrees:.0}°"), degrees)
                }
                Mover::Control(control) => (format!("{:.2}", pose.controls[control]), pose.controls[control]),
            };
            (mover.name(rig).to_string(), words, value)
        })
        .collect()
}

fn summary_json(list: &ExampleList, done: &str) -> Value {
    let names: Vec<&str> = list.set.examples().iter().map(|example| example.name.as_str()).collect();
    json!({ "done": done, "examples": names, "muted": list.muted })
}
