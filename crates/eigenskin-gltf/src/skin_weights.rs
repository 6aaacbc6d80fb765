//! Other skin weights in a document that has some.
//!
//! A model with solved weights plays as plain glTF: its `JOINTS_n` and `WEIGHTS_n` are the new ones.
//! Those of the input stay beside them as application-specific attributes `_EIGENSKIN_JOINTS_n` and
//! `_EIGENSKIN_WEIGHTS_n`, to the bit and with the vertices, so that programs which reorder vertices
//! reorder them too.

use std::collections::{BTreeMap, BTreeSet};

use eigenskin_core::weights::SkinWeights;
use serde_json::{Map, Value};

use super::accessor;
use super::append::{self, OWN, Usage};
use super::document::Document;
use super::error::GltfError;
use super::rig::RigLayout;
use crate::WriteError;

/// How the names of attributes begin that keep the input's weights.
const KEPT: &str = "_EIGENSKIN_";

/// What becomes of the weights that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Former {
    /// they stay as attributes of another name
    Kept,
    /// they are given up
    GivenUp,
}

/// Puts `weights` (of the rig that `layout` describes) in place of those in the document.
pub fn replace(
    document: &mut Document,
    layout: &RigLayout,
    weights: &SkinWeights,
    former: Former,
) -> Result<(), WriteError> {
    let joint_count = layout.joint_nodes.len();
    if joint_count > 1 << 16 {
        return Err(WriteError::TooMany { what: "joints", found: joint_count, limit: 1 << 16 });
    }
    // Ours are taken away when the file is read again; given to a rig, they are the rig's.
    let prefix = if former == Former::Kept { OWN } else { "" };
    let mut made: BTreeMap<usize, Vec<(String, usize)>> = BTreeMap::new();
    for range in &layout.primitives {
        let Some(first) = range.first_vertex else { continue };
        let attributes = match made.get(&first) {
            Some(attributes) => attributes.clone(),
            None => push(document, weights, first..first + range.vertex_count, prefix)?,
        };
        let mesh = document.entry_mut("meshes", range.mesh)?;
        let Some(primitive) = mesh["primitives"].get_mut(range.primitive) else { continue };
        let Some(held) = primitive.get_mut("attributes").and_then(Value::as_object_mut) else { continue };
        rename(held, |name| match (is_skin(name), former) {
            (true, Former::Kept) => Some(format!("{KEPT}{name}")),
            (true, Former::GivenUp) => None,
            (false, _) => Some(name.to_string()),
        });
        for (name, accessor) in &attributes {
            held.insert(name.clone(), (*accessor).into());
        }
        made.insert(first, attributes);
    }
    Ok(())
}

/// Scales the weights of the rig's vertices to sum to one, as files must have them, where they are `f32`.
pub fn scale_to_one(document: &mut Document, layout: &RigLayout) -> Result<(), GltfError> {
    let mut done = BTreeSet::new();
    for range in &layout.primitives {
        let primitive = &document.entry("meshes", range.mesh)?["primitives"][range.primitive];
        let set = |set: usize| primitive["attributes"].get(format!("WEIGHTS_{set}"))?.as_u64();
        let accessors: Vec<usize> = (0..).map_while(set).map(|accessor| accessor as usize).collect();
        if !accessors.iter().all(|&accessor| done.insert(accessor)) {
            continue;
        }
        let mut sets = Vec::with_capacity(accessors.len());
        for &accessor in &accessors {
            sets.push(accessor::read_weights(document, accessor)?);
        }
        for vertex in 0..sets.iter().map(Vec::len).min().unwrap_or(0) {
            let sum: f32 = sets.iter().flat_map(|set| set[vertex]).sum();
            if sum > 0.0 {
                sets.iter_mut().flat_map(|set| &mut set[vertex]).for_each(|weight| *weight /= sum);
            }
        }
        for (&accessor, set) in accessors.iter().zip(&sets) {
            accessor::overwrite(document, accessor, 4, set.as_flattened())?;
        }
    }
    Ok(())
}

/// Puts the input's weights back where they were kept; whether there were any.
pub fn restore(document: &mut Document) -> bool {
    let mut found = false;
    let meshes = document.json.get_mut("meshes").and_then(Value::as_array_mut).into_iter().flatten();
    let primitives =
        meshes.filter_map(|mesh| mesh.get_mut("primitives").and_then(Value::as_array_mut)).flatten();
    for primitive in primitives {
        let Some(held) = primitive.get_mut("attributes").and_then(Value::as_object_mut) else { continue };
        if held.keys().any(|name| name.strip_prefix(KEPT).is_some_and(is_skin)) {
            found = true;
            rename(held, |name| match name.strip_prefix(KEPT).filter(|kept| is_skin(kept)) {
                Some(kept) => Some(kept.to_string()),
                None => (!is_skin(name)).then(|| name.to_string()),
            });
        }
    }
    found
}

fn is_skin(name: &str) -> bool {
    name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_")
}

/// Gives attributes other names, in their order, or none.
fn rename(attributes: &mut Map<String, Value>, name: impl Fn(&str) -> Option<String>) {
    let old = std::mem::take(attributes);
    attributes.extend(old.into_iter().filter_map(|(key, value)| Some((name(&key)?, value))));
}

/// Appends the weights of some vertices, four influences at a time.
fn push(
    document: &mut Document,
    weights: &SkinWeights,
    vertices: std::ops::Range<usize>,
    prefix: &str,
) -> Result<Vec<(String, usize)>, GltfError> {
    let most = vertices.clone().map(|vertex| weights.of(vertex).len()).max().unwrap_or(0);
    let mut attributes = Vec::new();
    for set in 0..most.div_ceil(4) {
        let mut joints = vec![[0u16; 4]; vertices.len()];
        let mut values = vec![[0f32; 4]; vertices.len()];
        for (place, vertex) in vertices.clone().enumerate() {
            for (slot, influence) in weights.of(vertex).iter().skip(4 * set).take(4).enumerate() {
                joints[place][slot] = influence.joint as u16;
                values[place][slot] = influence.weight;
            }
        }
        let joints = append::joints(document, &format!("{prefix}joints"), &joints)?;
        let values = append::vec4(document, &format!("{prefix}weights"), &values, Usage::Vertices)?;
        attributes.push((format!("JOINTS_{set}"), joints));
        attributes.push((format!("WEIGHTS_{set}"), values));
    }
    Ok(attributes)
}
