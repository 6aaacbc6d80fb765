//! Options that name a pose: a key or a time of a clip, or a pose of a JSON file.

use std::path::PathBuf;

use anyhow::anyhow;
use eigenskin::pose_source::{ClipMoment, PoseSource, PoseSourceError};

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
    #[arg(long, value_name = "S", requires = "clip", hide_short_help = true)]
    time: Option<f64>,
    /// Another file of the same rig that has --clip
    #[arg(long, value_name = "FILE.glb", requires = "clip", hide_short_help = true)]
    clip_from: Option<PathBuf>,
    /// A JSON file with the turns of joints and the values of controls by name
    #[arg(long, value_name = "FILE.json")]
    pose: Option<PathBuf>,
    /// Which pose of --pose, when it has several [default: the one with the example's name]
    #[arg(long, value_name = "NAME", requires = "pose", hide_short_help = true)]
    pose_name: Option<String>,
}

/// How to name a pose.
pub const HOW: &str = "--clip NAME --frame N, or --pose FILE.json";

impl PoseArgs {
    /// Whether a pose was given.
    pub fn given(&self) -> bool {
        self.clip.is_some() || self.pose.is_some()
    }

    /// Where the pose is, if one was given.
    pub fn source(&self) -> Option<PoseSource> {
        if let Some(clip) = &self.clip {
            let at = self.frame.map(ClipMoment::Key).or(self.time.map(ClipMoment::Time));
            return Some(PoseSource::Clip { clip: clip.clone(), at, from: self.clip_from.clone() });
        }
        self.pose.clone().map(|path| PoseSource::File { path, name: self.pose_name.clone() })
    }
}

/// The library tells facts; which option is the remedy is told here.
pub fn with_options(error: &PoseSourceError) -> anyhow::Error {
    let option = match error {
        PoseSourceError::NoClip { known, .. } if known.is_empty() => {
            " (--clip-from FILE.glb, or --pose FILE.json)"
        }
        PoseSourceError::NoKey { .. } => " (--frame)",
        PoseSourceError::OutsideClip { .. } => " (--time)",
        PoseSourceError::WhichKey { .. } => " (--frame N or --time S)",
        PoseSourceError::NoPose { .. } => " (--pose-name)",
        PoseSourceError::OtherCharacter { .. } => " (--clip-from)",
        _ => "",
    };
    anyhow!("{error}{option}")
}
