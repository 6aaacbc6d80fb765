//! An order of elimination for a lattice: nested dissection (George, "Nested Dissection of a Regular
//! Finite Element Mesh", 1973).
//!
//! Nodes are neighbours only if no coordinate differs by more than one. So the nodes of a plane keep
//! those on its two sides apart, copies of cells or not; they are eliminated after both sides.

use eigenskin::glam::DVec3;

/// Parts of at most this many nodes are not cut any more.
const SMALLEST_PART: usize = 24;

/// The smaller side of a cut has at least this share of the nodes.
const SMALLEST_SIDE: f64 = 0.2;

/// All nodes in an order of elimination with few new entries; positions are whole numbers.
pub fn nested_dissection(nodes: &[DVec3]) -> Vec<u32> {
    let mut order = Vec::with_capacity(nodes.len());
    // Parts still to be ordered, and separators that wait for them, the next one last.
    let mut waiting = vec![(true, (0..nodes.len() as u32).collect::<Vec<u32>>())];
    while let Some((may_cut, part)) = waiting.pop() {
        let cut = if may_cut { best_cut(nodes, &part) } else { None };
        let Some((axis, at)) = cut else {
            order.extend(part);
            continue;
        };
        let side = |wanted: f64| -> Vec<u32> {
            let of = |node: &u32| (nodes[*node as usize][axis].round() - at).clamp(-1.0, 1.0);
            part.iter().copied().filter(|node| of(node) == wanted).collect()
        };
        waiting.push((false, side(0.0)));
        waiting.push((true, side(1.0)));
        waiting.push((true, side(-1.0)));
    }
    order
}

/// Axis and coordinate of the plane with the fewest nodes that leaves enough on both sides.
fn best_cut(nodes: &[DVec3], part: &[u32]) -> Option<(usize, f64)> {
    if part.len() <= SMALLEST_PART {
        return None;
    }
    let mut best: Option<(f64, usize, f64)> = None;
    for axis in 0..3 {
        let mut coordinates: Vec<f64> = part.iter().map(|&node| nodes[node as usize][axis].round()).collect();
        coordinates.sort_unstable_by(f64::total_cmp);
        let mut start = 0;
        while start < coordinates.len() {
            let at = coordinates[start];
            let end = start + coordinates[start..].partition_point(|&x| x == at);
            let smaller_side = start.min(coordinates.len() - end) as f64;
            if smaller_side >= SMALLEST_SIDE * part.len() as f64 {
                // Few nodes in the plane, and sides alike.
                let cost = (end - start) as f64 / smaller_side.sqrt();
                if best.is_none_or(|(least, _, _)| cost < least) {
                    best = Some((cost, axis, at));
                }
            }
            start = end;
        }
    }
    best.map(|(_, axis, at)| (axis, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Lattice;

    #[test]
    fn every_node_is_eliminated_once_and_the_middle_last() {
        let lattice = Lattice::of_box([2, 2, 20]);
        let order = nested_dissection(&lattice.nodes);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..lattice.node_count() as u32).collect::<Vec<_>>());
        // The last nine are the middle plane across the bar.
        assert!(order[order.len() - 9..].iter().all(|&node| lattice.nodes[node as usize].z == 10.0));
    }
}
