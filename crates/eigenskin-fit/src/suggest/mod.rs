//! Where one more example would help most.
//!
//! What the skin does is thought of as a random field over poses, with the kernel of the patches method as its
//! covariance: what joints and controls do alone, in pairs, in threes. How much each moves a patch of the skin
//! follows from the skin weights while there are no examples, and from the examples where there are. An example
//! takes uncertainty away from all poses like it; the pose that takes away most is suggested, then the next one
//! as if that one had been made.

mod choose;
mod motions;
mod outlook;
mod uncertainty;

use std::sync::Arc;

use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use serde::{Deserialize, Serialize, Serializer};

pub use choose::{KnownPoses, choose_poses};
pub use outlook::{Outlook, outlook};

use crate::during::Small;
use crate::method::patches::expectation::{COMPARING, Expectation};
use motions::Motions;
use uncertainty::Uncertainty;

/// How to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SuggestParams {
    /// poses to suggest at most; default 5
    pub count: usize,
}

impl Default for SuggestParams {
    fn default() -> Self {
        Self { count: 5 }
    }
}

/// A pose worth an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// index among the candidates
    pub candidate: usize,
    /// its name
    pub name: String,
    /// error to expect there from what is known so far, in the rest shape's unit (root of the mean
    /// square over the skin). Without examples an estimate from the skin weights
    pub expected_error: f64,
    /// share of the uncertainty over all candidates that an example here would take away
    pub gain: f64,
    /// the joint or control that makes it worth while
    pub mover: Mover,
    /// its name
    pub moves: String,
    /// how far the pose moves it (radians, sizes, control values)
    pub motion: f64,
    /// the example or earlier suggestion that moves it most alike, and how far that is away; `None`
    /// where none moves it
    pub nearest: Option<NearestPose>,
    /// leave-one-out error of the examples that move it, as `expected_error`; `None` without any
    pub leave_one_out: Option<f64>,
}

/// The example or suggestion that moves a joint or control most alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearestPose {
    /// its name
    pub name: String,
    /// how far the two have it apart (radians, sizes, control values)
    pub distance: f64,
}

impl Serialize for Suggestion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            name: &'a str,
            reason: String,
            expected_error: f64,
            gain: f64,
            moves: &'a str,
            nearest: Option<&'a NearestPose>,
            leave_one_out: Option<f64>,
        }
        let told = Told {
            name: &self.name,
            reason: self.reason(),
            expected_error: self.expected_error,
            gain: self.gain,
            moves: &self.moves,
            nearest: self.nearest.as_ref(),
            leave_one_out: self.leave_one_out,
        };
        told.serialize(serializer)
    }
}

/// Why nothing can be suggested.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SuggestError {
    /// Nothing to choose from.
    #[error("there are no poses to choose from; give a clip, a file of poses or an example set")]
    NoCandidates,
    /// Too many to compare all with all.
    #[error("there are {found} poses to choose from, at most {limit} can be compared; give fewer")]
    TooManyCandidates {
        /// how many there are
        found: usize,
        /// how many can be
        limit: usize,
    },
    /// All candidates are rest.
    #[error("none of the poses moves a joint or control that bends the skin; give other poses")]
    NothingMoves,
    /// A candidate of another rig.
    #[error("pose {name:?} has {found} joints and controls, the rig has {expected}; give poses of this rig")]
    OtherRig {
        /// the pose at fault
        name: String,
        /// what it has
        found: usize,
        /// what there should be
        expected: usize,
    },
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Candidates are compared with each other, all pairs, on each patch.
const MOST_CANDIDATES: usize = 1000;

/// Examples and planned poses that are looked at.
const MOST_KNOWN: usize = 1500;

/// What is left of the uncertainty when nothing more is suggested.
const NOTHING_LEFT: f64 = 1e-9;

/// Chooses up to `count` of the candidates, best first. `examples` are what there is already; their
/// shapes are looked at, the truth at the candidates is not asked for. Equal input gives equal output.
///
/// ```
/// use eigenskin_core::progress::Unwatched;
/// use eigenskin_fit::suggest::{SuggestParams, suggest_poses};
///
/// let arm = eigenskin_characters::arm(300)?;
/// let poses = arm.single_joint_poses(4);
/// let found = suggest_poses(&arm.rig, None, &poses, &SuggestParams::default(), &Unwatched)?;
/// println!("{}: {}", found[0].name, found[0].reason());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn suggest_poses(
    rig: &Arc<Rig>,
    examples: Option<&ExampleSet>,
    candidates: &[NamedPose],
    params: &SuggestParams,
    progress: &dyn Progress,
) -> Result<Vec<Suggestion>, SuggestError> {
    check(rig, candidates)?;
    let movers = Mover::all(rig);
    let known_names: Vec<&str> =
        examples.iter().flat_map(|set| set.examples()).map(|e| e.name.as_str()).collect();
    let known: Vec<&Pose> = examples.iter().flat_map(|set| set.examples()).map(|e| &e.pose).collect();
    let free = candidates.iter().map(|candidate| candidate.pose.clone());
    let (expectation, with_shape) = match examples {
        Some(set) => choose::of_examples(rig, set, free.clone(), progress)?,
        None => (Expectation::new(rig, free.clone().collect(), None, progress)?, 0),
    };
    let mut uncertainty = Uncertainty::new(&expectation, with_shape, progress)?;
    let start = uncertainty.total();
    if start <= 0.0 || uncertainty.prior() <= 0.0 {
        return Err(SuggestError::NothingMoves);
    }

    let small = Small::new(progress, COMPARING, known.len() + candidates.len());
    let motions_of = |pose: &Pose| -> Result<Motions, Cancelled> {
        small.next()?;
        Ok(Motions::of(rig, &movers, pose))
    };
    let known_motions = known.into_iter().map(motions_of).collect::<Result<Vec<Motions>, _>>()?;
    let free = candidates.iter().map(|c| motions_of(&c.pose)).collect::<Result<Vec<Motions>, _>>()?;
    // What is an example already says nothing new, and neither does rest.
    let is_new = |motions: &Motions| {
        motions.moved().next().is_some() && !known_motions.iter().any(|k| k.same_as(motions))
    };
    let small = Small::new(progress, COMPARING, free.len());
    let mut open: Vec<bool> = free
        .iter()
        .map(|motions| {
            small.next()?;
            Ok(is_new(motions))
        })
        .collect::<Result<_, Cancelled>>()?;
    let furthest = |place: usize| {
        let sizes = known_motions.iter().chain(&free).map(|motions| motions.size_of(place));
        sizes.fold(f64::MIN_POSITIVE, f64::max)
    };
    let ranges: Vec<f64> = (0..movers.len()).map(furthest).collect();
    let root_mean = |sum: f64| (sum.max(0.0) / expectation.point_count() as f64).sqrt();
    let mut chosen: Vec<usize> = Vec::new();
    let mut suggestions = Vec::new();
    while suggestions.len() < params.count.min(free.len()) {
        progress.doing(COMPARING)?;
        let Some((candidate, gain)) = uncertainty.best(&open) else { break };
        if gain <= NOTHING_LEFT * start {
            break;
        }
        let others = known_motions
            .iter()
            .zip(known_names.iter().copied())
            .chain(chosen.iter().map(|&c: &usize| (&free[c], candidates[c].name.as_str())));
        // Energies are those at the end of the range.
        let energy = |place: usize| expectation.energy_of(movers[place]) / ranges[place].powi(2);
        let (place, nearest) = reason(&free[candidate], others, energy);
        suggestions.push(Suggestion {
            candidate,
            name: candidates[candidate].name.clone(),
            expected_error: root_mean(uncertainty.variance(candidate)),
            gain: gain / start,
            mover: movers[place],
            moves: movers[place].name(rig).to_string(),
            motion: free[candidate].size_of(place),
            nearest,
            leave_one_out: expectation.left_out(movers[place]).map(f64::sqrt),
        });
        uncertainty.know(candidate);
        for (open, motions) in open.iter_mut().zip(&free) {
            *open &= !motions.same_as(&free[candidate]);
        }
        chosen.push(candidate);
    }
    Ok(suggestions)
}

/// The mover that makes a pose worth while (its place), and the pose among `others` that moves it most alike.
/// `energy` is what a mover does to the skin, over its motion squared.
fn reason<'a>(
    motions: &Motions,
    others: impl Iterator<Item = (&'a Motions, &'a str)>,
    energy: impl Fn(usize) -> f64,
) -> (usize, Option<NearestPose>) {
    let others: Vec<(&Motions, &str)> = others.collect();
    let nearest = |mover: usize| {
        let moving = others.iter().filter(|(other, _)| other.size_of(mover) > 0.0);
        let distances = moving.map(|(other, name)| (name, motions.distance(other, mover)));
        distances.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let news = |mover: usize| {
        let distance = nearest(mover).map_or(f64::INFINITY, |(_, distance)| distance);
        energy(mover) * distance.min(motions.size_of(mover)).powi(2)
    };
    let mover = motions.moved().max_by(|&a, &b| news(a).total_cmp(&news(b)).then(b.cmp(&a))).unwrap_or(0);
    let nearest = nearest(mover);
    (mover, nearest.map(|(name, distance)| NearestPose { name: (*name).to_string(), distance }))
}

impl Suggestion {
    /// Why, in one sentence.
    pub fn reason(&self) -> String {
        let name = &self.moves;
        let amount = |value: f64| match self.mover {
            Mover::Joint(_) => format!("{:.0}°", value.to_degrees()),
            Mover::Control(_) => format!("{value:.2}"),
        };
        let expected = format!("expected error {:.3}", self.expected_error);
        match &self.nearest {
            None => format!("no example moves {name}, here by {}; {expected}", amount(self.motion)),
            Some(NearestPose { name: nearest, distance }) => {
                let left_out = self.leave_one_out.map_or(String::new(), |error| {
                    format!("; leave-one-out error of its examples {error:.3}")
                });
                format!(
                    "{name} is {} from its nearest example {nearest:?}; {expected}{left_out}",
                    amount(*distance)
                )
            }
        }
    }
}

fn check(rig: &Rig, candidates: &[NamedPose]) -> Result<(), SuggestError> {
    if candidates.is_empty() {
        return Err(SuggestError::NoCandidates);
    }
    if candidates.len() > MOST_CANDIDATES {
        return Err(SuggestError::TooManyCandidates { found: candidates.len(), limit: MOST_CANDIDATES });
    }
    let expected = rig.skeleton().joint_count() + rig.controls().len();
    for NamedPose { name, pose } in candidates {
        let found = pose.world_from_joint.len() + pose.controls.len();
        if pose.controls.len() != rig.controls().len() || found != expected {
            return Err(SuggestError::OtherRig { name: name.clone(), found, expected });
        }
    }
    Ok(())
}
