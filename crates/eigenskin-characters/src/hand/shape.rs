//! The hand's body: fingers, palm, ball of the thumb, wrist.

use glam::DVec3;

use super::Finger;
use crate::implicit::{Body, Capsule, Group};

/// Fillet between the phalanges of one finger.
pub(super) const FINGER_BLEND: f64 = 0.004;

/// The whole hand, cut off behind the wrist.
pub(super) fn body(fingers: &[Finger; 5]) -> Body {
    let mut groups = vec![Group { limbs: palm_limbs(fingers), blend: 0.024, joins: 0.016 }];
    for (index, finger) in fingers.iter().enumerate() {
        let joins = if index == 0 { 0.024 } else { 0.008 };
        groups.push(Group { limbs: finger_limbs(finger), blend: FINGER_BLEND, joins });
    }
    let end = DVec3::new(0.0, -0.034, 0.0);
    Body { groups, cuts: vec![(end, DVec3::NEG_Y, 0.008)] }
}

/// The phalanges of a finger.
pub(super) fn finger_limbs(finger: &Finger) -> Vec<Capsule> {
    (0..3)
        .map(|k| Capsule::new(finger.points[k], finger.points[k + 1], finger.radii[k], finger.radii[k + 1]))
        .collect()
}

/// The resting bone of a finger within the palm.
pub(super) fn metacarpal_limb(finger: &Finger) -> Option<Capsule> {
    let base = finger.metacarpal?;
    Some(Capsule::new(base, finger.points[0], 0.0125, 0.0110))
}

/// Metacarpals, the pads of the palm and the wrist.
fn palm_limbs(fingers: &[Finger; 5]) -> Vec<Capsule> {
    let mm = |x: f64, y: f64, z: f64| DVec3::new(x, y, z) * 1e-3;
    let limb = |from, to, a: f64, b: f64| Capsule::new(from, to, 1e-3 * a, 1e-3 * b);
    let mut limbs: Vec<Capsule> = fingers.iter().filter_map(metacarpal_limb).collect();
    // Pads under the knuckles, which also fill the webs between the fingers.
    let pad = |f: &Finger| f.points[0] + 0.008 * (f.points[1] - f.points[0]).normalize() + mm(0.0, 0.0, 2.0);
    let pads: Vec<DVec3> = fingers[1..].iter().map(pad).collect();
    limbs.extend(pads.windows(2).map(|pair| limb(pair[0], pair[1], 8.0, 8.0)));
    // Ball of the thumb, and the web to the index finger.
    limbs.push(limb(mm(14.0, 14.0, 7.0), mm(35.0, 45.0, 12.0), 13.0, 11.5));
    limbs.push(limb(mm(26.0, 44.0, 7.0), mm(31.0, 68.0, 2.0), 10.0, 8.0));
    // Ball of the little finger.
    limbs.push(limb(mm(-17.0, 12.0, 5.0), mm(-31.0, 66.0, 3.0), 12.0, 10.0));
    // Wrist: two bones side by side.
    limbs.push(limb(mm(11.0, -60.0, 0.0), mm(10.0, 12.0, 0.0), 17.5, 15.5));
    limbs.push(limb(mm(-11.0, -60.0, 0.0), mm(-10.0, 12.0, 0.0), 17.0, 15.5));
    limbs
}
