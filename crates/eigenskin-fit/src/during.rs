//! Steps of stages and of many small things.

use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin_core::progress::{Cancelled, Progress, Step};

/// Passes steps on under the name of a stage: who looks hears of the stage, not of its innards.
pub(crate) struct During<'a> {
    progress: &'a dyn Progress,
    doing: &'a str,
}

impl<'a> During<'a> {
    /// Begins a stage.
    pub fn new(progress: &'a dyn Progress, doing: &'a str) -> Self {
        Self { progress, doing }
    }
}

impl Progress for During<'_> {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        self.progress.doing(self.doing)
    }
}

/// Many small things done by several threads: every so many are told.
pub(crate) struct Small<'a> {
    progress: &'a dyn Progress,
    doing: &'a str,
    done: AtomicUsize,
    count: usize,
}

/// Small things between two steps.
const BETWEEN_STEPS: usize = 128;

impl<'a> Small<'a> {
    /// Begins work on `count` things.
    pub fn new(progress: &'a dyn Progress, doing: &'a str, count: usize) -> Self {
        Self { progress, doing, done: AtomicUsize::new(0), count }
    }

    /// One more thing is done.
    pub fn next(&self) -> Result<(), Cancelled> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !done.is_multiple_of(BETWEEN_STEPS) && done != self.count {
            return Ok(());
        }
        self.progress.step(Step { doing: self.doing, done, count: Some(self.count) })
    }
}
