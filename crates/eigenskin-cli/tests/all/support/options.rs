//! The options of a command.

use std::collections::BTreeSet;

use super::command::eigenskin;

/// The options of a command as clap knows them, from the completions that it writes.
pub fn options_of(command: &str) -> Vec<String> {
    let script = String::from_utf8(eigenskin(&["completions", "fish"]).stdout).unwrap();
    let of_command = format!("__fish_eigenskin_using_subcommand {command}\"");
    let lines = script.lines().filter(|line| line.contains(&of_command));
    let long = |line: &str| Some(line.split(" -l ").nth(1)?.split(' ').next()?.to_string());
    let options: BTreeSet<String> = lines.filter_map(long).collect();
    assert!(options.contains("output") || options.contains("json"), "no options of {command} in {script}");
    options.into_iter().collect()
}
