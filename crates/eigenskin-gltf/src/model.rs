//! Models as plain GLB (profile `plain`): eigendisplacements are morph targets, coordinates are
//! morph weights, clips are baked, the drivers are in the table.
//!
//! **± split.** Weights below 0 or above 1 are legal, but Blender and gltfpack clamp them. So a
//! component û becomes the target a⁺·û with weight max(α, 0)/a⁺ and the target −a⁻·û with weight
//! max(−α, 0)/a⁻; normals are scaled alike. a± is 1.25 times the largest ±α over the given poses
//! and the clips, rounded **up to a power of two**: scaling by it is exact in `f32`, so reading a
//! file gives back the basis bit for bit. A half that is never used is left out.

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
use super::skin_weights::{self, Former};
use super::stack_table::StackEntry;
use super::table::{ComponentEntry, HalfEntry, LayerEntry, ModelEntry, Storage};
use super::targets::{self, Target};
use crate::WriteError;
use crate::limits::{self, Counts};
use crate::rig_file::RigFile;

/// How to write a model.
#[derive(Debug, Clone)]
pub struct ModelWriteOptions {
    /// poses whose coordinates the weights must reach without exceeding 1; usually the examples'.
    /// Clips, rest and the file's default pose always count
    pub sample_poses: Vec<Pose>,
    /// keys per second between the keys of a clip, default 30
    pub bake_rate: f64,
}

impl Default for ModelWriteOptions {
    fn default() -> Self {
        Self { sample_poses: Vec::new(), bake_rate: 30.0 }
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

/// Room above the largest coordinate seen.
const HEADROOM: f64 = 1.25;
/// Stands for the name of a skinning where a chain of deformers is.
pub const DEFORMERS: &str = "deformers";
/// A half with less than this share of the other's range is never used.
const UNUSED: f64 = 1e-6;

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
    let mut ranges = Ranges::new(model.component_count());
    ranges.include(&default);
    ranges.include(&coordinates(model, &rig.rest_pose()));
    options.sample_poses.iter().for_each(|pose| ranges.include(&coordinates(model, pose)));
    let own = targets::counts(&document, layout)?;
    let baked = bake::bake_clips(file, model, options.bake_rate, &mut warnings);
    baked.iter().flat_map(|clip| &clip.coordinates).for_each(|key| ranges.include(key));

    let normals_in_targets = layout.has_normals();
    let any_normals = model.layers().iter().any(|layer| !layer.basis.normals.is_empty());
    if any_normals && !normals_in_targets {
        warnings.push("the file has no normals, so viewers shade the posed shape themselves; normal corrections are kept for eigenskin only".into());
    }
    let halves = halves_of(model, &ranges);
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
            "the model sits on {} skinning, but viewers skin linearly: only eigenskin's own runtimes show it exactly",
            base.name()
        )),
        Base::Deformers(stack) => warnings.push(format!(
            "the model sits on the deformers {:?}, but viewers skin linearly: only eigenskin, or the program that has these deformers, shows it exactly",
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

/// Largest positive and negative coordinates.
struct Ranges {
    /// `component`
    plus: Vec<f64>,
    /// `component`
    minus: Vec<f64>,
}

impl Ranges {
    fn new(count: usize) -> Self {
        Self { plus: vec![0.0; count], minus: vec![0.0; count] }
    }

    fn include(&mut self, coordinates: &[f32]) {
        for (component, &alpha) in coordinates.iter().enumerate().filter(|(_, alpha)| alpha.is_finite()) {
            self.plus[component] = self.plus[component].max(f64::from(alpha));
            self.minus[component] = self.minus[component].max(f64::from(-alpha));
        }
    }
}

/// The targets of every component, numbered in order; none for layers after skinning.
fn halves_of(model: &Model, ranges: &Ranges) -> Vec<ComponentEntry> {
    let mut next = 0;
    let mut component = 0;
    let mut all = Vec::with_capacity(model.component_count());
    for layer in model.layers() {
        for index in 0..layer.component_count() {
            let (plus, minus) = (ranges.plus[component], ranges.minus[component]);
            component += 1;
            if layer.stage != Stage::BeforeSkinning {
                all.push(ComponentEntry { plus: None, minus: None });
                continue;
            }
            let count = layer.support.len();
            let fields = [
                layer.basis.component_positions(index, count),
                layer.basis.component_normals(index, count).unwrap_or(&[]),
            ];
            let mut half = |largest: f64, used: bool| {
                used.then(|| {
                    next += 1;
                    HalfEntry { target: next - 1, scale: scale_for(largest, fields) }
                })
            };
            // A component that never moves still needs a target to be read back from.
            let largest = plus.max(minus);
            let plus_entry = half(plus, plus > UNUSED * largest || largest == 0.0);
            let minus_entry = half(minus, minus > UNUSED * largest);
            all.push(ComponentEntry { plus: plus_entry, minus: minus_entry });
        }
    }
    all
}

/// A power of two at least [`HEADROOM`] times the largest coordinate; 1 where scaling would push
/// values out of the range of normal `f32` numbers and so lose bits.
fn scale_for(largest: f64, fields: [&[Vec3]; 2]) -> f64 {
    let wanted = if largest > 0.0 { (HEADROOM * largest).log2().ceil().exp2() } else { 1.0 };
    let scale = wanted as f32;
    let exact = |v: f32| (v * scale) / scale == v;
    let all_exact = fields.iter().flat_map(|field| field.iter()).all(|v| v.to_array().into_iter().all(exact));
    if scale.is_normal() && all_exact { f64::from(scale) } else { 1.0 }
}

/// Weights of all targets for given coordinates. A coordinate of the sign whose half was left out
/// is below a millionth of the range: nothing.
fn split_weights(coordinates: &[f32], halves: &[ComponentEntry]) -> Vec<f32> {
    let mut weights = Vec::new();
    for (&alpha, component) in coordinates.iter().zip(halves) {
        for (half, sign) in [(component.plus, 1.0), (component.minus, -1.0)] {
            weights.extend(half.map(|half| (sign * alpha).max(0.0) / half.scale as f32));
        }
    }
    weights
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
            let halves = [(entry.plus, 1.0, '+'), (entry.minus, -1.0, '-')];
            for (half, sign, mark) in halves {
                let Some(half) = half else { continue };
                let scale = sign * half.scale as f32;
                let name = format!("{} {component}{mark}", layer.name);
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
    for clip in baked {
        let mut animation: Value = document.entry("animations", clip.animation)?.clone();
        let input = append::scalars(document, &format!("{OWN}times"), &clip.times, true)?;
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
            targets::set_weights_channel(document, &mut animation, node, input, &weights, interpolation)?;
        }
        *document.entry_mut("animations", clip.animation)? = animation;
    }
    Ok(())
}
