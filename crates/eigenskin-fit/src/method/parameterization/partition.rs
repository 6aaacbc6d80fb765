//! Parts of the skin with masks that sum to one everywhere.
//!
//! The pieces are what single joints hold (their skin weights), or, where a rig has no joints,
//! neighbourhoods of points spread over the skin. The piece in which least happens joins its closest
//! neighbour, again and again: this gives partitions from many parts down to one. Masks are as
//! smooth as skin weights are; where these jump (rigid parts), they are spread over the mesh first.

use std::collections::BTreeMap;

use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use glam::Vec3;

use crate::displacements::fields::Tile;
use crate::displacements::{RestDisplacements, TileError};

/// One part of the skin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// for people
    pub name: String,
    /// joints whose skin this is, rising; empty on rigs without joints
    pub joints: Vec<usize>,
    /// points of the skin, rising
    pub points: Vec<u32>,
    /// `point of the part`: its share of the skin there
    pub mask: Vec<f32>,
}

/// Numbers of parts that are tried, from the whole body on.
pub(super) const COUNTS: [usize; 7] = [1, 2, 4, 6, 10, 16, 24];
/// Pieces of the skin of a rig without joints.
const SEEDS: usize = 12;
/// Masks change by no more than this along an edge of the mesh.
const STEEPEST: f32 = 0.25;
/// Rounds of spreading at most.
const ROUNDS: usize = 60;
/// Shares below this are left to the other parts: every overlap costs signals.
const LEAST_SHARE: f32 = 0.04;

/// Everything partitions are made of.
pub(super) struct Pieces {
    names: Vec<String>,
    has_joints: bool,
    /// `point` → (piece, share), shares sum to 1
    shares: Vec<Vec<(usize, f32)>>,
    /// `point` → its neighbours on the mesh
    neighbours: Vec<Vec<u32>>,
    /// groups of pieces by their number, from one group on
    groupings: BTreeMap<usize, Vec<Vec<usize>>>,
}

impl Pieces {
    pub fn new(
        rig: &Rig,
        displacements: &RestDisplacements,
        progress: &dyn Progress,
    ) -> Result<Self, TileError> {
        let points = &displacements.points;
        let has_joints = rig.skeleton().joint_count() > 0;
        let first = |point: usize| points.first_vertex(point);
        let (names, shares) = if has_joints {
            let shares = (0..points.group_count())
                .map(|p| rig.weights().of(first(p)).iter().map(|i| (i.joint as usize, i.weight)).collect())
                .collect();
            (rig.skeleton().joints().iter().map(|joint| joint.name.clone()).collect(), shares)
        } else {
            let at: Vec<Vec3> = (0..points.group_count()).map(|p| rig.mesh().positions()[first(p)]).collect();
            let shares = shares_by_distance(&at, SEEDS);
            ((1..=SEEDS).map(|index| format!("region {index}")).collect::<Vec<String>>(), shares)
        };
        let neighbours = points.neighbours(rig.mesh().triangles());
        let mut energies: Vec<f64> = Vec::with_capacity(points.group_count());
        let all: Vec<usize> = (0..displacements.positions.example_count()).collect();
        let of_tile = |tile: &Tile<'_>| {
            let energy = |place: usize| {
                all.iter().map(|&example| f64::from(tile.row(example)[place].length_squared())).sum::<f64>()
            };
            (0..tile.places.len()).map(energy).collect::<Vec<f64>>()
        };
        let merge = |part: Vec<f64>| energies.extend(part);
        displacements.positions.fold_tiles(&all, 16_384, |_| true, of_tile, merge, progress)?;
        let groupings = groupings(&shares, &neighbours, &energies, names.len());
        Ok(Self { names, has_joints, shares, neighbours, groupings })
    }

    /// The largest number of parts that does not exceed `wanted`.
    pub fn count_up_to(&self, wanted: usize) -> Option<usize> {
        self.groupings.keys().copied().filter(|&count| count <= wanted).max()
    }

    /// The skin in `count` parts; `None` if it has no so many pieces.
    pub fn parts(&self, count: usize, progress: &dyn Progress) -> Result<Option<Vec<Part>>, Cancelled> {
        let Some(groups) = self.groupings.get(&count) else { return Ok(None) };
        let masks = self.masks(groups, progress)?;
        let named = |group: &Vec<usize>| match (self.groupings.get(&1).map(|all| &all[0]), group.len()) {
            (Some(all), _) if all == group => "whole skin".to_string(),
            (_, 1) => self.names[group[0]].clone(),
            (_, more) => format!("{} and {} more", self.names[group[0]], more - 1),
        };
        let parts = groups.iter().zip(&masks).map(|(group, mask)| {
            let points: Vec<u32> = (0..mask.len() as u32).filter(|&p| mask[p as usize] > 0.0).collect();
            Part {
                name: named(group),
                joints: if self.has_joints { group.clone() } else { Vec::new() },
                mask: points.iter().map(|&p| mask[p as usize]).collect(),
                points,
            }
        });
        Ok(Some(parts.filter(|part| !part.points.is_empty()).collect()))
    }

    /// `group × point`: not negative, the sum over groups is 1.
    fn masks(&self, groups: &[Vec<usize>], progress: &dyn Progress) -> Result<Vec<Vec<f32>>, Cancelled> {
        let mut group_of = vec![0; self.names.len()];
        for (index, group) in groups.iter().enumerate() {
            for &piece in group {
                group_of[piece] = index;
            }
        }
        let mut masks = vec![vec![0f32; self.shares.len()]; groups.len()];
        for (point, shares) in self.shares.iter().enumerate() {
            for &(piece, share) in shares {
                masks[group_of[piece]][point] += share;
            }
        }
        for _ in 0..ROUNDS {
            progress.doing("cutting the skin into parts")?;
            if groups.len() < 2 || masks.iter().all(|mask| self.steepest(mask) <= STEEPEST) {
                break;
            }
            for mask in &mut masks {
                *mask = self.spread(mask);
            }
        }
        for point in 0..self.shares.len() {
            let largest = masks.iter().map(|mask| mask[point]).fold(0f32, f32::max);
            let least = LEAST_SHARE.min(0.5 * largest);
            let total: f32 = masks.iter().map(|mask| (mask[point] - least).max(0.0)).sum();
            for mask in &mut masks {
                mask[point] = (mask[point] - least).max(0.0) / total.max(1e-20);
            }
        }
        Ok(masks)
    }

    fn steepest(&self, mask: &[f32]) -> f32 {
        let steps =
            self.neighbours.iter().zip(mask).flat_map(|(neighbours, here)| {
                neighbours.iter().map(move |&n| (mask[n as usize] - here).abs())
            });
        steps.fold(0f32, f32::max)
    }

    /// Every share becomes the mean of itself and of its neighbours' mean.
    fn spread(&self, mask: &[f32]) -> Vec<f32> {
        let around = |point: usize| {
            let neighbours = &self.neighbours[point];
            let sum: f32 = neighbours.iter().map(|&n| mask[n as usize]).sum();
            if neighbours.is_empty() { mask[point] } else { sum / neighbours.len() as f32 }
        };
        (0..mask.len()).map(|point| 0.5 * (mask[point] + around(point))).collect()
    }
}

/// Groups of pieces, by their number: the one with least energy joins the one it touches most.
fn groupings(
    shares: &[Vec<(usize, f32)>],
    neighbours: &[Vec<u32>],
    energies: &[f64],
    piece_count: usize,
) -> BTreeMap<usize, Vec<Vec<usize>>> {
    let mut energy = vec![0.0; piece_count];
    // `piece × piece`
    let mut contact = vec![0.0; piece_count * piece_count];
    let mut touch = |a: &[(usize, f32)], b: &[(usize, f32)]| {
        for &(a, share_a) in a {
            for &(b, share_b) in b.iter().filter(|&&(b, _)| b != a) {
                contact[a * piece_count + b] += f64::from(share_a * share_b);
            }
        }
    };
    for (point, own) in shares.iter().enumerate() {
        for &(piece, share) in own {
            energy[piece] += f64::from(share * share) * energies[point];
        }
        touch(own, own);
        neighbours[point].iter().for_each(|&n| touch(own, &shares[n as usize]));
    }
    let held: Vec<usize> =
        (0..piece_count).filter(|&piece| shares.iter().any(|s| s.iter().any(|&(p, _)| p == piece))).collect();
    let mut groups: Vec<Vec<usize>> = held.iter().map(|&piece| vec![piece]).collect();
    let mut found = BTreeMap::new();
    while !groups.is_empty() {
        found.insert(groups.len(), groups.clone());
        if groups.len() == 1 {
            break;
        }
        let total = |group: &Vec<usize>| group.iter().map(|&piece| energy[piece]).sum::<f64>();
        let touching = |a: &Vec<usize>, b: &Vec<usize>| -> f64 {
            let pairs = a.iter().flat_map(|&a| b.iter().map(move |&b| a * piece_count + b));
            pairs.map(|pair| contact[pair]).sum()
        };
        let least =
            (0..groups.len()).fold(0, |l, g| if total(&groups[g]) < total(&groups[l]) { g } else { l });
        let small = groups.remove(least);
        let closest = (0..groups.len())
            .fold(0, |c, g| if touching(&groups[g], &small) > touching(&groups[c], &small) { g } else { c });
        groups[closest].extend(small);
        groups[closest].sort_unstable();
    }
    found
}

/// Neighbourhoods of points far from each other: full near their seed, halves half-way between two.
fn shares_by_distance(positions: &[Vec3], seeds: usize) -> Vec<Vec<(usize, f32)>> {
    let mut chosen = vec![0];
    let mut nearest: Vec<f32> = positions.iter().map(|p| p.distance(positions[0])).collect();
    while chosen.len() < seeds {
        let next = (0..nearest.len()).fold(0, |far, p| if nearest[p] > nearest[far] { p } else { far });
        if nearest[next] <= 0.0 {
            break;
        }
        chosen.push(next);
        for (nearest, position) in nearest.iter_mut().zip(positions) {
            *nearest = nearest.min(position.distance(positions[next]));
        }
    }
    // The change from one seed to the next never happens faster than over this distance.
    let softness = 0.5 * nearest.iter().copied().fold(0f32, f32::max);
    let share = |position: &Vec3, seed: usize, nearest: f32| {
        (1.0 - position.distance(positions[seed]) / (2.0 * nearest + softness).max(1e-20)).max(0.0).powi(2)
    };
    positions
        .iter()
        .zip(&nearest)
        .map(|(position, &nearest)| {
            let raw: Vec<f32> = chosen.iter().map(|&seed| share(position, seed, nearest)).collect();
            let total: f32 = raw.iter().sum();
            let kept = raw.iter().enumerate().filter(|(_, share)| **share > 0.0);
            kept.map(|(piece, share)| (piece, share / total)).collect()
        })
        .collect()
}
