//! Where a pose comes from: a key or a time of a clip, or a file of poses.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::nearest_name;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::{RigCorrespondence, RigError};
use eigenskin_gltf::{Clip, RigFile};
use eigenskin_io::ReadError;
use eigenskin_io::pose_file::{PoseFileError, read_poses};
use serde::{Deserialize, Serialize};

use crate::rig_source::read_options;

/// A pose, or several, as people give them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoseSource {
    /// a clip
    Clip {
        /// its name
        clip: String,
        /// when in it; without, its only key
        at: Option<ClipMoment>,
        /// another file of the same character that has the clip; without, the rig's own file
        from: Option<PathBuf>,
    },
    /// a JSON file with the turns of joints and the values of controls by name
    File {
        /// the file
        path: PathBuf,
        /// which of its poses; without, its only one, or the one with the name of what is posed
        name: Option<String>,
    },
}

/// A moment of a clip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClipMoment {
    /// a key, counted from 0
    Key(usize),
    /// a time in seconds
    Time(f64),
}

/// Why there is no pose.
#[derive(Debug, thiserror::Error)]
pub enum PoseSourceError {
    /// The file with the clip cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file with the clip is of another character.
    #[error("{} is not of the same character: {error}", path.display())]
    OtherCharacter {
        /// the file
        path: PathBuf,
        /// what differs
        error: RigError,
    },
    /// A clip that the file does not have.
    #[error("there is no clip {clip:?}; {}", there_are(known))]
    NoClip {
        /// the name given
        clip: String,
        /// the clips there are
        known: Vec<String>,
    },
    /// A key beyond the last.
    #[error("there is no key {key}: clip {clip:?} has {count} keys, counted from 0")]
    NoKey {
        /// the clip
        clip: String,
        /// the key given
        key: usize,
        /// how many it has
        count: usize,
    },
    /// A time beyond the end.
    #[error("{time} s is outside of clip {clip:?}, which lasts {seconds:.3} s")]
    OutsideClip {
        /// the clip
        clip: String,
        /// the time given, seconds
        time: f64,
        /// how long it lasts
        seconds: f64,
    },
    /// Several keys, and none chosen.
    #[error("clip {clip:?} has {count} keys; choose a key or a time")]
    WhichKey {
        /// the clip
        clip: String,
        /// how many it has
        count: usize,
    },
    /// Something about a file of poses.
    #[error(transparent)]
    File(#[from] PoseFileError),
    /// A pose that the file does not have.
    #[error("{} has no pose {name:?}; {hint}", path.display())]
    NoPose {
        /// the file
        path: PathBuf,
        /// the name looked for
        name: String,
        /// what may have been meant, or what there is
        hint: String,
    },
}

fn there_are(known: &[String]) -> String {
    if known.is_empty() { "the file has none".to_string() } else { format!("there are {}", known.join(", ")) }
}

impl PoseSource {
    /// The one pose, for the rig of `file`; `name` is that of what is posed.
    pub fn read(&self, file: &RigFile, name: &str) -> Result<Pose, PoseSourceError> {
        match self {
            Self::Clip { clip, at, from } => {
                let source = ClipFile::open(file, from.as_deref())?;
                let clip = clip_named(&source.file, clip)?;
                Ok(source.sample(clip, time_of(&source.file, clip, *at)?))
            }
            Self::File { path, name: wanted } => of_file(file, path, wanted.as_deref(), name),
        }
    }

    /// All poses that were given: the one chosen, or every key of the clip, or every pose of the file.
    pub fn read_all(&self, file: &RigFile) -> Result<Vec<NamedPose>, PoseSourceError> {
        match self {
            Self::Clip { clip, at: None, from } => {
                let source = ClipFile::open(file, from.as_deref())?;
                let clip = clip_named(&source.file, clip)?;
                let times = clip.key_times(source.file.layout()).into_iter().enumerate();
                let named =
                    |(key, time)| NamedPose { name: format!("key {key}"), pose: source.sample(clip, time) };
                Ok(times.map(named).collect())
            }
            Self::File { path, name: None } => Ok(read_poses(path, file.rig())?),
            Self::Clip { clip, at: Some(at), .. } => {
                let name = match at {
                    ClipMoment::Key(key) => format!("{clip}, key {key}"),
                    ClipMoment::Time(time) => format!("{clip}, {time} s"),
                };
                Ok(vec![NamedPose { pose: self.read(file, &name)?, name }])
            }
            Self::File { name: Some(name), .. } => {
                Ok(vec![NamedPose { pose: self.read(file, name)?, name: name.clone() }])
            }
        }
    }
}

/// The clip of that name, or an error that names those there are.
pub fn clip_named<'a>(file: &'a RigFile, clip: &str) -> Result<&'a Clip, PoseSourceError> {
    file.clip_named(clip).ok_or_else(|| PoseSourceError::NoClip {
        clip: clip.to_string(),
        known: file.clips().iter().map(|clip| clip.name.clone()).collect(),
    })
}

/// The file that has the clip, and how its poses become poses of ours.
struct ClipFile<'a> {
    file: Cow<'a, RigFile>,
    correspondence: Option<RigCorrespondence>,
}

impl<'a> ClipFile<'a> {
    fn open(file: &'a RigFile, from: Option<&Path>) -> Result<Self, PoseSourceError> {
        let Some(path) = from else { return Ok(Self { file: Cow::Borrowed(file), correspondence: None }) };
        let other = eigenskin_io::read_rig(path, &read_options(None))?;
        let different = |error| PoseSourceError::OtherCharacter { path: path.into(), error };
        let correspondence = Some(file.rig().correspondence_in(other.rig()).map_err(different)?);
        Ok(Self { file: Cow::Owned(other), correspondence })
    }

    fn sample(&self, clip: &Clip, time: f64) -> Pose {
        let pose = self.file.sample(clip, time);
        match &self.correspondence {
            Some(correspondence) => correspondence.pose(&pose),
            None => pose,
        }
    }
}

/// When in the clip, seconds.
fn time_of(file: &RigFile, clip: &Clip, at: Option<ClipMoment>) -> Result<f64, PoseSourceError> {
    let name = || clip.name.clone();
    let times = clip.key_times(file.layout());
    match at {
        Some(ClipMoment::Time(time)) if (0.0..=clip.duration() + 1e-6).contains(&time) => Ok(time),
        Some(ClipMoment::Time(time)) => {
            Err(PoseSourceError::OutsideClip { clip: name(), time, seconds: clip.duration() })
        }
        Some(ClipMoment::Key(key)) => {
            let none = || PoseSourceError::NoKey { clip: name(), key, count: times.len() };
            times.get(key).copied().ok_or_else(none)
        }
        None => match times[..] {
            [time] => Ok(time),
            _ => Err(PoseSourceError::WhichKey { clip: name(), count: times.len() }),
        },
    }
}

fn of_file(file: &RigFile, path: &Path, wanted: Option<&str>, posed: &str) -> Result<Pose, PoseSourceError> {
    let mut poses = read_poses(path, file.rig())?;
    if wanted.is_none() && poses.len() == 1 {
        return Ok(poses.remove(0).pose);
    }
    let wanted = wanted.unwrap_or(posed);
    if let Some(place) = poses.iter().position(|pose| pose.name == wanted) {
        return Ok(poses.swap_remove(place).pose);
    }
    let names: Vec<&str> = poses.iter().map(|pose| pose.name.as_str()).collect();
    let hint = match nearest_name::nearest(wanted, names.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are {}", names.join(", ")),
    };
    Err(PoseSourceError::NoPose { path: path.into(), name: wanted.to_string(), hint })
}
