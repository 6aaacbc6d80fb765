//! What is minimised for one vertex: |target − SKIN(rest + d)|² + dᵀ W d, and its model to second
//! order.
//!
//! W is the damping of [`eigenskin_core::skinning::damped_inverse`] as a matrix, so that repeated steps end
//! where one step on an affine map does and do not creep into directions that the box collapses.

use glam::{DMat3, DVec3};

use crate::numeric::{Matrix, thin_svd};
use eigenskin_core::skinning::{Conditioning, kept_share};

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
#[cfg(test)]
mod tests {
    use super::*;
    use eigenskin_core::skinning::{damped_inverse, singular_values};

    /// Turned and stretched: singular values 2, 1 and `smallest`.
    fn map(smallest: f64) -> DMat3 {
        DMat3::from_rotation_x(0.7)
            * DMat3::from_diagonal(DVec3::new(2.0, 1.0, smallest))
            * DMat3::from_rotation_y(-1.1)
    }

    fn damping_of(jacobian: DMat3, exact_from: f64) -> DMat3 {
        let [largest, _, smallest] = singular_values(jacobian);
        damping(jacobian, Conditioning { smallest, condition: largest / smallest }, exact_from)
    }

    #[test]
    fn a_step_from_rest_is_the_damped_inverse_and_the_next_is_none() {
        let residual = DVec3::new(0.3, -0.2, 0.5);
        for exact_from in [0.01, 0.05, 0.2] {
            for smallest in [1.0, 0.5, 0.1, 0.02, 1e-3, 0.0] {
                let (jacobian, damping) = (map(smallest), damping_of(map(smallest), exact_from));
                let (step, foreseen) = newton_step(&jacobian, &damping, residual, DVec3::ZERO);
                let expected = damped_inverse(jacobian, exact_from) * residual;
                assert!(step.distance(expected) < 1e-6 * expected.length(), "{smallest}: {step} {expected}");
                let left = residual - jacobian * step;
                let decrease = residual.length_squared() - value(&damping, left, step);
                assert!((decrease - foreseen).abs() < 1e-12);
                assert!(newton_step(&jacobian, &damping, left, step).0.length() < 1e-9 * step.length());
            }
        }
        assert_eq!(newton_step(&DMat3::ZERO, &DMat3::ZERO, residual, DVec3::ZERO).0, DVec3::ZERO);
    }

    #[test]
    fn conjugate_directions_have_unit_curvature_and_no_cross_terms() {
        let (jacobian, damping) = (map(1e-3), damping_of(map(1e-3), 0.01));
        let curvature = jacobian.transpose() * jacobian + damping;
        let directions = conjugate_directions(&jacobian, &damping);
        for (i, a) in directions.iter().enumerate() {
            for (j, b) in directions.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((a.dot(curvature * *b) - expected).abs() < 1e-9);
            }
        }
        assert_eq!(conjugate_directions(&DMat3::ZERO, &DMat3::ZERO), DVec3::AXES);
    }

    #[test]
    fn a_mended_jacobian_answers_the_last_move() {
        let (moved, answered) = (DVec3::new(0.1, 0.2, -0.3), DVec3::new(1.0, 0.0, 2.0));
        let mended = broyden(&map(0.5), moved, answered);
        assert!((mended * moved).distance(answered) < 1e-12);
        let across = moved.cross(DVec3::X);
        assert!((mended * across).distance(map(0.5) * across) < 1e-12, "and others as before");
    }
}
