//! Morph targets of ours: appending them to a file's own, driving them, taking them away again.

use eigenskin_core::glam::Vec3;
use serde_json::{Value, json};

use super::accessor;
use super::append::{self, remove_key};
use super::clip::{Channel, ChannelPath, Clip};
use super::document::Document;
use super::error::GltfError;
use super::primitives::PrimitiveRange;
use super::rig::{FoundRig, RigLayout};
use super::sparse::{Field, SparseFields};
use super::table::Table;
use crate::limits::Counts;

/// Displacements of some vertices.
#[derive(Debug, Clone)]
pub struct Target {
    /// shown by viewers
    pub name: String,
    /// (model vertex, displacement), vertices rising
    pub positions: Vec<(u32, Vec3)>,
    /// (model vertex, change of the normal), vertices rising
    pub normals: Vec<(u32, Vec3)>,
}

/// Morph targets that each of the rig's meshes has, `mesh of the rig`.
pub fn counts(document: &Document, layout: &RigLayout) -> Result<Vec<usize>, GltfError> {
    layout
        .meshes
        .iter()
        .map(|&mesh| {
            let primitives = document.entry("meshes", mesh)?.get("primitives").and_then(Value::as_array);
            let count =
                |primitive: &Value| primitive.get("targets").and_then(Value::as_array).map_or(0, Vec::len);
            Ok(primitives.into_iter().flatten().map(count).min().unwrap_or(0))
        })
        .collect()
}

/// What engines limit, counted over the rig's meshes, everybody's targets together.
pub fn engine_counts(document: &Document, found: &FoundRig) -> Result<Counts, GltfError> {
    let mut counts = Counts { influences: found.rig.weights().most_influences(), ..Counts::default() };
    for &mesh in &found.layout.meshes {
        let primitives = document.entry("meshes", mesh)?.get("primitives").and_then(Value::as_array);
        for primitive in primitives.into_iter().flatten() {
            let targets = primitive.get("targets").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let attributes = targets.iter().filter_map(Value::as_object).map(serde_json::Map::len).sum();
            counts.targets = counts.targets.max(targets.len());
            counts.morphed_attributes = counts.morphed_attributes.max(attributes);
        }
    }
    Ok(counts)
}

/// Appends targets to all primitives of the rig's meshes, in one order. `weights` (`target`) are
/// the weights that show the file's default pose.
pub fn append_targets(
    document: &mut Document,
    layout: &RigLayout,
    targets: &[Target],
    with_normals: bool,
    weights: &[f32],
) -> Result<(), GltfError> {
    if targets.is_empty() {
        // Empty lists are not allowed in glTF.
        return Ok(());
    }
    let own = counts(document, layout)?;
    let mut fields = SparseFields::new(&format!("{}target", append::OWN));
    for (&mesh, &own) in layout.meshes.iter().zip(&own) {
        // Primitives that share their vertices share their targets.
        let mut written: Vec<(usize, Vec<Value>)> = Vec::new();
        for range in layout.primitives_of(mesh) {
            let known = written.iter().find(|(first, _)| Some(*first) == range.first_vertex);
            let list = if let Some((_, list)) = known {
                list.clone()
            } else {
                let list = push_range(document, &mut fields, range, targets, with_normals)?;
                written.extend(range.first_vertex.map(|first| (first, list.clone())));
                list
            };
            let primitive = &mut document.entry_mut("meshes", mesh)?["primitives"][range.primitive];
            match primitive.get_mut("targets").and_then(Value::as_array_mut) {
                Some(existing) => {
                    existing.truncate(own);
                    existing.extend(list);
                }
                None => primitive["targets"] = list.into(),
            }
        }
        extend_names(document.entry_mut("meshes", mesh)?, own, targets);
    }
    fields.finish(document)?;
    extend_default_weights(document, layout, &own, weights)
}

/// The entries `from`…`to` of `list`, as offsets from `from`.
fn within(list: &[(u32, Vec3)], from: usize, count: usize) -> Vec<(u32, Vec3)> {
    let start = list.partition_point(|&(vertex, _)| (vertex as usize) < from);
    let end = list.partition_point(|&(vertex, _)| (vertex as usize) < from + count);
    list[start..end].iter().map(|&(vertex, value)| (vertex - from as u32, value)).collect()
}

fn push_range(
    document: &mut Document,
    fields: &mut SparseFields,
    range: &PrimitiveRange,
    targets: &[Target],
    with_normals: bool,
) -> Result<Vec<Value>, GltfError> {
    let count = range.vertex_count;
    let mut list = Vec::with_capacity(targets.len());
    for target in targets {
        // Points and lines do not move.
        let part = |field: &[(u32, Vec3)]| {
            range.first_vertex.map_or_else(Vec::new, |first| within(field, first, count))
        };
        let positions = Field { count, entries: &part(&target.positions), bounds: true };
        let mut entry = json!({"POSITION": fields.push(document, positions)?});
        if with_normals && range.has_normals {
            let normals = Field { count, entries: &part(&target.normals), bounds: false };
            entry["NORMAL"] = fields.push(document, normals)?.into();
        }
        list.push(entry);
    }
    Ok(list)
}

fn extend_names(mesh: &mut Value, own: usize, targets: &[Target]) {
    if !mesh.get("extras").is_some_and(Value::is_object) {
        mesh["extras"] = json!({});
    }
    let known = mesh["extras"].get("targetNames").and_then(Value::as_array).cloned().unwrap_or_default();
    let own_names = (0..own).map(|i| known.get(i).cloned().unwrap_or_else(|| format!("target {i}").into()));
    let names: Vec<Value> = own_names.chain(targets.iter().map(|t| t.name.as_str().into())).collect();
    mesh["extras"]["targetNames"] = names.into();
}

fn extend_default_weights(
    document: &mut Document,
    layout: &RigLayout,
    own: &[usize],
    weights: &[f32],
) -> Result<(), GltfError> {
    let shown_elsewhere = |document: &Document, mesh: usize| {
        document.array("nodes").iter().enumerate().any(|(node, entry)| {
            entry.get("mesh").and_then(Value::as_u64) == Some(mesh as u64)
                && !layout.mesh_nodes.contains(&node)
        })
    };
    let zeros = vec![0.0; weights.len()];
    for (&mesh, &own) in layout.meshes.iter().zip(own) {
        let elsewhere = shown_elsewhere(document, mesh);
        let entry = document.entry_mut("meshes", mesh)?;
        let mut defaults = default_weights(entry, own);
        defaults.truncate(own);
        let with = |ours: &[f32]| -> Value {
            defaults.iter().copied().chain(ours.iter().map(|&w| f64::from(w))).collect()
        };
        entry["weights"] = with(if elsewhere { &zeros } else { weights });
        let moved = weights.iter().any(|&w| w != 0.0);
        for &node in &layout.mesh_nodes {
            let node = document.entry_mut("nodes", node)?;
            if node.get("mesh").and_then(Value::as_u64) != Some(mesh as u64) {
                continue;
            }
            if node.get("weights").is_some() {
                let kept = default_weights(node, own);
                node["weights"] = kept.into_iter().chain(weights.iter().map(|&w| f64::from(w))).collect();
            } else if elsewhere && moved {
                node["weights"] = with(weights);
            }
        }
    }
    Ok(())
}

/// The default weights of `own` targets in a mesh or node.
fn default_weights(holder: &Value, own: usize) -> Vec<f64> {
    let list = holder.get("weights").and_then(Value::as_array);
    (0..own).map(|i| list.and_then(|l| l.get(i)?.as_f64()).unwrap_or(0.0)).collect()
}

/// Weights of the file's own targets that a mesh node shows by default.
pub fn own_default_weights(document: &Document, node: usize, own: usize) -> Result<Vec<f64>, GltfError> {
    let entry = document.entry("nodes", node)?;
    if entry.get("weights").is_some() {
        return Ok(default_weights(entry, own));
    }
    let mesh = entry.get("mesh").and_then(Value::as_u64).unwrap_or(u64::MAX);
    Ok(default_weights(document.entry("meshes", usize::try_from(mesh).unwrap_or(usize::MAX))?, own))
}

/// How many targets of its own the mesh of a node has.
pub fn own_count_of_node(
    document: &Document,
    layout: &RigLayout,
    own: &[usize],
    node: usize,
) -> Result<usize, GltfError> {
    let mesh = document.entry("nodes", node)?.get("mesh").and_then(Value::as_u64);
    let position = layout.meshes.iter().position(|&m| Some(m as u64) == mesh);
    Ok(position.map_or(0, |position| own[position]))
}

/// Accessors of key times and morph weights: what is the same in several clips or nodes is appended once.
#[derive(Debug, Default)]
pub struct SharedKeys {
    times: Vec<(Vec<f32>, usize)>,
    weights: Vec<(Vec<f32>, usize)>,
}

impl SharedKeys {
    /// The accessor of these times.
    pub fn times(&mut self, document: &mut Document, times: &[f32]) -> Result<usize, GltfError> {
        shared(&mut self.times, document, "times", times)
    }

    /// The accessor of these weights, `key × target`.
    pub fn weights(&mut self, document: &mut Document, weights: &[f32]) -> Result<usize, GltfError> {
        shared(&mut self.weights, document, "weights", weights)
    }
}

fn shared(
    known: &mut Vec<(Vec<f32>, usize)>,
    document: &mut Document,
    name: &str,
    values: &[f32],
) -> Result<usize, GltfError> {
    if let Some((_, accessor)) = known.iter().find(|(own, _)| own == values) {
        return Ok(*accessor);
    }
    let accessor = append::scalars(document, &format!("{}{name}", append::OWN), values, name == "times")?;
    known.push((values.to_vec(), accessor));
    Ok(accessor)
}

/// Replaces the channel that drives the morph weights of a node in an animation; `input` and `output` are
/// accessors of its keys.
pub fn set_weights_channel(
    animation: &mut Value,
    node: usize,
    [input, output]: [usize; 2],
    interpolation: &str,
) -> Result<(), GltfError> {
    let samplers = list_mut(animation, "samplers")?;
    samplers.push(json!({"input": input, "output": output, "interpolation": interpolation}));
    let sampler = samplers.len() - 1;
    let channels = list_mut(animation, "channels")?;
    channels.retain(|channel| !drives_weights(channel, &[node]));
    channels.push(json!({"sampler": sampler, "target": {"node": node, "path": "weights"}}));
    drop_unused_samplers(animation)
}

/// Widens channels that drive the file's own targets by zeros for `added` targets of ours.
pub fn widen_weights_channels(
    document: &mut Document,
    layout: &RigLayout,
    clips: &[Clip],
    own: &[usize],
    added: usize,
) -> Result<(), GltfError> {
    let mut keys = SharedKeys::default();
    for (index, clip) in clips.iter().enumerate() {
        let channels = clip
            .channels
            .iter()
            .filter(|c| c.path == ChannelPath::Weights && layout.mesh_nodes.contains(&c.node));
        for channel in channels {
            let own = own_count_of_node(document, layout, own, channel.node)?;
            let mut values = Vec::new();
            for block in channel.blocks() {
                values.extend(block.iter().take(own).map(|&v| v as f32));
                values.resize(values.len() + added + own.saturating_sub(block.len()), 0.0);
            }
            let times: Vec<f32> = channel.times.iter().map(|&t| t as f32).collect();
            let keys = [keys.times(document, &times)?, keys.weights(document, &values)?];
            let mut animation = document.entry("animations", index)?.clone();
            set_weights_channel(&mut animation, channel.node, keys, channel.interpolation.name())?;
            *document.entry_mut("animations", index)? = animation;
        }
    }
    Ok(())
}

/// Displacements of one of our targets, `vertex`, over all primitives; `attribute` is "POSITION"
/// or "NORMAL".
pub fn read_target(
    document: &Document,
    layout: &RigLayout,
    own: &[usize],
    target: usize,
    attribute: &str,
    vertex_count: usize,
) -> Result<Vec<Vec3>, GltfError> {
    let mut field = vec![Vec3::ZERO; vertex_count];
    for (&mesh, &own) in layout.meshes.iter().zip(own) {
        for range in layout.primitives_of(mesh) {
            let Some(first) = range.first_vertex else { continue };
            let primitive = &document.entry("meshes", mesh)?["primitives"][range.primitive];
            let entry = primitive.get("targets").and_then(|targets| targets.get(own.saturating_add(target)));
            let entry = entry.ok_or_else(|| {
                GltfError::table(format!(
                    "mesh {mesh} has no morph target {}, which it needs",
                    own.saturating_add(target)
                ))
            })?;
            let Some(index) = entry.get(attribute).and_then(Value::as_u64) else { continue };
            let values = accessor::read_vec3(document, usize::try_from(index).unwrap_or(usize::MAX))?;
            if values.len() != range.vertex_count {
                return Err(GltfError::Primitive {
                    mesh,
                    primitive: range.primitive,
                    problem: format!(
                        "morph target {} has {} vertices instead of {}; export it again",
                        own.saturating_add(target),
                        values.len(),
                        range.vertex_count
                    ),
                });
            }
            field[first..first + values.len()].copy_from_slice(&values);
        }
    }
    Ok(field)
}

/// Takes everything of ours out of a document: table, targets, baked weights, the clip of an
/// example set, and the bytes behind them. What is left is the rig alone.
pub fn strip(document: &mut Document, layout: &RigLayout, table: &Table) -> Result<(), GltfError> {
    Table::remove(document);
    if table.kind == "rig" {
        return Ok(());
    }
    let clips = Clip::read_all(document)?;
    let own = |mesh: usize| {
        let position = layout.meshes.iter().position(|&m| m == mesh);
        position.and_then(|position| table.own_targets.get(position).copied()).unwrap_or(0)
    };
    for &mesh in &layout.meshes {
        strip_mesh(document.entry_mut("meshes", mesh)?, own(mesh));
    }
    let mut own_of_node = Vec::new();
    for &node in &layout.mesh_nodes {
        let entry = document.entry_mut("nodes", node)?;
        let own = own(entry.get("mesh").and_then(Value::as_u64).unwrap_or(u64::MAX) as usize);
        truncate_list(entry, "weights", own);
        own_of_node.push((node, own));
    }
    let kept = strip_animations(document, layout, table, &clips, &own_of_node)?;
    append::remove_own(document)?;
    for (animation, channel, own) in kept {
        let values: Vec<f32> =
            channel.blocks().flat_map(|block| block.iter().take(own)).map(|&v| v as f32).collect();
        let times: Vec<f32> = channel.times.iter().map(|&t| t as f32).collect();
        let input = append::scalars(document, "morph times", &times, true)?;
        let output = append::scalars(document, "morph weights", &values, false)?;
        let interpolation = channel.interpolation.name();
        let entry = document.entry_mut("animations", animation)?;
        let samplers = list_mut(entry, "samplers")?;
        samplers.push(json!({"input": input, "output": output, "interpolation": interpolation}));
        let sampler = samplers.len() - 1;
        let target = json!({"node": channel.node, "path": "weights"});
        list_mut(entry, "channels")?.push(json!({"sampler": sampler, "target": target}));
    }
    Ok(())
}

/// Removes our clip and all weights channels of the rig; returns those that also drove targets of
/// the file's own: (animation, channel, own targets).
fn strip_animations(
    document: &mut Document,
    layout: &RigLayout,
    table: &Table,
    clips: &[Clip],
    own_of_node: &[(usize, usize)],
) -> Result<Vec<(usize, Channel, usize)>, GltfError> {
    let mut kept = Vec::new();
    if document.json.get("animations").is_none() {
        return Ok(kept);
    }
    let ours = table.examples.as_ref().map(|examples| examples.clip.as_str());
    let mut left = Vec::new();
    for (clip, mut animation) in clips.iter().zip(document.array("animations").to_vec()) {
        if ours == Some(clip.name.as_str()) {
            continue;
        }
        for channel in clip.channels.iter().filter(|c| c.path == ChannelPath::Weights) {
            let own = own_of_node.iter().find(|(node, _)| *node == channel.node).map_or(0, |&(_, own)| own);
            if own > 0 && own <= channel.width() {
                kept.push((left.len(), channel.clone(), own));
            }
        }
        list_mut(&mut animation, "channels")?.retain(|channel| !drives_weights(channel, &layout.mesh_nodes));
        drop_unused_samplers(&mut animation)?;
        left.push(animation);
    }
    if left.is_empty() {
        remove_key(&mut document.json, "animations");
    } else {
        document.json["animations"] = left.into();
    }
    Ok(kept)
}

fn strip_mesh(mesh: &mut Value, own: usize) {
    for primitive in mesh.get_mut("primitives").and_then(Value::as_array_mut).into_iter().flatten() {
        truncate_list(primitive, "targets", own);
    }
    truncate_list(mesh, "weights", own);
    if let Some(extras) = mesh.get_mut("extras") {
        truncate_list(extras, "targetNames", own);
        if extras.as_object().is_some_and(serde_json::Map::is_empty) {
            remove_key(mesh, "extras");
        }
    }
}

/// Shortens a list; an empty one is removed.
fn truncate_list(holder: &mut Value, key: &str, length: usize) {
    if let Some(list) = holder.get_mut(key).and_then(Value::as_array_mut) {
        list.truncate(length);
        if list.is_empty() {
            remove_key(holder, key);
        }
    }
}

fn drives_weights(channel: &Value, nodes: &[usize]) -> bool {
    let target = channel.get("target").unwrap_or(&Value::Null);
    let node = target.get("node").and_then(Value::as_u64);
    target.get("path").and_then(Value::as_str) == Some("weights")
        && nodes.iter().any(|&candidate| Some(candidate as u64) == node)
}

/// Samplers that no channel uses would keep stale accessors alive.
fn drop_unused_samplers(animation: &mut Value) -> Result<(), GltfError> {
    let uses: Vec<u64> = list_mut(animation, "channels")?
        .iter()
        .filter_map(|channel| channel.get("sampler").and_then(Value::as_u64))
        .collect();
    let samplers = list_mut(animation, "samplers")?;
    let mut new_index = Vec::with_capacity(samplers.len());
    let mut kept = Vec::new();
    for (index, sampler) in samplers.drain(..).enumerate() {
        new_index.push(kept.len());
        if uses.contains(&(index as u64)) {
            kept.push(sampler);
        }
    }
    *samplers = kept;
    for channel in list_mut(animation, "channels")? {
        if let Some(&new) =
            channel.get("sampler").and_then(Value::as_u64).and_then(|s| new_index.get(s as usize))
        {
            channel["sampler"] = new.into();
        }
    }
    Ok(())
}

fn list_mut<'a>(holder: &'a mut Value, key: &str) -> Result<&'a mut Vec<Value>, GltfError> {
    holder
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .ok_or_else(|| GltfError::field(format!("an animation's {key}"), "a list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_are_written_once() {
        let mut document = Document::new();
        let mut keys = SharedKeys::default();
        let times = keys.times(&mut document, &[0.0, 1.0]).unwrap();
        let weights = keys.weights(&mut document, &[0.0, 1.0]).unwrap();
        let others = keys.weights(&mut document, &[0.0, 0.5]).unwrap();
        assert_eq!(keys.weights(&mut document, &[0.0, 1.0]).unwrap(), weights);
        assert_eq!(keys.times(&mut document, &[0.0, 1.0]).unwrap(), times);
        // Times say their range, weights need not.
        assert!(times != weights && weights != others && document.array("accessors").len() == 3);
        assert_eq!(document.array("accessors")[times]["max"], json!([1.0]));
        assert!(document.array("accessors")[weights].get("max").is_none());
    }
}
