//! A lattice of cubes that fills the skin: what the finite elements live on.
//!
//! Where two fingers pass through one cube, the cube is there twice, once for each, and shares no
//! corner with its copy: neighbours that touch are not glued.

mod fill;
#[cfg(test)]
mod fill_tests;
pub mod voxels;

use eigenskin_core::glam::{DAffine3, DVec3};

pub use fill::{DroppedPiece, FillError, FillParams, Filling, fill};

/// Cubes, their corners, and how they lie in the mesh's space. Lattice space counts in cube edges
/// from the origin, so all rest positions of nodes are whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// the lattice's origin in mesh space
    pub origin: DVec3,
    /// edge of a cube in mesh units
    pub edge: f64,
    /// `cell` → nodes at its corners; corner c lies at offset (c & 1, c >> 1 & 1, c >> 2 & 1)
    pub corners: Vec<[u32; 8]>,
    /// `cell` → share of the cube that lies within the skin, in (0, 1]
    pub filled: Vec<f64>,
    /// `node` → rest position in lattice space
    pub nodes: Vec<DVec3>,
}

/// A point that follows the lattice: a cell and the trilinear weights of its corners.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Embedded {
    /// index of the cell
    pub cell: u32,
    /// weights of the cell's corners, sum one; some are negative for a point outside of its cell
    pub weights: [f64; 8],
}

/// Offset of a cell's corner from its lowest one.
pub fn corner_offset(corner: usize) -> DVec3 {
    DVec3::new((corner & 1) as f64, (corner >> 1 & 1) as f64, (corner >> 2 & 1) as f64)
}

/// Trilinear weights of the corners at `local`, which is in [0, 1]³ within the cell.
pub fn trilinear_weights(local: DVec3) -> [f64; 8] {
    std::array::from_fn(|corner| {
        let offset = corner_offset(corner);
        let along = |o: f64, x: f64| if o > 0.5 { x } else { 1.0 - x };
        along(offset.x, local.x) * along(offset.y, local.y) * along(offset.z, local.z)
    })
}

impl Lattice {
    /// A box of `counts` full cubes with unit edges at the origin: for tests and experiments.
    pub fn of_box(counts: [usize; 3]) -> Self {
        let [nx, ny, nz] = counts;
        let node = |x: usize, y: usize, z: usize| ((z * (ny + 1) + y) * (nx + 1) + x) as u32;
        let mut nodes = Vec::with_capacity((nx + 1) * (ny + 1) * (nz + 1));
        for z in 0..=nz {
            for y in 0..=ny {
                nodes.extend((0..=nx).map(|x| DVec3::new(x as f64, y as f64, z as f64)));
            }
        }
        let mut corners = Vec::with_capacity(nx * ny * nz);
        for z in 0..nz {
            for y in 0..ny {
                corners.extend(
                    (0..nx).map(|x| {
                        std::array::from_fn(|c| node(x + (c & 1), y + (c >> 1 & 1), z + (c >> 2 & 1)))
                    }),
                );
            }
        }
        let filled = vec![1.0; corners.len()];
        Self { origin: DVec3::ZERO, edge: 1.0, corners, filled, nodes }
    }

    /// Number of cells, copies counted.
    pub fn cell_count(&self) -> usize {
        self.corners.len()
    }

    /// Number of nodes; there are three unknowns at each.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Lattice space from mesh space.
    pub fn lattice_from_mesh(&self, point: DVec3) -> DVec3 {
        (point - self.origin) / self.edge
    }

    /// Mesh space from lattice space.
    pub fn mesh_from_lattice(&self, point: DVec3) -> DVec3 {
        self.origin + self.edge * point
    }

    /// A motion of mesh space as a motion of lattice space.
    pub fn motion_in_lattice(&self, motion: DAffine3) -> DAffine3 {
        let moved_origin = motion.transform_point3(self.origin) - self.origin;
        DAffine3 { matrix3: motion.matrix3, translation: moved_origin / self.edge }
    }

    /// Where an embedded point is, given the nodes' positions (`node`).
    pub fn at(&self, point: &Embedded, positions: &[DVec3]) -> DVec3 {
        let corners = &self.corners[point.cell as usize];
        corners.iter().zip(&point.weights).map(|(&node, &weight)| positions[node as usize] * weight).sum()
    }

    /// A point of lattice space as part of a given cell, inside or outside of it.
    pub fn embed_in(&self, cell: usize, point: DVec3) -> Embedded {
        let lowest = self.nodes[self.corners[cell][0] as usize];
        Embedded { cell: cell as u32, weights: trilinear_weights(point - lowest) }
    }

    /// A point of lattice space as part of a given cell; outside of it, the map of the cell's
    /// nearest point goes on straight, where trilinear weights would run away with the cube of
    /// the distance.
    pub fn embed_straight(&self, cell: usize, point: DVec3) -> Embedded {
        let local = point - self.nodes[self.corners[cell][0] as usize];
        let within = local.clamp(DVec3::ZERO, DVec3::ONE);
        let (weights, slopes) = (trilinear_weights(within), trilinear_slopes(within));
        let beyond = local - within;
        Embedded { cell: cell as u32, weights: std::array::from_fn(|c| weights[c] + slopes[c].dot(beyond)) }
    }
}

/// How the trilinear weights change along each axis at `local`: `corner` → derivatives.
pub(crate) fn trilinear_slopes(local: DVec3) -> [DVec3; 8] {
    std::array::from_fn(|corner| {
        let offset = corner_offset(corner);
        let along = |o: f64, x: f64| if o > 0.5 { x } else { 1.0 - x };
        let value = DVec3::new(along(offset.x, local.x), along(offset.y, local.y), along(offset.z, local.z));
        let sign = 2.0 * offset - 1.0;
        sign * DVec3::new(value.y * value.z, value.x * value.z, value.x * value.y)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::glam::DQuat;

    #[test]
    fn embedded_points_follow_affine_motions_exactly() {
        let lattice = Lattice::of_box([2, 3, 1]);
        let motion =
            DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.4), DVec3::new(1.0, 2.0, 3.0))
                * DAffine3::from_scale(DVec3::new(1.1, 0.9, 2.0));
        let moved: Vec<DVec3> = lattice.nodes.iter().map(|&x| motion.transform_point3(x)).collect();
        // Inside of its cell, and outside.
        for point in [DVec3::new(1.2, 0.3, 0.9), DVec3::new(2.4, -0.3, 1.1)] {
            let embedded = lattice.embed_in(1, point);
            assert!((lattice.at(&embedded, &lattice.nodes) - point).length() < 1e-14);
            assert!((lattice.at(&embedded, &moved) - motion.transform_point3(point)).length() < 1e-14);
        }
    }

    #[test]
    fn points_outside_go_on_straight() {
        let lattice = Lattice::of_box([1, 1, 1]);
        let mut moved = lattice.nodes.clone();
        // A cube with one corner pulled out: not an affine map.
        moved[7] += DVec3::new(0.3, 0.2, -0.1);
        let at = |point: DVec3| lattice.at(&lattice.embed_straight(0, point), &moved);
        let inside = DVec3::new(0.3, 0.9, 0.6);
        assert!((at(inside) - lattice.at(&lattice.embed_in(0, inside), &moved)).length() < 1e-14);
        let (on_face, out) = (DVec3::new(1.0, 0.4, 0.7), DVec3::X);
        let slope = (at(on_face) - at(on_face - 1e-6 * out)) / 1e-6;
        for far in [0.5, 3.0] {
            let expected = at(on_face) + far * slope;
            assert!((at(on_face + far * out) - expected).length() < 1e-8 * (1.0 + far));
            let rest = lattice.embed_straight(0, on_face + far * out);
            assert!((lattice.at(&rest, &lattice.nodes) - (on_face + far * out)).length() < 1e-14);
        }
    }

    #[test]
    fn motions_mean_the_same_in_both_spaces() {
        let lattice =
            Lattice { origin: DVec3::new(3.0, -1.0, 7.0), edge: 0.25, ..Lattice::of_box([1, 1, 1]) };
        let motion =
            DAffine3::from_rotation_translation(DQuat::from_rotation_x(1.1), DVec3::new(-4.0, 5.0, 0.5));
        let point = DVec3::new(2.0, 2.5, -1.5);
        let there = lattice.lattice_from_mesh(motion.transform_point3(point));
        let moved = lattice.motion_in_lattice(motion).transform_point3(lattice.lattice_from_mesh(point));
        assert!((there - moved).length() < 1e-12);
    }
}
