//! Damaged caches give an error and never a panic.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod cache_support;

use std::path::{Path, PathBuf};

use cache_support::{lips_scene, npy, write_npz};
use eigenskin_io::vertex_cache::{write_mdd, write_obj, write_pc2};
use eigenskin_io::{examples_from_clip, read_cache};
use proptest::prelude::*;

const NAMES: [&str; 5] = ["a.pc2", "a.mdd", "a.npy", "a.npz", "a.obj"];

/// The same small cache in every format: the file's name and bytes.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let scene = lips_scene(3.0, -2.0);
    let frames = scene.frames();
    let path = |name: &str| folder.path().join(name);
    write_pc2(&path("a.pc2"), &frames, 0.0, 1.0).unwrap();
    write_mdd(&path("a.mdd"), &[0.0, 1.0, 2.0], &frames).unwrap();
    std::fs::write(path("a.npy"), npy(&frames)).unwrap();
    write_npz(&path("a.npz"), &[("truth", npy(&frames))]);
    write_obj(&path("a.obj"), &frames[0], &[], scene.triangles()).unwrap();
    NAMES.into_iter().map(|name| (name, std::fs::read(path(name)).unwrap())).collect()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn every_truncation_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files() {
        assert!(read_cache(&write(folder.path(), name, &bytes)).is_ok(), "{name}");
        for length in (0..bytes.len()).step_by(64).chain(0..40.min(bytes.len())) {
            let result = read_cache(&write(folder.path(), name, &bytes[..length]));
            // A text has no end that could be missing.
            match result {
                Ok(_) => assert_eq!(name, "a.obj"),
                Err(error) => assert!(error.to_string().contains(name), "{error}"),
            }
        }
    }
}

#[test]
fn absurd_headers_are_refused_without_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let message =
        |name: &str, bytes: &[u8]| read_cache(&write(folder.path(), name, bytes)).unwrap_err().to_string();
    let pc2 = |vertices: i32, frames: i32| {
        let mut bytes = b"POINTCACHE2\0\x01\0\0\0".to_vec();
        bytes.extend(vertices.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(frames.to_le_bytes());
        bytes
    };
    assert!(message("a.pc2", &pc2(i32::MAX, i32::MAX)).contains("more than"));
    assert!(message("a.pc2", &pc2(-1, 5)).contains("-1 vertices"));
    assert!(message("a.pc2", &pc2(3, 2)).contains("72 bytes"));
    assert!(message("a.pc2", b"POINTCACHE9\0 and so on and so on and so on").contains("no PC2"));
    assert!(message("a.mdd", &[0x7f; 64]).contains("times"));
    assert!(message("a.mdd", &[0xff; 64]).contains("frames"));
    assert!(message("a.fbx", b"").contains("a.fbx is not a .pc2"));
    let mut flat = npy(&lips_scene(3.0, -2.0).frames());
    let at = flat.windows(5).position(|w| w == b", 3),").unwrap();
    flat[at + 2] = b'9';
    assert!(message("a.npy", &flat).contains("a.npy"));
    let empty = String::from_utf8_lossy(&flat[..128]).replace("(3, 48, 9)", "(0, 9223372036854775807, 3)");
    assert!(message("a.npy", empty.as_bytes()).contains("a.npy"));
    // NaN in the last vertex.
    let mut nan = files().remove(0).1;
    let end = nan.len();
    nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(message("a.pc2", &nan).contains("vertex 47 of frame 2"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Bytes replaced anywhere, most often in the header: an error or other shapes, and those are
    /// refused or accepted as examples.
    #[test]
    fn mutations_never_panic(
        format in 0usize..NAMES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (name, mut bytes) = files().swap_remove(format);
        for (at, value, in_header) in changes {
            let index = at.index(if in_header { bytes.len().min(140) } else { bytes.len() });
            bytes[index] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let folder = tempfile::tempdir().unwrap();
        if let Ok(cache) = read_cache(&write(folder.path(), name, &bytes)) {
            prop_assert!(cache.frames.iter().all(|frame| frame.len() == cache.vertex_count()));
            prop_assert!(cache.frames.iter().flatten().all(|p| p.is_finite()));
            let _ = examples_from_clip(&lips_scene(3.0, -2.0).file, "poses", &cache, 0);
        }
    }
}
