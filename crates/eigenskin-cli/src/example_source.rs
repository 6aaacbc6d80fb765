//! Where examples come from: a set, or a clip of the rig with the shapes in a cache.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use eigenskin::examples::ExampleSet;
use eigenskin_io::{RigFile, examples_from_clip, read_cache, read_obj_folder};

use crate::output::Output;

/// A clip says the poses, OBJ files or a cache the shapes.
#[derive(clap::Args)]
pub struct ClipArgs {
    /// A clip of the rig whose keys are the poses; the shapes come from --obj or --cache
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// A folder with one OBJ file per key of --clip, and one of the rest shape in front
    #[arg(long, value_name = "DIR")]
    obj: Option<PathBuf>,
    /// A vertex cache with one frame per key of --clip, and the rest shape in front: .pc2, .mdd,
    /// .npy or .npz
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
    /// The frame of --obj or --cache that is the rest shape, from 0 [default: 0]
    #[arg(long, value_name = "N")]
    rest_frame: Option<usize>,
}

/// The one way that was chosen.
pub enum ExampleSource<'a> {
    /// a GLB example set or a numpy bundle
    Set(&'a Path),
    /// a clip and shapes
    Clip(ClipSource<'a>),
}

/// A clip and the shapes at its keys.
pub struct ClipSource<'a> {
    clip: &'a str,
    shapes: &'a Path,
    is_obj: bool,
    rest_frame: usize,
}

impl<'a> ExampleSource<'a> {
    /// Settles which way was chosen; `set` is the value of `option` (`--examples`, `--truth`).
    pub fn choose(set: Option<&'a Path>, option: &str, args: &'a ClipArgs) -> Result<Self> {
        match (set, args.clip.as_deref(), args.obj.as_deref(), args.cache.as_deref()) {
            (Some(set), None, None, None) if args.rest_frame.is_none() => Ok(Self::Set(set)),
            (Some(_), None, None, None) => bail!("--rest-frame goes with --clip, not with {option}"),
            (Some(_), ..) => {
                bail!("{option} and --clip, --obj or --cache are two sources of shapes; give one of them")
            }
            (None, None, None, None) => {
                bail!("no shapes are given; add {option} EX, or --clip NAME with --obj DIR or --cache FILE")
            }
            (None, Some(_), Some(_), Some(_)) => bail!("--obj and --cache both give shapes; choose one"),
            (None, Some(clip), None, None) => {
                bail!("--clip {clip} gives poses without shapes; add --obj DIR or --cache FILE")
            }
            (None, None, ..) => bail!("--obj and --cache need the poses of their frames; add --clip NAME"),
            (None, Some(clip), Some(shapes), None) => Ok(Self::clip(clip, shapes, true, args)),
            (None, Some(clip), None, Some(shapes)) => Ok(Self::clip(clip, shapes, false, args)),
        }
    }

    fn clip(clip: &'a str, shapes: &'a Path, is_obj: bool, args: &ClipArgs) -> Self {
        Self::Clip(ClipSource { clip, shapes, is_obj, rest_frame: args.rest_frame.unwrap_or(0) })
    }

    /// The file or folder with the shapes.
    pub fn path(&self) -> &'a Path {
        match self {
            Self::Set(path) => path,
            Self::Clip(source) => source.shapes,
        }
    }
}

impl ClipSource<'_> {
    /// Reads the shapes and brings them together with the clip of `file`; says what was found.
    pub fn read(&self, file: &RigFile, output: &Output) -> Result<ExampleSet> {
        let cache = if self.is_obj { read_obj_folder(self.shapes)? } else { read_cache(self.shapes)? };
        let (set, notes) = examples_from_clip(file, self.clip, &cache, self.rest_frame)?;
        for note in notes {
            output.item("shapes", note);
        }
        Ok(set)
    }
}
