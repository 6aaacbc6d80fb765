//! Light that stands still against the camera.

use eigenskin_core::glam::Vec3;

/// A sky, in camera axes (right, up, toward the viewer).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lighting {
    /// diffuse light on open surfaces: factors of the nine real spherical harmonics up to the second
    /// band, in the order 1, y, z, x, xy, yz, 3z² − 1, xz, x² − y² (Ramamoorthi and Hanrahan 2001)
    pub harmonics: [Vec3; 9],
    /// toward the lamp that makes surfaces gleam, unit length
    pub lamp: Vec3,
}

impl Lighting {
    /// The sky of the report's pictures: cool from above, warm from below, a broad warm lamp at the
    /// upper left, a weak one at the right.
    pub const STUDIO: Self = Self {
        harmonics: [
            Vec3::new(2.2234, 2.2348, 2.3094),
            Vec3::new(0.7989, 0.8286, 0.8401),
            Vec3::new(0.5482, 0.5279, 0.5016),
            Vec3::new(-0.4152, -0.3749, -0.3075),
            Vec3::new(-0.1989, -0.1887, -0.1738),
            Vec3::new(0.2132, 0.2009, 0.1822),
            Vec3::new(-0.0131, -0.0131, -0.0133),
            Vec3::new(-0.1536, -0.1406, -0.1191),
            Vec3::new(-0.0355, -0.0297, -0.0195),
        ],
        lamp: Vec3::new(-0.512_321, 0.652_045, 0.558_896),
    };

    /// About how bright the sky is in a direction in camera axes: the light with the smoothing of
    /// diffuse surfaces taken out.
    pub(super) fn brightness(&self, direction: Vec3) -> f32 {
        // Cosine lobes damp the three bands by 1, 2/3 and 1/4.
        let sharpening = [1.0, 1.5, 1.5, 1.5, 4.0, 4.0, 4.0, 4.0, 4.0];
        let light: f32 = self
            .harmonics
            .iter()
            .zip(harmonics(direction))
            .zip(sharpening)
            .map(|((factor, value), sharpening)| factor.element_sum() / 3.0 * value * sharpening)
            .sum();
        light.max(0.0)
    }
}

/// The nine real spherical harmonics of a unit vector.
fn harmonics(d: Vec3) -> [f32; 9] {
    [
        0.282_095,
        0.488_603 * d.y,
        0.488_603 * d.z,
        0.488_603 * d.x,
        1.092_548 * d.x * d.y,
        1.092_548 * d.y * d.z,
        0.315_392 * (3.0 * d.z * d.z - 1.0),
        1.092_548 * d.x * d.z,
        0.546_274 * (d.x * d.x - d.y * d.y),
    ]
}
