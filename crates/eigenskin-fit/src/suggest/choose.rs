//! Poses that tell most about others, of any number of joints.

use std::sync::Arc;

use eigenskin_core::examples::ExampleSet;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::BaseSkinning;

use super::MOST_KNOWN;
use super::uncertainty::Uncertainty;
use crate::displacements::skinned_displacements;
use crate::method::patches::expectation::Expectation;

/// What is known when poses are chosen.
#[derive(Debug, Clone, Copy)]
pub enum KnownPoses<'a> {
    /// poses that there will be examples of; what the skin does is guessed from its weights
    Planned(&'a [Pose]),
    /// examples, whose shapes are looked at
    Examples(&'a ExampleSet),
}

/// Chooses `count` of the candidates one after the other, each the one after which least is unknown of all of
/// them: predictive variance, patch by patch. Fewer only where there are fewer candidates. The order is that of
/// the choice; equal input gives equal output.
///
/// ```
/// use eigenskin_core::articulation::NamedAngles;
/// use eigenskin_core::pose::Pose;
/// use eigenskin_core::progress::Unwatched;
/// use eigenskin_fit::suggest::{KnownPoses, choose_poses};
///
/// let arm = eigenskin_characters::arm(300)?;
/// let articulation = arm.articulation();
/// let poses = |angles: Vec<NamedAngles>| -> Vec<Pose> {
///     articulation.poses(&angles).into_iter().map(|named| named.pose).collect()
/// };
/// let planned = poses(articulation.sweeps(4, 0.0));
/// let candidates = poses(articulation.random(50, 0.75, 1));
/// let chosen = choose_poses(&arm.rig, KnownPoses::Planned(&planned), &candidates, 5, &Unwatched)?;
/// assert_eq!(chosen.len(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn choose_poses(
    rig: &Arc<Rig>,
    known: KnownPoses,
    candidates: &[Pose],
    count: usize,
    progress: &dyn Progress,
) -> Result<Vec<usize>, Cancelled> {
    let free = candidates.iter().cloned();
    let (expectation, known) = match known {
        KnownPoses::Planned(planned) => {
            let poses = evenly(planned, MOST_KNOWN).cloned().chain(free).collect::<Vec<Pose>>();
            let known = poses.len() - candidates.len();
            (Expectation::new(rig, poses, None, progress)?, known)
        }
        KnownPoses::Examples(set) => of_examples(rig, set, free, progress)?,
    };
    let mut uncertainty = Uncertainty::new(&expectation, known, progress)?;
    let mut open = vec![true; candidates.len()];
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count.min(candidates.len()) {
        progress.doing(CHOOSING)?;
        let Some((pose, _)) = uncertainty.best(&open) else { break };
        uncertainty.know(pose);
        open[pose] = false;
        chosen.push(pose);
    }
    Ok(chosen)
}

const CHOOSING: &str = "choosing poses";

/// What is expected after the examples of a set (of a large one, evenly chosen ones), and how many those are.
pub(super) fn of_examples(
    rig: &Arc<Rig>,
    set: &ExampleSet,
    others: impl Iterator<Item = Pose>,
    progress: &dyn Progress,
) -> Result<(Expectation, usize), Cancelled> {
    let places: Vec<usize> = (0..set.len()).collect();
    let places: Vec<usize> = evenly(&places, MOST_KNOWN).copied().collect();
    // A part of a set is one as well.
    let few = if places.len() < set.len() { set.select(&places).ok() } else { None };
    let set = few.as_ref().unwrap_or(set);
    let shapes = skinned_displacements(set, BaseSkinning::LinearBlend, progress)?;
    let poses = set.examples().iter().map(|example| example.pose.clone()).chain(others).collect();
    Ok((Expectation::new(rig, poses, Some(shapes), progress)?, set.len()))
}

/// At most so many of some things, spread over all of them.
fn evenly<T>(things: &[T], most: usize) -> impl Iterator<Item = &T> {
    things.iter().step_by(things.len().div_ceil(most).max(1))
}
