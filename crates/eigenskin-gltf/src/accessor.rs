//! Bounds-checked reading of accessors: all component types, strides, normalised integers, sparse
//! values with or without a dense base.
//!
//! Nothing is allocated from a count that the data does not bear out.

use eigenskin_core::glam::{DAffine3, DVec3, DVec4, Vec3, Vec4};
use serde_json::Value;

use super::document::{Document, optional_count, optional_index, required_count};
use super::error::GltfError;

/// The values of an accessor.
#[derive(Debug, Clone, PartialEq)]
pub struct Elements {
    /// numbers per element
    pub width: usize,
    /// `element × width`; normalised integers are already in [0, 1] or [−1, 1]
    pub values: Vec<f64>,
}

/// Numbers of one accessor at most: 512 MiB of them.
const MOST_VALUES: usize = 1 << 26;

/// Reads an accessor of one of the given types (`"VEC3"`…). All values are finite.
pub fn read(document: &Document, accessor: usize, types: &[&str]) -> Result<Elements, GltfError> {
    let header = Header::of(document, accessor, types)?;
    let entry = document.entry("accessors", accessor)?;
    let place = || format!("accessors[{accessor}]");
    let total = header
        .count
        .checked_mul(header.width)
        .filter(|&total| total <= MOST_VALUES)
        .ok_or_else(|| fail(accessor, "has an absurd number of elements"))?;
    let view = optional_index(entry, "bufferView", document.array("bufferViews").len(), place)?;
    let mut values = match view {
        Some(view) => {
            let offset = optional_count(entry, "byteOffset", place)?.unwrap_or(0);
            let block = Block { accessor, view, offset, count: header.count };
            block.read(document, header.component, header.width, header.normalized)?
        }
        // Zeros are not stored, so their number can only be held against the rest of the file:
        // there is at least a byte for every vertex somewhere.
        None if header.count > document.binary.len() => {
            return Err(fail(accessor, "has more elements than the file has bytes"));
        }
        None => vec![0.0; total],
    };
    if let Some(sparse) = entry.get("sparse") {
        read_sparse(document, accessor, sparse, &header, &mut values)?;
    }
    if let Some(bad) = values.iter().position(|v| !v.is_finite()) {
        let problem = format!("has a number at element {} that is not finite", bad / header.width);
        return Err(GltfError::Accessor { accessor, problem });
    }
    Ok(Elements { width: header.width, values })
}

/// Number of elements, without reading them.
pub fn count(document: &Document, accessor: usize) -> Result<usize, GltfError> {
    required_count(document.entry("accessors", accessor)?, "count", || format!("accessors[{accessor}]"))
}

/// Writes other numbers (`element × width`) over those of an accessor that has been read; only where they are
/// `f32` in a buffer view. Whether that is so.
pub fn overwrite(
    document: &mut Document,
    accessor: usize,
    width: usize,
    values: &[f32],
) -> Result<bool, GltfError> {
    let entry = document.entry("accessors", accessor)?;
    let place = || format!("accessors[{accessor}]");
    let is_plain =
        entry.get("sparse").is_none() && entry.get("componentType").and_then(Value::as_u64) == Some(5126);
    let view = optional_index(entry, "bufferView", document.array("bufferViews").len(), place)?;
    let Some(view) = view.filter(|_| is_plain) else { return Ok(false) };
    let offset = optional_count(entry, "byteOffset", place)?.unwrap_or(0);
    let view = document.entry("bufferViews", view)?;
    let start = optional_count(view, "byteOffset", place)?.unwrap_or(0) + offset;
    let stride = optional_count(view, "byteStride", place)?.unwrap_or(4 * width);
    for (element, values) in values.chunks_exact(width).enumerate() {
        let at = start + element * stride;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let Some(place) = document.binary.get_mut(at..at + bytes.len()) else { return Ok(false) };
        place.copy_from_slice(&bytes);
    }
    Ok(true)
}

/// The elements that an accessor gives one by one, rising; none when it is not sparse.
pub fn sparse_elements(document: &Document, accessor: usize) -> Result<Option<Vec<u32>>, GltfError> {
    let entry = document.entry("accessors", accessor)?;
    let Some(sparse) = entry.get("sparse") else { return Ok(None) };
    let elements = sparse_indices(document, accessor, sparse)?;
    elements.into_iter().map(|element| whole(accessor, element)).collect::<Result<_, _>>().map(Some)
}

/// A list of points or directions.
pub fn read_vec3(document: &Document, accessor: usize) -> Result<Vec<Vec3>, GltfError> {
    let elements = read(document, accessor, &["VEC3"])?;
    Ok(elements.values.chunks_exact(3).map(|v| DVec3::from_slice(v).as_vec3()).collect())
}

/// A list of directions with a fourth number.
pub fn read_vec4(document: &Document, accessor: usize) -> Result<Vec<Vec4>, GltfError> {
    let elements = read(document, accessor, &["VEC4"])?;
    Ok(elements.values.chunks_exact(4).map(|v| DVec4::from_slice(v).as_vec4()).collect())
}

/// A list of whole numbers.
pub fn read_indices(document: &Document, accessor: usize) -> Result<Vec<u32>, GltfError> {
    let elements = read(document, accessor, &["SCALAR"])?;
    elements.values.iter().map(|&v| whole(accessor, v)).collect()
}

/// Joint indices, four per vertex.
pub fn read_joints(document: &Document, accessor: usize) -> Result<Vec<[u32; 4]>, GltfError> {
    let elements = read(document, accessor, &["VEC4"])?;
    let mut joints = Vec::with_capacity(elements.values.len() / 4);
    for four in elements.values.chunks_exact(4) {
        let mut entry = [0; 4];
        for (slot, &value) in entry.iter_mut().zip(four) {
            *slot = whole(accessor, value)?;
        }
        joints.push(entry);
    }
    Ok(joints)
}

/// Skin weights, four per vertex.
pub fn read_weights(document: &Document, accessor: usize) -> Result<Vec<[f32; 4]>, GltfError> {
    let elements = read(document, accessor, &["VEC4"])?;
    Ok(elements
        .values
        .chunks_exact(4)
        .map(|w| [w[0] as f32, w[1] as f32, w[2] as f32, w[3] as f32])
        .collect())
}

/// Affine transforms; the last row is taken to be 0 0 0 1.
pub fn read_transforms(document: &Document, accessor: usize) -> Result<Vec<DAffine3>, GltfError> {
    let elements = read(document, accessor, &["MAT4"])?;
    Ok(elements.values.chunks_exact(16).map(affine_of_columns).collect())
}

/// The transform of a column-major 4 × 4 matrix.
pub(crate) fn affine_of_columns(m: &[f64]) -> DAffine3 {
    DAffine3::from_cols(
        DVec3::new(m[0], m[1], m[2]),
        DVec3::new(m[4], m[5], m[6]),
        DVec3::new(m[8], m[9], m[10]),
        DVec3::new(m[12], m[13], m[14]),
    )
}

/// The number types of glTF.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn of(code: usize) -> Option<Self> {
        Some(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// The value of `size` bytes.
    fn value(self, b: &[u8]) -> f64 {
        match self {
            Self::I8 => f64::from(b[0] as i8),
            Self::U8 => f64::from(b[0]),
            Self::I16 => f64::from(i16::from_le_bytes([b[0], b[1]])),
            Self::U16 => f64::from(u16::from_le_bytes([b[0], b[1]])),
            Self::U32 => f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])),
            Self::F32 => f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        }
    }

    fn normalized(self, value: f64) -> f64 {
        match self {
            Self::I8 => (value / 127.0).max(-1.0),
            Self::U8 => value / 255.0,
            Self::I16 => (value / 32767.0).max(-1.0),
            Self::U16 => value / 65535.0,
            Self::U32 => value / f64::from(u32::MAX),
            Self::F32 => value,
        }
    }
}

struct Header {
    count: usize,
    width: usize,
    component: Component,
    normalized: bool,
}

impl Header {
    fn of(document: &Document, accessor: usize, types: &[&str]) -> Result<Self, GltfError> {
        let entry = document.entry("accessors", accessor)?;
        let place = || format!("accessors[{accessor}]");
        let count = required_count(entry, "count", place)?;
        let component = Component::of(required_count(entry, "componentType", place)?)
            .ok_or_else(|| GltfError::field(format!("{}.componentType", place()), "a known number type"))?;
        let kind = entry.get("type").and_then(Value::as_str).unwrap_or("");
        if !types.contains(&kind) {
            let problem = format!("has the type {kind:?}, expected {}", types.join(" or "));
            return Err(GltfError::Accessor { accessor, problem });
        }
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            _ => return Err(fail(accessor, "has an unknown type")),
        };
        let normalized = entry.get("normalized").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { count, width, component, normalized })
    }
}

/// A run of elements in a buffer view.
struct Block {
    accessor: usize,
    view: usize,
    offset: usize,
    count: usize,
}

impl Block {
    /// `count × width` values, after checking that the view holds them.
    fn read(
        &self,
        document: &Document,
        component: Component,
        width: usize,
        normalized: bool,
    ) -> Result<Vec<f64>, GltfError> {
        let view = document.entry("bufferViews", self.view)?;
        let place = || format!("bufferViews[{}]", self.view);
        let start = optional_count(view, "byteOffset", place)?.unwrap_or(0);
        let length = required_count(view, "byteLength", place)?;
        let element = component.size() * width;
        let stride = optional_count(view, "byteStride", place)?.unwrap_or(element);
        let bytes = document
            .bytes(start, length)
            .ok_or_else(|| fail(self.accessor, "points to a view beyond the end of the file"))?;
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let needed = (self.count - 1)
            .checked_mul(stride)
            .and_then(|n| n.checked_add(element))
            .and_then(|n| n.checked_add(self.offset));
        if stride < element || needed.is_none_or(|needed| needed > length) {
            return Err(fail(self.accessor, "reaches beyond the end of its buffer view"));
        }
        let mut values = Vec::with_capacity(self.count * width);
        for index in 0..self.count {
            let at = self.offset + index * stride;
            for part in bytes[at..at + element].chunks_exact(component.size()) {
                let value = component.value(part);
                values.push(if normalized { component.normalized(value) } else { value });
            }
        }
        Ok(values)
    }
}

fn read_sparse(
    document: &Document,
    accessor: usize,
    sparse: &Value,
    header: &Header,
    values: &mut [f64],
) -> Result<(), GltfError> {
    let count = required_count(sparse, "count", || format!("accessors[{accessor}].sparse"))?;
    if count > header.count {
        return Err(fail(accessor, "has more sparse values than elements"));
    }
    let indices = sparse_indices(document, accessor, sparse)?;
    let (_, block) = sparse_part(document, accessor, sparse, "values")?;
    let replacements = block.read(document, header.component, header.width, header.normalized)?;
    let mut last = None;
    for (&index, replacement) in indices.iter().zip(replacements.chunks_exact(header.width)) {
        let index = index as usize;
        if index >= header.count || last.is_some_and(|last| last >= index) {
            return Err(fail(accessor, "has sparse indices that do not rise or are out of range"));
        }
        last = Some(index);
        values[index * header.width..(index + 1) * header.width].copy_from_slice(replacement);
    }
    Ok(())
}

fn sparse_indices(document: &Document, accessor: usize, sparse: &Value) -> Result<Vec<f64>, GltfError> {
    let (entry, block) = sparse_part(document, accessor, sparse, "indices")?;
    let component =
        Component::of(required_count(entry, "componentType", || format!("accessors[{accessor}].sparse"))?)
            .filter(|c| matches!(c, Component::U8 | Component::U16 | Component::U32))
            .ok_or_else(|| fail(accessor, "has sparse indices that are not whole numbers"))?;
    block.read(document, component, 1, false)
}

/// The indices or the values of a sparse accessor.
fn sparse_part<'a>(
    document: &Document,
    accessor: usize,
    sparse: &'a Value,
    key: &str,
) -> Result<(&'a Value, Block), GltfError> {
    let place = || format!("accessors[{accessor}].sparse");
    let count = required_count(sparse, "count", place)?;
    let part = sparse.get(key).ok_or_else(|| GltfError::field(format!("{}.{key}", place()), "there"))?;
    let view = optional_index(part, "bufferView", document.array("bufferViews").len(), place)?
        .ok_or_else(|| GltfError::field(format!("{}.{key}.bufferView", place()), "there"))?;
    let offset = optional_count(part, "byteOffset", place)?.unwrap_or(0);
    Ok((part, Block { accessor, view, offset, count }))
}

fn whole(accessor: usize, value: f64) -> Result<u32, GltfError> {
    if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
        Ok(value as u32)
    } else {
        Err(fail(accessor, "holds numbers that should be whole and are not"))
    }
}

fn fail(accessor: usize, problem: &str) -> GltfError {
    GltfError::Accessor { accessor, problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(bytes: &[u8], views: &Value, accessor: &Value) -> Document {
        Document {
            json: json!({"asset": {"version": "2.0"}, "buffers": [{"byteLength": bytes.len()}],
                         "bufferViews": views, "accessors": [accessor]}),
            binary: bytes.to_vec(),
        }
    }

    #[test]
    fn strides_offsets_and_normalised_integers() {
        let bytes = [9, 0x80, 0x7f, 0, 9, 0x81, 0x01, 0xff];
        let view = json!([{"buffer": 0, "byteOffset": 0, "byteLength": 8, "byteStride": 4}]);
        let accessor = json!({"bufferView": 0, "byteOffset": 1, "componentType": 5120, "normalized": true,
                              "count": 2, "type": "VEC3"});
        let elements = read(&document(&bytes, &view, &accessor), 0, &["VEC3"]).unwrap();
        // −128 is clamped to −1.
        assert_eq!(elements.values, [-1.0, 1.0, 0.0, -1.0, 1.0 / 127.0, -1.0 / 127.0]);
    }

    #[test]
    fn sparse_values_on_zeros_and_on_a_base() {
        let mut bytes = vec![2u8, 0, 0, 0];
        bytes.extend(5.5f32.to_le_bytes());
        bytes.extend([1.0f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()));
        let views = json!([{"buffer": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 12}]);
        let sparse = json!({"count": 1, "indices": {"bufferView": 0, "componentType": 5123},
                            "values": {"bufferView": 0, "byteOffset": 4}});
        let zeros = json!({"componentType": 5126, "count": 3, "type": "SCALAR", "sparse": sparse});
        let read_it = |accessor: &Value| read(&document(&bytes, &views, accessor), 0, &["SCALAR"]);
        assert_eq!(read_it(&zeros).unwrap().values, [0.0, 0.0, 5.5]);
        let mut based = zeros.clone();
        based["bufferView"] = 1.into();
        assert_eq!(read_it(&based).unwrap().values, [1.0, 2.0, 5.5]);

        let mut short = zeros.clone();
        short["count"] = 2.into();
        assert!(read_it(&short).is_err(), "sparse index beyond the end");
        let mut absurd = zeros.clone();
        absurd["count"] = 4_000_000_000u64.into();
        assert!(read_it(&absurd).is_err(), "absurd count of zeros");
        based["count"] = 4.into();
        assert!(read_it(&based).is_err(), "view too short");
        based["count"] = (-1).into();
        assert!(matches!(read_it(&based), Err(GltfError::Field { .. })));
    }

    #[test]
    fn nan_is_refused() {
        let bytes = f32::NAN.to_le_bytes();
        let accessor = json!({"bufferView": 0, "componentType": 5126, "count": 1, "type": "SCALAR"});
        let document = document(&bytes, &json!([{"buffer": 0, "byteLength": 4}]), &accessor);
        assert!(read(&document, 0, &["SCALAR"]).unwrap_err().to_string().contains("element 0"));
        assert!(read(&document, 0, &["VEC3"]).unwrap_err().to_string().contains("VEC3"));
        assert!(read(&document, 7, &["SCALAR"]).is_err());
    }
}
