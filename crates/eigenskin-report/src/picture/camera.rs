//! One camera for all panels, framed on everything that any panel shows or on a part of it.

use eigenskin_core::glam::{DVec3, Vec3};

use super::View;
use super::painter::PanelProjection;

/// Where a point lands in the picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Projected {
    /// pixels from the left
    pub x: f64,
    /// pixels from the top
    pub y: f64,
    /// larger is nearer; straight lines stay straight in it, so it may be interpolated on screen
    pub depth: f64,
    /// weight of perspective-correct interpolation
    pub inverse_w: f64,
}

/// A projection of space into a panel.
#[derive(Debug, Clone)]
pub(super) struct Camera {
    right: DVec3,
    up: DVec3,
    toward_eye: DVec3,
    centre: DVec3,
    radius: f64,
    /// 1 / distance of the eye from the centre; zero is orthographic
    inverse_distance: f64,
    pixels_per_unit: f64,
    offset: [f64; 2],
}

impl Camera {
    /// A camera that sees all `framed` points in a panel of `width × height` pixels and leaves
    /// `margin` pixels free on each side. None of `shapes` reaches behind the eye.
    pub fn framing(
        framed: &[&[Vec3]],
        shapes: &[&[Vec3]],
        view: &View,
        width: f64,
        height: f64,
        margin: f64,
    ) -> Self {
        let points = || framed.iter().flat_map(|shape| shape.iter()).map(|p| p.as_dvec3());
        let low = points().fold(DVec3::INFINITY, DVec3::min);
        let high = points().fold(DVec3::NEG_INFINITY, DVec3::max);
        let centre = 0.5 * (low + high);
        let radius = points().map(|p| (p - centre).length()).fold(0.0, f64::max);
        let (right, up, toward_eye) = axes(view);
        // At 0.9 the eye would nearly touch the shape: no picture is wanted from there.
        let perspective = f64::from(view.perspective).clamp(0.0, 0.9);
        let all = shapes.iter().flat_map(|shape| shape.iter()).map(|p| p.as_dvec3());
        let reach = all.map(|p| (p - centre).length()).fold(radius, f64::max);
        let inverse_distance = if reach > 0.0 { perspective / reach } else { 0.0 };

        let mut camera = Self {
            right,
            up,
            toward_eye,
            centre,
            radius,
            inverse_distance,
            pixels_per_unit: 1.0,
            offset: [0.0, 0.0],
        };
        let (mut least, mut most) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for p in points().map(|p| camera.project(p)) {
            for (axis, value) in [p.x, p.y].into_iter().enumerate() {
                least[axis] = least[axis].min(value);
                most[axis] = most[axis].max(value);
            }
        }
        let fit = |axis: usize, room: f64| (room - 2.0 * margin).max(1.0) / (most[axis] - least[axis]);
        let scale = fit(0, width).min(fit(1, height));
        camera.pixels_per_unit = if scale.is_finite() { scale } else { 1.0 };
        camera.offset = [(0, width), (1, height)]
            .map(|(axis, room)| 0.5 * room - 0.5 * camera.pixels_per_unit * (least[axis] + most[axis]));
        camera
    }

    /// Where `point` lands.
    pub fn project(&self, point: DVec3) -> Projected {
        let from_centre = point - self.centre;
        let toward = from_centre.dot(self.toward_eye);
        let inverse_w = 1.0 / (1.0 - toward * self.inverse_distance);
        Projected {
            x: self.offset[0] + self.pixels_per_unit * from_centre.dot(self.right) * inverse_w,
            y: self.offset[1] - self.pixels_per_unit * from_centre.dot(self.up) * inverse_w,
            depth: toward * inverse_w,
            inverse_w,
        }
    }

    /// Unit direction from `point` to the eye.
    pub fn direction_to_eye(&self, point: Vec3) -> Vec3 {
        if self.inverse_distance == 0.0 {
            return self.toward_eye.as_vec3();
        }
        let eye = self.centre + self.toward_eye / self.inverse_distance;
        (eye - point.as_dvec3()).normalize_or(self.toward_eye).as_vec3()
    }

    /// Half the size of what is framed.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The same in plain numbers.
    pub fn projection(&self) -> PanelProjection {
        PanelProjection {
            axes: [self.right, self.up, self.toward_eye],
            centre: self.centre,
            radius: self.radius,
            inverse_distance: self.inverse_distance,
            pixels_per_unit: self.pixels_per_unit,
            offset: self.offset,
        }
    }

    /// The camera's right, up and toward-the-viewer axes.
    pub fn axes(&self) -> [Vec3; 3] {
        [self.right.as_vec3(), self.up.as_vec3(), self.toward_eye.as_vec3()]
    }
}

/// Right, up and toward the eye, at right angles, whatever the caller gave.
fn axes(view: &View) -> (DVec3, DVec3, DVec3) {
    let toward_eye = view.from_direction.as_dvec3().normalize_or(DVec3::Z);
    let sideways = |up: DVec3| up.cross(toward_eye);
    let given = sideways(view.up.as_dvec3().normalize_or(DVec3::Y));
    // Looking along "up" leaves the horizon open: any will do.
    let right = if given.length() > 1e-6 { given } else { toward_eye.any_orthogonal_vector() };
    let right = right.normalize();
    (right, toward_eye.cross(right), toward_eye)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(perspective: f32) -> View {
        View { from_direction: Vec3::Z, up: Vec3::Y, perspective }
    }

    #[test]
    fn the_frame_touches_the_margin_and_is_centred() {
        let shape = [Vec3::new(10.0, 0.0, 1.0), Vec3::new(14.0, 1.0, -1.0), Vec3::new(12.0, 3.0, 0.0)];
        for perspective in [0.0, 0.4] {
            let camera = Camera::framing(&[&shape], &[&shape], &view(perspective), 220.0, 400.0, 10.0);
            let landed: Vec<Projected> = shape.iter().map(|p| camera.project(p.as_dvec3())).collect();
            let xs = landed.iter().map(|p| p.x);
            let ys = landed.iter().map(|p| p.y);
            assert!((xs.clone().fold(f64::MAX, f64::min) - 10.0).abs() < 1e-9);
            assert!((xs.fold(f64::MIN, f64::max) - 210.0).abs() < 1e-9);
            let middle = 0.5 * (ys.clone().fold(f64::MAX, f64::min) + ys.fold(f64::MIN, f64::max));
            assert!((middle - 200.0).abs() < 1e-9);
            assert!(landed[0].depth > landed[2].depth && landed[2].depth > landed[1].depth);
            // Up in space is up in the picture: fewer pixels from the top.
            assert!(landed[2].y < landed[0].y);
        }
    }

    /// A part fills the panel, the whole stays in front of the eye.
    #[test]
    fn a_part_is_seen_from_near() {
        let part = [Vec3::ZERO, Vec3::new(1.0, 0.5, 0.0)];
        let whole = [part[0], part[1], Vec3::new(3.0, 0.0, 40.0), Vec3::new(-30.0, 0.0, 2.0)];
        let camera = Camera::framing(&[&part], &[&whole], &view(0.4), 100.0, 100.0, 20.0);
        let [a, b] = part.map(|p| camera.project(p.as_dvec3()));
        assert!((a.x - 20.0).abs() < 1e-9 && (b.x - 80.0).abs() < 1e-9);
        assert!(whole.iter().all(|p| camera.project(p.as_dvec3()).inverse_w > 0.0));
        assert!(camera.radius() < 1.0);
    }

    #[test]
    fn perspective_makes_near_things_larger() {
        let shape =
            [Vec3::new(-1.0, 0.0, 1.0), Vec3::new(1.0, 0.0, 1.0), Vec3::NEG_Z, Vec3::new(1.0, 0.0, -1.0)];
        let width = |perspective| {
            let camera = Camera::framing(&[&shape], &[&shape], &view(perspective), 100.0, 100.0, 0.0);
            let [a, b, c, d] = shape.map(|p| camera.project(p.as_dvec3()).x);
            (b - a) / (2.0 * (d - c))
        };
        assert!((width(0.0) - 1.0).abs() < 1e-12);
        // The eye is at √2 / 0.5 from the centre: near things are (2√2 + 1) / (2√2 − 1) larger.
        let expected = (8f64.sqrt() + 1.0) / (8f64.sqrt() - 1.0);
        assert!((width(0.5) - expected).abs() < 1e-6);
    }

    #[test]
    fn odd_views_still_have_axes_at_right_angles() {
        for (from_direction, up) in [(Vec3::Y, Vec3::Y), (Vec3::ZERO, Vec3::ZERO), (Vec3::X, Vec3::NEG_X)] {
            let (r, u, e) = axes(&View { from_direction, up, perspective: 0.0 });
            for (a, b) in [(r, u), (u, e), (e, r)] {
                assert!(a.dot(b).abs() < 1e-12 && (a.length() - 1.0).abs() < 1e-12);
            }
            assert!(r.cross(u).dot(e) > 0.99);
        }
    }
}
