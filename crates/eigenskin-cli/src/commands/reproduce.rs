//! `eigenskin reproduce`: a paper's experiment, printed beside what the paper says.

use anyhow::Result;

use crate::reproduce::eigenskin;

/// Repeat a paper's experiment and print it beside what the paper says
#[derive(clap::Args)]
#[command(after_help = "Example:\n  eigenskin reproduce eigenskin --out reproduction")]
pub struct Args {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(clap::Subcommand)]
enum Experiment {
    Eigenskin(eigenskin::Args),
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    match &args.experiment {
        Experiment::Eigenskin(args) => eigenskin::run(args, quiet),
    }
}
