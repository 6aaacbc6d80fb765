//! Displacing and skinning eight vertices at a time.
//!
//! One generic kernel serves all machines: compiled as it is, and once more inside a function that
//! may use AVX2 and fused multiplication. Loops instead of `map` and `from_fn`: closures inside functions
//! of the standard library are compiled without these instructions.
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use super::blend::{Blend, DualQuaternionBlend, LinearBlend};
use super::frame::FrameData;
#[cfg(target_arch = "x86_64")]
use super::lanes::Avx2;
use super::lanes::{Block, Lanes, Machine, Portable, Work, dot};
use super::storage::{Fields, Stored, StoredBlock};
use super::{Group, Tables};
use crate::skinning::BaseSkinning;

/// Everything a kernel reads.
pub(super) struct Input<'a, T> {
    pub tables: &'a Tables,
    pub fields: &'a Fields<T>,
    pub frame: &'a FrameData,
    pub skinning: BaseSkinning,
}

/// Where consecutive groups go: positions, normals, tangents (each `block`, from the first group's first
/// block; empty if not wanted, and tangents only with normals).
pub(super) type Shape<'a> = [&'a mut [Block]; 3];

/// Skins consecutive groups with plain instructions. `joints` is room for the joints of the largest
/// group.
pub(super) fn portable<T: Stored>(
    input: &Input<T>,
    groups: &[Group],
    joints: &mut [[Lanes; 12]],
    shape: Shape,
) {
    run::<T, Portable>(input, groups, joints, shape);
}

/// The same with AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn avx2<T: Stored>(input: &Input<T>, groups: &[Group], joints: &mut [[Lanes; 12]], shape: Shape) {
    run::<T, Avx2>(input, groups, joints, shape);
}

#[inline(always)]
fn run<T: Stored, M: Machine>(
    input: &Input<T>,
    groups: &[Group],
    joints: &mut [[Lanes; 12]],
    mut shape: Shape,
) {
    let Input { tables, frame, .. } = *input;
    let is_dual = input.skinning == BaseSkinning::DualQuaternion;
    let mut prepared = &[][..];
    for group in groups {
        let own;
        (own, shape) = split(shape, group.block_count);
        let movers = group.movers.of(&tables.movers);
        let weight_count = (movers.len() - tables.unweighted) * group.block_count;
        let weights = &tables.weights[group.first_weight..][..weight_count];
        // Groups with the same joints stand together.
        let is_new = movers != prepared;
        prepared = movers;
        if is_dual {
            if is_new {
                DualQuaternionBlend::prepare(frame, movers, joints);
            }
            let heaviest = &tables.heaviest[group.first_block..][..group.block_count];
            let towards_pivot = &joints[..movers.len()];
            let blend = DualQuaternionBlend { frame, movers, towards_pivot, weights, heaviest };
            group_of::<T, _, M>(input, group, &blend, own);
        } else {
            if is_new {
                LinearBlend::prepare::<M>(frame, movers, joints);
            }
            group_of::<T, _, M>(input, group, &LinearBlend::new(frame, movers, weights, joints), own);
        }
    }
}

/// The first `blocks` of all that is wanted, and the rest.
#[inline(always)]
fn split(shape: Shape, blocks: usize) -> (Shape, Shape) {
    let [positions, normals, tangents] = shape;
    let (a, x) = positions.split_at_mut(blocks.min(positions.len()));
    let (b, y) = normals.split_at_mut(blocks.min(normals.len()));
    let (c, z) = tangents.split_at_mut(blocks.min(tangents.len()));
    ([a, b, c], [x, y, z])
}

/// Only positions, normals too, tangents too: three loops, since what only one of them needs would take
/// registers from the others.
#[inline(always)]
fn group_of<T: Stored, B: Blend<M>, M: Machine>(input: &Input<T>, group: &Group, blend: &B, shape: Shape) {
    let [positions, normals, tangents] = shape;
    if normals.is_empty() {
        M::run(Blocks { input, group, blend, shape: [&mut *positions] });
    } else if tangents.is_empty() {
        M::run(Blocks { input, group, blend, shape: [&mut *positions, normals] });
    } else {
        M::run(Blocks { input, group, blend, shape: [&mut *positions, normals, tangents] });
    }
    if group.after.count > 0 {
        add_after::<T, M>(input, group, positions);
    }
}

/// All blocks of a group, displaced and skinned: the first `PARTS` of positions, normals and tangents.
struct Blocks<'a, T, B, const PARTS: usize> {
    input: &'a Input<'a, T>,
    group: &'a Group,
    blend: &'a B,
    shape: [&'a mut [Block]; PARTS],
}

impl<T: Stored, M: Machine, B: Blend<M>, const PARTS: usize> Work<M> for Blocks<'_, T, B, PARTS> {
    #[inline(always)]
    fn run(self) {
        blocks::<T, B, M, PARTS>(self.input, self.group, self.blend, self.shape);
    }
}

#[inline(always)]
fn blocks<T: Stored, B: Blend<M>, M: Machine, const PARTS: usize>(
    input: &Input<T>,
    group: &Group,
    blend: &B,
    mut shape: [&mut [Block]; PARTS],
) {
    let Input { tables, frame, fields, .. } = *input;
    let count = group.block_count;
    let rest = &tables.positions[group.first_block..][..count];
    let rest_normals = if PARTS > 1 { &tables.normals[group.first_block..][..count] } else { &[] };
    let rest_tangents = if PARTS > 2 { &tables.tangents[group.first_block..][..count] } else { &[] };
    let moving = group.before.of(&frame.before);
    let turning = group.turning.of(&frame.turning);
    let stored = &fields.before[group.first_before..][..count * moving.len()];
    let stored_turning = &fields.turning[group.first_turning..][..count * turning.len()];
    for part in &mut shape {
        *part = &mut std::mem::take(part)[..count];
    }
    for block in 0..count {
        let own = &stored[block * moving.len()..][..moving.len()];
        let position = displaced::<T, M>(load::<M>(&rest[block]), moving, own);
        let none = [M::splat(0.0); 3];
        let mut normal = none;
        if PARTS > 1 {
            let own = &stored_turning[block * turning.len()..][..turning.len()];
            normal = displaced::<T, M>(load::<M>(&rest_normals[block]), turning, own);
        }
        let map = blend.map(block);
        let (mut turned, mut stretched) = (none, none);
        for r in 0..3 {
            let [a, b, c, shift] = [map[4 * r], map[4 * r + 1], map[4 * r + 2], map[4 * r + 3]];
            let [x, y, z] = position;
            let posed = M::times_plus(a, x, M::times_plus(b, y, M::times_plus(c, z, shift)));
            M::store(posed, &mut shape[0][block].0[r]);
            if PARTS > 1 {
                turned[r] = dot::<M>([a, b, c], normal);
            }
            if PARTS > 2 {
                stretched[r] = dot::<M>([a, b, c], load::<M>(&rest_tangents[block]));
            }
        }
        if PARTS > 1 {
            let normal = unit::<M>(turned, 2);
            store::<M>(normal, &mut shape[1][block]);
            if PARTS > 2 {
                // What lies along the normal is taken away.
                let along = dot::<M>(normal, stretched);
                let mut across = stretched;
                for r in 0..3 {
                    across[r] = M::minus(stretched[r], M::times(along, normal[r]));
                }
                store::<M>(unit::<M>(across, 0), &mut shape[2][block]);
            }
        }
    }
}

#[inline(always)]
fn load<M: Machine>(block: &Block) -> [M::Vector; 3] {
    [M::load(&block.0[0]), M::load(&block.0[1]), M::load(&block.0[2])]
}

#[inline(always)]
fn store<M: Machine>(vectors: [M::Vector; 3], to: &mut Block) {
    for axis in 0..3 {
        M::store(vectors[axis], &mut to.0[axis]);
    }
}

/// Vectors of length one; the axis `without` where there is no direction.
#[inline(always)]
fn unit<M: Machine>(vectors: [M::Vector; 3], without: usize) -> [M::Vector; 3] {
    let squared = dot::<M>(vectors, vectors);
    let inverse = M::inverse_root(squared);
    let mut unit = vectors;
    for axis in 0..3 {
        let otherwise = M::splat(if axis == without { 1.0 } else { 0.0 });
        unit[axis] = M::where_above(squared, SMALLEST_SQUARE, M::times(vectors[axis], inverse), otherwise);
    }
    unit
}

/// Vectors shorter than the root of this have no direction in `f32`; normals become z, tangents x.
pub(super) const SMALLEST_SQUARE: f32 = 1e-36;

/// Adds coordinates times displacements.
#[inline(always)]
fn displaced<T: Stored, M: Machine>(
    mut sum: [M::Vector; 3],
    coordinates: &[f32],
    stored: &[StoredBlock<T>],
) -> [M::Vector; 3] {
    for (&coordinate, block) in coordinates.iter().zip(stored) {
        let coordinate = M::splat(coordinate);
        for axis in 0..3 {
            sum[axis] = M::times_plus(T::decode_lanes::<M>(&block.0[axis]), coordinate, sum[axis]);
        }
    }
    sum
}

/// Adds corrections after skinning to the positions of a group.
#[inline(always)]
fn add_after<T: Stored, M: Machine>(input: &Input<T>, group: &Group, positions: &mut [Block]) {
    let mut stored = &input.fields.after[group.first_after..];
    for position in positions {
        let mut coordinates = group.after.of(&input.frame.after);
        let mut sum = load::<M>(position);
        for part in group.after_parts.of(&input.tables.after_parts) {
            let (own, others) = coordinates.split_at(part.components as usize);
            let [x, y, z] = displaced::<T, M>([M::splat(0.0); 3], own, stored);
            let rotation = &input.frame.rotations[part.frame as usize];
            for r in 0..3 {
                let row = &rotation[3 * r..3 * r + 3];
                for (&factor, along) in row.iter().zip([x, y, z]) {
                    sum[r] = M::times_plus(M::splat(factor), along, sum[r]);
                }
            }
            coordinates = others;
            stored = &stored[own.len()..];
        }
        store::<M>(sum, position);
    }
}
