//! `eigenskin bench`: how fast a model plays on this machine, as ratios.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use eigenskin::packed::Path as Instructions;
use eigenskin::speed::{Figures, STORAGES, measure_model};
use eigenskin::text_table;
use serde_json::json;

use crate::output::{Output, counted};
use crate::progress;

/// Measure how fast a model plays on this machine
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  eigenskin bench model.glb --json speed.json\n\nTimes on shared machines mean little, ratios taken in one run mean more: everything is compared with a\nstraightforward loop over vertices or with plain skinning, all interleaved. Figures are medians over several\nprocesses."
)]
pub struct Args {
    /// The model
    model: PathBuf,
    /// Processes to take medians over
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=99))]
    processes: u8,
    /// Write all figures as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Take the figures in this process and print nothing but them
    #[arg(long, hide = true)]
    one_process: bool,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    let path = args.model.display();
    if args.one_process {
        let (_, model) = eigenskin::io::read_model(&args.model)?;
        let figures = measure_model(&model).with_context(|| format!("{path} cannot be measured"))?;
        return Output::new(true, Some("-")).json(&json!(figures));
    }
    let output = Output::new(quiet, args.json.as_deref());
    let program = std::env::current_exe().context("this program cannot be started again")?;
    let mut runs = Vec::new();
    for process in 1..=args.processes {
        let doing = format!("process {process} of {}", args.processes);
        let mut command = Command::new(&program);
        command.args(["bench", "--one-process"]).arg(&args.model);
        runs.push(progress::while_doing(quiet, &doing, || Figures::of_process(&mut command))?);
    }
    let figures = Figures::medians(&runs);
    let instructions = format!("{:?}", Instructions::fastest()).to_lowercase();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    output.item(
        "machine",
        format!(
            "{}, {instructions} instructions; medians over {}",
            counted(threads, "thread", "threads"),
            counted(runs.len(), "process", "processes")
        ),
    );
    print_model(&output, &path.to_string(), &figures);
    output.json(&json!({
        "instructions": instructions,
        "threads": threads,
        "processes": runs.len(),
        "figures": figures,
    }))
}

fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "–".into() }
}

fn percent(value: f64) -> String {
    if value.is_finite() { format!("{:.0} %", 100.0 * value) } else { "–".into() }
}

fn print_model(output: &Output, name: &str, figures: &Figures) {
    let figure = |what: &str| figures.get(&format!("model/{what}"));
    let ns = |what: &str| figure(&format!("{what}/ns"));
    let pack = |storage: &str, what: &str| figure(&format!("{storage}/{what}"));
    output.item("model", name);
    output.item(
        "packed",
        format!(
            "{} groups, {} of the lanes are padding, {} of the weights are zero",
            number(pack("f16", "groups"), 0),
            percent(pack("f16", "padding")),
            percent(pack("f16", "zero weights")),
        ),
    );
    let row = |title: &str, ours: &str, order: &str, bytes: String, error: String| {
        vec![
            title.to_string(),
            number(ns(ours), 2),
            number(ns("loop") / ns(ours), 2),
            number(ns(ours) / ns("plain"), 2),
            number(ns("loop") / ns(order), 2),
            bytes,
            error,
        ]
    };
    let none = || "–".to_string();
    let mut rows = vec![
        vec![
            "straightforward loop".into(),
            number(ns("loop"), 2),
            "1.00".into(),
            none(),
            none(),
            none(),
            none(),
        ],
        row("plain skinning", "plain", "plain, caller's order", none(), none()),
    ];
    for (_, storage) in STORAGES {
        let bytes = number(pack(storage, "bytes per vertex"), 1);
        let error = format!("{:.1e}", pack(storage, "storage error"));
        rows.push(row(
            &format!("model in {storage}"),
            storage,
            &format!("{storage}, caller's order"),
            bytes,
            error,
        ));
    }
    let head =
        ["", "ns/vertex", "× loop", "times plain", "caller's order × loop", "bytes/vertex", "storage error"];
    output.line("");
    output.line("Positions and normals, one thread");
    for line in text_table::lines(&head, &rows) {
        output.line(line);
    }
    output.line("");
    output.line(format!(
        "In f16: drivers take {} of a frame; two threads are {} times as fast as one",
        percent(ns("drivers") / ns("f16")),
        number(ns("f16") / ns("two threads"), 2),
    ));
}
