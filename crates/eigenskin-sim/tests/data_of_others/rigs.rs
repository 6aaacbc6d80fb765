//! Rigs of others.

use std::path::Path;

use eigenskin_core::reference::guess_references;
use eigenskin_core::rig::Rig;
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_rig;

/// A rig, with the reference joints of a flat one guessed.
pub fn rig_at(path: &Path) -> Rig {
    let rig = read_rig(path, &ReadOptions::default()).unwrap().rig().as_ref().clone();
    match guess_references(&rig) {
        Some(guess) => rig.with_references(&guess.references).unwrap(),
        None => rig,
    }
}
