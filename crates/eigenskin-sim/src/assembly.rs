//! Energy, gradient and Hessian of the whole body from its cells and springs.
//!
//! Cells are computed in parallel, in batches, and added in order: the sums do not depend on the
//! number of threads. A spring couples corners of one cell only, so the pattern is that of the cells
//! and of the contacts that it is made for.

use eigenskin_core::glam::{DAffine3, DVec3};
use rayon::prelude::*;

use crate::contact::ContactRow;
use crate::element::{CellHessian, cell_energy, cell_forces, cell_hessian};
use crate::lattice::Lattice;
use crate::problem::Problem;
use crate::sparse_cholesky::LowerPattern;

/// Cells whose Hessians are in memory at once.
const BATCH: usize = 512;

/// Cells that one task of the thread pool computes.
const TASK: usize = 32;

/// How a body's Hessian is put together; the same for all positions.
#[derive(Clone)]
pub struct Assembly {
    /// where the Hessian has entries
    pub pattern: LowerPattern,
    /// `cell`, pair of corners a ≥ b → place of the block among those of its column of blocks
    ranks: Vec<[u32; 36]>,
    /// the springs' part of the Hessian
    springs: Vec<f64>,
    batch: Vec<CellHessian>,
}

/// Elastic energy and what the Gauss points say.
#[derive(Debug, Clone, Copy)]
pub struct Volumes {
    /// smallest det F
    pub smallest: f64,
    /// Gauss points with det F ≤ 0
    pub inverted: usize,
}

impl Assembly {
    /// Pattern and constant part; `below` are the nodes that are coupled ([`nodes_below`]).
    pub fn new(problem: &Problem, below: &[Vec<u32>]) -> Self {
        let lattice = problem.lattice();
        let mut pattern = LowerPattern { column_start: vec![0], row: Vec::new() };
        for (node, below) in below.iter().enumerate() {
            for axis in 0..3 {
                pattern.row.extend((axis..3).map(|other| (3 * node + other) as u32));
                pattern.row.extend(below.iter().flat_map(|&other| (0..3).map(move |i| 3 * other + i)));
                pattern.column_start.push(pattern.row.len() as u32);
            }
        }
        let rank = |row: u32, column: u32| match below[column as usize].binary_search(&row) {
            Ok(rank) => rank as u32,
            Err(_) => 0,
        };
        let ranks = lattice
            .corners
            .iter()
            .map(|corners| {
                let mut ranks = [0; 36];
                for a in 0..8 {
                    for b in 0..=a {
                        let (row, column) = (corners[a].max(corners[b]), corners[a].min(corners[b]));
                        ranks[a * (a + 1) / 2 + b] = rank(row, column);
                    }
                }
                ranks
            })
            .collect();
        let springs = vec![0.0; pattern.row.len()];
        let mut assembly = Self { pattern, ranks, springs, batch: Vec::new() };
        let mut springs = std::mem::take(&mut assembly.springs);
        for held in problem.held() {
            let mut cell = [[0.0; 24]; 24];
            for row in 0..24 {
                for column in (row % 3..=row).step_by(3) {
                    let weights = held.embedded.weights;
                    cell[row][column] = held.stiffness * weights[row / 3] * weights[column / 3];
                }
            }
            assembly.add_cell(problem, held.embedded.cell as usize, &cell, &mut springs);
        }
        assembly.springs = springs;
        assembly
    }

    /// The Hessian's entries at `positions`; `project` makes each cell's part positive semi-definite.
    pub fn hessian(&mut self, problem: &Problem, positions: &[DVec3], project: bool, values: &mut Vec<f64>) {
        values.clone_from(&self.springs);
        let lattice = problem.lattice();
        let material = problem.material();
        let mut batch = std::mem::take(&mut self.batch);
        batch.resize(BATCH.min(lattice.cell_count()), [[0.0; 24]; 24]);
        for first in (0..lattice.cell_count()).step_by(BATCH) {
            let count = BATCH.min(lattice.cell_count() - first);
            batch[..count].par_chunks_mut(TASK).enumerate().for_each(|(task, hessians)| {
                for (i, hessian) in hessians.iter_mut().enumerate() {
                    let cell = first + task * TASK + i;
                    let x = problem.corners_at(cell, positions);
                    cell_hessian(&x, problem.share(cell), &material, project, hessian);
                }
            });
            for (i, hessian) in batch[..count].iter().enumerate() {
                self.add_cell(problem, first + i, hessian, values);
            }
        }
        self.batch = batch;
    }

    /// Adds the lower triangle of one cell's matrix to the entries of the whole.
    fn add_cell(&self, problem: &Problem, cell: usize, hessian: &CellHessian, values: &mut [f64]) {
        let corners = &problem.lattice().corners[cell];
        for a in 0..8 {
            for b in 0..=a {
                let rank = self.ranks[cell][a * (a + 1) / 2 + b] as usize;
                // The node with the larger index is the row of the block.
                let transposed = corners[a] < corners[b];
                let column_node = corners[a].min(corners[b]) as usize;
                for j in 0..3 {
                    let start = self.pattern.column_start[3 * column_node + j] as usize;
                    if a == b {
                        for i in j..3 {
                            values[start + i - j] += hessian[3 * a + i][3 * a + j];
                        }
                        continue;
                    }
                    let block = &mut values[start + 3 - j + 3 * rank..][..3];
                    for (i, entry) in block.iter_mut().enumerate() {
                        *entry += if transposed {
                            hessian[3 * a + j][3 * b + i]
                        } else {
                            hessian[3 * a + i][3 * b + j]
                        };
                    }
                }
            }
        }
    }

    /// y = A x for a matrix of this pattern.
    #[cfg(test)]
    fn multiply(&self, values: &[f64], x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        for column in 0..x.len() {
            let entries =
                self.pattern.column_start[column] as usize..self.pattern.column_start[column + 1] as usize;
            let mut sum = 0.0;
            for entry in entries {
                let row = self.pattern.row[entry] as usize;
                sum += values[entry] * x[row];
                if row != column {
                    y[row] += values[entry] * x[column];
                }
            }
            y[column] += sum;
        }
    }

    /// Whether a contact's nodes are coupled here.
    pub fn has_places_for(&self, row: &ContactRow) -> bool {
        row.node_pairs().all(|((a, _), (b, _))| self.place(3 * b, 3 * a).is_some())
    }

    /// Adds k a aᵀ of a contact that has places here.
    pub fn add_row(&self, row: &ContactRow, values: &mut [f64]) {
        for ((column, column_weight), (below, weight)) in row.node_pairs() {
            for j in 0..3 {
                let first = if below == column { j } else { 0 };
                let Some(start) = self.place(3 * below + first, 3 * column + j) else { continue };
                let scale = row.stiffness * column_weight * weight * row.direction[j as usize];
                for i in first..3 {
                    values[start + (i - first) as usize] += scale * row.direction[i as usize];
                }
            }
        }
    }

    /// Place of an entry; three rows of a node follow each other.
    fn place(&self, row: u32, column: u32) -> Option<usize> {
        let start = self.pattern.column_start[column as usize] as usize;
        let end = self.pattern.column_start[column as usize + 1] as usize;
        self.pattern.row[start..end].binary_search(&row).ok().map(|place| start + place)
    }

    /// Adds `shift` to the diagonal.
    pub fn shift(&self, values: &mut [f64], shift: f64) {
        for &start in &self.pattern.column_start[..self.pattern.column_start.len() - 1] {
            values[start as usize] += shift;
        }
    }
}

/// Energy of cells and springs at `positions` (`node`); infinite where the material is not defined.
pub fn energy(problem: &Problem, positions: &[DVec3], motions: &[DAffine3]) -> f64 {
    let lattice = problem.lattice();
    let material = problem.material();
    let energy_of =
        |cell: usize| cell_energy(&problem.corners_at(cell, positions), problem.share(cell), &material);
    let tasks = (0..lattice.cell_count()).into_par_iter().step_by(TASK);
    let sums: Vec<f64> =
        tasks.map(|first| (first..lattice.cell_count().min(first + TASK)).map(energy_of).sum()).collect();
    let springs: f64 = problem
        .held()
        .iter()
        .map(|held| 0.5 * held.stiffness * problem.gap(held, positions, motions).length_squared())
        .sum();
    sums.iter().sum::<f64>() + springs
}

/// ∂E/∂x (`node`) of cells and springs into `gradient`.
pub fn gradient(
    problem: &Problem,
    positions: &[DVec3],
    motions: &[DAffine3],
    gradient: &mut Vec<DVec3>,
) -> Volumes {
    let lattice = problem.lattice();
    let material = problem.material();
    gradient.clear();
    gradient.resize(lattice.node_count(), DVec3::ZERO);
    let mut volumes = Volumes { smallest: f64::INFINITY, inverted: 0 };
    let forces: Vec<_> = (0..lattice.cell_count())
        .into_par_iter()
        .with_min_len(TASK)
        .map(|cell| cell_forces(&problem.corners_at(cell, positions), problem.share(cell), &material))
        .collect();
    for (corners, forces) in lattice.corners.iter().zip(&forces) {
        for (&node, &force) in corners.iter().zip(&forces.gradient) {
            gradient[node as usize] += force;
        }
        volumes.smallest = volumes.smallest.min(forces.smallest_volume);
        volumes.inverted += forces.inverted as usize;
    }
    for held in problem.held() {
        let force = held.stiffness * problem.gap(held, positions, motions);
        let corners = &lattice.corners[held.embedded.cell as usize];
        for (&node, &weight) in corners.iter().zip(&held.embedded.weights) {
            gradient[node as usize] += weight * force;
        }
    }
    volumes
}

/// `node` → nodes with a larger index that share a cell or a contact with it, rising.
pub fn nodes_below(lattice: &Lattice, contacts: &[ContactRow]) -> Vec<Vec<u32>> {
    let mut below = vec![Vec::new(); lattice.node_count()];
    for corners in &lattice.corners {
        for &a in corners {
            below[a as usize].extend(corners.iter().filter(|&&b| b > a));
        }
    }
    for row in contacts {
        for ((a, _), (b, _)) in row.node_pairs().filter(|(a, b)| a.0 != b.0) {
            below[a as usize].push(b);
        }
    }
    for nodes in &mut below {
        nodes.sort_unstable();
        nodes.dedup();
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bones::HeldPoint;
    use crate::lattice::Lattice;
    use crate::material::Material;
    use eigenskin_core::glam::DQuat;

    /// An L of partly filled cells whose nodes are numbered without any order.
    fn scrambled_problem() -> Problem {
        let full = Lattice::of_box([2, 2, 2]);
        let count = full.node_count() as u32;
        // 11 and 27 have no common divisor: a permutation.
        let place = |node: u32| (11 * node + 5) % count;
        let mut lattice = full.clone();
        for node in 0..count {
            lattice.nodes[place(node) as usize] = full.nodes[node as usize];
        }
        for (cell, corners) in lattice.corners.iter_mut().enumerate() {
            *corners = full.corners[cell].map(place);
            lattice.filled[cell] = 0.15 + 0.1 * cell as f64;
        }
        // Cells 0 and 7 stay away; their own corners are each used by no other.
        let gone = [place(0), place(26)];
        for cell in [7, 0] {
            lattice.corners.remove(cell);
            lattice.filled.remove(cell);
        }
        let keep: Vec<u32> = (0..count).filter(|node| !gone.contains(node)).collect();
        lattice.nodes = keep.iter().map(|&node| lattice.nodes[node as usize]).collect();
        for corner in lattice.corners.iter_mut().flatten() {
            *corner = keep.binary_search(corner).unwrap() as u32;
        }
        let held = (0..5)
            .map(|i| {
                let local = DVec3::new(0.2 * i as f64, 0.9 - 0.1 * i as f64, 0.3);
                let rest = lattice.nodes[lattice.corners[i][0] as usize] + local;
                let embedded = lattice.embed_in(i, rest);
                HeldPoint { embedded, rest, group: i % 2, stiffness: 1.0 + i as f64 }
            })
            .collect();
        Problem::new(lattice, held, 2, Material::default()).unwrap()
    }

    #[test]
    fn forces_and_stiffness_are_derivatives_of_the_whole_energy() {
        let problem = scrambled_problem();
        let motions = [
            DAffine3::from_translation(DVec3::new(0.1, 0.2, -0.3)),
            DAffine3::from_quat(DQuat::from_rotation_x(0.5)),
        ];
        let mut positions: Vec<DVec3> = problem
            .lattice()
            .nodes
            .iter()
            .enumerate()
            .map(|(i, &x)| {
                let i = i as f64;
                x + 0.3 * DVec3::new((3.1 * i).sin(), (5.3 * i).cos(), (7.7 * i).sin())
            })
            .collect();
        let unknowns = 3 * positions.len();
        let mut assembly = Assembly::new(&problem, &nodes_below(problem.lattice(), &[]));
        let mut values = Vec::new();
        assembly.hessian(&problem, &positions, false, &mut values);
        let mut forces = Vec::new();
        gradient(&problem, &positions, &motions, &mut forces);
        let h = 1e-5;
        for unknown in 0..unknowns {
            let (node, axis) = (unknown / 3, unknown % 3);
            let at = positions[node][axis];
            let (mut ahead, mut behind) = (Vec::new(), Vec::new());
            positions[node][axis] = at + h;
            let mut difference = energy(&problem, &positions, &motions);
            gradient(&problem, &positions, &motions, &mut ahead);
            positions[node][axis] = at - h;
            difference -= energy(&problem, &positions, &motions);
            gradient(&problem, &positions, &motions, &mut behind);
            positions[node][axis] = at;
            assert!((difference / (2.0 * h) - forces[node][axis]).abs() < 1e-7, "{unknown}");
            let mut unit = vec![0.0; unknowns];
            unit[unknown] = 1.0;
            let mut column = vec![0.0; unknowns];
            assembly.multiply(&values, &unit, &mut column);
            for other in 0..unknowns {
                let slope = (ahead[other / 3] - behind[other / 3])[other % 3] / (2.0 * h);
                assert!((slope - column[other]).abs() < 1e-6, "{other} {unknown}: {slope} {}", column[other]);
            }
        }
    }

    #[test]
    fn rows_are_added_to_the_matrix() {
        let problem = scrambled_problem();
        let corners = &problem.lattice().corners;
        // Between cells that share no node, that share some, and within one.
        let rows = [(0, 5), (1, 4), (2, 3), (1, 1)].map(|(own, other)| {
            let mut nodes: Vec<(u32, f64)> = Vec::new();
            for (c, &node) in corners[own].iter().enumerate() {
                nodes.push((node, 0.3 - 0.1 * c as f64));
            }
            for (c, &node) in corners[other].iter().enumerate().filter(|_| other != own) {
                nodes.push((node, 0.05 * c as f64 - 0.4));
            }
            ContactRow { nodes, direction: DVec3::new(0.6, -0.64, 0.48), stiffness: 2.5, offset: 0.0 }
        });
        let apart = Assembly::new(&problem, &nodes_below(problem.lattice(), &[]));
        assert!(!apart.has_places_for(&rows[0]) && apart.has_places_for(&rows[3]));
        let assembly = Assembly::new(&problem, &nodes_below(problem.lattice(), &rows));
        let size = 3 * problem.lattice().node_count();
        let x: Vec<f64> = (0..size).map(|i| (1.3 * i as f64).sin()).collect();
        for row in &rows {
            assert!(assembly.has_places_for(row));
            let mut values = vec![0.0; assembly.pattern.row.len()];
            assembly.add_row(row, &mut values);
            let mut found = vec![0.0; size];
            assembly.multiply(&values, &x, &mut found);
            let at = |node: u32| DVec3::from_slice(&x[3 * node as usize..]);
            let along: f64 =
                row.nodes.iter().map(|&(node, weight)| weight * row.direction.dot(at(node))).sum();
            for node in 0..problem.lattice().node_count() {
                let weight: f64 = row.nodes.iter().filter(|n| n.0 as usize == node).map(|n| n.1).sum();
                let expected = 2.5 * along * weight * row.direction;
                assert!((DVec3::from_slice(&found[3 * node..]) - expected).length() < 1e-12);
            }
        }
    }
}
