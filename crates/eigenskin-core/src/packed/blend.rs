//! From joints to one map per vertex, eight vertices at a time.
//!
//! What the blocks of a group share is prepared once per group; a block then costs twelve products per
//! joint but the first (linear), or eight per joint (dual quaternions).
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use super::frame::FrameData;
use super::lanes::{LANES, Lanes, Machine};
use super::order::Mover;

/// How joints become maps.
pub(super) trait Blend<M: Machine> {
    /// Rows of the maps of a block's vertices, three factors and a shift each; blocks are counted within
    /// the group.
    fn map(&self, block: usize) -> [M::Vector; 12];
}

/// Blended matrices: since weights sum to one, the first joint's plus weighted differences from it.
pub(super) struct LinearBlend<'a> {
    first: &'a [Lanes; 12],
    /// `joint − 1`
    differences: &'a [[Lanes; 12]],
    /// `block × (joint − 1)`
    weights: &'a [Lanes],
}

impl<'a> LinearBlend<'a> {
    /// Writes the differences of all `movers` from the first.
    #[inline(always)]
    pub fn prepare<M: Machine>(frame: &FrameData, movers: &[Mover], differences: &mut [[Lanes; 12]]) {
        let [first, others @ ..] = movers else { return };
        let first = &frame.matrices[first.joint as usize];
        for (difference, mover) in differences.iter_mut().zip(others) {
            let matrix = &frame.matrices[mover.joint as usize];
            for i in 0..12 {
                M::store(M::minus(M::load(&matrix[i].0), M::load(&first[i].0)), &mut difference[i].0);
            }
        }
    }

    #[inline(always)]
    pub fn new(
        frame: &'a FrameData,
        movers: &[Mover],
        weights: &'a [Lanes],
        differences: &'a [[Lanes; 12]],
    ) -> Self {
        let first = &frame.matrices[movers[0].joint as usize];
        Self { first, differences: &differences[..movers.len() - 1], weights }
    }
}

impl<M: Machine> Blend<M> for LinearBlend<'_> {
    #[inline(always)]
    fn map(&self, block: usize) -> [M::Vector; 12] {
        let count = self.differences.len();
        let weights = &self.weights[block * count..][..count];
        let mut sum = [M::splat(0.0); 12];
        for i in 0..12 {
            sum[i] = M::load(&self.first[i].0);
        }
        for (difference, weight) in self.differences.iter().zip(weights) {
            let weight = M::load(&weight.0);
            for i in 0..12 {
                sum[i] = M::times_plus(M::load(&difference[i].0), weight, sum[i]);
            }
        }
        sum
    }
}

/// Blended dual quaternions after linearly blended stretches.
pub(super) struct DualQuaternionBlend<'a> {
    pub frame: &'a FrameData,
    pub movers: &'a [Mover],
    /// `joint`: dual quaternions turned towards their pivots, in the first eight
    pub towards_pivot: &'a [[Lanes; 12]],
    /// `block × joint`
    pub weights: &'a [Lanes],
    /// `block`
    pub heaviest: &'a [[u32; LANES]],
}

impl DualQuaternionBlend<'_> {
    /// Writes the dual quaternions of all `movers` with the sign that turns them towards their pivots.
    #[inline(always)]
    pub fn prepare(frame: &FrameData, movers: &[Mover], towards_pivot: &mut [[Lanes; 12]]) {
        for (to, mover) in towards_pivot.iter_mut().zip(movers) {
            let own = &frame.dual_quaternions[mover.joint as usize];
            let pivot = &frame.dual_quaternions[mover.pivot as usize];
            let product: f32 = (0..4).map(|i| own[i] * pivot[i]).sum();
            for i in 0..8 {
                to[i] = Lanes::splat(if product < 0.0 { -own[i] } else { own[i] });
            }
        }
    }

    /// Opposite rotations cancel: where nothing is left, the heaviest joint alone.
    #[cold]
    fn put_pivots(&self, block: usize, squared: &[f32; LANES], sum: &mut [Lanes; 8]) {
        for lane in 0..LANES {
            if squared[lane] > SMALLEST_LENGTH_SQUARED {
                continue;
            }
            let pivot = &self.towards_pivot[self.heaviest[block][lane] as usize];
            for i in 0..8 {
                sum[i].0[lane] = pivot[i].0[lane];
            }
        }
    }

    /// The same for a whole block in registers.
    #[inline(always)]
    fn mend<M: Machine>(&self, block: usize, squared: M::Vector, sum: &mut [M::Vector; 8]) {
        let mut lengths = [0.0; LANES];
        M::store(squared, &mut lengths);
        // Also where a length is not a number.
        if lengths.iter().all(|&length| length > SMALLEST_LENGTH_SQUARED) {
            return;
        }
        let mut lanes = [Lanes::default(); 8];
        for i in 0..8 {
            M::store(sum[i], &mut lanes[i].0);
        }
        self.put_pivots(block, &lengths, &mut lanes);
        for i in 0..8 {
            sum[i] = M::load(&lanes[i].0);
        }
    }
}

/// Blended rotations shorter than the root of this have cancelled out.
const SMALLEST_LENGTH_SQUARED: f32 = 1e-24;

impl<M: Machine> Blend<M> for DualQuaternionBlend<'_> {
    #[inline(always)]
    fn map(&self, block: usize) -> [M::Vector; 12] {
        let count = self.movers.len();
        let weights = &self.weights[block * count..][..count];
        let mut sum = [M::splat(0.0); 8];
        for (quaternion, weight) in self.towards_pivot.iter().zip(weights) {
            let weight = M::load(&weight.0);
            for i in 0..8 {
                sum[i] = M::times_plus(M::load(&quaternion[i].0), weight, sum[i]);
            }
        }
        let mut squared = M::times(sum[0], sum[0]);
        for i in 1..4 {
            squared = M::times_plus(sum[i], sum[i], squared);
        }
        let inverse = M::inverse_root(squared);
        for i in 0..8 {
            sum[i] = M::times(sum[i], inverse);
        }
        self.mend::<M>(block, squared, &mut sum);
        let rigid = rows_of::<M>(sum);
        if !self.frame.any_stretch {
            return rigid;
        }
        let mut stretch = [M::splat(0.0); 12];
        for (mover, weight) in self.movers.iter().zip(weights) {
            let matrix = &self.frame.matrices[mover.joint as usize];
            for i in 0..12 {
                stretch[i] = M::times_plus(M::load(&matrix[i].0), M::load(&weight.0), stretch[i]);
            }
        }
        after::<M>(&rigid, &stretch)
    }
}

/// Matrix rows of unit dual quaternions.
#[inline(always)]
fn rows_of<M: Machine>([x, y, z, w, dx, dy, dz, dw]: [M::Vector; 8]) -> [M::Vector; 12] {
    let [x2, y2, z2, w2] = [M::plus(x, x), M::plus(y, y), M::plus(z, z), M::plus(w, w)];
    let [xx, yy, zz] = [M::times(x2, x), M::times(y2, y), M::times(z2, z)];
    let [xy, xz, yz] = [M::times(x2, y), M::times(x2, z), M::times(y2, z)];
    let [wx, wy, wz] = [M::times(w2, x), M::times(w2, y), M::times(w2, z)];
    let one = M::splat(1.0);
    // Vector part of 2 · dual · conjugate(real).
    let tx = difference::<M>([(w2, dx), (y2, dz)], [(x2, dw), (z2, dy)]);
    let ty = difference::<M>([(w2, dy), (z2, dx)], [(y2, dw), (x2, dz)]);
    let tz = difference::<M>([(w2, dz), (x2, dy)], [(z2, dw), (y2, dx)]);
    [
        M::minus(one, M::plus(yy, zz)),
        M::minus(xy, wz),
        M::plus(xz, wy),
        tx,
        M::plus(xy, wz),
        M::minus(one, M::plus(xx, zz)),
        M::minus(yz, wx),
        ty,
        M::minus(xz, wy),
        M::plus(yz, wx),
        M::minus(one, M::plus(xx, yy)),
        tz,
    ]
}

/// a·b + c·d − (e·f + g·h).
#[inline(always)]
fn difference<M: Machine>(
    [(a, b), (c, d)]: [(M::Vector, M::Vector); 2],
    [(e, f), (g, h)]: [(M::Vector, M::Vector); 2],
) -> M::Vector {
    M::minus(M::times_plus(a, b, M::times(c, d)), M::times_plus(e, f, M::times(g, h)))
}

/// `outer` after `inner`, both as rows.
#[inline(always)]
fn after<M: Machine>(outer: &[M::Vector; 12], inner: &[M::Vector; 12]) -> [M::Vector; 12] {
    let mut rows = *outer;
    for r in 0..3 {
        for c in 0..4 {
            let mut sum = if c == 3 { outer[4 * r + 3] } else { M::splat(0.0) };
            for k in 0..3 {
                sum = M::times_plus(outer[4 * r + k], inner[4 * k + c], sum);
            }
            rows[4 * r + c] = sum;
        }
    }
    rows
}
