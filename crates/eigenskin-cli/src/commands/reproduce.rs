//! `eigenskin reproduce`: a paper's experiment, printed beside what the paper says.

use anyhow::Result;

use crate::reproduce::{eigenskin, kim_figure4, kim_table1, lewis, xian};

/// Repeat a paper's experiment and print it beside what the paper says
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin reproduce eigenskin --out reproduction\n  eigenskin reproduce kim-figure4 --picture figure4.png\n  eigenskin reproduce kim-table1\n  eigenskin reproduce lewis\n  eigenskin reproduce xian --max-cells 800"
)]
pub struct Args {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(clap::Subcommand)]
enum Experiment {
    Eigenskin(eigenskin::Args),
    KimFigure4(kim_figure4::Args),
    KimTable1(kim_table1::Args),
    Lewis(lewis::Args),
    Xian(xian::Args),
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    match &args.experiment {
        Experiment::Eigenskin(args) => eigenskin::run(args, quiet),
        Experiment::KimFigure4(args) => kim_figure4::run(args, quiet),
        Experiment::KimTable1(args) => kim_table1::run(args, quiet),
        Experiment::Lewis(args) => lewis::run(args, quiet),
        Experiment::Xian(args) => xian::run(args, quiet),
    }
}
