//! How commands behave whatever they do: help, silence, plain text in pipes, a clean end on Ctrl-C.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::bundle::bar_bundle;
use crate::support::{SMALL_DEMO, eigenskin};

/// All commands, as the help lists them.
fn commands() -> Vec<String> {
    let text = String::from_utf8(eigenskin(&["--help"]).stdout).unwrap();
    let list = text.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_string).collect()
}

#[test]
fn every_command_has_help_with_an_example() {
    let commands = commands();
    assert!(commands.len() >= 12 && commands.contains(&"style".to_string()), "{commands:?}");
    for command in &commands {
        let output = eigenskin(&[command, "--help"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let example =
            text.split("\nExample").nth(1).unwrap_or_else(|| panic!("{command} has no example: {text}"));
        assert!(output.status.success() && example.contains(&format!("  eigenskin {command} ")), "{text}");
    }
    let version = eigenskin(&["--version"]);
    let expected = format!("eigenskin {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((version.status.code(), version.stdout), (Some(0), expected.into_bytes()));
}

/// The short help has what people use every day; the long one has all.
#[test]
fn the_short_help_is_short() {
    let options = |arguments: &[&str]| -> usize {
        let text = String::from_utf8(eigenskin(arguments).stdout).unwrap();
        text.lines().filter(|line| line.trim_start().starts_with('-')).count()
    };
    for command in &commands() {
        let (short, long) = (options(&[command, "-h"]), options(&[command, "--help"]));
        assert!((1..=15).contains(&short), "{command} -h lists {short} options");
        assert!(short <= long, "{command}");
    }
    assert!(options(&["fit", "--help"]) > 2 * options(&["fit", "-h"]));
}

/// The help lists it all the same.
#[cfg(not(feature = "window"))]
#[test]
fn view_says_how_to_get_the_window() {
    for arguments in [&["view"][..], &["view", "model.glb", "--port", "0"]] {
        let output = eigenskin(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
        assert!(error.contains("cargo install eigenskin-cli --features window"), "{error}");
        assert!(error.contains("cargo run --release --features window -- view"), "{error}");
    }
}

/// The commands on a small character, each with what it needs.
fn usual_runs(folder: &Path) -> Vec<Vec<String>> {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    bar_bundle().write(&folder.join("bar.npz"));
    let (bar, model, demo) = (path("bar.npz"), path("model.glb"), path("demo"));
    let (grasp, hand) = (path("grasp.glb"), path("demo/model.glb"));
    let styled = path("styled.glb");
    let (weighted, carried) = (path("weighted.glb"), path("carried.glb"));
    let runs: [&[&str]; 8] = [
        &["check", &bar],
        &["fit", &bar, "--examples", &bar, "-o", &model, "--leave-one-out"],
        &["evaluate", &model, "--truth", &bar],
        &["weights", &bar, "--examples", &bar, "-o", &weighted],
        &["transfer", &model, "--to", &bar, "-o", &carried, "--truth", &bar],
        &["style", "--from", &bar, &bar, "--to", &bar, "-o", &styled],
        &[&["demo", "--out", &demo][..], &SMALL_DEMO].concat(),
        &["bake", &hand, "--clip", "grasp", "-o", &grasp],
    ];
    runs.iter().map(|run| run.iter().map(ToString::to_string).collect()).collect()
}

fn run(arguments: &[String], more: &[&str], colour: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eigenskin"));
    command.args(arguments).args(more).env_remove("NO_COLOR").envs(colour.iter().copied()).output().unwrap()
}

#[test]
fn quiet_says_nothing_and_pipes_get_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let runs = usual_runs(folder.path());
    for arguments in &runs {
        let output = run(arguments, &["--quiet"], &[]);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let said = [output.stdout, output.stderr].concat();
        assert!(said.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&said));
    }
    let mut plain: Vec<Vec<String>> = runs.iter().filter(|run| run[0] != "demo").cloned().collect();
    for unusual in
        [&["--help"][..], &["fit", "--help"], &["check", "missing.glb"], &["no-such-command"], &["fit"]]
    {
        plain.push(unusual.iter().map(ToString::to_string).collect());
    }
    for arguments in &plain {
        for colour in [&[][..], &[("NO_COLOR", "1"), ("TERM", "xterm-256color")]] {
            let output = run(arguments, &[], colour);
            let said = [output.stdout, output.stderr].concat();
            assert!(
                !said.is_empty() && !said.contains(&0x1b),
                "{arguments:?}: {}",
                String::from_utf8_lossy(&said)
            );
        }
    }
}

/// Interrupted while it computes and while it writes: no temporary file, and what is there is whole.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_partial_file() {
    use std::time::{Duration, Instant};
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    // What must be there, by how its name begins. Nothing is written before everything is computed.
    let moments = [("it computes", ""), ("a file is being written", ".eigenskin-")];
    for (moment, begins) in moments {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("demo");
        let mut child = Command::new(env!("CARGO_BIN_EXE_eigenskin"))
            .args(["demo", "--quiet", "--out", out.to_str().unwrap()])
            .args(SMALL_DEMO)
            .spawn()
            .unwrap();
        let start = Instant::now();
        while begins.is_empty() && start.elapsed() < Duration::from_millis(500)
            || !begins.is_empty() && !names(&out).iter().any(|name| name.starts_with(begins))
        {
            assert!(child.try_wait().unwrap().is_none(), "ended before {moment}");
            assert!(start.elapsed() < Duration::from_mins(5), "{moment} never came");
            std::thread::sleep(Duration::from_micros(200));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{moment}");
        let left = names(&out);
        assert!(!left.iter().any(|name| name.starts_with('.')), "{moment}: {left:?}");
        assert!(!begins.is_empty() || left.is_empty(), "{moment}: {left:?}");
        for name in left {
            let file = out.join(&name);
            if file.extension().is_some_and(|extension| extension == "glb") {
                assert!(eigenskin(&["check", file.to_str().unwrap()]).status.success(), "{moment}: {name}");
            }
        }
    }
}
