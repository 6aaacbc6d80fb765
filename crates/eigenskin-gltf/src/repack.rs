//! Leaving out bytes that nothing names any more.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::Document;
use super::error::GltfError;

/// Drops buffer views that nothing names, and closes the gaps. Extensions name views by the same key, so those
/// that we do not know keep theirs; extras are left alone. Where views overlap, so that their bytes apart would be
/// more than there are, nothing is changed.
pub fn drop_unused_views(document: &mut Document) -> Result<(), GltfError> {
    let mut used = BTreeSet::new();
    each_reference(&mut document.json, &mut |view| {
        used.extend(view.as_u64().map(|view| view as usize));
    });
    let length = |&view: &usize| {
        let length = document.array("bufferViews").get(view)?.get("byteLength")?.as_u64()?;
        Some(length.saturating_add(3))
    };
    let apart = used.iter().filter_map(length).fold(0u64, u64::saturating_add);
    if apart > document.binary.len() as u64 + 3 * used.len() as u64 {
        return Ok(());
    }
    let mut old_views = std::mem::take(document.array_mut("bufferViews")?);
    let old_binary = std::mem::take(&mut document.binary);
    let mut new_index = vec![None; old_views.len()];
    let mut views = Vec::with_capacity(used.len());
    for old in used {
        let Some(mut view) = old_views.get_mut(old).map(Value::take) else { continue };
        let number = |key: &str| view.get(key).and_then(Value::as_u64).unwrap_or(0) as usize;
        let (start, length) = (number("byteOffset"), number("byteLength"));
        let bytes = start.checked_add(length).and_then(|end| old_binary.get(start..end));
        let bytes =
            bytes.ok_or_else(|| GltfError::field(format!("bufferViews[{old}]"), "inside its buffer"))?;
        view["byteOffset"] = document.append_bytes(bytes)?.into();
        new_index[old] = Some(views.len());
        views.push(view);
    }
    *document.array_mut("bufferViews")? = views;
    each_reference(&mut document.json, &mut |view| {
        let old = view.as_u64().unwrap_or(u64::MAX) as usize;
        if let Some(new) = new_index.get(old).copied().flatten() {
            *view = new.into();
        }
    });
    document.record_length()
}

/// Calls `visit` for every member `bufferView` outside of extras.
pub(crate) fn each_reference(json: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    match json {
        Value::Object(members) => {
            for (key, value) in members.iter_mut().filter(|(key, _)| *key != "extras") {
                if key == "bufferView" { visit(value) } else { each_reference(value, visit) }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| each_reference(entry, visit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_named_stays_and_the_rest_goes() {
        let mut document = Document::new();
        document.binary = (0..64).collect();
        let view =
            |start: usize, length: usize| json!({"buffer": 0, "byteOffset": start, "byteLength": length});
        document.json["buffers"] = json!([{"byteLength": 64}]);
        document.json["bufferViews"] = json!([view(0, 8), view(8, 24), view(32, 6), view(40, 4)]);
        document.json["accessors"] =
            json!([{"bufferView": 3, "sparse": {"indices": {"bufferView": 2}, "values": {"bufferView": 2}}}]);
        document.json["meshes"] = json!([{"extensions": {"VENDOR_cloud": {"bufferView": 0}}}]);
        document.json["extras"] = json!({"bufferView": 1});
        drop_unused_views(&mut document).unwrap();
        let bytes = |view: &Value| {
            let number =
                |key: &str| document.json["bufferViews"][view.as_u64().unwrap() as usize][key].as_u64();
            let start = number("byteOffset").unwrap() as usize;
            document.binary[start..start + number("byteLength").unwrap() as usize].to_vec()
        };
        let accessor = &document.json["accessors"][0];
        assert_eq!(bytes(&accessor["bufferView"]), [40, 41, 42, 43]);
        assert_eq!(bytes(&accessor["sparse"]["values"]["bufferView"]), [32, 33, 34, 35, 36, 37]);
        assert_eq!(accessor["sparse"]["indices"], accessor["sparse"]["values"]);
        assert_eq!(
            bytes(&document.json["meshes"][0]["extensions"]["VENDOR_cloud"]["bufferView"]),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        assert_eq!(document.json["extras"], json!({"bufferView": 1}), "not ours to touch");
        assert_eq!((document.array("bufferViews").len(), document.binary.len()), (3, 20));
    }

    /// Bytes that many views share would become as many copies.
    #[test]
    fn overlapping_views_are_left_alone() {
        let mut document = Document::new();
        document.binary = vec![7; 1000];
        let views: Vec<Value> = (0..50).map(|_| json!({"buffer": 0, "byteLength": 1000})).collect();
        let accessors: Vec<Value> = (0..50).map(|view| json!({"bufferView": view})).collect();
        document.json["bufferViews"] = views.into();
        document.json["accessors"] = accessors.into();
        document.record_length().unwrap();
        let before = document.clone();
        drop_unused_views(&mut document).unwrap();
        assert_eq!(document, before);
    }
}
