//! Edge collapse to an exact number of triangles, shortest edges first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use glam::DVec3;

use super::implicit::Body;
use super::meshing::Surface;

/// An edge waiting to be collapsed: length squared (as sortable bits), ends, and how often the ends
/// had changed when it was queued.
type Candidate = Reverse<(u64, u32, u32, u32)>;

/// Collapses edges of a closed surface until `triangles` are left; false if none may go any more.
/// New vertices lie on the surface of `body`.
pub(super) fn collapse_to(surface: &mut Surface, triangles: usize, body: &Body) -> bool {
    let mut work = Collapse::new(surface);
    while work.alive > triangles {
        let Some(Reverse((_, a, b, version))) = work.queue.pop() else {
            return false;
        };
        if work.version_of(a, b) == version && !work.gone[a as usize] && !work.gone[b as usize] {
            work.collapse(a, b, body);
        }
    }
    work.finish(surface);
    true
}

struct Collapse {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    dead: Vec<bool>,
    gone: Vec<bool>,
    /// `vertex` → triangles around it
    around: Vec<Vec<u32>>,
    /// `vertex`: how often it has changed
    versions: Vec<u32>,
    queue: BinaryHeap<Candidate>,
    alive: usize,
}

impl Collapse {
    fn new(surface: &Surface) -> Self {
        let mut around = vec![Vec::new(); surface.positions.len()];
        for (triangle, corners) in surface.triangles.iter().enumerate() {
            for &corner in corners {
                around[corner as usize].push(triangle as u32);
            }
        }
        let mut work = Self {
            positions: surface.positions.clone(),
            triangles: surface.triangles.clone(),
            dead: vec![false; surface.triangles.len()],
            gone: vec![false; surface.positions.len()],
            versions: vec![0; surface.positions.len()],
            queue: BinaryHeap::new(),
            alive: surface.triangles.len(),
            around,
        };
        for vertex in 0..surface.positions.len() as u32 {
            for other in work.neighbours(vertex).into_iter().filter(|&other| other > vertex) {
                work.enqueue(vertex, other);
            }
        }
        work
    }

    /// Versions only grow, so the sum tells whether either end has changed.
    fn version_of(&self, a: u32, b: u32) -> u32 {
        self.versions[a as usize] + self.versions[b as usize]
    }

    fn enqueue(&mut self, a: u32, b: u32) {
        let length = self.positions[a as usize].distance_squared(self.positions[b as usize]);
        let version = self.version_of(a, b);
        // Bits of positive floats sort like the floats.
        self.queue.push(Reverse((length.to_bits(), a.min(b), a.max(b), version)));
    }

    /// Vertices an edge away, sorted.
    fn neighbours(&self, vertex: u32) -> Vec<u32> {
        let corners = self.around[vertex as usize].iter().flat_map(|&t| self.triangles[t as usize]);
        let mut list: Vec<u32> = corners.filter(|&corner| corner != vertex).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    /// Joins `b` into `a` at their middle, if the surface stays a surface.
    fn collapse(&mut self, a: u32, b: u32, body: &Body) {
        let (near_a, near_b) = (self.neighbours(a), self.neighbours(b));
        let shared: Vec<u32> = near_a.iter().copied().filter(|v| near_b.binary_search(v).is_ok()).collect();
        // Link condition: the two ends share exactly the two vertices opposite the edge, which
        // must keep three neighbours.
        let tight = shared.iter().any(|&v| self.around[v as usize].len() <= 3);
        if shared.len() != 2 || tight || near_a.len() + near_b.len() > 16 {
            return;
        }
        let middle = 0.5 * (self.positions[a as usize] + self.positions[b as usize]);
        let middle = body.project(middle, 2);
        if self.would_fold(a, b, middle) || self.would_fold(b, a, middle) {
            return;
        }
        self.positions[a as usize] = middle;
        self.gone[b as usize] = true;
        for triangle in std::mem::take(&mut self.around[b as usize]) {
            let corners = &mut self.triangles[triangle as usize];
            if corners.contains(&a) {
                self.dead[triangle as usize] = true;
                self.alive -= 1;
                for corner in *corners {
                    self.around[corner as usize].retain(|&t| t != triangle);
                }
            } else {
                for corner in corners.iter_mut().filter(|corner| **corner == b) {
                    *corner = a;
                }
                self.around[a as usize].push(triangle);
            }
        }
        self.versions[a as usize] += 1;
        for other in self.neighbours(a) {
            self.enqueue(a, other);
        }
    }

    /// Whether moving `moved` to `target` turns or flattens one of its triangles that does not
    /// vanish with `partner`.
    fn would_fold(&self, moved: u32, partner: u32, target: DVec3) -> bool {
        self.around[moved as usize].iter().any(|&triangle| {
            let corners = self.triangles[triangle as usize];
            if corners.contains(&partner) {
                return false;
            }
            let before = corners.map(|v| self.positions[v as usize]);
            let after = corners.map(|v| if v == moved { target } else { self.positions[v as usize] });
            let (old, new) = (twice_area(before), twice_area(after));
            let longest = (0..3).map(|k| after[k].distance_squared(after[(k + 1) % 3])).fold(0.0, f64::max);
            old.dot(new) < 0.5 * old.length() * new.length() || new.length() < 0.1 * longest
        })
    }

    /// Writes back what is left, in the old order.
    fn finish(self, surface: &mut Surface) {
        let mut new_index = vec![u32::MAX; self.positions.len()];
        let mut positions = Vec::new();
        for vertex in (0..self.positions.len()).filter(|&vertex| !self.gone[vertex]) {
            new_index[vertex] = positions.len() as u32;
            positions.push(self.positions[vertex]);
        }
        let triangles = self.triangles.iter().zip(&self.dead).filter(|&(_, &dead)| !dead);
        surface.triangles = triangles.map(|(t, _)| t.map(|v| new_index[v as usize])).collect();
        surface.positions = positions;
    }
}

/// Normal of a triangle, as long as twice its area.
pub(super) fn twice_area([a, b, c]: [DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a)
}
