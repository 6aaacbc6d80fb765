//! The kernels' twin: one vertex at a time, in plain `f32`, on the same tables. Slow, easy to read, and
//! what the kernels are compared with.

use glam::{Affine3A, Mat3, Quat, Vec3};

use super::frame::FrameData;
use super::kernel::{Input, SMALLEST_SQUARE, Shape};
use super::lanes::LANES;
use super::storage::{Stored, StoredBlock};
use super::{Group, Tables};
use crate::skinning::BaseSkinning;

/// Skins consecutive groups.
pub(super) fn run<T: Stored>(input: &Input<T>, groups: &[Group], mut shape: Shape) {
    let first_block = groups.first().map_or(0, |group| group.first_block);
    for group in groups {
        for block in 0..group.block_count {
            for lane in 0..LANES {
                let map = match input.skinning {
                    BaseSkinning::Rigid | BaseSkinning::LinearBlend => {
                        linear(input.tables, input.frame, group, block, lane)
                    }
                    BaseSkinning::DualQuaternion => {
                        dual_quaternion(input.tables, input.frame, group, block, lane)
                    }
                };
                let posed = vertex(input, group, block, lane, map);
                for (part, vector) in shape.iter_mut().zip(posed) {
                    if let Some(block) = part.get_mut(group.first_block - first_block + block) {
                        block.put(lane, vector);
                    }
                }
            }
        }
    }
}

/// Position, normal and tangent.
fn vertex<T: Stored>(input: &Input<T>, group: &Group, block: usize, lane: usize, map: Affine3A) -> [Vec3; 3] {
    let Input { tables, fields, frame, .. } = input;
    let at = group.first_block + block;
    let rest = tables.positions[at].get(lane)
        + sum(
            group.before.of(&frame.before),
            &fields.before[group.first_before + block * group.before.count..],
            lane,
        );
    let mut position = map.transform_point3(rest);
    let mut first = group.after.first;
    let mut stored = group.first_after + block * group.after.count;
    for part in group.after_parts.of(&tables.after_parts) {
        let count = part.components as usize;
        let displacement = sum(&frame.after[first..first + count], &fields.after[stored..], lane);
        position += Mat3::from_cols_array(&frame.rotations[part.frame as usize]).transpose() * displacement;
        first += count;
        stored += count;
    }
    let normal = tables.normals[at].get(lane)
        + sum(
            group.turning.of(&frame.turning),
            &fields.turning[group.first_turning + block * group.turning.count..],
            lane,
        );
    let normal = unit(map.transform_vector3(normal), Vec3::Z);
    let tangent = tables.tangents.get(at).map_or(Vec3::ZERO, |block| block.get(lane));
    let tangent = map.transform_vector3(tangent);
    [position, normal, unit(tangent - normal * normal.dot(tangent), Vec3::X)]
}

fn unit(vector: Vec3, without: Vec3) -> Vec3 {
    let squared = vector.length_squared();
    if squared > SMALLEST_SQUARE { vector / squared.sqrt() } else { without }
}

fn sum<T: Stored>(coordinates: &[f32], stored: &[StoredBlock<T>], lane: usize) -> Vec3 {
    let mut sum = Vec3::ZERO;
    for (&coordinate, block) in coordinates.iter().zip(stored) {
        for axis in 0..3 {
            sum[axis] += coordinate * block.0[axis][lane].decode();
        }
    }
    sum
}

fn weights<'a>(
    tables: &'a Tables,
    group: &Group,
    block: usize,
    lane: usize,
) -> impl Iterator<Item = (usize, f32)> + 'a {
    let weighted = &group.movers.of(&tables.movers)[tables.unweighted..];
    let weights = &tables.weights[group.first_weight + block * weighted.len()..][..weighted.len()];
    weighted.iter().zip(weights).map(move |(mover, lanes)| (mover.joint as usize, lanes.0[lane]))
}

fn linear(tables: &Tables, frame: &FrameData, group: &Group, block: usize, lane: usize) -> Affine3A {
    let number = |joint: usize, i: usize| frame.matrices[joint][i].0[0];
    let first = group.movers.of(&tables.movers)[0].joint as usize;
    let mut blended = [0.0; 12];
    for i in 0..12 {
        let start = if tables.unweighted == 1 { number(first, i) } else { 0.0 };
        blended[i] = weights(tables, group, block, lane)
            .fold(start, |sum, (joint, weight)| sum + weight * (number(joint, i) - start));
    }
    let [a, b, c, x, d, e, f, y, g, h, i, z] = blended;
    Affine3A::from_mat3_translation(Mat3::from_cols_array(&[a, d, g, b, e, h, c, f, i]), Vec3::new(x, y, z))
}

fn dual_quaternion(tables: &Tables, frame: &FrameData, group: &Group, block: usize, lane: usize) -> Affine3A {
    let parts = |joint: usize| {
        let q = &frame.dual_quaternions[joint];
        (Quat::from_slice(&q[..4]), Quat::from_slice(&q[4..]))
    };
    let slot = tables.heaviest[group.first_block + block][lane] as usize;
    let pivot = parts(group.movers.of(&tables.movers)[slot].joint as usize);
    let zero = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    let (mut real, mut dual) = (zero, zero);
    for (joint, weight) in weights(tables, group, block, lane) {
        let (joint_real, joint_dual) = parts(joint);
        let signed = if joint_real.dot(pivot.0) < 0.0 { -weight } else { weight };
        real += joint_real * signed;
        dual += joint_dual * signed;
    }
    let length = real.length();
    let (real, dual) = if length > 1e-12 { (real * (1.0 / length), dual * (1.0 / length)) } else { pivot };
    let moved = dual * real.conjugate();
    let rigid = Affine3A::from_rotation_translation(real, 2.0 * Vec3::new(moved.x, moved.y, moved.z));
    if frame.any_stretch { rigid * linear(tables, frame, group, block, lane) } else { rigid }
}
