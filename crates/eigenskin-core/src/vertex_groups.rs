//! A partition of the vertices: which of them are really one point of the surface.

use std::collections::HashMap;
use std::hash::Hash;

/// Vertices put into groups, numbered in the order of their first vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VertexGroups {
    /// `vertex` → group
    group_of: Vec<u32>,
    /// `group` → its first vertex
    first_vertex: Vec<u32>,
}

impl VertexGroups {
    /// Vertices with equal keys form a group.
    pub fn by_key<K: Eq + Hash>(vertex_count: usize, key: impl Fn(usize) -> K) -> Self {
        let mut known: HashMap<K, u32> = HashMap::with_capacity(vertex_count);
        let mut first_vertex = Vec::new();
        let group_of = (0..vertex_count)
            .map(|vertex| {
                *known.entry(key(vertex)).or_insert_with(|| {
                    first_vertex.push(vertex as u32);
                    (first_vertex.len() - 1) as u32
                })
            })
            .collect();
        Self { group_of, first_vertex }
    }

    /// Number of groups.
    pub fn group_count(&self) -> usize {
        self.first_vertex.len()
    }

    /// Number of vertices in all groups.
    pub fn vertex_count(&self) -> usize {
        self.group_of.len()
    }

    /// The group of a vertex.
    pub fn group_of(&self, vertex: usize) -> usize {
        self.group_of[vertex] as usize
    }

    /// The first vertex of a group, which stands for all of it.
    pub fn first_vertex(&self, group: usize) -> usize {
        self.first_vertex[group] as usize
    }

    /// The edges of triangles between groups, `group` → others, rising.
    pub fn neighbours(&self, triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
        let mut neighbours = vec![Vec::new(); self.group_count()];
        for triangle in triangles {
            let corners = triangle.map(|vertex| self.group_of(vertex as usize));
            for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                if corners[a] != corners[b] {
                    neighbours[corners[a]].push(corners[b] as u32);
                    neighbours[corners[b]].push(corners[a] as u32);
                }
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        neighbours
    }

    /// The vertices of every group, `group` → vertices in rising order.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.group_count()];
        for (vertex, &group) in self.group_of.iter().enumerate() {
            members[group as usize].push(vertex as u32);
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_by_their_first_vertex() {
        let keys = ["b", "a", "b", "c", "a"];
        let groups = VertexGroups::by_key(5, |v| keys[v]);
        assert_eq!((0..5).map(|v| groups.group_of(v)).collect::<Vec<_>>(), [0, 1, 0, 2, 1]);
        assert_eq!(groups.members(), [vec![0, 2], vec![1, 4], vec![3]]);
        assert_eq!(groups.first_vertex(2), 3);
        assert_eq!(groups.neighbours(&[[0, 1, 2], [2, 3, 4]]), [vec![1, 2], vec![0, 2], vec![0, 1]]);
    }
}
