//! Poses of whole characters.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use eigenskin::articulation::Articulation;
use eigenskin::characters::hand;
use eigenskin_sim::jobs::{SamplingParams, jobs};
use eigenskin_sim::quality::QualityLimits;
use eigenskin_sim::simulation::{Simulation, SimulationParams};

#[test]
#[ignore = "prints times"]
fn try_hand() {
    let hand = hand(3500).unwrap();
    let sampling = SamplingParams { validation: 5, ..SamplingParams::default() };
    let jobs = jobs(Articulation { rig: &hand.rig, degrees: &hand.degrees_of_freedom }, &sampling);
    let mut params = SimulationParams::default();
    if let Ok(cells) = std::env::var("CELLS") {
        params.tissue.fill.most_cells = cells.parse().unwrap();
    }
    if std::env::var("NH").is_ok() {
        params.material.model = eigenskin_sim::material::Model::NeoHookean;
    }
    let start = Instant::now();
    let simulation = Simulation::new(hand.rig.clone(), &jobs, &[], &params).unwrap();
    println!(
        "{} cells, edge {:.4}, {} unknowns, {:?}",
        simulation.problem().lattice().cell_count(),
        simulation.problem().lattice().edge,
        3 * simulation.problem().lattice().node_count(),
        start.elapsed()
    );
    let mut solver = simulation.solver().unwrap();
    let every: usize = std::env::var("EVERY").map_or(7, |e| e.parse().unwrap());
    for job in jobs.iter().step_by(every) {
        let start = Instant::now();
        let result = simulation.run(&mut solver, simulation.contact().as_ref(), job);
        println!("{} {:?}", job.description(), start.elapsed());
        for pose in &result.poses {
            let q = &pose.quality;
            println!(
                "   {:50} J {:.3} inv {} stable {} vol {:.4} jump {:.4} steps {} {:?}",
                pose.name,
                q.smallest_volume,
                q.inverted,
                q.stable,
                q.volume,
                q.jump,
                q.newton_steps,
                q.fault(&QualityLimits::default())
            );
        }
        for failed in &result.failed {
            println!("   FAILED {failed:?}");
        }
    }
}
