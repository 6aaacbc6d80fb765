//! `eigenskin conformance`: the vectors that every runtime is tested against.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use crate::output::{Output, counted};

/// Write models with poses and expected results, to test another runtime against
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  eigenskin conformance vectors/\n\nThe README.md written along explains the files."
)]
pub struct Args {
    /// The folder to write into
    folder: PathBuf,
    /// Write what was done as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let written = eigenskin::gltf::conformance::write(&args.folder)?;
    let output = Output::new(quiet, args.json.as_deref());
    output
        .item("wrote", format!("{} in {}", counted(written.len(), "model", "models"), args.folder.display()));
    output.json(&json!({ "models": written }))
}
