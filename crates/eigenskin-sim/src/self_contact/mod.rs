//! Skin against skin: creases that close, a finger against its neighbour or the palm.
//!
//! A point p of the skin that lies within a deformed cell of another part is taken back to rest by
//! that cell's map, p = M(X). The signed distance φ(X) to the rest skin tells how deep it is, and to
//! first order φ ≈ φ₀ + n·(Σ w x − Σ N x) with n = F⁻ᵀ∇φ, w the weights of the point's own cell and
//! N those of the other: a [`ContactRow`] on at most sixteen nodes. Forces on both sides are equal
//! and opposite, since w and N both sum to one. (The idea of a distance that is kept at rest and
//! looked up through the deformed elements is that of Fisher and Lin, "Deformed Distance Fields for
//! Simulation of Non-Penetrating Flexible Bodies", 2001.)

mod cell_grid;
mod near;
mod points;
#[cfg(test)]
mod tests;

use eigenskin_core::glam::DVec3;
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use crate::contact::ContactRow;
use crate::embedding::{Embedding, cell_below};
use crate::lattice::Filling;
use crate::surface::{Role, Surface};
use crate::tissue::Tissue;
use cell_grid::{CellGrid, Within, locate};
use near::NearCells;

pub use points::ContactPoint;

/// How skin meets skin. Lengths in cube edges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactParams {
    /// distance between the points of the skin that are looked at; default 0.5: a cube's face
    /// cannot bulge between them
    pub spacing: f64,
    /// stiffness of a point, in units of shear modulus · cube edge; default 15: with four points
    /// per face, tissue pressed together at the stress of one shear modulus overlaps by 0.02 edges,
    /// yet the rows are not much stiffer than the cells (about 5 per node) that they act on
    pub stiffness: f64,
    /// points this near outside of other skin have rows too, which push once they enter; default 0.3
    pub margin: f64,
    /// cells nearer than this on the way through the tissue cannot be touched; default 1.8: those
    /// that share a node with the point's own
    pub nearest: f64,
    /// at a wanted pose rows are found anew and solved for at most this many times, on the way half
    /// as often; default 8
    pub rounds: usize,
    /// rounds end when no point of the skin moves by more than this any longer, or the deepest point gets no
    /// deeper or shallower by more than this; default 0.03: rounds beyond that cost far more time
    /// than they change the skin
    pub settled: f64,
    /// rows hold while no point of the skin moves further than this, then they are found anew;
    /// default 0.4
    pub reach: f64,
}

impl Default for ContactParams {
    fn default() -> Self {
        Self {
            spacing: 0.5,
            stiffness: 15.0,
            margin: 0.3,
            nearest: 1.8,
            rounds: 8,
            settled: 0.03,
            reach: 0.4,
        }
    }
}

/// How deep skin is within other skin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penetration {
    /// the deepest point below other skin, measured at rest, in mesh units; 0 if there is none
    pub deepest: f64,
    /// its rest position in mesh space
    pub deepest_at: Option<DVec3>,
    /// points within other skin
    pub points: usize,
    /// all points looked at
    pub of_points: usize,
}

/// The skin of a body, ready to be asked where it touches itself.
#[derive(Debug, Clone)]
pub struct SelfContact<'a> {
    surface: &'a Surface,
    filling: &'a Filling,
    points: Vec<ContactPoint>,
    near: NearCells,
    /// normals of the body's triangles, in the order of the winding tree's
    normals: Vec<DVec3>,
    params: ContactParams,
}

/// Skin reaches this far beyond its cells, in cube edges at rest.
const REACH: f64 = 0.5;
/// How far ways within the tissue are known beyond the nearest cells that can be touched.
const FURTHER: f64 = 1.5;
/// Skin nearer than this at rest, in cube edges and through the tissue, is the point's own.
const NEAREST_SKIN: f64 = 1.0;
/// Edge of the parts of a cube that are filled or not: cells cover the body to this, in cube edges.
const VOXEL: f64 = 0.25;
/// Nearer to the skin than this, its own normal is the direction to it.
const ON_SKIN: f64 = 1e-7;

/// What counts as touching, in cube edges at rest.
#[derive(Clone, Copy)]
struct Search {
    /// outside of the skin
    margin: f64,
    /// outside of a cell, of what a cell reaches at all
    reach: f64,
}

/// A point of the skin seen from another part.
struct Touch {
    cell: usize,
    within: Within,
    /// φ, in cube edges
    distance: f64,
    /// ∇φ, unit length
    outward: DVec3,
}

impl<'a> SelfContact<'a> {
    /// Prepares a character.
    pub fn new(
        tissue: &'a Tissue,
        params: &ContactParams,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        Self::of_parts(&tissue.surface, &tissue.filling, &tissue.embedding, params, progress)
    }

    /// Prepares a body that has no rig.
    pub fn of_parts(
        surface: &'a Surface,
        filling: &'a Filling,
        embedding: &Embedding,
        params: &ContactParams,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let is_body = |component: u32| surface.components[component as usize].role == Role::Body;
        let body = surface.triangles.iter().zip(&surface.component_of_triangle);
        let normals = body.filter(|&(_, &component)| is_body(component)).map(|(t, _)| {
            let [a, b, c] = t.map(|p| surface.points[p as usize]);
            (b - a).cross(c - a).normalize_or_zero()
        });
        Ok(Self {
            points: points::spread_points(surface, filling, embedding, params.spacing),
            near: NearCells::new(&filling.lattice, params.nearest + FURTHER, progress)?,
            normals: normals.collect(),
            surface,
            filling,
            params: *params,
        })
    }

    /// The points of the skin that are looked at.
    pub fn points(&self) -> &[ContactPoint] {
        &self.points
    }

    /// How skin meets skin.
    pub fn params(&self) -> &ContactParams {
        &self.params
    }

    /// The furthest that a point of the skin moves while nodes move `by` this much. (Nodes of cells
    /// that hold hardly any tissue move far for nothing.)
    pub(crate) fn largest_move(&self, by: &[DVec3]) -> f64 {
        let length = |point: &ContactPoint| self.filling.lattice.at(&point.embedded, by).length();
        self.points.iter().map(length).fold(0.0, f64::max)
    }

    /// What pushes back near `positions` (`node`): points within other skin, or about to enter it.
    pub fn rows(&self, positions: &[DVec3]) -> Vec<ContactRow> {
        let grid = CellGrid::new(&self.filling.lattice, positions);
        let rows_of = |point: &ContactPoint| -> Vec<ContactRow> {
            let touches = self.touches(
                point,
                positions,
                &grid,
                Search { margin: self.params.margin, reach: f64::INFINITY },
            );
            touches.iter().filter_map(|touch| self.row(point, touch, positions)).collect()
        };
        self.points.par_iter().with_min_len(64).flat_map_iter(rows_of).collect()
    }

    /// How deep the skin is within itself at `positions` (`node`). Only what lies within a cell counts:
    /// beyond, in a narrow crease, cells say little about where a point is.
    pub fn penetration(&self, positions: &[DVec3]) -> Penetration {
        let grid = CellGrid::new(&self.filling.lattice, positions);
        let depth_of = |point: &ContactPoint| {
            let touches = self.touches(point, positions, &grid, Search { margin: 0.0, reach: 0.0 });
            touches.iter().fold(0.0, |depth: f64, touch| depth.max(-touch.distance))
        };
        let depths: Vec<f64> = self.points.par_iter().with_min_len(64).map(depth_of).collect();
        let lattice = &self.filling.lattice;
        let (mut deepest, mut deepest_at) = (0.0, None);
        for (point, &depth) in self.points.iter().zip(&depths) {
            if depth > deepest {
                (deepest, deepest_at) = (depth, Some(lattice.mesh_from_lattice(point.rest)));
            }
        }
        Penetration {
            deepest: deepest * lattice.edge,
            deepest_at,
            points: depths.iter().filter(|&&depth| depth > 0.0).count(),
            of_points: depths.len(),
        }
    }

    /// Parts of the body that a point is in or near to; each by one of its cells.
    fn touches(
        &self,
        point: &ContactPoint,
        positions: &[DVec3],
        grid: &CellGrid,
        search: Search,
    ) -> Vec<Touch> {
        let lattice = &self.filling.lattice;
        let at = lattice.at(&point.embedded, positions);
        let own = point.embedded.cell as usize;
        let mut cells: Vec<(usize, Within)> = grid
            .around(at)
            .filter(|&cell| self.near.way(own, cell) > self.params.nearest)
            .filter_map(|cell| {
                let corners = lattice.corners[cell].map(|node| positions[node as usize]);
                let within = locate(&corners, at)?;
                (within.outside() <= search.reach).then_some((cell, within))
            })
            .collect();
        cells.sort_by(|a, b| a.1.outside().total_cmp(&b.1.outside()).then(a.0.cmp(&b.0)));
        let mut touches: Vec<Touch> = Vec::new();
        for (cell, within) in cells {
            let is_same_part = |touch: &Touch| self.near.way(touch.cell, cell) <= self.params.nearest;
            let apart = self.filling.cubes[cell].as_dvec3() + within.local - point.rest;
            if self.near.way(own, cell).is_finite() && apart.length() < NEAREST_SKIN {
                continue;
            }
            if !touches.iter().any(is_same_part) {
                touches.extend(self.touch(cell, within, search.margin));
            }
        }
        touches
    }

    /// Looks up the distance to the rest skin of a cell's part.
    fn touch(&self, cell: usize, within: Within, margin: f64) -> Option<Touch> {
        let lattice = &self.filling.lattice;
        let rest = lattice.mesh_from_lattice(self.filling.cubes[cell].as_dvec3() + within.local);
        let closest = self.surface.winding.closest(rest)?;
        let far = closest.distance / lattice.edge;
        let is_inside = self.surface.winding.is_inside(rest);
        if !is_inside && far >= margin {
            return None;
        }
        let normal = self.normals[closest.triangle];
        // A cube holds parts of two fingers: within one of them, the skin of the other is not near.
        let skin = cell_below(self.filling, lattice.lattice_from_mesh(closest.point), normal);
        let known = self.params.nearest + FURTHER;
        if far + 2.0 < known && self.near.way(cell, skin) > far + 2.0 {
            return None;
        }
        // All that lies deep within the body has cells around it: one that reaches there is wrong.
        if is_inside && far > VOXEL && within.outside() > 0.0 {
            return None;
        }
        let distance = if is_inside { -far } else { far };
        let outward = if far > ON_SKIN { (rest - closest.point) / (lattice.edge * distance) } else { normal };
        Some(Touch { cell, within, distance, outward })
    }

    /// A point's distance to other skin, to first order; none where both look the same way, since
    /// that would push the point on to the far side.
    fn row(&self, point: &ContactPoint, touch: &Touch, positions: &[DVec3]) -> Option<ContactRow> {
        let lattice = &self.filling.lattice;
        let slope = touch.within.deformation.inverse().transpose() * touch.outward;
        let length = slope.length();
        let direction = slope / length;
        if direction.dot(self.normal_of(point, positions)) > 0.0 || !length.is_finite() {
            return None;
        }
        let own = lattice.corners[point.embedded.cell as usize].iter().zip(point.embedded.weights);
        let other = lattice.corners[touch.cell].iter().zip(touch.within.weights);
        let nodes =
            own.map(|(&node, weight)| (node, weight)).chain(other.map(|(&node, weight)| (node, -weight)));
        // Both sums agree here, so that the row is at φ₀ / |n|, a distance as deformed.
        let nodes: Vec<(u32, f64)> = nodes.collect();
        Some(ContactRow {
            nodes,
            direction,
            stiffness: self.params.stiffness,
            offset: -touch.distance / length,
        })
    }

    /// Direction of the deformed normal of a point.
    fn normal_of(&self, point: &ContactPoint, positions: &[DVec3]) -> DVec3 {
        let lattice = &self.filling.lattice;
        let corners = &lattice.corners[point.embedded.cell as usize];
        let local = (point.rest - lattice.nodes[corners[0] as usize]).clamp(DVec3::ZERO, DVec3::ONE);
        let slopes = crate::lattice::trilinear_slopes(local);
        let along = |axis: DVec3| -> DVec3 {
            let weights = slopes.iter().map(|slope| slope.dot(axis));
            corners.iter().zip(weights).map(|(&node, weight)| positions[node as usize] * weight).sum()
        };
        // Two directions along the skin stay along the skin.
        let side = point.normal.any_orthonormal_vector();
        along(side).cross(along(point.normal.cross(side))).normalize_or_zero()
    }
}
