//! Eight numbers at a time, as plain arrays: compilers turn these loops into vector instructions.
//!
//! Everything is inlined into the function that chose the instructions; a call in between would
//! be compiled for the oldest machine.
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

/// Vertices in a block.
pub const LANES: usize = 8;

/// One number for each vertex of a block.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(32))]
pub(super) struct Lanes(pub [f32; LANES]);

/// Vectors of eight vertices: all x, all y, all z.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, align(32))]
pub struct Block(pub [[f32; LANES]; 3]);

impl Lanes {
    /// The same number in all lanes.
    #[inline(always)]
    pub fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    pub fn times(mut self, other: Self) -> Self {
        for i in 0..LANES {
            self.0[i] *= other.0[i];
        }
        self
    }

    #[inline(always)]
    pub fn plus(mut self, other: Self) -> Self {
        for i in 0..LANES {
            self.0[i] += other.0[i];
        }
        self
    }

    #[inline(always)]
    pub fn minus(mut self, other: Self) -> Self {
        for i in 0..LANES {
            self.0[i] -= other.0[i];
        }
        self
    }

    /// self · factor + addend. `FUSED` only where the processor does that in one instruction:
    /// elsewhere `mul_add` is a slow function call.
    #[inline(always)]
    pub fn times_plus<const FUSED: bool>(mut self, factor: Self, addend: Self) -> Self {
        for i in 0..LANES {
            self.0[i] = if FUSED {
                self.0[i].mul_add(factor.0[i], addend.0[i])
            } else {
                self.0[i] * factor.0[i] + addend.0[i]
            };
        }
        self
    }

    /// 1/√self.
    #[inline(always)]
    pub fn inverse_root(mut self) -> Self {
        for i in 0..LANES {
            self.0[i] = 1.0 / self.0[i].sqrt();
        }
        self
    }
}

/// x·x + y·y + z·z.
#[inline(always)]
pub(super) fn squared_length<const FUSED: bool>([x, y, z]: [Lanes; 3]) -> Lanes {
    x.times_plus::<FUSED>(x, y.times_plus::<FUSED>(y, z.times(z)))
}
