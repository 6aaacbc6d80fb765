//! Blending, displacing and skinning eight vertices at a time.
//!
//! One generic kernel serves all machines: compiled as it is, and once more inside a function that
//! may use AVX2 and fused multiplication.
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use super::frame::FrameData;
use super::lanes::{Block, LANES, Lanes, squared_length};
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

/// Skins consecutive groups with plain instructions. Both outputs start with the first group's first
/// block.
pub(super) fn portable<T: Stored>(
    input: &Input<T>,
    groups: &[Group],
    positions: &mut [Block],
    normals: Option<&mut [Block]>,
) {
    run::<T, false>(input, groups, positions, normals);
}

/// The same with AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn avx2<T: Stored>(
    input: &Input<T>,
    groups: &[Group],
    positions: &mut [Block],
    normals: Option<&mut [Block]>,
) {
    run::<T, true>(input, groups, positions, normals);
}

#[inline(always)]
fn run<T: Stored, const FUSED: bool>(
    input: &Input<T>,
    groups: &[Group],
    mut positions: &mut [Block],
    mut normals: Option<&mut [Block]>,
) {
    for group in groups {
        let own;
        (own, positions) = positions.split_at_mut(group.block_count);
        let own_normals = match normals {
            Some(all) => {
                let (own, others) = all.split_at_mut(group.block_count);
                normals = Some(others);
                Some(own)
            }
            None => None,
        };
        let tables = input.tables;
        let joints = group.joints.of(&tables.joints);
        let weights = &tables.weights[group.first_weight..][..joints.len() * group.block_count];
        if input.skinning == BaseSkinning::DualQuaternion {
            let heaviest = &tables.heaviest[group.first_block..][..group.block_count];
            let blend = DualQuaternionBlend { frame: input.frame, joints, weights, heaviest };
            blocks::<T, _, FUSED>(input, group, &blend, own, own_normals);
        } else {
            let matrices = &input.frame.matrices[..];
            // With the number of joints known, matrices are looked up once and loops unrolled.
            match *joints {
                [a] => {
                    let blend = FewJoints::<1>::new(matrices, [a], weights);
                    blocks::<T, _, FUSED>(input, group, &blend, own, own_normals);
                }
                [a, b] => {
                    let blend = FewJoints::<2>::new(matrices, [a, b], weights);
                    blocks::<T, _, FUSED>(input, group, &blend, own, own_normals);
                }
                [a, b, c] => {
                    let blend = FewJoints::<3>::new(matrices, [a, b, c], weights);
                    blocks::<T, _, FUSED>(input, group, &blend, own, own_normals);
                }
                [a, b, c, d] => {
                    let blend = FewJoints::<4>::new(matrices, [a, b, c, d], weights);
                    blocks::<T, _, FUSED>(input, group, &blend, own, own_normals);
                }
                _ => {
                    let blend = ManyJoints { matrices, joints, weights };
                    blocks::<T, _, FUSED>(input, group, &blend, own, own_normals);
                }
            }
        }
        if group.after.count > 0 {
            add_after::<T, FUSED>(input, group, own);
        }
    }
}

/// How joints become one map per vertex.
trait Blend {
    /// Rows of the maps of a block's vertices; blocks are counted within the group.
    fn blend<const FUSED: bool>(&self, block: usize) -> [Lanes; 12];
}

/// Blended matrices of a known number of joints; rigid skinning is the case of one.
struct FewJoints<'a, const JOINTS: usize> {
    matrices: [&'a [Lanes; 12]; JOINTS],
    /// `block`
    weights: &'a [[Lanes; JOINTS]],
}

impl<'a, const JOINTS: usize> FewJoints<'a, JOINTS> {
    #[inline(always)]
    fn new(matrices: &'a [[Lanes; 12]], joints: [u32; JOINTS], weights: &'a [Lanes]) -> Self {
        let matrices = joints.map(|joint| &matrices[joint as usize]);
        Self { matrices, weights: weights.as_chunks().0 }
    }
}

impl<const JOINTS: usize> Blend for FewJoints<'_, JOINTS> {
    #[inline(always)]
    fn blend<const FUSED: bool>(&self, block: usize) -> [Lanes; 12] {
        let weights = &self.weights[block];
        let mut blended = [Lanes::default(); 12];
        for i in 0..12 {
            blended[i] = self.matrices[0][i].times(weights[0]);
        }
        for joint in 1..JOINTS {
            for i in 0..12 {
                blended[i] = self.matrices[joint][i].times_plus::<FUSED>(weights[joint], blended[i]);
            }
        }
        blended
    }
}

/// Blended matrices of any number of joints.
struct ManyJoints<'a> {
    matrices: &'a [[Lanes; 12]],
    joints: &'a [u32],
    /// `block × joint`
    weights: &'a [Lanes],
}

impl Blend for ManyJoints<'_> {
    #[inline(always)]
    fn blend<const FUSED: bool>(&self, block: usize) -> [Lanes; 12] {
        let weights = &self.weights[block * self.joints.len()..];
        let mut blended = [Lanes::default(); 12];
        for (&joint, &weight) in self.joints.iter().zip(weights) {
            let matrix = &self.matrices[joint as usize];
            for i in 0..12 {
                blended[i] = matrix[i].times_plus::<FUSED>(weight, blended[i]);
            }
        }
        blended
    }
}

/// Blended dual quaternions after linearly blended stretches.
struct DualQuaternionBlend<'a> {
    frame: &'a FrameData,
    joints: &'a [u32],
    /// `block × joint`
    weights: &'a [Lanes],
    /// `block`
    heaviest: &'a [[u32; LANES]],
}

impl Blend for DualQuaternionBlend<'_> {
    #[inline(always)]
    fn blend<const FUSED: bool>(&self, block: usize) -> [Lanes; 12] {
        let Self { frame, joints, .. } = *self;
        let weights = &self.weights[block * joints.len()..];
        let heaviest = &self.heaviest[block];
        // Picked by multiplying with ones and zeros: lanes that are filled one by one would undo the
        // vector instructions of all that follows.
        let mut pivot = [Lanes::default(); 8];
        for (slot, &joint) in joints.iter().enumerate() {
            let mut picked = Lanes::default();
            for lane in 0..LANES {
                picked.0[lane] = if heaviest[lane] == slot as u32 { 1.0 } else { 0.0 };
            }
            let quaternion = &frame.dual_quaternions[joint as usize];
            for i in 0..8 {
                pivot[i] = Lanes::splat(quaternion[i]).times_plus::<FUSED>(picked, pivot[i]);
            }
        }
        let mut sum = [Lanes::default(); 8];
        for (&joint, &weight) in joints.iter().zip(weights) {
            let quaternion = &frame.dual_quaternions[joint as usize];
            let mut towards = Lanes::splat(quaternion[0]).times(pivot[0]);
            for i in 1..4 {
                towards = Lanes::splat(quaternion[i]).times_plus::<FUSED>(pivot[i], towards);
            }
            let mut signed = weight;
            for lane in 0..LANES {
                signed.0[lane] = if towards.0[lane] < 0.0 { -weight.0[lane] } else { weight.0[lane] };
            }
            for i in 0..8 {
                sum[i] = Lanes::splat(quaternion[i]).times_plus::<FUSED>(signed, sum[i]);
            }
        }
        let mut squared = sum[0].times(sum[0]);
        for i in 1..4 {
            squared = sum[i].times_plus::<FUSED>(sum[i], squared);
        }
        let inverse = squared.inverse_root();
        for i in 0..8 {
            for lane in 0..LANES {
                // Opposite rotations cancel: then the heaviest joint alone.
                sum[i].0[lane] =
                    if squared.0[lane] > 1e-24 { sum[i].0[lane] * inverse.0[lane] } else { pivot[i].0[lane] };
            }
        }
        let rigid = rows_of(&sum);
        if frame.any_stretch {
            let all = ManyJoints { matrices: &frame.matrices, joints, weights: self.weights };
            let stretch = all.blend::<FUSED>(block);
            after::<FUSED>(&rigid, &stretch)
        } else {
            rigid
        }
    }
}

/// Matrix rows of unit dual quaternions.
#[inline(always)]
fn rows_of(&[x, y, z, w, dx, dy, dz, dw]: &[Lanes; 8]) -> [Lanes; 12] {
    let [x2, y2, z2, w2] = [x.plus(x), y.plus(y), z.plus(z), w.plus(w)];
    let [xx, yy, zz] = [x2.times(x), y2.times(y), z2.times(z)];
    let [xy, xz, yz] = [x2.times(y), x2.times(z), y2.times(z)];
    let [wx, wy, wz] = [w2.times(x), w2.times(y), w2.times(z)];
    let one = Lanes::splat(1.0);
    // Vector part of 2 · dual · conjugate(real).
    let tx = w2.times(dx).minus(x2.times(dw)).plus(y2.times(dz)).minus(z2.times(dy));
    let ty = w2.times(dy).minus(y2.times(dw)).plus(z2.times(dx)).minus(x2.times(dz));
    let tz = w2.times(dz).minus(z2.times(dw)).plus(x2.times(dy)).minus(y2.times(dx));
    [
        one.minus(yy.plus(zz)),
        xy.minus(wz),
        xz.plus(wy),
        tx,
        xy.plus(wz),
        one.minus(xx.plus(zz)),
        yz.minus(wx),
        ty,
        xz.minus(wy),
        yz.plus(wx),
        one.minus(xx.plus(yy)),
        tz,
    ]
}

/// `outer` after `inner`, both as rows.
#[inline(always)]
fn after<const FUSED: bool>(outer: &[Lanes; 12], inner: &[Lanes; 12]) -> [Lanes; 12] {
    let mut rows = [Lanes::default(); 12];
    for r in 0..3 {
        for c in 0..4 {
            let mut sum = if c == 3 { outer[4 * r + 3] } else { Lanes::default() };
            for k in 0..3 {
                sum = outer[4 * r + k].times_plus::<FUSED>(inner[4 * k + c], sum);
            }
            rows[4 * r + c] = sum;
        }
    }
    rows
}

/// Displaces and skins all blocks of a group.
#[inline(always)]
fn blocks<T: Stored, B: Blend, const FUSED: bool>(
    input: &Input<T>,
    group: &Group,
    blend: &B,
    positions: &mut [Block],
    normals: Option<&mut [Block]>,
) {
    let rest = &input.tables.positions[group.first_block..];
    let coordinates = group.before.of(&input.frame.before);
    let mut stored = &input.fields.before[group.first_before..];
    // Two loops: what only normals need would take registers from the other.
    let Some(normals) = normals else {
        for (block, (position, rest)) in positions.iter_mut().zip(rest).enumerate() {
            let map = blend.blend::<FUSED>(block);
            *position = posed::<T, FUSED>(&map, rest, coordinates, stored);
            stored = &stored[coordinates.len()..];
        }
        return;
    };
    let rest_normals = &input.tables.normals[group.first_block..];
    let turning = group.turning.of(&input.frame.turning);
    let mut stored_turning = &input.fields.turning[group.first_turning..];
    let outputs = positions.iter_mut().zip(normals);
    for (block, ((position, normal), (rest, rest_normal))) in
        outputs.zip(rest.iter().zip(rest_normals)).enumerate()
    {
        let map = blend.blend::<FUSED>(block);
        *position = posed::<T, FUSED>(&map, rest, coordinates, stored);
        *normal = turned::<T, FUSED>(&map, rest_normal, turning, stored_turning);
        stored = &stored[coordinates.len()..];
        stored_turning = &stored_turning[turning.len()..];
    }
}

#[inline(always)]
fn posed<T: Stored, const FUSED: bool>(
    map: &[Lanes; 12],
    rest: &Block,
    coordinates: &[f32],
    stored: &[StoredBlock<T>],
) -> Block {
    let [x, y, z] = displaced::<T, FUSED>(rest.0.map(Lanes), coordinates, stored);
    let mut position = Block::default();
    for r in 0..3 {
        let row = &map[4 * r..4 * r + 4];
        position.0[r] = row[0]
            .times_plus::<FUSED>(x, row[1].times_plus::<FUSED>(y, row[2].times_plus::<FUSED>(z, row[3])))
            .0;
    }
    position
}

#[inline(always)]
fn turned<T: Stored, const FUSED: bool>(
    map: &[Lanes; 12],
    rest: &Block,
    coordinates: &[f32],
    stored: &[StoredBlock<T>],
) -> Block {
    let [x, y, z] = displaced::<T, FUSED>(rest.0.map(Lanes), coordinates, stored);
    let mut normal = [Lanes::default(); 3];
    for r in 0..3 {
        let row = &map[4 * r..4 * r + 3];
        normal[r] = row[0].times_plus::<FUSED>(x, row[1].times_plus::<FUSED>(y, row[2].times(z)));
    }
    let squared = squared_length::<FUSED>(normal);
    let inverse = squared.inverse_root();
    for (axis, lanes) in normal.iter_mut().enumerate() {
        let without = if axis == 2 { 1.0 } else { 0.0 };
        for i in 0..LANES {
            lanes.0[i] = if squared.0[i] > SMALLEST_SQUARE { lanes.0[i] * inverse.0[i] } else { without };
        }
    }
    Block(normal.map(|lanes| lanes.0))
}

/// Normals shorter than the root of this have no direction in `f32`; they become z.
pub(super) const SMALLEST_SQUARE: f32 = 1e-36;

/// Adds coordinates times displacements.
#[inline(always)]
fn displaced<T: Stored, const FUSED: bool>(
    mut sum: [Lanes; 3],
    coordinates: &[f32],
    stored: &[StoredBlock<T>],
) -> [Lanes; 3] {
    for (&coordinate, block) in coordinates.iter().zip(stored) {
        let coordinate = Lanes::splat(coordinate);
        for axis in 0..3 {
            sum[axis] = T::decode_lanes(block.0[axis]).times_plus::<FUSED>(coordinate, sum[axis]);
        }
    }
    sum
}

/// Adds corrections after skinning to the positions of a group.
#[inline(always)]
fn add_after<T: Stored, const FUSED: bool>(input: &Input<T>, group: &Group, positions: &mut [Block]) {
    let mut stored = &input.fields.after[group.first_after..];
    for position in positions {
        let mut coordinates = group.after.of(&input.frame.after);
        for part in group.after_parts.of(&input.tables.after_parts) {
            let (own, others) = coordinates.split_at(part.components as usize);
            let [x, y, z] = displaced::<T, FUSED>([Lanes::default(); 3], own, stored);
            let rotation = &input.frame.rotations[part.frame as usize];
            for r in 0..3 {
                let [a, b, c] = [0, 1, 2].map(|column| Lanes::splat(rotation[3 * r + column]));
                let sum = c.times_plus::<FUSED>(z, Lanes(position.0[r]));
                position.0[r] = a.times_plus::<FUSED>(x, b.times_plus::<FUSED>(y, sum)).0;
            }
            coordinates = others;
            stored = &stored[own.len()..];
        }
    }
}
