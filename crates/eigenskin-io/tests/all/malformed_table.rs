//! Damaged and hostile files, one line each: the error names the culprit and the fix, and no file
//! takes much memory.

use std::io::Write;
use std::path::Path;

use eigenskin_gltf::Document;
use eigenskin_gltf::{ReadOptions, examples_of, model_of, rig_of};
use eigenskin_io::npz::Bundle;
use eigenskin_io::vertex_cache::cache_of;
use eigenskin_io::{Bvh, read_rig};

use crate::malformed_cases::{self, Case, Input};
use crate::support::malformed::peak_of;

/// No file may take more memory than this.
const MOST_MEMORY: usize = 1_000_000_000;

#[test]
fn every_case_is_refused_with_reason_and_little_memory() {
    let cases = malformed_cases::all();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut largest = (0, "");
    let mut wrong = Vec::new();
    for Case { name, input, says } in &cases {
        let (result, peak) = peak_of(|| read(input));
        largest = largest.max((peak, *name));
        match result {
            Ok(()) => wrong.push(format!("{name}: read without an error")),
            Err(message) if !says.iter().all(|words| message.contains(words)) => {
                wrong.push(format!("{name}: {message:?} does not say {says:?}"));
            }
            Err(message) if message.len() > 2000 => {
                wrong.push(format!("{name}: {} bytes of error", message.len()));
            }
            Err(_) if peak > MOST_MEMORY => wrong.push(format!("{name}: {peak} bytes")),
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    // Straight to the stream: the print macros are silent in tests that pass.
    let line = format!("{} cases, at most {} bytes ({})\n", cases.len(), largest.0, largest.1);
    let _ = std::io::stderr().write_all(line.as_bytes());
    assert!(largest.0 > 10_000, "the allocator counts");
}

fn read(input: &Input) -> Result<(), String> {
    let options = ReadOptions::default();
    let document = |bytes: &[u8]| Document::from_bytes(bytes, None).map_err(|error| error.to_string());
    let text = |error: &dyn std::fmt::Display| error.to_string();
    match input {
        Input::Rig(bytes) => rig_of(document(bytes)?, &options).map(drop).map_err(|e| text(&e)),
        Input::Examples(bytes) => examples_of(document(bytes)?, &options).map(drop).map_err(|e| text(&e)),
        Input::Model(bytes) => model_of(document(bytes)?).map(drop).map_err(|e| text(&e)),
        Input::Bundle(bytes) => {
            let bundle = Bundle::from_reader(std::io::Cursor::new(bytes)).map_err(|e| text(&e))?;
            let (rig, _) = bundle.rig(None).map_err(|e| text(&e))?;
            bundle.examples(&rig.into()).map(drop).map_err(|e| text(&e))
        }
        Input::Cache(name, bytes) => cache_of(Path::new(name), bytes).map(drop).map_err(|e| text(&e)),
        Input::Bvh(bytes) => Bvh::parse(&String::from_utf8_lossy(bytes)).map(drop).map_err(|e| text(&e)),
        Input::Folder(files) => {
            let folder = tempfile::tempdir().unwrap();
            for (name, bytes) in files {
                std::fs::write(folder.path().join(name), bytes).unwrap();
            }
            read_rig(folder.path().join("a.gltf"), &options).map(drop).map_err(|e| text(&e))
        }
    }
}
