//! How far apart two shapes are.

use eigenskin_core::glam::Vec3;

/// Largest distance between two lists of points.
pub fn furthest(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max)
}

/// Largest angle between two lists of directions, degrees.
pub fn largest_angle(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    let angle = |(a, b): (&Vec3, &Vec3)| {
        let (a, b) = (a.as_dvec3(), b.as_dvec3());
        a.cross(b).length().atan2(a.dot(b)).to_degrees()
    };
    a.iter().zip(b).map(angle).fold(0.0, f64::max)
}
