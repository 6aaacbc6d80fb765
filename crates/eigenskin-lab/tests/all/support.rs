//! Runs the lab.

use std::process::{Command, Output};

use serde_json::Value;

/// Runs it with arguments.
pub fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_eigenskin-lab")).args(arguments).output().unwrap()
}

/// Runs it and gives back its figures.
pub fn json_of(arguments: &[&str]) -> Value {
    let output = lab(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
