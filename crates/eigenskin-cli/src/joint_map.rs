//! `--map FILE.toml`: which joint of one character is which of another.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use eigenskin::io::JointMap;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    joints: JointMap,
}

/// Reads a map file; `form` says what its lines are, such as `"joint" = "joint of the motion"`.
pub fn read(path: &Path, form: &str) -> Result<JointMap> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))?;
    let file: MapFile = toml::from_str(&text).map_err(|error| {
        // Without the excerpt, which would take several lines.
        let what = error.message();
        anyhow!("{} is not of the form [joints] with lines {form}: {what}", path.display())
    })?;
    Ok(file.joints)
}
