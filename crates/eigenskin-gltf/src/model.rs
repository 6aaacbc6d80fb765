//! Models as plain GLB (profile `plain`): eigendisplacements are morph targets, coordinates are
//! morph weights (by a ± split, see [`halves`](super::halves)), clips are baked, the drivers are in
//! the table.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::{DisplacementBasis, Layer, Model, Stage};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::BaseSkinning;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::append::{self, OWN, Usage};
use super::bake::{self, BakedClip};
use super::document::Document;
use super::driver_table::{DriverEntry, FeatureEntry, StageEntry};
use super::error::GltfError;
use super::halves::{halves_of, split_weights};
use super::skin_weights::{self, Former};
use super::stack_table::StackEntry;
use super::table::{ComponentEntry, LayerEntry, ModelEntry, Storage};
use super::targets::{self, SharedKeys, Target};
use crate::limits::{self, Counts};
use crate::model_warning::ModelWarning;
use crate::rig_file::RigFile;
use crate::web;
use crate::write_error::WriteError;

/// How to write a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelWriteOptions {
    /// moments per second at which the drivers are evaluated between the keys of a clip, default 60
    pub bake_rate: f64,
    /// how far a vertex may be off at these moments, in sizes, so that fewer of them become keys; default 1e-4.
    /// At 0 all become keys
    pub tolerance: f64,
    /// for whom; default plain
    pub profile: Profile,
}

/// For whom a model is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// every viewer and engine: numbers are `f32`
    #[default]
    Plain,
    /// small downloads: numbers are integers of 8 and 16 bits (`KHR_mesh_quantization`)
    Web,
}

/// How far integers are off, at rest and in poses of the clips.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounding {
    /// furthest vertex, in sizes
    pub position: f64,
    /// largest angle between normals
    pub normal_degrees: f64,
}

impl Default for ModelWriteOptions {
    fn default() -> Self {
        Self { bake_rate: 60.0, tolerance: 1e-4, profile: Profile::Plain }
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
    /// their keys, all together
    pub keys: usize,
    /// moments at which the drivers were evaluated for them
    pub sampled: usize,
    /// at most how far a vertex is off at those that are no keys, in sizes
    pub key_error: f64,
    /// what integers cost, where numbers were written as such
    pub rounding: Option<Rounding>,
    /// what a stock viewer or an engine will not do
    pub warnings: Vec<ModelWarning>,
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
    let baked = bake::bake_clips(file, model, options, &mut warnings);
    let keys = baked.iter().flat_map(|clip| &clip.coordinates).map(Vec::as_slice);
    let written: Vec<&[f32]> = std::iter::once(&default[..]).chain(keys).collect();
    let range = match options.profile {
        Profile::Plain => None,
        Profile::Web => web::obstacle(&document, layout).is_none().then(|| web::number_range(model.rig())),
    };
    let one_for_both_signs = range.is_some();
    let least = range.map_or(0.0, |range| ROUNDED_AWAY * range.position);
    let halves = halves_of(model, &written, range);

    let normals_in_targets = layout.has_normals();
    let any_normals = model.layers().iter().any(|layer| !layer.basis.normals.is_empty());
    if any_normals && !normals_in_targets {
        warnings.push(ModelWarning::NoNormals);
    }
    let mut parts = LayerParts::default();
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
            TargetForm { with_normals: normals_in_targets, one_for_both_signs, least },
            &mut parts,
        )?);
    }
    let LayerParts { morphs, features } = parts;
    let split = |coordinates: &[f32]| split_weights(coordinates, &halves, one_for_both_signs);
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
    let beside = layers.iter().any(|layer| matches!(layer.positions, Storage::Accessor { .. }));
    let order = beside.then(|| ModelEntry::order_of(rig));
    table.model = Some(ModelEntry { base, deformers, targets: target_count, order, features, layers });
    if one_for_both_signs {
        table.shorten();
    }
    table.store(&mut document, layout.root_node)?;

    let total = target_count + own.iter().max().unwrap_or(&0);
    let attributes = if any_normals && normals_in_targets { 2 } else { 1 };
    let counts = Counts {
        targets: total,
        influences: rig.weights().most_influences(),
        morphed_attributes: total * attributes,
    };
    let exceeded = limits::check(&counts);
    let exceeded = exceeded.into_iter().filter(|warning| warning.limit.usual);
    warnings.extend(exceeded.map(ModelWarning::Limit));
    let rounding = match options.profile {
        Profile::Plain => None,
        Profile::Web => quantized(&mut document, file, model, &mut warnings)?,
    };
    let report = ModelWriteReport {
        targets: target_count,
        bytes: 0,
        baked_clips: baked.len(),
        keys: baked.iter().map(|clip| clip.times.len()).sum(),
        sampled: baked.iter().map(|clip| clip.sampled).sum(),
        rounding,
        key_error: baked.iter().map(|clip| clip.error).fold(0.0, f64::max),
        warnings,
    };
    Ok((document, report))
}

/// Writes numbers as integers where that is possible, and measures what it costs.
fn quantized(
    document: &mut Document,
    file: &RigFile,
    model: &Model,
    warnings: &mut Vec<ModelWarning>,
) -> Result<Option<Rounding>, WriteError> {
    let layout = file.layout();
    if let Some(obstacle) = web::obstacle(document, layout) {
        warnings.push(ModelWarning::NotForWeb { obstacle });
        return Ok(None);
    }
    web::quantize(document, layout)?;
    if model.base().skinning().is_none() {
        // Its shapes are known to another program only.
        return Ok(None);
    }
    let read = crate::model_of(document.clone())?.1;
    Ok(Some(rounding(model, read, &sampled_poses(file))))
}

/// Poses looked at for one figure at most.
const MOST_POSES: usize = 64;

/// The default pose and some of all clips.
fn sampled_poses(file: &RigFile) -> Vec<Pose> {
    let layout = file.layout();
    let moments: Vec<(usize, f64)> = file
        .clips()
        .iter()
        .enumerate()
        .flat_map(|(index, clip)| clip.key_times(layout).into_iter().map(move |time| (index, time)))
        .collect();
    let step = moments.len().div_ceil(MOST_POSES).max(1);
    let of_clips =
        moments.into_iter().step_by(step).map(|(clip, time)| file.sample(&file.clips()[clip], time));
    std::iter::once(layout.default_pose()).chain(of_clips).collect()
}

/// How far two models with the same vertices are apart.
fn rounding(exact: &Model, rounded: Model, poses: &[Pose]) -> Rounding {
    let size = exact.rig().mesh().size();
    let [mut exact, mut rounded] = [exact.clone(), rounded].map(|model| Evaluator::new(Arc::new(model)));
    let count = exact.model().rig().vertex_count();
    let mut shapes = [vec![Vec3::ZERO; count], vec![Vec3::ZERO; count]];
    let mut normals = shapes.clone();
    let mut found = Rounding { position: 0.0, normal_degrees: 0.0 };
    for pose in poses {
        exact.evaluate(pose, &mut shapes[0], Some(&mut normals[0]));
        rounded.evaluate(pose, &mut shapes[1], Some(&mut normals[1]));
        let furthest = |of: &[Vec<Vec3>; 2]| {
            let pairs = of[0].iter().zip(&of[1]);
            pairs.map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max)
        };
        found.position = found.position.max(furthest(&shapes) / size);
        // From the chord between unit vectors.
        let angle = 2.0 * (0.5 * furthest(&normals)).min(1.0).asin();
        found.normal_degrees = found.normal_degrees.max(angle.to_degrees());
    }
    found
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

fn stage_warnings(model: &Model) -> Vec<ModelWarning> {
    let mut warnings = Vec::new();
    match model.base() {
        Base::Skinning(BaseSkinning::LinearBlend) => {}
        Base::Skinning(base) => warnings.push(ModelWarning::OtherSkinning { base: *base }),
        Base::Deformers(stack) => warnings.push(ModelWarning::Deformers { name: stack.name.clone() }),
    }
    let after: Vec<&Layer> = model.layers().iter().filter(|l| l.stage != Stage::BeforeSkinning).collect();
    if !after.is_empty() {
        let longest = after
            .iter()
            .flat_map(|layer| &layer.basis.positions)
            .map(|displacement| f64::from(displacement.length()))
            .fold(0.0, f64::max);
        warnings.push(ModelWarning::AfterSkinning { layers: after.len(), longest });
    }
    warnings
}

/// What targets are like.
#[derive(Clone, Copy)]
struct TargetForm {
    with_normals: bool,
    one_for_both_signs: bool,
    /// displacements of a target up to this may be rounded away
    least: f32,
}

/// Four steps of 16-bit integers, as a share of what they reach: the file's own targets may make steps longer than
/// the mesh does.
const ROUNDED_AWAY: f32 = 4.0 / 32767.0;

/// What all layers add to.
#[derive(Default)]
struct LayerParts {
    morphs: Vec<Target>,
    features: Vec<FeatureEntry>,
}

fn push_layer(
    document: &mut Document,
    model: &Model,
    index: usize,
    components: &[ComponentEntry],
    form: TargetForm,
    LayerParts { morphs, features }: &mut LayerParts,
) -> Result<LayerEntry, GltfError> {
    let normals_in_targets = form.with_normals;
    let rig = model.rig();
    let layer = &model.layers()[index];
    let name = |what: &str| format!("{OWN}layer {index} {what}");
    let before = layer.stage == Stage::BeforeSkinning;
    let tells =
        targets_tell_support(layer, normals_in_targets) && !rounds_away(layer, components, form.least);
    let support = if before && tells {
        None
    } else {
        append::indices(document, &name("support"), &layer.support, rig.vertex_count(), Usage::Other)?;
        Some(name("support"))
    };
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
            let plus = if form.one_for_both_signs { "" } else { "_pos" };
            let halves = [(entry.plus, 1.0, plus), (entry.minus, -1.0, "_neg")];
            for (half, sign, mark) in halves {
                let Some(half) = half else { continue };
                let scale = sign * half.scale as f32;
                let name = target_name(&layer.name, &format!("_{}{mark}", component + 1), morphs);
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
        driver: DriverEntry::new(&layer.driver, rig, features),
    })
}

/// Whether the morph targets of a layer move all of its support, so that no list of it is needed.
fn targets_tell_support(layer: &Layer, normals_in_targets: bool) -> bool {
    let count = layer.support.len();
    let normals_elsewhere = !layer.basis.normals.is_empty() && !normals_in_targets;
    let moves = |field: &[Vec3], place: usize| {
        (0..layer.component_count())
            .any(|component| field.get(component * count + place).is_some_and(|v| *v != Vec3::ZERO))
    };
    let DisplacementBasis { positions, normals } = &layer.basis;
    !normals_elsewhere && (0..count).all(|place| moves(positions, place) || moves(normals, place))
}

/// Whether all that the morph targets of a layer hold may be zero when it is rounded.
fn rounds_away(layer: &Layer, components: &[ComponentEntry], least: f32) -> bool {
    components.iter().enumerate().all(|(component, entry)| {
        let scale =
            [entry.plus, entry.minus].into_iter().flatten().map(|half| half.scale as f32).fold(0.0, f32::max);
        let positions = layer.basis.component_positions(component, layer.support.len());
        positions.iter().all(|displacement| scale * displacement.abs().max_element() <= least)
    })
}

/// Bytes of a name at most: Blender cuts off what is beyond.
const LONGEST_NAME: usize = 63;

/// A name that is still another than all others when a program makes an identifier of it: letters and digits
/// of ASCII, and underscores. Of a long one the end of the layer's name is cut.
fn target_name(layer: &str, ending: &str, others: &[Target]) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut stem: String = layer.chars().map(letters).collect();
    if stem.starts_with(|c: char| c.is_ascii_digit()) {
        stem.insert(0, '_');
    }
    let fitted = |ending: &str| {
        let length = stem.len().min(LONGEST_NAME.saturating_sub(ending.len()));
        format!("{}{ending}", &stem[..length])
    };
    let is_free = |name: &String| others.iter().all(|other| other.name != *name);
    // One more than there are others: one is free.
    let numbered = (2..others.len() + 3).map(|number| fitted(&format!("{ending}_{number}")));
    std::iter::once(fitted(ending)).chain(numbered).find(is_free).unwrap_or_default()
}

/// One half of a component. Positions and normals list the same vertices, so that the file lists them once.
fn scaled_target(layer: &Layer, component: usize, scale: f32, name: String, with_normals: bool) -> Target {
    let count = layer.support.len();
    let positions = layer.basis.component_positions(component, count);
    let normals = layer.basis.component_normals(component, count).filter(|_| with_normals).unwrap_or(&[]);
    let moves = |place: &usize| {
        positions[*place] != Vec3::ZERO || normals.get(*place).is_some_and(|normal| *normal != Vec3::ZERO)
    };
    let moved: Vec<usize> = (0..count).filter(moves).collect();
    let scaled = |field: &[Vec3]| -> Vec<(u32, Vec3)> {
        moved.iter().map(|&place| (layer.support[place], field[place] * scale)).collect()
    };
    Target {
        name,
        positions: scaled(positions),
        normals: if normals.is_empty() { Vec::new() } else { scaled(normals) },
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
        let long = "index-finger-phalanx-proximal × middle-finger-phalanx-proximal";
        let wanted = [
            ("elbow", "_1_pos"),
            ("finger-2 × thumb", "_1_neg"),
            ("finger 2 + thumb", "_1_neg"),
            ("3rd", "_1_pos"),
            (long, "_1_pos"),
            (long, "_10_neg"),
        ];
        for (layer, ending) in wanted {
            let name = target_name(layer, ending, &targets);
            assert!(name.len() <= 63 && name.is_ascii(), "{name}");
            targets.push(Target { name, positions: Vec::new(), normals: Vec::new() });
        }
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        let expected = [
            "elbow_1_pos",
            "finger_2___thumb_1_neg",
            "finger_2___thumb_1_neg_2",
            "_3rd_1_pos",
            "index_finger_phalanx_proximal___middle_finger_phalanx_pro_1_pos",
            "index_finger_phalanx_proximal___middle_finger_phalanx_pr_10_neg",
        ];
        assert_eq!(names, expected);
    }
}
