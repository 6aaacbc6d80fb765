//! Poses of the hand with a name, and the motion that shows it.

/// Angles of one finger in degrees: bend and spread of the first joint, bends of the other two.
type FingerAngles = [f64; 4];

const OPEN: FingerAngles = [0.0, 0.0, 0.0, 0.0];
const CURLED: FingerAngles = [-72.0, 0.0, -92.0, -48.0];

const HOOKED: FingerAngles = [-10.0, 0.0, -80.0, -50.0];
const FOLDED_THUMB: FingerAngles = [-20.0, 12.0, -35.0, -40.0];

const FIST: [FingerAngles; 5] = [FOLDED_THUMB, CURLED, CURLED, CURLED, CURLED];
const POINT: [FingerAngles; 5] = [FOLDED_THUMB, OPEN, CURLED, CURLED, CURLED];
/// The pads of thumb and index finger meet.
const PINCH: [FingerAngles; 5] = [
    [-8.9, -4.2, -17.8, -19.0],
    [-27.3, 8.0, -62.5, -46.7],
    [-20.0, 0.0, -22.0, -12.0],
    [-14.0, 0.0, -16.0, -9.0],
    [-8.0, 0.0, -12.0, -6.0],
];
const SPREAD: [FingerAngles; 5] =
    [[10.0, 12.0, 0.0, 0.0], [0.0, 10.0, 0.0, 0.0], OPEN, [0.0, -6.0, 0.0, 0.0], [0.0, -10.0, 0.0, 0.0]];

/// `degree of freedom` in radians each.
pub(super) fn named_angles() -> Vec<(&'static str, Vec<f64>)> {
    vec![
        ("fist", angles(FIST)),
        ("point", angles(POINT)),
        ("pinch", angles(PINCH)),
        ("spread", angles(SPREAD)),
        ("hook", angles([OPEN, HOOKED, HOOKED, HOOKED, HOOKED])),
        ("thumb-up", angles([[12.0, 0.0, 0.0, 0.0], CURLED, CURLED, CURLED, CURLED])),
    ]
}

/// Open, a fist finger by finger, point, pinch, open: seconds and `degree of freedom` in radians.
pub(super) fn keys() -> Vec<(f64, Vec<f64>)> {
    let mut keys = vec![(0.0, angles([OPEN; 5]))];
    let mut now = [OPEN; 5];
    for (index, finger) in [4, 3, 2, 1, 0].into_iter().enumerate() {
        now[finger] = FIST[finger];
        keys.push((0.35 * (index + 1) as f64, angles(now)));
    }
    keys.extend([(2.1, angles(FIST)), (2.7, angles(POINT)), (3.1, angles(POINT))]);
    keys.extend([(3.8, angles(PINCH)), (4.2, angles(PINCH)), (5.0, angles([OPEN; 5]))]);
    keys
}

fn angles(hand: [FingerAngles; 5]) -> Vec<f64> {
    hand.as_flattened().iter().map(|degrees| degrees.to_radians()).collect()
}
