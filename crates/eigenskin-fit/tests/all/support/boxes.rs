//! Small black boxes: a bar of two blended joints, alone, in a lattice, or smoothed.

use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::glam::{DAffine3, DMat3, DQuat, DVec3};
use eigenskin_core::pose::Pose;
use eigenskin_core::skinning::PosedSkinning;

/// Points around the x axis from 0 to 4, radius 0.5, and one affine map each: two joints, blended
/// linearly over two units around x = 2.
pub struct Bar {
    pub rings: usize,
    pub around: usize,
    pub rest: Vec<DVec3>,
    pub maps: Vec<DAffine3>,
}

/// About the diameter of the bar's bounding sphere.
pub const BAR_SIZE: f64 = 4.0;

impl Bar {
    pub fn new(rings: usize, around: usize, turn: DQuat) -> Self {
        let hinge = DVec3::new(2.0, 0.0, 0.0);
        let second = DAffine3::from_rotation_translation(turn, hinge - turn * hinge);
        let mut bar = Self { rings, around, rest: Vec::new(), maps: Vec::new() };
        for ring in 0..rings {
            let x = 4.0 * ring as f64 / (rings - 1) as f64;
            let t = ((x - 1.0) / 2.0).clamp(0.0, 1.0);
            let weight = t * t * (3.0 - 2.0 * t);
            let matrix3 = DMat3::IDENTITY * (1.0 - weight) + second.matrix3 * weight;
            for k in 0..around {
                let angle = std::f64::consts::TAU * k as f64 / around as f64;
                bar.rest.push(DVec3::new(x, 0.5 * angle.cos(), 0.5 * angle.sin()));
                bar.maps.push(DAffine3 { matrix3, translation: weight * second.translation });
            }
        }
        bar
    }

    pub fn neighbours(&self, vertex: usize) -> Vec<usize> {
        let (ring, k) = (vertex / self.around, vertex % self.around);
        let mut found = vec![
            ring * self.around + (k + 1) % self.around,
            ring * self.around + (k + self.around - 1) % self.around,
        ];
        if ring > 0 {
            found.push(vertex - self.around);
        }
        if ring + 1 < self.rings {
            found.push(vertex + self.around);
        }
        found
    }
}

/// One affine map per vertex.
pub struct Affine(pub Vec<DAffine3>);

impl BlackBox for Affine {
    fn deform(&mut self, _: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        for ((to, from), map) in posed.iter_mut().zip(near_rest).zip(&self.0) {
            *to = map.transform_point3(*from);
        }
        Ok(())
    }
}

/// The library's skinning, in one pose.
pub struct Skinned(pub PosedSkinning);

impl BlackBox for Skinned {
    fn deform(&mut self, _: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        for (vertex, (to, from)) in posed.iter_mut().zip(near_rest).enumerate() {
            *to = self.0.position(vertex, *from);
        }
        Ok(())
    }
}

/// A lattice of 3 × 3 × 3 points and Bernstein polynomials over one affine map per vertex; goes on as
/// polynomials outside.
pub struct Lattice {
    pub maps: Vec<DAffine3>,
    pub low: DVec3,
    pub high: DVec3,
    /// [x][y][z]
    pub points: [[[DVec3; 3]; 3]; 3],
}

impl Lattice {
    /// Points in a regular grid, each moved by `displace` of its indices.
    pub fn new(
        maps: Vec<DAffine3>,
        low: DVec3,
        high: DVec3,
        displace: impl Fn(usize, usize, usize) -> DVec3,
    ) -> Self {
        let at = |i: usize, j: usize, k: usize| {
            low + (high - low) * DVec3::new(i as f64, j as f64, k as f64) / 2.0 + displace(i, j, k)
        };
        let points = std::array::from_fn(|i| std::array::from_fn(|j| std::array::from_fn(|k| at(i, j, k))));
        Self { maps, low, high, points }
    }

    pub fn carry(&self, point: DVec3) -> DVec3 {
        let t = (point - self.low) / (self.high - self.low);
        let b = |s: f64| [(1.0 - s) * (1.0 - s), 2.0 * s * (1.0 - s), s * s];
        let (bx, by, bz) = (b(t.x), b(t.y), b(t.z));
        let mut sum = DVec3::ZERO;
        for i in 0..3 {
            for j in 0..3 {
                for k in 0..3 {
                    sum += bx[i] * by[j] * bz[k] * self.points[i][j][k];
                }
            }
        }
        sum
    }
}

impl BlackBox for Lattice {
    fn deform(&mut self, _: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        for ((to, from), map) in posed.iter_mut().zip(near_rest).zip(&self.maps) {
            *to = self.carry(map.transform_point3(*from));
        }
        Ok(())
    }
}

/// Uniform Laplacian smoothing of the skinned bar: every vertex goes half way to the mean of its
/// neighbours, several times.
pub struct Smoothed {
    pub maps: Vec<DAffine3>,
    pub neighbours: Vec<Vec<usize>>,
    pub times: usize,
}

impl Smoothed {
    pub fn new(bar: &Bar, times: usize) -> Self {
        let neighbours = (0..bar.rest.len()).map(|vertex| bar.neighbours(vertex)).collect();
        Self { maps: bar.maps.clone(), neighbours, times }
    }
}

impl BlackBox for Smoothed {
    fn deform(&mut self, _: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        for ((to, from), map) in posed.iter_mut().zip(near_rest).zip(&self.maps) {
            *to = map.transform_point3(*from);
        }
        for _ in 0..self.times {
            let before = posed.to_vec();
            for (to, neighbours) in posed.iter_mut().zip(&self.neighbours) {
                let mean = neighbours.iter().map(|&n| before[n]).sum::<DVec3>() / neighbours.len() as f64;
                *to = 0.5 * (*to + mean);
            }
        }
        Ok(())
    }
}

/// Another box in `f32`, as most programs answer.
pub struct Rounded<B>(pub B);

impl<B: BlackBox> BlackBox for Rounded<B> {
    fn deform(&mut self, pose: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        let rounded: Vec<DVec3> = near_rest.iter().map(|p| p.as_vec3().as_dvec3()).collect();
        self.0.deform(pose, &rounded, posed)?;
        for point in posed {
            *point = point.as_vec3().as_dvec3();
        }
        Ok(())
    }
}

/// Stretches that change suddenly: x goes to x plus `amount` of a zigzag, before one affine map per
/// vertex.
pub struct Zigzag {
    pub maps: Vec<DAffine3>,
    pub amount: f64,
    pub period: f64,
}

impl BlackBox for Zigzag {
    fn deform(&mut self, _: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        let zigzag = |x: f64| {
            let phase = (x / self.period).rem_euclid(1.0);
            self.period * if phase < 0.5 { phase } else { 1.0 - phase }
        };
        for ((to, from), map) in posed.iter_mut().zip(near_rest).zip(&self.maps) {
            let moved = *from + self.amount * DVec3::new(zigzag(from.x), zigzag(from.y + from.x), 0.0);
            *to = map.transform_point3(moved);
        }
        Ok(())
    }
}

/// One box after the other: what the first gives is what the second takes.
pub struct Then<A, B>(pub A, pub B);

impl<A: BlackBox, B: BlackBox> BlackBox for Then<A, B> {
    fn deform(&mut self, pose: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        let mut between = near_rest.to_vec();
        self.0.deform(pose, near_rest, &mut between)?;
        self.1.deform(pose, &between, posed)
    }
}

/// A box that counts its calls and, after `fails_after` of them, does `failure`.
pub struct Failing<B> {
    pub inner: B,
    pub calls: usize,
    pub fails_after: usize,
    pub failure: fn(&mut [DVec3]) -> Result<(), BlackBoxError>,
}

impl<B: BlackBox> BlackBox for Failing<B> {
    fn deform(&mut self, pose: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        self.calls += 1;
        self.inner.deform(pose, near_rest, posed)?;
        if self.calls > self.fails_after { (self.failure)(posed) } else { Ok(()) }
    }
}
