//! How far coordinates may go beyond the examples.

use eigenskin_core::driver::Clamp;

/// A sign that the examples use by less than this share of a coordinate's range is rounding.
const UNUSED: f64 = 1e-6;

/// The clamp of coordinates that were seen within these ranges (`component` → lowest, highest), each
/// widened by its `room` on both sides, but not across zero, where rest is, unless an example is on the
/// other side: a sign that was never seen has nothing to be extrapolated from, and costs a morph target.
pub(crate) fn clamp_beyond(
    ranges: impl IntoIterator<Item = (f64, f64)>,
    room: impl Fn(f64, f64) -> f64,
) -> Clamp {
    let (lowest, highest) = ranges
        .into_iter()
        .map(|(low, high)| {
            let room = room(low, high);
            let unused = UNUSED * (high - low);
            let crosses = [low < -unused, high > unused];
            (
                if crosses[0] { low - room } else { (low - room).max(low.min(0.0)) },
                if crosses[1] { high + room } else { (high + room).min(high.max(0.0)) },
            )
        })
        .unzip();
    Clamp::Range { lowest, highest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clamp_does_not_cross_zero_where_no_example_does() {
        let half = |low: f64, high: f64| 0.5 * (high - low);
        let ranges =
            [(0.0, 2.0), (-4.0, 0.0), (-1.0, 3.0), (0.0, 0.0), (-1e-9, 2.0), (-3.0, 2e-9), (4.0, 6.0)];
        let Clamp::Range { lowest, highest } = clamp_beyond(ranges, half) else { panic!("no clamp") };
        assert_eq!(lowest, [0.0, -6.0, -3.0, 0.0, -1e-9, -3.0 - 0.5 * (3.0 + 2e-9), 3.0]);
        assert_eq!(highest, [3.0, 0.0, 5.0, 0.0, 2.0 + 0.5 * (2.0 + 1e-9), 2e-9, 7.0]);
        // A signal that never moved stays at rest, whatever room others have.
        assert_eq!(
            clamp_beyond([(0.0, 0.0)], |_, _| 1.0),
            Clamp::Range { lowest: vec![0.0], highest: vec![0.0] }
        );
    }
}
