//! Many triangles seen from far away.

use eigenskin_core::glam::{DMat3, DVec3};

/// The field Σ n·r/|r|³ of some triangles, expanded about a centre to the third order.
#[derive(Debug, Clone)]
pub(super) struct FarField {
    /// Σ area · normal
    first: DVec3,
    /// Σ ∫ offset ⊗ normal
    second: DMat3,
    /// Σ ∫ (normal·x)(offset·x)² as a polynomial in x: coefficients of
    /// x³ y³ z³ x²y x²z y²x y²z z²x z²y xyz
    third: [f64; 10],
}

impl FarField {
    pub(super) fn of(triangles: impl Iterator<Item = [DVec3; 3]>, centre: DVec3) -> Self {
        let mut field = Self { first: DVec3::ZERO, second: DMat3::ZERO, third: [0.0; 10] };
        for corners in triangles {
            field.add(corners.map(|corner| corner - centre));
        }
        field
    }

    fn add(&mut self, [a, b, c]: [DVec3; 3]) {
        let n = 0.5 * (b - a).cross(c - a);
        let sum = a + b + c;
        self.first += n;
        self.second += outer(sum / 3.0, n);
        // Mean of offset ⊗ offset over a triangle.
        let m = (outer(a, a) + outer(b, b) + outer(c, c) + outer(sum, sum)) * (1.0 / 12.0);
        let (xx, yy, zz) = (m.x_axis.x, m.y_axis.y, m.z_axis.z);
        let (xy, xz, yz) = (m.y_axis.x, m.z_axis.x, m.z_axis.y);
        let terms = [
            n.x * xx,
            n.y * yy,
            n.z * zz,
            n.y * xx + 2.0 * n.x * xy,
            n.z * xx + 2.0 * n.x * xz,
            n.x * yy + 2.0 * n.y * xy,
            n.z * yy + 2.0 * n.y * yz,
            n.x * zz + 2.0 * n.z * xz,
            n.y * zz + 2.0 * n.z * yz,
            2.0 * (n.x * yz + n.y * xz + n.z * xy),
        ];
        for (total, term) in self.third.iter_mut().zip(terms) {
            *total += term;
        }
    }

    /// The field at a point from which the centre lies at `r`, whose squared length is given.
    pub(super) fn at(&self, r: DVec3, squared: f64) -> f64 {
        let [xxx, yyy, zzz, xxy, xxz, yyx, yyz, zzx, zzy, xyz] = self.third;
        let DVec3 { x, y, z } = r;
        let cubic = x * x * (xxx * x + xxy * y + xxz * z)
            + y * y * (yyx * x + yyy * y + yyz * z)
            + z * z * (zzx * x + zzy * y + zzz * z)
            + xyz * x * y * z;
        let traces = DVec3::new(3.0 * xxx + yyx + zzx, 3.0 * yyy + xxy + zzy, 3.0 * zzz + xxz + yyz);
        let trace = self.second.x_axis.x + self.second.y_axis.y + self.second.z_axis.z;
        let first = self.first.dot(r);
        let second = trace - 3.0 * r.dot(self.second * r) / squared;
        let third = (7.5 * cubic / squared - 1.5 * traces.dot(r)) / squared;
        (first + second + third) / (squared * squared.sqrt())
    }
}

/// a bᵀ
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::super::triangle::solid_angle;
    use super::*;
    use crate::test_support::Random;

    #[test]
    fn the_error_falls_with_the_fourth_order() {
        let mut random = Random(2);
        for _ in 0..20 {
            let triangle = [0; 3].map(|_| random.point());
            let direction = random.point().normalize();
            let field = FarField::of([triangle].into_iter(), DVec3::ZERO);
            // The terms fall as r⁻², r⁻³, r⁻⁴; what is left must fall as r⁻⁵.
            let error = |distance: f64| {
                let r = distance * direction;
                (field.at(r, r.length_squared()) - solid_angle(triangle.map(|p| p + r))).abs()
            };
            assert!(error(200.0) < 4.0 * error(100.0) / 32.0 + 1e-13, "{} {}", error(100.0), error(200.0));
            assert!(error(50.0) < 2e-7, "{}", error(50.0));
        }
    }
}
