//! The nearest point of a triangle.

use glam::DVec3;

/// The shares of a triangle's corners in its point nearest to `point`: inside, barycentric
/// coordinates; else on an edge.
pub fn nearest_shares(point: DVec3, [a, b, c]: [DVec3; 3]) -> [f64; 3] {
    let normal = (b - a).cross(c - a);
    let area = normal.length_squared();
    let share = |from: DVec3, to: DVec3| (to - from).cross(point - from).dot(normal) / area;
    let (of_c, of_a) = (share(a, b), share(b, c));
    let of_b = 1.0 - of_a - of_c;
    if of_a >= 0.0 && of_b >= 0.0 && of_c >= 0.0 {
        return [of_a, of_b, of_c];
    }
    let along = |from: DVec3, to: DVec3| {
        let edge = to - from;
        ((point - from).dot(edge) / edge.length_squared()).clamp(0.0, 1.0)
    };
    let (ab, bc, ca) = (along(a, b), along(b, c), along(c, a));
    [[1.0 - ab, ab, 0.0], [0.0, 1.0 - bc, bc], [ca, 0.0, 1.0 - ca]]
        .into_iter()
        .min_by(|p, q| {
            let far = |s: &[f64; 3]| mixed([a, b, c], *s).distance_squared(point);
            far(p).total_cmp(&far(q))
        })
        .unwrap_or([1.0, 0.0, 0.0])
}

/// Corners mixed by shares.
pub fn mixed([a, b, c]: [DVec3; 3], shares: [f64; 3]) -> DVec3 {
    shares[0] * a + shares[1] * b + shares[2] * c
}
