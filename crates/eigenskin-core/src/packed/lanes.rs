//! Eight numbers at a time: how they lie in memory, and what machines do with them.
//!
//! Kernels are written once, for any [`Machine`]. Everything is inlined into the function that chose the
//! instructions; a call in between would be compiled for the oldest machine.
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use glam::Vec3;

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

impl Block {
    /// The vector of one vertex.
    pub fn get(&self, lane: usize) -> Vec3 {
        let [x, y, z] = &self.0;
        Vec3::new(x[lane], y[lane], z[lane])
    }

    /// Sets the vector of one vertex.
    pub fn put(&mut self, lane: usize, vector: Vec3) {
        for axis in 0..3 {
            self.0[axis][lane] = vector[axis];
        }
    }
}

impl Lanes {
    /// The same number in all lanes.
    pub fn splat(value: f32) -> Self {
        Self([value; LANES])
    }
}

/// Instructions that work on eight numbers at a time.
pub(super) trait Machine {
    /// Eight numbers in registers.
    type Vector: Copy;
    /// What [`halves`](Self::halves) must be multiplied with.
    const HALF_SCALE: f32;

    fn load(lanes: &[f32; LANES]) -> Self::Vector;
    fn store(vector: Self::Vector, to: &mut [f32; LANES]);
    fn splat(value: f32) -> Self::Vector;
    fn plus(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn minus(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn times(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// a · b + c.
    fn times_plus(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// 1/√a.
    fn inverse_root(a: Self::Vector) -> Self::Vector;
    /// `yes` where `test` is above `bound`, elsewhere `no`.
    fn where_above(test: Self::Vector, bound: f32, yes: Self::Vector, no: Self::Vector) -> Self::Vector;
    /// 16-bit floats, divided by `HALF_SCALE`.
    fn halves(bits: &[u16; LANES]) -> Self::Vector;
    /// Whole numbers.
    fn integers(integers: &[i16; LANES]) -> Self::Vector;
    /// Does some work in a function of its own, compiled with this machine's instructions.
    fn run(work: impl Work<Self>)
    where
        Self: Sized;
}

/// Something that is done with a machine's instructions.
pub(super) trait Work<M: Machine> {
    /// Does it; to be inlined.
    fn run(self);
}

/// a · b of vectors with three components.
#[inline(always)]
pub(super) fn dot<M: Machine>([a, b, c]: [M::Vector; 3], [x, y, z]: [M::Vector; 3]) -> M::Vector {
    M::times_plus(a, x, M::times_plus(b, y, M::times(c, z)))
}

/// Any machine: plain loops, which compilers turn into whatever vector instructions there are.
pub(super) struct Portable;

#[inline(always)]
fn each(of: impl Fn(usize) -> f32) -> Lanes {
    let mut lanes = Lanes::default();
    for i in 0..LANES {
        lanes.0[i] = of(i);
    }
    lanes
}

impl Machine for Portable {
    type Vector = Lanes;
    const HALF_SCALE: f32 = f32::from_bits((112 + 127) << 23);

    #[inline(always)]
    fn load(lanes: &[f32; LANES]) -> Lanes {
        Lanes(*lanes)
    }

    #[inline(always)]
    fn store(vector: Lanes, to: &mut [f32; LANES]) {
        *to = vector.0;
    }

    #[inline(always)]
    fn splat(value: f32) -> Lanes {
        Lanes::splat(value)
    }

    #[inline(always)]
    fn plus(a: Lanes, b: Lanes) -> Lanes {
        each(|i| a.0[i] + b.0[i])
    }

    #[inline(always)]
    fn minus(a: Lanes, b: Lanes) -> Lanes {
        each(|i| a.0[i] - b.0[i])
    }

    #[inline(always)]
    fn times(a: Lanes, b: Lanes) -> Lanes {
        each(|i| a.0[i] * b.0[i])
    }

    #[inline(always)]
    fn times_plus(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        // Where ARM has it, fused multiplication is one instruction; on old PCs `mul_add` is a slow
        // function call.
        if cfg!(target_arch = "aarch64") {
            each(|i| a.0[i].mul_add(b.0[i], c.0[i]))
        } else {
            each(|i| a.0[i] * b.0[i] + c.0[i])
        }
    }

    #[inline(always)]
    fn inverse_root(a: Lanes) -> Lanes {
        each(|i| 1.0 / a.0[i].sqrt())
    }

    #[inline(always)]
    fn where_above(test: Lanes, bound: f32, yes: Lanes, no: Lanes) -> Lanes {
        each(|i| if test.0[i] > bound { yes.0[i] } else { no.0[i] })
    }

    #[inline(always)]
    fn halves(bits: &[u16; LANES]) -> Lanes {
        each(|i| small_half(bits[i]))
    }

    #[inline(always)]
    fn integers(integers: &[i16; LANES]) -> Lanes {
        each(|i| f32::from(integers[i]))
    }

    #[inline(never)]
    fn run(work: impl Work<Self>) {
        work.run();
    }
}

/// A 16-bit float (not a denormal one) divided by 2¹¹²: its bits moved to where an `f32` has them, the
/// difference between the two exponents left over. Three integer instructions on any machine.
#[inline(always)]
pub(super) fn small_half(bits: u16) -> f32 {
    // Widened with its sign, the sign fills bits 28 to 31; only the highest is one.
    let widened = i32::from(bits as i16) << 13;
    f32::from_bits(widened as u32 & 0x8fff_e000)
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vector instructions")]
mod avx2 {
    use std::arch::x86_64::{
        __m256, _CMP_GT_OQ, _mm_loadu_si128, _mm256_add_ps, _mm256_blendv_ps, _mm256_cmp_ps,
        _mm256_cvtepi16_epi32, _mm256_cvtepi32_ps, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps,
        _mm256_loadu_ps, _mm256_mul_ps, _mm256_rsqrt_ps, _mm256_set1_ps, _mm256_storeu_ps, _mm256_sub_ps,
    };

    use super::{LANES, Machine, Work};

    /// Processors with AVX2, FMA and F16C.
    pub struct Avx2;

    // SAFETY of all that follows: this type is only named inside functions with these instructions, and
    // references to eight numbers are what loads and stores need; they do not ask for alignment.
    impl Machine for Avx2 {
        type Vector = __m256;
        const HALF_SCALE: f32 = 1.0;

        #[inline(always)]
        fn load(lanes: &[f32; LANES]) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_loadu_ps(lanes.as_ptr()) }
        }

        #[inline(always)]
        fn store(vector: __m256, to: &mut [f32; LANES]) {
            // SAFETY: see above.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), vector) }
        }

        #[inline(always)]
        fn splat(value: f32) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_set1_ps(value) }
        }

        #[inline(always)]
        fn plus(a: __m256, b: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_add_ps(a, b) }
        }

        #[inline(always)]
        fn minus(a: __m256, b: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_sub_ps(a, b) }
        }

        #[inline(always)]
        fn times(a: __m256, b: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_mul_ps(a, b) }
        }

        #[inline(always)]
        fn times_plus(a: __m256, b: __m256, c: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_fmadd_ps(a, b, c) }
        }

        #[inline(always)]
        fn inverse_root(a: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe {
                // Twelve bits, and one step of Newton: y (3 − a y²) / 2.
                let y = _mm256_rsqrt_ps(a);
                let half = _mm256_mul_ps(_mm256_mul_ps(a, _mm256_set1_ps(0.5)), y);
                _mm256_mul_ps(y, _mm256_fnmadd_ps(half, y, _mm256_set1_ps(1.5)))
            }
        }

        #[inline(always)]
        fn where_above(test: __m256, bound: f32, yes: __m256, no: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_GT_OQ>(test, _mm256_set1_ps(bound))) }
        }

        #[inline(always)]
        fn halves(bits: &[u16; LANES]) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(bits.as_ptr().cast())) }
        }

        #[inline(always)]
        fn integers(integers: &[i16; LANES]) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(integers.as_ptr().cast()))) }
        }

        #[inline(always)]
        fn run(work: impl Work<Self>) {
            // SAFETY: see above.
            unsafe { run(work) }
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline(never)]
    fn run(work: impl Work<Avx2>) {
        work.run();
    }
}
