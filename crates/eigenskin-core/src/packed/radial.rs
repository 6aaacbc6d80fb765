//! Radial drivers, eight centres at a time, in `f64`.
//!
//! The same numbers as [`Driver::evaluate_features`], within rounding; distances and kernels are worked
//! out from squares, with the root folded in where a kernel needs none (Lewis 2000 §4.2 keeps a table for
//! that; polynomials are as fast here and exact to the last digits).
#![allow(clippy::inline_always, reason = "code must be compiled with its caller's instructions")]

use std::ops::Range;

use super::Path;
use crate::driver::{Combine, Driver, FeatureGroup, Interpolant, Kernel, Representation};

/// Centres in a row.
pub(super) const ROW: usize = 8;
pub(super) type Row = [f64; ROW];

/// The kernel values of one radial driver.
#[derive(Debug)]
pub(super) struct RadialTable {
    kernel: Kernel,
    combine: Combine,
    /// with the features of each
    groups: Vec<(Range<usize>, GroupTable)>,
    centre_count: usize,
    /// `row`: 1/width²
    inverse_squares: Vec<Row>,
}

/// The centres of one feature group.
#[derive(Debug)]
pub(super) struct GroupTable {
    group: FeatureGroup,
    /// rotations are compared by angle, all else by difference
    is_rotation: bool,
    /// what a squared angle is multiplied with; differences carry it already
    factor: f64,
    /// `feature × row`; of vectors scaled and weighted
    centres: Vec<Row>,
    /// `row`: kernel values of rest
    at_rest: Vec<Row>,
}

/// Rows of a number per centre, filled up with the last one.
pub(super) fn rows_of(count: usize, value: impl Fn(usize) -> f64) -> Vec<Row> {
    let at = |row: usize, i: usize| value((row * ROW + i).min(count - 1));
    (0..count.div_ceil(ROW)).map(|row| std::array::from_fn(|i| at(row, i))).collect()
}

impl RadialTable {
    /// The table of a driver; `None` if it is not a radial one, or one of subsets, which have their own.
    pub fn new(driver: &Driver) -> Option<Self> {
        let Interpolant::Rbf { kernel, centres, widths, .. } = &driver.interpolant else { return None };
        if driver.combine == Combine::Subsets {
            return None;
        }
        let feature_count = driver.feature_count();
        let mut first = 0;
        let table_of = |group: &FeatureGroup| {
            let features = first..first + group.feature_count();
            first = features.end;
            let of_centre = |centre: usize| &centres[centre * feature_count..][features.clone()];
            (features.clone(), GroupTable::new(group, *kernel, widths, of_centre))
        };
        Some(Self {
            kernel: *kernel,
            combine: driver.combine,
            groups: driver.groups.iter().map(table_of).collect(),
            centre_count: widths.len(),
            inverse_squares: rows_of(widths.len(), |centre| widths[centre].powi(-2)),
        })
    }

    /// Adds what the centres contribute to `outputs` for given features.
    pub fn add(&self, path: Path, features: &mut [f64], coefficients: &[f64], outputs: &mut [f64]) {
        for (own, group) in &self.groups {
            group.prepare(&mut features[own.clone()]);
        }
        #[cfg(target_arch = "x86_64")]
        if path == Path::Avx2 {
            #[allow(unsafe_code, reason = "instructions were asked for when the path was chosen")]
            // SAFETY: a path is only taken from `Path::available`, which lists this one only where the
            // processor has both extensions.
            unsafe {
                self.add_avx2(features, coefficients, outputs);
            }
            return;
        }
        let _ = path;
        self.add_rows::<false>(features, coefficients, outputs);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn add_avx2(&self, features: &[f64], coefficients: &[f64], outputs: &mut [f64]) {
        self.add_rows::<true>(features, coefficients, outputs);
    }

    #[inline(always)]
    fn add_rows<const FUSED: bool>(&self, features: &[f64], coefficients: &[f64], outputs: &mut [f64]) {
        let rows = self.inverse_squares.len();
        for row in 0..rows {
            let scale = &self.inverse_squares[row];
            let mut value = [1.0; ROW];
            match self.combine {
                Combine::Distance => {
                    let mut squared = [0.0; ROW];
                    for (own, group) in &self.groups {
                        group.add_squared::<FUSED>(row, rows, &features[own.clone()], &mut squared);
                    }
                    for i in 0..ROW {
                        squared[i] *= scale[i];
                    }
                    value = kernel_of_square::<FUSED>(self.kernel, &squared);
                }
                // Those of subsets have tables of their own.
                Combine::Product | Combine::Subsets => {
                    for (own, group) in &self.groups {
                        let mut squared = [0.0; ROW];
                        group.add_squared::<FUSED>(row, rows, &features[own.clone()], &mut squared);
                        for i in 0..ROW {
                            squared[i] *= scale[i];
                        }
                        let here = kernel_of_square::<FUSED>(self.kernel, &squared);
                        for i in 0..ROW {
                            value[i] *= here[i] - group.at_rest[row][i];
                        }
                    }
                }
            }
            let count = ROW.min(self.centre_count - row * ROW);
            let own = &coefficients[row * ROW * outputs.len()..][..count * outputs.len()];
            if outputs.is_empty() {
                continue;
            }
            for (coefficients, &value) in own.chunks_exact(outputs.len()).zip(&value) {
                for (output, &coefficient) in outputs.iter_mut().zip(coefficients) {
                    *output = plus_times::<FUSED>(*output, value, coefficient);
                }
            }
        }
    }
}

impl GroupTable {
    /// The table of a group whose features at a centre are `of_centre`.
    pub fn new<'a>(
        group: &FeatureGroup,
        kernel: Kernel,
        widths: &[f64],
        of_centre: impl Fn(usize) -> &'a [f64],
    ) -> Self {
        let is_rotation =
            matches!(group.representation, Representation::Rotation | Representation::Swing { .. });
        let weighted = |centre: usize| {
            let mut own = of_centre(centre).to_vec();
            if !is_rotation {
                group.scale_and_weigh(&mut own);
            }
            own
        };
        let weight = group.weight.sqrt();
        let at_rest =
            |centre: usize| kernel.value(weight * group.distance_to_rest(of_centre(centre)), widths[centre]);
        Self {
            group: group.clone(),
            is_rotation,
            factor: group.weight * group.angle_factor().powi(2),
            centres: (0..group.feature_count())
                .flat_map(|feature| rows_of(widths.len(), |centre| weighted(centre)[feature]))
                .collect(),
            at_rest: rows_of(widths.len(), at_rest),
        }
    }

    /// Scales features, so that differences of two are weighted distances.
    #[inline(always)]
    pub fn prepare(&self, features: &mut [f64]) {
        if !self.is_rotation {
            self.group.scale_and_weigh(features);
        }
    }

    /// Whether prepared features are those of rest.
    pub fn is_at_rest(&self, features: &[f64]) -> bool {
        self.squared_to_rest(features) == 0.0
    }

    /// φ(pose, centre) − φ(pose, rest) − φ(rest, centre) + φ(0) of prepared features for all centres, `row`: zero
    /// where either is at rest.
    #[inline(always)]
    pub fn write_moved<const FUSED: bool>(
        &self,
        kernel: Kernel,
        features: &[f64],
        inverse_squares: &[Row],
        out: &mut [Row],
    ) {
        let rows = out.len();
        let from_rest = self.squared_to_rest(features);
        let nothing = kernel.value(0.0, 1.0);
        // Centres mostly have one width, and then are as far from rest as the first.
        let mut known = None;
        for (row, out) in out.iter_mut().enumerate() {
            let inverse_squares = &inverse_squares[row];
            let away = match known {
                Some((widths, away)) if widths == *inverse_squares => away,
                _ => {
                    let mut squared = [from_rest; ROW];
                    for i in 0..ROW {
                        squared[i] *= inverse_squares[i];
                    }
                    kernel_of_square::<FUSED>(kernel, &squared)
                }
            };
            known = Some((*inverse_squares, away));
            let mut squared = [0.0; ROW];
            self.add_squared::<FUSED>(row, rows, features, &mut squared);
            for i in 0..ROW {
                squared[i] *= inverse_squares[i];
            }
            let here = kernel_of_square::<FUSED>(kernel, &squared);
            for i in 0..ROW {
                out[i] = here[i] - away[i] - self.at_rest[row][i] + nothing;
            }
        }
    }

    /// The squared distance of a pose from rest.
    #[inline(always)]
    fn squared_to_rest(&self, features: &[f64]) -> f64 {
        if self.is_rotation {
            self.group.distance_to_rest(features).powi(2)
        } else {
            // They are scaled already.
            features.iter().map(|value| value * value).sum()
        }
    }

    /// Adds the weighted squared distances from a row of centres.
    #[inline(always)]
    fn add_squared<const FUSED: bool>(&self, row: usize, rows: usize, features: &[f64], squared: &mut Row) {
        if !self.is_rotation {
            for (feature, &value) in features.iter().enumerate() {
                let centres = &self.centres[feature * rows + row];
                for i in 0..ROW {
                    let difference = value - centres[i];
                    squared[i] = plus_times::<FUSED>(squared[i], difference, difference);
                }
            }
            return;
        }
        let [x, y, z, w] = [features[0], features[1], features[2], features[3]];
        let [cx, cy, cz, cw] = [
            &self.centres[row],
            &self.centres[rows + row],
            &self.centres[2 * rows + row],
            &self.centres[3 * rows + row],
        ];
        for i in 0..ROW {
            // conjugate(pose) · centre: its vector part has the sine of half the angle, exactly also
            // where the angle is small.
            let vx = w * cx[i] - x * cw[i] - y * cz[i] + z * cy[i];
            let vy = w * cy[i] - y * cw[i] - z * cx[i] + x * cz[i];
            let vz = w * cz[i] - z * cw[i] - x * cy[i] + y * cx[i];
            let cosine = (w * cw[i] + x * cx[i] + y * cy[i] + z * cz[i]).abs();
            let sine_squared = vx * vx + vy * vy + vz * vz;
            // 1 − cos of a quarter of the angle, in two steps that subtract nothing.
            let quarter_cosine = (0.5 + 0.5 * cosine).sqrt();
            let small = sine_squared / ((1.0 + cosine) * 2.0 * (1.0 + quarter_cosine));
            // (4 · quarter)²
            squared[i] = plus_times::<FUSED>(squared[i], 16.0 * self.factor, arc_squared::<FUSED>(small));
        }
    }
}

/// acos(1 − t)² for t up to 0.3: 2 Σ (2t)ⁿ / (n² C(2n, n)).
#[inline(always)]
fn arc_squared<const FUSED: bool>(t: f64) -> f64 {
    const TERMS: usize = 17;
    const SERIES: [f64; TERMS] = {
        let mut series = [0.0; TERMS];
        let mut power_by_binomial = 1.0;
        let mut n = 1;
        while n <= TERMS {
            // 2ⁿ / C(2n, n) from the one before: C(2n, n) = C(2n − 2, n − 1) · (4n − 2) / n.
            power_by_binomial *= 2.0 * n as f64 / (4 * n - 2) as f64;
            series[n - 1] = 2.0 * power_by_binomial / (n * n) as f64;
            n += 1;
        }
        series
    };
    t * horner::<FUSED, TERMS>(&SERIES, t)
}

/// φ at √squares, widths divided out.
#[inline(always)]
fn kernel_of_square<const FUSED: bool>(kernel: Kernel, squares: &Row) -> Row {
    let mut values = *squares;
    match kernel {
        Kernel::Gaussian => {
            for i in 0..ROW {
                values[i] = exponential::<FUSED>(-0.5 * squares[i]);
            }
        }
        Kernel::Exponential => {
            for i in 0..ROW {
                values[i] = exponential::<FUSED>(-squares[i].sqrt());
            }
        }
        Kernel::Linear => {
            for i in 0..ROW {
                values[i] = -squares[i].sqrt();
            }
        }
        Kernel::Cubic => {
            for i in 0..ROW {
                values[i] = squares[i] * squares[i].sqrt();
            }
        }
        Kernel::Quintic => {
            for i in 0..ROW {
                values[i] = -squares[i] * squares[i] * squares[i].sqrt();
            }
        }
        Kernel::ThinPlate => {
            for i in 0..ROW {
                values[i] = 0.5 * squares[i] * logarithm::<FUSED>(squares[i]);
            }
        }
        Kernel::Multiquadric => {
            for i in 0..ROW {
                values[i] = -(1.0 + squares[i]).sqrt();
            }
        }
        Kernel::InverseMultiquadric => {
            for i in 0..ROW {
                values[i] = 1.0 / (1.0 + squares[i]).sqrt();
            }
        }
        Kernel::WendlandC2 => {
            for i in 0..ROW {
                let r = squares[i].sqrt();
                let inside = (1.0 - r).max(0.0);
                let square = inside * inside;
                values[i] = square * square * (4.0 * r + 1.0);
            }
        }
    }
    values
}

/// eˣ for x up to 0; zero below −700.
#[inline(always)]
fn exponential<const FUSED: bool>(x: f64) -> f64 {
    // Added and taken away again, this rounds to whole numbers, which then stand in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const TERMS: usize = 14;
    const SERIES: [f64; TERMS] = {
        let mut series = [1.0; TERMS];
        let mut n = 1;
        while n < TERMS {
            series[n] = series[n - 1] / n as f64;
            n += 1;
        }
        series
    };
    let clamped = x.max(-700.0);
    let shifted = plus_times::<FUSED>(ROUND, clamped, std::f64::consts::LOG2_E);
    let whole = shifted - ROUND;
    let rest = plus_times::<FUSED>(clamped, -LN_2_HIGH, whole);
    let rest = plus_times::<FUSED>(rest, -LN_2_LOW, whole);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let value = power * horner::<FUSED, TERMS>(&SERIES, rest);
    if x < -700.0 { 0.0 } else { value }
}

/// ln x for x above 0 that is not denormal; some finite number else.
#[inline(always)]
fn logarithm<const FUSED: bool>(x: f64) -> f64 {
    const TERMS: usize = 12;
    const SERIES: [f64; TERMS] = {
        let mut series = [2.0; TERMS];
        let mut n = 1;
        while n < TERMS {
            series[n] = 2.0 / (2 * n + 1) as f64;
            n += 1;
        }
        series
    };
    /// 2⁵², whose lowest bits count ones.
    const ONES: u64 = 0x4330_0000_0000_0000;
    // √½, so that the mantissa lies around one.
    const LEAST: u64 = 0x3fe6_a09e_667f_3bcd;
    let bits = x.to_bits().wrapping_sub(LEAST);
    let exponent = f64::from_bits(ONES | (bits.wrapping_add(0x3ff << 52) >> 52)) - f64::from_bits(ONES);
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(LEAST));
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let of_mantissa = ratio * horner::<FUSED, TERMS>(&SERIES, ratio * ratio);
    plus_times::<FUSED>(of_mantissa, exponent - 1023.0, std::f64::consts::LN_2)
}

/// Σ coefficientₙ xⁿ.
#[inline(always)]
fn horner<const FUSED: bool, const TERMS: usize>(coefficients: &[f64; TERMS], x: f64) -> f64 {
    let mut sum = coefficients[TERMS - 1];
    for n in (0..TERMS - 1).rev() {
        sum = plus_times::<FUSED>(coefficients[n], sum, x);
    }
    sum
}

/// sum + a · b; fused only where the processor does that in one instruction.
#[inline(always)]
pub(super) fn plus_times<const FUSED: bool>(sum: f64, a: f64, b: f64) -> f64 {
    if FUSED { a.mul_add(b, sum) } else { a * b + sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn kernels_of_squares_are_the_kernels(r in 0f64..30.0, small in 0i32..40) {
            let distance = r * 0.5f64.powi(small);
            for kernel in Kernel::ALL {
                let expected = kernel.value(distance, 1.0);
                // The square is rounded: where a kernel is steep beside its own size, as the thin plate
                // is at 1, that alone shows.
                let of_rounding = (kernel.value(distance * (1.0 + f64::EPSILON), 1.0) - expected).abs();
                let allowed = 4e-15 * expected.abs().max(1e-6) + of_rounding;
                for values in [
                    kernel_of_square::<false>(kernel, &[distance * distance; ROW]),
                    kernel_of_square::<true>(kernel, &[distance * distance; ROW]),
                ] {
                    let error = (values[0] - expected).abs();
                    prop_assert!(error <= allowed, "{kernel:?} {distance} {error:e}");
                }
            }
        }

        #[test]
        fn arcs_are_arcs(quarter in 0f64..std::f64::consts::FRAC_PI_4, small in 0i32..50) {
            let quarter = quarter * 0.5f64.powi(small);
            let t = 2.0 * (quarter / 2.0).sin().powi(2);
            let squared = arc_squared::<false>(t);
            prop_assert!((squared - quarter * quarter).abs() <= 4e-15 * quarter * quarter);
        }
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!(exponential::<false>(0.0), 1.0);
        assert_eq!(exponential::<false>(-1e9), 0.0);
        assert!((exponential::<true>(-699.5) / (-699.5f64).exp() - 1.0).abs() < 1e-13);
        assert_eq!(kernel_of_square::<false>(Kernel::ThinPlate, &[0.0; ROW]), [0.0; ROW]);
        assert!((logarithm::<false>(1e-300) - 1e-300f64.ln()).abs() < 1e-12);
    }
}
