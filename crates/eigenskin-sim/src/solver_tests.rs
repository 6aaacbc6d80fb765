use super::*;
use crate::bones::HeldPoint;
use crate::lattice::Lattice;
use crate::material::Material;

#[test]
fn angles_of_turns() {
    use eigenskin::glam::DQuat;
    for degrees in [0.0, 1e-4, 15.0, 90.0, 179.9] {
        let a = DMat3::from_quat(DQuat::from_rotation_y(0.3));
        let b =
            a * DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), f64::to_radians(degrees)));
        assert!((angle_between(&a, &b).to_degrees() - degrees).abs() < 1e-9, "{degrees}");
    }
}

/// Seconds that this thread computed, where the system tells: other load does not count.
fn seconds_on_processor() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

#[test]
#[ignore = "prints timings; run with --ignored --nocapture"]
fn timings() {
    timings_of([6, 6, 66]);
    timings_of([13, 13, 14]);
}

fn timings_of(counts: [usize; 3]) {
    let lattice = Lattice::of_box(counts);
    println!("{counts:?}: {} cells, {} unknowns", lattice.cell_count(), 3 * lattice.node_count());
    let held = (0..lattice.cell_count())
        .step_by(5)
        .map(|cell| {
            let rest = lattice.nodes[lattice.corners[cell][0] as usize] + DVec3::new(0.2, 0.5, 0.7);
            HeldPoint { embedded: lattice.embed_in(cell, rest), rest, group: 0, stiffness: 5.0 }
        })
        .collect();
    let problem = Problem::new(lattice, held, 1, Material::default()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let now = || seconds_on_processor().unwrap_or(f64::NAN);
        let start = now();
        let mut solver = Solver::new(&problem).unwrap();
        println!("symbolic {:.4} s, {} entries in L", now() - start, solver.factor_entries());
        let mut other = SparseCholesky::new(&solver.assembly.pattern, None).unwrap();
        println!("approximate minimum degree: {} entries in L", other.factor_entries());
        let positions: Vec<DVec3> = problem
            .lattice()
            .nodes
            .iter()
            .map(|x| *x + 0.1 * DVec3::new(x.y.sin(), x.z.cos(), x.x.sin()))
            .collect();
        for project in [false, true] {
            let start = now();
            for _ in 0..5 {
                solver.assembly.hessian(&problem, &positions, project, &mut solver.hessian);
            }
            println!("assembly, projected {project}: {:.4} s", (now() - start) / 5.0);
        }
        let start = now();
        for _ in 0..5 {
            solver.cholesky.factorize(&solver.hessian).unwrap();
        }
        println!("factorisation {:.4} s", (now() - start) / 5.0);
        let start = now();
        for _ in 0..5 {
            other.factorize(&solver.hessian).unwrap();
        }
        println!("factorisation, approximate minimum degree {:.4} s", (now() - start) / 5.0);
        let start = now();
        let mut right_side = vec![1.0; 3 * problem.lattice().node_count()];
        solver.cholesky.solve(&mut right_side);
        println!("solution {:.4} s", now() - start);
    });
}
