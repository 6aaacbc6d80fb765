//! One example pulled back to rest: what to add before skinning, and what skinning cannot reach
//! (Xian §5.3).
//!
//! ```text
//! target = SKIN(rest + d) + w
//! ```

use glam::{DQuat, DVec3, Vec3};
use rayon::prelude::*;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, whole_motion};
use eigenskin_core::pose::{Pose, rotation_of};
use eigenskin_core::progress::Cancelled;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};

/// An example as corrections of a base.
#[derive(Debug, Clone)]
pub struct PulledBack {
    /// d, `vertex`
    pub deltas: Vec<Vec3>,
    /// w, `vertex`, in the first root's axes; empty when there is none
    pub residuals: Vec<Vec3>,
    /// the skinning in closed form; none for black boxes
    pub skinning: Option<PosedSkinning>,
}

/// Why an example could not be pulled back.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PullBackError {
    /// A chain of deformers, and nobody has inverted it for this example.
    #[error("example {example:?} has not been pulled back through the deformers {base:?}; invert it first")]
    NotInverted {
        /// the example
        example: String,
        /// name of the deformers
        base: String,
    },
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Seam duplicates that an example pulls apart by more than this share of the size are two points after
/// all (lips that touch at rest).
pub(crate) const APART: f64 = 1e-5;

/// Residuals below this share of the size are dropped: plain morph targets then say it all.
pub const NO_RESIDUAL: f64 = 5e-6;

/// Pulls `example` back through `base`: in closed form, or as it was inverted before. Vertices that
/// are listed `together` (seam duplicates) get one displacement.
pub fn pull_back(
    rig: &Rig,
    base: &Base,
    example: &Example,
    together: &[Vec<u32>],
) -> Result<PulledBack, PullBackError> {
    match base {
        Base::Skinning(skinning) => Ok(pull_back_skinned(rig, *skinning, example, together)),
        Base::Deformers(stack) => {
            let inverted = example.inverted.as_ref().filter(|inverted| inverted.base == *base);
            let inverted = inverted.ok_or_else(|| PullBackError::NotInverted {
                example: example.name.clone(),
                base: stack.name.clone(),
            })?;
            let mut deltas = inverted.deltas.clone();
            join(together, &mut deltas);
            Ok(PulledBack { deltas, residuals: inverted.residuals.clone(), skinning: None })
        }
    }
}

/// Pulls `example` back through a skinning in closed form.
pub fn pull_back_skinned(
    rig: &Rig,
    skinning: BaseSkinning,
    example: &Example,
    together: &[Vec<u32>],
) -> PulledBack {
    let skinning = PosedSkinning::new(skinning, rig, &example.pose);
    let rest = rig.mesh().positions();
    let mut deltas: Vec<Vec3> = (0..rest.len())
        .into_par_iter()
        .map(|vertex| {
            let (rest, posed) = (rest[vertex].as_dvec3(), example.positions[vertex].as_dvec3());
            (skinning.inverse_position(vertex, posed, rest) - rest).as_vec3()
        })
        .collect();
    join(together, &mut deltas);
    let residuals = residuals(rig, &example.pose, &example.positions, |vertex| {
        skinning.position(vertex, (rest[vertex] + deltas[vertex]).as_dvec3())
    });
    PulledBack { deltas, residuals, skinning: Some(skinning) }
}

/// w = target − reached in the first root's axes, `vertex`, zero where it is next to nothing; empty
/// when it is so everywhere.
pub fn residuals(
    rig: &Rig,
    pose: &Pose,
    target: &[Vec3],
    reached: impl Fn(usize) -> DVec3 + Sync,
) -> Vec<Vec3> {
    let root_from_world = root_turn(rig, pose).inverse();
    let limit = NO_RESIDUAL * rig.mesh().size();
    let found: Vec<Vec3> = (0..target.len())
        .into_par_iter()
        .map(|vertex| {
            let missed = target[vertex].as_dvec3() - reached(vertex);
            if missed.length() > limit { (root_from_world * missed).as_vec3() } else { Vec3::ZERO }
        })
        .collect();
    if found.iter().all(|w| *w == Vec3::ZERO) { Vec::new() } else { found }
}

/// How the first root has turned from rest.
pub fn root_turn(rig: &Rig, pose: &Pose) -> DQuat {
    rotation_of(whole_motion(rig, pose).matrix3)
}

/// Gives every group its mean.
fn join(together: &[Vec<u32>], deltas: &mut [Vec3]) {
    for group in together.iter().filter(|group| group.len() > 1) {
        let sum: DVec3 = group.iter().map(|&v| deltas[v as usize].as_dvec3()).sum();
        let mean = (sum / group.len() as f64).as_vec3();
        for &vertex in group {
            deltas[vertex as usize] = mean;
        }
    }
}
