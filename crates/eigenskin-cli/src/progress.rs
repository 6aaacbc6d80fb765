//! A spinner with a sentence, or a bar with the time left, on a terminal, for work of more than a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
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

/// A bar or a spinner on a terminal, silent where nobody looks; Ctrl-C ends the work that it watches.
pub struct Terminal {
    bar: ProgressBar,
    /// what the bar shows now: what is done, and of how many
    shown: Mutex<(String, Option<usize>)>,
}

impl Terminal {
    /// Shows nothing yet.
    pub fn new(quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, shown: Mutex::new((String::new(), None)) }
    }
}

impl Progress for Terminal {
    fn step(&self, step: Step<'_>) -> Result<(), Cancelled> {
        if interrupted() {
            return Err(Cancelled);
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.0 != step.doing || shown.1 != step.count {
            let template = match step.count {
                Some(_) => "{msg} {wide_bar} {pos} of {len}, {eta} left",
                None => "{spinner} {msg} {elapsed}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
            self.bar.reset();
            if let Some(count) = step.count {
                self.bar.set_length(count as u64);
            }
            self.bar.set_message(step.doing.to_string());
            *shown = (step.doing.to_string(), step.count);
        }
        self.bar.set_position(step.done as u64);
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Whether Ctrl-C was pressed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Notes that Ctrl-C was pressed; returns whether it was pressed before.
pub fn interrupt() -> bool {
    INTERRUPTED.swap(true, Ordering::Relaxed)
}

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
