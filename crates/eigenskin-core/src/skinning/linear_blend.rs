//! Linear blend skinning: Σ_b w_b T_b (EigenSkin Equation 1).

use glam::{DAffine3, DMat3, DVec3};

use crate::weights::Influence;

/// The map of a vertex, given where each joint carries the rest shape (`joint`).
pub fn transform(influences: &[Influence], joints: &[DAffine3]) -> DAffine3 {
    if influences.is_empty() {
        return DAffine3::IDENTITY;
    }
    let mut blended = DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ZERO };
    for influence in influences {
        let weight = f64::from(influence.weight);
        let joint = joints[influence.joint as usize];
        blended.matrix3 += joint.matrix3 * weight;
        blended.translation += joint.translation * weight;
    }
    blended
}
