//! Bars with two bones in them, for the tests of the solver.

use eigenskin_sim::bones::HeldPoint;
use eigenskin_sim::glam::{DAffine3, DQuat, DVec3};
use eigenskin_sim::lattice::Lattice;
use eigenskin_sim::material::{Material, Model};
use eigenskin_sim::problem::Problem;

/// A bar of `counts` cubes along z with a bone below and one above its middle, which end `gap` cubes
/// from it; each bone holds four points around its axis per half cube.
pub fn finger(lattice: Lattice, counts: [usize; 3], gap: f64, model: Model) -> Problem {
    let size = DVec3::new(counts[0] as f64, counts[1] as f64, counts[2] as f64);
    let middle = size / 2.0;
    let radius = 0.2 * counts[0].min(counts[1]) as f64;
    let mut held = Vec::new();
    for step in 0..2 * counts[2] {
        let z = 0.25 + 0.5 * step as f64;
        if (z - middle.z).abs() < gap {
            continue;
        }
        for (x, y) in [(1.0, 0.3), (-0.3, 1.0), (-1.0, -0.3), (0.3, -1.0)] {
            let rest = DVec3::new(middle.x + radius * x, middle.y + radius * y, z);
            let cell = (0..lattice.cell_count()).find(|&cell| {
                let local = rest - lattice.nodes[lattice.corners[cell][0] as usize];
                local.min_element() >= 0.0 && local.max_element() < 1.0
            });
            let embedded = lattice.embed_in(cell.unwrap(), rest);
            held.push(HeldPoint { embedded, rest, group: usize::from(z > middle.z), stiffness: 20.0 });
        }
    }
    Problem::new(lattice, held, 2, Material { model, ..Material::default() }).unwrap()
}

/// The upper bone turned about the middle of the bar.
pub fn bent(counts: [usize; 3], degrees: f64) -> Vec<DAffine3> {
    let pivot = DVec3::new(counts[0] as f64, counts[1] as f64, counts[2] as f64) / 2.0;
    vec![DAffine3::IDENTITY, about(pivot, DQuat::from_rotation_x(degrees.to_radians()))]
}

/// A turn about a point.
pub fn about(pivot: DVec3, turn: DQuat) -> DAffine3 {
    DAffine3::from_translation(pivot) * DAffine3::from_quat(turn) * DAffine3::from_translation(-pivot)
}
