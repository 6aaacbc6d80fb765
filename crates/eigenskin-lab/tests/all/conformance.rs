//! The vectors in the repository are those that are written.

use crate::support::lab;

#[test]
fn vectors_are_written_as_they_are_kept() {
    let kept = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance"));
    let folder = tempfile::tempdir().unwrap();
    let output = lab(&["conformance", folder.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("models in"));
    let readme = |folder: &std::path::Path| std::fs::read_to_string(folder.join("README.md")).unwrap();
    assert_eq!(readme(folder.path()), readme(kept));
    assert!(folder.path().join("kernels.glb").exists());
}
