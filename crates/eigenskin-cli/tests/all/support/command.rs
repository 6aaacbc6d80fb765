//! The command.

use std::process::{Command, Output};

/// Runs `eigenskin` with arguments.
pub fn eigenskin(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_eigenskin")).args(arguments).output().unwrap()
}
