//! Sparse fields of vectors, all in one buffer view: fields that move the same vertices share the list of
//! them. Positions and normals of a component, and the two signs of it, always do.

use eigenskin_core::glam::Vec3;
use serde_json::{Value, json};

use super::append::{self, Usage};
use super::document::Document;
use super::error::GltfError;
use super::zeros;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// as they are
    F32,
    /// whole numbers of 16 bits
    Steps,
    /// whole numbers of 8 bits, 127 of which are one
    UnitBytes,
}

impl Form {
    /// The form in an accessor.
    pub fn describe(self, accessor: &mut Value) {
        accessor["componentType"] = match self {
            Self::F32 => 5126,
            Self::Steps => 5122,
            Self::UnitBytes => 5120,
        }
        .into();
        if self == Self::UnitBytes {
            accessor["normalized"] = true.into();
        }
    }

    /// A number in this form.
    pub fn write(self, value: f32, bytes: &mut Vec<u8>) {
        match self {
            Self::F32 => bytes.extend(value.to_le_bytes()),
            Self::Steps => bytes.extend((value as i16).to_le_bytes()),
            Self::UnitBytes => bytes.extend((value as i8).to_le_bytes()),
        }
    }

    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Steps => 2,
            Self::UnitBytes => 1,
        }
    }
}

/// Vectors that are zero except at some elements.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// elements in all
    pub count: usize,
    /// (`element`, rising, its value)
    pub entries: &'a [(u32, Vec3)],
    /// whether the accessor says its smallest and largest values, as positions must
    pub bounds: bool,
}

/// Fields of vectors that are appended to a document together.
#[derive(Debug)]
pub struct SparseFields {
    /// name of the accessors and the view
    name: String,
    /// elements of the largest sparse field of `f32`
    most: usize,
    /// lists of elements and where each begins in `bytes`
    lists: Vec<(Vec<u8>, usize)>,
    /// what the view will hold
    bytes: Vec<u8>,
    /// accessors that must still be told which view that is
    waiting: Vec<usize>,
    /// (elements, with bounds) of fields in which nothing moves, and their accessors: one of each serves all
    still: Vec<((usize, bool), usize)>,
}

impl SparseFields {
    /// No fields yet.
    pub fn new(name: &str) -> Self {
        let (lists, bytes, waiting, still) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { name: name.into(), most: 0, lists, bytes, waiting, still }
    }

    /// Appends a field; stored densely where that is smaller. Returns the accessor.
    pub fn push(&mut self, document: &mut Document, field: Field<'_>) -> Result<usize, GltfError> {
        if !field.entries.is_empty() {
            return self.push_as(document, Form::F32, field);
        }
        let key = (field.count, field.bounds);
        if let Some((_, accessor)) = self.still.iter().find(|(own, _)| *own == key) {
            return Ok(*accessor);
        }
        // A sparse accessor needs at least one entry.
        let accessor = self.push_as(document, Form::F32, Field { entries: &[(0, Vec3::ZERO)], ..field })?;
        self.still.push((key, accessor));
        Ok(accessor)
    }

    /// Puts a field of whole numbers in place of an accessor.
    pub fn replace(
        &mut self,
        document: &mut Document,
        accessor: usize,
        form: Form,
        field: Field<'_>,
    ) -> Result<(), GltfError> {
        let appended = self.push_as(document, form, field)?;
        append::replace_by_last(document, accessor)?;
        self.waiting
            .iter_mut()
            .filter(|waiting| **waiting == appended)
            .for_each(|waiting| *waiting = accessor);
        Ok(())
    }

    fn push_as(&mut self, document: &mut Document, form: Form, field: Field<'_>) -> Result<usize, GltfError> {
        let Field { count, entries, bounds } = field;
        let (index_size, index_type) = if count <= 0xffff { (2, 5123) } else { (4, 5125) };
        let list: Vec<u8> =
            entries.iter().flat_map(|(element, _)| element.to_le_bytes()[..index_size].to_vec()).collect();
        let known = self.lists.iter().find(|(known, _)| *known == list).map(|(_, start)| *start);
        let list_bytes = if known.is_some() { 0 } else { list.len().next_multiple_of(4) };
        let stride = (3 * form.size()).next_multiple_of(4);
        // The sparse form costs about 100 more characters of JSON.
        if list_bytes + entries.len() * 3 * form.size() + 100 >= count * stride {
            let mut values = vec![Vec3::ZERO; count];
            for &(element, value) in entries {
                values[element as usize] = value;
            }
            return append::vec3_as(document, &self.name, &values, form, bounds);
        }
        let list_start = known.unwrap_or_else(|| {
            let start = self.begin();
            self.bytes.extend(&list);
            self.lists.push((list, start));
            start
        });
        let values_start = self.begin();
        for value in entries.iter().flat_map(|(_, value)| value.to_array()) {
            form.write(value, &mut self.bytes);
        }
        let mut accessor = json!({
            "count": count, "type": "VEC3", "name": self.name,
            "sparse": {
                "count": entries.len(),
                "indices": {"byteOffset": list_start, "componentType": index_type},
                "values": {"byteOffset": values_start},
            },
        });
        form.describe(&mut accessor);
        if bounds {
            let rest = (entries.len() < count).then_some(Vec3::ZERO);
            append::set_bounds(&mut accessor, form, entries.iter().map(|&(_, v)| v).chain(rest));
        }
        if form == Form::F32 {
            self.most = self.most.max(count);
        }
        let accessor = append::push_accessor(document, accessor)?;
        self.waiting.push(accessor);
        Ok(accessor)
    }

    /// Where the next list or field begins.
    fn begin(&mut self) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.len()
    }

    /// Appends the view that the fields are in.
    pub fn finish(self, document: &mut Document) -> Result<(), GltfError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let view = append::push_view(document, &self.name, &self.bytes, Usage::Other)?;
        for accessor in self.waiting {
            let sparse = &mut document.entry_mut("accessors", accessor)?["sparse"];
            sparse["indices"]["bufferView"] = view.into();
            sparse["values"]["bufferView"] = view.into();
        }
        // Godot reads integers in no version that needs this.
        if self.most > 0 { zeros::put_first(document, 12 * self.most) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accessor;

    #[test]
    fn sparse_and_dense_read_back_alike() {
        let mut document = Document::new();
        let positions: Vec<Vec3> = (0..1000).map(|i| Vec3::splat(i as f32)).collect();
        append::vec3(&mut document, "base", &positions, Usage::Vertices, true).unwrap();
        let entries = [(3, Vec3::new(1.0, -2.0, 0.5)), (999, Vec3::X)];
        let turned = [(3, Vec3::Y), (999, Vec3::NEG_X)];
        let mut fields = SparseFields::new("eigenskin:target");
        let sparse =
            fields.push(&mut document, Field { count: 1000, entries: &entries, bounds: true }).unwrap();
        let second =
            fields.push(&mut document, Field { count: 1000, entries: &turned, bounds: false }).unwrap();
        let larger =
            fields.push(&mut document, Field { count: 2000, entries: &entries, bounds: false }).unwrap();
        let dense =
            fields.push(&mut document, Field { count: 4, entries: &entries[..1], bounds: true }).unwrap();
        let nothing = Field { count: 1000, entries: &[], bounds: true };
        let still = fields.push(&mut document, nothing).unwrap();
        assert_eq!(fields.push(&mut document, nothing).unwrap(), still);
        assert_ne!(fields.push(&mut document, Field { bounds: false, ..nothing }).unwrap(), still);
        fields.finish(&mut document).unwrap();

        let accessors = document.array("accessors");
        assert!(accessors[sparse].get("sparse").is_some() && accessors[dense].get("sparse").is_none());
        // Importers that take the first view of the file where there is none find zeros.
        assert!(accessors[sparse].get("bufferView").is_none());
        let view = &document.array("bufferViews")[0];
        assert_eq!((&view["byteLength"], view.get("byteStride")), (&json!(12 * 2000), None));
        let start = view["byteOffset"].as_u64().unwrap() as usize;
        assert!(document.binary[start..start + 12 * 2000].iter().all(|&byte| byte == 0));
        // One list for all that move the same elements.
        assert_eq!(accessors[sparse]["sparse"]["indices"], accessors[second]["sparse"]["indices"]);
        assert_eq!(accessors[sparse]["sparse"]["indices"], accessors[larger]["sparse"]["indices"]);
        assert_eq!(accessors[sparse]["min"], json!([0.0, -2.0, 0.0]));

        let values = accessor::read_vec3(&document, sparse).unwrap();
        assert_eq!((values[3], values[999]), (entries[0].1, Vec3::X));
        assert_eq!(values.iter().filter(|v| **v != Vec3::ZERO).count(), 2);
        let values = accessor::read_vec3(&document, second).unwrap();
        assert_eq!((values[3], values[999]), (Vec3::Y, Vec3::NEG_X));
        assert_eq!(accessor::read_vec3(&document, dense).unwrap()[3], entries[0].1);
        assert_eq!(accessor::read_vec3(&document, still).unwrap(), vec![Vec3::ZERO; 1000]);

        let before = document.binary.len();
        append::remove_own(&mut document).unwrap();
        assert_eq!(document.array("accessors").len(), 1);
        assert!(document.binary.len() < before);
        assert_eq!(accessor::read_vec3(&document, 0).unwrap(), positions);
    }
}
