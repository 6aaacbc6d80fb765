//! Which pose a sculpt was made in: a key or a time of a clip, or a pose of a JSON file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use eigenskin::articulation::NamedPose;
use eigenskin::gltf::RigFile;
use eigenskin::io::pose_file::read_poses;
use eigenskin::nearest_name;
use eigenskin::pose::Pose;

use crate::rigs;

/// The pose of a sculpt.
#[derive(clap::Args)]
#[command(next_help_heading = "Pose")]
pub struct PoseArgs {
    /// A clip of FILE that has the pose
    #[arg(long, value_name = "NAME", conflicts_with = "pose")]
    clip: Option<String>,
    /// The key of --clip, counted from 0
    #[arg(long, value_name = "N", requires = "clip", conflicts_with = "time")]
    frame: Option<usize>,
    /// The time in --clip, seconds
    #[arg(long, value_name = "S", requires = "clip")]
    time: Option<f64>,
    /// Another file of the same rig that has --clip
    #[arg(long, value_name = "FILE.glb", requires = "clip")]
    clip_from: Option<PathBuf>,
    /// A JSON file with the turns of joints and the values of controls by name
    #[arg(long, value_name = "FILE.json")]
    pose: Option<PathBuf>,
    /// Which pose of --pose, when it has several [default: the one with the example's name]
    #[arg(long, value_name = "NAME", requires = "pose")]
    pose_name: Option<String>,
}

impl PoseArgs {
    /// Whether a pose was given.
    pub fn given(&self) -> bool {
        self.clip.is_some() || self.pose.is_some()
    }

    /// The pose, for the rig of `file`; `name` is that of the example.
    pub fn read(&self, file: &RigFile, name: &str) -> Result<Pose> {
        match (&self.clip, &self.pose) {
            (Some(clip), _) => match &self.clip_from {
                Some(path) => {
                    let other = eigenskin::io::read_rig(path, &rigs::read_options(None))?;
                    let correspondence = file
                        .rig()
                        .correspondence_in(other.rig())
                        .with_context(|| format!("{} is not of the same character", path.display()))?;
                    Ok(correspondence.pose(&self.sample(&other, clip)?))
                }
                None => self.sample(file, clip),
            },
            (None, Some(path)) => self.of_file(file, path, name),
            (None, None) => {
                bail!("the pose of the sculpt is missing; give --clip NAME --frame N, or --pose FILE.json")
            }
        }
    }

    /// All poses that were given: the one chosen, or every pose of the file, or every key of the clip.
    pub fn read_all(&self, file: &RigFile) -> Result<Vec<NamedPose>> {
        let one = self.frame.is_some() || self.time.is_some() || self.pose_name.is_some();
        if one || self.clip_from.is_some() {
            let name = self.pose_name.clone().or_else(|| self.clip.clone()).unwrap_or_default();
            let name = match (self.frame, self.time) {
                (Some(frame), _) => format!("{name}, key {frame}"),
                (_, Some(time)) => format!("{name}, {time} s"),
                _ => name,
            };
            return Ok(vec![NamedPose { pose: self.read(file, &name)?, name }]);
        }
        match (&self.clip, &self.pose) {
            (Some(name), _) => {
                let Some(clip) = file.clip_named(name) else {
                    return Ok(vec![NamedPose { pose: self.sample(file, name)?, name: name.clone() }]);
                };
                let times = clip.key_times(file.layout()).into_iter().enumerate();
                Ok(times
                    .map(|(key, time)| NamedPose {
                        name: format!("key {key}"),
                        pose: file.sample(clip, time),
                    })
                    .collect())
            }
            (None, Some(path)) => Ok(read_poses(path, file.rig())?),
            (None, None) => Ok(Vec::new()),
        }
    }

    fn sample(&self, file: &RigFile, name: &str) -> Result<Pose> {
        let Some(clip) = file.clip_named(name) else {
            let names: Vec<&str> = file.clips().iter().map(|clip| clip.name.as_str()).collect();
            if names.is_empty() {
                bail!(
                    "there is no clip {name:?}: the file has none; give --clip-from FILE.glb or --pose FILE.json"
                );
            }
            bail!("there is no clip {name:?}; there are {}", names.join(", "));
        };
        if let Some(time) = self.time {
            if !(0.0..=clip.duration() + 1e-6).contains(&time) {
                bail!("--time {time} is outside of clip {name:?}, which lasts {:.3} s", clip.duration());
            }
            return Ok(file.sample(clip, time));
        }
        let times = clip.key_times(file.layout());
        match (self.frame, times.as_slice()) {
            (Some(frame), _) => {
                let time = times.get(frame).with_context(|| {
                    format!("--frame {frame}: clip {name:?} has {} keys, counted from 0", times.len())
                })?;
                Ok(file.sample(clip, *time))
            }
            (None, &[time]) => Ok(file.sample(clip, time)),
            (None, _) => {
                bail!("clip {name:?} has {} keys; choose one with --frame N or --time S", times.len())
            }
        }
    }

    fn of_file(&self, file: &RigFile, path: &Path, name: &str) -> Result<Pose> {
        let mut poses = read_poses(path, file.rig())?;
        let wanted = self.pose_name.as_deref();
        if wanted.is_none() && poses.len() == 1 {
            return Ok(poses.remove(0).pose);
        }
        let wanted = wanted.unwrap_or(name);
        let names: Vec<String> = poses.iter().map(|pose| pose.name.clone()).collect();
        let Some(place) = poses.iter().position(|pose| pose.name == wanted) else {
            let hint = match nearest_name::nearest(wanted, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("there are {}", names.join(", ")),
            };
            bail!("{} has no pose {wanted:?}; {hint} (--pose-name)", path.display());
        };
        Ok(poses.swap_remove(place).pose)
    }
}
