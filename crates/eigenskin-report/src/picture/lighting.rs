//! Soft studio light: a sky with one broad lamp, and what the shape itself hides of it.
//!
//! Light on an open surface depends on the normal only and is nine numbers per colour (Ramamoorthi
//! and Hanrahan, "An efficient representation for irradiance environment maps", 2001). How much of
//! it a fold loses is found at the vertices, from depth maps of many sky directions, and mixed
//! across triangles: no shadow has an edge.

use eigenskin_core::glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::raster::{GridPoint, for_each_sample};

/// Directions that stand for the sky.
const DIRECTIONS: usize = 160;
/// Directions whose maps are in memory at one time.
const DIRECTIONS_AT_ONCE: usize = 16;
/// Depth maps are `MAP_SIZE × MAP_SIZE`, around the bounding sphere.
const MAP_SIZE: usize = 192;
/// How far a point must lie behind the map to be hidden, in texels: hides the steps of the map.
const DEPTH_BIAS_TEXELS: f32 = 1.5;
/// How far vertices are lifted off the surface, in texels.
const LIFT_TEXELS: f32 = 1.5;

/// Light on open surfaces, whichever way they face.
#[derive(Debug, Clone)]
pub(super) struct Sky {
    /// camera axes: right, up, toward the viewer
    axes: [Vec3; 3],
    /// factors of [`harmonics`]
    coefficients: [Vec3; 9],
}

/// What a vertex sees of the sky, as shares 0…1.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Openness {
    /// of the light that an open surface would get
    pub light: f32,
    /// of the hemisphere above the surface
    pub hemisphere: f32,
}

impl Sky {
    /// A sky that stands still against the camera with these axes (right, up, toward the viewer).
    pub fn new(axes: [Vec3; 3]) -> Self {
        // Cosine lobes damp the three bands by these factors.
        let damping = [1.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 0.25, 0.25, 0.25, 0.25, 0.25];
        let mut coefficients = [Vec3::ZERO; 9];
        for local in (0..DIRECTIONS).map(spread_direction) {
            let light = radiance(local) * (4.0 * std::f32::consts::PI / DIRECTIONS as f32);
            for ((sum, value), damping) in coefficients.iter_mut().zip(harmonics(local)).zip(damping) {
                *sum += light * value * damping;
            }
        }
        Self { axes, coefficients }
    }

    /// Diffuse light on an open surface; 1 is a sheet of white under a sky of 1.
    pub fn light_on(&self, normal: Vec3) -> Vec3 {
        let local = Vec3::from(self.axes.map(|axis| axis.dot(normal)));
        let sum: Vec3 = self.coefficients.iter().zip(harmonics(local)).map(|(&c, y)| c * y).sum();
        sum.max(Vec3::ZERO)
    }

    /// Toward the lamp.
    pub fn lamp(&self) -> Vec3 {
        self.to_space(lamp_direction())
    }

    /// What each vertex sees of the sky, on the side of its normal and on the other side: `vertex`.
    pub fn openness(
        &self,
        positions: &[Vec3],
        normals: &[Vec3],
        triangles: &[[u32; 3]],
    ) -> Vec<[Openness; 2]> {
        let sphere = Sphere::around(positions);
        let mut seen = vec![[Openness::default(); 2]; positions.len()];
        let mut whole = seen.clone();
        for first in (0..DIRECTIONS).step_by(DIRECTIONS_AT_ONCE) {
            let maps: Vec<DepthMap> = (first..(first + DIRECTIONS_AT_ONCE).min(DIRECTIONS))
                .into_par_iter()
                .map(|index| {
                    let local = spread_direction(index);
                    let weight = radiance(local).dot(Vec3::splat(1.0 / 3.0));
                    DepthMap::new(self.to_space(local), weight, sphere, positions, triangles)
                })
                .collect();
            seen.par_iter_mut().zip(&mut whole).enumerate().for_each(|(vertex, (seen, whole))| {
                for map in &maps {
                    let cosine = normals[vertex].dot(map.toward);
                    let side = usize::from(cosine < 0.0);
                    let lift = normals[vertex] * (LIFT_TEXELS / map.texels_per_unit).copysign(cosine);
                    let open = map.visibility(positions[vertex] + lift);
                    for (sum, share) in [(&mut seen[side], open), (&mut whole[side], 1.0)] {
                        sum.light += share * cosine.abs() * map.weight;
                        sum.hemisphere += share * cosine.abs();
                    }
                }
            });
        }
        let share = |seen: f32, whole: f32| if whole > 0.0 { seen / whole } else { 1.0 };
        for (seen, whole) in seen.iter_mut().flatten().zip(whole.iter().flatten()) {
            seen.light = share(seen.light, whole.light);
            seen.hemisphere = share(seen.hemisphere, whole.hemisphere);
        }
        seen
    }

    fn to_space(&self, local: Vec3) -> Vec3 {
        self.axes[0] * local.x + self.axes[1] * local.y + self.axes[2] * local.z
    }
}

/// A sphere around a shape; not the smallest one.
#[derive(Clone, Copy)]
struct Sphere {
    centre: Vec3,
    radius: f32,
}

impl Sphere {
    fn around(positions: &[Vec3]) -> Self {
        let low = positions.iter().copied().fold(Vec3::INFINITY, Vec3::min);
        let high = positions.iter().copied().fold(Vec3::NEG_INFINITY, Vec3::max);
        let centre = 0.5 * (low + high);
        let radius = positions.iter().map(|p| (*p - centre).length()).fold(0.0, f32::max);
        Self { centre, radius: if radius > 0.0 { radius } else { 1.0 } }
    }
}

/// The shape seen from one direction of the sky.
struct DepthMap {
    toward: Vec3,
    /// light from there
    weight: f32,
    centre: Vec3,
    right: Vec3,
    up: Vec3,
    texels_per_unit: f32,
    /// `row × column`, largest distance toward the light in texels
    depths: Vec<f32>,
}

impl DepthMap {
    fn new(toward: Vec3, weight: f32, sphere: Sphere, positions: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let toward = toward.normalize_or(Vec3::Z);
        let (right, up) = toward.any_orthonormal_pair();
        let mut map = Self {
            toward,
            weight,
            centre: sphere.centre,
            right,
            up,
            // One texel on each side stays free, so that the border lets light through.
            texels_per_unit: (MAP_SIZE as f32 - 2.0) / (2.0 * sphere.radius),
            depths: vec![f32::NEG_INFINITY; MAP_SIZE * MAP_SIZE],
        };
        let places: Vec<(Vec3, GridPoint)> = positions
            .iter()
            .map(|&position| {
                let place = map.place(position);
                (place, GridPoint::new(f64::from(place.x), f64::from(place.y)))
            })
            .collect();
        for &[a, b, c] in triangles {
            let [(a, grid_a), (b, grid_b), (c, grid_c)] =
                [places[a as usize], places[b as usize], places[c as usize]];
            for_each_sample([grid_a, grid_b, grid_c], MAP_SIZE, &(0..MAP_SIZE), |column, row, weights| {
                let depth = weights[0] as f32 * a.z + weights[1] as f32 * b.z + weights[2] as f32 * c.z;
                let texel = &mut map.depths[row * MAP_SIZE + column];
                *texel = texel.max(depth);
            });
        }
        map
    }

    /// Column, row and distance toward the light of a point, all in texels.
    fn place(&self, point: Vec3) -> Vec3 {
        let from_centre = (point - self.centre) * self.texels_per_unit;
        let middle = 0.5 * MAP_SIZE as f32;
        Vec3::new(
            middle + from_centre.dot(self.right),
            middle + from_centre.dot(self.up),
            from_centre.dot(self.toward),
        )
    }

    /// Share of the four texels around `point` that do not hide it, weighted by nearness.
    fn visibility(&self, point: Vec3) -> f32 {
        let place = self.place(point);
        let (x, y) = (place.x - 0.5, place.y - 0.5);
        let last = (MAP_SIZE - 2) as f32;
        let (column, row) = (x.floor().clamp(0.0, last), y.floor().clamp(0.0, last));
        let (right, down) = ((x - column).clamp(0.0, 1.0), (y - row).clamp(0.0, 1.0));
        let first = row as usize * MAP_SIZE + column as usize;
        let open = |texel: usize| f32::from(u8::from(place.z + DEPTH_BIAS_TEXELS >= self.depths[texel]));
        let above = open(first) * (1.0 - right) + open(first + 1) * right;
        let below = open(first + MAP_SIZE) * (1.0 - right) + open(first + MAP_SIZE + 1) * right;
        above * (1.0 - down) + below * down
    }
}

/// Directions spread evenly over the sphere (a golden spiral), in camera axes.
fn spread_direction(index: usize) -> Vec3 {
    let golden_angle = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let y = 1.0 - (2.0 * index as f64 + 1.0) / DIRECTIONS as f64;
    let ring = (1.0 - y * y).max(0.0).sqrt();
    let (sine, cosine) = (golden_angle * index as f64).sin_cos();
    DVec3::new(ring * cosine, y, ring * sine).as_vec3()
}

/// What the sky sends from a direction in camera axes: cool from above, warm from below, a broad
/// warm lamp at the upper left, a weak one at the right.
fn radiance(direction: Vec3) -> Vec3 {
    let height = 0.5 + 0.5 * direction.y;
    let sky = Vec3::new(0.20, 0.165, 0.15).lerp(Vec3::new(0.50, 0.56, 0.64), height);
    let lamp = direction.dot(lamp_direction()).max(0.0).powi(6);
    let fill = direction.dot(Vec3::new(0.85, -0.1, 0.5).normalize()).max(0.0).powi(3);
    sky + lamp * Vec3::new(3.6, 3.4, 3.1) + fill * Vec3::new(0.16, 0.20, 0.28)
}

/// Toward the lamp, in camera axes.
fn lamp_direction() -> Vec3 {
    Vec3::new(-0.55, 0.70, 0.60).normalize()
}

/// The nine real spherical harmonics up to the second band, of a unit vector.
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

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: [Vec3; 3] = [Vec3::X, Vec3::Y, Vec3::Z];

    /// Openness toward +z and −z of the middle of a square of 2 × 2, under a roof of the same size
    /// when asked.
    fn openness_of_ground(roof: Option<f32>) -> [f32; 2] {
        let square = |z: f32| {
            [[0.0, 0.0, z], [-1.0, -1.0, z], [1.0, -1.0, z], [1.0, 1.0, z], [-1.0, 1.0, z]].map(Vec3::from)
        };
        let mut positions = square(0.0).to_vec();
        let mut triangles = vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]];
        if let Some(height) = roof {
            positions.extend(square(height));
            triangles.extend([[5, 6, 7], [5, 7, 8], [5, 8, 9], [5, 9, 6]]);
        }
        let normals = vec![Vec3::Z; positions.len()];
        Sky::new(AXES).openness(&positions, &normals, &triangles)[0].map(|side| side.hemisphere)
    }

    #[test]
    fn a_roof_takes_the_light_of_what_is_below_it() {
        assert_eq!(openness_of_ground(None), [1.0, 1.0]);
        let [above, below] = openness_of_ground(Some(0.15));
        assert!(above < 0.03 && below == 1.0, "{above} {below}");
        // A parallel square of side 2 at distance 1 fills 0.5541 of the hemisphere, by cosine.
        let [above, _] = openness_of_ground(Some(1.0));
        assert!((above - (1.0 - 0.5541)).abs() < 0.02, "{above}");
    }

    /// The nine numbers must give what adding up the sky gives.
    #[test]
    fn light_is_the_sum_over_the_hemisphere() {
        let sky = Sky::new(AXES);
        for normal in [Vec3::X, Vec3::Y, Vec3::Z, Vec3::new(-1.0, 1.2, 1.0).normalize()] {
            let directions = (0..DIRECTIONS).map(spread_direction);
            let sum: Vec3 = directions.map(|d| radiance(d) * normal.dot(d).max(0.0)).sum();
            let expected = sum * (4.0 / DIRECTIONS as f32);
            let light = sky.light_on(normal);
            assert!((light - expected).length() < 0.05 * expected.length(), "{light} {expected}");
        }
        // The lamp hangs at the upper left, before the shape.
        let brightness = |normal: Vec3| sky.light_on(normal).y;
        assert!(brightness(Vec3::Y) > brightness(Vec3::NEG_Y));
        assert!(brightness(Vec3::NEG_X) > brightness(Vec3::X));
        assert!(brightness(Vec3::Z) > brightness(Vec3::NEG_Z));
    }
}
