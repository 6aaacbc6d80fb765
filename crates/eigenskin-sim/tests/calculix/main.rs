//! CalculiX as referee: the same elements and material must come to lie at the same place.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and tells what it saw")]

#[path = "../all/bars.rs"]
mod bars;

use std::process::Command;

use bars::{bent, finger};
use eigenskin_core::progress::Unwatched;
use eigenskin_sim::calculix::{read_displacements, write_inp};
use eigenskin_sim::glam::DAffine3;
use eigenskin_sim::lattice::Lattice;
use eigenskin_sim::material::Model;
use eigenskin_sim::path::{PathParams, follow};
use eigenskin_sim::problem::Problem;
use eigenskin_sim::solver::Solver;

/// Largest distance allowed, as a share of the largest displacement. CalculiX prints seven digits; seen
/// are 1.3e-7.
const LARGEST_SHARE: f64 = 1e-5;

/// Bends `problem` to each of `degrees` here and in CalculiX; returns the largest distance as a share of
/// the largest displacement, per pose.
fn compare(name: &str, problem: &Problem, counts: [usize; 3], degrees: &[f64]) -> Vec<f64> {
    let last = degrees[degrees.len() - 1];
    let motions_at = |t: f64| bent(counts, last * t);
    let mut solver = Solver::new(problem).unwrap();
    let rest = solver.rest();
    let stops: Vec<f64> = degrees.iter().map(|angle| angle / last).collect();
    let ours = follow(&mut solver, &rest, motions_at, &stops, &PathParams::default(), &Unwatched).unwrap();

    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    // CalculiX moves the driven nodes along straight lines within a step: small steps keep bones long.
    let poses: Vec<Vec<DAffine3>> = poses_between(degrees).iter().map(|&angle| bent(counts, angle)).collect();
    let mut inp = Vec::new();
    write_inp(&mut inp, problem, &poses).unwrap();
    std::fs::write(folder.join("bar.inp"), inp).unwrap();
    let output = Command::new("ccx").arg("bar").current_dir(&folder).output();
    let output = output.expect("CalculiX is missing: install calculix-ccx, so that ccx can be started");
    let log = String::from_utf8_lossy(&output.stdout);
    let dat = std::fs::read_to_string(folder.join("bar.dat")).unwrap();
    let theirs = read_displacements(&dat, problem.lattice().node_count());
    let times: Vec<f64> = poses_between(degrees)
        .iter()
        .enumerate()
        .filter(|(_, angle)| degrees.contains(angle))
        .map(|(step, _)| step as f64 + 1.0)
        .collect();

    let mut shares = Vec::new();
    for ((state, time), angle) in ours.iter().zip(&times).zip(degrees) {
        let table = theirs.iter().find(|table| (table.time - time).abs() < 1e-6);
        let table = table.unwrap_or_else(|| {
            panic!("CalculiX did not reach {angle}°:\n{}", &log[log.len().saturating_sub(2000)..])
        });
        let nodes = &problem.lattice().nodes;
        let largest = table.by.iter().fold(0.0_f64, |m, by| m.max(by.length()));
        let error = nodes
            .iter()
            .zip(&table.by)
            .zip(&state.positions)
            .fold(0.0_f64, |m, ((&x, &by), &ours)| m.max(ours.distance(x + by)));
        println!(
            "{name} at {angle}°: largest displacement {largest:.3}, largest distance {error:.2e} cube edges"
        );
        shares.push(error / largest);
    }
    shares
}

/// Every fifteen degrees, and the wanted ones.
fn poses_between(degrees: &[f64]) -> Vec<f64> {
    let mut all = Vec::new();
    let mut before = 0.0;
    for &angle in degrees {
        let steps = ((angle - before) / 15.0_f64).ceil();
        for step in 1..steps as usize {
            all.push(before + (angle - before) * step as f64 / steps);
        }
        all.push(angle);
        before = angle;
    }
    all
}

#[test]
fn a_bent_beam_lies_where_calculix_puts_it() {
    let counts = [3, 3, 12];
    let problem = finger(Lattice::of_box(counts), counts, 1.2, Model::NeoHookean);
    for share in compare("beam", &problem, counts, &[45.0, 80.0]) {
        assert!(share < LARGEST_SHARE, "{share}");
    }
}

#[test]
fn a_finger_of_partly_filled_cells_lies_where_calculix_puts_it() {
    let counts = [4, 4, 12];
    let problem = finger(round_bar(counts), counts, 1.6, Model::NeoHookean);
    assert!(problem.lattice().filled.iter().any(|&filled| filled < 0.5));
    for share in compare("finger", &problem, counts, &[45.0, 80.0]) {
        assert!(share < LARGEST_SHARE, "{share}");
    }
}

/// Cells of a bar by the share of them within a cylinder with a round end.
fn round_bar(counts: [usize; 3]) -> Lattice {
    let full = Lattice::of_box(counts);
    let (radius, length) = (counts[0] as f64 / 2.0 - 0.2, counts[2] as f64);
    let mut lattice = Lattice { corners: Vec::new(), filled: Vec::new(), nodes: Vec::new(), ..full.clone() };
    let mut new_node = vec![None; full.node_count()];
    for corners in &full.corners {
        let lowest = full.nodes[corners[0] as usize];
        let mut inside = 0;
        for sample in 0..64 {
            let at = |part: usize| (part as f64 + 0.5) / 4.0;
            let x = lowest.x + at(sample % 4) - radius - 0.2;
            let y = lowest.y + at(sample / 4 % 4) - radius - 0.2;
            let z = (lowest.z + at(sample / 16) - (length - radius)).max(0.0);
            inside += usize::from(x * x + y * y + z * z < radius * radius);
        }
        if inside == 0 {
            continue;
        }
        lattice.filled.push(inside as f64 / 64.0);
        lattice.corners.push(corners.map(|node| {
            *new_node[node as usize].get_or_insert_with(|| {
                lattice.nodes.push(full.nodes[node as usize]);
                lattice.nodes.len() as u32 - 1
            })
        }));
    }
    lattice
}
