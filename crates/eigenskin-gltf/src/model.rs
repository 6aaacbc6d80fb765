//! Models as plain GLB (profile `plain`): eigendisplacements are morph targets, coordinates are
//! morph weights (by a ± split, see [`halves`](super::halves)), clips are baked, the drivers are in
//! the table.

use eigenskin_core::deformers::Base;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::{Layer, Model, Stage};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::BaseSkinning;
use serde_json::Value;

use super::append::{self, OWN, Usage};
use super::bake::{self, BakedClip};
use super::document::Document;
use super::driver_table::{DriverEntry, StageEntry};
use super::error::GltfError;
use super::halves::{halves_of, split_weights};
use super::skin_weights::{self, Former};
use super::stack_table::StackEntry;
use super::table::{ComponentEntry, LayerEntry, ModelEntry, Storage};
use super::targets::{self, SharedKeys, Target};
use crate::WriteError;
use crate::limits::{self, Counts};
use crate::rig_file::RigFile;

/// How to write a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelWriteOptions {
    /// keys per second between the keys of a clip, default 30
    pub bake_rate: f64,
}

impl Default for ModelWriteOptions {
    fn default() -> Self {
        Self { bake_rate: 30.0 }
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelWriteReport {
    /// morph targets of ours
    pub targets: usize,
    /// size of the file
    pub bytes: usize,
    /// clips with baked weights
    pub baked_clips: usize,
    /// what a stock viewer or an engine will not do, one sentence each
    pub warnings: Vec<String>,
}

/// Stands for the name of a skinning where a chain of deformers is.
pub const DEFORMERS: &str = "deformers";

/// The rig's document with the model in it; the report's size is still zero.
pub fn write(
    file: &RigFile,
    model: &Model,
    options: &ModelWriteOptions,
) -> Result<(Document, ModelWriteReport), WriteError> {
    let rig = model.rig();
    file.check_same_rig(rig, "the model's layers")?;
    let layout = file.layout();
    let mut document = file.document().clone();
    if rig.weights() != file.rig().weights() {
        skin_weights::replace(&mut document, layout, rig.weights(), Former::Kept)?;
    }
    let mut warnings = stage_warnings(model);

    let default = coordinates(model, &layout.default_pose());
    let own = targets::counts(&document, layout)?;
    let baked = bake::bake_clips(file, model, options.bake_rate, &mut warnings);
    let keys = baked.iter().flat_map(|clip| &clip.coordinates).map(Vec::as_slice);
    let written: Vec<&[f32]> = std::iter::once(&default[..]).chain(keys).collect();
    let halves = halves_of(model, &written);

    let normals_in_targets = layout.has_normals();
    let any_normals = model.layers().iter().any(|layer| !layer.basis.normals.is_empty());
    if any_normals && !normals_in_targets {
        warnings.push("the file has no normals, so viewers shade the posed shape themselves; normal corrections are kept for eigenskin only".into());
    }
    let mut morphs = Vec::new();
    let mut layers = Vec::new();
    let mut first_component = 0;
    for (index, layer) in model.layers().iter().enumerate() {
        let range = first_component..first_component + layer.component_count();
        first_component = range.end;
        layers.push(push_layer(
            &mut document,
            model,
            index,
            &halves[range],
            normals_in_targets,
            &mut morphs,
        )?);
    }
    let split = |coordinates: &[f32]| split_weights(coordinates, &halves);
    targets::append_targets(
        &mut document,
        layout,
        &morphs,
        any_normals && normals_in_targets,
        &split(&default),
    )?;
    push_baked(&mut document, file, &own, &baked, &split)?;

    let target_count = morphs.len();
    let mut table = file.table("model", rig);
    table.own_targets.clone_from(&own);
    let (base, deformers) = match model.base() {
        Base::Skinning(base) => (base.name().to_string(), None),
        Base::Deformers(stack) => (DEFORMERS.to_string(), Some(StackEntry::new(stack))),
    };
    table.model = Some(ModelEntry { base, deformers, targets: target_count, layers });
    table.store(&mut document, layout.root_node)?;

    let total = target_count + own.iter().max().unwrap_or(&0);
    let attributes = if any_normals && normals_in_targets { 2 } else { 1 };
    let counts = Counts {
        targets: total,
        influences: rig.weights().most_influences(),
        morphed_attributes: total * attributes,
    };
    let exceeded = limits::check(&counts);
    warnings.extend(exceeded.iter().filter(|warning| warning.limit.usual).map(ToString::to_string));
    let report = ModelWriteReport { targets: target_count, bytes: 0, baked_clips: baked.len(), warnings };
    Ok((document, report))
}

/// The coordinates of all layers in a pose, as the evaluator rounds them.
pub fn coordinates(model: &Model, pose: &Pose) -> Vec<f32> {
    let mut all = Vec::with_capacity(model.component_count());
    for layer in model.layers() {
        let mut scratch = vec![0.0; layer.driver.scratch_count()];
        let mut outputs = vec![0.0; layer.component_count()];
        layer.driver.evaluate(model.rig().skeleton(), pose, &mut scratch, &mut outputs);
        all.extend(outputs.iter().map(|&alpha| alpha as f32));
    }
    all
}

fn stage_warnings(model: &Model) -> Vec<String> {
    let mut warnings = Vec::new();
    match model.base() {
        Base::Skinning(BaseSkinning::LinearBlend) => {}
        Base::Skinning(base) => warnings.push(format!(
            "the model's base is {} skinning, but viewers skin linearly: only eigenskin's own runtimes show it exactly",
            base.name()
        )),
        Base::Deformers(stack) => warnings.push(format!(
            "the model's base is the deformer stack {:?}, but viewers skin linearly: only eigenskin, or the program that has these deformers, shows it exactly",
            stack.name
        )),
    }
    let after: Vec<&Layer> = model.layers().iter().filter(|l| l.stage != Stage::BeforeSkinning).collect();
    if !after.is_empty() {
        let longest = after
            .iter()
            .flat_map(|layer| &layer.basis.positions)
            .map(|displacement| f64::from(displacement.length()))
            .fold(0.0, f64::max);
        warnings.push(format!(
            "{} layer(s) act after skinning, which morph targets cannot: viewers leave them out (basis displacements up to {longest:.3e})",
            after.len()
        ));
    }
    warnings
}

fn push_layer(
    document: &mut Document,
    model: &Model,
    index: usize,
    components: &[ComponentEntry],
    normals_in_targets: bool,
    morphs: &mut Vec<Target>,
) -> Result<LayerEntry, GltfError> {
    let rig = model.rig();
    let layer = &model.layers()[index];
    let name = |what: &str| format!("{OWN}layer {index} {what}");
    let support = name("support");
    append::indices(document, &support, &layer.support, rig.vertex_count(), Usage::Other)?;
    let before = layer.stage == Stage::BeforeSkinning;
    let mut beside = |what: &str, values: &[Vec3]| -> Result<Storage, GltfError> {
        append::vec3(document, &name(what), values, Usage::Other, false)?;
        Ok(Storage::Accessor { name: name(what) })
    };
    let positions = if before { Storage::Targets } else { beside("positions", &layer.basis.positions)? };
    let normals = if layer.basis.normals.is_empty() {
        Storage::None
    } else if before && normals_in_targets {
        Storage::Targets
    } else {
        beside("normals", &layer.basis.normals)?
    };
    if before {
        for (component, entry) in components.iter().enumerate() {
            let halves = [(entry.plus, 1.0, "pos"), (entry.minus, -1.0, "neg")];
            for (half, sign, mark) in halves {
                let Some(half) = half else { continue };
                let scale = sign * half.scale as f32;
                let name = target_name(&format!("{}_{}_{mark}", layer.name, component + 1), morphs);
                morphs.push(scaled_target(layer, component, scale, name, normals == Storage::Targets));
            }
        }
    }
    Ok(LayerEntry {
        name: layer.name.clone(),
        stage: StageEntry::new(layer.stage, rig),
        support,
        positions,
        normals,
        components: if before { components.to_vec() } else { Vec::new() },
        driver: DriverEntry::new(&layer.driver, rig),
    })
}

/// A name that is still another than all others when a program makes an identifier of it: letters and digits
/// of ASCII, and underscores.
fn target_name(wanted: &str, others: &[Target]) -> String {
    let mut name: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    let is_free = |name: &String| others.iter().all(|other| other.name != *name);
    if is_free(&name) {
        return name;
    }
    // One more than there are others: one is free.
    (2..others.len() + 3).map(|number| format!("{name}_{number}")).find(is_free).unwrap_or_default()
}

fn scaled_target(layer: &Layer, component: usize, scale: f32, name: String, with_normals: bool) -> Target {
    let count = layer.support.len();
    let scaled = |field: &[Vec3]| -> Vec<(u32, Vec3)> {
        let entries = layer.support.iter().zip(field).filter(|(_, v)| **v != Vec3::ZERO);
        entries.map(|(&vertex, &value)| (vertex, value * scale)).collect()
    };
    let normals = layer.basis.component_normals(component, count).filter(|_| with_normals);
    Target {
        name,
        positions: scaled(layer.basis.component_positions(component, count)),
        normals: normals.map(scaled).unwrap_or_default(),
    }
}

fn push_baked(
    document: &mut Document,
    file: &RigFile,
    own: &[usize],
    baked: &[BakedClip],
    split: &dyn Fn(&[f32]) -> Vec<f32>,
) -> Result<(), GltfError> {
    let layout = file.layout();
    let mut keys = SharedKeys::default();
    for clip in baked {
        let mut animation: Value = document.entry("animations", clip.animation)?.clone();
        let input = keys.times(document, &clip.times)?;
        for &node in &layout.mesh_nodes {
            let own = targets::own_count_of_node(document, layout, own, node)?;
            let mut weights = Vec::new();
            for (&time, coordinates) in clip.times.iter().zip(&clip.coordinates) {
                weights.extend(bake::own_weights(file, document, clip.animation, node, own, time)?);
                weights.extend(split(coordinates));
            }
            if weights.is_empty() {
                continue;
            }
            let interpolation = if clip.step { "STEP" } else { "LINEAR" };
            let output = keys.weights(document, &weights)?;
            targets::set_weights_channel(&mut animation, node, [input, output], interpolation)?;
        }
        *document.entry_mut("animations", clip.animation)? = animation;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_targets_survive_as_identifiers() {
        let mut targets: Vec<Target> = Vec::new();
        for wanted in ["elbow_1_pos", "finger-2 × thumb_1_neg", "finger 2 + thumb_1_neg", "3rd_1_pos"] {
            let name = target_name(wanted, &targets);
            targets.push(Target { name, positions: Vec::new(), normals: Vec::new() });
        }
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        let expected = ["elbow_1_pos", "finger_2___thumb_1_neg", "finger_2___thumb_1_neg_2", "_3rd_1_pos"];
        assert_eq!(names, expected);
    }
}
