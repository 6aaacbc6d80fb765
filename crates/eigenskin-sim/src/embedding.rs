//! Which cell each vertex follows.
//!
//! A vertex lies on the skin, often just outside of the sub-voxels, and where two fingers are close
//! its cube has a copy for each. The right one is the one just below the skin.

use eigenskin_core::glam::DVec3;
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;

use crate::lattice::{Embedded, Filling};
use crate::surface::Surface;
use crate::tissue::FILLING;

/// Every vertex of a mesh as part of a lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// `vertex`; vertices at one place follow the same cell
    pub vertices: Vec<Embedded>,
    /// the largest distance of a vertex of the body from its cell, in cube edges
    pub largest_extrapolation: f64,
    /// the vertex it was found at
    pub furthest_vertex: usize,
    /// the same for what is carried along: sheets, enclosed and excluded parts
    pub largest_carried: f64,
}

/// How far below the skin to look, in cube edges: half a sub-voxel.
const BELOW: f64 = 0.125;
/// Parts that are carried along follow one cell as a whole up to this size, in cube edges.
const CARRIED_AS_ONE: f64 = 3.0;
/// Who watches is asked once for so many points.
const POINTS_PER_LOOK: usize = 64;

/// Ties the vertices of the surface's mesh to the lattice.
pub fn embed(surface: &Surface, filling: &Filling, progress: &dyn Progress) -> Result<Embedding, Cancelled> {
    let lattice = &filling.lattice;
    let common = common_cells(surface, filling);
    // Seams stay closed: one cell per welded point, not per vertex.
    let cells: Vec<usize> = (0..surface.points.len())
        .into_par_iter()
        .map(|point| {
            if point % POINTS_PER_LOOK == 0 {
                progress.doing(FILLING)?;
            }
            let at = lattice.lattice_from_mesh(surface.points[point]);
            Ok(match surface.component_of_point[point].map(|component| common[component as usize]) {
                Some(Carrier::Skin) => cell_below(filling, at, surface.normals[point]),
                Some(Carrier::Cell(cell)) => cell,
                Some(Carrier::Nearest) | None => filling.nearest_cell(at),
            })
        })
        .collect::<Result<_, Cancelled>>()?;
    let mut embedding = Embedding {
        vertices: Vec::with_capacity(surface.point_of_vertex.len()),
        largest_extrapolation: 0.0,
        furthest_vertex: 0,
        largest_carried: 0.0,
    };
    for (vertex, &point) in surface.point_of_vertex.iter().enumerate() {
        let (at, cell) = (lattice.lattice_from_mesh(surface.points[point as usize]), cells[point as usize]);
        embedding.vertices.push(lattice.embed_straight(cell, at));
        let outside = distance_to_cube(filling, cell, at);
        if !surface.is_body(vertex) {
            embedding.largest_carried = embedding.largest_carried.max(outside);
        } else if outside > embedding.largest_extrapolation {
            embedding.largest_extrapolation = outside;
            embedding.furthest_vertex = vertex;
        }
    }
    Ok(embedding)
}

/// How the points of a component find their cells.
#[derive(Clone, Copy)]
enum Carrier {
    /// from below the skin
    Skin,
    /// all the same
    Cell(usize),
    /// each the nearest
    Nearest,
}

/// `component` → its carrier: small parts that are no body keep their shape on one cell.
fn common_cells(surface: &Surface, filling: &Filling) -> Vec<Carrier> {
    let count = surface.components.len();
    let mut boxes = vec![(DVec3::INFINITY, DVec3::NEG_INFINITY); count];
    let mut is_body = vec![false; count];
    for (point, component) in surface.component_of_point.iter().enumerate() {
        if let Some(component) = *component {
            let at = filling.lattice.lattice_from_mesh(surface.points[point]);
            let (low, high) = &mut boxes[component as usize];
            (*low, *high) = (low.min(at), high.max(at));
        }
    }
    for (component, is_body) in surface.components.iter().zip(&mut is_body) {
        *is_body = component.role == crate::surface::Role::Body;
    }
    let carrier = |(&(low, high), &is_body): (&(DVec3, DVec3), &bool)| {
        let middle = 0.5 * (low + high);
        let is_small = (high - low).max_element() <= CARRIED_AS_ONE;
        // A body without cells here is a dropped island.
        let is_island = || is_small && (filling.nearest_of_all(middle).0 > 1.0);
        if is_body && !is_island() {
            Carrier::Skin
        } else if is_small {
            Carrier::Cell(filling.nearest_cell(middle))
        } else {
            Carrier::Nearest
        }
    };
    boxes.iter().zip(&is_body).map(carrier).collect()
}

/// The cell just below the skin at a point of lattice space.
pub(crate) fn cell_below(filling: &Filling, at: DVec3, normal: DVec3) -> usize {
    let below = filling.nearest_cell(at - BELOW * normal);
    let own_cube = at.floor().as_ivec3();
    if filling.cubes[below] == own_cube {
        return below;
    }
    // The copy of the point's own cube that hangs on that cell: nothing to extrapolate.
    let shares_nodes = |&cell: &usize| {
        let corners = &filling.lattice.corners[cell];
        filling.lattice.corners[below].iter().any(|node| corners.contains(node))
    };
    let own: Vec<usize> = filling.cells_of(own_cube).filter(shares_nodes).collect();
    if own.is_empty() { below } else { filling.nearest_of(at, own.into_iter()).1 }
}

/// Distance of a point of lattice space from the cube of a cell, in cube edges.
fn distance_to_cube(filling: &Filling, cell: usize, at: DVec3) -> f64 {
    let lowest = filling.cubes[cell].as_dvec3();
    (at.clamp(lowest, lowest + 1.0) - at).length()
}

#[cfg(test)]
mod tests {
    use eigenskin_core::progress::Unwatched;

    use super::*;
    use crate::lattice::{FillParams, fill};
    use crate::test_support::{add_box, add_cylinder, mesh_of, sphere};

    fn filled(surface: &Surface, edge: f64) -> Filling {
        fill(surface, 0.0, &[], &FillParams { edge: Some(edge), ..FillParams::default() }, &Unwatched)
            .unwrap()
    }

    #[test]
    fn rest_positions_come_back() {
        let (points, triangles) = sphere(20);
        let mesh = mesh_of(&points, &triangles);
        let surface = Surface::of(&mesh, &[]).unwrap();
        let filling = filled(&surface, 0.23);
        let embedding = embed(&surface, &filling, &Unwatched).unwrap();
        for (vertex, embedded) in embedding.vertices.iter().enumerate() {
            let at = filling.lattice.at(embedded, &filling.lattice.nodes);
            let truth = filling.lattice.lattice_from_mesh(mesh.positions()[vertex].as_dvec3());
            assert!((at - truth).length() < 1e-12);
            assert!((embedded.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        // The skin is at most about a sub-voxel away from the sub-voxels.
        assert!(embedding.largest_extrapolation < 0.3, "{}", embedding.largest_extrapolation);
        assert_eq!(embedding.largest_carried, 0.0);
    }

    #[test]
    fn facing_skins_of_two_fingers_follow_their_own() {
        // Within one cube of edge 1: the gap is a quarter of it.
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        for (low, high) in [(0.0, 1.7), (2.0, 3.7)] {
            let first = points.len();
            add_cylinder(&mut points, &mut triangles, 0.85, [0.0, 6.0], 24);
            for point in &mut points[first..] {
                point.x += 0.5 * (low + high);
            }
        }
        let surface = Surface::of(&mesh_of(&points, &triangles), &[]).unwrap();
        for edge in [1.0, 0.83, 0.61] {
            let filling = filled(&surface, edge);
            assert_eq!(filling.piece_count, 2, "edge {edge}");
            let embedding = embed(&surface, &filling, &Unwatched).unwrap();
            let left_piece = filling.piece_of_cell[embedding.vertices[0].cell as usize];
            for (vertex, embedded) in embedding.vertices.iter().enumerate() {
                let is_left = filling.piece_of_cell[embedded.cell as usize] == left_piece;
                assert_eq!(is_left, points[vertex].x < 1.85, "edge {edge}, vertex at {}", points[vertex]);
            }
        }
    }

    #[test]
    fn what_is_no_body_is_carried_along() {
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        add_box(&mut points, &mut triangles, DVec3::ZERO, DVec3::splat(4.0));
        let nail = points.len();
        points.extend([DVec3::new(4.3, 1.0, 1.0), DVec3::new(4.3, 2.0, 1.0), DVec3::new(4.3, 1.0, 2.0)]);
        triangles.push([8, 9, 10]);
        let button = points.len();
        add_box(&mut points, &mut triangles, DVec3::new(6.0, 0.0, 0.0), DVec3::new(6.5, 0.5, 0.5));
        let surface = Surface::of(&mesh_of(&points, &triangles), &[]).unwrap();
        let filling = filled(&surface, 0.5);
        assert_eq!(filling.dropped.len(), 1);
        let embedding = embed(&surface, &filling, &Unwatched).unwrap();
        let cells = |range: std::ops::Range<usize>| {
            let mut cells: Vec<u32> = embedding.vertices[range].iter().map(|e| e.cell).collect();
            cells.dedup();
            cells
        };
        assert_eq!(cells(nail..button).len(), 1);
        assert_eq!(cells(button..points.len()).len(), 1);
        assert!(embedding.largest_carried > 0.5 && embedding.largest_carried < 1.5);
        for (vertex, embedded) in embedding.vertices.iter().enumerate() {
            let at = filling.lattice.mesh_from_lattice(filling.lattice.at(embedded, &filling.lattice.nodes));
            assert!((at - points[vertex]).length() < 1e-6, "{at} {}", points[vertex]);
        }
    }
}
