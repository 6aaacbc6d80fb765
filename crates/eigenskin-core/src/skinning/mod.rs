//! Base skinning: where joints alone carry the skin.
//!
//! At a fixed pose each of these is one affine map per vertex that does not depend on where the
//! vertex is, so each has an inverse in closed form.

pub mod dual_quaternion;
pub mod linear_blend;
pub mod rigid;
mod svd_3x3;

use glam::{DAffine3, DMat3, DVec3, Vec3};

use crate::parallel::map_indices;
use crate::pose::Pose;
use crate::rig::Rig;

/// What corrections are added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BaseSkinning {
    /// every vertex follows its heaviest joint
    Rigid,
    /// blended matrices (SSD, EigenSkin Equation 1)
    LinearBlend,
    /// blended dual quaternions (Kavan et al. 2008)
    DualQuaternion,
}

impl BaseSkinning {
    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::LinearBlend => "linear",
            Self::DualQuaternion => "dual-quaternion",
        }
    }

    /// The base of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Rigid, Self::LinearBlend, Self::DualQuaternion].into_iter().find(|base| base.name() == name)
    }
}

/// How well a vertex's skinning can be undone. Rigid motion has 1 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditioning {
    /// smallest singular value of the blended matrix; for dual quaternions the norm of the blended
    /// quaternion before it is normalised. Zero: the vertex's skinning has no inverse.
    pub smallest: f64,
    /// largest over smallest singular value; for dual quaternions 1/norm
    pub condition: f64,
}

impl Conditioning {
    /// What is left of the stretch in the direction that skinning collapses most, relative to the one
    /// it keeps best: 1 is rigid, 0 is collapsed.
    pub fn kept(&self) -> f64 {
        1.0 / self.condition
    }
}

/// What plain skinning makes of the rest shape in a pose, `vertex`.
pub fn skinned_shape(base: BaseSkinning, rig: &Rig, pose: &Pose) -> Vec<Vec3> {
    let skinning = PosedSkinning::new(base, rig, pose);
    let rest = rig.mesh().positions().iter().enumerate();
    rest.map(|(vertex, p)| skinning.position(vertex, p.as_dvec3()).as_vec3()).collect()
}

/// A base skinning in one pose.
#[derive(Debug, Clone)]
pub struct PosedSkinning {
    /// `vertex`
    posed_from_rest: Vec<DAffine3>,
    /// `vertex`
    conditioning: Vec<Conditioning>,
}

impl PosedSkinning {
    /// Skins `rig` in `pose`.
    pub fn new(base: BaseSkinning, rig: &Rig, pose: &Pose) -> Self {
        Self::of_every(1, base, rig, pose)
    }

    /// Skins every `step`-th vertex, which are its vertices 0, 1, 2 and so on.
    pub fn of_every(step: usize, base: BaseSkinning, rig: &Rig, pose: &Pose) -> Self {
        let joints: Vec<DAffine3> = pose.posed_from_rest(rig.skeleton()).collect();
        let count = rig.vertex_count().div_ceil(step);
        let weights = |place: usize| rig.weights().of(place * step);
        let transforms: Vec<(DAffine3, Conditioning)> = match base {
            BaseSkinning::Rigid => {
                map_indices(count, |v| with_conditioning(rigid::transform(weights(v), &joints)))
            }
            BaseSkinning::LinearBlend => {
                map_indices(count, |v| with_conditioning(linear_blend::transform(weights(v), &joints)))
            }
            BaseSkinning::DualQuaternion => {
                let mut parts = dual_quaternion::Joints::new(rig.skeleton());
                parts.set(rig.skeleton(), &joints);
                map_indices(count, |v| parts.transform(weights(v)))
            }
        };
        let (posed_from_rest, conditioning) = transforms.into_iter().unzip();
        Self { posed_from_rest, conditioning }
    }

    /// The map of one vertex.
    pub fn posed_from_rest(&self, vertex: usize) -> DAffine3 {
        self.posed_from_rest[vertex]
    }

    /// How well it can be undone.
    pub fn conditioning(&self, vertex: usize) -> Conditioning {
        self.conditioning[vertex]
    }

    /// Skins a point near rest.
    pub fn position(&self, vertex: usize, rest: DVec3) -> DVec3 {
        self.posed_from_rest[vertex].transform_point3(rest)
    }

    /// Skins a normal with the blended matrix itself, as three.js does, to unit length.
    pub fn normal(&self, vertex: usize, rest: DVec3) -> DVec3 {
        (self.posed_from_rest[vertex].matrix3 * rest).normalize_or_zero()
    }

    /// The point near rest that skins to `posed`, by [`damped_inverse`]: exact where skinning is well
    /// conditioned, `rest` in directions that it collapses.
    pub fn inverse_position(&self, vertex: usize, posed: DVec3, rest: DVec3) -> DVec3 {
        let transform = self.posed_from_rest[vertex];
        let inverse = if self.conditioning[vertex].condition * EXACT_FROM < 1.0 {
            transform.matrix3.inverse()
        } else {
            damped_inverse(transform.matrix3, EXACT_FROM)
        };
        rest + inverse * (posed - transform.transform_point3(rest))
    }

    /// The unit normal at rest that skins to the direction of `posed`. Its length is given, so only
    /// a collapsed direction needs damping.
    pub fn inverse_normal(&self, vertex: usize, posed: DVec3) -> DVec3 {
        let matrix = self.posed_from_rest[vertex].matrix3;
        let inverse = if self.conditioning[vertex].condition < 1e4 {
            matrix.inverse()
        } else {
            damped_inverse(matrix, EXACT_FROM)
        };
        (inverse * posed).normalize_or_zero()
    }
}

/// The inverse of a vertex's map that gives up directions which the map collapses (Xian §5.3, in
/// another form).
///
/// The paper minimises |target − w − M·d|² + λ|w|² + μ|d|²: a direction of singular value s keeps
/// s²/(s² + μ/λ) of its correction in d. That leaves something of *every* correction to w, and lets
/// d grow to ½√(λ/μ) times the correction, which spoils what lies between examples. Here a direction
/// keeps all of its correction where s, relative to the largest, is at least `exact_from`, and
/// smoothstep(s / exact_from) of it below: exact where skinning is well conditioned, nothing where it
/// collapses, and never more than 1.125 / `exact_from` times the correction.
pub fn damped_inverse(matrix: DMat3, exact_from: f64) -> DMat3 {
    svd_3x3::filtered_inverse(matrix, |share| kept_share(share, exact_from))
}

/// How much of a correction [`damped_inverse`] keeps in a direction that is stretched by `share` of
/// the largest stretch.
pub fn kept_share(share: f64, exact_from: f64) -> f64 {
    let x = (share / exact_from).min(1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Directions that skinning keeps to this share of its largest stretch are inverted exactly: bends and
/// twists of up to 157° between two joints of equal weight.
pub const EXACT_FROM: f64 = 0.2;

fn with_conditioning(transform: DAffine3) -> (DAffine3, Conditioning) {
    let [largest, _, smallest] = singular_values(transform.matrix3);
    let condition = if smallest > 0.0 { largest / smallest } else { f64::INFINITY };
    (transform, Conditioning { smallest, condition })
}

/// Singular values, falling: roots of the eigenvalues of MᵀM (closed form for a symmetric 3 × 3,
/// Smith 1961). Small ones are good to about 1e-8 of the largest.
pub fn singular_values(matrix: DMat3) -> [f64; 3] {
    let gram = matrix.transpose() * matrix;
    let mean = (gram.x_axis.x + gram.y_axis.y + gram.z_axis.z) / 3.0;
    let off = gram.y_axis.x.powi(2) + gram.z_axis.x.powi(2) + gram.z_axis.y.powi(2);
    let spread =
        (gram.x_axis.x - mean).powi(2) + (gram.y_axis.y - mean).powi(2) + (gram.z_axis.z - mean).powi(2);
    let p = ((spread + 2.0 * off) / 6.0).sqrt();
    if p <= 1e-15 * mean {
        return [mean.max(0.0).sqrt(); 3];
    }
    let shifted = (gram - DMat3::from_diagonal(DVec3::splat(mean))) * (1.0 / p);
    let angle = (0.5 * shifted.determinant()).clamp(-1.0, 1.0).acos() / 3.0;
    let largest = mean + 2.0 * p * angle.cos();
    let smallest = mean + 2.0 * p * (angle + std::f64::consts::TAU / 3.0).cos();
    [largest, 3.0 * mean - largest - smallest, smallest].map(|value| value.max(0.0).sqrt())
}
