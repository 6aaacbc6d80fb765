//! Files to look at.

use std::path::PathBuf;

/// Keeps a written file for the glTF validator when EIGENSKIN_KEEP names a folder.
pub fn keep(name: &str, glb: &[u8]) {
    if let Some(folder) = std::env::var_os("EIGENSKIN_KEEP") {
        std::fs::write(PathBuf::from(folder).join(name), glb).unwrap();
    }
}
