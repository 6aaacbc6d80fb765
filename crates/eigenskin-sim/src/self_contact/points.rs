//! Points of the skin that are looked at: evenly spread, on coarse and on fine meshes.

use std::collections::BTreeMap;

use eigenskin_core::glam::DVec3;

use crate::embedding::{Embedding, cell_below};
use crate::lattice::{Embedded, Filling};
use crate::surface::{Role, Surface};

/// A point of the skin.
#[derive(Debug, Clone, PartialEq)]
pub struct ContactPoint {
    /// the cell it follows
    pub embedded: Embedded,
    /// rest position in lattice space
    pub rest: DVec3,
    /// outward normal at rest
    pub normal: DVec3,
}

/// Points whose cell is further away than this, in cube edges, are carried along and not tissue.
const FURTHEST_CELL: f64 = 1.0;
/// A point is on the outside of the body if this far above it, in cube edges, there is none.
const ABOVE: f64 = 0.02;

/// Points of the body's skin about `spacing` cube edges apart: vertices first, then what large
/// triangles need besides.
pub(super) fn spread_points(
    surface: &Surface,
    filling: &Filling,
    embedding: &Embedding,
    spacing: f64,
) -> Vec<ContactPoint> {
    let mut spread = Spread { spacing, taken: BTreeMap::new(), points: Vec::new() };
    let is_body = |component: u32| surface.components[component as usize].role == Role::Body;
    let mut seen = vec![false; surface.points.len()];
    for (embedded, &point) in embedding.vertices.iter().zip(&surface.point_of_vertex) {
        let point = point as usize;
        let on_body = surface.component_of_point[point].is_some_and(is_body);
        if !on_body || std::mem::replace(&mut seen[point], true) {
            continue;
        }
        let at = filling.lattice.lattice_from_mesh(surface.points[point]);
        spread.offer(surface, filling, at, surface.normals[point], || *embedded);
    }
    for (triangle, &component) in surface.triangles.iter().zip(&surface.component_of_triangle) {
        if !is_body(component) {
            continue;
        }
        let [a, b, c] = triangle.map(|p| filling.lattice.lattice_from_mesh(surface.points[p as usize]));
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        let parts = (longest / spacing).ceil().clamp(1.0, 1000.0) as usize;
        for i in 0..=parts {
            for j in 0..=parts - i {
                let at = a + (b - a) * (i as f64 / parts as f64) + (c - a) * (j as f64 / parts as f64);
                let embed = || filling.lattice.embed_straight(cell_below(filling, at, normal), at);
                if parts > 1 {
                    spread.offer(surface, filling, at, normal, embed);
                }
            }
        }
    }
    spread.points
}

/// Points taken so far.
struct Spread {
    spacing: f64,
    /// cube of the edge `spacing` → points in it
    taken: BTreeMap<[i64; 3], Vec<usize>>,
    points: Vec<ContactPoint>,
}

impl Spread {
    /// Takes a point unless one is near that looks the same way: facing skins keep theirs.
    fn offer(
        &mut self,
        surface: &Surface,
        filling: &Filling,
        at: DVec3,
        normal: DVec3,
        embed: impl FnOnce() -> Embedded,
    ) {
        let cube = |x: DVec3| (x / self.spacing).floor().to_array().map(|x| x as i64);
        let [x, y, z] = cube(at);
        let is_taken = (0..27).any(|i| {
            let near = self.taken.get(&[x + i % 3 - 1, y + i / 3 % 3 - 1, z + i / 9 - 1]);
            near.is_some_and(|points| {
                points.iter().any(|&other| {
                    let other = &self.points[other];
                    other.rest.distance(at) < 0.9 * self.spacing && other.normal.dot(normal) > 0.5
                })
            })
        });
        if is_taken || normal == DVec3::ZERO {
            return;
        }
        // Skin within another part of the body touches nothing.
        let above = filling.lattice.mesh_from_lattice(at + ABOVE * normal);
        if surface.winding.is_inside(above) {
            return;
        }
        let embedded = embed();
        let lowest = filling.cubes[embedded.cell as usize].as_dvec3();
        if (at.clamp(lowest, lowest + 1.0) - at).length() > FURTHEST_CELL {
            return;
        }
        self.taken.entry([x, y, z]).or_default().push(self.points.len());
        self.points.push(ContactPoint { embedded, rest: at, normal });
    }
}

#[cfg(test)]
mod tests {
    use eigenskin_core::progress::Unwatched;

    use super::*;
    use crate::embedding::embed;
    use crate::lattice::{FillParams, fill};
    use crate::test_support::{add_box, mesh_of, sphere};

    fn spread(points: &[DVec3], triangles: &[[u32; 3]], edge: f64) -> (Vec<ContactPoint>, f64) {
        let surface = Surface::of(&mesh_of(points, triangles), &[]).unwrap();
        let filling =
            fill(&surface, 0.0, &[], &FillParams { edge: Some(edge), ..FillParams::default() }, &Unwatched)
                .unwrap();
        let embedding = embed(&surface, &filling, &Unwatched).unwrap();
        (spread_points(&surface, &filling, &embedding, 0.5), surface.body_volume())
    }

    #[test]
    fn coarse_and_fine_meshes_get_alike_many_points() {
        // A box of twelve triangles: area 6 · 4² in cubes, four points per square edge or so.
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        add_box(&mut points, &mut triangles, DVec3::ZERO, DVec3::splat(4.0));
        let (coarse, _) = spread(&points, &triangles, 1.0);
        assert!((300..700).contains(&coarse.len()), "{}", coarse.len());
        // A fine sphere of area 4π · 4² in cubes.
        let (points, triangles) = sphere(80);
        let (fine, _) = spread(&points, &triangles, 0.25);
        assert!((600..1400).contains(&fine.len()), "{}", fine.len());
        for (i, a) in fine.iter().enumerate() {
            assert!(fine[..i].iter().all(|b| a.rest.distance(b.rest) > 0.4));
        }
    }

    #[test]
    fn skin_within_another_part_is_left_out() {
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        add_box(&mut points, &mut triangles, DVec3::ZERO, DVec3::splat(4.0));
        add_box(&mut points, &mut triangles, DVec3::new(2.0, 1.0, 1.0), DVec3::new(7.0, 3.0, 3.0));
        let (spread, _) = spread(&points, &triangles, 1.0);
        let origin = spread.iter().fold(DVec3::INFINITY, |low, p| low.min(p.rest));
        let inner = |p: &&ContactPoint| {
            let at = p.rest - origin;
            at.min_element() > 0.1 && at.max_element() < 3.9
        };
        assert_eq!(spread.iter().filter(inner).count(), 0);
        assert!(spread.iter().any(|p| p.rest.x - origin.x > 6.9));
    }
}
