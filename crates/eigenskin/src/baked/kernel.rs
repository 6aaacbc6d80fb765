//! Blending, displacing and skinning eight vertices at a time.
//!
//! One generic kernel serves all machines: compiled as it is, and once more inside a function that
//! may use AVX2 and fused multiplication.
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use glam::Vec3;

use super::frame::FrameData;
use super::lanes::{Block, LANES, Lanes, squared_length};
use super::storage::{Fields, Stored, StoredBlock};
use super::{Group, Tables};

/// Where finished blocks go.
pub(super) trait Sink {
    fn put(&mut self, block: usize, vectors: [Lanes; 3]);
}

/// Baked order.
impl Sink for &mut [Block] {
    #[inline(always)]
    fn put(&mut self, block: usize, vectors: [Lanes; 3]) {
        self[block] = Block(vectors.map(|lanes| lanes.0));
    }
}

/// The caller's vertex order.
pub(super) struct Scatter<'a> {
    pub vertices: &'a [[u32; LANES]],
    pub to: &'a mut [Vec3],
}

impl Sink for Scatter<'_> {
    #[inline(always)]
    fn put(&mut self, block: usize, [x, y, z]: [Lanes; 3]) {
        let vertices = &self.vertices[block];
        for lane in 0..LANES {
            self.to[vertices[lane] as usize] = Vec3::new(x.0[lane], y.0[lane], z.0[lane]);
        }
    }
}

/// How joints become one map per vertex.
pub(super) trait Blend: Copy {
    /// Rows of the maps of a block's vertices.
    fn blend<const FUSED: bool>(
        frame: &FrameData,
        joints: &[u32],
        weights: &[Lanes],
        heaviest: &[u32; LANES],
    ) -> [Lanes; 12];
}

/// Blended matrices; rigid skinning is the case of one joint.
#[derive(Clone, Copy)]
pub(super) struct LinearBlend;

impl Blend for LinearBlend {
    #[inline(always)]
    fn blend<const FUSED: bool>(
        frame: &FrameData,
        joints: &[u32],
        weights: &[Lanes],
        _: &[u32; LANES],
    ) -> [Lanes; 12] {
        let mut blended = [Lanes::default(); 12];
        for (&joint, &weight) in joints.iter().zip(weights) {
            let matrix = &frame.matrices[joint as usize];
            for i in 0..12 {
                blended[i] = Lanes::splat(matrix[i]).times_plus::<FUSED>(weight, blended[i]);
            }
        }
        blended
    }
}

/// Blended dual quaternions after linearly blended stretches.
#[derive(Clone, Copy)]
pub(super) struct DualQuaternionBlend;

impl Blend for DualQuaternionBlend {
    #[inline(always)]
    fn blend<const FUSED: bool>(
        frame: &FrameData,
        joints: &[u32],
        weights: &[Lanes],
        heaviest: &[u32; LANES],
    ) -> [Lanes; 12] {
        let mut pivot = [Lanes::default(); 8];
        for lane in 0..LANES {
            let joint = joints[heaviest[lane] as usize];
            for i in 0..8 {
                pivot[i].0[lane] = frame.dual_quaternions[joint as usize][i];
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
        let rigid = rows_of::<FUSED>(&sum);
        if frame.any_stretch {
            let stretch = LinearBlend::blend::<FUSED>(frame, joints, weights, heaviest);
            after::<FUSED>(&rigid, &stretch)
        } else {
            rigid
        }
    }
}

/// Matrix rows of unit dual quaternions.
#[inline(always)]
fn rows_of<const FUSED: bool>(q: &[Lanes; 8]) -> [Lanes; 12] {
    let mut rows = [Lanes::default(); 12];
    for i in 0..LANES {
        let [x, y, z, w, dx, dy, dz, dw]: [f32; 8] =
            [q[0].0[i], q[1].0[i], q[2].0[i], q[3].0[i], q[4].0[i], q[5].0[i], q[6].0[i], q[7].0[i]];
        // Vector part of 2 · dual · conjugate(real).
        let tx = 2.0 * (w * dx - dw * x + y * dz - z * dy);
        let ty = 2.0 * (w * dy - dw * y + z * dx - x * dz);
        let tz = 2.0 * (w * dz - dw * z + x * dy - y * dx);
        let row = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y), tx],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x), ty],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y), tz],
        ];
        for (r, row) in row.iter().enumerate() {
            for c in 0..4 {
                rows[4 * r + c].0[i] = row[c];
            }
        }
    }
    rows
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

/// Everything a kernel reads.
pub(super) struct Input<'a, T> {
    pub tables: &'a Tables,
    pub fields: &'a Fields<T>,
    pub frame: &'a FrameData,
}

/// Plain instructions.
pub(super) fn portable<T: Stored, B: Blend, S: Sink>(
    base: B,
    input: &Input<T>,
    positions: S,
    normals: Option<S>,
) {
    run::<T, B, S, false>(base, input, positions, normals);
}

/// The same with AVX2, FMA and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn avx2<T: Stored, B: Blend, S: Sink>(
    base: B,
    input: &Input<T>,
    positions: S,
    normals: Option<S>,
) {
    run::<T, B, S, true>(base, input, positions, normals);
}

#[inline(always)]
fn run<T: Stored, B: Blend, S: Sink, const FUSED: bool>(
    _: B,
    input: &Input<T>,
    mut positions: S,
    normals: Option<S>,
) {
    // Two loops: with normals decided inside of one, its registers do not suffice for either.
    match normals {
        None => {
            for group in &input.tables.groups {
                for block in 0..group.block_count {
                    let map = map_of::<T, B, FUSED>(input, group, block);
                    positions.put(group.first_block + block, posed::<T, FUSED>(input, group, block, &map));
                }
            }
        }
        Some(mut normals) => {
            for group in &input.tables.groups {
                for block in 0..group.block_count {
                    let map = map_of::<T, B, FUSED>(input, group, block);
                    positions.put(group.first_block + block, posed::<T, FUSED>(input, group, block, &map));
                    normals.put(group.first_block + block, turned::<T, FUSED>(input, group, block, &map));
                }
            }
        }
    }
}

#[inline(always)]
fn map_of<T, B: Blend, const FUSED: bool>(input: &Input<T>, group: &Group, block: usize) -> [Lanes; 12] {
    let tables = input.tables;
    let count = group.joints.count;
    let weights = &tables.weights[group.first_weight + block * count..][..count];
    let heaviest = &tables.heaviest[group.first_block + block];
    B::blend::<FUSED>(input.frame, group.joints.of(&tables.joints), weights, heaviest)
}

#[inline(always)]
fn posed<T: Stored, const FUSED: bool>(
    input: &Input<T>,
    group: &Group,
    block: usize,
    map: &[Lanes; 12],
) -> [Lanes; 3] {
    let tables = input.tables;
    let rest = tables.positions[group.first_block + block].0.map(Lanes);
    let stored = &input.fields.before[group.first_before + block * group.before.count..];
    let [x, y, z] = displaced::<T, FUSED>(rest, group.before.of(&input.frame.before), stored);
    let mut position = [Lanes::default(); 3];
    for r in 0..3 {
        let row = &map[4 * r..4 * r + 4];
        position[r] = row[0]
            .times_plus::<FUSED>(x, row[1].times_plus::<FUSED>(y, row[2].times_plus::<FUSED>(z, row[3])));
    }
    if group.after.count > 0 {
        add_after::<T, FUSED>(input, group, block, &mut position);
    }
    position
}

#[inline(always)]
fn turned<T: Stored, const FUSED: bool>(
    input: &Input<T>,
    group: &Group,
    block: usize,
    map: &[Lanes; 12],
) -> [Lanes; 3] {
    let rest = input.tables.normals[group.first_block + block].0.map(Lanes);
    let stored = &input.fields.turning[group.first_turning + block * group.turning.count..];
    let [x, y, z] = displaced::<T, FUSED>(rest, group.turning.of(&input.frame.turning), stored);
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
    normal
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

#[inline(always)]
fn add_after<T: Stored, const FUSED: bool>(
    input: &Input<T>,
    group: &Group,
    block: usize,
    position: &mut [Lanes; 3],
) {
    let mut coordinates = group.after.of(&input.frame.after);
    let mut stored = &input.fields.after[group.first_after + block * group.after.count..];
    for part in group.after_parts.of(&input.tables.after_parts) {
        let (own, others) = coordinates.split_at(part.components as usize);
        let [x, y, z] = displaced::<T, FUSED>([Lanes::default(); 3], own, stored);
        let rotation = &input.frame.rotations[part.frame as usize];
        for r in 0..3 {
            let [a, b, c] = [0, 1, 2].map(|column| Lanes::splat(rotation[3 * r + column]));
            position[r] =
                a.times_plus::<FUSED>(x, b.times_plus::<FUSED>(y, c.times_plus::<FUSED>(z, position[r])));
        }
        coordinates = others;
        stored = &stored[part.components as usize..];
    }
}
