//! What is minimised for one vertex: |target − SKIN(rest + d)|² + dᵀ W d, and its model to second
//! order.
//!
//! W is the damping of [`crate::skinning::damped_inverse`] as a matrix, so that repeated steps end
//! where one step on an affine map does and do not creep into directions that the box collapses.

use glam::{DMat3, DVec3};

use crate::numeric::{Matrix, thin_svd};
use crate::skinning::{Conditioning, kept_share};

/// W from a Jacobian at rest: σ² V diag(g) Vᵀ, with s the singular values relative to the largest, σ,
/// and g such that a direction keeps s²/(s² + g) = [`kept_share`] of its correction.
pub(super) fn damping(jacobian: DMat3, conditioning: Conditioning, exact_from: f64) -> DMat3 {
    if conditioning.condition * exact_from < 1.0 {
        return DMat3::ZERO;
    }
    let weight = |s: f64| {
        let kept = kept_share(s, exact_from);
        // The limit for s = 0, where smoothstep is 3 (s / exact_from)².
        if kept > 1e-12 { s * s * (1.0 - kept) / kept } else { exact_from * exact_from / 3.0 }
    };
    let (_, values, v) = thin_svd(&Matrix::from_fn(3, 3, |row, column| jacobian.col(column)[row]));
    let mut damping = DMat3::ZERO;
    for (component, value) in values.iter().enumerate().filter(|_| values[0] > 0.0) {
        let axis = DVec3::new(v[(0, component)], v[(1, component)], v[(2, component)]);
        let weight = values[0] * values[0] * weight(value / values[0]);
        damping += DMat3::from_cols(axis * axis.x, axis * axis.y, axis * axis.z) * weight;
    }
    damping
}

/// The function's value.
pub(super) fn value(damping: &DMat3, residual: DVec3, delta: DVec3) -> f64 {
    residual.length_squared() + delta.dot(*damping * delta)
}

/// The step to the minimum of the model, and by how much that lowers the function. No step where the
/// box does not move the vertex at all.
pub(super) fn newton_step(jacobian: &DMat3, damping: &DMat3, residual: DVec3, delta: DVec3) -> (DVec3, f64) {
    let slope = jacobian.transpose() * residual - *damping * delta;
    let step = (jacobian.transpose() * *jacobian + *damping).inverse() * slope;
    if step.is_finite() { (step, slope.dot(step).max(0.0)) } else { (DVec3::ZERO, 0.0) }
}

/// Directions along which the model falls apart into functions of one number, each of unit curvature;
/// the axes where there is no model.
pub(super) fn conjugate_directions(jacobian: &DMat3, damping: &DMat3) -> [DVec3; 3] {
    let curvature = jacobian.transpose() * *jacobian + *damping;
    let mut directions = DVec3::AXES;
    for index in 0..3 {
        let mut direction = DVec3::AXES[index];
        for before in &directions[..index] {
            direction -= *before * before.dot(curvature * DVec3::AXES[index]);
        }
        direction /= direction.dot(curvature * direction).sqrt();
        if !direction.is_finite() {
            return DVec3::AXES;
        }
        directions[index] = direction;
    }
    directions
}

/// A Jacobian that has seen one more move (Broyden 1965).
pub(super) fn broyden(jacobian: &DMat3, moved: DVec3, answered: DVec3) -> DMat3 {
    let missing = (answered - *jacobian * moved) / moved.length_squared();
    *jacobian + DMat3::from_cols(missing * moved.x, missing * moved.y, missing * moved.z)
}
