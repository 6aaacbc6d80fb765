//! Where one more example would help most.
//!
//! The correction of the skin is thought of as a random field over poses: one part per joint or
//! control that grows with its motion and is alike in near poses, and a smaller part for two that
//! bend the same skin. How large each part is follows from the skin weights alone while there are no
//! examples, and from the examples and their leave-one-out errors where there are. An example takes
//! uncertainty away from all poses like it; the pose that takes away most is suggested, then the
//! next one as if that one had been made.

mod expectation;
mod motions;

use crate::during::Small;
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::mover::Mover;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use expectation::Expectation;
use motions::Motions;
use serde::{Deserialize, Serialize, Serializer};

/// How to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SuggestParams {
    /// poses to suggest at most; default 5
    pub count: usize,
    /// radians (or control values) over which the skin's correction changes its character; default 0.8
    pub length: f64,
    /// how much two joints that bend the same skin do beyond what each does alone; default 0.1
    pub coupling: f64,
}

impl Default for SuggestParams {
    fn default() -> Self {
        Self { count: 5, length: 0.8, coupling: 0.1 }
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
    /// A parameter without sense.
    #[error("{what} must be a finite number above zero, not {value}")]
    Parameter {
        /// which one
        what: &'static str,
        /// its value
        value: f64,
    },
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What is said while poses are compared.
const COMPARING: &str = "comparing poses";

/// Candidates are compared with each other, all pairs.
const MOST_CANDIDATES: usize = 4000;

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
    rig: &Rig,
    examples: Option<&ExampleSet>,
    candidates: &[NamedPose],
    params: &SuggestParams,
    progress: &dyn Progress,
) -> Result<Vec<Suggestion>, SuggestError> {
    check(rig, candidates, params)?;
    let movers = Mover::all(rig);
    let known: Vec<&Pose> = examples.iter().flat_map(|set| set.examples()).map(|e| &e.pose).collect();
    let known_names: Vec<&str> =
        examples.iter().flat_map(|set| set.examples()).map(|e| e.name.as_str()).collect();
    let poses = known.iter().copied().chain(candidates.iter().map(|candidate| &candidate.pose));
    let small = Small::new(progress, COMPARING, known.len() + candidates.len());
    let motions: Vec<Motions> = poses
        .map(|pose| {
            small.next()?;
            Ok(Motions::of(rig, &movers, pose))
        })
        .collect::<Result<_, Cancelled>>()?;
    let (known_motions, free) = motions.split_at(known.len());
    let expectation = Expectation::new(rig, &movers, examples, known_motions, params, progress)?;

    // Covariances of all candidates, given the examples and, one by one, the suggestions.
    let mut covariance = expectation.given_examples(known_motions, free, progress)?;
    let count = free.len();
    let start: f64 = (0..count).map(|c| covariance[c * count + c]).sum();
    if start <= 0.0 || !free.iter().any(|motions| expectation.variance(motions) > 0.0) {
        return Err(SuggestError::NothingMoves);
    }
    // What is an example already says nothing new, and neither does rest.
    let is_new = |motions: &Motions| {
        motions.moved().next().is_some() && !known_motions.iter().any(|k| k.same_as(motions))
    };
    let small = Small::new(progress, COMPARING, count);
    let mut open: Vec<bool> = free
        .iter()
        .map(|motions| {
            small.next()?;
            Ok(is_new(motions))
        })
        .collect::<Result<_, Cancelled>>()?;
    let mut chosen: Vec<usize> = Vec::new();
    let mut suggestions = Vec::new();
    while suggestions.len() < params.count.min(count) {
        progress.doing(COMPARING)?;
        let Some((candidate, gain)) = best(&covariance, count, &expectation, free, &open) else { break };
        if gain <= NOTHING_LEFT * start {
            break;
        }
        let others = known_motions
            .iter()
            .zip(known_names.iter().copied())
            .chain(chosen.iter().map(|&c: &usize| (&free[c], candidates[c].name.as_str())));
        let (place, nearest) = expectation.reason(&free[candidate], others);
        suggestions.push(Suggestion {
            candidate,
            name: candidates[candidate].name.clone(),
            expected_error: covariance[candidate * count + candidate].max(0.0).sqrt(),
            gain: gain / start,
            mover: movers[place],
            moves: movers[place].name(rig).to_string(),
            motion: free[candidate].size_of(place),
            nearest,
            leave_one_out: expectation.leave_one_out(place),
        });
        condition_on(&mut covariance, count, candidate, expectation.noise(&free[candidate]));
        for (open, motions) in open.iter_mut().zip(free) {
            *open &= !motions.same_as(&free[candidate]);
        }
        chosen.push(candidate);
    }
    Ok(suggestions)
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

/// The candidate whose example would take away most of the sum of all variances, and how much.
fn best(
    covariance: &[f64],
    count: usize,
    expectation: &Expectation,
    free: &[Motions],
    open: &[bool],
) -> Option<(usize, f64)> {
    let gain = |c: usize| {
        let own = covariance[c * count + c] + expectation.noise(&free[c]);
        let row = &covariance[c * count..(c + 1) * count];
        if own > 0.0 { row.iter().map(|x| x * x).sum::<f64>() / own } else { 0.0 }
    };
    // Of equal ones the first, whatever the order of comparison.
    (0..count).filter(|&c| open[c]).map(|c| (c, gain(c))).fold(None, |best: Option<(usize, f64)>, next| {
        match best {
            Some(best) if best.1 >= next.1 => Some(best),
            _ => Some(next),
        }
    })
}

/// Covariances (`count × count`) once the value at `pivot` is known up to `noise`.
fn condition_on(covariance: &mut [f64], count: usize, pivot: usize, noise: f64) {
    let row: Vec<f64> = covariance[pivot * count..(pivot + 1) * count].to_vec();
    let own = row[pivot] + noise;
    if own <= 0.0 {
        return;
    }
    for (a, values) in covariance.chunks_exact_mut(count).enumerate() {
        let share = row[a] / own;
        if share != 0.0 {
            values.iter_mut().zip(&row).for_each(|(value, b)| *value -= share * b);
        }
    }
}

fn check(rig: &Rig, candidates: &[NamedPose], params: &SuggestParams) -> Result<(), SuggestError> {
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
    for (what, value, least) in
        [("the length", params.length, f64::MIN_POSITIVE), ("the coupling", params.coupling, 0.0)]
    {
        if !(value.is_finite() && value >= least) {
            return Err(SuggestError::Parameter { what, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{Matrix, invert};

    /// Conditioning one by one is the Schur complement, computed at once.
    #[test]
    fn knowing_values_one_by_one_is_the_schur_complement() {
        let count = 5;
        let at = |i: usize| 0.7 * i as f64 + 0.1 * (i * i) as f64;
        let value = |a: usize, b: usize| (-(at(a) - at(b)).powi(2)).exp() + if a == b { 0.3 } else { 0.0 };
        let full: Vec<f64> = (0..count * count).map(|k| value(k / count, k % count)).collect();
        let noise = [0.02, 0.05];
        let mut found = full.clone();
        condition_on(&mut found, count, 0, noise[0]);
        condition_on(&mut found, count, 1, noise[1]);
        let known = Matrix::from_fn(2, 2, |a, b| value(a, b) + if a == b { noise[a] } else { 0.0 });
        let inverse = invert(&known).matrix;
        for a in 2..count {
            for b in 2..count {
                let mut expected = value(a, b);
                for i in 0..2 {
                    for j in 0..2 {
                        expected -= value(a, i) * inverse[(i, j)] * value(j, b);
                    }
                }
                assert!((found[a * count + b] - expected).abs() < 1e-12, "{a}, {b}");
            }
        }
    }
}
