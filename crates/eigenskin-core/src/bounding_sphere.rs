//! The smallest enclosing sphere (Welzl 1991, with the move-to-front order of Gärtner 1999).

use glam::{DMat3, DVec3, Vec3};

/// A sphere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundingSphere {
    /// centre
    pub centre: DVec3,
    /// radius, in the unit of the positions
    pub radius: f64,
}

impl BoundingSphere {
    /// The smallest sphere that contains all `positions`; radius zero for none or one.
    pub fn of(positions: &[Vec3]) -> Self {
        let mut points: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        let mut best = smallest(&mut points, &mut Vec::with_capacity(4), 0);
        // The square root and the tolerance of `contains` may leave a point outside by a rounding.
        for point in &points {
            best.radius = best.radius.max(point.distance(best.centre));
        }
        best
    }

    fn contains(&self, point: DVec3) -> bool {
        point.distance_squared(self.centre) <= self.radius * self.radius * (1.0 + 1e-12)
    }
}

/// Smallest sphere around `points` with all of `on_surface` on it. Recursion is at most four deep:
/// every level puts one more point on the surface.
fn smallest(points: &mut [DVec3], on_surface: &mut Vec<DVec3>, depth: usize) -> BoundingSphere {
    let mut sphere = circumscribed(on_surface);
    if depth == 4 {
        return sphere;
    }
    for i in 0..points.len() {
        if !sphere.contains(points[i]) {
            let point = points[i];
            on_surface.push(point);
            sphere = smallest(&mut points[..i], on_surface, depth + 1);
            on_surface.pop();
            points[..=i].rotate_right(1);
        }
    }
    sphere
}

/// The smallest sphere with up to four points on its surface; an empty one has a negative radius
/// that contains nothing.
fn circumscribed(points: &[DVec3]) -> BoundingSphere {
    let Some((&origin, others)) = points.split_first() else {
        return BoundingSphere { centre: DVec3::ZERO, radius: 0.0 };
    };
    let edges: Vec<DVec3> = others.iter().map(|&p| p - origin).collect();
    let offset = match edges[..] {
        [] => DVec3::ZERO,
        [a] => 0.5 * a,
        [a, b] => {
            let normal = a.cross(b);
            let square = normal.length_squared();
            if square == 0.0 {
                return BoundingSphere { centre: origin, radius: 0.0 };
            }
            (b.length_squared() * normal.cross(a) - a.length_squared() * normal.cross(b)) / (2.0 * square)
        }
        [a, b, c, ..] => {
            let rows = DMat3::from_cols(a, b, c).transpose();
            let right = 0.5 * DVec3::new(a.length_squared(), b.length_squared(), c.length_squared());
            if rows.determinant() == 0.0 {
                return BoundingSphere { centre: origin, radius: 0.0 };
            }
            rows.inverse() * right
        }
    };
    BoundingSphere { centre: origin + offset, radius: offset.length() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_shapes() {
        let cube: Vec<Vec3> =
            (0..8).map(|i| Vec3::new((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32)).collect();
        let sphere = BoundingSphere::of(&cube);
        assert!((sphere.radius - 0.75f64.sqrt()).abs() < 1e-9);
        assert!((sphere.centre - DVec3::splat(0.5)).length() < 1e-9);
        // An obtuse triangle is bounded by its longest side alone.
        let obtuse = BoundingSphere::of(&[Vec3::ZERO, Vec3::new(1.0, 0.1, 0.0), Vec3::new(2.0, 0.0, 0.0)]);
        assert!((obtuse.radius - 1.0).abs() < 1e-9);
        assert_eq!(BoundingSphere::of(&[Vec3::X]).radius, 0.0);
    }

    proptest! {
        /// Contains everything, and no shrunken sphere does: the centre lies in the hull of the
        /// points on the surface, so every direction away from it has a surface point behind.
        #[test]
        fn encloses_and_cannot_shrink(raw in prop::collection::vec([-1f32..1.0, -1f32..1.0, -1f32..1.0], 2..40)) {
            let points: Vec<Vec3> = raw.into_iter().map(Vec3::from_array).collect();
            let sphere = BoundingSphere::of(&points);
            let distances: Vec<f64> = points.iter().map(|p| p.as_dvec3().distance(sphere.centre)).collect();
            prop_assert!(distances.iter().all(|&d| d <= sphere.radius * (1.0 + 1e-9)));
            for i in 0..200 {
                let angle = f64::from(i) * 2.399_963;
                let z = 1.0 - f64::from(i) / 100.0;
                let direction = DVec3::new((1.0 - z * z).max(0.0).sqrt() * angle.cos(), (1.0 - z * z).max(0.0).sqrt() * angle.sin(), z);
                let moved = sphere.centre + 1e-3 * direction;
                let radius = points.iter().map(|p| p.as_dvec3().distance(moved)).fold(0.0, f64::max);
                prop_assert!(radius >= sphere.radius - 1e-9);
            }
        }
    }
}
