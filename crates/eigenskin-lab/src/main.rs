//! What is measured and repeated around the library, and is no part of it: experiments of papers, benches
//! on made-up characters, and the vectors that other runtimes are tested against.

mod bench;
mod output;
mod reproduce;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use output::Output;

/// Repeats papers' experiments, measures speed, and writes vectors to test other runtimes against
#[derive(Parser)]
#[command(name = "eigenskin-lab", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Write the figures as JSON to a file, or - for standard output
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Repeat a paper's experiment and print it beside what the paper says
    Reproduce {
        #[command(subcommand)]
        experiment: Experiment,
    },
    /// Measure how fast made-up models play on this machine
    Bench(bench::Args),
    /// Write models with poses and expected results, to test another runtime against
    Conformance {
        /// The folder to write into; the README.md written along explains the files
        folder: PathBuf,
    },
}

#[derive(Subcommand)]
enum Experiment {
    Eigenskin(reproduce::eigenskin::Args),
    KimFigure4(reproduce::kim_figure4::Args),
    KimTable1(reproduce::kim_table1::Args),
    Lewis(reproduce::lewis::Args),
    Xian(reproduce::xian::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let result = match &cli.command {
        Command::Reproduce { experiment } => match experiment {
            Experiment::Eigenskin(args) => reproduce::eigenskin::run(args, &output),
            Experiment::KimFigure4(args) => reproduce::kim_figure4::run(args, &output),
            Experiment::KimTable1(args) => reproduce::kim_table1::run(args, &output),
            Experiment::Lewis(args) => reproduce::lewis::run(args, &output),
            Experiment::Xian(args) => reproduce::xian::run(args, &output),
        },
        Command::Bench(args) => bench::run(args, &output),
        Command::Conformance { folder } => conformance(folder, &output),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// The vectors that every runtime is tested against.
fn conformance(folder: &std::path::Path, output: &Output) -> anyhow::Result<()> {
    let written = eigenskin::gltf::conformance::write(folder)?;
    output.item("wrote", format!("{} models in {}", written.len(), folder.display()));
    output.figures(&serde_json::json!({ "models": written }))
}
