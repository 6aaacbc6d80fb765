//! What experiments say: lines for people, figures for machines, and what is being done meanwhile.

use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use eigenskin::progress::{Cancelled, Progress, Step};
use eigenskin::text_table;
use serde_json::Value;

pub use eigenskin::report::page::{counted, figure};

/// Where words and figures go.
pub struct Output {
    /// a file, or "-" for standard output; lines for people then go to standard error
    json: Option<String>,
    /// what was last said to be done
    doing: Mutex<String>,
}

impl Output {
    pub fn new(json: Option<String>) -> Self {
        Self { json, doing: Mutex::default() }
    }

    /// A line for people. A closed pipe is no reason to fail.
    pub fn line(&self, text: impl AsRef<str>) {
        let text = text.as_ref();
        let _ = match self.json.as_deref() {
            Some("-") => writeln!(std::io::stderr(), "{text}"),
            _ => writeln!(std::io::stdout(), "{text}"),
        };
    }

    /// A line that starts with a word in a fixed column.
    pub fn item(&self, word: &str, text: impl AsRef<str>) {
        self.line(format!("{word:<11} {}", text.as_ref()));
    }

    pub fn table(&self, head: &[&str], rows: &[Vec<String>]) {
        for line in text_table::lines(head, rows) {
            self.line(line);
        }
    }

    /// What is being done.
    pub fn doing(&self, doing: &str) {
        let mut last = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != doing {
            let _ = writeln!(std::io::stderr(), "{doing} …");
            *last = doing.to_string();
        }
    }

    /// The figures, where they are asked for.
    pub fn figures(&self, figures: &Value) -> Result<()> {
        match self.json.as_deref() {
            Some("-") => writeln!(std::io::stdout(), "{figures:#}").context("standard output is closed"),
            Some(path) => write_figures(path.as_ref(), figures),
            None => Ok(()),
        }
    }
}

impl Progress for Output {
    fn step(&self, step: Step<'_>) -> Result<(), Cancelled> {
        self.doing(step.doing);
        Ok(())
    }
}

/// Writes a file, whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    eigenskin::io::atomic::write_file(path, bytes)
        .with_context(|| format!("{} could not be written", path.display()))
}

/// Writes figures as JSON.
pub fn write_figures(path: &Path, figures: &Value) -> Result<()> {
    write(path, format!("{figures:#}\n").as_bytes())
}

/// Says what went wrong.
pub fn print_error(error: &anyhow::Error) {
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
}
