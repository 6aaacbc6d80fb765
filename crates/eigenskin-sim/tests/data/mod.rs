//! Data of others, where it is there.

use std::io::Write;
use std::path::{Path, PathBuf};

use eigenskin_core::reference::guess_references;
use eigenskin_core::rig::Rig;
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_rig;

/// The folder with data of others, or one visible line that the test is left out.
pub fn folder(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EIGENSKIN_DATA").map(PathBuf::from);
    if folder.is_none() {
        let line = format!("\nleft out: {test} (set EIGENSKIN_DATA to the data folder)\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    folder
}

/// A rig, with the reference joints of a flat one guessed.
#[allow(dead_code, reason = "not every test file reads rigs")]
pub fn rig_at(path: &Path) -> Rig {
    let rig = read_rig(path, &ReadOptions::default()).unwrap().rig().as_ref().clone();
    match guess_references(&rig) {
        Some(guess) => rig.with_references(&guess.references).unwrap(),
        None => rig,
    }
}
