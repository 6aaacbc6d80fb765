//! Closed triangle skins of implicit bodies with an exact number of triangles.
//!
//! Surface nets (Gibson 1998) on a grid that is a little too fine, edges collapsed shortest first
//! down to the exact count, then a few rounds of edge flips and tangential relaxation on the
//! surface.

use glam::DVec3;
use rayon::prelude::*;

use super::edge_collapse::collapse_to;
use super::implicit::Body;
use super::relaxation::relax;

/// A mesh under construction.
#[derive(Debug, Clone)]
pub(super) struct Surface {
    pub positions: Vec<DVec3>,
    pub triangles: Vec<[u32; 3]>,
}

/// The skin of `body` with exactly `triangles` triangles; `None` if that many cannot be had.
pub(super) fn skin_of(body: &Body, triangles: usize, coarsest_grid: f64) -> Option<Surface> {
    let (lowest, highest) = body.bounds();
    let mut spacing = coarsest_grid;
    for _ in 0..8 {
        let mut surface = surface_nets(body, lowest, highest, spacing);
        // Enough to spare that the collapse can even out the grid's pattern.
        let wanted = triangles as f64 * 1.25;
        let found = surface.triangles.len() as f64;
        if found < wanted {
            // The count grows with the inverse square of the spacing.
            spacing *= 0.98 * (found / wanted).sqrt();
            continue;
        }
        if !is_closed_sphere(&surface) {
            // A grid that cuts a narrow place badly; another one will not.
            spacing *= 0.93;
            continue;
        }
        surface.positions = surface.positions.par_iter().map(|&p| body.project(p, 3)).collect();
        if !collapse_to(&mut surface, triangles, body) {
            return None;
        }
        relax(&mut surface, body, 14);
        return is_closed_sphere(&surface).then_some(surface);
    }
    None
}

/// Every edge has two triangles of opposite sense, and V − E + F = 2.
pub(super) fn is_closed_sphere(surface: &Surface) -> bool {
    let mut edges: Vec<(u32, u32)> =
        surface.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
    edges.sort_unstable();
    let once = edges.windows(2).all(|pair| pair[0] != pair[1]);
    let paired = edges.iter().all(|&(a, b)| a != b && edges.binary_search(&(b, a)).is_ok());
    let euler = surface.positions.len() as i64 - edges.len() as i64 / 2 + surface.triangles.len() as i64;
    once && paired && euler == 2
}

/// One vertex per grid cell that the surface crosses, one quad per grid edge that it crosses.
fn surface_nets(body: &Body, lowest: DVec3, highest: DVec3, spacing: f64) -> Surface {
    let counts = ((highest - lowest) / spacing).ceil().as_usizevec3() + 2;
    let [nx, ny, nz] = [counts.x, counts.y, counts.z];
    let point = |i: usize, j: usize, k: usize| lowest + spacing * DVec3::new(i as f64, j as f64, k as f64);
    let values = grid_values(body, [nx, ny, nz], spacing, &point);
    let at = |i: usize, j: usize, k: usize| i + nx * (j + ny * k);

    let mut positions = Vec::new();
    let mut vertex_of_cell = vec![u32::MAX; values.len()];
    for k in 0..nz - 1 {
        for j in 0..ny - 1 {
            for i in 0..nx - 1 {
                let corner = |c: usize| values[at(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2))];
                if let Some(inside_cell) = mean_crossing(corner) {
                    vertex_of_cell[at(i, j, k)] = positions.len() as u32;
                    positions.push(point(i, j, k) + spacing * inside_cell);
                }
            }
        }
    }

    let mut triangles = Vec::new();
    // The four cells around a grid edge, counter-clockwise seen from the edge's far end.
    let around = [[0, 0], [1, 0], [1, 1], [0, 1]];
    for k in 1..nz - 1 {
        for j in 1..ny - 1 {
            for i in 1..nx - 1 {
                let here = values[at(i, j, k)] < 0.0;
                let ends = [at(i + 1, j, k), at(i, j + 1, k), at(i, j, k + 1)];
                for axis in 0..3 {
                    if here == (values[ends[axis]] < 0.0) {
                        continue;
                    }
                    let mut quad = around.map(|[u, v]| {
                        let mut cell = [i, j, k];
                        cell[(axis + 1) % 3] -= 1 - u;
                        cell[(axis + 2) % 3] -= 1 - v;
                        vertex_of_cell[at(cell[0], cell[1], cell[2])]
                    });
                    if !here {
                        quad.reverse();
                    }
                    triangles.extend(split_quad(quad, &positions));
                }
            }
        }
    }
    Surface { positions, triangles }
}

/// Grid points along a block's side.
const BLOCK: usize = 8;
/// The field changes by at most this much per length; exact distances would have one.
pub(super) const STEEPEST: f64 = 1.5;

/// The field at all grid points, x fastest. Blocks far from the surface take their centre's value:
/// only its sign is needed there.
fn grid_values(
    body: &Body,
    [nx, ny, nz]: [usize; 3],
    spacing: f64,
    point: &(impl Fn(usize, usize, usize) -> DVec3 + Sync),
) -> Vec<f64> {
    let [bx, by, bz] = [nx, ny, nz].map(|n| n.div_ceil(BLOCK));
    let half = DVec3::splat(0.5 * BLOCK as f64 * spacing);
    let centres: Vec<f64> = (0..bx * by * bz)
        .into_par_iter()
        .map(|block| {
            let corner = [block % bx, block / bx % by, block / (bx * by)].map(|b| b * BLOCK);
            body.sample(point(corner[0], corner[1], corner[2]) + half).value
        })
        .collect();
    (0..nx * ny * nz)
        .into_par_iter()
        .map(|index| {
            let [i, j, k] = [index % nx, index / nx % ny, index / (nx * ny)];
            let centre = centres[i / BLOCK + bx * (j / BLOCK + by * (k / BLOCK))];
            if centre.abs() > STEEPEST * half.length() { centre } else { body.sample(point(i, j, k)).value }
        })
        .collect()
}

/// Mean of the points where the surface crosses a unit cell's edges; `None` if it does not.
fn mean_crossing(corner: impl Fn(usize) -> f64) -> Option<DVec3> {
    let mut sum = DVec3::ZERO;
    let mut crossings = 0;
    let place = |c: usize| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2) as f64);
    for from in 0..8usize {
        for bit in [1, 2, 4] {
            let to = from | bit;
            let (a, b) = (corner(from), corner(to));
            if from != to && (a < 0.0) != (b < 0.0) {
                sum += place(from).lerp(place(to), a / (a - b));
                crossings += 1;
            }
        }
    }
    (crossings > 0).then(|| sum / f64::from(crossings))
}

/// Two triangles along the shorter diagonal.
fn split_quad([a, b, c, d]: [u32; 4], positions: &[DVec3]) -> [[u32; 3]; 2] {
    let length = |p: u32, q: u32| positions[p as usize].distance_squared(positions[q as usize]);
    if length(a, c) <= length(b, d) { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::implicit::{Capsule, Group};

    #[test]
    fn a_capsule_gets_exactly_the_triangles_asked_for() {
        let limb = Capsule::new(DVec3::ZERO, DVec3::Y, 0.3, 0.3);
        let body = Body { groups: vec![Group { limbs: vec![limb], blend: 0.1, joins: 0.1 }], cuts: vec![] };
        for count in [400, 402, 5000] {
            let surface = skin_of(&body, count, 0.1).unwrap();
            assert_eq!(surface.triangles.len(), count);
            assert!(is_closed_sphere(&surface));
            assert!(surface.positions.iter().all(|&p| body.sample(p).value.abs() < 1e-4));
            // Volume by the divergence theorem: positive only if triangles face outward.
            let volume: f64 = surface
                .triangles
                .iter()
                .map(|t| t.map(|v| surface.positions[v as usize]))
                .map(|[a, b, c]| a.dot(b.cross(c)) / 6.0)
                .sum();
            let exact = std::f64::consts::PI * (0.09 + 4.0 / 3.0 * 0.027);
            // Corners lie on the surface and flat faces within it: the loss is of second order in
            // the edges' length, so of first order in one over the count.
            assert!(volume < exact && volume > exact * (1.0 - 24.0 / count as f64), "{volume} {exact}");
        }
    }
}
