//! Appending accessors to a document.
//!
//! What is appended for eigenskin's own use carries a name with the prefix [`OWN`], so that it can
//! be taken away again when the file is written anew.

use eigenskin_core::glam::{DAffine3, Vec3};
use serde_json::{Value, json};

use super::document::Document;
use super::error::GltfError;

/// How the names of our own accessors and buffer views begin.
pub const OWN: &str = "eigenskin:";
/// The name of the view of zeros.
const ZEROS: &str = "eigenskin:zeros";

/// What a buffer view is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// vertex attributes
    Vertices,
    /// triangle corners
    Indices,
    /// anything else
    Other,
}

/// Appends vectors. With `bounds` the accessor says its smallest and largest values, as positions must.
pub fn vec3(
    document: &mut Document,
    name: &str,
    values: &[Vec3],
    usage: Usage,
    bounds: bool,
) -> Result<usize, GltfError> {
    let mut accessor = json!({"componentType": 5126, "count": values.len(), "type": "VEC3"});
    if bounds {
        set_bounds(&mut accessor, values.iter().copied());
    }
    let flat: Vec<f32> = values.iter().flat_map(Vec3::to_array).collect();
    dense(document, name, &floats(&flat), usage, accessor)
}

/// Appends vectors that are zero except at the given elements (`element`, rising, and its value);
/// stored sparsely where that is smaller. `most` is the largest count of all that are appended so.
pub fn sparse_vec3(
    document: &mut Document,
    name: &str,
    (count, most): (usize, usize),
    entries: &[(u32, Vec3)],
    bounds: bool,
) -> Result<usize, GltfError> {
    // A sparse accessor needs at least one entry.
    let entries = if entries.is_empty() { &[(0, Vec3::ZERO)] } else { entries };
    let (index_size, index_type) = if count <= 0xffff { (2, 5123) } else { (4, 5125) };
    let index_bytes = (entries.len() * index_size).next_multiple_of(4);
    // The sparse form costs about 100 more characters of JSON.
    if index_bytes + entries.len() * 12 + 100 >= count * 12 {
        let mut values = vec![Vec3::ZERO; count];
        for &(element, value) in entries {
            values[element as usize] = value;
        }
        return vec3(document, name, &values, Usage::Vertices, bounds);
    }
    let mut bytes: Vec<u8> =
        entries.iter().flat_map(|&(element, _)| element.to_le_bytes()[..index_size].to_vec()).collect();
    bytes.resize(index_bytes, 0);
    bytes.extend(entries.iter().flat_map(|(_, v)| v.to_array()).flat_map(f32::to_le_bytes));
    let zeros = zeros_view(document, 12 * count, 12 * most)?;
    let view = push_view(document, name, &bytes, Usage::Other)?;
    let mut accessor =
        json!({"componentType": 5126, "count": count, "type": "VEC3", "name": name, "bufferView": zeros});
    accessor["sparse"] = json!({
        "count": entries.len(),
        "indices": {"bufferView": view, "componentType": index_type},
        "values": {"bufferView": view, "byteOffset": index_bytes},
    });
    if bounds {
        let rest = (entries.len() < count).then_some(Vec3::ZERO);
        set_bounds(&mut accessor, entries.iter().map(|&(_, v)| v).chain(rest));
    }
    push_accessor(document, accessor)
}

/// Appends numbers; with `bounds` for key times, which must say their range.
pub fn scalars(
    document: &mut Document,
    name: &str,
    values: &[f32],
    bounds: bool,
) -> Result<usize, GltfError> {
    let mut accessor = json!({"componentType": 5126, "count": values.len(), "type": "SCALAR"});
    if bounds {
        let lowest = values.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        accessor["min"] = json!([lowest]);
        accessor["max"] = json!([highest]);
    }
    dense(document, name, &floats(values), Usage::Other, accessor)
}

/// Appends vectors of four numbers.
pub fn vec4(
    document: &mut Document,
    name: &str,
    values: &[[f32; 4]],
    usage: Usage,
) -> Result<usize, GltfError> {
    let accessor = json!({"componentType": 5126, "count": values.len(), "type": "VEC4"});
    dense(document, name, &floats(values.as_flattened()), usage, accessor)
}

/// Appends joint indices, as bytes where they fit.
pub fn joints(document: &mut Document, name: &str, values: &[[u16; 4]]) -> Result<usize, GltfError> {
    let flat = values.as_flattened();
    let small = flat.iter().all(|&joint| joint < 256);
    let bytes: Vec<u8> = if small {
        flat.iter().map(|&joint| joint as u8).collect()
    } else {
        flat.iter().flat_map(|joint| joint.to_le_bytes()).collect()
    };
    let component = if small { 5121 } else { 5123 };
    let accessor = json!({"componentType": component, "count": values.len(), "type": "VEC4"});
    dense(document, name, &bytes, Usage::Vertices, accessor)
}

/// Appends whole numbers below `limit`, in the smallest type that glTF allows for indices.
pub fn indices(
    document: &mut Document,
    name: &str,
    values: &[u32],
    limit: usize,
    usage: Usage,
) -> Result<usize, GltfError> {
    let small = limit <= 0xffff;
    let bytes: Vec<u8> = if small {
        values.iter().flat_map(|&v| (v as u16).to_le_bytes()).collect()
    } else {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    };
    let component = if small { 5123 } else { 5125 };
    let accessor = json!({"componentType": component, "count": values.len(), "type": "SCALAR"});
    dense(document, name, &bytes, usage, accessor)
}

/// Appends affine transforms as 4 × 4 matrices.
pub fn transforms(document: &mut Document, name: &str, values: &[DAffine3]) -> Result<usize, GltfError> {
    let flat: Vec<f32> = values
        .iter()
        .flat_map(|m| {
            let column = |v: eigenskin_core::glam::DVec3, w: f32| [v.x as f32, v.y as f32, v.z as f32, w];
            [
                column(m.matrix3.x_axis, 0.0),
                column(m.matrix3.y_axis, 0.0),
                column(m.matrix3.z_axis, 0.0),
                column(m.translation, 1.0),
            ]
            .concat()
        })
        .collect();
    let accessor = json!({"componentType": 5126, "count": values.len(), "type": "MAT4"});
    dense(document, name, &floats(&flat), Usage::Other, accessor)
}

/// The accessor of that name.
pub fn accessor_named(document: &Document, name: &str) -> Option<usize> {
    document.array("accessors").iter().position(|a| a.get("name").and_then(Value::as_str) == Some(name))
}

/// Takes away our own accessors and buffer views at the end of the document, and the bytes that
/// nothing points to any more. What another program has put behind them keeps them in place.
pub fn remove_own(document: &mut Document) -> Result<(), GltfError> {
    for key in ["accessors", "bufferViews"] {
        if document.json.get(key).is_none() {
            continue;
        }
        let entries = document.array_mut(key)?;
        let own =
            |entry: &Value| entry.get("name").and_then(Value::as_str).is_some_and(|n| n.starts_with(OWN));
        while entries.last().is_some_and(own) {
            entries.pop();
        }
        if entries.is_empty() {
            remove_key(&mut document.json, key);
        }
    }
    let end = |view: &Value| {
        let offset = view.get("byteOffset").and_then(Value::as_u64).unwrap_or(0);
        offset.saturating_add(view.get("byteLength").and_then(Value::as_u64).unwrap_or(0))
    };
    let used = document.array("bufferViews").iter().map(end).max().unwrap_or(0);
    document.binary.truncate(usize::try_from(used).unwrap_or(usize::MAX));
    if document.binary.is_empty() {
        remove_key(&mut document.json, "buffers");
    } else {
        document.record_length()?;
    }
    Ok(())
}

/// Removes a member, keeping the order of the others.
pub(crate) fn remove_key(object: &mut Value, key: &str) {
    if let Some(object) = object.as_object_mut() {
        object.shift_remove(key);
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn set_bounds(accessor: &mut Value, values: impl Iterator<Item = Vec3>) {
    let (lowest, highest) = values
        .fold((Vec3::splat(f32::INFINITY), Vec3::splat(f32::NEG_INFINITY)), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    accessor["min"] = json!(lowest.to_array());
    accessor["max"] = json!(highest.to_array());
}

fn dense(
    document: &mut Document,
    name: &str,
    bytes: &[u8],
    usage: Usage,
    mut accessor: Value,
) -> Result<usize, GltfError> {
    let view = push_view(document, name, bytes, usage)?;
    accessor["bufferView"] = view.into();
    accessor["name"] = name.into();
    push_accessor(document, accessor)
}

/// A view of `length` zeros or more, which all sparse accessors stand on; a new one has `most`. glTF needs
/// none, but Godot 3 takes the first view of the file where there is none, whatever it holds.
fn zeros_view(document: &mut Document, length: usize, most: usize) -> Result<usize, GltfError> {
    let is_large = |view: &Value| {
        let own = view.get("byteLength").and_then(Value::as_u64).unwrap_or(0);
        view.get("name").and_then(Value::as_str) == Some(ZEROS) && own >= length as u64
    };
    if let Some(known) = document.array("bufferViews").iter().position(is_large) {
        return Ok(known);
    }
    let view = push_view(document, ZEROS, &vec![0; most.max(length)], Usage::Vertices)?;
    let entry = document.entry_mut("bufferViews", view)?;
    entry["name"] = ZEROS.into();
    // Several accessors of vertices on one view must say how far apart its elements are.
    entry["byteStride"] = 12.into();
    Ok(view)
}

fn push_view(document: &mut Document, name: &str, bytes: &[u8], usage: Usage) -> Result<usize, GltfError> {
    let start = document.append_bytes(bytes)?;
    let mut view = json!({"buffer": 0, "byteOffset": start, "byteLength": bytes.len()});
    if name.starts_with(OWN) {
        view["name"] = OWN.into();
    }
    match usage {
        Usage::Vertices => view["target"] = 34962.into(),
        Usage::Indices => view["target"] = 34963.into(),
        Usage::Other => {}
    }
    let views = document.array_mut("bufferViews")?;
    views.push(view);
    Ok(views.len() - 1)
}

fn push_accessor(document: &mut Document, accessor: Value) -> Result<usize, GltfError> {
    let accessors = document.array_mut("accessors")?;
    accessors.push(accessor);
    Ok(accessors.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accessor;

    #[test]
    fn sparse_and_dense_read_back_alike() {
        let mut document = Document::new();
        // Zeros without a buffer view may not outnumber the bytes of the file.
        let positions: Vec<Vec3> = (0..1000).map(|i| Vec3::splat(i as f32)).collect();
        vec3(&mut document, "base", &positions, Usage::Vertices, true).unwrap();
        let entries = [(3, Vec3::new(1.0, -2.0, 0.5)), (999, Vec3::X)];
        let sparse = sparse_vec3(&mut document, "eigenskin:a", (1000, 2000), &entries, true).unwrap();
        let written = &document.array("accessors")[sparse];
        assert!(written.get("sparse").is_some());
        // Importers that do not know of missing views find zeros all the same.
        let view = &document.array("bufferViews")[written["bufferView"].as_u64().unwrap() as usize];
        assert_eq!((&view["byteLength"], &view["byteStride"]), (&json!(12 * 2000), &json!(12)));
        let start = view["byteOffset"].as_u64().unwrap() as usize;
        assert!(document.binary[start..start + 12 * 2000].iter().all(|&byte| byte == 0));
        let larger = sparse_vec3(&mut document, "eigenskin:c", (2000, 2000), &entries, false).unwrap();
        let accessors = document.array("accessors");
        assert_eq!(accessors[larger]["bufferView"], accessors[sparse]["bufferView"]);
        let values = accessor::read_vec3(&document, sparse).unwrap();
        assert_eq!(values[3], entries[0].1);
        assert_eq!(values[999], Vec3::X);
        assert_eq!(values.iter().filter(|v| **v != Vec3::ZERO).count(), 2);
        assert_eq!(document.array("accessors")[sparse]["min"], json!([0.0, -2.0, 0.0]));
        let dense = sparse_vec3(&mut document, "eigenskin:b", (4, 4), &entries[..1], true).unwrap();
        assert!(document.array("accessors")[dense].get("sparse").is_none());
        assert_eq!(accessor::read_vec3(&document, dense).unwrap()[3], entries[0].1);

        let before = document.binary.len();
        remove_own(&mut document).unwrap();
        assert_eq!(document.array("accessors").len(), 1);
        assert!(document.binary.len() < before);
        assert_eq!(accessor::read_vec3(&document, 0).unwrap(), positions);
    }
}
