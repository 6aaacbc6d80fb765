//! Dual-quaternion skinning (Kavan, Collins, Žára, O'Sullivan 2008): the joints' rigid motions are
//! blended and normalised, so the blend is rigid and nothing collapses.
//!
//! Joints that scale do so first, about their rest position, with linearly blended stretches; the
//! rigid blend follows.

use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::Conditioning;
use crate::pose::rotation_of;
use crate::skeleton::Skeleton;
use crate::weights::Influence;

/// The joints of one pose, taken apart into stretch and rigid motion.
#[derive(Debug, Clone)]
pub struct Joints {
    /// `joint`: T = rigid ∘ stretch
    stretch: Vec<DAffine3>,
    /// `joint`
    real: Vec<DQuat>,
    /// `joint`
    dual: Vec<DQuat>,
    any_stretch: bool,
}

impl Joints {
    /// All joints at rest.
    pub fn new(skeleton: &Skeleton) -> Self {
        let count = skeleton.joint_count();
        Self {
            stretch: vec![DAffine3::IDENTITY; count],
            real: vec![DQuat::IDENTITY; count],
            dual: vec![DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0); count],
            any_stretch: false,
        }
    }

    /// Takes apart where each joint carries the rest shape (`joint`).
    pub fn set(&mut self, skeleton: &Skeleton, posed_from_rest: &[DAffine3]) {
        self.any_stretch = false;
        for (joint, transform) in posed_from_rest.iter().enumerate() {
            let rotation = rotation_of(transform.matrix3);
            let stretch = DMat3::from_quat(rotation.inverse()) * transform.matrix3;
            // The stretch acts about the joint, so that blending two joints' stretches does not
            // depend on where the origin is.
            let centre = skeleton.rest_position(joint);
            self.any_stretch |= !stretch.abs_diff_eq(DMat3::IDENTITY, 1e-6);
            self.stretch[joint] = DAffine3 { matrix3: stretch, translation: centre - stretch * centre };
            let translation = transform.transform_point3(centre) - rotation * centre;
            self.real[joint] = rotation;
            self.dual[joint] =
                DQuat::from_xyzw(translation.x, translation.y, translation.z, 0.0) * rotation * 0.5;
        }
    }

    /// The map of a vertex and the norm of its blend.
    pub fn transform(&self, influences: &[Influence]) -> (DAffine3, Conditioning) {
        let Some(heaviest) = influences.first() else {
            return (DAffine3::IDENTITY, Conditioning { smallest: 1.0, condition: 1.0 });
        };
        let pivot = self.real[heaviest.joint as usize];
        let zero = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);
        let (mut real, mut dual) = (zero, zero);
        for influence in influences {
            let joint = influence.joint as usize;
            // q and −q are one rotation: blend along the shorter way from the heaviest joint.
            let sign = if self.real[joint].dot(pivot) < 0.0 { -1.0 } else { 1.0 };
            let weight = sign * f64::from(influence.weight);
            real += self.real[joint] * weight;
            dual += self.dual[joint] * weight;
        }
        let norm = real.length();
        let conditioning = Conditioning { smallest: norm, condition: 1.0 / norm };
        let (real, dual) = if norm > 1e-12 {
            (real * (1.0 / norm), dual * (1.0 / norm))
        } else {
            (pivot, self.dual[heaviest.joint as usize])
        };
        let moved = dual * real.conjugate();
        let rigid = DAffine3::from_rotation_translation(real, 2.0 * DVec3::new(moved.x, moved.y, moved.z));
        if self.any_stretch {
            (rigid * super::linear_blend::transform(influences, &self.stretch), conditioning)
        } else {
            (rigid, conditioning)
        }
    }
}
