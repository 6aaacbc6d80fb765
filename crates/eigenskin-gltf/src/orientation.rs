//! A root node for files in other axes or units than glTF's (y up, metres).
//!
//! Vertices, joints and the model stay as they are; viewers see the character upright and at its
//! real size.

use serde_json::{Value, json};

use super::document::Document;
use super::error::GltfError;

/// Axes and unit of a file's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orientation {
    /// whether z points up (and y away from the viewer); glTF's y otherwise
    pub z_up: bool,
    /// metres per unit of length; 1 for glTF's metres
    pub metres_per_unit: f64,
}

impl Orientation {
    /// glTF's own.
    pub const GLTF: Self = Self { z_up: false, metres_per_unit: 1.0 };
}

/// Hangs everything in the default scene on a new node that turns and scales. Skinned mesh nodes
/// stay outside: their own place does not count.
pub fn add_root(document: &mut Document, orientation: Orientation) -> Result<(), GltfError> {
    let scene = document.json.get("scene").and_then(Value::as_u64).unwrap_or(0) as usize;
    let roots: Vec<Value> =
        document.entry("scenes", scene)?.get("nodes").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_skinned_mesh = |node: &Value| {
        let index = node.as_u64().map_or(usize::MAX, |index| index as usize);
        document.array("nodes").get(index).is_some_and(|node| node.get("skin").is_some())
    };
    let (outside, inside): (Vec<Value>, Vec<Value>) = roots.into_iter().partition(is_skinned_mesh);
    let mut root = json!({"name": "axes and unit", "children": inside});
    if orientation.z_up {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        root["rotation"] = json!([-half, 0.0, 0.0, half]);
    }
    if orientation.metres_per_unit != 1.0 {
        root["scale"] = vec![orientation.metres_per_unit; 3].into();
    }
    let nodes = document.array_mut("nodes")?;
    nodes.push(root);
    let index = nodes.len() - 1;
    let mut roots = vec![Value::from(index)];
    roots.extend(outside);
    document.entry_mut("scenes", scene)?["nodes"] = roots.into();
    Ok(())
}
