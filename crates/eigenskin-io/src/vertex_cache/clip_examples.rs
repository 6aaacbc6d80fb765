//! Examples from a clip of the rig, which says the poses, and a cache, which says the shapes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use eigenskin::examples::{Example, ExampleSet, ExamplesError};
use eigenskin::glam::Vec3;
use eigenskin::pose::Pose;
use eigenskin::rig::Rig;
use eigenskin::skinning::{BaseSkinning, PosedSkinning};

use super::{Correspondence, CorrespondenceError, EXACT, LARGEST_DRIFT, VertexCache};
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
    let path = || cache.source.clone();
    let clip = file.clip_named(clip_name).ok_or_else(|| ClipExamplesError::NoClip {
        name: clip_name.into(),
        clips: file.clips().iter().map(|clip| format!("{:?}", clip.name)).collect(),
    })?;
    let poses: Vec<Pose> =
        clip.key_times(file.layout()).into_iter().map(|time| file.sample(clip, time)).collect();
    if poses.is_empty() {
        return Err(ClipExamplesError::NoKeys { name: clip_name.into() });
    }
    let (frames, keys) = (cache.frames.len(), poses.len());
    let rest_apart = frames == keys + 1;
    if !rest_apart && frames != keys {
        return Err(ClipExamplesError::FrameCount { path: path(), frames, keys, clip: clip_name.into() });
    }
    let frame_of_key: Vec<usize> =
        (0..frames).filter(|&frame| !(rest_apart && frame == rest_frame)).collect();

    let expected: Vec<(usize, Vec<Vec3>)> = (0..keys)
        .step_by(keys.div_ceil(COMPARED))
        .map(|key| (frame_of_key[key], skinned(rig, &poses[key])))
        .collect();
    let correspondence = Correspondence::find(rig, cache, rest_frame, &expected)
        .map_err(|error| ClipExamplesError::Correspondence { path: path(), error: Box::new(error) })?;
    if !rest_apart && !is_at_rest(rig, &poses[rest_frame]) {
        let clip = clip_name.into();
        return Err(ClipExamplesError::RestFrameIsNoPose { path: path(), frame: rest_frame, keys, clip });
    }
    let names = names(cache, &frame_of_key, clip_name);
    let examples = poses
        .into_iter()
        .zip(&frame_of_key)
        .zip(names)
        .map(|((pose, &frame), name)| {
            // A rest frame that has drifted a little still is the rest shape.
            let drifted_rest = frame == rest_frame && correspondence.drift > EXACT;
            let positions = if drifted_rest {
                rig.mesh().positions().to_vec()
            } else {
                correspondence.shape(&cache.frames[frame])
            };
            Example { name, pose, positions, normals: None, inverted: None }
        })
        .collect();
    let set = ExampleSet::new(rig.clone(), examples)
        .map_err(|error| ClipExamplesError::Examples { path: path(), error: Box::new(error) })?;
    Ok((set, correspondence.notes))
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
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
    let rest = rig.mesh().positions().iter().enumerate();
    rest.map(|(vertex, p)| skinning.position(vertex, p.as_dvec3()).as_vec3()).collect()
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
