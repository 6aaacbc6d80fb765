//! A camera that turns around what it looks at.

use eigenskin_core::glam::DVec3;
use eigenskin_gpu::render::{Camera, Projection};

/// Radians per point of a drag: across a window of 900 points it is about one turn.
const TURN_PER_POINT: f64 = 0.007;
/// Straight up and down leave no horizon.
const MOST_PITCH: f64 = 1.55;
/// How near and how far one can look.
const ZOOM: std::ops::RangeInclusive<f64> = 0.1..=60.0;
/// Half the size of the subject over the distance of the eye: a mild telephoto lens.
const PERSPECTIVE: f64 = 0.22;

/// Where the eye is. Distances are those of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Orbit {
    /// what is looked at
    target: DVec3,
    /// half the size of what was framed last
    radius: f64,
    /// radians around `up`, then above the horizon
    yaw: f64,
    pitch: f64,
    /// 1: what was framed fills the view
    zoom: f64,
    /// right, up and front of the subject
    base: [DVec3; 3],
}

/// The part of the window that is seen past the panel, pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// of the whole window
    pub window: [f64; 2],
    /// middle of the free part
    pub middle: [f64; 2],
    /// its size
    pub size: [f64; 2],
}

/// A camera and what its lengths are in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    /// for the kernels
    pub camera: Camera,
    /// at the target
    pub pixels_per_unit: f64,
    /// half the size of the subject
    pub radius: f64,
}

impl Orbit {
    /// Looks from `from_direction` at nothing yet; `up` stays up.
    pub fn new(from_direction: DVec3, up: DVec3) -> Self {
        let up = up.normalize_or(DVec3::Y);
        let toward = from_direction.normalize_or(DVec3::Z);
        let right = up.cross(toward).try_normalize().unwrap_or_else(|| up.any_orthonormal_vector());
        let pitch = toward.dot(up).clamp(-1.0, 1.0).asin().clamp(-MOST_PITCH, MOST_PITCH);
        let base = [right, up, right.cross(up)];
        Self { target: DVec3::ZERO, radius: 1.0, yaw: 0.0, pitch, zoom: 1.0, base }
    }

    /// Looks at a sphere, so that it fills the view, from where the eye is now.
    pub fn frame(&mut self, centre: DVec3, radius: f64) {
        self.target = centre;
        self.radius = radius.max(1e-9);
        self.zoom = 1.0;
    }

    /// Turns by a drag, points right and down.
    pub fn turn(&mut self, right: f64, down: f64) {
        self.yaw = (self.yaw - TURN_PER_POINT * right) % std::f64::consts::TAU;
        self.pitch = (self.pitch + TURN_PER_POINT * down).clamp(-MOST_PITCH, MOST_PITCH);
    }

    /// Moves what is looked at along with a drag, pixels right and down.
    pub fn pan(&mut self, right: f64, down: f64, area: &Area) {
        let [across, up, _] = self.axes();
        let unit = 1.0 / self.pixels_per_unit(area);
        let moved = self.target + unit * (up * down - across * right);
        if moved.is_finite() {
            self.target = moved;
        }
    }

    /// Comes nearer by a factor above 1.
    pub fn zoom_by(&mut self, factor: f64) {
        let zoom = self.zoom * factor;
        if zoom.is_finite() {
            self.zoom = zoom.clamp(*ZOOM.start(), *ZOOM.end());
        }
    }

    /// Sets the angles, degrees around `up` from the first direction and above the horizon, and the zoom.
    pub fn set(&mut self, yaw: Option<f64>, pitch: Option<f64>, zoom: Option<f64>) {
        if let Some(yaw) = yaw {
            self.yaw = yaw.to_radians() % std::f64::consts::TAU;
        }
        if let Some(pitch) = pitch {
            self.pitch = pitch.to_radians().clamp(-MOST_PITCH, MOST_PITCH);
        }
        if let Some(zoom) = zoom {
            self.zoom = zoom.clamp(*ZOOM.start(), *ZOOM.end());
        }
    }

    /// The camera, when nothing of the shape is farther than `reach` from `centre`.
    pub fn sight(&self, centre: DVec3, reach: f64, area: &Area) -> Sight {
        let axes = self.axes();
        let reach = (reach + centre.distance(self.target)).max(self.radius);
        let pixels_per_unit = self.pixels_per_unit(area);
        let camera = Camera::new(&Projection {
            axes,
            centre: self.target,
            radius: self.radius,
            reach,
            // The eye stays outside, whatever is looked at.
            inverse_distance: (PERSPECTIVE / self.radius).min(0.8 / reach),
            pixels_per_unit,
            offset: area.middle,
            size: area.window,
        });
        Sight { camera, pixels_per_unit, radius: self.radius }
    }

    /// Right, up and toward the viewer.
    fn axes(&self) -> [DVec3; 3] {
        let [right, up, front] = self.base;
        let (sine, cosine) = self.yaw.sin_cos();
        let level = front * cosine + right * sine;
        let across = right * cosine - front * sine;
        let toward = level * self.pitch.cos() + up * self.pitch.sin();
        [across, toward.cross(across), toward]
    }

    fn pixels_per_unit(&self, area: &Area) -> f64 {
        0.46 * area.size[0].min(area.size[1]).max(1.0) / self.radius * self.zoom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { window: [900.0, 600.0], middle: [300.0, 300.0], size: [600.0, 600.0] };

    fn pixel(sight: &Sight, p: DVec3) -> [f64; 2] {
        let clip = sight.camera.clip_from_world * p.as_vec3().extend(1.0);
        [
            0.5 * (1.0 + f64::from(clip.x / clip.w)) * AREA.window[0],
            0.5 * (1.0 - f64::from(clip.y / clip.w)) * AREA.window[1],
        ]
    }

    #[test]
    fn what_is_framed_stands_in_the_middle_of_the_free_part() {
        let mut orbit = Orbit::new(DVec3::new(0.3, 0.2, 1.0), DVec3::Y);
        let centre = DVec3::new(1.0, -2.0, 0.5);
        orbit.frame(centre, 0.25);
        orbit.turn(80.0, -40.0);
        let sight = orbit.sight(centre, 0.25, &AREA);
        let found = pixel(&sight, centre);
        assert!((found[0] - 300.0).abs() < 1e-3 && (found[1] - 300.0).abs() < 1e-3, "{found:?}");
        // The whole sphere is seen, and nearly fills the height.
        let top = pixel(&sight, centre + sight.camera.axes[1].as_dvec3() * 0.25);
        assert!(top[1] > 5.0 && top[1] < 60.0, "{top:?}");
    }

    #[test]
    fn the_first_direction_is_the_one_asked_for_and_angles_come_back() {
        let from = DVec3::new(0.35, 0.25, 1.0).normalize();
        let mut orbit = Orbit::new(from, DVec3::Y);
        let toward = |orbit: &Orbit| orbit.sight(DVec3::ZERO, 1.0, &AREA).camera.axes[2].as_dvec3();
        assert!(toward(&orbit).distance(from) < 1e-6);
        orbit.turn(123.0, 45.0);
        assert!(toward(&orbit).distance(from) > 0.3);
        orbit.turn(-123.0, -45.0);
        assert!(toward(&orbit).distance(from) < 1e-6);
        orbit.set(Some(180.0), Some(-from.y.asin().to_degrees()), None);
        assert!(toward(&orbit).distance(-from) < 1e-6);
    }

    #[test]
    fn dragging_to_the_right_brings_the_left_side_forward() {
        let mut orbit = Orbit::new(DVec3::Z, DVec3::Y);
        orbit.turn(50.0, 0.0);
        let sight = orbit.sight(DVec3::ZERO, 1.0, &AREA);
        assert!(pixel(&sight, DVec3::Z * 0.5)[0] > 305.0, "the front has moved right with the pointer");
        orbit.turn(-50.0, 50.0);
        let sight = orbit.sight(DVec3::ZERO, 1.0, &AREA);
        assert!(pixel(&sight, DVec3::Z * 0.5)[1] > 305.0, "and down");
    }

    #[test]
    fn panning_follows_the_pointer_and_zoom_has_ends() {
        let mut orbit = Orbit::new(DVec3::Z, DVec3::Y);
        orbit.frame(DVec3::ZERO, 2.0);
        orbit.pan(30.0, -12.0, &AREA);
        let found = pixel(&orbit.sight(DVec3::ZERO, 2.0, &AREA), DVec3::ZERO);
        assert!((found[0] - 330.0).abs() < 1e-3 && (found[1] - 288.0).abs() < 1e-3, "{found:?}");
        for factor in [1e9, f64::NAN, f64::INFINITY, 1e-30] {
            orbit.zoom_by(factor);
            assert!(ZOOM.contains(&orbit.zoom));
            assert!(orbit.sight(DVec3::splat(1e6), 3.0, &AREA).camera.clip_from_world.is_finite());
        }
    }
}
