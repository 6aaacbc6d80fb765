//! Appending accessors to a document.
//!
//! What is appended for eigenskin's own use carries a name with the prefix [`OWN`], so that it can
//! be taken away again when the file is written anew.

use eigenskin_core::glam::{DAffine3, Vec3};
use serde_json::{Value, json};

use super::document::Document;
use super::error::GltfError;
use super::sparse::Form;
use super::zeros;

/// How the names of our own accessors and buffer views begin.
pub const OWN: &str = "eigenskin:";

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
        set_bounds(&mut accessor, Form::F32, values.iter().copied());
    }
    let flat: Vec<f32> = values.iter().flat_map(Vec3::to_array).collect();
    dense(document, name, &floats(&flat), usage, accessor)
}

/// Appends vectors of a vertex attribute in a form; each begins at a multiple of four bytes.
pub fn vec3_as(
    document: &mut Document,
    name: &str,
    values: &[Vec3],
    form: Form,
    bounds: bool,
) -> Result<usize, GltfError> {
    if form == Form::F32 {
        return vec3(document, name, values, Usage::Vertices, bounds);
    }
    let mut accessor = json!({"count": values.len(), "type": "VEC3"});
    form.describe(&mut accessor);
    if bounds {
        set_bounds(&mut accessor, form, values.iter().copied());
    }
    let elements = values.iter().map(Vec3::to_array);
    strided(document, name, elements, form, accessor)
}

/// Appends vectors of four numbers of a vertex attribute in a form.
pub fn vec4_as(
    document: &mut Document,
    name: &str,
    values: &[[f32; 4]],
    form: Form,
) -> Result<usize, GltfError> {
    let mut accessor = json!({"count": values.len(), "type": "VEC4"});
    form.describe(&mut accessor);
    strided(document, name, values.iter().copied(), form, accessor)
}

/// Appends four shares of one for each vertex, as 16 bits.
pub fn shares(document: &mut Document, name: &str, values: &[u16]) -> Result<usize, GltfError> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let accessor =
        json!({"componentType": 5123, "normalized": true, "count": values.len() / 4, "type": "VEC4"});
    dense(document, name, &bytes, Usage::Vertices, accessor)
}

/// Appends numbers between minus one and one, as 16 bits.
pub fn signed_shares(document: &mut Document, name: &str, values: &[i16]) -> Result<usize, GltfError> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let accessor =
        json!({"componentType": 5122, "normalized": true, "count": values.len(), "type": "SCALAR"});
    dense(document, name, &bytes, Usage::Other, accessor)
}

fn strided<const N: usize>(
    document: &mut Document,
    name: &str,
    elements: impl Iterator<Item = [f32; N]>,
    form: Form,
    accessor: Value,
) -> Result<usize, GltfError> {
    let mut bytes = Vec::new();
    for element in elements {
        for value in element {
            form.write(value, &mut bytes);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let appended = dense(document, name, &bytes, Usage::Vertices, accessor)?;
    let view = document.array("bufferViews").len() - 1;
    document.entry_mut("bufferViews", view)?["byteStride"] = (N * form.size()).next_multiple_of(4).into();
    Ok(appended)
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
        accessor["min"] = json!([short(lowest)]);
        accessor["max"] = json!([short(highest)]);
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

/// Puts the accessor that was appended last in place of another, whose name it takes.
pub fn replace_by_last(document: &mut Document, accessor: usize) -> Result<(), GltfError> {
    let Some(mut entry) = document.array_mut("accessors")?.pop() else { return Ok(()) };
    let replaced = document.entry_mut("accessors", accessor)?;
    match replaced.get("name").cloned() {
        Some(name) => entry["name"] = name,
        None => remove_key(&mut entry, "name"),
    }
    *replaced = entry;
    Ok(())
}

/// The accessor of that name.
pub fn accessor_named(document: &Document, name: &str) -> Option<usize> {
    document.array("accessors").iter().position(|a| a.get("name").and_then(Value::as_str) == Some(name))
}

/// Takes away our own accessors and buffer views at the end of the document, and the bytes that
/// nothing points to any more. What another program has put behind them keeps them in place.
pub fn remove_own(document: &mut Document) -> Result<(), GltfError> {
    zeros::remove(document)?;
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

/// The number of fewest digits that is `value` as `f32`.
pub(crate) fn short(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Says the smallest and largest values of an accessor, as short as they can be said.
pub(crate) fn set_bounds(accessor: &mut Value, form: Form, values: impl Iterator<Item = Vec3>) {
    let (lowest, highest) = values
        .fold((Vec3::splat(f32::INFINITY), Vec3::splat(f32::NEG_INFINITY)), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    let number =
        |value: f32| -> Value { if form == Form::F32 { short(value).into() } else { (value as i32).into() } };
    accessor["min"] = lowest.to_array().map(number).to_vec().into();
    accessor["max"] = highest.to_array().map(number).to_vec().into();
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

pub(crate) fn push_view(
    document: &mut Document,
    name: &str,
    bytes: &[u8],
    usage: Usage,
) -> Result<usize, GltfError> {
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

pub(crate) fn push_accessor(document: &mut Document, accessor: Value) -> Result<usize, GltfError> {
    let accessors = document.array_mut("accessors")?;
    accessors.push(accessor);
    Ok(accessors.len() - 1)
}
