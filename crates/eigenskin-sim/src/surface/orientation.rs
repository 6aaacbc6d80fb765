//! Which side of each triangle is outside.

use std::collections::HashMap;

use eigenskin_core::glam::DVec3;

/// What lies on both sides of every edge.
pub(super) struct EdgeMap {
    /// `triangle` → the triangle across each of its edges, where there is exactly one
    across: Vec<[Option<u32>; 3]>,
    /// triangles with an edge that no other has, once for each such edge
    at_open_edges: Vec<usize>,
}

impl EdgeMap {
    pub(super) fn of(triangles: &[[u32; 3]]) -> Self {
        let mut at_edge: HashMap<[u32; 2], Vec<(u32, usize)>> = HashMap::new();
        for (index, t) in triangles.iter().enumerate() {
            for edge in 0..3 {
                at_edge.entry(ends(t, edge)).or_default().push((index as u32, edge));
            }
        }
        let mut across = vec![[None; 3]; triangles.len()];
        let mut at_open_edges = Vec::new();
        for (index, t) in triangles.iter().enumerate() {
            for edge in 0..3 {
                match at_edge[&ends(t, edge)].as_slice() {
                    [_] => at_open_edges.push(index),
                    [one, other] => {
                        let next = if one.0 == index as u32 { other } else { one };
                        across[index][edge] = Some(next.0);
                    }
                    // More than two meet: what is across cannot be told.
                    _ => {}
                }
            }
        }
        Self { across, at_open_edges }
    }

    pub(super) fn triangles_at_open_edges(&self) -> impl Iterator<Item = usize> + '_ {
        self.at_open_edges.iter().copied()
    }

    /// Turns triangles until neighbours agree. Of the two ways for each patch, the one that keeps
    /// more of its area as it was.
    pub(super) fn make_sides_agree(&self, points: &[DVec3], triangles: &mut [[u32; 3]]) {
        let given = triangles.to_vec();
        let mut seen = vec![false; triangles.len()];
        for start in 0..triangles.len() {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut patch = vec![start];
            let mut next = 0;
            while next < patch.len() {
                let here = patch[next];
                next += 1;
                for neighbour in self.across[here].iter().flatten().map(|&t| t as usize) {
                    if !seen[neighbour] {
                        seen[neighbour] = true;
                        if same_direction(&triangles[here], &triangles[neighbour]) {
                            triangles[neighbour].swap(1, 2);
                        }
                        patch.push(neighbour);
                    }
                }
            }
            let area = |t: usize| {
                let [a, b, c] = given[t].map(|p| points[p as usize]);
                (b - a).cross(c - a).length()
            };
            let kept: f64 =
                patch.iter().map(|&t| if triangles[t] == given[t] { area(t) } else { -area(t) }).sum();
            if kept < 0.0 {
                for &t in &patch {
                    triangles[t].swap(1, 2);
                }
            }
        }
    }
}

/// The ends of an edge, the smaller first.
fn ends(t: &[u32; 3], edge: usize) -> [u32; 2] {
    let (a, b) = (t[edge], t[(edge + 1) % 3]);
    [a.min(b), a.max(b)]
}

/// Whether two triangles run along a common edge in one direction, that is, disagree.
fn same_direction(a: &[u32; 3], b: &[u32; 3]) -> bool {
    let directed = |t: &[u32; 3], edge: usize| (t[edge], t[(edge + 1) % 3]);
    (0..3).any(|i| (0..3).any(|j| directed(a, i) == directed(b, j)))
}
