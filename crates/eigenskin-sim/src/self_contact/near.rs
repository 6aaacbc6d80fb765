//! How far cells are from each other within the tissue: two fingers side by side are far apart.

use eigenskin_core::glam::DVec3;
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use crate::lattice::Lattice;

/// Ways through cells that share nodes, as long as the distances between their middles.
#[derive(Debug, Clone)]
pub(super) struct NearCells {
    /// `cell` → cells within the reach and the ways to them, by rising cells
    near: Vec<Vec<(u32, f32)>>,
}

impl NearCells {
    /// All ways up to `reach`, in cube edges.
    pub(super) fn new(lattice: &Lattice, reach: f64, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let mut cells_of_node = vec![Vec::new(); lattice.node_count()];
        for (cell, corners) in lattice.corners.iter().enumerate() {
            for &node in corners {
                cells_of_node[node as usize].push(cell as u32);
            }
        }
        let near = (0..lattice.cell_count())
            .into_par_iter()
            .map(|cell| {
                progress.doing("finding what may touch")?;
                Ok(ways_from(lattice, &cells_of_node, cell as u32, reach as f32))
            })
            .collect::<Result<_, Cancelled>>()?;
        Ok(Self { near })
    }

    /// Length of the way from one cell to another; infinite beyond the reach.
    pub(super) fn way(&self, from: usize, to: usize) -> f64 {
        let near = &self.near[from];
        match near.binary_search_by_key(&(to as u32), |entry| entry.0) {
            Ok(place) => f64::from(near[place].1),
            Err(_) => f64::INFINITY,
        }
    }
}

/// Shortest ways from one cell (Dijkstra); the few cells within reach are kept in a plain list.
fn ways_from(lattice: &Lattice, cells_of_node: &[Vec<u32>], start: u32, reach: f32) -> Vec<(u32, f32)> {
    let lowest = |cell: u32| lattice.nodes[lattice.corners[cell as usize][0] as usize];
    let step = |a: DVec3, b: DVec3| a.distance(b) as f32;
    // Cells found so far by rising index: way, and whether it is final.
    let mut found: Vec<(u32, f32, bool)> = vec![(start, 0.0, false)];
    loop {
        let open = found.iter().enumerate().filter(|(_, entry)| !entry.2);
        let Some(next) = open.min_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|(place, _)| place) else {
            break;
        };
        found[next].2 = true;
        let (cell, way, _) = found[next];
        for &node in &lattice.corners[cell as usize] {
            for &other in &cells_of_node[node as usize] {
                let length = way + step(lowest(cell), lowest(other));
                if length > reach {
                    continue;
                }
                match found.binary_search_by_key(&other, |entry| entry.0) {
                    Ok(place) => found[place].1 = found[place].1.min(length),
                    Err(place) => found.insert(place, (other, length, false)),
                }
            }
        }
    }
    found.into_iter().map(|(cell, way, _)| (cell, way)).collect()
}

#[cfg(test)]
mod tests {
    use eigenskin_core::progress::Unwatched;

    use super::*;

    #[test]
    fn ways_go_through_cells_that_share_nodes() {
        let lattice = Lattice::of_box([5, 5, 1]);
        let near = NearCells::new(&lattice, 3.0, &Unwatched).unwrap();
        let cell = |x: usize, y: usize| 5 * y + x;
        assert_eq!(near.way(cell(0, 0), cell(0, 0)), 0.0);
        assert_eq!(near.way(cell(0, 0), cell(3, 0)), 3.0);
        assert!((near.way(cell(1, 0), cell(2, 2)) - 1.0 - 2.0_f64.sqrt()).abs() < 1e-6);
        assert_eq!(near.way(cell(0, 0), cell(4, 0)), f64::INFINITY);
        // Without the middle of a ring the way leads around.
        let mut ring = Lattice::of_box([3, 3, 1]);
        ring.corners.retain(|corners| ring.nodes[corners[0] as usize].truncate() != DVec3::ONE.truncate());
        let near = NearCells::new(&ring, 3.0, &Unwatched).unwrap();
        assert!((near.way(1, 6) - 2.0 * 2.0_f64.sqrt()).abs() < 1e-6, "{}", near.way(1, 6));
    }
}
