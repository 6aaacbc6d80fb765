//! Which joint of one character is which of another: a TOML file.
//!
//! ```toml
//! [joints]
//! "LeftForeArm" = "l_elbow"      # joint of the rig that follows = joint of the other
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Joint of the rig that follows → joint of the other, by names.
pub type JointMap = BTreeMap<String, String>;

/// Why a joint map cannot be read.
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
    /// The file is something else.
    #[error(
        "{} is not a joint map: {problem}; write [joints], then lines \"joint of the rig that follows\" = \"joint of the other\"",
        path.display()
    )]
    NotAMap {
        /// the file
        path: PathBuf,
        /// what is wrong
        problem: String,
    },
}

/// Reads a joint map.
pub fn read_joint_map(path: impl AsRef<Path>) -> Result<JointMap, JointMapError> {
    let path = path.as_ref();
    let text =
        std::fs::read_to_string(path).map_err(|error| JointMapError::Io { path: path.into(), error })?;
    let file: MapFile = toml::from_str(&text).map_err(|error| {
        // Without the excerpt, which would take several lines.
        JointMapError::NotAMap { path: path.into(), problem: error.message().to_string() }
    })?;
    Ok(file.joints)
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    joints: JointMap,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_and_anything_else_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("joints.toml");
        std::fs::write(&path, "[joints]\narm = \"Arm\" # as captured\n").unwrap();
        assert_eq!(read_joint_map(&path).unwrap(), JointMap::from([("arm".into(), "Arm".into())]));
        for bad in ["arm = 3", "[joints]\narm = 3", "[joints", "", "[joints]\n[bones]"] {
            std::fs::write(&path, bad).unwrap();
            let error = read_joint_map(&path).unwrap_err();
            assert!(matches!(error, JointMapError::NotAMap { .. }), "{bad}");
            assert!(
                !error.to_string().contains('\n') && error.to_string().contains("joints.toml"),
                "{error}"
            );
        }
        assert!(matches!(read_joint_map(folder.path().join("none.toml")), Err(JointMapError::Io { .. })));
    }
}
