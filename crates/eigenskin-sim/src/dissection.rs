//! An order of elimination for the nodes of a body: nested dissection (George, "Nested Dissection of
//! a Regular Finite Element Mesh", 1973).
//!
//! A plane cuts the body; nodes on its one side that are coupled to the other side keep both apart
//! and are eliminated after them. Couplings are given, so that fingers which touch are one body.

use eigenskin_core::glam::DVec3;

/// Parts of at most this many nodes are not cut any more.
const SMALLEST_PART: usize = 24;

/// The smaller side of a cut has at least this share of the nodes.
const SMALLEST_SIDE: f64 = 0.2;

/// All nodes in an order of elimination with few new entries. `below` is `node` → nodes with a larger
/// index that it is coupled to.
pub fn nested_dissection(positions: &[DVec3], below: &[Vec<u32>]) -> Vec<u32> {
    let mut cuts = Cuts::new(positions, below);
    let mut order = Vec::with_capacity(positions.len());
    // Parts still to be ordered, and separators that wait for them, the next one last.
    let mut waiting = vec![(true, (0..positions.len() as u32).collect::<Vec<u32>>())];
    while let Some((may_cut, part)) = waiting.pop() {
        let cut = if may_cut && part.len() > SMALLEST_PART { cuts.best(&part) } else { None };
        let Some(Cut { before, separator, after }) = cut else {
            order.extend(part);
            continue;
        };
        waiting.push((false, separator));
        waiting.push((true, after));
        waiting.push((true, before));
    }
    order
}

/// A part in three.
struct Cut {
    before: Vec<u32>,
    separator: Vec<u32>,
    after: Vec<u32>,
}

/// Where a node of the part that is being cut lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// not in the part
    Outside,
    Before,
    Separator,
    After,
}

struct Cuts<'a> {
    positions: &'a [DVec3],
    /// `node` → all that it is coupled to
    neighbours: Vec<Vec<u32>>,
    /// `node`
    sides: Vec<Side>,
}

impl<'a> Cuts<'a> {
    fn new(positions: &'a [DVec3], below: &[Vec<u32>]) -> Self {
        let mut neighbours = below.to_vec();
        for (node, below) in below.iter().enumerate() {
            for &other in below {
                neighbours[other as usize].push(node as u32);
            }
        }
        Self { positions, neighbours, sides: vec![Side::Outside; positions.len()] }
    }

    /// The plane with the smallest separator that leaves enough on both sides.
    fn best(&mut self, part: &[u32]) -> Option<Cut> {
        let enough = SMALLEST_SIDE * part.len() as f64;
        let mut best: Option<(f64, Vec<u32>, usize)> = None;
        for axis in 0..3 {
            let mut sorted = part.to_vec();
            let along = |node: u32| self.positions[node as usize][axis];
            sorted.sort_by(|&a, &b| along(a).total_cmp(&along(b)));
            let sizes = self.sweep(part, &sorted);
            let costs = sizes.into_iter().enumerate().filter_map(|(last, separator)| {
                let before = last + 1;
                let smaller = before.min(part.len() - before - separator) as f64;
                // Few nodes in the separator, and sides alike.
                (smaller >= enough).then(|| (separator as f64 / smaller.sqrt(), before))
            });
            for (cost, before) in costs {
                if best.as_ref().is_none_or(|(least, _, _)| cost < *least) {
                    best = Some((cost, sorted.clone(), before));
                }
            }
        }
        let cut = best.map(|(_, sorted, before)| {
            self.sweep(part, &sorted[..before]);
            let is_separator = |&node: &u32| self.sides[node as usize] == Side::Separator;
            let (separator, after) = sorted[before..].iter().copied().partition(is_separator);
            Cut { before: sorted[..before].to_vec(), separator, after }
        });
        self.mark(part, Side::Outside);
        cut
    }

    /// Moves nodes of a part from after the cut to before it, one by one; the size of the separator
    /// after each. Separators are what is not before the cut, but coupled to it.
    fn sweep(&mut self, part: &[u32], sorted: &[u32]) -> Vec<usize> {
        self.mark(part, Side::After);
        let mut size = 0;
        let mut sizes = Vec::with_capacity(sorted.len());
        for &node in sorted {
            let side = &mut self.sides[node as usize];
            size -= usize::from(*side == Side::Separator);
            *side = Side::Before;
            for &other in &self.neighbours[node as usize] {
                let side = &mut self.sides[other as usize];
                if *side == Side::After {
                    *side = Side::Separator;
                    size += 1;
                }
            }
            sizes.push(size);
        }
        sizes
    }

    fn mark(&mut self, part: &[u32], as_side: Side) {
        for &node in part {
            self.sides[node as usize] = as_side;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::nodes_below;
    use crate::lattice::Lattice;

    #[test]
    fn every_node_is_eliminated_once_and_the_middle_last() {
        let lattice = Lattice::of_box([2, 2, 20]);
        let order = nested_dissection(&lattice.nodes, &nodes_below(&lattice, &[]));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..lattice.node_count() as u32).collect::<Vec<_>>());
        // The last nine are a plane across the bar, not far from its middle.
        let last: Vec<f64> = order[order.len() - 9..].iter().map(|&n| lattice.nodes[n as usize].z).collect();
        assert!(last.iter().all(|&z| z == last[0] && (z - 10.0).abs() <= 1.0), "{last:?}");
    }

    #[test]
    fn couplings_across_a_gap_are_cut_too() {
        // Two bars side by side, coupled node by node along their whole length, then not at all.
        let bar = Lattice::of_box([1, 1, 30]);
        let count = bar.node_count() as u32;
        let mut positions = bar.nodes.clone();
        positions.extend(bar.nodes.iter().map(|&x| x + 3.0 * DVec3::X));
        let mut apart = nodes_below(&bar, &[]);
        apart.extend(apart.clone().iter().map(|below| below.iter().map(|&n| n + count).collect::<Vec<_>>()));
        let mut coupled = apart.clone();
        for node in 0..count {
            coupled[node as usize].push(node + count);
        }
        // The first cut of bars that are apart needs no separator; that of coupled ones is across both.
        let last = |below: &[Vec<u32>]| {
            let order = nested_dissection(&positions, below);
            order[order.len() - 8..].iter().map(|&n| positions[n as usize]).collect::<Vec<_>>()
        };
        let across = last(&coupled);
        assert!(across.iter().all(|x| x.z == across[0].z), "{across:?}");
        assert!(last(&apart).iter().all(|x| x.x >= 3.0));
    }
}
