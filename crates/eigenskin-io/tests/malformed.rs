//! Damaged files give an error and never a panic.
// Helpers of integration tests are no tests to the linter.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use eigenskin_io::conformance::{cases, glb};
use eigenskin_io::gltf::document::Document;
use eigenskin_io::{GltfError, ReadOptions, examples_glb, examples_of, model_of, rig_glb, rig_of};
use eigenskin_io::{RigFile, conformance::random::Random};
use serde_json::{Value, json};

fn model_bytes() -> Vec<u8> {
    glb(&cases::all().unwrap().remove(0)).unwrap()
}

/// Reads a file in every way there is.
fn read_all(bytes: &[u8]) -> Result<(), GltfError> {
    let document = Document::from_bytes(bytes, None)?;
    rig_of(document.clone(), &ReadOptions::default())?;
    let examples = examples_of(document.clone(), &ReadOptions::default()).map(|_| ());
    model_of(document).map(|_| ()).or(examples)
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = model_bytes();
    assert!(read_all(&bytes).is_ok());
    for length in (0..bytes.len()).step_by(97).chain(0..64) {
        assert!(read_all(&bytes[..length]).is_err(), "{length}");
    }
}

/// A shortened binary part with consistent headers: accessors must notice.
#[test]
fn a_short_binary_part_is_an_error() {
    let whole = common::document(&model_bytes());
    for keep in [0, 1, 100, 1000, whole.binary.len() - 1] {
        let mut document = whole.clone();
        document.binary.truncate(keep);
        assert!(
            rig_of(document.clone(), &ReadOptions::default()).is_err() || model_of(document).is_err(),
            "{keep}"
        );
    }
}

/// Every number and every text of the JSON is replaced by nonsense, one at a time: whatever
/// happens, it is no panic and no endless loop.
#[test]
fn no_nonsense_value_panics() {
    let case = cases::all().unwrap().remove(0);
    let file = RigFile::from_rig(case.model.rig().clone(), "x").unwrap();
    let set = common::examples_of(&case, 1);
    let mut errors = 0;
    for bytes in [model_bytes(), rig_glb(&file).unwrap(), examples_glb(&file, &set).unwrap()] {
        let document = common::document(&bytes);
        let mut paths = Vec::new();
        collect(&document.json, String::new(), &mut paths);
        let mut random = Random::new(5);
        for path in &paths {
            // Large tables of numbers are alike; a sample of them will do.
            if paths.len() > 1500 && random.between(0.0, 1.0) > 1500.0 / paths.len() as f64 {
                continue;
            }
            let nonsense = [
                json!(-1),
                json!(4_294_967_295u64),
                json!(u64::MAX),
                json!(0.5),
                json!("x"),
                Value::Null,
                json!([]),
                json!(0),
            ];
            let value = nonsense[random.below(nonsense.len())].clone();
            let mut broken = document.clone();
            *broken.json.pointer_mut(path).unwrap() = value;
            let results = [
                rig_of(broken.clone(), &ReadOptions::default()).is_err(),
                model_of(broken.clone()).is_err(),
                examples_of(broken, &ReadOptions::default()).is_err(),
            ];
            errors += results.iter().filter(|e| **e).count();
        }
    }
    assert!(errors > 100, "{errors}");
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                collect(member, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), paths);
            }
        }
        Value::Array(entries) => {
            for (index, entry) in entries.iter().enumerate() {
                collect(entry, format!("{path}/{index}"), paths);
            }
        }
        _ => {}
    }
    if !path.is_empty() {
        paths.push(path);
    }
}

fn broken_rig(change: impl FnOnce(&mut Document)) -> String {
    let case = cases::all().unwrap().remove(0);
    let file = RigFile::from_rig(case.model.rig().clone(), "x").unwrap();
    let mut document = file.document().clone();
    change(&mut document);
    rig_of(document, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn errors_name_the_culprit() {
    let cyclic = broken_rig(|d| d.json["nodes"][3]["children"] = json!([0]));
    assert!(cyclic.contains("node"), "{cyclic}");
    let stray = broken_rig(|d| d.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = 99.into());
    assert!(stray.contains("99") && stray.contains("POSITION"), "{stray}");
    let absurd = broken_rig(|d| d.json["accessors"][0]["count"] = 4_000_000_000u64.into());
    assert!(absurd.contains("accessor 0"), "{absurd}");
    let nan = broken_rig(|d| d.binary[4..8].copy_from_slice(&f32::NAN.to_le_bytes()));
    assert!(nan.contains("element 0") && nan.contains("not finite"), "{nan}");
    let twice = broken_rig(|d| d.json["nodes"][1]["name"] = "joint-0".into());
    assert!(twice.contains("joint-0"), "{twice}");
    let unbound = broken_rig(|d| {
        let attributes = d.json["meshes"][0]["primitives"][0]["attributes"].as_object_mut().unwrap();
        attributes.remove("WEIGHTS_0");
    });
    assert!(unbound.contains("skin weights"), "{unbound}");
    let magic = Document::from_bytes(b"PK\x03\x04 not a glb", None).unwrap_err().to_string();
    assert!(magic.contains("glTF"), "{magic}");
}

#[test]
fn several_skins_are_listed() {
    let error = broken_rig(|d| {
        let skin = d.json["skins"][0].clone();
        d.json["skins"] = json!([skin.clone(), skin]);
        d.json["skins"][1]["name"] = "second".into();
        let node = d.json["nodes"].as_array().unwrap().iter().position(|n| n.get("skin").is_some()).unwrap();
        let mut copy = d.json["nodes"][node].clone();
        copy["skin"] = 1.into();
        d.json["nodes"].as_array_mut().unwrap().push(copy);
    });
    assert!(error.contains("second") && error.contains('x'), "{error}");
}
