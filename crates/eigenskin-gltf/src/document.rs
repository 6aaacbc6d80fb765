//! A glTF file as it is: its JSON, untouched, and one binary buffer.
//!
//! Everything the input had is preserved: the JSON is edited, never rebuilt. Several buffers are
//! folded into one when the file is read, since a GLB has one.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use serde_json::{Value, json};

use super::container;
use super::error::GltfError;

/// A glTF file in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// the whole JSON; `buffers` has at most one entry, which is `binary`
    pub json: Value,
    /// the bytes all buffer views point into
    pub binary: Vec<u8>,
}

/// All buffers of a file together may not be larger than this: a GLB of 1 GiB.
pub const LARGEST_FILE: u64 = 1 << 30;

/// Extensions that say nothing about geometry, so that a file may require them.
const HARMLESS: [&str; 7] = [
    "KHR_texture_transform",
    "KHR_lights_punctual",
    "KHR_texture_basisu",
    "EXT_texture_webp",
    "EXT_texture_avif",
    "KHR_animation_pointer",
    // Geometry, but integers are read wherever numbers are.
    "KHR_mesh_quantization",
];

/// Compressed buffer views.
pub(crate) const MESHOPT: &str = "EXT_meshopt_compression";

impl Document {
    /// Reads a GLB or a .gltf from its bytes; `folder` is where external buffers are looked for.
    pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Self, GltfError> {
        let is_glb = bytes.starts_with(container::MAGIC);
        let looks_like_json = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        let (text, chunk) = if is_glb || !looks_like_json {
            let parts = container::split(bytes)?;
            (parts.json, parts.binary)
        } else {
            (bytes, None)
        };
        let json: Value = serde_json::from_slice(text).map_err(|error| GltfError::Json { error })?;
        check_version(&json)?;
        check_extensions(&json)?;
        let mut document = Self { json, binary: Vec::new() };
        document.fold_buffers(chunk, folder)?;
        #[cfg(feature = "meshopt")]
        super::meshopt_views::decode_all(&mut document)?;
        Ok(document)
    }

    /// The JSON of a GLB or .gltf alone, to see what a file is; there is no binary part.
    pub fn json_from_bytes(bytes: &[u8]) -> Result<Self, GltfError> {
        let text = if bytes.starts_with(container::MAGIC) { container::split(bytes)?.json } else { bytes };
        let json: Value = serde_json::from_slice(text).map_err(|error| GltfError::Json { error })?;
        check_version(&json)?;
        Ok(Self { json, binary: Vec::new() })
    }

    /// An empty document.
    pub fn new() -> Self {
        Self { json: json!({"asset": {"version": "2.0", "generator": "eigenskin"}}), binary: Vec::new() }
    }

    /// The document as a GLB.
    pub fn to_glb(&self) -> Result<Vec<u8>, GltfError> {
        let text = serde_json::to_vec(&self.json).map_err(|error| GltfError::Json { error })?;
        container::join(&text, &self.binary)
    }

    /// The entries of a top-level array; empty when there is none.
    pub fn array(&self, key: &str) -> &[Value] {
        self.json.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A top-level array to append to.
    pub fn array_mut(&mut self, key: &str) -> Result<&mut Vec<Value>, GltfError> {
        let top = self.json.as_object_mut().ok_or_else(|| GltfError::field("the JSON", "an object"))?;
        top.entry(key)
            .or_insert_with(|| json!([]))
            .as_array_mut()
            .ok_or_else(|| GltfError::field(key, "a list"))
    }

    /// One entry of a top-level array.
    pub fn entry(&self, key: &str, index: usize) -> Result<&Value, GltfError> {
        let entries = self.array(key);
        entries.get(index).ok_or_else(|| GltfError::Index {
            place: format!("a reference into {key}"),
            index: index as u64,
            count: entries.len(),
        })
    }

    /// One entry of a top-level array, to edit.
    pub fn entry_mut(&mut self, key: &str, index: usize) -> Result<&mut Value, GltfError> {
        let entries = self.array_mut(key)?;
        let count = entries.len();
        entries.get_mut(index).ok_or_else(|| GltfError::Index {
            place: format!("a reference into {key}"),
            index: index as u64,
            count,
        })
    }

    /// Bytes of memory that displacements of the file may take. Targets may name the same data again
    /// and again, or none at all, so that tiny files could ask for any amount.
    pub(crate) fn displacement_limit(&self) -> usize {
        self.binary.len().saturating_mul(64).saturating_add(1 << 26).min(1 << 30)
    }

    /// Bytes of a range, checked.
    pub(crate) fn bytes(&self, start: usize, length: usize) -> Option<&[u8]> {
        self.binary.get(start..start.checked_add(length)?)
    }

    /// Appends bytes at a multiple of four; returns where they start.
    pub(crate) fn append_bytes(&mut self, bytes: &[u8]) -> Result<usize, GltfError> {
        while !self.binary.len().is_multiple_of(4) {
            self.binary.push(0);
        }
        let start = self.binary.len();
        self.binary.extend_from_slice(bytes);
        self.record_length()?;
        Ok(start)
    }

    /// Makes the one buffer entry say how many bytes there are.
    pub(crate) fn record_length(&mut self) -> Result<(), GltfError> {
        let total = self.binary.len();
        let buffers = self.array_mut("buffers")?;
        buffers.truncate(1);
        if !buffers.first().is_some_and(Value::is_object) {
            *buffers = vec![json!({})];
        }
        buffers[0]["byteLength"] = total.into();
        Ok(())
    }

    /// Reads all buffers into `binary` and points the buffer views there.
    fn fold_buffers(&mut self, chunk: Option<&[u8]>, folder: Option<&Path>) -> Result<(), GltfError> {
        let mut starts = Vec::new();
        let mut files = BTreeSet::new();
        for (index, buffer) in self.array("buffers").to_vec().iter().enumerate() {
            let declared = required_count(buffer, "byteLength", || format!("buffers[{index}]"))?;
            if (self.binary.len() as u64).checked_add(declared as u64).is_none_or(|sum| sum > LARGEST_FILE) {
                let problem = format!(
                    "with its {declared} bytes there are more than {LARGEST_FILE}; leave out what is no rig"
                );
                return Err(GltfError::Buffer { buffer: index, problem });
            }
            let mut data = match buffer.get("uri") {
                Some(uri) => {
                    let uri = uri
                        .as_str()
                        .ok_or_else(|| GltfError::field(format!("buffers[{index}].uri"), "a text"))?;
                    load(index, uri, folder, declared, &mut files)?
                }
                None if stands_for_decoded(buffer) => {
                    let most = chunk.map_or(0, <[u8]>::len).saturating_mul(64).saturating_add(1 << 26);
                    if declared > most {
                        let problem = format!("{declared} bytes cannot have been compressed so far");
                        return Err(GltfError::Buffer { buffer: index, problem });
                    }
                    vec![0; declared]
                }
                None if index == 0 => chunk
                    .ok_or(GltfError::Buffer {
                        buffer: 0,
                        problem: "its data is missing; export the file again".into(),
                    })?
                    .to_vec(),
                None => {
                    return Err(GltfError::Buffer {
                        buffer: index,
                        problem: "it has no address; export the file again".into(),
                    });
                }
            };
            if data.len() < declared {
                let found = data.len();
                let problem = format!(
                    "it should have {declared} bytes, but only {found} are there; export the file again"
                );
                return Err(GltfError::Buffer { buffer: index, problem });
            }
            data.truncate(declared);
            // Accessors may need eight bytes at most; sixteen keeps other readers happy as well.
            self.binary.resize(self.binary.len().next_multiple_of(16), 0);
            starts.push((self.binary.len(), declared));
            self.binary.append(&mut data);
        }
        self.rebase_views(&starts)?;
        if starts.is_empty() {
            return Ok(());
        }
        self.record_length()?;
        super::append::remove_key(self.entry_mut("buffers", 0)?, "uri");
        Ok(())
    }

    fn rebase_views(&mut self, starts: &[(usize, usize)]) -> Result<(), GltfError> {
        if self.json.get("bufferViews").is_none() {
            return Ok(());
        }
        for (index, view) in self.array_mut("bufferViews")?.iter_mut().enumerate() {
            let place = || format!("bufferViews[{index}]");
            rebase(view, starts, &place)?;
            // Compressed copies of a view (meshopt and the like) point into buffers as well.
            if let Some(extensions) = view.get_mut("extensions").and_then(Value::as_object_mut) {
                for (_, extension) in extensions.iter_mut().filter(|(_, e)| e.get("buffer").is_some()) {
                    rebase(extension, starts, &place)?;
                }
            }
        }
        Ok(())
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

/// A member that must be a count; `place` names the object it is in.
pub(crate) fn required_count(
    object: &Value,
    key: &str,
    place: impl Fn() -> String,
) -> Result<usize, GltfError> {
    optional_count(object, key, &place)?
        .ok_or_else(|| GltfError::field(format!("{}.{key}", place()), "a whole number"))
}

/// A member that may be missing but else must be a count.
pub(crate) fn optional_count(
    object: &Value,
    key: &str,
    place: impl Fn() -> String,
) -> Result<Option<usize>, GltfError> {
    let Some(value) = object.get(key) else { return Ok(None) };
    // Some exporters write 3.0 for 3.
    let whole = value
        .as_u64()
        .or_else(|| value.as_f64().filter(|v| v.fract() == 0.0 && (0.0..9e15).contains(v)).map(|v| v as u64));
    whole
        .and_then(|v| usize::try_from(v).ok())
        .map(Some)
        .ok_or_else(|| GltfError::field(format!("{}.{key}", place()), "a whole number"))
}

/// A member that may be missing but else must name one of `count` things.
pub(crate) fn optional_index(
    object: &Value,
    key: &str,
    count: usize,
    place: impl Fn() -> String,
) -> Result<Option<usize>, GltfError> {
    match optional_count(object, key, &place)? {
        Some(index) if index >= count => {
            Err(GltfError::Index { place: format!("{}.{key}", place()), index: index as u64, count })
        }
        found => Ok(found),
    }
}

/// A list of indices, each below `count`; empty when the member is missing.
pub(crate) fn index_list(
    object: &Value,
    key: &str,
    count: usize,
    place: impl Fn() -> String,
) -> Result<Vec<usize>, GltfError> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    let list = value.as_array().ok_or_else(|| GltfError::field(format!("{}.{key}", place()), "a list"))?;
    list.iter()
        .map(|entry| {
            let index = entry.as_u64().ok_or_else(|| {
                GltfError::field(format!("an entry of {}.{key}", place()), "a whole number")
            })?;
            usize::try_from(index).ok().filter(|&i| i < count).ok_or_else(|| GltfError::Index {
                place: format!("an entry of {}.{key}", place()),
                index,
                count,
            })
        })
        .collect()
}

fn rebase(view: &mut Value, starts: &[(usize, usize)], place: &dyn Fn() -> String) -> Result<(), GltfError> {
    let buffer = optional_index(view, "buffer", starts.len(), place)?
        .ok_or_else(|| GltfError::field(format!("{}.buffer", place()), "a whole number"))?;
    let offset = optional_count(view, "byteOffset", place)?.unwrap_or(0);
    let length = required_count(view, "byteLength", place)?;
    let (start, size) = starts[buffer];
    if offset.checked_add(length).is_none_or(|end| end > size) {
        let problem = format!("{} reaches beyond its {size} bytes; export the file again", place());
        return Err(GltfError::Buffer { buffer, problem });
    }
    if start > 0 || view.get("byteOffset").is_some() {
        view["byteOffset"] = (start + offset).into();
    }
    view["buffer"] = 0.into();
    Ok(())
}

/// Whether a buffer has no bytes of its own: compressed views are decoded in its place, where they can be.
fn stands_for_decoded(buffer: &Value) -> bool {
    if !cfg!(feature = "meshopt") {
        return false;
    }
    let compression = buffer.get("extensions").and_then(|extensions| extensions.get(MESHOPT));
    compression.is_some_and(|compression| compression.get("fallback") == Some(&Value::Bool(true)))
}

fn check_version(json: &Value) -> Result<(), GltfError> {
    let version = json.get("asset").and_then(|asset| asset.get("version")).and_then(Value::as_str);
    match version {
        Some(version) if version.starts_with("2.") => Ok(()),
        other => Err(GltfError::Version { version: other.unwrap_or("").into() }),
    }
}

fn check_extensions(json: &Value) -> Result<(), GltfError> {
    let required = json.get("extensionsRequired").and_then(Value::as_array);
    let names: Vec<String> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| !name.starts_with("KHR_materials_") && !HARMLESS.contains(name))
        .filter(|name| !cfg!(feature = "meshopt") || *name != MESHOPT)
        .map(String::from)
        .collect();
    if names.is_empty() { Ok(()) } else { Err(GltfError::RequiredExtensions { names }) }
}

/// The data of a buffer; of a file no more than the `declared` bytes. `files` are those read so far.
fn load(
    buffer: usize,
    uri: &str,
    folder: Option<&Path>,
    declared: usize,
    files: &mut BTreeSet<PathBuf>,
) -> Result<Vec<u8>, GltfError> {
    let fail = |problem: String| GltfError::Buffer { buffer, problem };
    if let Some(data) = uri.strip_prefix("data:") {
        let (_, text) = data
            .split_once(";base64,")
            .ok_or_else(|| fail("its data address is not base64; export the file again".into()))?;
        return base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|error| fail(format!("its base64 data is damaged ({error}); export the file again")));
    }
    let name =
        percent_decoded(uri).ok_or_else(|| fail(format!("its address {uri:?} is damaged; export as GLB")))?;
    if name.contains("://") || Path::new(&name).is_absolute() {
        return Err(fail(format!("its address {uri:?} is not relative to the file; export as GLB")));
    }
    // A file from elsewhere must not pull others of the machine into what is written.
    let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if name.split(['/', '\\']).any(|part| part == "..") || !Path::new(&name).components().all(inside) {
        return Err(fail(format!(
            "its address {uri:?} leaves the folder of the file; put the buffer beside it, or export as GLB"
        )));
    }
    let folder = folder.ok_or_else(|| fail(format!("it is in another file, {uri:?}; export as GLB")))?;
    let cannot = |error: std::io::Error| fail(format!("cannot read {uri:?}: {error}"));
    let path = folder.join(&name);
    if !std::fs::metadata(&path).map_err(cannot)?.is_file() {
        return Err(fail(format!("its address {uri:?} is no file; export as GLB")));
    }
    // A small file could fill the memory by being named often.
    if !files.insert(path.canonicalize().map_err(cannot)?) {
        return Err(fail(format!("its address {uri:?} is the same file as another buffer's; export as GLB")));
    }
    let mut data = Vec::new();
    let file = std::fs::File::open(&path).map_err(cannot)?;
    file.take(declared as u64).read_to_end(&mut data).map_err(cannot)?;
    Ok(data)
}

fn percent_decoded(uri: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gltf_with(uri: &str, length: usize) -> Vec<u8> {
        json!({"asset": {"version": "2.0"}, "buffers": [{"uri": uri, "byteLength": length}],
               "bufferViews": [{"buffer": 0, "byteOffset": 1, "byteLength": 2}]})
        .to_string()
        .into_bytes()
    }

    #[test]
    fn several_buffers_become_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a file.bin"), [1, 2, 3, 4, 5]).unwrap();
        let json = json!({
            "asset": {"version": "2.0"}, "unknown": {"kept": [1, 2.5, "x"]},
            "buffers": [{"uri": "a%20file.bin", "byteLength": 5, "name": "first"},
                        {"uri": "data:application/octet-stream;base64,BgcI", "byteLength": 3}],
            "bufferViews": [{"buffer": 0, "byteLength": 5}, {"buffer": 1, "byteOffset": 1, "byteLength": 2}],
        });
        let document = Document::from_bytes(json.to_string().as_bytes(), Some(folder.path())).unwrap();
        let view = &document.array("bufferViews")[1];
        let start = view["byteOffset"].as_u64().unwrap() as usize;
        assert_eq!(document.binary[start..start + 2], [7, 8]);
        assert_eq!(document.array("buffers").len(), 1);
        assert_eq!(document.array("buffers")[0]["name"], "first");

        let again = Document::from_bytes(&document.to_glb().unwrap(), None).unwrap();
        assert_eq!(again, document);
        assert_eq!(again.json["unknown"], json["unknown"]);
    }

    #[test]
    fn bad_buffers_are_refused() {
        for (uri, length) in [
            ("data:;base64,AAAA", 4),
            ("data:;base64,A*", 1),
            ("data:text/plain,AAAA", 3),
            ("missing.bin", 3),
            ("https://example.com/a.bin", 3),
            ("%zz.bin", 3),
            ("/etc/hostname", 1),
        ] {
            let error = Document::from_bytes(&gltf_with(uri, length), Some(Path::new("."))).unwrap_err();
            assert!(matches!(error, GltfError::Buffer { buffer: 0, .. }), "{uri}: {error}");
        }
        let reaching = gltf_with("data:;base64,AAAA", 2);
        assert!(matches!(Document::from_bytes(&reaching, None), Err(GltfError::Buffer { .. })));
    }

    /// A build that cannot decode must not take missing data for zeros.
    #[cfg(not(feature = "meshopt"))]
    #[test]
    fn data_that_is_compressed_is_not_read_as_zeros() {
        let json = json!({"asset": {"version": "2.0"}, "extensionsUsed": [MESHOPT],
            "buffers": [{"byteLength": 4, "extensions": {MESHOPT: {"fallback": true}}}]});
        let error = Document::from_bytes(json.to_string().as_bytes(), None).unwrap_err();
        assert!(matches!(error, GltfError::Buffer { buffer: 0, .. }), "{error}");
    }

    #[test]
    fn what_we_cannot_understand_is_named() {
        let required = |names: &[&str]| {
            let json = json!({"asset": {"version": "2.0"}, "extensionsRequired": names});
            Document::from_bytes(json.to_string().as_bytes(), None)
        };
        assert!(required(&["KHR_materials_unlit", "KHR_texture_transform"]).is_ok());
        let error = required(&["KHR_draco_mesh_compression", "KHR_materials_unlit"]).unwrap_err().to_string();
        assert!(error.contains("KHR_draco_mesh_compression") && !error.contains("unlit"), "{error}");
        let old = json!({"asset": {"version": "1.0"}}).to_string();
        assert!(matches!(Document::from_bytes(old.as_bytes(), None), Err(GltfError::Version { .. })));
    }
}
