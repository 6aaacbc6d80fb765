//! What a lattice costs: the built-in hand filled with cubes of three sizes, some
//! fingers bent and spread, on one thread and on two. Times are of this machine and moment; what can be
//! compared are the ratios.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may fail")]

use std::time::Instant;

use eigenskin_characters::{Character, hand};
use eigenskin_core::progress::Unwatched;
use eigenskin_sim::jobs::{Job, SamplingParams, jobs};
use eigenskin_sim::simulation::{Simulation, SimulationParams};

fn main() {
    let hand = hand(13_976).unwrap();
    let jobs = some_jobs(&hand);
    let poses: usize = jobs.iter().map(|job| job.stops.len()).sum();
    println!("{} triangles, {poses} poses of {} joints; skin pushes skin away", 13_976, jobs.len());
    println!("                                             seconds per pose");
    println!(" cubes  unknowns  filling  factor  memory  1 thread  2 threads  1 / 2  1 thread, no contact");
    for cubes in [750, 1500, 3000] {
        let mut params = SimulationParams::default();
        params.tissue.fill.most_cells = cubes;
        params.tissue.fill.fewest_cells = cubes / 2;
        let start = Instant::now();
        let simulation = Simulation::new(hand.rig.clone(), &jobs, &[], &params, &Unwatched).unwrap();
        let filling = start.elapsed().as_secs_f64();
        let lattice = &simulation.tissue().filling.lattice;
        let factor = simulation.solver().unwrap().factor_entries() * size_of::<f64>();
        forget_memory();
        let [one, two] = [1, 2].map(|threads| seconds(&simulation, &jobs, threads) / poses as f64);
        let memory = megabytes().map_or("–".to_string(), |megabytes| format!("{megabytes:.0} MB"));
        let alone = Simulation::new(
            hand.rig.clone(),
            &jobs,
            &[],
            &SimulationParams { contact: None, ..params },
            &Unwatched,
        );
        let alone = seconds(&alone.unwrap(), &jobs, 1) / poses as f64;
        println!(
            "{:>6}  {:>8}  {filling:>5.1} s  {:>3.0} MB  {memory:>6}  {one:>8.2}  {two:>9.2}  {:>5.2}  {alone:>20.2}",
            lattice.cell_count(),
            3 * lattice.node_count(),
            factor as f64 / 1e6,
            one / two,
        );
    }
}

/// Every fifth way of one joint, up to three poses each.
fn some_jobs(hand: &Character) -> Vec<Job> {
    let sampling = SamplingParams {
        per_degree: 3,
        corner_shares: Vec::new(),
        validation: 0,
        ..SamplingParams::default()
    };
    let all = jobs(hand.articulation(), &sampling, &[]);
    all.into_iter().step_by(5).collect()
}

/// Wall-clock time of all jobs.
fn seconds(simulation: &Simulation, jobs: &[Job], threads: usize) -> f64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let start = Instant::now();
    let results = pool.install(|| simulation.run_all(jobs, |_, _| Ok(()), &Unwatched)).unwrap();
    assert!(results.iter().all(|result| result.failed.is_empty()));
    start.elapsed().as_secs_f64()
}

/// Lets the system measure anew how much memory was in use at most, where it can.
fn forget_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory in use since, where the system tells.
fn megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1e3)
}
