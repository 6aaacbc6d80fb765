//! A spinner with a sentence, or a bar with the time left, on a terminal, for work of more than a second.

use std::time::Duration;

use eigenskin::progress::{Cancelled, Progress, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Runs `work` under a spinner that says what is being done; silent where nobody looks.
pub fn while_doing<T>(quiet: bool, doing: &str, work: impl FnOnce() -> T) -> T {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if !quiet {
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(doing.to_string());
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    let result = work();
    bar.finish_and_clear();
    result
}

/// A bar with the time left for work on `count` things; silent where nobody looks.
pub fn bar(quiet: bool, doing: &str, count: usize) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(count as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len}, {eta} left") {
        bar.set_style(style);
    }
    bar.set_message(doing.to_string());
    bar
}

/// Steps told to a function.
pub struct Told<F>(pub F);

impl<F: Fn(Step<'_>) + Sync> Progress for Told<F> {
    fn step(&self, step: Step<'_>) -> Result<(), Cancelled> {
        (self.0)(step);
        Ok(())
    }
}
