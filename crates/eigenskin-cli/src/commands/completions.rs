//! `eigenskin completions`: what shells need to complete arguments.

use std::io::Write;

use anyhow::{Context, Result};
use clap_complete::Shell;

/// Print the completions of a shell
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  eigenskin completions bash > ~/.local/share/bash-completion/completions/eigenskin"
)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command; `command` is the whole program's.
pub fn run(args: &Args, mut command: clap::Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "eigenskin", &mut script);
    std::io::stdout().write_all(&script).context("standard output is closed")
}
