//! Many distances, summed up.

use super::ErrorSummary;

/// Distances, all of them or, of very many, how often each occurs to 12 bits.
pub(super) struct Distances {
    all: Vec<f32>,
    /// by the leading bits of a distance, which rise with it; empty while all are kept
    histogram: Vec<u64>,
    count: u64,
    squared: f64,
    max: f32,
}

/// So many distances are kept; of more, a histogram.
const MOST_DISTANCES: usize = 1 << 25;
/// Bits of a float that the histogram does not tell apart: relative steps of 2⁻¹².
const DROPPED_BITS: u32 = 11;

impl Distances {
    pub fn new(expected: usize) -> Self {
        let bins = if expected > MOST_DISTANCES { 1 << (32 - DROPPED_BITS) } else { 0 };
        Self { all: Vec::new(), histogram: vec![0; bins], count: 0, squared: 0.0, max: 0.0 }
    }

    pub fn add(&mut self, errors: &[f32]) {
        self.count += errors.len() as u64;
        for &error in errors {
            self.squared += f64::from(error).powi(2);
            self.max = self.max.max(error);
        }
        if self.histogram.is_empty() {
            self.all.extend(errors);
        } else {
            for error in errors {
                self.histogram[(error.to_bits() >> DROPPED_BITS) as usize] += 1;
            }
        }
    }

    /// The smallest distance that this share of all do not exceed.
    fn at_share(&mut self, share: f64) -> f64 {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        if self.histogram.is_empty() {
            self.all.sort_by(f32::total_cmp);
            return self.all.get(rank as usize - 1).copied().map_or(0.0, f64::from);
        }
        let mut seen = 0;
        let reaches = |&count: &u64| {
            seen += count;
            seen >= rank
        };
        let bin = self.histogram.iter().position(reaches).unwrap_or(0);
        f64::from(f32::from_bits((bin as u32) << DROPPED_BITS).min(self.max))
    }

    pub fn summary(mut self, size: f64) -> ErrorSummary {
        let rmse = (self.squared / self.count as f64).sqrt();
        let max = f64::from(self.max);
        ErrorSummary {
            rmse,
            max,
            p95: self.at_share(0.95),
            rmse_of_100: 100.0 * rmse / size,
            max_of_100: 100.0 * max / size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_distances_are_summarised_as_few_are() {
        let errors: Vec<f32> = (0..10_000).map(|i| ((i * 7919) % 10_000) as f32 * 1e-3).collect();
        let (mut few, mut many) = (Distances::new(0), Distances::new(MOST_DISTANCES + 1));
        for part in errors.chunks(100) {
            few.add(part);
            many.add(part);
        }
        let (few, many) = (few.summary(2.0), many.summary(2.0));
        assert!((few.p95 - 9.499).abs() < 1e-5, "{}", few.p95);
        assert!((many.p95 / few.p95 - 1.0).abs() < 1.0 / 4096.0, "{}", many.p95);
        assert_eq!((few.rmse, few.max), (many.rmse, many.max));
    }
}
