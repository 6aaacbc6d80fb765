//! The nearest point of a surface.

use eigenskin_core::closest_point::{mixed, nearest_shares};
use glam::DVec3;

/// A point of a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SurfacePoint {
    pub triangle: u32,
    /// of its corners, not negative, sum one
    pub shares: [f64; 3],
    /// from the point that was asked for
    pub distance: f64,
}

/// Triangles in a tree of boxes.
pub(super) struct TriangleTree {
    corners: Vec<[DVec3; 3]>,
    nodes: Vec<Node>,
    /// triangles, those of a leaf together
    order: Vec<u32>,
}

struct Node {
    low: DVec3,
    high: DVec3,
    content: Content,
}

enum Content {
    /// places in the order
    Leaf(std::ops::Range<usize>),
    /// two nodes
    Inner([usize; 2]),
}

/// Triangles of a leaf at most.
const LEAF: usize = 4;

impl TriangleTree {
    pub fn new(corners: Vec<[DVec3; 3]>) -> Self {
        let order: Vec<u32> = (0..corners.len() as u32).collect();
        let mut tree = Self { order, nodes: Vec::new(), corners };
        if !tree.corners.is_empty() {
            tree.build(0..tree.corners.len());
        }
        tree
    }

    fn build(&mut self, range: std::ops::Range<usize>) -> usize {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for &triangle in &self.order[range.clone()] {
            for corner in self.corners[triangle as usize] {
                (low, high) = (low.min(corner), high.max(corner));
            }
        }
        let node = self.nodes.len();
        self.nodes.push(Node { low, high, content: Content::Leaf(range.clone()) });
        if range.len() > LEAF {
            let extent = high - low;
            let axis = (0..3).max_by(|&a, &b| extent[a].total_cmp(&extent[b])).unwrap_or(0);
            let corners = &self.corners;
            let middle = |triangle: &u32| corners[*triangle as usize].iter().map(|c| c[axis]).sum::<f64>();
            let half = range.len() / 2;
            self.order[range.clone()]
                .select_nth_unstable_by(half, |a, b| middle(a).total_cmp(&middle(b)).then(a.cmp(b)));
            let split = range.start + half;
            let children = [self.build(range.start..split), self.build(split..range.end)];
            self.nodes[node].content = Content::Inner(children);
        }
        node
    }

    /// The nearest point by distance plus what `handicap` adds (at least 0; `None` refuses a point,
    /// given by triangle and shares). Equals go to the lower triangle.
    pub fn nearest(
        &self,
        point: DVec3,
        handicap: impl Fn(u32, [f64; 3]) -> Option<f64>,
    ) -> Option<SurfacePoint> {
        let mut best: Option<(f64, SurfacePoint)> = None;
        let mut open = vec![(0.0, 0usize)];
        if self.nodes.is_empty() {
            return None;
        }
        while let Some((near, node)) = open.pop() {
            if best.is_some_and(|(score, _)| near > score) {
                continue;
            }
            match &self.nodes[node].content {
                Content::Inner(children) => {
                    let mut pair = children.map(|child| (self.distance_to_box(point, child), child));
                    // The nearer one is looked at first: it is pushed last.
                    if pair[0].0 < pair[1].0 {
                        pair.swap(0, 1);
                    }
                    open.extend(pair);
                }
                Content::Leaf(range) => {
                    for &triangle in &self.order[range.clone()] {
                        let corners = self.corners[triangle as usize];
                        let shares = nearest_shares(point, corners);
                        let distance = mixed(corners, shares).distance(point);
                        if best.is_some_and(|(score, _)| distance > score) {
                            continue;
                        }
                        let Some(extra) = handicap(triangle, shares) else { continue };
                        let score = distance + extra;
                        let better = best.is_none_or(|(lowest, found)| {
                            score < lowest || (score == lowest && triangle < found.triangle)
                        });
                        if better {
                            best = Some((score, SurfacePoint { triangle, shares, distance }));
                        }
                    }
                }
            }
        }
        best.map(|(_, found)| found)
    }

    fn distance_to_box(&self, point: DVec3, node: usize) -> f64 {
        let Node { low, high, .. } = &self.nodes[node];
        point.clamp(*low, *high).distance(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::random::SplitMix64;

    /// Against all triangles, each looked at on a fine grid of its own points.
    #[test]
    fn the_nearest_point_is_that_of_looking_everywhere() {
        let mut random = SplitMix64(11);
        let mut point = move || {
            DVec3::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0), random.between(-1.0, 1.0))
        };
        let corners: Vec<[DVec3; 3]> = (0..60)
            .map(|_| {
                let centre = point();
                [(); 3].map(|()| centre + 0.3 * point())
            })
            .collect();
        let tree = TriangleTree::new(corners.clone());
        for _ in 0..100 {
            let at = 1.5 * point();
            let steps = 60;
            let mut lowest = f64::INFINITY;
            for corners in &corners {
                for i in 0..=steps {
                    for j in 0..=steps - i {
                        let shares = [i, j, steps - i - j].map(|k| f64::from(k) / f64::from(steps));
                        lowest = lowest.min(mixed(*corners, shares).distance(at));
                    }
                }
            }
            let found = tree.nearest(at, |_, _| Some(0.0)).unwrap();
            assert!(found.distance <= lowest + 1e-12 && found.distance > lowest - 0.02, "{found:?} {lowest}");
            let shown = mixed(corners[found.triangle as usize], found.shares);
            assert!((shown.distance(at) - found.distance).abs() < 1e-12);
            // A triangle that is refused is not found.
            let other = tree.nearest(at, |triangle, _| (triangle != found.triangle).then_some(0.0)).unwrap();
            assert!(other.triangle != found.triangle && other.distance >= found.distance);
        }
    }
}
