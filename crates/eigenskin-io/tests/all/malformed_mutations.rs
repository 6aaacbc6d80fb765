//! Valid files, cut off and changed: an error or another file, never a panic, never much memory.
//!
//! Changes go beyond the header: numbers of the JSON, numbers in the arrays of an archive with its
//! checksums mended, numbers of texts.

use eigenskin_gltf::Document;
use eigenskin_gltf::conformance::random::Random;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::malformed::peak_of;
use crate::support::malformed::readers::{self, seeds};

/// These files have some kilobytes; a reader that takes this much believed a count.
const MOST_MEMORY: usize = 200_000_000;

/// Reads a file as its fuzz target does.
fn read(target: &str, bytes: &[u8]) {
    let reader = match target {
        "glb" => readers::glb,
        "npz" => readers::npz,
        "obj" => readers::obj,
        "pc2" => readers::pc2,
        "mdd" => readers::mdd,
        "bvh" => readers::bvh,
        _ => panic!("{target}"),
    };
    let ((), peak) = peak_of(|| reader(bytes));
    assert!(peak < MOST_MEMORY, "{peak} bytes for a {target} of {}", bytes.len());
}

#[test]
fn every_cut_is_survived() {
    for (target, _, bytes) in seeds::all() {
        for length in (0..bytes.len()).step_by(64).chain(0..64.min(bytes.len())) {
            read(target, &bytes[..length]);
        }
    }
}

/// A format that knows its length notices every cut.
#[test]
fn cuts_of_binary_files_are_errors() {
    use std::path::Path;
    for (target, name, bytes) in seeds::all() {
        let refused = |bytes: &[u8]| match (target, name) {
            ("glb", _) => Document::from_bytes(bytes, None).is_err(),
            (_, "bundle.npz") => eigenskin_io::npz::Bundle::from_reader(std::io::Cursor::new(bytes)).is_err(),
            ("obj", _) => true,
            ("bvh", _) => eigenskin_io::Bvh::parse(&String::from_utf8_lossy(bytes)).is_err(),
            _ => eigenskin_io::vertex_cache::cache_of(Path::new(name), bytes).is_err(),
        };
        assert!(target == "obj" || !refused(&bytes), "{name}");
        // The last number of a text may lose a digit unnoticed.
        let end = if target == "bvh" { bytes.len() - 8 } else { bytes.len() };
        for length in (0..end).step_by(64).chain([end - 1]) {
            assert!(refused(&bytes[..length]), "{name} cut to {length}");
        }
    }
}

/// Every number and every text of the JSON is replaced by nonsense, one at a time.
#[test]
fn no_nonsense_in_json_panics() {
    let nonsense = [
        json!(-1),
        json!(4_294_967_295u64),
        json!(u64::MAX),
        json!(0.5),
        json!(1e300),
        json!("x"),
        Value::Null,
        json!([]),
        json!(0),
        json!({}),
    ];
    for (target, _, bytes) in seeds::all().into_iter().filter(|seed| seed.0 == "glb") {
        let document = Document::from_bytes(&bytes, None).unwrap();
        let mut paths = Vec::new();
        collect(&document.json, String::new(), &mut paths);
        let mut random = Random::new(5);
        // Large tables of numbers are alike; a sample of them will do.
        let share = 1500.0 / paths.len() as f64;
        for path in paths.iter().filter(|_| random.between(0.0, 1.0) < share).collect::<Vec<_>>() {
            let mut broken = document.clone();
            *broken.json.pointer_mut(path).unwrap() = nonsense[random.below(nonsense.len())].clone();
            read(target, &broken.to_glb().unwrap());
        }
    }
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

/// What stands in place of a number.
const WORDS: [&str; 12] =
    ["-1", "0", "1e38", "nan", "inf", "99999999999999999999", "2147483648", "{", "}", "", "\\", "7/"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Bytes replaced anywhere, half of them in the header, and perhaps a cut.
    #[test]
    fn changed_bytes_never_panic(
        seed in 0usize..9,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (target, _, mut bytes) = seeds::all().swap_remove(seed);
        for (at, value, in_header) in changes {
            let index = at.index(if in_header { bytes.len().min(140) } else { bytes.len() });
            bytes[index] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read(target, &bytes);
    }

    /// Numbers in the binary part of a GLB: the JSON stays as it is.
    #[test]
    fn changed_numbers_of_a_glb_never_panic(
        seed in 0usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 1..4),
    ) {
        let (target, _, bytes) = seeds::all().swap_remove(seed);
        let mut document = Document::from_bytes(&bytes, None).unwrap();
        for (at, value) in changes {
            let index = 4 * at.index(document.binary.len() / 4);
            document.binary[index..index + 4].copy_from_slice(&value.to_le_bytes());
        }
        read(target, &document.to_glb().unwrap());
    }

    /// Headers, shapes and numbers of an archive's arrays, with the checksums mended.
    #[test]
    fn changed_arrays_of_an_archive_never_panic(
        changes in prop::collection::vec((0usize..10, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..4),
        shape in prop::option::of((0usize..10, 0usize..3, prop::sample::select(vec![0, 1, 3, 5, 1 << 31, usize::MAX]))),
    ) {
        let mut bundle = seeds::bundle();
        if let Some((array, axis, extent)) = shape {
            let axis = axis % bundle[array].2.len();
            bundle[array].2[axis] = extent;
        }
        let mut files: Vec<(String, Vec<u8>)> = bundle
            .iter()
            .map(|(key, kind, shape, data)| (format!("{key}.npy"), seeds::npy(kind, shape, data)))
            .collect();
        for (array, at, value, in_numbers) in changes {
            let bytes = &mut files[array].1;
            let first = if in_numbers { 128.min(bytes.len() - 1) } else { 0 };
            let index = first + at.index(bytes.len() - first);
            bytes[index] = value;
        }
        read("npz", &seeds::zipped(&files, zip::CompressionMethod::Stored));
    }

    /// Words of a text in place of others.
    #[test]
    fn changed_words_never_panic(
        target in prop::sample::select(vec!["obj", "bvh"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(WORDS.to_vec())), 1..4),
    ) {
        let text = if target == "obj" { seeds::OBJ } else { seeds::BVH };
        let mut words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        for (at, word) in changes {
            let index = at.index(words.len());
            words[index] = word;
        }
        read(target, words.concat().as_bytes());
    }
}
