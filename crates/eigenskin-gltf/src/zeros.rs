//! A view of zeros that comes first in a file.
//!
//! Sparse accessors without a buffer view are zero where they say nothing. Godot 3 takes the first view of the file
//! for it, whatever it holds, so that has to be zeros. A view that they name would do as well for Godot, but
//! Babylon writes the values of all accessors into one that they share, and gltfpack misreads values
//! above one whose elements are not dense.

use serde_json::{Value, json};

use super::append;
use super::document::Document;
use super::error::GltfError;
use super::repack;

/// The name of the view.
const NAME: &str = "eigenskin:zeros";

/// Puts a view of `length` zeros before all others, which move up by one.
pub fn put_first(document: &mut Document, length: usize) -> Result<(), GltfError> {
    let start = document.append_bytes(&vec![0; length])?;
    let view = json!({"buffer": 0, "byteOffset": start, "byteLength": length, "name": NAME});
    document.array_mut("bufferViews")?.insert(0, view);
    repack::each_reference(&mut document.json, &mut |view| {
        if let Some(index) = view.as_u64() {
            *view = (index + 1).into();
        }
    });
    Ok(())
}

/// Takes the view away again, if there is one.
pub fn remove(document: &mut Document) -> Result<(), GltfError> {
    let is_ours = |view: &Value| view.get("name").and_then(Value::as_str) == Some(NAME);
    if !document.array("bufferViews").first().is_some_and(is_ours) {
        return Ok(());
    }
    document.array_mut("bufferViews")?.remove(0);
    repack::each_reference(&mut document.json, &mut |view| {
        if let Some(index) = view.as_u64() {
            *view = index.saturating_sub(1).into();
        }
    });
    if document.array("bufferViews").is_empty() {
        append::remove_key(&mut document.json, "bufferViews");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_there_again() {
        let mut document = Document::new();
        document.json["bufferViews"] = json!([{"buffer": 0, "byteLength": 4}]);
        document.json["accessors"] = json!([{"bufferView": 0}]);
        document.json["images"] = json!([{"bufferView": 0, "extras": {"bufferView": 7}}]);
        document.binary = vec![1, 2, 3, 4];
        document.record_length().unwrap();
        let before = document.clone();
        put_first(&mut document, 24).unwrap();
        assert_eq!(document.json["bufferViews"][0]["byteLength"], 24);
        assert_eq!(document.json["images"][0], json!({"bufferView": 1, "extras": {"bufferView": 7}}));
        remove(&mut document).unwrap();
        append::remove_own(&mut document).unwrap();
        assert_eq!(document, before);
    }
}
