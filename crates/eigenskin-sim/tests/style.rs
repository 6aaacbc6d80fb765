//! Styles carried between hands: from skinning to skinning on a hand of others, and between materials.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod data;

use std::sync::Arc;
use std::time::Instant;

use eigenskin_characters::{Character, hand, hand_with_fingers};
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, skinned_shape};
use eigenskin_fit::metrics::vertex_errors;
use eigenskin_fit::style::{Regions, StyleMap, StyleParams, match_joints};
use eigenskin_sim::jobs::{Purpose, jobs_of_poses};
use eigenskin_sim::material::Material;
use eigenskin_sim::simulation::{Simulation, SimulationParams};

fn skinned(rig: &Arc<Rig>, poses: &[(String, Pose)], base: BaseSkinning) -> ExampleSet {
    let example = |(name, pose): &(String, Pose)| {
        let positions = skinned_shape(base, rig, pose);
        Example { name: name.clone(), pose: pose.clone(), positions, normals: None, inverted: None }
    };
    ExampleSet::new(rig.clone(), poses.iter().map(example).collect()).unwrap()
}

fn rmse(a: &ExampleSet, b: &ExampleSet) -> f64 {
    let errors: Vec<f32> = a
        .examples()
        .iter()
        .zip(b.examples())
        .flat_map(|(a, b)| vertex_errors(&a.positions, &b.positions))
        .collect();
    (errors.iter().map(|&e| f64::from(e).powi(2)).sum::<f64>() / errors.len() as f64).sqrt()
}

fn named(poses: Vec<NamedPose>) -> Vec<(String, Pose)> {
    poses.into_iter().map(|named| (named.name, named.pose)).collect()
}

/// Errors left of the gap between target and truth, by region.
fn left(label: &str, x: [&ExampleSet; 2], y1: &ExampleSet, truth: &ExampleSet) -> [f64; 2] {
    let gap = rmse(y1, truth);
    [Regions::Whole, Regions::joints()].map(|regions| {
        let params = StyleParams { regions, ..StyleParams::default() };
        let map = StyleMap::capture(x[0], x[1], y1, &params).unwrap();
        let found = rmse(&map.transfer(y1, 1.0).unwrap().set, truth);
        println!(
            "{label}, {regions:?}: {found:.3e} of a gap of {gap:.3e}, {:.3}; rank {}, carried {:.3}",
            found / gap,
            map.report.rank,
            map.report.carried
        );
        found / gap
    })
}

#[test]
fn dual_quaternions_are_carried_from_a_hand_of_others() {
    let Some(folder) = data::folder("a style from a hand of others") else { return };
    let rig = Arc::new(data::rig_at(&folder.join("webxr-hand/left.glb")));
    let target = hand(4000).unwrap();
    let joints = match_joints(rig.skeleton(), target.rig.skeleton(), None).unwrap();
    let sampled = [
        ("one joint at a time", named(target.single_joint_poses(3))),
        ("30 poses of all joints", named(target.multi_joint_poses(24, 1))),
        ("66 poses of all joints", named(target.multi_joint_poses(60, 1))),
    ];
    for (label, poses) in sampled {
        let carried: Vec<(String, Pose)> =
            poses.iter().map(|(name, pose)| (name.clone(), joints.carry(&rig, &target.rig, pose))).collect();
        let bases = [BaseSkinning::LinearBlend, BaseSkinning::DualQuaternion];
        let [x1, x2] = bases.map(|base| skinned(&rig, &carried, base));
        let [y1, truth] = bases.map(|base| skinned(&target.rig, &poses, base));
        let [whole, by_joint] = left(label, [&x1, &x2], &y1, &truth);
        assert!(whole < 0.5 && by_joint < 0.4, "{label}: {whole} {by_joint}");
    }
}

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
