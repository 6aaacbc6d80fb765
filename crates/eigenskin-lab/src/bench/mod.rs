//! How fast made-up models play on this machine, as ratios.

mod character;
mod fixed;
mod synthetic;

use std::process::Command;

use anyhow::{Context, Result, bail};
use eigenskin::packed::Path as Instructions;
use eigenskin::speed::{Figures, STORAGES, two_threads};
use serde_json::json;

use crate::output::Output;
use synthetic::{COMPONENTS, CORRECTIONS, CROWDS, PAPERS};

/// Tubes of several sizes, characters of the sizes in papers, and crowds
#[derive(clap::Args)]
pub struct Args {
    /// Sizes to try, separated by commas
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [14_000, 28_000, 40_000, 400_000])]
    vertices: Vec<usize>,
    /// Processes to take medians over
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=99))]
    processes: u8,
    /// Take the figures in this process and print nothing but them
    #[arg(long, hide = true)]
    one_process: bool,
    /// Play some frames with one kernel, for tools that count instructions
    #[arg(long, hide = true, value_name = "NAME")]
    kernel: Option<String>,
}

/// Takes all figures and prints them.
pub fn run(args: &Args, output: &Output) -> Result<()> {
    if let Some(kernel) = &args.kernel {
        return fixed::play(kernel);
    }
    if let Some(few) = args.vertices.iter().find(|&&vertices| vertices < 800) {
        bail!("--vertices {few}: a tube needs at least 800 vertices");
    }
    if args.one_process {
        return Output::new(Some("-".to_string())).figures(&json!(measure(&args.vertices)?));
    }
    let program = std::env::current_exe().context("this program cannot be started again")?;
    let sizes = args.vertices.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut runs = Vec::new();
    for process in 1..=args.processes {
        output.doing(&format!("process {process} of {}", args.processes));
        let mut command = Command::new(&program);
        runs.push(Figures::of_process(command.args(["bench", "--one-process", "--vertices", &sizes]))?);
    }
    let figures = Figures::medians(&runs);
    let instructions = format!("{:?}", Instructions::fastest()).to_lowercase();
    output.item("machine", format!("{instructions} instructions; medians over {} processes", runs.len()));
    print_skinning(output, &args.vertices, &figures);
    print_components(output, &args.vertices, &figures);
    print_papers(output, &figures);
    print_crowds(output, &figures);
    output.figures(&json!({ "instructions": instructions, "processes": runs.len(), "figures": figures }))
}

fn measure(sizes: &[usize]) -> Result<Figures> {
    let pool = two_threads()?;
    let mut figures = Figures::default();
    for &vertices in sizes {
        synthetic::measure_size(vertices, &pool, &mut figures)?;
    }
    synthetic::measure_papers(&pool, &mut figures)?;
    for crowd in CROWDS {
        synthetic::measure_crowd(crowd, &pool, &mut figures)?;
    }
    Ok(figures)
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
    output.table(head, rows);
}

fn print_skinning(output: &Output, sizes: &[usize], figures: &Figures) {
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
}

fn print_components(output: &Output, sizes: &[usize], figures: &Figures) {
    for &size in sizes {
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
        let title = format!("{} vertices: a frame with components, times plain skinning", thousands(size));
        let head = ["components", "f32", "f16", "i16", "+ normals f32", "f16", "i16", "2 threads f16"];
        print_table(output, &title, &head, &rows);
    }
}

fn print_papers(output: &Output, figures: &Figures) {
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
}

fn print_crowds(output: &Output, figures: &Figures) {
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
