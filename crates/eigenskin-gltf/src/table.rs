//! The eigenskin table: what plain glTF has no place for, as the text of a JSON object under the key
//! `"eigenskin"` in the extras of the skeleton's root node; of the mesh's node without joints. Programs that
//! keep anything of the kind keep this: gltfpack and Blender when told to keep extras, gltf-transform always.
//! Vendor extensions are dropped by all of them, and Assimp ends at nodes whose extras hold more than plain
//! values. Version 1 of the table was an object there and in the extras of the default scene.
//!
//! Joints and controls are named, never numbered: programs renumber nodes. All numbers are `f64`
//! and read back to the bit.

use std::collections::BTreeSet;

use eigenskin_core::glam::{DAffine3, DVec3};
use eigenskin_core::rig::Rig;
use eigenskin_core::skeleton::Joint;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::append::{self, remove_key};
use super::document::Document;
use super::driver_table::{DriverEntry, FeatureEntry};
use super::error::GltfError;
use super::rig::RigLayout;
use super::stack_table::StackEntry;
use crate::simulation_record::SimulationRecord;

/// The key of the table in `extras`.
pub const KEY: &str = "eigenskin";

/// The version written. Every version ever written stays readable.
pub const VERSION: u64 = 3;

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
    /// names of further skins with the same joints; the rig has the meshes of all
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_skins: Vec<String>,
    /// the inverse bind matrix of one joint: tells the unit of the mesh when a program has changed it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bind: Option<BindEntry>,
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

/// How a joint is bound to the mesh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BindEntry {
    /// name of the joint
    pub joint: String,
    /// rows of its inverse bind matrix, 3 × 4 on column vectors
    pub rows: [[f64; 4]; 3],
}

impl BindEntry {
    fn new(joint: &Joint) -> Self {
        let (rows, offset) = (joint.joint_from_rest.matrix3.transpose(), joint.joint_from_rest.translation);
        // Files hold the matrix as f32: more digits say nothing.
        let row =
            |row: DVec3, offset: f64| [row.x, row.y, row.z, offset].map(|value| append::short(value as f32));
        let rows = [row(rows.x_axis, offset.x), row(rows.y_axis, offset.y), row(rows.z_axis, offset.z)];
        Self { joint: joint.name.clone(), rows }
    }

    /// The matrix.
    pub fn matrix(&self) -> DAffine3 {
        let column = |c: usize| DVec3::new(self.rows[0][c], self.rows[1][c], self.rows[2][c]);
        DAffine3::from_cols(column(0), column(1), column(2), column(3))
    }
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
    /// tells whether vertices are in the order in which layers beside the targets list them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// what drivers look at; in files of versions 1 and 2 each driver says that itself
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<FeatureEntry>,
    /// in the order of the model
    pub layers: Vec<LayerEntry>,
}

impl ModelEntry {
    /// A fingerprint (FNV-1a) of the vertices that each triangle names, in order. A program that renumbers
    /// vertices changes it; one that rounds positions does not.
    pub fn order_of(rig: &Rig) -> String {
        let corners = rig.mesh().triangles().as_flattened().iter().flat_map(|corner| corner.to_le_bytes());
        let hash = corners.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerEntry {
    /// its name
    pub name: String,
    /// before or after skinning
    pub stage: super::driver_table::StageEntry,
    /// name of the accessor that lists the vertices; none where the morph targets tell
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<String>,
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
    pub fn of_rig(kind: &str, rig: &Rig, layout: &RigLayout) -> Self {
        let mut names = layout.skin_names.iter().cloned();
        Self {
            kind: kind.into(),
            skin: names.next(),
            more_skins: names.collect(),
            mesh: layout.mesh_name.clone(),
            ..Self::of_rig_in_memory(rig)
        }
    }

    /// What can be said about a rig that is in no file yet.
    pub fn of_rig_in_memory(rig: &Rig) -> Self {
        let joints = rig.skeleton().joints();
        let reference = |joint: &Joint| joint.reference.map(|r| joints[r].name.clone());
        Self {
            version: VERSION,
            kind: "rig".into(),
            skin: None,
            more_skins: Vec::new(),
            bind: joints.first().map(BindEntry::new),
            mesh: None,
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
        if !version.as_u64().is_some_and(|version| (1..=VERSION).contains(&version)) {
            return Err(GltfError::TableVersion { version: version.to_string() });
        }
        serde_json::from_value(found).map(Some).map_err(|error| GltfError::table(error.to_string()))
    }

    /// Puts the table into the given node, in place of an older one.
    pub fn store(&self, document: &mut Document, root_node: usize) -> Result<(), GltfError> {
        let text = serde_json::to_string(self).map_err(|error| GltfError::table(error.to_string()))?;
        Self::remove(document);
        put(document.entry_mut("nodes", root_node)?, text);
        Ok(())
    }

    /// Rounds the numbers of drivers to nine digits.
    pub fn shorten(&mut self) {
        let Some(model) = &mut self.model else { return };
        model.features.iter_mut().for_each(FeatureEntry::shorten);
        model.layers.iter_mut().for_each(|layer| layer.driver.shorten());
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

fn put(place: &mut Value, table: String) {
    let extras = place.get("extras").cloned();
    if !extras.as_ref().is_some_and(Value::is_object) {
        place["extras"] = match extras {
            // Extras may be anything; what is no object moves into one.
            Some(other) if !other.is_null() => json!({"extras": other}),
            _ => json!({}),
        };
    }
    place["extras"][KEY] = table.into();
}

/// The table in the JSON of a file; null when it has none.
#[cfg(feature = "conformance")]
pub fn table_of(json: &Value) -> Value {
    let mut nodes = json["nodes"].as_array().into_iter().flatten();
    nodes.find_map(|node| as_object(&node["extras"][KEY])).unwrap_or_default()
}

/// Changes the table in the JSON of a file.
#[cfg(feature = "conformance")]
pub fn edit_table(json: &mut Value, edit: impl FnOnce(&mut Value)) {
    let mut table = table_of(json);
    edit(&mut table);
    let nodes = json["nodes"].as_array_mut().into_iter().flatten();
    for node in nodes.filter(|node| node["extras"][KEY].is_string()) {
        node["extras"][KEY] = table.to_string().into();
    }
}
