//! Examples pulled back through a black box, and how well that can be done.

use eigenskin_core::deformers::{Base, BlackBox, BlackBoxError};
use eigenskin_core::examples::{Example, Inverted};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Progress;
use eigenskin_core::rig::Rig;
use eigenskin_core::skinning::{Conditioning, PosedSkinning};
use glam::DVec3;

use super::{Inversion, InversionParams, invert, probe};
use crate::displacements::pulled_back::root_turn;

/// Pulls `example` back through `black_box`, which is `base` at work, and how that went.
pub fn invert_example(
    black_box: &mut dyn BlackBox,
    base: &Base,
    rig: &Rig,
    example: &Example,
    params: &InversionParams,
    progress: &dyn Progress,
) -> Result<(Inverted, Inversion), BlackBoxError> {
    let rest = points(rig);
    let target: Vec<DVec3> = example.positions.iter().map(|p| p.as_dvec3()).collect();
    let size = rig.mesh().size();
    let inversion = invert(black_box, &example.pose, &rest, &target, size, params, progress)?;
    let root_from_world = root_turn(rig, &example.pose).inverse();
    let residuals = if inversion.residuals.iter().all(|w| *w == DVec3::ZERO) {
        Vec::new()
    } else {
        inversion.residuals.iter().map(|&w| (root_from_world * w).as_vec3()).collect()
    };
    let deltas = inversion.deltas.iter().map(|d| d.as_vec3()).collect();
    Ok((Inverted { base: base.clone(), deltas, residuals }, inversion))
}

/// The invertibility map of a pose, `vertex`: how well what is sculpted there can be pulled back. From
/// the closed form of a skinning, else by probing the box.
pub fn invertibility(
    base: &Base,
    black_box: Option<&mut dyn BlackBox>,
    rig: &Rig,
    pose: &Pose,
    progress: &dyn Progress,
) -> Result<Vec<Conditioning>, BlackBoxError> {
    if let Some(black_box) = black_box {
        return Ok(probe(black_box, pose, &points(rig), rig.mesh().size(), progress)?.conditioning);
    }
    let skinning = PosedSkinning::new(base.closed_form(), rig, pose);
    Ok((0..rig.vertex_count()).map(|vertex| skinning.conditioning(vertex)).collect())
}

fn points(rig: &Rig) -> Vec<DVec3> {
    rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect()
}
