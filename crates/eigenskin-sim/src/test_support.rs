//! Shapes that several tests need.

use eigenskin_core::glam::DVec3;
use eigenskin_core::mesh::Mesh;

/// SplitMix64.
pub(crate) struct Random(pub u64);

impl Random {
    /// In [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In [−1, 1)³.
    pub(crate) fn point(&mut self) -> DVec3 {
        let mut one = || 2.0 * self.unit() - 1.0;
        DVec3::new(one(), one(), one())
    }
}

/// The unit sphere in `rings` of latitude and twice as many of longitude.
pub(crate) fn sphere(rings: usize) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let around = 2 * rings;
    let mut points = vec![DVec3::Z];
    for ring in 1..rings {
        let polar = std::f64::consts::PI * ring as f64 / rings as f64;
        for step in 0..around {
            let angle = std::f64::consts::TAU * step as f64 / around as f64;
            points.push(DVec3::new(polar.sin() * angle.cos(), polar.sin() * angle.sin(), polar.cos()));
        }
    }
    points.push(-DVec3::Z);
    let at = |ring: usize, step: usize| (1 + (ring - 1) * around + step % around) as u32;
    let last = (points.len() - 1) as u32;
    let mut triangles = Vec::new();
    for step in 0..around {
        triangles.push([0, at(1, step), at(1, step + 1)]);
        for ring in 1..rings - 1 {
            let [a, b] = [at(ring, step), at(ring, step + 1)];
            let [c, d] = [at(ring + 1, step), at(ring + 1, step + 1)];
            triangles.extend([[a, c, d], [a, d, b]]);
        }
        triangles.push([last, at(rings - 1, step + 1), at(rings - 1, step)]);
    }
    (points, triangles)
}

/// A box of twelve triangles, appended.
pub(crate) fn add_box(points: &mut Vec<DVec3>, triangles: &mut Vec<[u32; 3]>, lowest: DVec3, highest: DVec3) {
    let first = points.len() as u32;
    points.extend((0..8).map(|c| lowest + (highest - lowest) * crate::lattice::corner_offset(c)));
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    for [a, b, c, d] in faces {
        triangles.extend([[a, b, c], [a, c, d]].map(|t: [u32; 3]| t.map(|v| first + v)));
    }
}

/// A closed cylinder along z from `bottom` to `top` with rings of vertices, appended.
pub(crate) fn add_cylinder(
    points: &mut Vec<DVec3>,
    triangles: &mut Vec<[u32; 3]>,
    radius: f64,
    [bottom, top]: [f64; 2],
    rings: usize,
) {
    let around = 48;
    let first = points.len();
    for ring in 0..=rings {
        let z = bottom + (top - bottom) * ring as f64 / rings as f64;
        for step in 0..around {
            let angle = std::f64::consts::TAU * step as f64 / around as f64;
            points.push(DVec3::new(radius * angle.cos(), radius * angle.sin(), z));
        }
    }
    points.extend([DVec3::new(0.0, 0.0, bottom), DVec3::new(0.0, 0.0, top)]);
    let at = |ring: usize, step: usize| (first + ring * around + step % around) as u32;
    let middle = (first + (rings + 1) * around) as u32;
    for step in 0..around {
        for ring in 0..rings {
            let [a, b] = [at(ring, step), at(ring, step + 1)];
            let [c, d] = [at(ring + 1, step), at(ring + 1, step + 1)];
            triangles.extend([[a, b, d], [a, d, c]]);
        }
        triangles.push([middle, at(0, step + 1), at(0, step)]);
        triangles.push([middle + 1, at(rings, step), at(rings, step + 1)]);
    }
}

/// As a checked mesh.
pub(crate) fn mesh_of(points: &[DVec3], triangles: &[[u32; 3]]) -> Mesh {
    Mesh::new(points.iter().map(|p| p.as_vec3()).collect(), triangles.to_vec(), None).unwrap()
}
