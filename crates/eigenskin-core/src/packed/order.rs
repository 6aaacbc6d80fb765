//! The packed vertex order: vertices with the same joints and corrections fill blocks of eight.
//!
//! What is left over of each kind of vertex (seven at most) shares blocks with other kinds, which
//! then have the joints and corrections of all their vertices, with zeros in between. That is
//! never more work than blocks of their own: the union of two sets is not larger than both
//! together. So the number of groups is bounded by the number of blocks, and there are about as
//! many blocks as vertices need.

use std::collections::BTreeMap;

use super::LONGEST_GROUP;
use super::lanes::LANES;

/// A joint that moves vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mover {
    pub joint: u32,
    /// the vertices' heaviest joint, towards which dual quaternions are turned before they add up; the
    /// joint itself if it is not needed
    pub pivot: u32,
}

/// Joints and parts of corrections, each rising.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Needs {
    pub movers: Vec<Mover>,
    pub parts: Vec<u32>,
}

/// Vertices of one group in packed order, padded to whole blocks by repeating the last of a block.
#[derive(Debug, PartialEq)]
pub(super) struct OrderedGroup {
    pub needs: Needs,
    pub vertices: Vec<u32>,
}

/// How many kinds of left-over vertices are looked at to fill one block.
const WINDOW: usize = 48;
/// Multiplications for a joint, and for one component of a correction.
const JOINT_COST: usize = 12;
const COMPONENT_COST: usize = 5;

/// Orders vertices with the given needs (`vertex`); `components` is the number of fields of each part.
pub(super) fn order(needs: Vec<Needs>, components: &[usize]) -> Vec<OrderedGroup> {
    let mut kinds: BTreeMap<Needs, Vec<u32>> = BTreeMap::new();
    for (vertex, needs) in needs.into_iter().enumerate() {
        kinds.entry(needs).or_default().push(vertex as u32);
    }
    let mut left_over = Vec::new();
    let mut groups: BTreeMap<Needs, Vec<u32>> = BTreeMap::new();
    for (needs, mut vertices) in kinds {
        let rest = vertices.split_off(vertices.len() / LANES * LANES);
        if !rest.is_empty() {
            left_over.push((needs.clone(), rest));
        }
        if !vertices.is_empty() {
            groups.insert(needs, vertices);
        }
    }
    for (needs, mut vertices) in shared_blocks(left_over, components) {
        if let Some(&last) = vertices.last() {
            vertices.resize(LANES, last);
        }
        groups.entry(needs).or_default().extend(vertices);
    }
    let cut = |(needs, vertices): (Needs, Vec<u32>)| -> Vec<OrderedGroup> {
        let pieces = vertices.chunks(LONGEST_GROUP * LANES);
        pieces.map(|piece| OrderedGroup { needs: needs.clone(), vertices: piece.to_vec() }).collect()
    };
    groups.into_iter().flat_map(cut).collect()
}

/// Fills blocks: the first kind that is left, then again and again the one that adds least work.
fn shared_blocks(left_over: Vec<(Needs, Vec<u32>)>, components: &[usize]) -> Vec<(Needs, Vec<u32>)> {
    let mut blocks = Vec::new();
    let mut waiting = left_over.into_iter();
    let mut window: Vec<(Needs, Vec<u32>)> = waiting.by_ref().take(WINDOW).collect();
    while !window.is_empty() {
        let (mut needs, mut vertices) = window.remove(0);
        loop {
            window.extend(waiting.by_ref().take(WINDOW - window.len()));
            let best = window
                .iter()
                .enumerate()
                .filter(|(_, (_, more))| vertices.len() + more.len() <= LANES)
                .min_by_key(|(_, (other, _))| added_cost(&needs, other, components));
            let Some((best, _)) = best else { break };
            let (other, more) = window.remove(best);
            needs.movers = union(&needs.movers, &other.movers);
            needs.parts = union(&needs.parts, &other.parts);
            vertices.extend(more);
        }
        blocks.push((needs, vertices));
    }
    blocks
}

/// Work that `other` adds to a block, less the work it would be on its own.
fn added_cost(needs: &Needs, other: &Needs, components: &[usize]) -> i64 {
    let mut cost = 0;
    for mover in &other.movers {
        cost += if needs.movers.binary_search(mover).is_ok() { -1 } else { 1 } * JOINT_COST as i64;
    }
    for part in &other.parts {
        let work = (COMPONENT_COST * components[*part as usize]) as i64;
        cost += if needs.parts.binary_search(part).is_ok() { -work } else { work };
    }
    cost
}

fn union<T: Copy + Ord>(a: &[T], b: &[T]) -> Vec<T> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(joints: &[u32], parts: &[u32]) -> Needs {
        let movers = joints.iter().map(|&joint| Mover { joint, pivot: joint }).collect();
        Needs { movers, parts: parts.to_vec() }
    }

    #[test]
    fn alike_vertices_stand_together_and_left_overs_share_blocks() {
        // 10 of one kind and 3 of a similar one, taking turns.
        let kinds: Vec<Needs> =
            (0..13).map(|v| if v % 4 == 1 { needs(&[0, 1], &[]) } else { needs(&[0], &[]) }).collect();
        let groups = order(kinds, &[]);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].needs, needs(&[0], &[]));
        assert_eq!(groups[0].vertices, [0, 2, 3, 4, 6, 7, 8, 10]);
        assert_eq!(groups[1].needs, needs(&[0, 1], &[]));
        assert_eq!(groups[1].vertices, [11, 12, 1, 5, 9, 9, 9, 9]);
    }

    #[test]
    fn left_overs_go_where_they_add_least() {
        let kinds =
            vec![needs(&[0, 1], &[0]), needs(&[2, 3], &[0]), needs(&[0, 1], &[]), needs(&[2, 3], &[])];
        let kinds: Vec<Needs> = kinds.into_iter().flat_map(|kind| vec![kind; 4]).collect();
        let groups = order(kinds, &[3]);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].needs, needs(&[0, 1], &[0]));
        assert_eq!(groups[1].needs, needs(&[2, 3], &[0]));
    }

    #[test]
    fn every_vertex_of_its_own_kind_still_fills_blocks() {
        let kinds: Vec<Needs> = (0..1000u32).map(|v| needs(&[v % 7, 7 + v % 11, 18 + v % 13], &[])).collect();
        let groups = order(kinds, &[]);
        let lanes: usize = groups.iter().map(|group| group.vertices.len()).sum();
        assert_eq!(lanes, 1000);
        let mut seen: Vec<u32> = groups.into_iter().flat_map(|group| group.vertices).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<u32>>());
    }
}
