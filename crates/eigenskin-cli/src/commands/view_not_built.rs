//! `eigenskin view` without the feature `window`: says how to get it.

use std::ffi::OsString;

use anyhow::{Result, bail};

const HOW_TO_GET_IT: &str = "this eigenskin was built without its window; get it with: cargo install eigenskin-cli --features window (in the source folder: cargo run --release --features window -- view …)";

/// Open a window: pose a model by hand, by its clips or by a stream
#[derive(clap::Args)]
#[command(after_help = format!("Example:\n  eigenskin view model.glb --truth validation.glb\n\nNot built in: {HOW_TO_GET_IT}"))]
pub struct Args {
    /// What the window would take
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _arguments: Vec<OsString>,
}

/// Refuses.
pub fn run(_: &Args, _: bool) -> Result<()> {
    bail!(HOW_TO_GET_IT)
}
