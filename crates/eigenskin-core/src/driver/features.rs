//! What drivers look at: joint rotations and translations relative to a reference joint and to
//! rest, named controls, and bones that press against each other.

use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::DriverError;
use crate::contact::{Capsule, CapsulePair};
use crate::pose::{JointMotion, Pose, relative_motion};
use crate::skeleton::Skeleton;

/// One joint or control and how it is described.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureGroup {
    /// what is looked at
    pub source: FeatureSource,
    /// how it is described
    pub representation: Representation,
    /// factor of the squared distance (weighted PSD); 1 otherwise
    pub weight: f64,
    /// factor of the difference of two feature values
    pub scale: FeatureScale,
}

/// What a group looks at. The reference joint and the rest transform are stored with the driver:
/// nodes of a flat rig have no meaningful parent.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureSource {
    /// a joint against its reference joint
    Joint {
        /// index of the joint
        joint: usize,
        /// index of the reference joint
        reference: usize,
        /// where the joint is at rest, in the reference joint's space
        reference_from_joint_at_rest: DAffine3,
    },
    /// a named control
    Control {
        /// index of the control
        control: usize,
        /// its value at rest
        rest: f64,
    },
    /// a bone that presses into another
    Contact(CapsulePair),
}

/// How a joint's motion or a control's value is described and compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Representation {
    /// signed angle about an axis fixed in the joint, radians; what turns about other axes is
    /// not seen
    HingeAngle {
        /// unit, joint's own axes
        axis: DVec3,
    },
    /// rotation compared by geodesic angle, radians (the papers' free joint)
    Rotation,
    /// direction of an axis, compared by the angle between swings, radians
    Swing {
        /// unit, joint's own axes
        axis: DVec3,
    },
    /// turn about the axis after the swing is taken away, radians
    Twist {
        /// unit, joint's own axes
        axis: DVec3,
    },
    /// axis times angle, three components, radians
    RotationVector,
    /// translation away from rest, rest shape's axes and unit
    Translation,
    /// the value of a control
    Scalar,
    /// depth times direction of what presses into a bone, rest shape's axes and unit
    Overlap,
}

/// Factor of the difference of two feature values before it becomes a distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeatureScale {
    /// one factor
    One(f64),
    /// a factor per component (one falloff radius per axis); vector representations only
    PerAxis(DVec3),
    /// a matrix (Mahalanobis); vector representations only
    Matrix(DMat3),
}

/// A measured joint motion or control value.
#[derive(Debug, Clone, Copy)]
pub enum Measured {
    /// of a joint against its reference joint
    Joint(JointMotion),
    /// of a control, away from its default
    Control(f64),
    /// of a bone that presses into another
    Contact(DVec3),
}

impl FeatureScale {
    /// The scale times a factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        match self {
            Self::One(scale) => Self::One(factor * scale),
            Self::PerAxis(scales) => Self::PerAxis(factor * scales),
            Self::Matrix(matrix) => Self::Matrix(factor * matrix),
        }
    }
}

impl FeatureGroup {
    /// A joint against its reference joint in `skeleton`; `None` for the first root, whose motion
    /// moves the whole character and is never a feature.
    pub fn joint(skeleton: &Skeleton, joint: usize, representation: Representation) -> Option<Self> {
        let reference = skeleton.joints()[joint].reference?;
        let reference_from_joint_at_rest =
            skeleton.joints()[reference].joint_from_rest * skeleton.rest_from_joint()[joint];
        let source = FeatureSource::Joint { joint, reference, reference_from_joint_at_rest };
        Some(Self { source, representation, weight: 1.0, scale: FeatureScale::One(1.0) })
    }

    /// A named control.
    pub fn control(control: usize, rest: f64) -> Self {
        let source = FeatureSource::Control { control, rest };
        Self { source, representation: Representation::Scalar, weight: 1.0, scale: FeatureScale::One(1.0) }
    }

    /// A bone that presses into another.
    pub fn contact(pair: CapsulePair) -> Self {
        Self {
            source: FeatureSource::Contact(pair),
            representation: Representation::Overlap,
            weight: 1.0,
            scale: FeatureScale::One(1.0),
        }
    }

    /// The same group with another scale.
    #[must_use]
    pub fn scaled(mut self, scale: FeatureScale) -> Self {
        self.scale = scale;
        self
    }

    /// Numbers stored per centre.
    pub fn feature_count(&self) -> usize {
        match self.representation {
            Representation::Rotation | Representation::Swing { .. } => 4,
            Representation::RotationVector | Representation::Translation | Representation::Overlap => 3,
            Representation::HingeAngle { .. } | Representation::Twist { .. } | Representation::Scalar => 1,
        }
    }

    /// Coordinates for polynomial tails; rotations give their rotation vector.
    pub fn linear_count(&self) -> usize {
        match self.representation {
            Representation::Rotation | Representation::Swing { .. } => 3,
            _ => self.feature_count(),
        }
    }

    pub(super) fn check(&self, joint_count: usize, control_count: usize) -> Result<(), DriverError> {
        let in_range = |what, index, count| {
            if index < count { Ok(()) } else { Err(DriverError::OutOfRange { what, index, count }) }
        };
        let is_scalar = matches!(self.representation, Representation::Scalar);
        let is_overlap = matches!(self.representation, Representation::Overlap);
        match self.source {
            FeatureSource::Joint { joint, reference, reference_from_joint_at_rest } => {
                in_range("joint", joint, joint_count)?;
                in_range("joint", reference, joint_count)?;
                if is_scalar || is_overlap || !reference_from_joint_at_rest.is_finite() {
                    return Err(DriverError::BadNumber { what: "joint features" });
                }
            }
            FeatureSource::Control { control, rest } => {
                in_range("control", control, control_count)?;
                if !is_scalar || !rest.is_finite() {
                    return Err(DriverError::BadNumber { what: "control features" });
                }
            }
            FeatureSource::Contact(CapsulePair { own, other, softness }) => {
                in_range("joint", own.joint, joint_count)?;
                in_range("joint", other.joint, joint_count)?;
                let is_good = |capsule: Capsule| {
                    let radius = capsule.radius;
                    capsule.from.is_finite() && capsule.to.is_finite() && radius.is_finite() && radius >= 0.0
                };
                let is_soft = softness.is_finite() && softness > 0.0;
                if !(is_overlap && is_good(own) && is_good(other) && is_soft) {
                    return Err(DriverError::BadNumber { what: "capsules" });
                }
            }
        }
        if let Representation::HingeAngle { axis }
        | Representation::Swing { axis }
        | Representation::Twist { axis } = self.representation
            && (axis.length() - 1.0).abs() > 1e-6
        {
            return Err(DriverError::BadNumber { what: "axes" });
        }
        let scale_is_good = match self.scale {
            FeatureScale::One(factor) => factor.is_finite() && factor > 0.0,
            FeatureScale::PerAxis(factors) => factors.is_finite() && factors.min_element() >= 0.0,
            FeatureScale::Matrix(matrix) => matrix.is_finite(),
        };
        if !(scale_is_good && self.weight.is_finite() && self.weight >= 0.0) {
            return Err(DriverError::BadNumber { what: "feature scales" });
        }
        Ok(())
    }

    /// What a pose does to what this group looks at.
    pub fn measure(&self, skeleton: &Skeleton, pose: &Pose) -> Measured {
        match self.source {
            FeatureSource::Joint { joint, reference, reference_from_joint_at_rest } => {
                Measured::Joint(relative_motion(
                    pose.world_from_joint[reference],
                    pose.world_from_joint[joint],
                    skeleton.rest_from_joint()[reference],
                    reference_from_joint_at_rest,
                ))
            }
            FeatureSource::Control { control, rest } => Measured::Control(pose.controls[control] - rest),
            FeatureSource::Contact(pair) => Measured::Contact(pair.overlap(skeleton, pose)),
        }
    }

    /// Features away from rest, `feature_count` numbers.
    pub fn write_features(&self, measured: &Measured, out: &mut [f64]) {
        match *measured {
            Measured::Control(value) => out[0] = value,
            Measured::Contact(overlap) => out.copy_from_slice(&overlap.to_array()),
            Measured::Joint(JointMotion { rotation, translation }) => match self.representation {
                Representation::HingeAngle { axis } | Representation::Twist { axis } => {
                    out[0] = twist_angle(rotation, axis);
                }
                Representation::Rotation => out.copy_from_slice(&rotation.to_array()),
                Representation::Swing { axis } => out.copy_from_slice(&swing(rotation, axis).to_array()),
                Representation::RotationVector => {
                    out.copy_from_slice(&rotation_vector(rotation).to_array());
                }
                Representation::Translation => out.copy_from_slice(&translation.to_array()),
                // Checked drivers have these of controls and contacts only.
                Representation::Scalar | Representation::Overlap => out.fill(0.0),
            },
        }
    }

    /// Linear coordinates, scaled, zero at rest, `linear_count` numbers.
    pub fn write_linear(&self, measured: &Measured, out: &mut [f64]) {
        match (*measured, self.representation) {
            (Measured::Joint(motion), Representation::Rotation) => {
                out.copy_from_slice(&rotation_vector(motion.rotation).to_array());
            }
            (Measured::Joint(motion), Representation::Swing { axis }) => {
                out.copy_from_slice(&rotation_vector(swing(motion.rotation, axis)).to_array());
            }
            _ => self.write_features(measured, out),
        }
        self.apply_scale(out);
    }

    /// Linear coordinates of given features, `linear_count` numbers.
    pub(super) fn write_linear_of(&self, features: &[f64], out: &mut [f64]) {
        match self.representation {
            Representation::Rotation | Representation::Swing { .. } => {
                out.copy_from_slice(&rotation_vector(quaternion(features)).to_array());
            }
            _ => out.copy_from_slice(features),
        }
        self.apply_scale(out);
    }

    /// Distance of two feature values of this group, before its weight.
    pub fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        match self.representation {
            Representation::Rotation | Representation::Swing { .. } => {
                self.angle_factor() * geodesic_angle(quaternion(a), quaternion(b))
            }
            _ => {
                let mut difference = [0.0; 3];
                let count = a.len();
                for i in 0..count {
                    difference[i] = a[i] - b[i];
                }
                self.apply_scale(&mut difference[..count]);
                difference.iter().map(|d| d * d).sum::<f64>().sqrt()
            }
        }
    }

    /// What angles between rotations are multiplied with.
    pub fn angle_factor(&self) -> f64 {
        match self.scale {
            FeatureScale::One(factor) => factor,
            FeatureScale::PerAxis(_) | FeatureScale::Matrix(_) => 1.0,
        }
    }

    /// Features that are not rotations, such that the difference of two is their weighted distance.
    pub fn scale_and_weigh(&self, features: &mut [f64]) {
        self.apply_scale(features);
        let weight = self.weight.sqrt();
        for feature in features {
            *feature *= weight;
        }
    }

    /// Distance of a feature value from rest.
    pub fn distance_to_rest(&self, a: &[f64]) -> f64 {
        match self.representation {
            Representation::Rotation | Representation::Swing { .. } => {
                self.distance(a, &[0.0, 0.0, 0.0, 1.0])
            }
            _ => self.distance(a, &[0.0; 3][..a.len()]),
        }
    }

    /// The features of rest.
    pub fn write_rest_features(&self, out: &mut [f64]) {
        out.fill(0.0);
        if let Representation::Rotation | Representation::Swing { .. } = self.representation {
            out[3] = 1.0;
        }
    }

    fn apply_scale(&self, values: &mut [f64]) {
        match self.scale {
            FeatureScale::One(factor) => values.iter_mut().for_each(|v| *v *= factor),
            FeatureScale::PerAxis(factors) => {
                values.iter_mut().zip(factors.to_array()).for_each(|(v, factor)| *v *= factor);
            }
            FeatureScale::Matrix(matrix) if values.len() == 3 => {
                let product = matrix * DVec3::from_slice(values);
                values.copy_from_slice(&product.to_array());
            }
            FeatureScale::Matrix(matrix) => values.iter_mut().for_each(|v| *v *= matrix.x_axis.x),
        }
    }
}

/// Angle between two rotations in [0, π]; the sign of a quaternion does not matter.
pub fn geodesic_angle(a: DQuat, b: DQuat) -> f64 {
    let between = a.inverse() * b;
    2.0 * between.xyz().length().atan2(between.w.abs())
}

/// Axis times angle, the angle in [0, π].
pub fn rotation_vector(rotation: DQuat) -> DVec3 {
    let q = if rotation.w < 0.0 { -rotation } else { rotation };
    let sine = q.xyz().length();
    if sine < 1e-300 { DVec3::ZERO } else { q.xyz() * (2.0 * sine.atan2(q.w) / sine) }
}

/// Signed turn about a unit axis, in (−π, π]: the twist of the swing-twist decomposition
/// rotation = swing · twist.
pub fn twist_angle(rotation: DQuat, axis: DVec3) -> f64 {
    let q = if rotation.w < 0.0 { -rotation } else { rotation };
    2.0 * q.xyz().dot(axis).atan2(q.w)
}

/// What is left of a rotation when its twist about a unit axis is taken away.
pub fn swing(rotation: DQuat, axis: DVec3) -> DQuat {
    rotation * DQuat::from_axis_angle(axis, twist_angle(rotation, axis)).inverse()
}

fn quaternion(values: &[f64]) -> DQuat {
    DQuat::from_xyzw(values[0], values[1], values[2], values[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rotation() -> impl Strategy<Value = DQuat> {
        [-1f64..1.0, -1f64..1.0, -1f64..1.0, 0.05f64..1.0].prop_map(|q| DQuat::from_array(q).normalize())
    }

    proptest! {
        #[test]
        fn geodesic_angle_is_a_distance_blind_to_the_sign(a in rotation(), b in rotation(), c in rotation()) {
            let d = geodesic_angle(a, b);
            prop_assert!((d - geodesic_angle(b, a)).abs() < 1e-12);
            prop_assert!((d - geodesic_angle(-a, b)).abs() < 1e-12);
            prop_assert!((d - geodesic_angle(c * a, c * b)).abs() < 1e-9);
            prop_assert!(d <= geodesic_angle(a, c) + geodesic_angle(c, b) + 1e-12);
            // Independent: the trace of the rotation between them.
            let between = DMat3::from_quat(a).transpose() * DMat3::from_quat(b);
            let trace = between.x_axis.x + between.y_axis.y + between.z_axis.z;
            prop_assert!((d - ((trace - 1.0) / 2.0).clamp(-1.0, 1.0).acos()).abs() < 1e-5);
        }

        #[test]
        fn swing_and_twist_multiply_to_the_rotation(q in rotation()) {
            let axis = DVec3::new(0.6, 0.0, 0.8);
            let twist = DQuat::from_axis_angle(axis, twist_angle(q, axis));
            let swing = swing(q, axis);
            prop_assert!((swing * twist).dot(q).abs() > 1.0 - 1e-12);
            // A swing turns about an axis perpendicular to the twist axis.
            prop_assert!(swing.xyz().dot(axis).abs() < 1e-9);
        }

        #[test]
        fn rotation_vector_inverts_the_exponential(v in [-1.7f64..1.7, -1.7f64..1.7, -1.7f64..1.7]) {
            let v = DVec3::from_array(v);
            prop_assert!((rotation_vector(DQuat::from_scaled_axis(v)) - v).length() < 1e-9);
        }
    }

    #[test]
    fn small_angles_keep_their_precision() {
        let tiny = DQuat::from_rotation_x(1e-9);
        assert!((geodesic_angle(DQuat::IDENTITY, tiny) - 1e-9).abs() < 1e-18);
        assert!((twist_angle(tiny, DVec3::X) - 1e-9).abs() < 1e-18);
    }
}
