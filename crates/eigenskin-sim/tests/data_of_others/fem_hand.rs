//! A hand bent by another finite-element model, as a witness: linear tetrahedra against our cubes.
//! Its fingers pass through each other, so ours do as well here.

use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::progress::Unwatched;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_fit::method::{Budget, EigenSkinParams, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::supports::{Border, SupportParams};
use eigenskin_gltf::ReadOptions;
use eigenskin_io::read_examples;
use eigenskin_sim::jobs::{Purpose, jobs_of_poses};
use eigenskin_sim::quality::QualityLimits;
use eigenskin_sim::simulation::{Simulation, SimulationParams};

use crate::data;

/// Displacements pulled back to rest, `vertex`.
fn corrections(set: &ExampleSet, example: &Example) -> Vec<DVec3> {
    let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, set.rig(), &example.pose);
    let rest = set.rig().mesh().positions();
    let pulled = |(vertex, (rest, posed)): (usize, (&Vec3, &Vec3))| {
        let rest = rest.as_dvec3();
        skinning.inverse_position(vertex, posed.as_dvec3(), rest) - rest
    };
    rest.iter().zip(&example.positions).enumerate().map(pulled).collect()
}

/// The examples of joints whose names contain one of `joints`, bent by us; and all that were not
/// good enough.
fn simulated(theirs: &ExampleSet, joints: &[&str]) -> (ExampleSet, Vec<String>) {
    let poses: Vec<NamedPose> = theirs
        .examples()
        .iter()
        .filter(|example| joints.iter().any(|joint| joint_of(example).contains(joint)))
        .map(|example| NamedPose { name: example.name.clone(), pose: example.pose.clone() })
        .collect();
    let jobs = jobs_of_poses(theirs.rig(), &poses, Purpose::Training);
    let params = SimulationParams { contact: None, ..SimulationParams::default() };
    let simulation = Simulation::new(theirs.rig().clone(), &jobs, &[], &params, &Unwatched).unwrap();
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for result in simulation.run_all(&jobs, |_, _| Ok(()), &Unwatched).unwrap() {
        dropped.extend(result.failed.iter().map(|(name, why)| format!("{name}: {why}")));
        for pose in result.poses {
            match pose.quality.fault(&QualityLimits::default()) {
                Some(fault) => dropped.push(format!("{}: {fault}", pose.name)),
                None => kept.push(Example {
                    name: pose.name,
                    pose: pose.pose,
                    positions: pose.positions,
                    normals: None,
                    inverted: None,
                }),
            }
        }
    }
    (ExampleSet::new(theirs.rig().clone(), kept).unwrap(), dropped)
}

/// Example names are `joint: angle`.
fn joint_of(example: &Example) -> &str {
    example.name.split(':').next().unwrap_or_default()
}

/// How alike two sets correct a joint.
struct Likeness {
    joint: String,
    poses: usize,
    /// of all corrections as one long vector
    cosine: f64,
    /// rms of the difference over rms of their corrections, which is the error of skinning
    difference: f64,
}

fn likeness(ours: &ExampleSet, theirs: &ExampleSet) -> Vec<Likeness> {
    let mut joints: Vec<&str> = ours.examples().iter().map(joint_of).collect();
    joints.sort_unstable();
    joints.dedup();
    let of_joint = |joint: &str| {
        let (mut dot, mut ours_squared, mut theirs_squared, mut apart, mut poses) = (0.0, 0.0, 0.0, 0.0, 0);
        for example in ours.examples().iter().filter(|example| joint_of(example) == joint) {
            let other = theirs.examples().iter().find(|other| other.name == example.name).unwrap();
            for (a, b) in corrections(ours, example).iter().zip(corrections(theirs, other)) {
                dot += a.dot(b);
                ours_squared += a.length_squared();
                theirs_squared += b.length_squared();
                apart += a.distance_squared(b);
            }
            poses += 1;
        }
        Likeness {
            joint: joint.to_string(),
            poses,
            cosine: dot / (ours_squared * theirs_squared).sqrt(),
            difference: (apart / theirs_squared).sqrt(),
        }
    };
    joints.into_iter().map(of_joint).collect()
}

#[test]
fn corrections_agree_with_another_finite_element_model() {
    let data = data();
    let (_, theirs) = read_examples(data.join("fem-hand/train.npz"), &ReadOptions::default()).unwrap();
    // The joint of the paper's Figure 7, and one that bends far.
    let joints = ["thumb-metacarpal", "ring-finger-phalanx-intermediate"];
    let (ours, dropped) = simulated(&theirs, &joints);
    assert!(dropped.is_empty(), "{dropped:?}");
    let likeness = likeness(&ours, &theirs);
    assert_eq!(likeness.len(), 2);
    for joint in likeness {
        let Likeness { joint, poses, cosine, difference } = joint;
        assert!(poses >= 5, "{joint}: {poses} poses");
        assert!(
            cosine >= 0.8 && difference <= 0.35,
            "{joint}: cosine {cosine:.3}, difference {difference:.3}"
        );
    }
}

#[test]
#[ignore = "all 120 poses: takes minutes, part of check --full"]
fn all_poses_are_learned_as_well_as_those_of_another_model() {
    let data = data();
    let (_, theirs) = read_examples(data.join("fem-hand/train.npz"), &ReadOptions::default()).unwrap();
    let (ours, dropped) = simulated(&theirs, &[""]);
    println!("{} poses, dropped: {dropped:#?}", ours.len());
    println!("{:36} {:>7} {:>10} {:>8}", "joint", "cosine", "difference", "poses");
    for Likeness { joint, poses, cosine, difference } in likeness(&ours, &theirs) {
        println!("{joint:36} {cosine:7.3} {difference:10.3} {poses:8}");
    }
    for (components, most) in [(1, 0.50), (2, 0.25), (3, 0.15), (5, 0.12)] {
        let params = EigenSkinParams {
            budget: Budget { per_joint: Some(components), per_vertex: None, ..Budget::default() },
            support: SupportParams { border: Border::Hard, ..SupportParams::default() },
            ..EigenSkinParams::default()
        };
        let fit = fit_examples(&ours, &Base::default(), &params.clone().into(), &Unwatched).unwrap();
        let error =
            evaluate_against(&Arc::new(fit.model), &ours, &Unwatched).unwrap().relative_error.unwrap();
        println!("{components} per joint: relative error {error:.3}");
        assert!(error <= most, "{components} per joint: {error}");
    }
}
