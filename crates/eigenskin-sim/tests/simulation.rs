//! Poses of the built-in hand, coarse.
#![allow(clippy::unwrap_used)]

use eigenskin::articulation::Articulation;
use eigenskin::characters::hand;
use eigenskin_sim::jobs::{Job, SamplingParams, jobs};
use eigenskin_sim::quality::QualityLimits;
use eigenskin_sim::simulation::{JobResult, Simulation, SimulationParams};

/// A hand in at most 1,200 cubes, and four of its ways: three joints in several poses each, and a
/// knuckle bent and turned aside at once.
fn coarse_hand() -> (Simulation, Vec<Job>) {
    let hand = hand(3500).unwrap();
    let sampling = SamplingParams { per_degree: 4, validation: 0, ..SamplingParams::default() };
    let all = jobs(Articulation { rig: &hand.rig, degrees: &hand.degrees_of_freedom }, &sampling);
    let mut params = SimulationParams::default();
    params.tissue.fill.most_cells = 1_200;
    let simulation = Simulation::new(hand.rig.clone(), &all, &[], &params).unwrap();
    let is_sweep = |job: &&Job| job.stops.len() >= 2;
    let sweeps = all.iter().filter(is_sweep).step_by(6).take(3);
    let chosen: Vec<Job> = sweeps.chain(all.last()).cloned().collect();
    assert_eq!(chosen.len(), 4);
    (simulation, chosen)
}

fn with_threads(simulation: &Simulation, jobs: &[Job], threads: usize) -> Vec<JobResult> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| simulation.run_all(jobs, |_, _| ()).unwrap())
}

#[test]
fn poses_of_a_hand_are_good_and_depend_on_nothing_else() {
    let (simulation, jobs) = coarse_hand();
    let cells = simulation.problem().lattice().cell_count();
    assert!((600..=1_200).contains(&cells), "{cells}");
    let results = with_threads(&simulation, &jobs, 1);
    for (job, result) in jobs.iter().zip(&results) {
        assert_eq!(result.failed, []);
        assert_eq!(result.poses.len(), job.stops.len());
        for (pose, stop) in result.poses.iter().zip(&job.stops) {
            let quality = &pose.quality;
            assert_eq!(pose.name, stop.name);
            assert_eq!(quality.inverted, 0, "{}", pose.name);
            assert!((quality.volume - 1.0).abs() < 0.05, "{}: {quality:?}", pose.name);
            assert!(quality.jump < 0.01, "{}: {quality:?}", pose.name);
            assert_eq!(quality.fault(&QualityLimits::default()), None, "{}", pose.name);
            // It moves, and stays in one piece.
            let rest = simulation.rig().mesh().positions();
            let moved = pose.positions.iter().zip(rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            let size = simulation.rig().mesh().size() as f32;
            assert!(moved > 0.02 * size && moved < 2.0 * size, "{}: {moved}", pose.name);
        }
    }
    // Neither the number of threads, nor what a solver did before, nor other jobs matter.
    assert_eq!(with_threads(&simulation, &jobs, 2), results);
    let contact = simulation.contact();
    let mut solver = simulation.solver().unwrap();
    for index in [3, 0] {
        assert_eq!(simulation.run(&mut solver, contact.as_ref(), &jobs[index]), results[index]);
    }
}
