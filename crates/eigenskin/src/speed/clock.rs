//! Times of work that takes turns, so that a busy machine slows all alike.

use std::time::{Duration, Instant};

/// Work to be timed.
pub type Work<'a> = Box<dyn FnMut() + 'a>;

/// Seconds of each work: medians over `rounds`, in which every work has its turn. Each turn is the best
/// of `repeats`, after one more that brings its data into the cache.
pub fn seconds(works: &mut [Work], rounds: usize, repeats: usize) -> Vec<f64> {
    let mut times = vec![Vec::new(); works.len()];
    for _ in 0..rounds {
        for (work, times) in works.iter_mut().zip(&mut times) {
            work();
            let best = (0..repeats).map(|_| once(work)).min().unwrap_or_default();
            times.push(best.as_secs_f64());
        }
    }
    times.iter_mut().map(|times| median(times)).collect()
}

fn once(work: &mut Work) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The middle number; NaN of none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_has_its_turn_in_every_round() {
        let order = std::cell::RefCell::new(Vec::new());
        let mut works: Vec<Work> =
            vec![Box::new(|| order.borrow_mut().push('a')), Box::new(|| order.borrow_mut().push('b'))];
        let times = seconds(&mut works, 2, 2);
        drop(works);
        assert_eq!(times.len(), 2);
        assert_eq!(order.borrow().iter().collect::<String>(), "aaabbbaaabbb");
    }
}
