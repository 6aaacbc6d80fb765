//! Running jobs with progress, and what to keep of their poses.

use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::rig::Rig;
use eigenskin_sim::jobs::{Job, Purpose};
use eigenskin_sim::quality::QualityLimits;
use eigenskin_sim::simulation::{JobResult, Simulation};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::parts::{Parts, example};

/// Solves the jobs that `parts` does not have yet and keeps each as it ends. Results are in the
/// order of the jobs.
pub fn solve(
    simulation: &Simulation,
    jobs: &[Job],
    parts: Option<&Parts>,
    quiet: bool,
) -> Result<Vec<JobResult>> {
    let mut results: Vec<Option<JobResult>> = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        results.push(parts.map(|parts| parts.read(index, job, simulation.rig())).transpose()?.flatten());
    }
    let missing: Vec<usize> = (0..jobs.len()).filter(|&index| results[index].is_none()).collect();
    let wanted: Vec<Job> = missing.iter().map(|&index| jobs[index].clone()).collect();
    let bar = progress_bar(quiet, wanted.iter().map(|job| job.stops.len()).sum());
    let failure = Mutex::new(None);
    let solved = simulation.run_all(&wanted, |place, result| {
        bar.inc(wanted[place].stops.len() as u64);
        if let Some(Err(error)) = parts.map(|parts| parts.write(missing[place], result))
            && let Ok(mut failure) = failure.lock()
        {
            failure.get_or_insert(error);
        }
    })?;
    bar.finish_and_clear();
    if let Ok(Some(error)) = failure.into_inner() {
        return Err(error);
    }
    for (index, result) in missing.into_iter().zip(solved) {
        // Files round: shapes come from there whether a run was interrupted or not, so that both
        // end with the same bytes.
        let kept = parts.map(|parts| parts.read(index, &jobs[index], simulation.rig())).transpose()?;
        results[index] = kept.flatten().or(Some(result));
    }
    Ok(results.into_iter().flatten().collect())
}

fn progress_bar(quiet: bool, poses: usize) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(poses as u64), target);
    if let Ok(style) = ProgressStyle::with_template("simulating {bar:30} {pos}/{len} poses, {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(500));
    bar
}

/// A pose that is not learned from.
pub struct Dropped {
    /// its name
    pub name: String,
    /// why
    pub reason: String,
}

/// What came out, sorted.
pub struct Sorted {
    /// poses to learn from
    pub training: Vec<Example>,
    /// poses to test with
    pub validation: Vec<Example>,
    /// poses that were not good enough
    pub dropped: Vec<Dropped>,
    /// smallest and largest volume over rest among those kept
    pub volume: [f64; 2],
    /// smallest volume of a point among those kept
    pub smallest_volume: f64,
}

/// Good poses by purpose; the others with their faults.
pub fn sort(results: &[JobResult], limits: &QualityLimits) -> Sorted {
    let mut sorted = Sorted {
        training: Vec::new(),
        validation: Vec::new(),
        dropped: Vec::new(),
        volume: [f64::INFINITY, f64::NEG_INFINITY],
        smallest_volume: f64::INFINITY,
    };
    for result in results {
        for pose in &result.poses {
            let quality = &pose.quality;
            if let Some(reason) = quality.fault(limits) {
                sorted.dropped.push(Dropped { name: pose.name.clone(), reason });
                continue;
            }
            sorted.volume = [sorted.volume[0].min(quality.volume), sorted.volume[1].max(quality.volume)];
            sorted.smallest_volume = sorted.smallest_volume.min(quality.smallest_volume);
            match pose.purpose {
                Purpose::Training => sorted.training.push(example(pose)),
                Purpose::Validation => sorted.validation.push(example(pose)),
            }
        }
        let failed = result.failed.iter();
        sorted
            .dropped
            .extend(failed.map(|(name, reason)| Dropped { name: name.clone(), reason: reason.clone() }));
    }
    sorted
}

/// Examples as a set; with none, one sentence that says why.
pub fn example_set(rig: &Arc<Rig>, examples: Vec<Example>, dropped: &[Dropped]) -> Result<ExampleSet> {
    if examples.is_empty() {
        match dropped.first() {
            Some(first) => bail!(
                "none of {} poses is good enough to learn from; the first, {:?}: {}",
                dropped.len(),
                first.name,
                first.reason
            ),
            None => bail!("there are no poses to learn from; ask for some with --per-degree"),
        }
    }
    Ok(ExampleSet::new(rig.clone(), examples)?)
}
