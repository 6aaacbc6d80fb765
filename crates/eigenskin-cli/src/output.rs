//! What commands print: lines for people on standard output, JSON for machines where asked.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Numbers in lines for people look as they do in the report.
pub use eigenskin::report::page::{bytes, counted, figure, ratio};

/// Where a command's words go.
pub struct Output {
    quiet: bool,
    /// `--json`: a file, or "-" for standard output (lines for people then go to standard error)
    json: Option<String>,
}

impl Output {
    /// Sets up the two channels.
    pub fn new(quiet: bool, json: Option<&str>) -> Self {
        Self { quiet, json: json.map(str::to_string) }
    }

    /// A line for people.
    pub fn line(&self, text: impl AsRef<str>) {
        if self.quiet {
            return;
        }
        // A closed pipe (`eigenskin … | head`) is no reason to fail.
        let _ = if self.json.as_deref() == Some("-") {
            writeln!(std::io::stderr(), "{}", text.as_ref())
        } else {
            writeln!(std::io::stdout(), "{}", text.as_ref())
        };
    }

    /// A line for people that starts with a word in a fixed column.
    pub fn item(&self, word: &str, text: impl AsRef<str>) {
        self.line(format!("{word:<11} {}", text.as_ref()));
    }

    /// Something that deserves attention but does not stop the command.
    pub fn warning(&self, text: impl AsRef<str>) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr(), "warning: {}", text.as_ref());
        }
    }

    /// The result for machines, where asked.
    pub fn json(&self, value: &Value) -> Result<()> {
        match self.json.as_deref() {
            None => Ok(()),
            Some("-") => {
                let text = serde_json::to_string_pretty(value)?;
                writeln!(std::io::stdout(), "{text}").context("standard output is closed")
            }
            Some(file) => write_json(Path::new(file), value),
        }
    }
}

/// Writes JSON to a file, atomically.
pub fn write_json(path: &Path, value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    eigenskin::io::atomic::write_file(path, text.as_bytes())
        .with_context(|| format!("{} could not be written", path.display()))
}

/// The whole chain of an error as one sentence, with the option that mends it where many commands have it.
pub fn print_error(error: &anyhow::Error) {
    let text = format!("{error:#}");
    // A rig is read by nearly all commands, deep inside of errors that pass it on without their own words.
    let option = if text.contains("several skins: ") && !text.contains("--skin") { " (--skin)" } else { "" };
    let _ = writeln!(std::io::stderr(), "error: {text}{option}");
}
