//! Examples from a clip of the rig, which says the poses, and a cache, which says the shapes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::glam::Vec3;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, skinned_shape};

use super::{Correspondence, CorrespondenceError, LARGEST_DRIFT, VertexCache};
use crate::RigFile;

/// Why a clip and a cache do not make examples.
#[derive(Debug, thiserror::Error)]
pub enum ClipExamplesError {
    /// No such clip.
    #[error("the rig has no clip {name:?}; it has {}", if clips.is_empty() { "none".to_string() } else { clips.join(", ") })]
    NoClip {
        /// the clip asked for
        name: String,
        /// the clips there are, quoted
        clips: Vec<String>,
    },
    /// A clip that does not move the rig.
    #[error("clip {name:?} has no keys of the rig's joints or controls; choose a clip that poses the rig")]
    NoKeys {
        /// the clip
        name: String,
    },
    /// Frames and keys differ in number.
    #[error("{}: {frames} frames for the {keys} keys of clip {clip:?}, {}; export one frame per key, or the rest shape and one frame per key", path.display(), difference(*frames, *keys))]
    FrameCount {
        /// the cache
        path: PathBuf,
        /// its frames
        frames: usize,
        /// keys of the clip
        keys: usize,
        /// the clip
        clip: String,
    },
    /// The rest shape stands where a pose should.
    #[error("{}: frame {frame} is the rest shape, but key {frame} of clip {clip:?} is not the rest pose; with {keys} keys and {keys} frames the cache is one frame short: export the rest shape and one frame per key", path.display())]
    RestFrameIsNoPose {
        /// the cache
        path: PathBuf,
        /// the rest frame
        frame: usize,
        /// keys of the clip
        keys: usize,
        /// the clip
        clip: String,
    },
    /// The cache is of another mesh.
    #[error("{}: {error}", path.display())]
    Correspondence {
        /// the cache
        path: PathBuf,
        /// what is wrong
        error: Box<CorrespondenceError>,
    },
    /// The examples were refused.
    #[error("{}: {error}", path.display())]
    Examples {
        /// the cache
        path: PathBuf,
        /// what is wrong
        error: Box<ExamplesError>,
    },
}

/// Shapes that are compared with plain skinning to settle the axes.
const COMPARED: usize = 8;

/// The keys of a clip as example poses, in order, with the frames of a cache as their shapes, and
/// what there is to say about it.
///
/// The cache has one frame per key, or the rest shape besides. Its `rest_frame` is the rest shape
/// in either case.
pub fn examples_from_clip(
    file: &RigFile,
    clip_name: &str,
    cache: &VertexCache,
    rest_frame: usize,
) -> Result<(ExampleSet, Vec<String>), ClipExamplesError> {
    let rig = file.rig();
    let keys = ClipKeys::find(file, clip_name, &cache.source, cache.frames.len(), rest_frame)?;
    let correspondence = keys.correspondence(rig, cache)?;
    let names = names(cache, &keys.frame_of_key, clip_name);
    let examples = keys
        .poses
        .into_iter()
        .zip(&keys.frame_of_key)
        .zip(names)
        .map(|((pose, &frame), name)| {
            let positions = if frame == rest_frame && correspondence.rest_has_drifted() {
                rig.mesh().positions().to_vec()
            } else {
                correspondence.shape(&cache.frames[frame])
            };
            Example { name, pose, positions, normals: None, inverted: None }
        })
        .collect();
    let set = ExampleSet::new(rig.clone(), examples).map_err(|error| ClipExamplesError::Examples {
        path: cache.source.clone(),
        error: Box::new(error),
    })?;
    Ok((set, correspondence.notes))
}

/// Poses of a clip's keys, and which frames of a cache show them.
pub struct ClipKeys {
    /// `key`
    pub poses: Vec<Pose>,
    /// `key`
    pub frame_of_key: Vec<usize>,
    clip: String,
    source: PathBuf,
    rest_frame: usize,
    /// whether the rest shape is a frame besides those of the keys
    rest_apart: bool,
}

impl ClipKeys {
    /// Of a cache with so many frames.
    pub fn find(
        file: &RigFile,
        clip_name: &str,
        source: &Path,
        frames: usize,
        rest_frame: usize,
    ) -> Result<Self, ClipExamplesError> {
        let clip = file.clip_named(clip_name).ok_or_else(|| ClipExamplesError::NoClip {
            name: clip_name.into(),
            clips: file.clips().iter().map(|clip| format!("{:?}", clip.name)).collect(),
        })?;
        let poses: Vec<Pose> =
            clip.key_times(file.layout()).into_iter().map(|time| file.sample(clip, time)).collect();
        if poses.is_empty() {
            return Err(ClipExamplesError::NoKeys { name: clip_name.into() });
        }
        let keys = poses.len();
        let rest_apart = frames == keys + 1;
        if !rest_apart && frames != keys {
            let (path, clip) = (source.into(), clip_name.into());
            return Err(ClipExamplesError::FrameCount { path, frames, keys, clip });
        }
        let frame_of_key = (0..frames).filter(|&frame| !(rest_apart && frame == rest_frame)).collect();
        let (clip, source) = (clip_name.into(), source.into());
        Ok(Self { poses, frame_of_key, clip, source, rest_frame, rest_apart })
    }

    /// Keys whose shapes are compared with plain skinning.
    fn compared(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.poses.len()).step_by(self.poses.len().div_ceil(COMPARED))
    }

    /// The frames that [`Self::correspondence`] looks at.
    pub fn frames_looked_at(&self) -> Vec<usize> {
        let mut frames: Vec<usize> = self.compared().map(|key| self.frame_of_key[key]).collect();
        frames.extend([0, self.rest_frame]);
        frames.sort_unstable();
        frames.dedup();
        frames
    }

    /// Which vertex of the cache is which of the rig. Frames that are not looked at may be empty.
    pub fn correspondence(
        &self,
        rig: &Rig,
        cache: &VertexCache,
    ) -> Result<Correspondence, ClipExamplesError> {
        let path = || self.source.clone();
        let expected: Vec<(usize, Vec<Vec3>)> =
            self.compared().map(|key| (self.frame_of_key[key], skinned(rig, &self.poses[key]))).collect();
        let found = Correspondence::find(rig, cache, self.rest_frame, &expected)
            .map_err(|error| ClipExamplesError::Correspondence { path: path(), error: Box::new(error) })?;
        if !self.rest_apart && !is_at_rest(rig, &self.poses[self.rest_frame]) {
            let (frame, keys, clip) = (self.rest_frame, self.poses.len(), self.clip.clone());
            return Err(ClipExamplesError::RestFrameIsNoPose { path: path(), frame, keys, clip });
        }
        Ok(found)
    }
}

/// Names of the files where there are files with different names, else the clip and a number.
fn names(cache: &VertexCache, frame_of_key: &[usize], clip: &str) -> Vec<String> {
    if let Some(names) = &cache.names {
        let names: Vec<String> = frame_of_key.iter().map(|&frame| names[frame].clone()).collect();
        let different: BTreeSet<&String> = names.iter().filter(|name| !name.is_empty()).collect();
        if different.len() == names.len() {
            return names;
        }
    }
    (0..frame_of_key.len()).map(|key| format!("{clip} {key}")).collect()
}

/// What plain skinning shows, `vertex`.
pub(super) fn skinned(rig: &Rig, pose: &Pose) -> Vec<Vec3> {
    skinned_shape(BaseSkinning::LinearBlend, rig, pose)
}

/// Whether a pose leaves the skin where it is at rest.
fn is_at_rest(rig: &Rig, pose: &Pose) -> bool {
    let limit = LARGEST_DRIFT * rig.mesh().size();
    let still = skinned(rig, pose)
        .iter()
        .zip(rig.mesh().positions())
        .all(|(posed, rest)| f64::from(posed.distance(*rest)) <= limit);
    let controls = pose.controls.iter().zip(rig.controls());
    still && controls.into_iter().all(|(value, control)| (value - control.default).abs() <= LARGEST_DRIFT)
}

fn difference(frames: usize, keys: usize) -> String {
    let frames_of = |count: usize| if count == 1 { "one frame".into() } else { format!("{count} frames") };
    match frames.checked_sub(keys) {
        None => format!("{} short", frames_of(keys - frames)),
        Some(more) => format!("{} too many", frames_of(more.saturating_sub(1))),
    }
}
