//! Bones that touch in some example.

use eigenskin_core::contact::{CapsulePair, Capsules, LEAST_DEPTH};
use glam::DVec3;
use rayon::prelude::*;

use crate::displacements::Observations;

/// Two bones that touch in some example.
pub(super) struct TouchingPair {
    pub pair: CapsulePair,
    /// examples in which they do, with the overlap
    pub overlaps: Vec<(usize, DVec3)>,
}

impl TouchingPair {
    /// Zero where they do not touch.
    pub fn overlap(&self, example: usize) -> DVec3 {
        let own = self.overlaps.binary_search_by_key(&example, |(example, _)| *example);
        own.map_or(DVec3::ZERO, |place| self.overlaps[place].1)
    }
}

/// All pairs of bones that touch in some example.
pub(super) fn touching_pairs(seen: &Observations) -> Vec<TouchingPair> {
    let skeleton = seen.rig.skeleton();
    let least = LEAST_DEPTH * seen.rig.mesh().size();
    let pairs: Vec<CapsulePair> = Capsules::of(&seen.rig).pairs().collect();
    let overlaps = |pair: CapsulePair| TouchingPair {
        pair,
        overlaps: (0..seen.len())
            .map(|example| (example, pair.overlap(skeleton, &seen.poses[example])))
            .filter(|(_, overlap)| *overlap != DVec3::ZERO)
            .collect(),
    };
    let touches = |found: &TouchingPair| found.overlaps.iter().any(|(_, overlap)| overlap.length() > least);
    pairs.into_par_iter().map(overlaps).filter(touches).collect()
}
