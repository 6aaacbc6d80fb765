//! Bodies as implicit surfaces: rounded limbs joined by smooth unions, negative inside.

use glam::DVec3;

/// Value and gradient of a field at a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub value: f64,
    pub gradient: DVec3,
}

/// A limb: a segment with a radius that changes smoothly from one end to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Capsule {
    pub from: DVec3,
    pub to: DVec3,
    pub radius_from: f64,
    pub radius_to: f64,
}

impl Capsule {
    pub(super) fn new(from: DVec3, to: DVec3, radius_from: f64, radius_to: f64) -> Self {
        Self { from, to, radius_from, radius_to }
    }

    /// Close to the distance from the limb's surface.
    pub(super) fn sample(&self, point: DVec3) -> Sample {
        let along = self.to - self.from;
        let length_squared = along.length_squared().max(1e-30);
        let raw = (point - self.from).dot(along) / length_squared;
        let share = raw.clamp(0.0, 1.0);
        let offset = point - (self.from + share * along);
        let distance = offset.length();
        // Smoothstep: no slope at the ends, so the surface has no crease where the caps begin.
        let radius =
            self.radius_from + (self.radius_to - self.radius_from) * share * share * (3.0 - 2.0 * share);
        let slope = if raw == share { 6.0 * share * (1.0 - share) } else { 0.0 };
        let radius_gradient = along * ((self.radius_to - self.radius_from) * slope / length_squared);
        Sample { value: distance - radius, gradient: offset / distance.max(1e-30) - radius_gradient }
    }
}

/// Limbs that melt together (`blend`: width of the fillet), and then into the body (`joins`).
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub limbs: Vec<Capsule>,
    pub blend: f64,
    pub joins: f64,
}

impl Group {
    pub(super) fn sample(&self, point: DVec3) -> Sample {
        union_of(self.limbs.iter().map(|limb| limb.sample(point)), self.blend)
    }
}

/// A whole body: groups in a row, then cut off by rounded planes.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub groups: Vec<Group>,
    /// point, outward unit normal, width of the rounding
    pub cuts: Vec<(DVec3, DVec3, f64)>,
}

impl Body {
    pub(super) fn sample(&self, point: DVec3) -> Sample {
        let mut all = Sample { value: f64::INFINITY, gradient: DVec3::ZERO };
        for group in &self.groups {
            all = smooth_union(all, group.sample(point), group.joins);
        }
        for &(at, normal, width) in &self.cuts {
            let outside = Sample { value: (point - at).dot(normal), gradient: normal };
            all = negative(smooth_union(negative(all), negative(outside), width));
        }
        all
    }

    /// The point moved onto the surface: Newton steps along the gradient.
    pub(super) fn project(&self, mut point: DVec3, steps: usize) -> DVec3 {
        for _ in 0..steps {
            let Sample { value, gradient } = self.sample(point);
            point -= gradient * (value / gradient.length_squared().max(1e-6));
        }
        point
    }

    /// Corners of a box around the body.
    pub(super) fn bounds(&self) -> (DVec3, DVec3) {
        let mut lowest = DVec3::INFINITY;
        let mut highest = DVec3::NEG_INFINITY;
        let mut fillet = 0.0f64;
        for group in &self.groups {
            fillet = fillet.max(group.joins).max(group.blend);
            for limb in &group.limbs {
                let radius = limb.radius_from.max(limb.radius_to);
                for end in [limb.from, limb.to] {
                    lowest = lowest.min(end - radius);
                    highest = highest.max(end + radius);
                }
            }
        }
        (lowest - fillet, highest + fillet)
    }
}

fn union_of(samples: impl Iterator<Item = Sample>, blend: f64) -> Sample {
    let nothing = Sample { value: f64::INFINITY, gradient: DVec3::ZERO };
    samples.fold(nothing, |all, next| smooth_union(all, next, blend))
}

fn negative(sample: Sample) -> Sample {
    Sample { value: -sample.value, gradient: -sample.gradient }
}

/// Cubic smooth minimum: the plain one where the two differ by more than `width`, else up to a
/// sixth of `width` lower.
fn smooth_union(a: Sample, b: Sample, width: f64) -> Sample {
    let (low, high) = if a.value <= b.value { (a, b) } else { (b, a) };
    let near = 1.0 - (high.value - low.value) / width;
    // Undefined when both are infinite: no fillet either.
    if near <= 0.0 || near.is_nan() {
        return low;
    }
    Sample {
        value: low.value - width / 6.0 * near.powi(3),
        gradient: low.gradient.lerp(high.gradient, 0.5 * near * near),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Crossing limbs and a cut: everything the gradient passes through.
    fn body() -> Body {
        Body {
            groups: vec![
                Group {
                    limbs: vec![
                        Capsule::new(DVec3::ZERO, DVec3::new(0.0, 2.0, 0.3), 0.5, 0.3),
                        Capsule::new(DVec3::new(0.0, 2.0, 0.3), DVec3::new(0.4, 3.0, 0.0), 0.3, 0.2),
                    ],
                    blend: 0.2,
                    joins: 0.3,
                },
                Group { limbs: vec![Capsule::new(DVec3::NEG_X, DVec3::X, 0.4, 0.6)], blend: 0.1, joins: 0.4 },
            ],
            cuts: vec![(DVec3::new(0.0, -0.2, 0.0), DVec3::NEG_Y, 0.2)],
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        let body = body();
        let step = 1e-5;
        for index in 0..400usize {
            let unit = |k: usize| ((index * 7919 + k * 104_729) % 1000) as f64 / 1000.0;
            let point = DVec3::new(3.0 * unit(1) - 1.5, 4.5 * unit(2) - 0.7, 2.0 * unit(3) - 1.0);
            let gradient = body.sample(point).gradient;
            for (axis, direction) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
                let ahead = body.sample(point + step * direction).value;
                let behind = body.sample(point - step * direction).value;
                assert!(((ahead - behind) / (2.0 * step) - gradient[axis]).abs() < 1e-3, "at {point}");
            }
        }
    }

    #[test]
    fn projection_lands_on_the_surface() {
        let body = body();
        for x in [-1.2, -0.3, 0.1, 0.9] {
            let on = body.project(DVec3::new(x, 0.6, 0.35), 20);
            assert!(body.sample(on).value.abs() < 1e-9);
        }
    }
}
