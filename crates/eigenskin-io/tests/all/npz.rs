//! Numpy bundles made here, with everything that can be wrong with them.

use std::io::{Cursor, Write};
use std::sync::Arc;

use eigenskin_core::weights::{Influence, SkinWeights};
use eigenskin_io::NpzError;
use eigenskin_io::npz::Bundle;

/// One array: its key, numpy type, shape, and bytes.
type Entry = (&'static str, &'static str, Vec<usize>, Vec<u8>);

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn texts(width: usize, values: &[&str]) -> Vec<u8> {
    let padded = |text: &&str| -> Vec<u32> {
        text.chars().map(|c| c as u32).chain(std::iter::repeat(0)).take(width).collect()
    };
    values.iter().flat_map(padded).flat_map(u32::to_le_bytes).collect()
}

fn npz(entries: &[Entry]) -> Cursor<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (key, kind, shape, data) in entries {
        archive.start_file(format!("{key}.npy"), options).unwrap();
        let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let shape = extents.join(", ") + ",";
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
        header.push_str(&" ".repeat(63 - (header.len() + 10) % 64));
        header.push('\n');
        archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
        archive.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        archive.write_all(header.as_bytes()).unwrap();
        archive.write_all(data).unwrap();
    }
    Cursor::new(archive.finish().unwrap().into_inner())
}

/// A quad with two joints, the child listed first, one pose that lifts the child by 2.
fn complete() -> Vec<Entry> {
    let identity = [1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.];
    let mut child = identity;
    child[3] = 1.0; // x of the translation: last column of the first row
    let mut lifted = child;
    lifted[11] = 2.0;
    let rest = f32s(&[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]);
    vec![
        ("rest", "<f4", vec![4, 3], rest.clone()),
        ("faces", "<i8", vec![1, 4], [0i64, 1, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("weights", "<f4", vec![4, 2], f32s(&[0., 1., 1., 0., 1., 0., 0., 1.])),
        ("parents", "<i4", vec![2], [1i32, -1].iter().flat_map(|v| v.to_le_bytes()).collect()),
        ("names", "<U5", vec![2], texts(5, &["tip", "root"])),
        ("bind", "<f4", vec![2, 4, 4], f32s(&[child, identity].concat())),
        ("joint_world", "<f4", vec![1, 2, 4, 4], f32s(&[lifted, identity].concat())),
        ("truth", "<f4", vec![1, 4, 3], rest),
        ("controls", "<f4", vec![1, 1], f32s(&[0.5])),
        ("control_names", "<U4", vec![1], texts(4, &["load"])),
    ]
}

fn without(key: &str) -> Vec<Entry> {
    complete().into_iter().filter(|entry| entry.0 != key).collect()
}

fn error_of(entries: &[Entry]) -> NpzError {
    let made = Bundle::from_reader(npz(entries)).and_then(|bundle| {
        let rig = Arc::new(bundle.rig(None)?.0);
        bundle.examples(&rig)
    });
    made.unwrap_err()
}

#[test]
fn a_bundle_is_read_as_written() {
    let bundle = Bundle::from_reader(npz(&complete())).unwrap();
    let (rig, _) = bundle.rig(None).unwrap();
    assert_eq!(rig.mesh().triangles(), [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(rig.skeleton().joints()[0].parent, Some(1));
    assert_eq!(rig.skeleton().rest_position(0).to_array(), [1.0, 0.0, 0.0]);
    assert_eq!(rig.controls()[0].name, "load");
    let set = bundle.examples(&Arc::new(rig)).unwrap();
    let example = &set.examples()[0];
    assert_eq!(example.name, "pose 0");
    assert_eq!(example.pose.world_from_joint[0].translation.to_array(), [1.0, 0.0, 2.0]);
    assert_eq!(example.pose.controls, [0.5]);
}

/// Triangles among quads repeat a corner, or mark the missing one with -1.
#[test]
fn triangles_among_quads() {
    let mut entries = complete();
    let faces: [i64; 12] = [0, 1, 2, 2, 0, 2, 3, -1, 0, 1, 2, 3];
    entries[1] = ("faces", "<i8", vec![3, 4], faces.iter().flat_map(|v| v.to_le_bytes()).collect());
    let (rig, _) = Bundle::from_reader(npz(&entries)).unwrap().rig(None).unwrap();
    assert_eq!(rig.mesh().triangles(), [[0, 1, 2], [0, 2, 3], [0, 1, 2], [0, 2, 3]]);
}

#[test]
fn missing_arrays_are_named() {
    for key in
        ["rest", "faces", "parents", "names", "bind", "joint_world", "control_names", "weights", "truth"]
    {
        let error = error_of(&without(key));
        assert!(
            matches!(&error, NpzError::MissingKeys { keys } if keys == &[key.to_string()]),
            "{key}: {error}"
        );
    }
}

#[test]
fn weights_can_be_made() {
    let bundle = Bundle::from_reader(npz(&without("weights"))).unwrap();
    assert!(!bundle.has_weights());
    let (rig, notes) = bundle
        .rig(Some(|mesh, skeleton| {
            let list = vec![vec![Influence { joint: 1, weight: 1.0 }]; mesh.vertex_count()];
            SkinWeights::new(skeleton.joint_count(), list).map(|(w, _)| w).map_err(|error| error.to_string())
        }))
        .unwrap();
    assert_eq!(rig.weights().of(0)[0].joint, 1);
    assert_eq!(notes.len(), 1);
}

#[test]
fn bundles_without_joints_or_examples_are_fine() {
    let face: Vec<Entry> = complete()
        .into_iter()
        .filter(|e| ["rest", "faces", "truth", "controls", "control_names"].contains(&e.0))
        .collect();
    let bundle = Bundle::from_reader(npz(&face)).unwrap();
    let rig = Arc::new(bundle.rig(None).unwrap().0);
    assert_eq!(rig.skeleton().joint_count(), 0);
    assert_eq!(bundle.examples(&rig).unwrap().examples()[0].pose.controls, [0.5]);
    let plain = Bundle::from_reader(npz(&complete()[..6])).unwrap();
    assert!(!plain.has_examples() && plain.rig(None).is_ok());
}

#[test]
fn wrong_shapes_and_indices_are_refused() {
    let change = |key: &str, shape: Vec<usize>, data: Vec<u8>| -> Vec<Entry> {
        let replace = |entry: Entry| {
            if entry.0 == key { (entry.0, entry.1, shape.clone(), data.clone()) } else { entry }
        };
        complete().into_iter().map(replace).collect()
    };
    let error = error_of(&change("bind", vec![1, 4, 4], f32s(&[0.0; 16])));
    assert!(error.to_string().contains("bind") && error.to_string().contains("[2, 4, 4]"), "{error}");
    let faces = |last: i64| [0i64, 1, 2, last].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(matches!(error_of(&change("faces", vec![1, 4], faces(4))), NpzError::Face { vertex: 4, .. }));
    assert!(matches!(error_of(&change("faces", vec![1, 4], faces(-2))), NpzError::Face { vertex: -2, .. }));
    assert!(matches!(error_of(&change("faces", vec![2, 2], faces(3))), NpzError::Array { .. }));
    let parents = [9i32, -1].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert!(matches!(error_of(&change("parents", vec![2], parents)), NpzError::Parent { parent: 9, .. }));
    assert!(matches!(error_of(&change("rest", vec![4, 3], f32s(&[f32::NAN; 12]))), NpzError::Mesh(_)));
}

#[test]
fn damaged_and_absurd_archives_are_refused() {
    assert!(matches!(Bundle::from_reader(npz(&[])), Err(NpzError::Archive { .. })));
    assert!(matches!(Bundle::from_reader(Cursor::new(b"nothing".to_vec())), Err(NpzError::Archive { .. })));
    let bytes = npz(&complete()).into_inner();
    for length in (0..bytes.len()).step_by(13) {
        assert!(Bundle::from_reader(Cursor::new(bytes[..length].to_vec())).is_err(), "{length}");
    }
    // A header that promises more than a bundle may hold, however little the archive contains.
    let bomb = [("rest", "<f4", vec![1 << 40, 3], Vec::new())];
    assert!(matches!(Bundle::from_reader(npz(&bomb)), Err(NpzError::TooLarge { .. })));
    // A header that promises more than is there.
    let short = [("rest", "<f4", vec![1 << 20, 3], Vec::new())];
    assert!(matches!(Bundle::from_reader(npz(&short)), Err(NpzError::Array { .. })));
}
