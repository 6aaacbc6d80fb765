//! Where examples come from: a set, or poses of a rig's clips with the shapes in a cache, in sculpts or
//! in shape keys. Shapes that do not fit in memory stay on disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_gltf::{ReadOptions, RigFile, SimulationRecord};
use eigenskin_io::frame_file::{FrameFile, can_be_streamed, shape_bytes};
use eigenskin_io::vertex_cache::{CacheError, ClipExamplesError, SculptsError, renumbered};
use eigenskin_io::{
    ReadError, examples_from_clip, examples_from_sculpts, examples_from_shape_keys, read_cache,
    read_obj_folder,
};

use crate::frame_slice::{FrameSlice, FrameSliceError};
use crate::large_set::{LARGE, LargeSet, LargeSetError};
use crate::rig_source::read_options;

/// Where poses and shapes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleSource {
    /// a GLB example set or a numpy bundle
    Set(PathBuf),
    /// a folder with one OBJ file per key of a clip of the rig, and one of the rest shape
    ObjFolder {
        /// the folder
        folder: PathBuf,
        /// the clip whose keys are the poses
        clip: String,
        /// the frame that is the rest shape
        rest_frame: usize,
    },
    /// a vertex cache (`.pc2`, `.mdd`, `.npy`, `.npz`) with one frame per key of a clip of the rig, and
    /// the rest shape
    Cache {
        /// the file
        path: PathBuf,
        /// the clip whose keys are the poses
        clip: String,
        /// the frame that is the rest shape
        rest_frame: usize,
    },
    /// a GLB with sculpts as mesh nodes without a skin, named after poses
    Sculpts {
        /// the file
        path: PathBuf,
        /// the clip that `name@12` is a key of; else names say it
        clip: Option<String>,
    },
    /// a GLB whose mesh has shape keys, named after poses
    ShapeKeys {
        /// the file
        path: PathBuf,
        /// the clip that `name@12` is a key of; else names say it
        clip: Option<String>,
    },
}

/// Examples of a rig, wherever their shapes are.
#[derive(Debug, Clone)]
pub enum Examples {
    /// all in memory
    InMemory(Arc<ExampleSet>),
    /// poses in memory, shapes on disk
    OnDisk(Arc<LargeSet>),
}

/// Examples with what there is to say about them.
#[derive(Debug, Clone)]
pub struct OpenedExamples {
    /// the examples
    pub examples: Examples,
    /// what was mended or left out, one sentence each
    pub notes: Vec<String>,
}

/// Why there are no examples.
#[derive(Debug, thiserror::Error)]
pub enum ExampleSourceError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Something about a cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The clip and the cache do not belong together.
    #[error(transparent)]
    Clip(#[from] ClipExamplesError),
    /// Something about sculpts or shape keys.
    #[error(transparent)]
    Sculpts(#[from] SculptsError),
    /// Something about shapes that stay on disk.
    #[error(transparent)]
    OnDisk(#[from] LargeSetError),
    /// The examples are of another rig.
    #[error("{}: {error}", path.display())]
    OtherRig {
        /// the file or folder with the shapes
        path: PathBuf,
        /// what differs
        error: ExamplesError,
    },
    /// The poses chosen do not exist.
    #[error(transparent)]
    Frames(#[from] FrameSliceError),
    /// Shapes that must be in memory.
    #[error("the shapes of {} cannot be left on disk; only those of .pc2, .mdd, .npy and .npz files can", path.display())]
    NotStreamable {
        /// the file or folder with the shapes
        path: PathBuf,
    },
}

impl ExampleSource {
    /// The file or folder with the shapes.
    pub fn path(&self) -> &Path {
        match self {
            Self::Set(path)
            | Self::ObjFolder { folder: path, .. }
            | Self::Cache { path, .. }
            | Self::Sculpts { path, .. }
            | Self::ShapeKeys { path, .. } => path,
        }
    }

    /// Whether the shapes can stay on disk.
    pub fn can_stay_on_disk(&self) -> bool {
        let is_bundle = |path: &Path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
        match self {
            Self::Set(path) => is_bundle(path),
            Self::Cache { path, .. } => can_be_streamed(path),
            _ => false,
        }
    }

    /// Whether the shapes would take much memory and can stay on disk.
    pub fn is_large(&self) -> bool {
        // What cannot be read is for the ordinary readers to name.
        self.can_stay_on_disk() && shape_bytes(self.path()).is_ok_and(|bytes| bytes > LARGE)
    }

    /// Reads the examples into memory. `file` is the rig that clips are of.
    pub fn read(&self, file: &RigFile, options: &ReadOptions) -> Result<OpenedExamples, ExampleSourceError> {
        let (set, notes) = match self {
            Self::Set(path) => {
                let (own, set) = eigenskin_io::read_examples(path, options)?;
                (set, own.notes)
            }
            Self::ObjFolder { folder, clip, rest_frame } => {
                examples_from_clip(file, clip, &read_obj_folder(folder)?, *rest_frame)?
            }
            Self::Cache { path, clip, rest_frame } => {
                examples_from_clip(file, clip, &read_cache(path)?, *rest_frame)?
            }
            Self::Sculpts { path, clip } => examples_from_sculpts(file, clip.as_deref(), path)?,
            Self::ShapeKeys { path, clip } => examples_from_shape_keys(file, clip.as_deref(), path, options)?,
        };
        Ok(OpenedExamples { examples: Examples::InMemory(Arc::new(set)), notes })
    }

    /// Opens the examples without reading the shapes; `scratch` is an existing folder that a compressed
    /// bundle may be unpacked into.
    pub fn open_on_disk(&self, file: &RigFile, scratch: &Path) -> Result<OpenedExamples, ExampleSourceError> {
        let (set, notes) = match self {
            Self::Set(path) if self.can_stay_on_disk() => {
                let own = eigenskin_io::read_rig(path, &read_options(None))?;
                (LargeSet::from_bundle(path, own.rig(), scratch)?, Vec::new())
            }
            Self::Cache { path, clip, rest_frame } if self.can_stay_on_disk() => {
                LargeSet::from_clip(file, clip, FrameFile::open(path, scratch)?, *rest_frame)?
            }
            _ => return Err(ExampleSourceError::NotStreamable { path: self.path().into() }),
        };
        Ok(OpenedExamples { examples: Examples::OnDisk(Arc::new(set)), notes })
    }

    /// How the examples were simulated, where their file says so, for those that are in `names`.
    pub fn simulation(&self, names: &[&str]) -> Result<Option<SimulationRecord>, ReadError> {
        let Self::Set(path) = self else { return Ok(None) };
        let mut record = eigenskin_io::read_simulation(path)?;
        if let Some(record) = &mut record {
            let names: HashSet<&str> = names.iter().copied().collect();
            record.poses.retain(|pose| names.contains(pose.name.as_str()));
        }
        Ok(record)
    }
}

impl OpenedExamples {
    /// The same for `rig`, which must be the same character, and only the poses chosen.
    pub fn settle(
        self,
        source: &ExampleSource,
        rig: &Arc<Rig>,
        frames: Option<FrameSlice>,
    ) -> Result<Self, ExampleSourceError> {
        let other = |error| ExampleSourceError::OtherRig { path: source.path().into(), error };
        let mut notes = self.notes;
        let examples = match self.examples {
            Examples::InMemory(set) => {
                let set = match ExampleSet::clone(&set).for_rig(rig) {
                    Ok(set) => set,
                    Err(error) => {
                        let Some((set, said)) = renumbered(&set, rig) else { return Err(other(error)) };
                        notes.extend(said);
                        set.for_rig(rig).map_err(other)?
                    }
                };
                let set = match frames {
                    Some(frames) => frames.select(&set)?,
                    None => set,
                };
                Examples::InMemory(Arc::new(set))
            }
            Examples::OnDisk(set) => {
                let mut set = Arc::unwrap_or_clone(set).for_rig(rig)?;
                if let Some(frames) = frames {
                    let chosen = frames.chosen(set.poses().len())?;
                    set = set.select(&chosen);
                }
                Examples::OnDisk(Arc::new(set))
            }
        };
        Ok(Self { examples, notes })
    }
}

impl Examples {
    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        match self {
            Self::InMemory(set) => set.rig(),
            Self::OnDisk(set) => set.rig(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::InMemory(set) => set.len(),
            Self::OnDisk(set) => set.poses().len(),
        }
    }

    /// Never: sets have at least one example.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name and pose of an example.
    pub fn pose(&self, index: usize) -> (&str, &Pose) {
        match self {
            Self::InMemory(set) => {
                let example = &set.examples()[index];
                (&example.name, &example.pose)
            }
            Self::OnDisk(set) => {
                let NamedPose { name, pose } = &set.poses()[index];
                (name, pose)
            }
        }
    }

    /// One of the examples, read from disk where it is there.
    pub fn example(&self, index: usize) -> Result<Example, LargeSetError> {
        match self {
            Self::InMemory(set) => Ok(set.examples()[index].clone()),
            Self::OnDisk(set) => set.example(index),
        }
    }

    /// At most `most` of the examples in memory, evenly chosen.
    pub fn sample(&self, most: usize) -> Result<Arc<ExampleSet>, LargeSetError> {
        match self {
            Self::InMemory(set) if set.len() <= most => Ok(set.clone()),
            _ => {
                let chosen: Vec<usize> = (0..self.len()).step_by(self.len().div_ceil(most).max(1)).collect();
                match self {
                    Self::InMemory(set) => Ok(Arc::new(set.select(&chosen)?)),
                    Self::OnDisk(set) => Ok(Arc::new(set.in_memory(&chosen)?)),
                }
            }
        }
    }
}
