//! Rigs as commands take them: read, with reference joints settled.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use eigenskin::bone_distance::{BoneDistanceParams, weights_from_bone_distance};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{ReadOptions, RigFile};
use eigenskin::reference::{GuessedReferences, ReferenceSource, guess_references, is_flat};
use eigenskin::rig::Rig;

use crate::output::{Output, counted};

/// How rigs are read: weights that a numpy bundle lacks are made from bone distance.
pub fn read_options(skin: Option<&str>) -> ReadOptions {
    ReadOptions {
        skin: skin.map(str::to_string),
        missing_weights: Some(|mesh, skeleton| {
            weights_from_bone_distance(mesh, skeleton, &BoneDistanceParams::default())
                .map_err(|e| e.to_string())
        }),
        ..ReadOptions::default()
    }
}

/// The `--parents` file: joint name → the joint its motion is measured against.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ParentsFile {
    parents: BTreeMap<String, String>,
}

/// Reference joints: as the user says, else as the rig says, else guessed for a flat rig and told.
pub fn settle_references(rig: Arc<Rig>, parents: Option<&Path>, output: &Output) -> Result<Arc<Rig>> {
    if let Some(path) = parents {
        return Ok(Arc::new(references_from_file(&rig, path)?));
    }
    let Some(guess) = guess_references(&rig) else { return Ok(rig) };
    tell_references(&rig, &guess, " (--parents FILE.toml to correct)", output);
    Ok(Arc::new(rig.with_references(&guess.references)?))
}

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

fn references_from_file(rig: &Rig, path: &Path) -> Result<Rig> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))?;
    let file: ParentsFile = toml::from_str(&text).with_context(|| {
        format!("{} is not of the form [parents] with lines \"joint\" = \"parent\"", path.display())
    })?;
    let find = |name: &str| {
        rig.skeleton()
            .joint_named(name)
            .with_context(|| format!("{} names joint {name:?}, which the rig does not have", path.display()))
    };
    let mut references: Vec<Option<usize>> =
        rig.skeleton().joints().iter().map(|joint| joint.reference).collect();
    for (joint, parent) in &file.parents {
        references[find(joint)?] = if parent.is_empty() { None } else { Some(find(parent)?) };
    }
    // The root of the rig as read may now hang on another joint, which then refers to nothing.
    rig.with_references(&references).with_context(|| format!("{}", path.display()))
}

/// The examples of the file at `path`, for `rig`; an error names the file.
pub fn examples_for(rig: &Arc<Rig>, set: ExampleSet, path: &Path) -> Result<ExampleSet> {
    set.for_rig(rig).with_context(|| format!("{}", path.display()))
}

/// The rig with the reference joints that the example set carries, where it carries any: a set
/// made from a flat rig remembers what its joints refer to.
pub fn with_references_of(rig: &Arc<Rig>, examples_rig: &Rig) -> Result<Arc<Rig>> {
    if !is_flat(rig.skeleton()) || guess_references(rig).is_none() || guess_references(examples_rig).is_some()
    {
        return Ok(rig.clone());
    }
    let joints = examples_rig.skeleton().joints();
    let reference_of = |name: &str| {
        let joint = examples_rig.skeleton().joint_named(name)?;
        rig.skeleton().joint_named(&joints[joints[joint].reference?].name)
    };
    let references: Vec<Option<usize>> =
        rig.skeleton().joints().iter().map(|joint| reference_of(&joint.name)).collect();
    Ok(Arc::new(rig.with_references(&references)?))
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
