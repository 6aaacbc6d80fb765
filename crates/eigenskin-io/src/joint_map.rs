//! Which joint of one character is which of another, as people write it: a TOML file, `[joints]` with
//! lines `"joint" = "joint of the other"`.

use std::path::{Path, PathBuf};

use crate::retarget::JointMap;
use crate::whole_file;

/// Why a file is no joint map.
#[derive(Debug, thiserror::Error)]
pub enum JointMapError {
    /// The operating system refused.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// the file
        path: PathBuf,
        /// what the system says
        error: std::io::Error,
    },
    /// Something else.
    #[error("{} is not of the form [joints] with lines \"joint\" = \"joint of the other\": {problem}", path.display())]
    Form {
        /// the file
        path: PathBuf,
        /// what the parser says, one line
        problem: String,
    },
}

/// Larger files are refused.
const LARGEST_FILE: u64 = 16 << 20;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    joints: JointMap,
}

/// Reads a joint map: target joint → source joint.
pub fn read_joint_map(path: impl AsRef<Path>) -> Result<JointMap, JointMapError> {
    let path = path.as_ref();
    let bytes = whole_file::read(path, LARGEST_FILE)
        .map_err(|error| JointMapError::Io { path: path.into(), error })?;
    let form = |problem: String| JointMapError::Form { path: path.into(), problem };
    let text = String::from_utf8(bytes).map_err(|_| form("it is not UTF-8".into()))?;
    // Without the excerpt, which would take several lines.
    let file: MapFile = toml::from_str(&text).map_err(|error| form(error.message().to_string()))?;
    Ok(file.joints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read_and_slips_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.toml");
        std::fs::write(&path, "[joints]\n\"arm.L\" = \"LeftArm\"\nhip = \"Hips\"\n").unwrap();
        let map = read_joint_map(&path).unwrap();
        assert_eq!((map.len(), map["arm.L"].as_str(), map["hip"].as_str()), (2, "LeftArm", "Hips"));
        for (text, expected) in [
            ("[joint]\na = \"b\"\n", "unknown field `joint`"),
            ("[joints]\na = 3\n", "invalid type"),
            ("", "missing field `joints`"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read_joint_map(&path).unwrap_err().to_string();
            assert!(error.contains("map.toml") && error.contains(expected), "{text:?}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let missing = read_joint_map(folder.path().join("none.toml")).unwrap_err();
        assert!(matches!(missing, JointMapError::Io { .. }), "{missing}");
    }
}
