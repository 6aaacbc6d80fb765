//! A hand bent by another finite-element model, as a witness: linear tetrahedra against our cubes.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use eigenskin::articulation::NamedPose;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin::fit::{Budget, EigenSkinParams, fit_eigenskin};
use eigenskin::glam::{DVec3, Vec3};
use eigenskin::metrics::evaluate_against;
use eigenskin::skinning::{BaseSkinning, PosedSkinning};
use eigenskin::supports::{Border, SupportParams};
use eigenskin_io::{ReadOptions, read_examples};
use eigenskin_sim::jobs::{Purpose, jobs_of_poses};
use eigenskin_sim::quality::QualityLimits;
use eigenskin_sim::simulation::{Simulation, SimulationParams};

fn data(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EIGENSKIN_DATA").map(PathBuf::from);
    if folder.is_none() {
        let line = format!("\nleft out: {test} (set EIGENSKIN_DATA to the data folder)\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    folder
}

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

#[test]
fn corrections_agree_with_another_finite_element_model() {
    let Some(data) = data("comparison with the hand bent by other finite elements") else { return };
    let (_, theirs) = read_examples(&data.join("fem-hand/train.npz"), &ReadOptions::default()).unwrap();
    let rig = theirs.rig().clone();
    let poses: Vec<NamedPose> = theirs
        .examples()
        .iter()
        .filter(|example| {
            std::env::var("FILTER").is_ok_and(|f| example.name.contains(&f))
                || std::env::var("FILTER").is_err()
        })
        .map(|example| NamedPose { name: example.name.clone(), pose: example.pose.clone() })
        .collect();
    let jobs = jobs_of_poses(&rig, &poses, Purpose::Training);
    let mut params = SimulationParams::default();
    if let Ok(cells) = std::env::var("CELLS") {
        params.tissue.fill.most_cells = cells.parse().unwrap();
    }
    if let Ok(x) = std::env::var("RADIUS") {
        params.tissue.bones.radius_share = x.parse().unwrap();
    }
    if let Ok(x) = std::env::var("GAP") {
        params.tissue.bones.gap_share = x.parse().unwrap();
    }
    let start = Instant::now();
    let simulation = Simulation::new(rig.clone(), &jobs, &[], &params).unwrap();
    let results = simulation.run_all(&jobs, |_, _| ()).unwrap();
    println!(
        "{} cells of {:.2} mm, {} jobs, {:.1} s",
        simulation.problem().lattice().cell_count(),
        simulation.problem().lattice().edge,
        jobs.len(),
        start.elapsed().as_secs_f64()
    );
    let mut kept = Vec::new();
    let mut dropped = Vec::new();
    for result in &results {
        dropped.extend(result.failed.iter().map(|(name, why)| format!("{name}: {why}")));
        for pose in &result.poses {
            match pose.quality.fault(&QualityLimits::default()) {
                Some(fault) => dropped.push(format!("{}: {fault}", pose.name)),
                None => kept.push(Example {
                    name: pose.name.clone(),
                    pose: pose.pose.clone(),
                    positions: pose.positions.clone(),
                    normals: None,
                }),
            }
        }
    }
    println!("{} dropped: {dropped:#?}", dropped.len());
    let ours = ExampleSet::new(rig.clone(), kept).unwrap();

    println!("{:36} {:>7} {:>10} {:>9} {:>8}", "joint", "cosine", "difference", "volume", "poses");
    let mut joints: Vec<&str> = poses.iter().map(|pose| pose.name.split(':').next().unwrap()).collect();
    joints.dedup();
    for joint in joints {
        let (mut dot, mut ours2, mut theirs2, mut apart, mut count) = (0.0, 0.0, 0.0, 0.0, 0);
        for example in ours.examples().iter().filter(|e| e.name.split(':').next() == Some(joint)) {
            let other = theirs.examples().iter().find(|other| other.name == example.name).unwrap();
            for (a, b) in corrections(&ours, example).iter().zip(corrections(&theirs, other)) {
                dot += a.dot(b);
                ours2 += a.length_squared();
                theirs2 += b.length_squared();
                apart += a.distance_squared(b);
            }
            count += 1;
            if std::env::var("FILTER").is_ok() {
                let (mut x, mut y, mut worst) = (0.0, 0.0, (0.0, 0));
                for (v, (a, b)) in
                    corrections(&ours, example).iter().zip(corrections(&theirs, other)).enumerate()
                {
                    x += a.distance_squared(b);
                    y += b.length_squared();
                    if a.distance(b) > worst.0 {
                        worst = (a.distance(b), v);
                    }
                }
                let v = worst.1;
                println!(
                    "   {} {:.3} rms theirs {:.2} worst {:.2} at {v} {} (ours {:.1} theirs {:.1})",
                    example.name,
                    (x / y).sqrt(),
                    (y / 1159.0).sqrt(),
                    worst.0,
                    ours.rig().mesh().positions()[v],
                    corrections(&ours, example)[v],
                    corrections(&theirs, other)[v]
                );
            }
        }
        println!(
            "{joint:36} {:7.3} {:10.3} {:9.3} {count:8}",
            dot / (ours2 * theirs2).sqrt(),
            (apart / theirs2).sqrt(),
            (ours2 / theirs2).sqrt()
        );
    }
    for k in [1, 2, 3, 5] {
        let params = EigenSkinParams {
            budget: Budget { per_joint: Some(k), per_vertex: None, ..Budget::default() },
            support: SupportParams { border: Border::Hard, ..SupportParams::default() },
            ..EigenSkinParams::default()
        };
        let fit = fit_eigenskin(&ours, &params).unwrap();
        let evaluation = evaluate_against(&Arc::new(fit.model), &ours);
        println!("{k} per joint: relative error {:?}", evaluation.relative_error);
    }
}
