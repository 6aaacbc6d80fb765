//! How often a surface winds around a point: about one inside, zero outside, and something between
//! near holes. Works on any triangles, closed or not (Jacobson et al. 2013).
//!
//! Far triangles count together, as the first three terms of their field (Barill et al. 2018). The
//! same tree answers which point of the surface is nearest.

mod far_field;
mod triangle;

use eigenskin_core::glam::DVec3;

use far_field::FarField;
use triangle::{closest_point, solid_angle};

/// Triangles with a tree over them.
#[derive(Debug, Clone)]
pub struct Winding {
    /// in the order of the tree
    triangles: Vec<[DVec3; 3]>,
    /// `triangle` in the order of the tree → index as given
    given_index: Vec<u32>,
    /// the root first; empty without triangles
    nodes: Vec<Node>,
}

/// The surface's point nearest to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closest {
    /// not negative
    pub distance: f64,
    /// index of the triangle
    pub triangle: usize,
    /// the point of the triangle
    pub point: DVec3,
}

#[derive(Debug, Clone)]
struct Node {
    lowest: DVec3,
    highest: DVec3,
    /// triangles below: `first..first + count`
    first: u32,
    count: u32,
    /// index of the second child; the first one follows its parent. Zero for leaves.
    second_child: u32,
    /// mean of the triangles, weighted by area
    centre: DVec3,
    /// all triangles are within this distance of the centre
    radius: f64,
    /// all triangles together
    field: FarField,
}

/// Triangles in a leaf.
const LEAF: usize = 3;
/// A node is far when its centre is further than this many radii.
const FAR: f64 = 2.2;

impl Winding {
    /// Builds the tree. `triangles` index `points`; those with an index out of range are left out.
    pub fn new(points: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let corners = |t: &[u32; 3]| -> Option<[DVec3; 3]> {
            let [a, b, c] = t.map(|v| points.get(v as usize).copied());
            Some([a?, b?, c?])
        };
        let mut items: Vec<(DVec3, u32, [DVec3; 3])> = triangles
            .iter()
            .enumerate()
            .filter_map(|(index, t)| corners(t).map(|p| ((p[0] + p[1] + p[2]) / 3.0, index as u32, p)))
            .collect();
        let mut nodes = Vec::new();
        if !items.is_empty() {
            build(&mut items, 0, &mut nodes);
        }
        Self {
            given_index: items.iter().map(|item| item.1).collect(),
            triangles: items.into_iter().map(|item| item.2).collect(),
            nodes,
        }
    }

    /// The winding number at a point.
    pub fn at(&self, point: DVec3) -> f64 {
        let solid = if self.nodes.is_empty() { 0.0 } else { self.solid_below(0, point) };
        solid / (4.0 * std::f64::consts::PI)
    }

    /// Whether the surface winds around a point more than half a time, in whatever direction.
    pub fn is_inside(&self, point: DVec3) -> bool {
        self.at(point).abs() >= 0.5
    }

    /// The nearest point of the surface; none without triangles. Of equally near triangles it is
    /// always the same one.
    pub fn closest(&self, point: DVec3) -> Option<Closest> {
        let mut best = (f64::INFINITY, 0, DVec3::ZERO);
        if !self.nodes.is_empty() {
            self.closest_below(0, point, &mut best);
        }
        best.0.is_finite().then(|| Closest {
            distance: best.0.sqrt(),
            triangle: self.given_index[best.1] as usize,
            point: best.2,
        })
    }

    /// Distance to the surface, negative inside; infinite without triangles.
    pub fn signed_distance(&self, point: DVec3) -> f64 {
        let distance = self.closest(point).map_or(f64::INFINITY, |closest| closest.distance);
        if self.is_inside(point) { -distance } else { distance }
    }

    /// Solid angle of all triangles below a node.
    fn solid_below(&self, index: usize, point: DVec3) -> f64 {
        let node = &self.nodes[index];
        let to_node = node.centre - point;
        let squared = to_node.length_squared();
        if squared > (FAR * node.radius).powi(2) {
            return node.field.at(to_node, squared);
        }
        if node.second_child == 0 {
            return self.triangles[node.range()].iter().map(|t| solid_angle(t.map(|v| v - point))).sum();
        }
        self.solid_below(index + 1, point) + self.solid_below(node.second_child as usize, point)
    }

    fn closest_below(&self, index: usize, point: DVec3, best: &mut (f64, usize, DVec3)) {
        let node = &self.nodes[index];
        if node.distance_squared(point) >= best.0 {
            return;
        }
        if node.second_child == 0 {
            for triangle in node.range() {
                let on_it = closest_point(self.triangles[triangle], point);
                let squared = on_it.distance_squared(point);
                if squared < best.0 {
                    *best = (squared, triangle, on_it);
                }
            }
            return;
        }
        let (first, second) = (index + 1, node.second_child as usize);
        let first_is_nearer =
            self.nodes[first].distance_squared(point) <= self.nodes[second].distance_squared(point);
        let order = if first_is_nearer { [first, second] } else { [second, first] };
        for child in order {
            self.closest_below(child, point, best);
        }
    }
}

impl Node {
    fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Squared distance of a point to the box around the triangles.
    fn distance_squared(&self, point: DVec3) -> f64 {
        (point.clamp(self.lowest, self.highest) - point).length_squared()
    }
}

/// Appends the tree over `items` to `nodes`, children right after their parent.
fn build(items: &mut [(DVec3, u32, [DVec3; 3])], first: usize, nodes: &mut Vec<Node>) {
    let index = nodes.len();
    nodes.push(summary(items, first));
    if items.len() <= LEAF {
        return;
    }
    let (low, high) = items.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), item| {
        (low.min(item.0), high.max(item.0))
    });
    let extent = high - low;
    let axis = (0..3).fold(0, |best, axis| if extent[axis] > extent[best] { axis } else { best });
    let middle = items.len() / 2;
    items.select_nth_unstable_by(middle, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    let (below, above) = items.split_at_mut(middle);
    build(below, first, nodes);
    nodes[index].second_child = nodes.len() as u32;
    build(above, first + middle, nodes);
}

fn summary(items: &[(DVec3, u32, [DVec3; 3])], first: usize) -> Node {
    let (mut area, mut centre) = (0.0, DVec3::ZERO);
    let (mut lowest, mut highest) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for &(centroid, _, [a, b, c]) in items {
        let twice = (b - a).cross(c - a).length();
        area += twice;
        centre += twice * centroid;
        lowest = lowest.min(a).min(b).min(c);
        highest = highest.max(a).max(b).max(c);
    }
    let centre = if area > 0.0 { centre / area } else { 0.5 * (lowest + highest) };
    let corners = items.iter().flat_map(|item| item.2);
    Node {
        lowest,
        highest,
        first: first as u32,
        count: items.len() as u32,
        second_child: 0,
        centre,
        radius: corners.map(|corner| corner.distance_squared(centre)).fold(0.0, f64::max).sqrt(),
        field: FarField::of(items.iter().map(|item| item.2), centre),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{Random, sphere};

    /// The definition: all solid angles, one by one.
    fn direct(points: &[DVec3], triangles: &[[u32; 3]], eye: DVec3) -> f64 {
        let angles = triangles.iter().map(|t| solid_angle(t.map(|v| points[v as usize] - eye)));
        angles.sum::<f64>() / (4.0 * std::f64::consts::PI)
    }

    fn soup(random: &mut Random, count: usize) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut points = Vec::new();
        for _ in 0..count {
            let at = random.point();
            points.extend((0..3).map(|_| at + 0.2 * random.point()));
        }
        (points, (0..count as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect())
    }

    #[test]
    fn solid_angles_of_known_triangles() {
        // An octant of the sphere, seen from its centre.
        let octant = [DVec3::X, DVec3::Y, DVec3::Z];
        assert!((solid_angle(octant) - std::f64::consts::FRAC_PI_2).abs() < 1e-14);
        assert!((solid_angle(octant.map(|p| 7.0 * p)) - std::f64::consts::FRAC_PI_2).abs() < 1e-14);
        assert!((solid_angle([DVec3::Y, DVec3::X, DVec3::Z]) + std::f64::consts::FRAC_PI_2).abs() < 1e-14);
    }

    #[test]
    fn the_tree_agrees_with_the_direct_sum() {
        let mut random = Random(7);
        for count in [1, 5, 40, 1500] {
            let (points, triangles) = soup(&mut random, count);
            let winding = Winding::new(&points, &triangles);
            for _ in 0..300 {
                let eye = 1.5 * random.point();
                let (fast, slow) = (winding.at(eye), direct(&points, &triangles, eye));
                assert!((fast - slow).abs() < 5e-3, "{count} triangles: {fast} {slow}");
            }
        }
    }

    #[test]
    fn a_sphere_with_holes_still_has_an_inside() {
        let (points, mut triangles) = sphere(40);
        let mut random = Random(3);
        triangles.retain(|_| random.unit() > 0.05);
        let winding = Winding::new(&points, &triangles);
        for _ in 0..500 {
            let eye = 1.5 * random.point();
            assert!((winding.at(eye) - direct(&points, &triangles, eye)).abs() < 5e-3);
            if (eye.length() - 1.0).abs() > 0.1 {
                assert_eq!(winding.is_inside(eye), eye.length() < 1.0, "{eye}");
            }
        }
    }

    #[test]
    fn the_closest_point_is_the_closest() {
        let mut random = Random(11);
        let (points, triangles) = soup(&mut random, 300);
        let winding = Winding::new(&points, &triangles);
        for _ in 0..200 {
            let eye = 1.5 * random.point();
            let found = winding.closest(eye).unwrap();
            assert!((found.point.distance(eye) - found.distance).abs() < 1e-12);
            // No point of any triangle is nearer: a fine grid over each.
            let mut nearest = f64::INFINITY;
            let mut on_found = f64::INFINITY;
            for (index, t) in triangles.iter().enumerate() {
                let [a, b, c] = t.map(|v| points[v as usize]);
                for i in 0..=10 {
                    for j in 0..=10 - i {
                        let p = a + (b - a) * (i as f64 / 10.0) + (c - a) * (j as f64 / 10.0);
                        nearest = nearest.min(p.distance(eye));
                        if index == found.triangle {
                            on_found = on_found.min(p.distance(found.point));
                        }
                    }
                }
            }
            assert!(found.distance <= nearest + 1e-12 && found.distance > nearest - 0.05);
            assert!(on_found < 0.05, "the point lies on the triangle it names");
        }
    }

    #[test]
    fn the_sign_of_the_distance_is_negative_inside() {
        let (points, triangles) = sphere(60);
        let winding = Winding::new(&points, &triangles);
        for radius in [0.2, 0.7, 1.3, 4.0] {
            let at = radius * DVec3::new(0.48, -0.6, 0.64);
            assert!((winding.signed_distance(at) - (radius - 1.0)).abs() < 5e-3);
        }
        let nothing = Winding::new(&[], &[]);
        assert_eq!(nothing.at(DVec3::ZERO), 0.0);
        assert!(nothing.closest(DVec3::ZERO).is_none());
    }
}
