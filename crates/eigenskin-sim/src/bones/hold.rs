//! Which points of the lattice the bones hold.

use eigenskin_core::glam::DVec3;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;
use rayon::prelude::*;

use super::{Bone, BoneParams, BonePlan, BoneWarning, HeldPoint};
use crate::embedding::Embedding;
use crate::lattice::voxels::{bits, voxel_centre};
use crate::lattice::{Embedded, Filling};
use crate::tissue::FILLING;

/// What the bones hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// the points, by rising cells; all points of a cell are held by one group
    pub points: Vec<HeldPoint>,
    /// `group` → number of its points
    pub points_of_group: Vec<usize>,
    /// what is doubtful
    pub warnings: Vec<BoneWarning>,
}

/// One group's wish to hold a cell: points in lattice space.
struct Claim {
    group: usize,
    points: Vec<DVec3>,
}

/// `cell` → claims by rising groups.
type Claims = Vec<Vec<Claim>>;

/// Fewer points than this do not hold a bone.
const FEWEST_POINTS: usize = 4;

/// Finds the points that the bones of a plan hold.
pub fn hold(
    rig: &Rig,
    plan: &BonePlan,
    filling: &Filling,
    embedding: &Embedding,
    params: &BoneParams,
    progress: &dyn Progress,
) -> Result<Held, Cancelled> {
    let mut claims: Claims = (0..filling.cubes.len())
        .into_par_iter()
        .map(|cell| {
            progress.doing(FILLING)?;
            Ok(claims_of_cell(plan, filling, cell, params.radius_share))
        })
        .collect::<Result<_, Cancelled>>()?;
    claim_for_thin_bones(plan, filling, params.radius_share, &mut claims);
    let holders = settle(&claims, plan.groups.len());

    let mut held = Held { points: Vec::new(), points_of_group: vec![0; plan.groups.len()], warnings: vec![] };
    for (cell, holder) in holders.iter().enumerate() {
        if let Some(claim) = holder.map(|index| &claims[cell][index]) {
            let embedded = |&rest: &DVec3| (filling.lattice.embed_straight(cell, rest), rest);
            held.add(claim.group, claim.points.iter().map(embedded).collect(), params.stiffness);
        }
    }
    hold_by_skin(rig, plan, filling, embedding, params.stiffness, &mut held);
    hold_loose_pieces(rig, plan, filling, embedding, params.stiffness, &mut held);
    held.points.sort_by_key(|point| point.embedded.cell);
    Ok(held)
}

impl Held {
    /// Points of one cell, which share its stiffness.
    fn add(&mut self, group: usize, points: Vec<(Embedded, DVec3)>, stiffness: f64) {
        let stiffness = stiffness / points.len() as f64;
        self.points_of_group[group] += points.len();
        let held = |(embedded, rest)| HeldPoint { embedded, rest, group, stiffness };
        self.points.extend(points.into_iter().map(held));
    }

    /// `cell` → whether it is held.
    fn cells(&self, filling: &Filling) -> Vec<bool> {
        let mut is_held = vec![false; filling.cubes.len()];
        for point in &self.points {
            is_held[point.embedded.cell as usize] = true;
        }
        is_held
    }
}

/// The sub-voxels of a cell that lie within bones.
fn claims_of_cell(plan: &BonePlan, filling: &Filling, cell: usize, radius_share: f64) -> Vec<Claim> {
    let lattice = &filling.lattice;
    let cube = filling.cubes[cell].as_dvec3();
    let middle = lattice.mesh_from_lattice(cube + 0.5);
    let mut claims: Vec<Claim> = Vec::new();
    for bone in &plan.bones {
        let thickest = bone.depths.iter().copied().fold(0.0, f64::max) * radius_share;
        let on_bone = bone.from.lerp(bone.to, share_along(bone, middle).clamp(0.0, 1.0));
        if on_bone.distance(middle) > thickest + 0.87 * lattice.edge {
            continue;
        }
        let points = bits(filling.voxels[cell])
            .map(|bit| cube + voxel_centre(bit))
            .filter(|&point| is_within(bone, lattice.mesh_from_lattice(point), radius_share));
        add_claim(&mut claims, bone.group, points.collect());
    }
    claims
}

/// Adds points to the claim of a group, each once.
fn add_claim(claims: &mut Vec<Claim>, group: usize, points: Vec<DVec3>) {
    if points.is_empty() {
        return;
    }
    match claims.binary_search_by_key(&group, |claim| claim.group) {
        Ok(index) => {
            for point in points {
                if !claims[index].points.contains(&point) {
                    claims[index].points.push(point);
                }
            }
        }
        Err(index) => claims.insert(index, Claim { group, points }),
    }
}

/// Share of the way along a bone at which a point of mesh space is nearest to its line.
fn share_along(bone: &Bone, point: DVec3) -> f64 {
    let along = bone.to - bone.from;
    (point - bone.from).dot(along) / along.length_squared()
}

/// Whether a point of mesh space lies within a bone: flat where it leaves a gap, round elsewhere.
fn is_within(bone: &Bone, point: DVec3, radius_share: f64) -> bool {
    let share = share_along(bone, point);
    let (first, last) = held_range(bone);
    if (bone.gap_from > 0.0 && share < first) || (bone.gap_to > 0.0 && share > last) {
        return false;
    }
    let share = share.clamp(first, last);
    point.distance(bone.from.lerp(bone.to, share)) < radius_share * bone.depth_at(share)
}

/// Where a bone holds: from and to which share of its length.
fn held_range(bone: &Bone) -> (f64, f64) {
    let length = bone.length();
    (bone.gap_from / length, 1.0 - bone.gap_to / length)
}

/// Bones too thin for sub-voxels claim points around their line instead.
fn claim_for_thin_bones(plan: &BonePlan, filling: &Filling, radius_share: f64, claims: &mut Claims) {
    let mut points_of_group = vec![0; plan.groups.len()];
    for claim in claims.iter().flatten() {
        points_of_group[claim.group] += claim.points.len();
    }
    let lattice = &filling.lattice;
    for bone in plan.bones.iter().filter(|bone| points_of_group[bone.group] < FEWEST_POINTS) {
        let (first, last) = held_range(bone);
        let steps = (8.0 * (last - first) * bone.length() / lattice.edge).ceil().clamp(2.0, 1000.0) as usize;
        let (side, other) = (bone.to - bone.from).normalize().any_orthonormal_pair();
        for step in 0..=steps {
            let share = first + (last - first) * step as f64 / steps as f64;
            let radius = radius_share * bone.depth_at(share);
            let on_bone = bone.from.lerp(bone.to, share);
            if radius <= 0.0 {
                continue;
            }
            let cell = filling.nearest_cell(lattice.lattice_from_mesh(on_bone));
            // Around the line, since points on a line cannot pass on how the bone twists.
            let around =
                [side, other, -side, -other].map(|d| lattice.lattice_from_mesh(on_bone + radius * d));
            add_claim(&mut claims[cell], bone.group, around.to_vec());
        }
    }
}

/// `cell` → index of the claim that wins: the one with most points, then that of the later group,
/// which is the finer one where bones lie upon each other. A group that would be left with nothing
/// gets its best cell from one that has others.
fn settle(claims: &Claims, group_count: usize) -> Vec<Option<usize>> {
    let most_points = |claims: &Vec<Claim>| {
        (0..claims.len()).max_by_key(|&index| (claims[index].points.len(), claims[index].group))
    };
    let mut holders: Vec<Option<usize>> = claims.iter().map(most_points).collect();
    let mut cells_of_group = vec![0usize; group_count];
    for (cell, holder) in holders.iter().enumerate() {
        if let Some(index) = holder {
            cells_of_group[claims[cell][*index].group] += 1;
        }
    }
    for group in 0..group_count {
        if cells_of_group[group] > 0 {
            continue;
        }
        let wish = |cell: usize| {
            let index = claims[cell].binary_search_by_key(&group, |claim| claim.group).ok()?;
            let holder = holders[cell]?;
            (cells_of_group[claims[cell][holder].group] > 1).then_some((cell, index))
        };
        let best = (0..claims.len())
            .filter_map(wish)
            .max_by_key(|&(cell, index)| (claims[cell][index].points.len(), std::cmp::Reverse(cell)));
        if let Some((cell, index)) = best {
            if let Some(holder) = holders[cell] {
                cells_of_group[claims[cell][holder].group] -= 1;
            }
            cells_of_group[group] += 1;
            holders[cell] = Some(index);
        }
    }
    holders
}

/// Groups with skin but no bone below it hold the vertices that follow them most.
fn hold_by_skin(
    rig: &Rig,
    plan: &BonePlan,
    filling: &Filling,
    embedding: &Embedding,
    stiffness: f64,
    held: &mut Held,
) {
    for group in (0..plan.groups.len()).filter(|&group| plan.has_skin[group]) {
        if held.points_of_group[group] > 0 {
            continue;
        }
        let weights: Vec<f64> =
            (0..rig.vertex_count()).map(|vertex| group_weight(rig, plan, vertex, group)).collect();
        let most = weights.iter().copied().fold(0.0, f64::max);
        let taken = held.cells(filling);
        let mut points: Vec<Embedded> = (0..weights.len())
            .filter(|&vertex| weights[vertex] > 0.9 * most)
            .map(|vertex| embedding.vertices[vertex])
            .filter(|embedded| !taken[embedded.cell as usize])
            .collect();
        points.sort_by_key(|embedded| embedded.cell);
        let name = rig.skeleton().joints()[plan.groups[group].leader].name.clone();
        held.warnings.push(if points.is_empty() {
            BoneWarning::HoldsNothing { joint: name }
        } else {
            BoneWarning::HeldBySkin { joint: name, points: points.len() }
        });
        for of_cell in points.chunk_by(|a, b| a.cell == b.cell) {
            let rest = |e: &Embedded| (*e, filling.lattice.at(e, &filling.lattice.nodes));
            held.add(group, of_cell.iter().map(rest).collect(), stiffness);
        }
    }
}

fn group_weight(rig: &Rig, plan: &BonePlan, vertex: usize, group: usize) -> f64 {
    let of_group = rig.weights().of(vertex).iter().filter(|i| plan.group_of_joint[i.joint as usize] == group);
    of_group.map(|influence| f64::from(influence.weight)).sum()
}

/// Pieces of the lattice without a bone would float away: the group that their skin follows most
/// holds all of them.
fn hold_loose_pieces(
    rig: &Rig,
    plan: &BonePlan,
    filling: &Filling,
    embedding: &Embedding,
    stiffness: f64,
    held: &mut Held,
) {
    let mut is_held = vec![false; filling.piece_count];
    for point in &held.points {
        is_held[filling.piece_of_cell[point.embedded.cell as usize] as usize] = true;
    }
    for piece in (0..filling.piece_count).filter(|&piece| !is_held[piece]) {
        let in_piece = |cell: usize| filling.piece_of_cell[cell] as usize == piece;
        let mut weights = vec![0.0; plan.groups.len()];
        for (vertex, embedded) in embedding.vertices.iter().enumerate() {
            if in_piece(embedded.cell as usize) {
                for influence in rig.weights().of(vertex) {
                    weights[plan.group_of_joint[influence.joint as usize]] += f64::from(influence.weight);
                }
            }
        }
        let group = (0..weights.len()).fold(0, |best, g| if weights[g] > weights[best] { g } else { best });
        let cells: Vec<usize> = (0..filling.cubes.len()).filter(|&cell| in_piece(cell)).collect();
        for &cell in &cells {
            let cube = filling.cubes[cell].as_dvec3();
            let points = bits(filling.voxels[cell]).map(|bit| cube + voxel_centre(bit));
            let embedded = points.map(|rest| (filling.lattice.embed_straight(cell, rest), rest));
            held.add(group, embedded.collect(), stiffness);
        }
        let joint = rig.skeleton().joints()[plan.groups[group].leader].name.clone();
        held.warnings.push(BoneWarning::LoosePiece { cells: cells.len(), joint });
    }
}
