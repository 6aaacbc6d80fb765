//! Poses of all joints to learn from: of many random ones, those that tell most.

use std::sync::Arc;

use eigenskin_core::articulation::{Articulation, DegreeOfFreedom, NamedAngles};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::random::SplitMix64;
use eigenskin_core::rig::Rig;
use eigenskin_fit::suggest::{KnownPoses, choose_poses};
use eigenskin_gltf::ExampleList;
use eigenskin_sim::jobs::SamplingParams;

use super::SimulateError;

/// Random poses to choose among: at least so many, and so many for each one that is chosen.
const LEAST_CANDIDATES: usize = 400;
const PER_POSE: usize = 4;
/// More would take more than a few seconds.
const MOST_CANDIDATES: usize = 1000;
/// How their names begin; numbers follow.
const NAME: &str = "together-";

/// What is chosen for.
#[derive(Debug, Clone, Copy)]
pub(in crate::jobs) struct Choice<'a> {
    pub rig: &'a Arc<Rig>,
    pub degrees: &'a [DegreeOfFreedom],
    /// share of the ranges that the poses use
    pub share: f64,
    /// the same for the same seed; never the poses to validate with, which are drawn with the seed itself
    pub seed: u64,
}

impl Choice<'_> {
    /// `count` poses beside the poses of one joint that `sampling` gives, before anything was simulated; none where
    /// one joint moves alone.
    pub fn first(
        &self,
        count: usize,
        sampling: &SamplingParams,
        progress: &dyn Progress,
    ) -> Result<Vec<NamedAngles>, Cancelled> {
        let first = self.degrees.first().map(|degree| degree.joint);
        if count == 0 || self.degrees.iter().all(|degree| Some(degree.joint) == first) {
            return Ok(Vec::new());
        }
        let mut planned = self.articulation().sweeps(sampling.per_degree, 0.0);
        planned.extend(self.articulation().corners(&sampling.corner_shares));
        let planned = self.poses(&planned);
        self.chosen(KnownPoses::Planned(&planned), count, !self.seed, 0, progress)
    }

    /// `count` poses beside the examples of a list that are not muted.
    pub fn more(
        &self,
        count: usize,
        list: &ExampleList,
        progress: &dyn Progress,
    ) -> Result<Vec<NamedAngles>, SimulateError> {
        let heard = |place: &usize| !list.is_muted(&list.set.examples()[*place].name);
        let heard: Vec<usize> = (0..list.set.len()).filter(heard).collect();
        let examples = list.set.select(&heard)?;
        // Other poses than before, whatever came of those.
        let names = list.set.examples().iter().map(|example| &example.name);
        let dropped = list.simulation.iter().flat_map(|record| &record.dropped).map(|pose| &pose.name);
        let numbers = names.chain(dropped).filter_map(|name| name.strip_prefix(NAME)?.parse::<usize>().ok());
        let next = numbers.max().map_or(0, |last| last + 1);
        let seed = SplitMix64::new(!self.seed ^ (next as u64 + 1)).next_bits();
        Ok(self.chosen(KnownPoses::Examples(&examples), count, seed, next, progress)?)
    }

    /// Poses named from `next` on.
    fn chosen(
        &self,
        known: KnownPoses,
        count: usize,
        seed: u64,
        next: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<NamedAngles>, Cancelled> {
        let most = MOST_CANDIDATES.max(count);
        let candidates =
            self.articulation().random((PER_POSE * count).clamp(LEAST_CANDIDATES, most), self.share, seed);
        let found = choose_poses(self.rig, known, &self.poses(&candidates), count, progress)?;
        let named = |(place, candidate): (usize, usize)| NamedAngles {
            name: format!("{NAME}{}", next + place),
            angles: candidates[candidate].angles.clone(),
        };
        Ok(found.into_iter().enumerate().map(named).collect())
    }

    fn poses(&self, angles: &[NamedAngles]) -> Vec<Pose> {
        angles.iter().map(|angles| self.articulation().pose(&angles.angles)).collect()
    }

    fn articulation(&self) -> Articulation<'_> {
        Articulation { rig: self.rig, degrees: self.degrees }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_characters::hand;
    use eigenskin_core::progress::Unwatched;

    #[test]
    fn poses_stay_within_the_ranges_and_apart_from_those_to_validate_with() {
        let hand = hand(1500).unwrap();
        let articulation = hand.articulation();
        let sampling = SamplingParams { per_degree: 2, ..SamplingParams::default() };
        let choose = |seed: u64, count: usize| {
            let choice = Choice { rig: &hand.rig, degrees: articulation.degrees, share: 0.75, seed };
            choice.first(count, &sampling, &Unwatched).unwrap()
        };
        let chosen = choose(2002, 6);
        assert_eq!(chosen.iter().map(|pose| pose.name.as_str()).next_back(), Some("together-5"));
        for pose in &chosen {
            assert_eq!(pose.angles.len(), articulation.degrees.len());
            for (degree, &angle) in articulation.degrees.iter().zip(&pose.angles) {
                assert!(0.75 * degree.lowest <= angle && angle <= 0.75 * degree.highest, "{}", pose.name);
            }
        }
        // The same for the same seed, and begun alike however many there are.
        assert_eq!(chosen, choose(2002, 6));
        assert_eq!(chosen[..4], choose(2002, 4));
        assert_ne!(chosen, choose(2003, 6));
        let validation = articulation.random(25, sampling.validation_share, sampling.seed);
        assert!(chosen.iter().all(|pose| validation.iter().all(|other| other.angles != pose.angles)));
    }
}
