//! Running jobs with progress.

use std::sync::Mutex;
use std::time::Instant;

use anyhow::Result;
use eigenskin::progress::Unwatched;
use eigenskin::sim::jobs::Job;
use eigenskin::sim::quality::QualityLimits;
use eigenskin::sim::simulation::{JobResult, Simulation, SimulationParams};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::outcome::Outcome;
use super::parts::Parts;
use crate::output::Output;

/// The settings of a simulation whose automatic edge gives at most so many cubes.
pub fn params_with_cubes(cubes: usize) -> SimulationParams {
    let mut params = SimulationParams::default();
    params.tissue.fill.most_cells = cubes;
    params.tissue.fill.fewest_cells = params.tissue.fill.fewest_cells.min(cubes / 2);
    params
}

/// Solves jobs, sorts their poses ([`Outcome::of`]) and prints what came out.
pub fn solve_and_sort(
    simulation: &Simulation,
    jobs: &[Job],
    parts: Option<&Parts>,
    held_out: impl Fn(&str) -> bool,
    output: &Output,
    quiet: bool,
) -> Result<Outcome> {
    let start = Instant::now();
    let results = solve(simulation, jobs, parts, quiet)?;
    let seconds = start.elapsed().as_secs_f64();
    let outcome = Outcome::of(jobs, &results, &QualityLimits::default(), held_out, seconds);
    outcome.print(output);
    Ok(outcome)
}

/// Solves the jobs that `parts` does not have yet and keeps each as it ends. Results are in the
/// order of the jobs.
fn solve(
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
    let solved = simulation.run_all(
        &wanted,
        |place, result| {
            bar.inc(wanted[place].stops.len() as u64);
            if let Some(Err(error)) = parts.map(|parts| parts.write(missing[place], result))
                && let Ok(mut failure) = failure.lock()
            {
                failure.get_or_insert(error);
            }
            Ok(())
        },
        &Unwatched,
    )?;
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
