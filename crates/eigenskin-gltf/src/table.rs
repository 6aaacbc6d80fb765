//! The eigenskin table: what plain glTF has no place for, as JSON under the key `"eigenskin"` in
//! the extras of the default scene *and* of the skeleton's root node, there as text. Other programs keep
//! one or the other, and drop vendor extensions; Assimp ends at nodes whose extras hold more than plain
//! values.
//!
//! Joints and controls are named, never numbered: programs renumber nodes. All numbers are `f64`
//! and read back to the bit.

use std::collections::BTreeSet;

use eigenskin_core::rig::Rig;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::append::remove_key;
use super::document::Document;
use super::driver_table::DriverEntry;
use super::error::GltfError;
use super::stack_table::StackEntry;
use crate::simulation_record::SimulationRecord;

/// The key of the table in `extras`.
pub const KEY: &str = "eigenskin";

/// The version written. Every version ever written stays readable.
pub const VERSION: u64 = 1;

/// The whole table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    /// version of the table
    pub version: u64,
    /// "rig", "examples" or "model"
    pub kind: String,
    /// name of the skin the table is about; none without joints
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skin: Option<String>,
    /// name of the mesh the table is about, for a rig without joints
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// in the order of the skin
    #[serde(default)]
    pub joints: Vec<JointEntry>,
    /// in the order of the rig
    #[serde(default)]
    pub controls: Vec<ControlEntry>,
    /// `mesh of the rig`: morph targets that were there before ours
    #[serde(default)]
    pub own_targets: Vec<usize>,
    /// of kind "examples"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<ExamplesEntry>,
    /// of kind "model"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelEntry>,
}

/// A joint and what its motion is measured against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointEntry {
    /// its name
    pub name: String,
    /// name of the reference joint; none for the first root
    pub reference: Option<String>,
}

/// A control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlEntry {
    /// its name
    pub name: String,
    /// value at rest
    pub default: f64,
}

/// An example set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExamplesEntry {
    /// name of the clip with one key per example
    pub clip: String,
    /// one per morph target
    pub list: Vec<ExampleEntry>,
    /// chains of deformers that examples were pulled back through
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<StackEntry>,
    /// a [`SimulationRecord`]; a damaged one does not keep the examples from being read
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Value>,
}

/// One example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExampleEntry {
    /// its name
    pub name: String,
    /// whether it is kept but not learnt from
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
    /// where its normals are
    pub normals: Storage,
    /// vertices that rest-space displacements cannot express
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posed: Option<PosedEntry>,
    /// the example pulled back through a chain of deformers
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inverted: Option<InvertedEntry>,
}

/// An example pulled back through a chain of deformers: names of accessors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvertedEntry {
    /// which of the set's chains
    pub base: usize,
    /// what to add to the rest shape
    pub deltas: String,
    /// what to add after the deformers, where they do not reach
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residuals: Option<String>,
}

/// Vertices kept in posed space: names of accessors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PosedEntry {
    /// which vertices
    pub vertices: String,
    /// where they are
    pub positions: String,
    /// their normals
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normals: Option<String>,
}

/// Where a field of vectors is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "kebab-case")]
pub enum Storage {
    /// nowhere: there is none
    None,
    /// in the morph targets
    Targets,
    /// in an accessor of that name
    Accessor {
        /// name of the accessor
        name: String,
    },
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelEntry {
    /// name of the base skinning, or "deformers"
    pub base: String,
    /// the chain of deformers that stands for it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deformers: Option<StackEntry>,
    /// number of morph targets
    pub targets: usize,
    /// in the order of the model
    pub layers: Vec<LayerEntry>,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerEntry {
    /// its name
    pub name: String,
    /// before or after skinning
    pub stage: super::driver_table::StageEntry,
    /// name of the accessor that lists the vertices
    pub support: String,
    /// where the displacements are
    pub positions: Storage,
    /// where the normal corrections are
    pub normals: Storage,
    /// the morph targets of each component, when the displacements are there
    #[serde(default)]
    pub components: Vec<ComponentEntry>,
    /// from a pose to coordinates
    pub driver: DriverEntry,
}

/// The morph targets of one component: α > 0 drives the first with α/scale, α < 0 the second with
/// −α/scale. The displacement is target/scale, or −target/scale of the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComponentEntry {
    /// for positive coordinates
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plus: Option<HalfEntry>,
    /// for negative coordinates
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minus: Option<HalfEntry>,
}

/// A morph target and its scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HalfEntry {
    /// index among our targets
    pub target: usize,
    /// a power of two
    pub scale: f64,
}

impl Table {
    /// What every table says about the rig.
    pub fn of_rig(kind: &str, rig: &Rig, skin: Option<String>, mesh: Option<String>) -> Self {
        let joints = rig.skeleton().joints();
        let reference =
            |joint: &eigenskin_core::skeleton::Joint| joint.reference.map(|r| joints[r].name.clone());
        Self {
            version: VERSION,
            kind: kind.into(),
            skin,
            mesh,
            joints: joints
                .iter()
                .map(|joint| JointEntry { name: joint.name.clone(), reference: reference(joint) })
                .collect(),
            controls: rig
                .controls()
                .iter()
                .map(|control| ControlEntry { name: control.name.clone(), default: control.default })
                .collect(),
            own_targets: Vec::new(),
            examples: None,
            model: None,
        }
    }

    /// Names of the muted examples.
    pub fn muted(&self) -> BTreeSet<String> {
        let list = self.examples.iter().flat_map(|examples| &examples.list);
        list.filter(|example| example.muted).map(|example| example.name.clone()).collect()
    }

    /// How the examples were simulated, if the table tells.
    pub fn simulation(&self) -> Result<Option<SimulationRecord>, GltfError> {
        let record = self.examples.as_ref().and_then(|examples| examples.simulation.as_ref());
        let read = record.map(SimulationRecord::deserialize).transpose();
        read.map_err(|error| GltfError::table(format!("what it says about the simulation: {error}")))
    }

    /// The table of a document, if it has one.
    pub fn find(document: &Document) -> Result<Option<Self>, GltfError> {
        let default = document.json.get("scene").and_then(Value::as_u64).unwrap_or(0) as usize;
        let default_scene = document.array("scenes").get(default);
        let places = default_scene.into_iter().chain(document.array("scenes")).chain(document.array("nodes"));
        let Some(found) = places.filter_map(|place| place.get("extras")?.get(KEY)).find_map(as_object) else {
            return Ok(None);
        };
        let version = found.get("version").cloned().unwrap_or(Value::Null);
        if version.as_u64() != Some(VERSION) {
            return Err(GltfError::TableVersion { version: version.to_string() });
        }
        serde_json::from_value(found).map(Some).map_err(|error| GltfError::table(error.to_string()))
    }

    /// Puts the table into the default scene and the given node, in place of an older one.
    pub fn store(&self, document: &mut Document, root_node: usize) -> Result<(), GltfError> {
        let fail = |error: serde_json::Error| GltfError::table(error.to_string());
        let (value, text) =
            (serde_json::to_value(self).map_err(fail)?, serde_json::to_string(self).map_err(fail)?);
        Self::remove(document);
        if document.array("scenes").is_empty() {
            let children: Vec<u64> = document
                .array("nodes")
                .iter()
                .filter_map(|node| node.get("children")?.as_array())
                .flatten()
                .filter_map(Value::as_u64)
                .collect();
            let roots: Vec<usize> = (0..document.array("nodes").len())
                .filter(|&node| !children.contains(&(node as u64)))
                .collect();
            document.array_mut("scenes")?.push(json!({"nodes": roots}));
            document.json["scene"] = 0.into();
        }
        let scene = document.json.get("scene").and_then(Value::as_u64).unwrap_or(0) as usize;
        put(document.entry_mut("scenes", scene)?, value);
        put(document.entry_mut("nodes", root_node)?, text.into());
        Ok(())
    }

    /// Takes every table out of a document.
    pub fn remove(document: &mut Document) {
        for key in ["scenes", "nodes"] {
            let Some(places) = document.json.get_mut(key).and_then(Value::as_array_mut) else { continue };
            for place in places {
                let Some(extras) = place.get_mut("extras").filter(|extras| extras.get(KEY).is_some()) else {
                    continue;
                };
                remove_key(extras, KEY);
                if extras.as_object().is_some_and(serde_json::Map::is_empty) {
                    remove_key(place, "extras");
                }
            }
        }
    }
}

/// A table as it stands in a file: an object, or its text.
fn as_object(table: &Value) -> Option<Value> {
    match table {
        Value::Object(_) => Some(table.clone()),
        Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    }
}

fn put(place: &mut Value, table: Value) {
    if !place.is_object() {
        *place = json!({});
    }
    let extras = place.get("extras").cloned();
    if !extras.as_ref().is_some_and(Value::is_object) {
        place["extras"] = match extras {
            // Extras may be anything; what is no object moves into one.
            Some(other) if !other.is_null() => json!({"extras": other}),
            _ => json!({}),
        };
    }
    place["extras"][KEY] = table;
}
