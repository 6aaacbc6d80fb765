//! How far long work has come, and how it is stopped.
//!
//! Every long function takes a [`Progress`] as its last argument and calls it at least five times a
//! second. Who looks (a terminal, Python, a window) decides there whether the work goes on.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A moment of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// what is being done: "pulling back", "fitting"
    pub doing: &'a str,
    /// things done
    pub done: usize,
    /// things in all, where that is known
    pub count: Option<usize>,
}

/// Looks at long work. Called from several threads.
pub trait Progress: Sync {
    /// Takes note of a moment; an error ends the work.
    fn step(&self, step: Step<'_>) -> Result<(), Cancelled>;
}

/// The work was ended from outside. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before it was finished")]
pub struct Cancelled;

/// Nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        Ok(())
    }
}

impl dyn Progress + '_ {
    /// Work whose parts are not counted.
    pub fn doing(&self, doing: &str) -> Result<(), Cancelled> {
        self.step(Step { doing, done: 0, count: None })
    }
}

/// Things done by one or several threads, each told to a [`Progress`].
pub struct Counted<'a> {
    progress: &'a dyn Progress,
    doing: &'a str,
    done: AtomicUsize,
    count: usize,
}

impl<'a> Counted<'a> {
    /// Begins work on `count` things.
    pub fn new(progress: &'a dyn Progress, doing: &'a str, count: usize) -> Self {
        Self { progress, doing, done: AtomicUsize::new(0), count }
    }

    /// One more thing is done.
    pub fn next(&self) -> Result<(), Cancelled> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.progress.step(Step { doing: self.doing, done, count: Some(self.count) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Stops after some steps.
    struct Impatient(Mutex<Vec<usize>>, usize);

    impl Progress for Impatient {
        fn step(&self, step: Step<'_>) -> Result<(), Cancelled> {
            let mut seen = self.0.lock().unwrap();
            assert_eq!((step.doing, step.count), ("counting", Some(3)));
            seen.push(step.done);
            if seen.len() > self.1 { Err(Cancelled) } else { Ok(()) }
        }
    }

    #[test]
    fn things_are_counted_until_it_is_enough() {
        let watcher = Impatient(Mutex::new(Vec::new()), 2);
        let counted = Counted::new(&watcher, "counting", 3);
        assert_eq!([counted.next(), counted.next(), counted.next()], [Ok(()), Ok(()), Err(Cancelled)]);
        assert_eq!(*watcher.0.lock().unwrap(), [1, 2, 3]);
    }
}
