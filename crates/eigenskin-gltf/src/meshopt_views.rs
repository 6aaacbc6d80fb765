//! Buffer views compressed by gltfpack or gltf-transform (`EXT_meshopt_compression`): decoded when the file is
//! read, so that all that follows sees plain views. The decoders are those of the `meshopt` crate.

use serde_json::Value;

use super::append::remove_key;
use super::document::{Document, optional_count, required_count};
use super::error::GltfError;
use super::repack;

use super::document::MESHOPT as EXTENSION;

/// Decodes all views of a document. The buffers that only stood for decoded data are dropped.
pub fn decode_all(document: &mut Document) -> Result<(), GltfError> {
    let compressed: Vec<usize> = (0..document.array("bufferViews").len())
        .filter(|&view| compression(&document.array("bufferViews")[view]).is_some())
        .collect();
    if compressed.is_empty() {
        return Ok(());
    }
    // Views may stand for the same bytes again and again.
    let mut left = document.displacement_limit();
    for view in compressed {
        let bytes = decode(document, view)?;
        left = left.checked_sub(bytes.len()).ok_or_else(|| {
            GltfError::field(format!("bufferViews[{view}]"), "of a size that a file of this size can have")
        })?;
        let start = document.append_bytes(&bytes)?;
        let entry = document.entry_mut("bufferViews", view)?;
        entry["byteOffset"] = start.into();
        entry["byteLength"] = bytes.len().into();
        if let Some(extensions) = entry.get_mut("extensions") {
            remove_key(extensions, EXTENSION);
            if extensions.as_object().is_some_and(serde_json::Map::is_empty) {
                remove_key(entry, "extensions");
            }
        }
    }
    for key in ["extensionsUsed", "extensionsRequired"] {
        let Some(list) = document.json.get_mut(key).and_then(Value::as_array_mut) else { continue };
        list.retain(|name| name != EXTENSION);
        if list.is_empty() {
            remove_key(&mut document.json, key);
        }
    }
    repack::drop_unused_views(document)
}

fn compression(view: &Value) -> Option<&Value> {
    view.get("extensions")?.get(EXTENSION)
}

/// The bytes of one view.
fn decode(document: &Document, view: usize) -> Result<Vec<u8>, GltfError> {
    let entry = document.entry("bufferViews", view)?;
    let place = || format!("bufferViews[{view}].extensions.{EXTENSION}");
    let fail = |expected| GltfError::field(place(), expected);
    let form = compression(entry).ok_or_else(|| fail("there"))?;
    let count = required_count(form, "count", place)?;
    let stride = required_count(form, "byteStride", place)?;
    let start = optional_count(form, "byteOffset", place)?.unwrap_or(0);
    let encoded = document.bytes(start, required_count(form, "byteLength", place)?);
    let encoded = encoded.ok_or_else(|| fail("inside its buffer"))?;
    // The decoded size is the view's own, which was checked when buffers were read.
    let length = required_count(entry, "byteLength", || format!("bufferViews[{view}]"))?;
    if count.checked_mul(stride) != Some(length) {
        return Err(fail("of the size of its view"));
    }
    let text = |key: &str| form.get(key).and_then(Value::as_str);
    let damaged = |_| fail("decodable");
    let mut bytes = match (text("mode"), stride) {
        (Some("ATTRIBUTES"), _) => vertices(encoded, count, stride).ok_or_else(|| fail("decodable"))?,
        (Some("TRIANGLES"), 2) => {
            le_bytes(&meshopt::decode_index_buffer::<u16>(encoded, count).map_err(damaged)?)
        }
        (Some("TRIANGLES"), 4) => {
            le_bytes(&meshopt::decode_index_buffer::<u32>(encoded, count).map_err(damaged)?)
        }
        (Some("INDICES"), 2) => {
            le_bytes(&meshopt::decode_index_sequence::<u16>(encoded, count).map_err(damaged)?)
        }
        (Some("INDICES"), 4) => {
            le_bytes(&meshopt::decode_index_sequence::<u32>(encoded, count).map_err(damaged)?)
        }
        _ => return Err(fail("of a known mode")),
    };
    match (text("filter"), stride) {
        (None | Some("NONE"), _) => {}
        (Some("OCTAHEDRAL"), 4) => {
            filtered::<4, _>(
                &mut bytes,
                |b| b.map(|v| v as i8),
                meshopt::decode_filter_oct,
                |v| v.map(|v| v as u8),
            );
        }
        (Some("OCTAHEDRAL"), 8) => {
            filtered::<8, _>(&mut bytes, shorts, meshopt::decode_filter_oct, short_bytes);
        }
        (Some("QUATERNION"), 8) => {
            filtered::<8, _>(&mut bytes, shorts, meshopt::decode_filter_quat, short_bytes);
        }
        (Some("EXPONENTIAL"), _) if stride.is_multiple_of(4) => {
            let word = |b: [u8; 4]| [u32::from_le_bytes(b)];
            filtered::<4, _>(&mut bytes, word, meshopt::decode_filter_exp, |[v]| v.to_le_bytes());
        }
        _ => return Err(fail("of a known filter")),
    }
    Ok(bytes)
}

/// Elements of a vertex buffer. The decoder takes its stride from a type, so there is one for each.
fn vertices(encoded: &[u8], count: usize, stride: usize) -> Option<Vec<u8>> {
    macro_rules! by_stride {
        ($($words:literal)*) => {
            match stride {
                $(stride if stride == 4 * $words => {
                    let elements = meshopt::decode_vertex_buffer::<[u32; $words]>(encoded, count).ok()?;
                    Some(le_bytes(elements.as_flattened()))
                })*
                _ => None,
            }
        };
    }
    by_stride!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

/// Whole numbers as they stand in files.
fn le_bytes<T: Copy + LittleEndian>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(values));
    for value in values {
        value.push_to(&mut bytes);
    }
    bytes
}

trait LittleEndian {
    fn push_to(&self, bytes: &mut Vec<u8>);
}

impl LittleEndian for u16 {
    fn push_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl LittleEndian for u32 {
    fn push_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

/// Undoes a filter on elements of `N` bytes.
fn filtered<const N: usize, T>(
    bytes: &mut [u8],
    from_bytes: impl Fn([u8; N]) -> T,
    undo: impl Fn(&mut [T]),
    to_bytes: impl Fn(T) -> [u8; N],
) {
    let (elements, _) = bytes.as_chunks_mut::<N>();
    let mut values: Vec<T> = elements.iter().map(|element| from_bytes(*element)).collect();
    undo(&mut values);
    for (element, value) in elements.iter_mut().zip(values) {
        *element = to_bytes(value);
    }
}

fn shorts(bytes: [u8; 8]) -> [i16; 4] {
    let at = |i: usize| i16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    [at(0), at(1), at(2), at(3)]
}

fn short_bytes(values: [i16; 4]) -> [u8; 8] {
    let [a, b, c, d] = values.map(i16::to_le_bytes);
    [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conformance::{cases, glb};
    use crate::{model_of, read_model};

    /// A model whose views of vertices and triangles are compressed, as gltfpack lays them out.
    fn compressed(case: &cases::Case) -> Vec<u8> {
        let mut document = Document::from_bytes(&glb(case).unwrap(), None).unwrap();
        let plain = document.binary.clone();
        document.binary.clear();
        let views = document.json["bufferViews"].as_array().unwrap().len();
        let mut decoded = 0;
        let mut coded = 0;
        for index in 0..views {
            let view = document.json["bufferViews"][index].clone();
            let number = |key: &str| view[key].as_u64().map(|value| value as usize);
            let (start, length) = (number("byteOffset").unwrap_or(0), number("byteLength").unwrap());
            let bytes = &plain[start..start + length];
            let is_compressible =
                view["target"] == 34962 && view.get("byteStride").is_none() && length % 12 == 0;
            if !is_compressible {
                let start = document.append_bytes(bytes).unwrap();
                document.json["bufferViews"][index]["byteOffset"] = start.into();
                continue;
            }
            let words: Vec<[u32; 3]> = bytes
                .chunks_exact(12)
                .map(|c| [0, 4, 8].map(|i| u32::from_le_bytes([c[i], c[i + 1], c[i + 2], c[i + 3]])))
                .collect();
            let encoded = meshopt::encode_vertex_buffer(&words).unwrap();
            let at = document.append_bytes(&encoded).unwrap();
            let view = &mut document.json["bufferViews"][index];
            view["buffer"] = 1.into();
            view["byteOffset"] = decoded.into();
            view["extensions"] = json!({EXTENSION: {"buffer": 0, "byteOffset": at, "byteLength": encoded.len(),
                "mode": "ATTRIBUTES", "byteStride": 12, "count": words.len()}});
            decoded += length;
            coded += 1;
        }
        assert!(coded >= 2, "{coded}");
        document.record_length().unwrap();
        let fallback = json!({"byteLength": decoded, "extensions": {EXTENSION: {"fallback": true}}});
        document.json["buffers"].as_array_mut().unwrap().push(fallback);
        document.json["extensionsRequired"] = json!([EXTENSION]);
        document.to_glb().unwrap()
    }

    #[test]
    fn a_compressed_model_is_the_model() {
        let case = cases::all().unwrap().into_iter().find(|case| case.name == "kernels").unwrap();
        let bytes = compressed(&case);
        let (file, model) = read_model(&bytes).unwrap();
        assert_eq!(model, *case.model);
        assert!(file.document().json.get("extensionsRequired").is_none());

        // Every damaged file is an error or something else, never a panic.
        for at in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            if let Ok(document) = Document::from_bytes(&damaged, None) {
                let _ = model_of(document);
            }
        }
    }

    #[test]
    fn filters_are_undone() {
        // No turn, as the specification stores it: the largest component, number 3, is left out.
        let mut bytes = short_bytes([0, 0, 0, 3]).to_vec();
        filtered::<8, _>(&mut bytes, shorts, meshopt::decode_filter_quat, short_bytes);
        assert_eq!(shorts(bytes.try_into().unwrap()), [0, 0, 0, 32767]);
        // 3 · 2^-1, exponent in the upper eight bits.
        let mut bytes = (0xff00_0003_u32).to_le_bytes().to_vec();
        let word = |b: [u8; 4]| [u32::from_le_bytes(b)];
        filtered::<4, _>(&mut bytes, word, meshopt::decode_filter_exp, |[v]| v.to_le_bytes());
        assert_eq!(f32::from_le_bytes(bytes.try_into().unwrap()), 1.5);
    }
}
