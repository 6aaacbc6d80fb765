//! An interrupted program leaves no temporary file.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use eigenskin_io::atomic::{FileInProgress, abandon_unfinished, write_file};

/// Set in the program that is interrupted.
const INTERRUPTED: &str = "EIGENSKIN_TEST_INTERRUPTED";

/// In a program of its own, since afterwards nothing can be written any more: this one, once more.
#[test]
fn what_is_not_finished_is_removed_and_nothing_begins_any_more() {
    if std::env::var_os(INTERRUPTED).is_some() {
        return interrupt();
    }
    let test = "interrupted::what_is_not_finished_is_removed_and_nothing_begins_any_more";
    let mut again = Command::new(std::env::current_exe().unwrap());
    let output = again.args(["--exact", test, "--nocapture"]).env(INTERRUPTED, "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).to_string()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn interrupt() {
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
    write_file(path("done.glb"), b"whole").unwrap();
    write_file(path("old.glb"), b"old").unwrap();
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
