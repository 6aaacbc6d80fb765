//! One triangle seen from a point: its solid angle, and what of it is nearest.

use eigenskin_core::glam::DVec3;

/// Signed solid angle of a triangle (van Oosterom and Strackee 1983), `corners` relative to the
/// eye; positive when the eye is behind the triangle.
pub(super) fn solid_angle([a, b, c]: [DVec3; 3]) -> f64 {
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let volume = a.dot(b.cross(c));
    let spread = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    // An eye on the triangle's plane sees nothing of it, from its edges and corners neither.
    if volume == 0.0 { 0.0 } else { 2.0 * volume.atan2(spread) }
}

/// The point of a triangle nearest to `p` (by the regions of Ericson 2005, §5.1.5).
pub(super) fn closest_point([a, b, c]: [DVec3; 3], p: DVec3) -> DVec3 {
    let (ab, ac) = (b - a, c - a);
    let from_a = p - a;
    let (d1, d2) = (ab.dot(from_a), ac.dot(from_a));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let from_b = p - b;
    let (d3, d4) = (ab.dot(from_b), ac.dot(from_b));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let beside_ab = d1 * d4 - d3 * d2;
    if beside_ab <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + ab * share(d1, d1 - d3);
    }
    let from_c = p - c;
    let (d5, d6) = (ab.dot(from_c), ac.dot(from_c));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let beside_ac = d5 * d2 - d1 * d6;
    if beside_ac <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + ac * share(d2, d2 - d6);
    }
    let beside_bc = d3 * d6 - d5 * d4;
    if beside_bc <= 0.0 && d4 >= d3 && d5 >= d6 {
        return b + (c - b) * share(d4 - d3, (d4 - d3) + (d5 - d6));
    }
    let all = beside_ab + beside_ac + beside_bc;
    a + ab * share(beside_ac, all) + ac * share(beside_ab, all)
}

/// Part of a whole; zero of nothing, as in triangles without area.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
