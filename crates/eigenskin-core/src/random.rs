//! A small seeded generator: splitmix64 (Steele, Lea and Flood 2014).

use glam::{DQuat, DVec3};

/// Uniform random numbers; equal seeds give equal sequences on every platform.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [`lowest`, `highest`).
    pub fn between(&mut self, lowest: f64, highest: f64) -> f64 {
        let unit = (self.next_bits() >> 11) as f64 / (1u64 << 53) as f64;
        lowest + (highest - lowest) * unit
    }

    /// A whole number below `count`; 0 if that is 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.between(0.0, count as f64) as usize).min(count.saturating_sub(1))
    }

    /// Uniform in the cube from −`half` to `half`.
    pub fn vector(&mut self, half: f64) -> DVec3 {
        DVec3::new(self.between(-half, half), self.between(-half, half), self.between(-half, half))
    }

    /// A rotation by at most `angle` per axis.
    pub fn rotation(&mut self, angle: f64) -> DQuat {
        DQuat::from_scaled_axis(self.vector(angle))
    }

    /// A unit vector, upwards rather than downwards.
    pub fn axis(&mut self) -> DVec3 {
        (self.vector(1.0) + DVec3::new(0.0, 0.0, 1.5)).normalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs for seed 1234567, as listed with the reference implementation.
    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = SplitMix64(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
