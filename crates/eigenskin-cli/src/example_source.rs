//! Where examples come from: a set, or a clip of the rig with the shapes in a cache, in sculpts or in
//! shape keys.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{ReadOptions, RigFile, SimulationRecord};
use eigenskin::io::{
    examples_from_clip, examples_from_sculpts, examples_from_shape_keys, read_cache, read_obj_folder,
};

use crate::large::ShapesOnDisk;
use crate::output::Output;

/// A clip says the poses; OBJ files, a cache, sculpts or shape keys the shapes.
#[derive(clap::Args)]
pub struct ClipArgs {
    /// A clip of the rig whose keys are the poses; the shapes come from --obj, --cache, --sculpts or
    /// --shape-keys
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// A folder with one OBJ file per key of --clip, and one of the rest shape in front
    #[arg(long, value_name = "DIR")]
    obj: Option<PathBuf>,
    /// A vertex cache with one frame per key of --clip, and the rest shape in front: .pc2, .mdd,
    /// .npy or .npz
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
    /// A GLB with sculpts as mesh nodes without a skin: elbow@12 is key 12 of --clip; without --clip,
    /// fist is the clip of that name and walk@12 key 12 of the clip walk
    #[arg(long, value_name = "FILE.glb")]
    sculpts: Option<PathBuf>,
    /// A GLB whose mesh has shape keys (morph targets), named after poses as --sculpts are
    #[arg(long, value_name = "FILE.glb")]
    shape_keys: Option<PathBuf>,
    /// The frame of --obj or --cache that is the rest shape, from 0 [default: 0]
    #[arg(long, value_name = "N")]
    rest_frame: Option<usize>,
}

/// The one way that was chosen.
pub enum ExampleSource<'a> {
    /// a GLB example set or a numpy bundle
    Set(&'a Path),
    /// poses of a clip and shapes
    Clip(ClipSource<'a>),
}

/// Poses of clips and the shapes there.
pub struct ClipSource<'a> {
    clip: Option<&'a str>,
    path: &'a Path,
    shapes: Shapes,
    rest_frame: usize,
}

/// How shapes are stored.
#[derive(Clone, Copy, PartialEq)]
enum Shapes {
    Obj,
    Cache,
    Sculpts,
    ShapeKeys,
}

const SHAPES: &str = "--obj DIR, --cache FILE, --sculpts FILE.glb or --shape-keys FILE.glb";

impl<'a> ExampleSource<'a> {
    /// Settles which way was chosen; `set` is the value of `option` (`--examples`, `--truth`).
    pub fn choose(set: Option<&'a Path>, option: &str, args: &'a ClipArgs) -> Result<Self> {
        let clip = args.clip.as_deref();
        let given: Vec<(&str, Shapes, &Path)> = [
            ("--obj", Shapes::Obj, &args.obj),
            ("--cache", Shapes::Cache, &args.cache),
            ("--sculpts", Shapes::Sculpts, &args.sculpts),
            ("--shape-keys", Shapes::ShapeKeys, &args.shape_keys),
        ]
        .into_iter()
        .filter_map(|(flag, shapes, path)| Some((flag, shapes, path.as_deref()?)))
        .collect();
        if let Some(set) = set {
            if clip.is_some() || !given.is_empty() {
                let flag = given.first().map_or("--clip", |&(flag, ..)| flag);
                bail!("{option} and {flag} are two sources of shapes; give one of them");
            }
            if args.rest_frame.is_some() {
                bail!("--rest-frame goes with --obj or --cache, not with {option}");
            }
            return Ok(Self::Set(set));
        }
        let (flag, shapes, path) = match (given.as_slice(), clip) {
            (&[one], _) => one,
            ([], None) => bail!("no shapes are given; add {option} EX, or --clip NAME with {SHAPES}"),
            ([], Some(clip)) => bail!("--clip {clip} gives poses without shapes; add {SHAPES}"),
            ([(first, ..), (second, ..), ..], _) => {
                bail!("{first} and {second} both give shapes; choose one")
            }
        };
        let in_frames = matches!(shapes, Shapes::Obj | Shapes::Cache);
        if in_frames && clip.is_none() {
            bail!("{flag} needs the poses of its frames; add --clip NAME");
        }
        if !in_frames && args.rest_frame.is_some() {
            bail!("--rest-frame goes with --obj or --cache, not with {flag}");
        }
        Ok(Self::Clip(ClipSource { clip, path, shapes, rest_frame: args.rest_frame.unwrap_or(0) }))
    }

    /// How the poses of `set`, which came from here, were simulated; nothing where they were not, and
    /// a warning where that is damaged.
    pub fn simulation(&self, set: &ExampleSet, output: &Output) -> Option<SimulationRecord> {
        let Self::Set(path) = self else { return None };
        match eigenskin::io::read_simulation(path) {
            Ok(mut record) => {
                if let Some(record) = &mut record {
                    let names: HashSet<&str> = set.examples().iter().map(|e| e.name.as_str()).collect();
                    record.poses.retain(|pose| names.contains(pose.name.as_str()));
                }
                record
            }
            Err(error) => {
                output.warning(format!("the report says nothing of the simulation: {error}"));
                None
            }
        }
    }

    /// The shapes, where they could be left on disk.
    pub fn on_disk(&self) -> Option<ShapesOnDisk<'a>> {
        match self {
            Self::Set(path) if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) => {
                Some(ShapesOnDisk::Bundle(path))
            }
            Self::Clip(ClipSource { clip, path, shapes: Shapes::Cache, rest_frame }) => {
                let clip = clip.unwrap_or_default();
                Some(ShapesOnDisk::Cache { path, clip, rest_frame: *rest_frame })
            }
            _ => None,
        }
    }

    /// The file or folder with the shapes.
    pub fn path(&self) -> &'a Path {
        match self {
            Self::Set(path) => path,
            Self::Clip(source) => source.path,
        }
    }
}

impl ClipSource<'_> {
    /// Reads the shapes and brings them together with the clips of `file`; says what was found.
    pub fn read(&self, file: &RigFile, options: &ReadOptions, output: &Output) -> Result<ExampleSet> {
        let (set, notes) = match self.shapes {
            Shapes::Sculpts => examples_from_sculpts(file, self.clip, self.path)?,
            Shapes::ShapeKeys => examples_from_shape_keys(file, self.clip, self.path, options)?,
            Shapes::Obj | Shapes::Cache => {
                let cache = if self.shapes == Shapes::Obj {
                    read_obj_folder(self.path)?
                } else {
                    read_cache(self.path)?
                };
                examples_from_clip(file, self.clip.unwrap_or_default(), &cache, self.rest_frame)?
            }
        };
        for note in notes {
            output.item("shapes", note);
        }
        Ok(set)
    }

    /// What stays in a model whose rig file holds the shapes too.
    pub fn note_if_kept(&self, rig: &Path, output: &Output) {
        let what = match self.shapes {
            Shapes::Sculpts => "sculpts",
            Shapes::ShapeKeys => "shape keys",
            Shapes::Obj | Shapes::Cache => return,
        };
        if matches!((rig.canonicalize(), self.path.canonicalize()), (Ok(a), Ok(b)) if a == b) {
            output.item(
                "shapes",
                format!("the model keeps the {what} of its rig; give a rig without them to be rid of them"),
            );
        }
    }
}
