//! The solver against what must hold for any correct one.

use eigenskin_core::progress::Unwatched;
use eigenskin_sim::bones::HeldPoint;
use eigenskin_sim::contact::ContactRow;
use eigenskin_sim::equilibrium::{Equilibrium, SolveError};
use eigenskin_sim::glam::{DAffine3, DMat3, DQuat, DVec3};
use eigenskin_sim::lattice::Lattice;
use eigenskin_sim::loads::Loads;
use eigenskin_sim::material::{Material, Model};
use eigenskin_sim::path::{PathParams, follow};
use eigenskin_sim::problem::Problem;
use eigenskin_sim::solver::{Solver, SolverParams};

use crate::bars::{about, bent, finger};

const MODELS: [Model; 2] = [Model::StableNeoHookean, Model::NeoHookean];

/// Holds a node of the lattice itself.
fn held_node(lattice: &Lattice, node: usize, stiffness: f64) -> HeldPoint {
    let cell = lattice.corners.iter().position(|corners| corners.contains(&(node as u32))).unwrap();
    let rest = lattice.nodes[node];
    HeldPoint { embedded: lattice.embed_in(cell, rest), rest, group: 0, stiffness }
}

fn largest_distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).fold(0.0, |largest, (a, b)| largest.max(a.distance(*b)))
}

fn assert_falls(solution: &Equilibrium) {
    for pair in solution.energies.windows(2) {
        assert!(pair[1] <= pair[0] + 1e-11, "the energy rose: {:?}", solution.energies);
    }
}

#[test]
fn affine_motion_of_the_boundary_moves_the_inside_alike() {
    // The patch test: all outer nodes of a partly filled box, whose filled share is one number,
    // follow an affine map; held by springs of uneven stiffness.
    let counts = [3, 4, 3];
    let mut lattice = Lattice::of_box(counts);
    lattice.filled.fill(0.7);
    let outer: Vec<usize> = (0..lattice.node_count())
        .filter(|&node| {
            let x = lattice.nodes[node];
            (0..3).any(|axis| x[axis] == 0.0 || x[axis] == counts[axis] as f64)
        })
        .collect();
    let held = outer.iter().map(|&node| held_node(&lattice, node, 1e9 * (1.0 + (node % 7) as f64))).collect();
    let matrix =
        DMat3::from_cols(DVec3::new(1.2, 0.1, -0.3), DVec3::new(0.2, 0.9, 0.15), DVec3::new(-0.1, 0.25, 1.1));
    let map = DAffine3 { matrix3: matrix, translation: DVec3::new(3.0, -2.0, 1.0) };
    for model in MODELS {
        let material = Material { model, ..Material::default() };
        let problem = Problem::new(lattice.clone(), Vec::clone(&held), 1, material).unwrap();
        let mut solver = Solver::new(&problem).unwrap();
        // From a start that is wrong inside.
        let start: Vec<DVec3> = lattice
            .nodes
            .iter()
            .enumerate()
            .map(|(node, &x)| {
                let wrong = if outer.contains(&node) { 0.0 } else { 0.1 };
                map.transform_point3(x) + wrong * DVec3::new((node as f64).sin(), 0.5, -0.3)
            })
            .collect();
        let solution = solver
            .equilibrium(&start, Loads::from(&[map][..]), &SolverParams::default(), &Unwatched)
            .unwrap();
        let expected: Vec<DVec3> = lattice.nodes.iter().map(|&x| map.transform_point3(x)).collect();
        let error = largest_distance(&solution.positions, &expected);
        assert!(error < 1e-8, "{model:?}: {error}");
        assert!((solution.smallest_volume - matrix.determinant()).abs() < 1e-7);
        assert_falls(&solution);
    }
}

#[test]
fn a_motion_of_the_whole_costs_nothing() {
    let counts = [2, 2, 6];
    let turn =
        about(DVec3::new(5.0, 1.0, -2.0), DQuat::from_rotation_arc(DVec3::X, DVec3::new(-0.6, 0.0, 0.8)));
    for model in MODELS {
        let problem = finger(Lattice::of_box(counts), counts, 0.8, model);
        let mut solver = Solver::new(&problem).unwrap();
        let rest = solver.rest();
        let motions = [turn, turn];
        let guess = solver.predict(&rest, &motions, &Unwatched).unwrap();
        let moved: Vec<DVec3> = rest.positions.iter().map(|&x| turn.transform_point3(x)).collect();
        assert!(largest_distance(&guess, &moved) < 1e-12);
        let solution = solver
            .equilibrium(&guess, Loads::from(&motions[..]), &SolverParams::default(), &Unwatched)
            .unwrap();
        assert_eq!(solution.iterations, 0);
        assert!(solution.energies[0].abs() < 1e-12 && solution.residual < 1e-12, "{model:?}");
    }
}

#[test]
fn a_finger_bends_to_ninety_degrees() {
    let counts = [3, 3, 12];
    for model in MODELS {
        let problem = finger(Lattice::of_box(counts), counts, 1.2, model);
        let mut solver = Solver::new(&problem).unwrap();
        let rest = solver.rest();
        let stops = [1.0 / 3.0, 1.0];
        let path = follow(
            &mut solver,
            &rest,
            |t| bent(counts, 90.0 * t),
            &stops,
            &PathParams::default(),
            &Unwatched,
        );
        let states = path.unwrap();
        for state in &states {
            assert_falls(state);
            assert!(state.residual < 1e-6 && state.inverted == 0, "{state:?}");
            println!(
                "{model:?}: {} steps, {} factorisations, {} projected, smallest volume {:.3}, stable {}",
                state.iterations, state.factorizations, state.projected, state.smallest_volume, state.stable
            );
        }
        // Far from the joint the skin follows its bone; the bar is symmetric left and right.
        let tip = bent(counts, 90.0)[1].transform_point3(DVec3::new(1.0, 2.0, 12.0));
        let nodes = &problem.lattice().nodes;
        let at = |x: DVec3| states[1].positions[nodes.iter().position(|&node| node == x).unwrap()];
        let near = at(DVec3::new(1.0, 2.0, 12.0));
        assert!(near.distance(tip) < 0.1, "{near} instead of {tip}");
        let (left, right) = (at(DVec3::new(0.0, 0.0, 6.0)), at(DVec3::new(3.0, 0.0, 6.0)));
        assert!((left.x + right.x - 3.0).abs() < 0.05 && (left.y - right.y).abs() < 0.05);
    }
}

#[test]
fn the_path_does_not_matter_but_the_end() {
    let counts = [3, 3, 12];
    let problem = finger(Lattice::of_box(counts), counts, 1.2, Model::StableNeoHookean);
    let mut solver = Solver::new(&problem).unwrap();
    let rest = solver.rest();
    let mut with_turn = |degrees: f64| {
        let params = PathParams { largest_turn: degrees.to_radians(), ..PathParams::default() };
        follow(&mut solver, &rest, |t| bent(counts, 60.0 * t), &[1.0], &params, &Unwatched).unwrap().remove(0)
    };
    let (fine, coarse, again) = (with_turn(10.0), with_turn(30.0), with_turn(10.0));
    assert!(largest_distance(&fine.positions, &coarse.positions) < 1e-5);
    assert_eq!(fine, again, "what was solved before shows in the bits");
}

#[test]
fn threads_do_not_show_in_the_bits() {
    let counts = [3, 3, 14];
    let problem = finger(Lattice::of_box(counts), counts, 1.2, Model::StableNeoHookean);
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| {
            let mut solver = Solver::new(&problem).unwrap().fork().unwrap();
            let rest = solver.rest();
            follow(&mut solver, &rest, |t| bent(counts, 40.0 * t), &[1.0], &PathParams::default(), &Unwatched)
                .unwrap()
        })
    };
    assert_eq!(with_threads(1), with_threads(2));
}

/// A beam of size 1 × 1 × 3 with both end faces held, one of them twisted by 60°, at `n` cubes per unit;
/// returns where given material points end, in units of the beam.
fn twisted_beam(n: usize) -> Vec<DVec3> {
    let counts = [n, n, 3 * n];
    let lattice = Lattice::of_box(counts);
    let length = 3.0 * n as f64;
    let held = (0..lattice.node_count())
        .filter(|&node| lattice.nodes[node].z == 0.0 || lattice.nodes[node].z == length)
        .map(|node| HeldPoint {
            group: usize::from(lattice.nodes[node].z > 0.0),
            ..held_node(&lattice, node, 1e6)
        })
        .collect();
    let problem = Problem::new(lattice, held, 2, Material::default()).unwrap();
    let mut solver = Solver::new(&problem).unwrap();
    let rest = solver.rest();
    let pivot = DVec3::splat(n as f64 / 2.0);
    let motions =
        |t: f64| vec![DAffine3::IDENTITY, about(pivot, DQuat::from_rotation_z(t * 60.0_f64.to_radians()))];
    let end =
        follow(&mut solver, &rest, motions, &[1.0], &PathParams::default(), &Unwatched).unwrap().remove(0);
    let lattice = problem.lattice();
    let wanted = [DVec3::new(0.0, 0.0, 1.5), DVec3::new(0.5, 0.0, 1.0), DVec3::new(1.0, 1.0, 2.0)]
        .map(|x| x * n as f64);
    wanted
        .map(|x| end.positions[lattice.nodes.iter().position(|&node| node == x).unwrap()] / n as f64)
        .to_vec()
}

#[test]
fn refinement_converges() {
    let shapes = [2, 4, 8].map(twisted_beam);
    let (first, second) =
        (largest_distance(&shapes[0], &shapes[1]), largest_distance(&shapes[1], &shapes[2]));
    println!("twisted beam, change from 2 to 4 cubes: {first:.5}, from 4 to 8: {second:.5}");
    assert!(first > 1e-4, "the test sees nothing");
    assert!(first / second > 2.5, "{first} {second}");
}

#[test]
fn a_box_pressed_against_a_plane_stays_above_it() {
    // The upper face is pushed down by half a cube; the plane z = 0 takes the force.
    let counts = [3, 3, 3];
    let lattice = Lattice::of_box(counts);
    let held: Vec<HeldPoint> = (0..lattice.node_count())
        .filter(|&node| lattice.nodes[node].z == 3.0)
        .map(|node| held_node(&lattice, node, 1e4))
        .collect();
    let floor: Vec<ContactRow> = (0..lattice.node_count())
        .filter(|&node| lattice.nodes[node].z == 0.0)
        .map(|node| ContactRow {
            nodes: vec![(node as u32, 1.0)],
            direction: DVec3::Z,
            stiffness: 1e3,
            offset: 0.0,
        })
        .collect();
    let problem = Problem::new(lattice, held, 1, Material::default()).unwrap();
    let mut solver = Solver::new(&problem).unwrap();
    let rest = solver.rest();
    let down = [DAffine3::from_translation(DVec3::new(0.0, 0.0, -0.5))];
    let guess = solver.predict(&rest, &down, &Unwatched).unwrap();
    let loads = Loads { motions: &down, contacts: &floor, drag: None };
    let solution = solver.equilibrium(&guess, loads, &SolverParams::default(), &Unwatched).unwrap();
    assert_falls(&solution);
    assert!(solution.residual < 1e-6);
    let lowest = solution.positions.iter().fold(f64::INFINITY, |lowest, x| lowest.min(x.z));
    assert!((-0.01..0.0).contains(&lowest), "{lowest}");
    // The plane's force is what the springs above push down with.
    let push: f64 = floor.iter().map(|row| -row.stiffness * row.distance(&solution.positions).min(0.0)).sum();
    let pull: f64 = problem
        .held()
        .iter()
        .map(|held| {
            let wanted = down[0].transform_point3(held.rest).z;
            held.stiffness * (problem.lattice().at(&held.embedded, &solution.positions).z - wanted)
        })
        .sum();
    assert!(push > 1.0 && (push - pull).abs() < 1e-5 * push, "{push} {pull}");
    // Uniaxial stress would need E · strain · area = 2.9 · (1/6) · 9 ≈ 4.4; the held face stiffens it.
    assert!((4.0..7.0).contains(&push), "{push}");
}

#[test]
fn a_crumpled_body_finds_back_to_rest() {
    // Cells turned inside out: needs the stable material and projected Hessians.
    let counts = [3, 3, 6];
    let problem = finger(Lattice::of_box(counts), counts, 1.0, Model::StableNeoHookean);
    let mut solver = Solver::new(&problem).unwrap();
    let rest = solver.rest();
    let crumpled: Vec<DVec3> = rest
        .positions
        .iter()
        .enumerate()
        .map(|(i, &x)| {
            x + 0.8 * DVec3::new((12.9 * i as f64).sin(), (78.2 * i as f64).sin(), (37.7 * i as f64).cos())
        })
        .collect();
    let loads = Loads::from(&rest.motions[..]);
    let solution = solver.equilibrium(&crumpled, loads, &SolverParams::default(), &Unwatched).unwrap();
    println!("crumpled: {} iterations, {} projected", solution.iterations, solution.projected);
    assert_falls(&solution);
    assert!(solution.projected > 0 && solution.stable && solution.inverted == 0);
    assert!(largest_distance(&solution.positions, &rest.positions) < 1e-6);
}

#[test]
fn failures_say_what_to_do() {
    let counts = [2, 2, 6];
    let problem = finger(Lattice::of_box(counts), counts, 0.8, Model::NeoHookean);
    let mut solver = Solver::new(&problem).unwrap();
    let rest = solver.rest();
    let motions = bent(counts, 30.0);
    let loads = Loads::from(&motions[..]);
    let few = SolverParams { iterations: 1, ..SolverParams::default() };
    let error = solver.equilibrium(&rest.positions, loads, &few, &Unwatched).unwrap_err();
    assert!(error.to_string().contains("smaller turns"), "{error}");
    let flat: Vec<DVec3> = rest.positions.iter().map(|x| DVec3::new(x.x, x.y, 0.0)).collect();
    let error = solver.equilibrium(&flat, loads, &few, &Unwatched).unwrap_err();
    assert_eq!(error, SolveError::BadStart);
    let error = solver.equilibrium(&rest.positions[1..], loads, &few, &Unwatched).unwrap_err();
    assert!(error.to_string().contains("start positions"), "{error}");
    // With no Newton step at all only a tiny turn is met, by the prediction alone.
    let none = SolverParams { iterations: 0, ..SolverParams::default() };
    let params = PathParams { solver: none, ..PathParams::default() };
    let error = follow(&mut solver, &rest, |t| bent(counts, 60.0 * t), &[0.0005, 1.0], &params, &Unwatched)
        .unwrap_err();
    assert!(error.share < 0.1 && error.reached.len() == 1, "{error:?}");
    assert!(error.to_string().contains("% of the way"), "{error}");
}
