//! Styles carried between hands of other materials.

use std::time::Instant;

use eigenskin_characters::{Character, hand, hand_with_fingers};
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::Unwatched;
use eigenskin_sim::jobs::{Purpose, jobs_of_poses};
use eigenskin_sim::material::Material;
use eigenskin_sim::simulation::{Simulation, SimulationParams};

use crate::carried::left;

fn simulated(character: &Character, poses: &[NamedPose], poisson: f64) -> ExampleSet {
    let jobs = jobs_of_poses(&character.rig, poses, Purpose::Training);
    let mut params = SimulationParams::default();
    params.tissue.fill.most_cells = 700;
    params.tissue.fill.fewest_cells = 300;
    params.material = Material { poisson, ..Material::default() };
    params.contact = None;
    let simulation = Simulation::new(character.rig.clone(), &jobs, &[], &params, &Unwatched).unwrap();
    let results = simulation.run_all(&jobs, |_, _| Ok(()), &Unwatched).unwrap();
    assert!(results.iter().all(|result| result.failed.is_empty()));
    let examples = results.into_iter().flat_map(|result| result.poses).map(|pose| Example {
        name: pose.name,
        pose: pose.pose,
        positions: pose.positions,
        normals: None,
        inverted: None,
    });
    ExampleSet::new(character.rig.clone(), examples.collect()).unwrap()
}

/// Flesh that gives way in volume against flesh that keeps it, in poses of the index finger. (How stiff
/// flesh is does not show where bones are led and nothing pushes: only the ratio of its moduli does.)
#[test]
fn a_material_is_carried_to_a_hand_with_thicker_fingers() {
    let start = Instant::now();
    let (slender, thick) = (hand(1800).unwrap(), hand_with_fingers(2200, 1.12).unwrap());
    let poses = |hand: &Character| -> Vec<NamedPose> {
        let all = hand.single_joint_poses(6).into_iter();
        all.filter(|pose| pose.name.starts_with("index-finger")).collect()
    };
    assert!(poses(&slender).len() >= 20, "{}", poses(&slender).len());
    let materials = [0.1, 0.48];
    let [x1, x2] = materials.map(|poisson| simulated(&slender, &poses(&slender), poisson));
    let [y1, truth] = materials.map(|poisson| simulated(&thick, &poses(&thick), poisson));
    let [whole, by_joint] = left("soft to firm", [&x1, &x2], &y1, &truth);
    println!("{} poses, {:.1} s", y1.len(), start.elapsed().as_secs_f64());
    assert!(whole < 0.9 && by_joint < 0.9, "{whole} {by_joint}");
}
