//! Displacements in 32 or 16 bits.
//!
//! A stored number times its component's scale is the displacement. The scale is multiplied into the
//! coordinate once per frame, so decoding costs no more than widening.
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use super::lanes::{LANES, Machine, Portable, small_half};

/// Displacements of eight vertices: all x, all y, all z.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(16))]
pub(super) struct StoredBlock<T>(pub [[T; LANES]; 3]);

/// The three kinds of displacements, each `group → block × component`.
#[derive(Debug)]
pub(super) struct Fields<T> {
    pub before: Vec<StoredBlock<T>>,
    pub turning: Vec<StoredBlock<T>>,
    pub after: Vec<StoredBlock<T>>,
}

/// All displacements of a model.
#[derive(Debug)]
pub(super) enum Displacements {
    F32(Fields<f32>),
    F16(Fields<Half>),
    I16(Fields<i16>),
}

/// A number as it is stored.
pub(super) trait Stored: Copy + Default {
    /// The scale of a component whose largest number is `largest`.
    fn scale(largest: f32) -> f32;
    /// The stored form of `value` under that scale.
    fn encode(value: f32, scale: f32) -> Self;
    /// Without the scale, and without [`factor`](Self::factor) of [`Portable`].
    fn decode(self) -> f32;
    /// Eight at a time, as a machine does it; without the scale and without its factor.
    fn decode_lanes<M: Machine>(stored: &[Self; LANES]) -> M::Vector;

    /// What decoded numbers are multiplied with besides the scale.
    fn factor<M: Machine>() -> f32 {
        1.0
    }
}

impl Stored for f32 {
    fn scale(_: f32) -> f32 {
        1.0
    }

    fn encode(value: f32, _: f32) -> Self {
        value
    }

    #[inline(always)]
    fn decode(self) -> f32 {
        self
    }

    #[inline(always)]
    fn decode_lanes<M: Machine>(stored: &[Self; LANES]) -> M::Vector {
        M::load(stored)
    }
}

impl Stored for i16 {
    fn scale(largest: f32) -> f32 {
        // A scale that is itself too small for f32 would divide by zero.
        if largest > 1e-30 { largest / f32::from(i16::MAX) } else { 1.0 }
    }

    fn encode(value: f32, scale: f32) -> Self {
        (value / scale).round() as i16
    }

    #[inline(always)]
    fn decode(self) -> f32 {
        f32::from(self)
    }

    #[inline(always)]
    fn decode_lanes<M: Machine>(stored: &[Self; LANES]) -> M::Vector {
        M::integers(stored)
    }
}

/// A 16-bit float: sign, 5 bits of exponent, 10 of fraction (IEEE 754 binary16).
///
/// Numbers are scaled up to the largest exponents; what would be denormal is stored as zero, 2⁻²⁸ of the
/// largest number or less.
pub(super) type Half = u16;

/// By how many powers of two the exponents of the two formats differ.
const EXPONENT_SHIFT: i32 = 112;

impl Stored for Half {
    fn scale(largest: f32) -> f32 {
        // A power of two, so that scaling rounds nothing: the largest number comes to [2¹⁴, 2¹⁵).
        // Clamped to what f32 can hold; displacements above 2³⁰ are cut off, and reported as errors.
        let exponent = ((largest.to_bits() >> 23) as i32 - 127).clamp(-100, 28);
        power_of_two(exponent - 14)
    }

    fn encode(value: f32, scale: f32) -> Self {
        let scaled = value / (scale * power_of_two(EXPONENT_SHIFT));
        let sign = (scaled.to_bits() >> 16) as u16 & 0x8000;
        // scaled = value' · 2⁻¹¹²: its bits already are the half's bits, thirteen places up.
        let bits = scaled.to_bits() & 0x7fff_ffff;
        let tie_to_even = (bits >> 13) & 1;
        let rounded = (bits + 0xfff + tie_to_even) >> 13;
        // Below one unit of exponent the half is denormal; above 30 it would be infinite.
        if rounded < 0x400 { sign } else { sign | rounded.min(0x7bff) as u16 }
    }

    #[inline(always)]
    fn decode(self) -> f32 {
        small_half(self)
    }

    #[inline(always)]
    fn decode_lanes<M: Machine>(stored: &[Self; LANES]) -> M::Vector {
        M::halves(stored)
    }

    fn factor<M: Machine>() -> f32 {
        M::HALF_SCALE
    }
}

/// 2^exponent.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

impl<T> Default for Fields<T> {
    fn default() -> Self {
        Self { before: Vec::new(), turning: Vec::new(), after: Vec::new() }
    }
}

impl<T> Fields<T> {
    /// Bytes of all displacements.
    pub fn bytes(&self) -> usize {
        (self.before.len() + self.turning.len() + self.after.len()) * size_of::<StoredBlock<T>>()
    }
}

impl Displacements {
    /// Bytes of all displacements.
    pub fn bytes(&self) -> usize {
        match self {
            Self::F32(fields) => fields.bytes(),
            Self::F16(fields) => fields.bytes(),
            Self::I16(fields) => fields.bytes(),
        }
    }
}

/// The number that a stored one stands for.
pub(super) fn decoded_number<T: Stored>(stored: T, scale: f32) -> f64 {
    f64::from(stored.decode()) * f64::from(scale) * f64::from(T::factor::<Portable>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded<T: Stored>(value: f32, scale: f32) -> f64 {
        decoded_number(T::encode(value, scale), scale)
    }

    proptest! {
        #[test]
        fn stored_numbers_come_back_within_their_rounding(
            share in -1f32..1.0, exponent in -20i32..20, small in 0i32..12,
        ) {
            let largest = 1.37 * 2f32.powi(exponent);
            let value = share * largest * 2f32.powi(-small);
            let error = |back: f64| (back - f64::from(value)).abs();
            let half = decoded::<Half>(value, Half::scale(largest));
            prop_assert!(error(half) <= f64::from(value.abs()) / 2048.0 + f64::from(largest) * 2f64.powi(-28));
            let integer = decoded::<i16>(value, i16::scale(largest));
            // Half a step, and what the quotient loses in f32: 2⁻²⁴ of up to 2¹⁵ steps.
            prop_assert!(error(integer) <= f64::from(largest) * 0.503 / 32767.0);
            prop_assert_eq!(decoded::<f32>(value, f32::scale(largest)), f64::from(value));
        }
    }

    #[test]
    fn halves_round_to_even_like_the_standard() {
        let scale = Half::scale(1.0);
        // 1 + 2⁻¹¹ is halfway between 1 and 1 + 2⁻¹⁰; 1 + 3·2⁻¹¹ between 1 + 2⁻¹⁰ and 1 + 2⁻⁹.
        let step = 2f32.powi(-11);
        assert_eq!(decoded::<Half>(1.0 + step, scale), 1.0);
        assert_eq!(decoded::<Half>(1.0 + 3.0 * step, scale), f64::from(1.0 + 4.0 * step));
        assert_eq!(decoded::<Half>(-1.0 - step, scale), -1.0);
        assert_eq!(decoded::<Half>(0.0, scale), 0.0);
    }

    #[test]
    fn components_of_zeros_stay_zero() {
        assert_eq!(decoded::<Half>(0.0, Half::scale(0.0)), 0.0);
        assert_eq!(decoded::<i16>(0.0, i16::scale(0.0)), 0.0);
    }
}
