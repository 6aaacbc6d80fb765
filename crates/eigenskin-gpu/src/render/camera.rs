//! From space to a picture.

use eigenskin_core::glam::{DMat4, DVec3, DVec4, Mat4, Vec3, Vec4};

/// A camera, as the kernels have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// depth 0 is near, below 1 is far
    pub clip_from_world: Mat4,
    /// where the eye is (w = 1), or the direction to it (w = 0)
    pub eye: Vec4,
    /// right, up and toward the viewer: the light stands still against these
    pub axes: [Vec3; 3],
    /// jump in clip depth that makes an outline
    pub outline_step: f32,
}

/// A camera in pixels. A point p at distance t = (p − centre) · toward lands
/// `pixels_per_unit` · (p − centre) · right / (1 − t · `inverse_distance`) right of `offset`; down likewise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projection {
    /// right, up and toward the viewer, at right angles
    pub axes: [DVec3; 3],
    /// what is looked at
    pub centre: DVec3,
    /// half the size of what is looked at
    pub radius: f64,
    /// nothing is farther from the centre
    pub reach: f64,
    /// 1 / distance of the eye from the centre, below 1 / reach; zero is orthographic
    pub inverse_distance: f64,
    /// at the centre
    pub pixels_per_unit: f64,
    /// pixels of the centre from the left and from the top
    pub offset: [f64; 2],
    /// pixels across and down
    pub size: [f64; 2],
}

/// Step in depth that draws an outline, as a share of the radius.
const OUTLINE_STEP: f64 = 0.06;

impl Camera {
    /// A camera given in pixels.
    pub fn new(projection: &Projection) -> Self {
        let Projection { axes: [right, up, toward], centre, inverse_distance, .. } = *projection;
        let row = |axis: DVec3| axis.extend(-axis.dot(centre));
        let w = DVec4::W - inverse_distance * row(toward);
        let clip = |axis: DVec3, index: usize, sign: f64| {
            let room = projection.size[index];
            let middle = sign * (2.0 * projection.offset[index] / room - 1.0);
            middle * w + (2.0 * projection.pixels_per_unit / room) * row(axis)
        };
        // The depth of the nearest point there can be; straight lines stay straight in it.
        let reach = projection.reach.max(f64::MIN_POSITIVE);
        let nearest = reach / (1.0 - (reach * inverse_distance).min(0.99));
        let depth_per_unit = 0.499 / nearest;
        let rows = [clip(right, 0, 1.0), clip(up, 1, -1.0), 0.5 * w - depth_per_unit * row(toward), w];
        let eye = if inverse_distance > 0.0 {
            (centre + toward / inverse_distance).extend(1.0)
        } else {
            toward.extend(0.0)
        };
        Self {
            clip_from_world: DMat4::from_rows(rows[0], rows[1], rows[2], rows[3]).as_mat4(),
            eye: eye.as_vec4(),
            axes: [right, up, toward].map(DVec3::as_vec3),
            outline_step: (OUTLINE_STEP * projection.radius * depth_per_unit) as f32,
        }
    }

    /// Looks at a sphere around `positions` from `from_direction`, with `up` up in the picture.
    /// `perspective` is the sphere's radius over the distance of the eye: 0 is orthographic, 0.2 a mild
    /// telephoto lens.
    pub fn around(
        positions: &[Vec3],
        from_direction: Vec3,
        up: Vec3,
        perspective: f32,
        width: u32,
        height: u32,
    ) -> Self {
        let low = positions.iter().fold(DVec3::INFINITY, |low, p| low.min(p.as_dvec3()));
        let high = positions.iter().fold(DVec3::NEG_INFINITY, |high, p| high.max(p.as_dvec3()));
        let centre = if positions.is_empty() { DVec3::ZERO } else { 0.5 * (low + high) };
        let radius = positions.iter().map(|p| p.as_dvec3().distance(centre)).fold(1e-12, f64::max);
        let toward = from_direction.as_dvec3().normalize_or(DVec3::Z);
        let right = up.as_dvec3().cross(toward);
        // Looking along "up" leaves the horizon open: any will do.
        let right = right.try_normalize().unwrap_or_else(|| toward.any_orthonormal_vector());
        let perspective = f64::from(perspective).clamp(0.0, 0.9);
        let size = [f64::from(width), f64::from(height)];
        // A sphere is seen a little larger than a disk in its middle.
        let seen_radius = radius / (1.0 - perspective * perspective).sqrt();
        Self::new(&Projection {
            axes: [right, toward.cross(right), toward],
            centre,
            radius,
            reach: radius,
            inverse_distance: perspective / radius,
            pixels_per_unit: 0.48 * size[0].min(size[1]) / seen_radius,
            offset: size.map(|room| 0.5 * room),
            size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points land where the projection in pixels says, by its own formula.
    #[test]
    fn clip_space_is_the_projection_in_pixels() {
        let toward = DVec3::new(0.3, 0.2, 0.9).normalize();
        let right = DVec3::Y.cross(toward).normalize();
        let projection = Projection {
            axes: [right, toward.cross(right), toward],
            centre: DVec3::new(1.0, 2.0, 3.0),
            radius: 0.8,
            reach: 1.0,
            inverse_distance: 0.4,
            pixels_per_unit: 50.0,
            offset: [70.0, 31.0],
            size: [120.0, 80.0],
        };
        let camera = Camera::new(&projection);
        for p in [DVec3::new(0.9, 2.4, 3.3), DVec3::new(1.5, 1.6, 2.9), projection.centre + toward] {
            let from_centre = p - projection.centre;
            let w = 1.0 - from_centre.dot(toward) * 0.4;
            let expected = [
                70.0 + 50.0 * from_centre.dot(right) / w,
                31.0 - 50.0 * from_centre.dot(toward.cross(right)) / w,
            ];
            let clip = camera.clip_from_world * p.as_vec3().extend(1.0);
            let place = clip.truncate() / clip.w;
            let x = 0.5 * (1.0 + f64::from(place.x)) * 120.0;
            let y = 0.5 * (1.0 - f64::from(place.y)) * 80.0;
            assert!((x - expected[0]).abs() < 1e-3 && (y - expected[1]).abs() < 1e-3, "{x} {y} {expected:?}");
            assert!(place.z > 0.0 && place.z < 1.0);
        }
        let depth = |p: DVec3| {
            let clip = camera.clip_from_world * p.as_vec3().extend(1.0);
            clip.z / clip.w
        };
        assert!(depth(projection.centre + toward) < depth(projection.centre));
    }

    #[test]
    fn a_camera_along_up_still_sees() {
        let shape = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let camera = Camera::around(&shape, Vec3::Y, Vec3::Y, 0.2, 50, 50);
        assert!(camera.clip_from_world.is_finite() && camera.axes[0].is_normalized());
        assert!(Camera::around(&[], Vec3::Y, Vec3::Y, 0.2, 50, 50).clip_from_world.is_finite());
    }
}
