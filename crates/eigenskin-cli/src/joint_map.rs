//! `--map FILE.toml`: which joint of one character is which of another.

use std::path::Path;

use anyhow::{Result, anyhow};
use eigenskin::io::JointMap;
use eigenskin::io::retarget::{JointMapError, read_joint_map};

/// Reads a map file; `form` says what its lines are, such as `"joint" = "joint of the motion"`.
pub fn read(path: &Path, form: &str) -> Result<JointMap> {
    read_joint_map(path).map_err(|error| match error {
        JointMapError::Form { .. } => anyhow!("{error} (its lines are {form})"),
        JointMapError::Io { .. } => anyhow!(error),
    })
}
