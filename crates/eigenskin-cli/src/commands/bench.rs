//! `eigenskin bench`: how fast models play on this machine, as ratios.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use eigenskin::packed::Path as Instructions;
use rayon::ThreadPool;
use serde_json::json;

use crate::bench::synthetic::{COMPONENTS, CORRECTIONS, CROWDS, PAPERS, STORAGES};
use crate::bench::{Figures, fixed, given, synthetic};
use crate::output::{Output, counted};
use crate::{progress, table};

/// Measure how fast models play on this machine
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  eigenskin bench\n  eigenskin bench model.glb --json speed.json\n\nTimes on shared machines mean little, ratios taken in one run mean more: everything is compared with a\nstraightforward loop over vertices, with plain skinning, or with copying the bytes that are touched, all\nin turns. Figures are medians over several processes."
)]
pub struct Args {
    /// A model; without one, tubes of several sizes
    model: Option<PathBuf>,
    /// Sizes to try without a model, separated by commas
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [14_000, 28_000, 40_000, 400_000])]
    vertices: Vec<usize>,
    /// Processes to take medians over
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=99))]
    processes: u8,
    /// Write all figures as JSON to a file, or - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Take the figures in this process and print nothing but them
    #[arg(long, hide = true)]
    one_process: bool,
    /// Play some frames with one kernel, for tools that count instructions
    #[arg(long, hide = true, value_name = "NAME")]
    kernel: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, quiet: bool) -> Result<()> {
    if let Some(kernel) = &args.kernel {
        return fixed::play(kernel);
    }
    if let Some(few) = args.vertices.iter().find(|&&vertices| vertices < 800) {
        bail!("--vertices {few}: a tube needs at least 800 vertices");
    }
    if args.one_process {
        let figures = measure(args)?;
        return Output::new(true, Some("-")).json(&serde_json::to_value(&figures)?);
    }
    let output = Output::new(quiet, args.json.as_deref());
    let runs = (1..=args.processes)
        .map(|process| {
            let doing = format!("process {process} of {}", args.processes);
            progress::while_doing(quiet, &doing, || child(args))
        })
        .collect::<Result<Vec<Figures>>>()?;
    let figures = Figures::medians(&runs);
    let instructions = format!("{:?}", Instructions::fastest()).to_lowercase();
    output.item(
        "machine",
        format!(
            "{}, {instructions} instructions; medians over {}",
            counted(threads(), "thread", "threads"),
            counted(runs.len(), "process", "processes")
        ),
    );
    match &args.model {
        Some(path) => print_model(&output, &path.display().to_string(), &figures),
        None => print_synthetic(&output, &args.vertices, &figures),
    }
    output.json(&json!({
        "instructions": instructions,
        "threads": threads(),
        "processes": runs.len(),
        "figures": figures,
    }))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Two threads, as the tables say.
fn pool() -> Result<Arc<ThreadPool>> {
    Ok(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build()?))
}

fn measure(args: &Args) -> Result<Figures> {
    let pool = pool()?;
    let mut figures = Figures::default();
    if let Some(path) = &args.model {
        let (_, model) = eigenskin::io::read_model(path)?;
        given::measure(&model, &pool, &mut figures)
            .with_context(|| format!("{} cannot be measured", path.display()))?;
        return Ok(figures);
    }
    for &vertices in &args.vertices {
        synthetic::measure_size(vertices, &pool, &mut figures)?;
    }
    synthetic::measure_papers(&pool, &mut figures)?;
    for crowd in CROWDS {
        synthetic::measure_crowd(crowd, &pool, &mut figures)?;
    }
    Ok(figures)
}

/// The figures of another process: memory lies elsewhere each time, which changes times by some percent.
fn child(args: &Args) -> Result<Figures> {
    let mut command = Command::new(std::env::current_exe().context("this program cannot be started again")?);
    command.args(["bench", "--one-process", "--vertices"]);
    command.arg(args.vertices.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
    command.args(&args.model).stderr(Stdio::piped());
    let result = command.output().context("this program cannot be started again")?;
    let said = String::from_utf8_lossy(&result.stderr);
    ensure!(result.status.success(), "{}", said.trim().trim_start_matches("error: "));
    serde_json::from_slice(&result.stdout).context("a process gave no figures")
}

fn number(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "–".into() }
}

fn percent(value: f64) -> String {
    if value.is_finite() { format!("{:.0} %", 100.0 * value) } else { "–".into() }
}

/// With commas.
fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (head, rest) = digits.split_at(first.min(digits.len()));
    rest.as_bytes()
        .chunks(3)
        .fold(head.to_string(), |text, three| text + "," + &String::from_utf8_lossy(three))
}

fn print_table(output: &Output, title: &str, head: &[&str], rows: &[Vec<String>]) {
    output.line("");
    output.line(title);
    for line in table::lines(head, rows) {
        output.line(line);
    }
}

fn print_synthetic(output: &Output, sizes: &[usize], figures: &Figures) {
    let ns = |size: &usize, name: &str| figures.get(&format!("{size}/{name}/ns"));
    let labels: Vec<String> = sizes.iter().map(|&size| thousands(size)).collect();
    let head = |first: &'static str| -> Vec<&str> {
        std::iter::once(first).chain(labels.iter().map(String::as_str)).collect()
    };
    let row = |name: &str, value: &dyn Fn(&usize) -> String| -> Vec<String> {
        std::iter::once(name.to_string()).chain(sizes.iter().map(value)).collect()
    };
    let times = [
        ("straightforward loop", "loop"),
        ("plain skinning", "plain"),
        ("plain skinning, caller's order", "plain, caller's order"),
        ("plain skinning, vertex buffer", "plain, vertex buffer"),
        ("plain skinning, portable instructions", "plain, portable"),
        ("dual quaternions", "dual quaternions"),
        ("5 components f16", "5 components"),
        ("5 components f16, caller's order", "5 components, caller's order"),
    ];
    let rows: Vec<Vec<String>> =
        times.iter().map(|(title, name)| row(title, &|size| number(ns(size, name), 2))).collect();
    let title = "Nanoseconds per vertex: positions and normals, 4 influences, one thread";
    print_table(output, title, &head("vertices"), &rows);

    let over = |a: &'static str, b: &'static str| move |size: &usize| number(ns(size, b) / ns(size, a), 2);
    let share = |a: &'static str, b: &'static str| move |size: &usize| percent(ns(size, a) / ns(size, b));
    let rows = vec![
        row("plain skinning: times as fast as the loop", &over("plain", "loop")),
        row("the same, caller's order", &over("plain, caller's order", "loop")),
        row("the same, vertex buffer", &over("plain, vertex buffer", "loop")),
        row("the same, dual quaternions", &over("dual quaternions", "loop")),
        row("two threads: times as fast as one", &over("plain, two threads", "plain")),
        row("5 components f16: times plain skinning", &over("plain", "5 components")),
        row("drivers: share of that frame", &share("drivers", "5 components")),
        row("plain skinning: share of copy bandwidth", &share("plain: copy", "plain")),
        row("5 components f16: share of copy bandwidth", &share("5 components: copy", "5 components")),
    ];
    print_table(output, "Ratios", &head("vertices"), &rows);

    for (size, label) in sizes.iter().zip(&labels) {
        let value = |components: usize, storage: &str, corrections: &str, what: &str| {
            number(figures.get(&format!("{size}/{components} components/{storage}/{corrections}/{what}")), 2)
        };
        let rows: Vec<Vec<String>> = COMPONENTS
            .iter()
            .map(|&components| {
                let mut row = vec![components.to_string()];
                for (_, corrections) in CORRECTIONS {
                    row.extend(STORAGES.map(|(_, name)| value(components, name, corrections, "times plain")));
                }
                row.push(value(components, "f16", "positions", "two threads"));
                row
            })
            .collect();
        let title = format!("{label} vertices: a frame with components, times plain skinning");
        let head = ["components", "f32", "f16", "i16", "+ normals f32", "f16", "i16", "2 threads f16"];
        print_table(output, &title, &head, &rows);
    }

    let rows: Vec<Vec<String>> = PAPERS
        .iter()
        .map(|(name, _, components, theirs)| {
            let figure = |what: &str| figures.get(&format!("{name}/{what}"));
            vec![
                (*name).to_string(),
                components.to_string(),
                thousands(figure("frames") as usize),
                percent(figure("drivers")),
                thousands(figure("frames, two threads") as usize),
                (*theirs).to_string(),
            ]
        })
        .collect();
    let head = [
        "character of the size in",
        "components",
        "frames/s",
        "drivers",
        "two threads",
        "on the paper's GPU",
    ];
    print_table(output, "Frames per second, one thread, f16", &head, &rows);
    let rows: Vec<Vec<String>> = CROWDS
        .iter()
        .map(|&(count, vertices)| {
            let figure = |what: &str| number(figures.get(&format!("crowd of {count}/{what}")), 2);
            let name = format!("{count} characters of {} vertices", thousands(vertices));
            vec![name, figure("frames"), figure("together"), figure("two threads")]
        })
        .collect();
    let head = ["crowd", "frames/s", "times as fast as one by one", "two threads × one"];
    print_table(output, "Crowds of one model, 5 components f16, one thread", &head, &rows);
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
    print_table(output, "Positions and normals, one thread", &head, &rows);
    output.line("");
    output.line(format!(
        "In f16: drivers take {} of a frame; two threads are {} times as fast as one",
        percent(ns("drivers") / ns("f16")),
        number(ns("f16") / ns("two threads"), 2),
    ));
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_have_commas() {
        assert_eq!(
            [0, 12, 999, 1000, 39_808, 400_000, 1_234_567].map(thousands),
            ["0", "12", "999", "1,000", "39,808", "400,000", "1,234,567"]
        );
    }
}
