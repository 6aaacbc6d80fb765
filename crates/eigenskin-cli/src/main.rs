//! The `eigenskin` command.

mod commands;
mod example_source;
mod fitting;
mod inverted;
mod model_file;
mod output;
mod painter;
mod pose_source;
mod progress;
mod rigs;
mod simulate;
mod solved_weights;
mod spread;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use eigenskin::text_table as table;

/// Example-based character skinning: learn corrections from example shapes, ship them as plain glTF.
#[derive(Parser)]
#[command(name = "eigenskin", version, after_help = "Start with:  eigenskin demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print nothing but errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Args),
    Check(commands::check::Args),
    Simulate(Box<commands::simulate::Args>),
    Examples(commands::examples::Args),
    Suggest(Box<commands::suggest::Args>),
    Weights(Box<commands::weights::Args>),
    Fit(Box<commands::fit::Args>),
    Evaluate(commands::evaluate::Args),
    Transfer(commands::transfer::Args),
    Style(Box<commands::style::Args>),
    Bake(commands::bake::Args),
    View(commands::view::Args),
    Bench(commands::bench::Args),
    Render(Box<commands::render::Args>),
    Completions(commands::completions::Args),
}

fn main() -> ExitCode {
    #[cfg(feature = "gpu")]
    keep_drivers_quiet();
    let cli = Cli::parse();
    end_cleanly_when_interrupted();
    let result = match &cli.command {
        Command::Demo(args) => commands::demo::run(args, cli.quiet),
        Command::Check(args) => commands::check::run(args, cli.quiet),
        Command::Simulate(args) => commands::simulate::run(args, cli.quiet),
        Command::Examples(args) => commands::examples::run(args, cli.quiet),
        Command::Suggest(args) => commands::suggest::run(args, cli.quiet),
        Command::Weights(args) => commands::weights::run(args, cli.quiet),
        Command::Fit(args) => commands::fit::run(args, cli.quiet),
        Command::Evaluate(args) => commands::evaluate::run(args, cli.quiet),
        Command::Transfer(args) => commands::transfer::run(args, cli.quiet),
        Command::Style(args) => commands::style::run(args, cli.quiet),
        Command::Bake(args) => commands::bake::run(args, cli.quiet),
        Command::View(args) => commands::view::run(args, cli.quiet),
        Command::Bench(args) => commands::bench::run(args, cli.quiet),
        Command::Render(args) => commands::render::run(args, cli.quiet),
        Command::Completions(args) => commands::completions::run(args, Cli::command()),
    };
    match result {
        // Stopped, or finished before it noticed.
        _ if progress::interrupted() => ExitCode::from(INTERRUPTED),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Mesa's Vulkan layer that sorts GPUs asks Wayland which is in use, and without a session (containers,
/// `sudo`) complains on standard error. There is nothing to sort by then, so the layer is left out.
#[cfg(feature = "gpu")]
#[allow(unsafe_code, reason = "there is no safe way to change what a C library reads")]
fn keep_drivers_quiet() {
    if cfg!(target_os = "linux") && std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: this is the first thing the program does, so there is no other thread.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// What shells expect of a command that was interrupted: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

/// How long work that watches for it may take to end after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ctrl-C leaves no half-written file behind: work that reports its progress ends by itself, and whatever
/// does not is ended here.
fn end_cleanly_when_interrupted() {
    // Without a handler the command works all the same; only its temporary files could stay.
    let _ = ctrlc::set_handler(|| {
        let again = progress::interrupt();
        if !again {
            std::thread::sleep(PATIENCE);
        }
        eigenskin::io::atomic::abandon_unfinished();
        std::process::exit(INTERRUPTED.into());
    });
}
