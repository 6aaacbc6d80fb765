//! Shapes that are left on disk: which they are, and where scratch files go.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use eigenskin::gltf::RigFile;
use eigenskin::large_set::LargeSet;
use eigenskin::large_set::{FrameFile, LARGE, can_be_streamed, shape_bytes};

use crate::frames;
use crate::output::Output;

/// How shapes are treated that do not fit in memory.
#[derive(clap::Args)]
pub struct LargeArgs {
    /// Leave the shapes of a cache or numpy bundle on disk, as is done anyway above 256 MB
    #[arg(long)]
    stream: bool,
    /// Folder for scratch files of shapes that are left on disk: about twice their size
    /// [default: the output's name with .scratch]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

/// Where shapes are that could be left on disk.
pub enum ShapesOnDisk<'a> {
    /// `truth` of a numpy bundle
    Bundle(&'a Path),
    /// one frame per key of a clip
    Cache {
        /// the file
        path: &'a Path,
        /// the clip
        clip: &'a str,
        /// the frame that is the rest shape
        rest_frame: usize,
    },
}

impl LargeArgs {
    /// The folder for scratch files of what becomes `output`.
    pub fn folder(&self, output: &Path) -> PathBuf {
        self.scratch.clone().unwrap_or_else(|| {
            let mut name = output.as_os_str().to_owned();
            name.push(".scratch");
            name.into()
        })
    }

    /// Whether shapes are to be left on disk; `shapes` are those that can be.
    pub fn wants(&self, shapes: Option<&ShapesOnDisk<'_>>) -> Result<bool> {
        let Some(shapes) = shapes else {
            if self.stream {
                bail!(
                    "--stream leaves shapes on disk that come as .pc2, .mdd, .npy or .npz; give the shapes with --cache FILE or as a numpy bundle"
                );
            }
            return Ok(false);
        };
        Ok(self.stream || shapes.are_large())
    }
}

impl ShapesOnDisk<'_> {
    /// Whether they would take much memory.
    pub fn are_large(&self) -> bool {
        let path = self.path();
        // What cannot be read is for the ordinary readers to name.
        can_be_streamed(path) && shape_bytes(path).is_ok_and(|bytes| bytes > LARGE)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Bundle(path) | Self::Cache { path, .. } => path,
        }
    }

    /// Opens the examples that `slice` chooses; `scratch` must exist.
    pub fn open(
        &self,
        file: &RigFile,
        slice: Option<&str>,
        scratch: &Path,
        output: &Output,
    ) -> Result<LargeSet> {
        let set = match self {
            Self::Bundle(path) => {
                let own = eigenskin::io::read_rig(path, &crate::rigs::read_options(None))?;
                LargeSet::from_bundle(path, own.rig(), scratch)?
            }
            Self::Cache { path, clip, rest_frame } => {
                let (set, notes) =
                    LargeSet::from_clip(file, clip, FrameFile::open(path, scratch)?, *rest_frame)?;
                for note in notes {
                    output.item("shapes", note);
                }
                set
            }
        };
        let Some(slice) = slice else { return Ok(set) };
        let chosen = frames::chosen(slice, set.poses().len())?;
        Ok(set.select(&chosen))
    }
}
