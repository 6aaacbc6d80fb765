//! Several threads for one character, or for the characters of one model.

use std::ops::Range;
use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;

use super::crowd::evaluate_crowd;
use super::evaluator::{PackedEvaluator, Path, Worker, skin};
use super::frame::FrameData;
use super::lanes::Block;
use super::output::Output;
use super::{Group, PackedModel};
use crate::pose::Pose;

/// A thread pool, and what its threads need to share the vertices of one character.
#[derive(Debug)]
pub(super) struct Threads {
    pool: Arc<ThreadPool>,
    /// `share`: groups of about equal work, and memory to skin them
    shares: Vec<(Range<usize>, Worker)>,
    /// positions, normals and tangents before they are put in the caller's order, `block`
    shape: [Vec<Block>; 3],
    /// the lane of each vertex, `vertex`
    lane_of: Vec<u32>,
}

impl Threads {
    pub fn new(packed: &PackedModel, pool: Arc<ThreadPool>) -> Self {
        let blocks = || vec![Block::default(); packed.block_count()];
        let mut lane_of = vec![0; packed.rig().vertex_count()];
        for (lane, &vertex) in packed.vertices().as_flattened().iter().enumerate() {
            lane_of[vertex as usize] = lane as u32;
        }
        let shares = shares(&packed.tables.groups, pool.current_num_threads());
        Self {
            pool,
            shares: shares.into_iter().map(|groups| (groups, Worker::new(packed))).collect(),
            shape: [blocks(), blocks(), if packed.has_tangents() { blocks() } else { Vec::new() }],
            lane_of,
        }
    }

    pub fn skin(&mut self, packed: &PackedModel, frame: &FrameData, path: Path, output: Output) {
        let Self { pool, shares, shape, lane_of } = self;
        let wanted = output.wanted();
        let mut parts = shape.each_mut().map(|part| &mut part[..]);
        for (part, wanted) in parts.iter_mut().zip(wanted) {
            if !wanted {
                *part = &mut [];
            }
        }
        if let Output::Blocks { positions, normals, tangents } = output {
            let parts = [Some(positions), normals, tangents].map(Option::unwrap_or_default);
            return skin_shares(pool, packed, frame, path, shares, parts);
        }
        skin_shares(pool, packed, frame, path, shares, parts);
        let shape = shape.each_ref().map(|part| &part[..]);
        let together = lane_of.len().div_ceil(shares.len().max(1)).max(1);
        let outputs = output.parts(together).into_iter().zip(lane_of.chunks(together));
        share(pool, outputs, |(mut output, lanes)| output.gather(packed, lanes, shape));
    }
}

fn skin_shares(
    pool: &ThreadPool,
    packed: &PackedModel,
    frame: &FrameData,
    path: Path,
    shares: &mut [(Range<usize>, Worker)],
    mut shape: [&mut [Block]; 3],
) {
    let work = shares.iter_mut().map(|(groups, worker)| {
        let groups = &packed.tables.groups[groups.clone()];
        let blocks: usize = groups.iter().map(|group| group.block_count).sum();
        let own = shape.each_mut().map(|part| {
            let at = blocks.min(part.len());
            part.split_off_mut(..at).unwrap_or_default()
        });
        (groups, worker, own)
    });
    share(pool, work, |(groups, worker, own)| skin(path, packed, frame, groups, &mut worker.joints, own));
}

/// Does the first of some works here, while the pool's threads do the others: to wake a thread costs
/// more than some thousand vertices.
fn share<T: Send>(pool: &ThreadPool, mut works: impl Iterator<Item = T>, work: impl Fn(T) + Sync) {
    let Some(own) = works.next() else { return };
    pool.in_place_scope(|scope| {
        for other in works {
            scope.spawn(|_| work(other));
        }
        work(own);
    });
}

/// Cuts groups into `count` runs of about equal work.
fn shares(groups: &[Group], count: usize) -> Vec<Range<usize>> {
    // In halves of a joint; skinning itself costs about as much as two joints.
    let work = |group: &Group| {
        let components = group.before.count + group.turning.count + 2 * group.after.count;
        group.block_count * (4 + 2 * group.movers.count + components)
    };
    let all: usize = groups.iter().map(work).sum();
    let mut shares = Vec::new();
    let (mut first, mut done) = (0, 0);
    for (index, group) in groups.iter().enumerate() {
        done += work(group);
        if done * count >= all * (shares.len() + 1) {
            shares.push(first..index + 1);
            first = index + 1;
        }
    }
    shares
}

/// [`evaluate_crowd`] by the threads of a pool, each with some of the characters.
///
/// # Panics
/// As [`evaluate_crowd`].
pub fn evaluate_crowd_in(
    pool: &ThreadPool,
    characters: &mut [PackedEvaluator],
    poses: &[Pose],
    outputs: &mut [Output],
) {
    let together = characters.len().div_ceil(pool.current_num_threads()).max(1);
    pool.install(|| {
        characters
            .par_chunks_mut(together)
            .zip(poses.par_chunks(together))
            .zip(outputs.par_chunks_mut(together))
            .for_each(|((characters, poses), outputs)| evaluate_crowd(characters, poses, outputs));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::Span;

    #[test]
    fn shares_are_about_equal_and_leave_nothing_out() {
        let group = |block_count, joints| Group {
            block_count,
            movers: Span { first: 0, count: joints },
            ..Group::default()
        };
        let groups = [group(32, 4), group(1, 1), group(32, 4), group(3, 8), group(32, 2), group(32, 4)];
        let found = shares(&groups, 2);
        // 2 + joints for each block: 387 of 737 are in the first three.
        assert_eq!(found, [0..3, 3..6]);
        assert_eq!(shares(&groups[..1], 3).len(), 1);
        assert_eq!(shares(&[], 2), []);
    }
}
