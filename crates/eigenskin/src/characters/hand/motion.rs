//! Poses of the hand with a name, and the motion that shows it.

/// Angles of one finger in degrees: bend and spread of the first joint, bends of the other two.
type FingerAngles = [f64; 4];

const OPEN: FingerAngles = [0.0, 0.0, 0.0, 0.0];
const CURLED: FingerAngles = [-72.0, 0.0, -92.0, -48.0];

/// Fist, point, pinch, spread, hook and thumb up, `degree of freedom` in radians each.
pub(super) fn named_angles() -> Vec<(&'static str, Vec<f64>)> {
    vec![
        ("fist", angles(fist())),
        ("point", angles(point())),
        ("pinch", angles(pinch())),
        (
            "spread",
            angles([
                [10.0, -12.0, 0.0, 0.0],
                [0.0, -12.0, 0.0, 0.0],
                OPEN,
                [0.0, 8.0, 0.0, 0.0],
                [0.0, 15.0, 0.0, 0.0],
            ]),
        ),
        ("hook", angles([OPEN, HOOKED, HOOKED, HOOKED, HOOKED])),
        ("thumb-up", angles([[15.0, 0.0, 0.0, 0.0], CURLED, CURLED, CURLED, CURLED])),
    ]
}

const HOOKED: FingerAngles = [-10.0, 0.0, -80.0, -50.0];
const FOLDED_THUMB: FingerAngles = [-20.0, 12.0, -35.0, -40.0];

fn fist() -> [FingerAngles; 5] {
    [FOLDED_THUMB, CURLED, CURLED, CURLED, CURLED]
}

fn point() -> [FingerAngles; 5] {
    [FOLDED_THUMB, OPEN, CURLED, CURLED, CURLED]
}

fn pinch() -> [FingerAngles; 5] {
    [
        [-10.0, 20.0, -15.0, -25.0],
        [-45.0, 0.0, -50.0, -25.0],
        [-20.0, 0.0, -20.0, -10.0],
        [-14.0, 0.0, -15.0, -8.0],
        [-8.0, 0.0, -12.0, -6.0],
    ]
}

/// Open, a fist finger by finger, point, pinch, open: seconds and `degree of freedom` in radians.
pub(super) fn keys() -> Vec<(f64, Vec<f64>)> {
    let mut keys = vec![(0.0, angles([OPEN; 5]))];
    let mut now = [OPEN; 5];
    for (index, finger) in [4, 3, 2, 1, 0].into_iter().enumerate() {
        now[finger] = fist()[finger];
        keys.push((0.35 * (index + 1) as f64, angles(now)));
    }
    keys.extend([(2.1, angles(fist())), (2.7, angles(point())), (3.1, angles(point()))]);
    keys.extend([(3.8, angles(pinch())), (4.2, angles(pinch())), (5.0, angles([OPEN; 5]))]);
    keys
}

fn angles(hand: [FingerAngles; 5]) -> Vec<f64> {
    hand.as_flattened().iter().map(|degrees| degrees.to_radians()).collect()
}
