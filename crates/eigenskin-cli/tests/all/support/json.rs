//! The command, for machines.

use serde_json::Value;

use super::command::eigenskin;

/// Runs it with `--json -` and gives back what it printed for machines.
pub fn json_of(arguments: &[&str]) -> Value {
    let output = eigenskin(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
