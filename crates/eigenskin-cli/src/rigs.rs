//! What commands say of rigs.

use std::path::Path;

use anyhow::{Result, bail};
use eigenskin::gltf::RigFile;
use eigenskin::reference::{GuessedReferences, ReferenceSource};
use eigenskin::rig::Rig;

use crate::output::{Output, counted};

/// Reference joints that were guessed for a flat rig; `remedy` says how to correct them, if that is possible.
pub fn tell_references(rig: &Rig, guess: &GuessedReferences, remedy: &str, output: &Output) {
    let how = match guess.source {
        ReferenceSource::Names => "names",
        ReferenceSource::Geometry => "geometry",
    };
    output.item("references", format!("the rig is flat; joints refer to each other by {how}{remedy}:"));
    let name = |joint: usize| rig.skeleton().joints()[joint].name.as_str();
    for (joint, reference) in guess.references.iter().enumerate() {
        output.item("", format!("{} → {}", name(joint), reference.map_or("(root)", name)));
    }
}

/// A rig in one line.
pub fn summary(rig: &Rig) -> String {
    let mut parts = vec![
        counted(rig.vertex_count(), "vertex", "vertices"),
        counted(rig.mesh().triangles().len(), "triangle", "triangles"),
        counted(rig.skeleton().joint_count(), "joint", "joints"),
    ];
    if rig.skeleton().joint_count() > 0 {
        parts.push(format!(
            "up to {} per vertex",
            counted(rig.weights().most_influences(), "influence", "influences")
        ));
    }
    if !rig.controls().is_empty() {
        parts.push(counted(rig.controls().len(), "control", "controls"));
    }
    parts.join(", ")
}

/// A rig's file and what there is to say about it.
pub fn print_file(output: &Output, path: &Path, file: &RigFile) {
    output.item("rig", format!("{}: {}", path.display(), summary(file.rig())));
    for note in &file.notes {
        output.item("", note);
    }
}

/// Refuses to write over a file that is being read.
pub fn check_not_input(output: &Path, inputs: &[&Path]) -> Result<()> {
    let same =
        |input: &&&Path| matches!((output.canonicalize(), input.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if let Some(input) = inputs.iter().find(same) {
        bail!("{} is both input and output; choose another output", input.display());
    }
    Ok(())
}
