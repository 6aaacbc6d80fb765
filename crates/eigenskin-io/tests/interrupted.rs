//! An interrupted program leaves no temporary file. A test program of its own: afterwards nothing can
//! be written any more.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::Write;
use std::time::Duration;

use eigenskin_io::atomic::{FileInProgress, abandon_unfinished, write_file};

#[test]
fn what_is_not_finished_is_removed_and_nothing_begins_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let files = || {
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    write_file(&path("done.glb"), b"whole").unwrap();
    write_file(&path("old.glb"), b"old").unwrap();
    let mut half = FileInProgress::new(&path("half.glb")).unwrap();
    half.write_all(b"half of it").unwrap();
    let mut replaced = FileInProgress::new(&path("old.glb")).unwrap();
    replaced.write_all(b"ne").unwrap();
    assert_eq!(files().len(), 4);
    abandon_unfinished();
    assert_eq!(files(), ["done.glb", "old.glb"]);
    assert_eq!(std::fs::read(path("old.glb")).unwrap(), b"old");
    // Both would only wait: whoever is still at work may neither begin nor finish a file.
    let (begun, late) = (path("late.glb"), folder.path().to_path_buf());
    std::thread::spawn(move || write_file(&begun, b"late"));
    std::thread::spawn(move || half.finish());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(files(), ["done.glb", "old.glb"], "in {}", late.display());
    std::mem::forget(replaced);
}
