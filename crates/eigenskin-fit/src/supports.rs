//! Joint supports: the part of the skin that a joint visibly deforms (EigenSkin §2.2, Figure 3).

use std::sync::Arc;

use eigenskin_core::mover::{Mover, moved_by_poses};
use eigenskin_core::progress::{Cancelled, Progress};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::displacements::fields::Tile;
use crate::displacements::tall_matrix::TallMatrix;
use crate::displacements::{Observations, RestDisplacements, TileError};

/// How supports are cut.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SupportParams {
    /// points whose displacement exceeds this share of the joint's largest; default `None`: the
    /// paper's 0.04, or more where that makes better use of a limit per vertex
    pub threshold: Option<f64>,
    /// how the support ends; default smooth
    pub border: Border,
}

impl Default for SupportParams {
    fn default() -> Self {
        Self { threshold: None, border: Border::Smooth }
    }
}

/// How a support ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Border {
    /// the paper's: all or nothing, which leaves a step of the threshold's height in the skin
    Hard,
    /// grows outward: full above the threshold, falling smoothly to nothing at half of it
    Smooth,
}

/// Where supports end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    /// share of the joint's largest displacement
    pub threshold: f64,
    /// how the support ends there
    pub border: Border,
}

/// Where one joint (or control) acts, and where it was observed.
#[derive(Debug, Clone)]
pub(crate) struct JointSupport {
    /// the joint or control
    pub mover: Mover,
    /// points of the skin, rising (S_j)
    pub points: Vec<u32>,
    /// `support`: 1 inside, falling to 0 at a smooth border
    pub mask: Vec<f32>,
    /// examples it was observed in (P_j): those that move it alone, else all that move it
    pub examples: Vec<usize>,
    /// how displacements are divided among joints that were moved together; none where it moves alone
    sharing: Option<Sharing>,
}

impl JointSupport {
    /// The share of a displacement that is its doing, masked: by place among its examples and among its
    /// points.
    pub fn factor(&self, example: usize, place: usize) -> f64 {
        let share = self.sharing.as_ref().map_or(1.0, |s| s.share(example, self.points[place] as usize));
        f64::from(self.mask[place] * share)
    }

    /// What it was observed to do (A_j), `3·support × example`, as `consumer` needs it.
    pub fn with_displacements<R>(
        &self,
        displacements: &RestDisplacements,
        consumer: impl FnOnce(&TallMatrix<'_>) -> R,
    ) -> R {
        consumer(&TallMatrix {
            fields: &displacements.positions,
            examples: &self.examples,
            points: &self.points,
            factor: &|example, place| self.factor(example, place),
            axis: None,
        })
    }
}

/// Which joints and controls each example moves.
#[derive(Debug)]
pub(crate) struct Moved {
    /// what can move
    pub movers: Vec<Mover>,
    /// `example` → rising indices into the movers
    pub by_example: Vec<Vec<usize>>,
}

impl Moved {
    /// In observed poses.
    pub fn of(seen: &Observations) -> Self {
        let movers = Mover::all(&seen.rig);
        let by_example = moved_by_poses(&seen.rig, &seen.poses, &movers);
        Self { movers, by_example }
    }
}

/// The support of every mover that some example moves.
///
/// A mover that is never seen alone gets its share of the examples that move it with others:
/// each point's displacement is divided among the moved joints by nearness.
pub(crate) fn joint_supports(
    seen: &Observations,
    Moved { movers, by_example: moved }: &Moved,
    cut: Cut,
    progress: &dyn Progress,
) -> Result<Vec<JointSupport>, TileError> {
    let nearness = Arc::new(Nearness::new(seen, movers, moved, progress)?);
    let support = |mover: usize| {
        let alone: Vec<usize> = (0..seen.len()).filter(|&e| moved[e] == [mover]).collect();
        let (examples, sharing) = if alone.is_empty() {
            let examples: Vec<usize> = (0..seen.len()).filter(|&e| moved[e].contains(&mover)).collect();
            let sharing = Sharing::new(nearness.clone(), mover, &examples, moved);
            (examples, Some(sharing))
        } else {
            (alone, None)
        };
        let is_seen = !examples.is_empty();
        is_seen.then(|| cut_support(movers[mover], examples, sharing, &seen.displacements, cut, progress))
    };
    (0..movers.len()).into_par_iter().filter_map(support).collect()
}

fn cut_support(
    mover: Mover,
    examples: Vec<usize>,
    sharing: Option<Sharing>,
    displacements: &RestDisplacements,
    cut: Cut,
    progress: &dyn Progress,
) -> Result<JointSupport, TileError> {
    let mut largest_at: Vec<f32> = Vec::with_capacity(displacements.points.group_count());
    let of_tile = |tile: &Tile<'_>| -> Vec<f32> {
        let mut largest_at = vec![0f32; tile.places.len()];
        for example in 0..examples.len() {
            let observed = largest_at.iter_mut().zip(tile.row(example)).zip(tile.places.clone());
            for ((largest, u), point) in observed {
                let share = sharing.as_ref().map_or(1.0, |sharing| sharing.share(example, point));
                *largest = largest.max(u.length() * share);
            }
        }
        largest_at
    };
    displacements.positions.fold_tiles(
        &examples,
        8192,
        |_| true,
        of_tile,
        |part| largest_at.extend(part),
        progress,
    )?;
    let largest = largest_at.iter().copied().fold(0.0, f32::max);
    let (mut points, mut mask) = (Vec::new(), Vec::new());
    for (point, &here) in largest_at.iter().enumerate() {
        let amount = border_mask(f64::from(here), f64::from(largest), cut);
        if amount > 0.0 {
            points.push(point as u32);
            mask.push(amount as f32);
        }
    }
    Ok(JointSupport { mover, points, mask, examples, sharing })
}

/// 1 inside the support, 0 outside.
fn border_mask(displacement: f64, largest: f64, cut: Cut) -> f64 {
    if displacement <= 0.0 {
        return 0.0;
    }
    let limit = cut.threshold * largest;
    match cut.border {
        Border::Hard => f64::from(u8::from(displacement > limit)),
        Border::Smooth if limit <= 0.0 => 1.0,
        Border::Smooth => {
            let t = (2.0 * displacement / limit - 1.0).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        }
    }
}

/// How near each point of the skin is to each mover, to divide displacements among joints that were
/// moved together.
#[derive(Debug)]
struct Nearness {
    /// `mover × point`: logarithms
    affinities: Vec<Vec<f64>>,
    /// sets of movers that examples move
    sets: Vec<Vec<usize>>,
    /// `set × point`: logarithm of the sum of their affinities; empty where that would take much memory
    totals: Vec<Vec<f64>>,
}

/// Entries of the table of totals at most.
const MOST_TOTALS: usize = 1 << 23;

impl Nearness {
    fn new(
        seen: &Observations,
        movers: &[Mover],
        moved: &[Vec<usize>],
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let (rig, points) = (&seen.rig, &seen.displacements.points);
        let skeleton = rig.skeleton();
        let position = |joint| skeleton.rest_position(joint);
        // A joint reaches about as far as its neighbours are away.
        let reach = |joint: usize| {
            let neighbours = skeleton.joints()[joint].reference.into_iter().chain(skeleton.children(joint));
            let distances: Vec<f64> =
                neighbours.map(|n| position(n).distance(position(joint))).filter(|&d| d > 0.0).collect();
            let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
            if mean > 0.0 { 0.5 * mean } else { 0.1 * rig.mesh().size() }
        };
        let at = |point: usize| rig.mesh().positions()[points.first_vertex(point)].as_dvec3();
        let affinities = movers.par_iter().map(|mover| match *mover {
            Mover::Joint(joint) => {
                let (position, reach) = (position(joint), reach(joint));
                let affinity = |point| -0.5 * (at(point).distance(position) / reach).powi(2);
                (0..points.group_count()).map(affinity).collect()
            }
            // Controls are equally near everywhere.
            Mover::Control(_) => vec![0.0; points.group_count()],
        });
        let mut sets = moved.to_vec();
        sets.sort_unstable();
        sets.dedup();
        let mut nearness = Self { affinities: affinities.collect(), sets, totals: Vec::new() };
        if nearness.sets.len() * points.group_count() <= MOST_TOTALS {
            let totals = (0..nearness.sets.len()).into_par_iter().map(|set| {
                progress.doing("finding supports")?;
                Ok((0..points.group_count()).map(|point| nearness.total_of(set, point)).collect::<Vec<f64>>())
            });
            nearness.totals = totals.collect::<Result<_, Cancelled>>()?;
        }
        Ok(nearness)
    }

    fn total_of(&self, set: usize, point: usize) -> f64 {
        let affinities = || self.sets[set].iter().map(|&mover| self.affinities[mover][point]);
        let nearest = affinities().fold(f64::MIN, f64::max);
        nearest + affinities().map(|affinity| (affinity - nearest).exp()).sum::<f64>().ln()
    }
}

/// One mover's share of what it does together with others.
#[derive(Debug, Clone)]
struct Sharing {
    nearness: Arc<Nearness>,
    mover: usize,
    /// `example` of the support → index of the set of movers
    set_of: Vec<u32>,
}

impl Sharing {
    fn new(nearness: Arc<Nearness>, mover: usize, examples: &[usize], moved: &[Vec<usize>]) -> Self {
        let set_of = |&e: &usize| nearness.sets.partition_point(|set| *set < moved[e]) as u32;
        let set_of = examples.iter().map(set_of).collect();
        Self { nearness, mover, set_of }
    }

    /// The share of a point's displacement that is the mover's doing, by place among its examples.
    fn share(&self, example: usize, point: usize) -> f32 {
        let set = self.set_of[example] as usize;
        let known = self.nearness.totals.get(set).map(|totals| totals[point]);
        let total = known.unwrap_or_else(|| self.nearness.total_of(set, point));
        (self.nearness.affinities[self.mover][point] - total).exp() as f32
    }
}
