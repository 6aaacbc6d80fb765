//! Example sets whose shapes do not fit in memory.
//!
//! Shapes stay in the cache or bundle they came in. For a fit they are pulled back to rest one after
//! the other into a scratch folder ([`LargeSet::observe`]), from where fits read them tile by tile.

mod scratch;
mod tile_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError, distinct_poses};
use eigenskin_core::progress::{Cancelled, Progress, Step};
use eigenskin_core::rig::{Rig, RigError};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_core::vertex_groups::VertexGroups;
use eigenskin_fit::displacements::{
    Fields, Observations, PULLING_BACK, RestDisplacements, RestSkin, SkinPoints,
};
use rayon::prelude::*;

pub use eigenskin_io::frame_file::{FrameFile, can_be_streamed, shape_bytes};
pub use scratch::{Scratch, ScratchError};

use eigenskin_gltf::RigFile;
use eigenskin_io::NpzError;
use eigenskin_io::npz::Bundle;
use eigenskin_io::vertex_cache::{CacheError, ClipExamplesError, ClipKeys, Correspondence, VertexCache};

/// Shapes that take more bytes than this are better left on disk.
pub const LARGE: u64 = 256 << 20;

/// Poses in memory, shapes on disk.
#[derive(Debug, Clone)]
pub struct LargeSet {
    rig: Arc<Rig>,
    poses: Vec<NamedPose>,
    shapes: Arc<FrameFile>,
    /// `example` → frame
    frame_of: Vec<usize>,
    /// how frames are shapes of the rig; as they are, where there is none
    correspondence: Option<Correspondence>,
    /// the frame that stands for the rest shape although it is not quite it
    drifted_rest: Option<usize>,
}

/// Why a large set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LargeSetError {
    /// Something about the cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The clip and the cache do not belong together.
    #[error(transparent)]
    Clip(#[from] ClipExamplesError),
    /// Something about the bundle.
    #[error("{}: {error}", path.display())]
    Bundle {
        /// the file
        path: PathBuf,
        /// what is wrong
        error: Box<NpzError>,
    },
    /// Something about the examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// Another character.
    #[error("the example set does not fit the rig: {0}")]
    OtherRig(#[from] RigError),
    /// Something about the scratch folder.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The work was ended from outside; what was pulled back stays in the scratch folder.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Examples that are pulled back before they are written together.
const GROUP: usize = 32;

impl LargeSet {
    /// The keys of a clip with the frames of a cache as their shapes, as
    /// [`eigenskin_io::examples_from_clip`] has it, and what there is to say about it.
    pub fn from_clip(
        file: &RigFile,
        clip_name: &str,
        shapes: FrameFile,
        rest_frame: usize,
    ) -> Result<(Self, Vec<String>), LargeSetError> {
        let keys = ClipKeys::find(file, clip_name, &shapes.source, shapes.frame_count, rest_frame)?;
        let mut looked_at = VertexCache {
            frames: vec![Vec::new(); shapes.frame_count],
            faces: shapes.faces.clone(),
            names: None,
            source: shapes.source.clone(),
        };
        for frame in keys.frames_looked_at().into_iter().filter(|&frame| frame < shapes.frame_count) {
            looked_at.frames[frame] = shapes.frame(frame)?;
        }
        let correspondence = keys.correspondence(file.rig(), &looked_at)?;
        let notes = correspondence.notes.clone();
        let named = |(key, pose)| NamedPose { name: format!("{clip_name} {key}"), pose };
        let set = Self {
            rig: file.rig().clone(),
            poses: keys.poses.into_iter().enumerate().map(named).collect(),
            frame_of: keys.frame_of_key,
            drifted_rest: correspondence.rest_has_drifted().then_some(rest_frame),
            correspondence: Some(correspondence),
            shapes: Arc::new(shapes),
        };
        Ok((set, notes))
    }

    /// The examples of a numpy bundle, whose rig was read from it.
    pub fn from_bundle(path: &Path, rig: &Arc<Rig>, scratch: &Path) -> Result<Self, LargeSetError> {
        let fail = |error| LargeSetError::Bundle { path: path.into(), error: Box::new(error) };
        let shapes = FrameFile::open(path, scratch)?.without_rest();
        if shapes.vertex_count != rig.vertex_count() {
            let name = format!("{}", path.display());
            let (found, expected) = (shapes.vertex_count, rig.vertex_count());
            return Err(ExamplesError::VertexCount { name, found, expected }.into());
        }
        let bundle = Bundle::read_without_shapes(path).map_err(fail)?;
        let poses = bundle.poses(rig, shapes.frame_count).map_err(fail)?;
        Ok(Self {
            rig: rig.clone(),
            frame_of: (0..poses.len()).collect(),
            poses,
            shapes: Arc::new(shapes),
            correspondence: None,
            drifted_rest: None,
        })
    }

    /// The rig.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// The poses, in order.
    pub fn poses(&self) -> &[NamedPose] {
        &self.poses
    }

    /// Bytes that all shapes would take in memory.
    pub fn bytes(&self) -> u64 {
        12 * self.poses.len() as u64 * self.rig.vertex_count() as u64
    }

    /// The file with the shapes.
    pub fn source(&self) -> &Path {
        &self.shapes.source
    }

    /// The same examples for `rig`, which must be the same character.
    pub fn for_rig(mut self, rig: &Arc<Rig>) -> Result<Self, LargeSetError> {
        let correspondence = rig.correspondence_in(&self.rig)?;
        for named in &mut self.poses {
            named.pose = correspondence.pose(&named.pose);
        }
        self.rig = rig.clone();
        Ok(self)
    }

    /// Only some of the examples, in the order given.
    #[must_use]
    pub fn select(mut self, indices: &[usize]) -> Self {
        self.poses = indices.iter().map(|&index| self.poses[index].clone()).collect();
        self.frame_of = indices.iter().map(|&index| self.frame_of[index]).collect();
        self
    }

    /// One of the examples, read from disk.
    pub fn example(&self, index: usize) -> Result<Example, LargeSetError> {
        let frame = self.frame_of[index];
        let positions = if self.drifted_rest == Some(frame) {
            self.rig.mesh().positions().to_vec()
        } else {
            let frame = self.shapes.frame(frame)?;
            self.correspondence.as_ref().map_or_else(|| frame.clone(), |found| found.shape(&frame))
        };
        let NamedPose { name, pose } = self.poses[index].clone();
        Ok(Example { name, pose, positions, normals: None, inverted: None })
    }

    /// Some of the examples in memory.
    pub fn in_memory(&self, indices: &[usize]) -> Result<ExampleSet, LargeSetError> {
        let examples = indices.iter().map(|&index| self.example(index)).collect::<Result<_, _>>()?;
        Ok(ExampleSet::new(self.rig.clone(), examples)?)
    }

    /// Pulls all examples back to rest into `scratch`, those before `done` being there already from a run
    /// that was interrupted; `progress` is told how many of how many are there, safely on disk.
    ///
    /// The observations are read from `scratch`, which must stay as long as they are used.
    pub fn observe(
        &self,
        base: BaseSkinning,
        allow_compromise: bool,
        scratch: &Scratch,
        progress: &dyn Progress,
    ) -> Result<Observations, LargeSetError> {
        let poses: Vec<_> = self.poses.iter().map(|named| (named.name.as_str(), &named.pose)).collect();
        let (kept, merged) = distinct_poses(&self.rig, &poses, allow_compromise, |index| {
            progress.doing(PULLING_BACK)?;
            Ok::<_, LargeSetError>(self.example(index)?.positions.into())
        })?;
        let rest = RestSkin::new(&self.rig, self.points(&kept, progress)?);
        let places = [rest.points().group_count(), self.rig.vertex_count()];
        let mut files = scratch.begin(&self.identity(base, &kept), kept.len(), places)?;
        let tell = |done: usize| progress.step(Step { doing: PULLING_BACK, done, count: Some(kept.len()) });
        while files.done() < kept.len() {
            let done = files.done();
            let group = &kept[done..(done + GROUP).min(kept.len())];
            let pulled = group
                .par_iter()
                .map(|&index| {
                    tell(done)?;
                    Ok(rest.pull_skinned(base, &self.example(index)?))
                })
                .collect::<Result<Vec<_>, LargeSetError>>()?;
            files.push(&pulled)?;
        }
        tell(kept.len())?;
        let (positions, normals, residuals) = files.finish()?;
        Ok(Observations {
            rig: self.rig.clone(),
            names: kept.iter().map(|&index| self.poses[index].name.clone()).collect(),
            poses: kept.iter().map(|&index| self.poses[index].pose.clone()).collect(),
            base: base.into(),
            displacements: RestDisplacements {
                positions: Fields::stored(positions, kept.len(), places[0]),
                normals: Fields::stored(normals, kept.len(), places[1]),
                residuals,
                points: rest.points().clone(),
            },
            merged,
        })
    }

    /// Vertices that are one point of the skin in all examples.
    fn points(&self, kept: &[usize], progress: &dyn Progress) -> Result<VertexGroups, LargeSetError> {
        let mut points = SkinPoints::new(&self.rig);
        if points.has_seams() {
            for &index in kept {
                progress.doing(PULLING_BACK)?;
                points.see(&self.example(index)?.positions);
            }
        }
        Ok(points.groups())
    }

    /// What the contents of a scratch folder depend on.
    fn identity(&self, base: BaseSkinning, kept: &[usize]) -> String {
        let mut hash = scratch::Hash::default();
        let file = std::fs::metadata(&self.shapes.source).ok();
        hash.text(&self.shapes.source.to_string_lossy());
        hash.number(file.as_ref().map_or(0, std::fs::Metadata::len));
        let modified = file.and_then(|file| file.modified().ok());
        let age = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        hash.number(age.map_or(0, |age| age.as_nanos() as u64));
        hash.text(base.name());
        hash.text(env!("CARGO_PKG_VERSION"));
        for (vertex, position) in self.rig.mesh().positions().iter().enumerate() {
            position.to_array().iter().for_each(|x| hash.number(u64::from(x.to_bits())));
            for influence in self.rig.weights().of(vertex) {
                hash.number(u64::from(influence.joint));
                hash.number(u64::from(influence.weight.to_bits()));
            }
        }
        for &index in kept {
            hash.number(self.frame_of[index] as u64);
            for transform in &self.poses[index].pose.world_from_joint {
                transform.to_cols_array().iter().for_each(|x| hash.number(x.to_bits()));
            }
            self.poses[index].pose.controls.iter().for_each(|x| hash.number(x.to_bits()));
        }
        hash.finish()
    }
}
