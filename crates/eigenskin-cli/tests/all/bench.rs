//! `eigenskin bench`: figures for people and machines, and clear errors.

use crate::support::eigenskin;

fn said(arguments: &[&str]) -> String {
    let output = eigenskin(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = eigenskin(arguments);
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_model_is_measured_and_its_storage_told() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/representations.glb");
    let said = said(&["bench", "--processes", "1", model]);
    for words in ["groups", "padding", "model in f16", "bytes/vertex", "drivers take"] {
        assert!(said.contains(words), "{words}\n{said}");
    }
}

#[test]
fn what_cannot_be_measured_is_named() {
    let missing = refused(&["bench", "no-such-model.glb"]);
    assert!(missing.contains("no-such-model.glb") && !missing.contains("error: error"), "{missing}");
}
