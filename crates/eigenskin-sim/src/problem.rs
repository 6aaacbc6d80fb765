//! A body to be solved for: cells, the points that bones hold, and the material.
//!
//! E(x) = Σ_cells share · ∫ W(F) + Σ_held ½ stiffness ‖Σ_i w_i x_i − T_g X‖², with T_g the rigid
//! motion of the group that holds the point and X its rest position. A cell's share is how much of it
//! is filled, but not less than [`LEAST_SHARE`].

use eigenskin_core::glam::{DAffine3, DVec3};

use crate::bones::HeldPoint;
use crate::lattice::Lattice;
use crate::material::Material;

/// Cells that hold less tissue than this count as if they held as much: their outer nodes, which
/// nothing else holds, would give way to any contact. On a hand in cubes of 6 mm this adds 2.7 % to the tissue.
pub const LEAST_SHARE: f64 = 0.2;

/// A body that can be solved for: checked by [`Problem::new`].
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    lattice: Lattice,
    held: Vec<HeldPoint>,
    group_count: usize,
    material: Material,
}

/// Why a body cannot be solved for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// no cells at all
    #[error("the lattice has no cells: use smaller ones")]
    NoCells,
    /// the parts of the lattice contradict each other
    #[error("cell {cell} of the lattice is not valid: {what}")]
    BadCell {
        /// the culprit
        cell: usize,
        /// what is wrong
        what: &'static str,
    },
    /// a held point is not valid
    #[error("held point {point} is not valid: {what}")]
    BadHeldPoint {
        /// the culprit
        point: usize,
        /// what is wrong
        what: &'static str,
    },
    /// a part of the body hangs in the air
    #[error(
        "cell {cell} and those connected to it are held by {held} points, which are too few or lie on one line: let a bone reach into that part, or leave the part out"
    )]
    NotHeld {
        /// a cell of the part
        cell: usize,
        /// points that hold the part
        held: usize,
    },
    /// the material makes no sense
    #[error("a Poisson's ratio of {poisson} is not possible: use one from 0 to 0.499, such as 0.45")]
    BadMaterial {
        /// the value given
        poisson: f64,
    },
}

impl Problem {
    /// Checks and keeps the parts: every connected part must be held by three points at
    /// least that do not lie on one line.
    pub fn new(
        lattice: Lattice,
        held: Vec<HeldPoint>,
        group_count: usize,
        material: Material,
    ) -> Result<Self, ProblemError> {
        if !(0.0..=0.499).contains(&material.poisson) {
            return Err(ProblemError::BadMaterial { poisson: material.poisson });
        }
        check_cells(&lattice)?;
        for (point, held) in held.iter().enumerate() {
            let bad = |what| Err(ProblemError::BadHeldPoint { point, what });
            if held.embedded.cell as usize >= lattice.cell_count() {
                return bad("its cell does not exist");
            }
            if held.group >= group_count {
                return bad("its rigid group does not exist");
            }
            if !(held.stiffness > 0.0 && held.stiffness.is_finite()) {
                return bad("its stiffness is not a positive number");
            }
            if !held.rest.is_finite() || held.embedded.weights.iter().any(|w| !w.is_finite()) {
                return bad("it has a coordinate or weight that is not a number");
            }
        }
        check_that_all_is_held(&lattice, &held)?;
        Ok(Self { lattice, held, group_count, material })
    }

    /// The cells and nodes.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The points that bones hold.
    pub fn held(&self) -> &[HeldPoint] {
        &self.held
    }

    /// Number of rigid groups: as many motions are needed.
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    /// The material.
    pub fn material(&self) -> Material {
        self.material
    }

    /// The share of a cell that counts.
    pub fn share(&self, cell: usize) -> f64 {
        self.lattice.filled[cell].max(LEAST_SHARE)
    }

    /// How far each held point is from where its group (`group` → motion) wants it.
    pub(crate) fn gap(&self, held: &HeldPoint, positions: &[DVec3], motions: &[DAffine3]) -> DVec3 {
        self.lattice.at(&held.embedded, positions) - motions[held.group].transform_point3(held.rest)
    }

    /// Corner positions of a cell.
    pub(crate) fn corners_at(&self, cell: usize, positions: &[DVec3]) -> [DVec3; 8] {
        self.lattice.corners[cell].map(|node| positions[node as usize])
    }
}

fn check_cells(lattice: &Lattice) -> Result<(), ProblemError> {
    if lattice.corners.is_empty() {
        return Err(ProblemError::NoCells);
    }
    if lattice.filled.len() != lattice.corners.len() {
        let cell = lattice.filled.len().min(lattice.corners.len());
        return Err(ProblemError::BadCell { cell, what: "there are not as many filled shares as cells" });
    }
    let mut used = vec![false; lattice.node_count()];
    for (cell, (corners, &filled)) in lattice.corners.iter().zip(&lattice.filled).enumerate() {
        let bad = |what| Err(ProblemError::BadCell { cell, what });
        if !(filled > 0.0 && filled <= 1.0) {
            return bad("its filled share is not within 0 and 1");
        }
        for (corner, &node) in corners.iter().enumerate() {
            let Some(used) = used.get_mut(node as usize) else {
                return bad("a corner's node does not exist");
            };
            *used = true;
            let lowest = lattice.nodes[corners[0] as usize];
            let offset = lattice.nodes[node as usize] - lowest - crate::lattice::corner_offset(corner);
            if offset.is_nan() || offset.length() > 1e-9 {
                return bad("its corners are not those of a unit cube");
            }
        }
    }
    if used.contains(&false) {
        return Err(ProblemError::BadCell {
            cell: 0,
            what: "the lattice has a node that belongs to no cell",
        });
    }
    Ok(())
}

/// Three points that are not on one line are the fewest that keep a part from moving freely.
fn check_that_all_is_held(lattice: &Lattice, held: &[HeldPoint]) -> Result<(), ProblemError> {
    let mut parent: Vec<u32> = (0..lattice.node_count() as u32).collect();
    for corners in &lattice.corners {
        let first = root_of(&mut parent, corners[0]);
        for &node in &corners[1..] {
            let other = root_of(&mut parent, node);
            parent[other as usize] = first;
        }
    }
    let mut points: Vec<Vec<DVec3>> = vec![Vec::new(); lattice.node_count()];
    for point in held {
        let corner = lattice.corners[point.embedded.cell as usize][0];
        points[root_of(&mut parent, corner) as usize].push(lattice.at(&point.embedded, &lattice.nodes));
    }
    let in_place: Vec<bool> = points.iter().map(|points| distance_from_line(points) > 1e-3).collect();
    for (cell, corners) in lattice.corners.iter().enumerate() {
        let part = root_of(&mut parent, corners[0]) as usize;
        if !in_place[part] {
            return Err(ProblemError::NotHeld { cell, held: points[part].len() });
        }
    }
    Ok(())
}

/// How far points lie from the line through the first and the one furthest from it.
fn distance_from_line(points: &[DVec3]) -> f64 {
    let Some(&first) = points.first() else { return 0.0 };
    let furthest = points
        .iter()
        .map(|&x| x - first)
        .fold(DVec3::ZERO, |a, b| if b.length() > a.length() { b } else { a });
    let Some(along) = furthest.try_normalize() else { return 0.0 };
    points.iter().fold(0.0, |largest, &x| largest.max((x - first).cross(along).length()))
}

fn root_of(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        parent[node as usize] = parent[parent[node as usize] as usize];
        node = parent[node as usize];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_at(lattice: &Lattice, cell: usize, rest: DVec3) -> HeldPoint {
        HeldPoint { embedded: lattice.embed_in(cell, rest), rest, group: 0, stiffness: 1.0 }
    }

    fn three_points(lattice: &Lattice) -> Vec<HeldPoint> {
        [DVec3::ZERO, DVec3::X, DVec3::Y].map(|rest| held_at(lattice, 0, rest)).to_vec()
    }

    #[test]
    fn a_body_that_hangs_in_the_air_is_refused() {
        // Two cubes that share no corner; only the first is held.
        let mut lattice = Lattice::of_box([1, 1, 1]);
        let held = three_points(&lattice);
        assert!(Problem::new(lattice.clone(), held.clone(), 1, Material::default()).is_ok());
        lattice.nodes.extend(lattice.nodes.clone());
        lattice.corners.push(std::array::from_fn(|c| 8 + c as u32));
        lattice.filled.push(0.5);
        let error = Problem::new(lattice, held, 1, Material::default()).unwrap_err();
        assert_eq!(error, ProblemError::NotHeld { cell: 1, held: 0 });
    }

    #[test]
    fn points_on_a_line_do_not_hold_a_body() {
        let lattice = Lattice::of_box([1, 1, 3]);
        let mut held: Vec<HeldPoint> =
            [0.5, 1.5, 2.5].map(|z| held_at(&lattice, z as usize, DVec3::new(0.5, 0.5, z))).to_vec();
        let error = Problem::new(lattice.clone(), held.clone(), 1, Material::default()).unwrap_err();
        assert_eq!(error, ProblemError::NotHeld { cell: 0, held: 3 });
        held.push(held_at(&lattice, 1, DVec3::new(0.7, 0.5, 1.5)));
        assert!(Problem::new(lattice, held, 1, Material::default()).is_ok());
    }

    #[test]
    fn contradictions_are_named() {
        let lattice = Lattice::of_box([2, 1, 1]);
        let held = three_points(&lattice);
        let with = |lattice: &Lattice, held: &[HeldPoint], poisson| {
            let material = Material { poisson, ..Material::default() };
            Problem::new(lattice.clone(), held.to_vec(), 1, material).unwrap_err().to_string()
        };
        assert!(with(&lattice, &held, 0.5).contains("0.45"));
        let mut bad = lattice.clone();
        bad.filled[1] = 0.0;
        assert!(with(&bad, &held, 0.45).starts_with("cell 1 "));
        let mut bad = lattice.clone();
        bad.corners[1][3] = 99;
        assert!(with(&bad, &held, 0.45).contains("does not exist"));
        let mut bad = lattice.clone();
        bad.corners[1].swap(1, 2);
        assert!(with(&bad, &held, 0.45).contains("unit cube"));
        let mut bad = held.clone();
        bad[2].group = 1;
        assert!(with(&lattice, &bad, 0.45).starts_with("held point 2 "));
    }
}
