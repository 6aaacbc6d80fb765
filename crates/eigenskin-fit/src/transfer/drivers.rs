//! Drivers of a model for the joints and controls of another rig.

use eigenskin_core::driver::{Driver, FeatureSource};
use eigenskin_core::model::{Frame, Model, Stage};
use eigenskin_core::nearest_name;
use eigenskin_core::pose::{Pose, rotation_of};
use eigenskin_core::rig::Rig;

use super::TransferError;

/// Where the joints and controls of a source are in a target, by name.
pub(super) struct Names {
    /// `source joint`
    joints: Vec<Result<usize, String>>,
    /// `source control`
    controls: Vec<Result<usize, String>>,
    target_joints: Vec<String>,
    /// `target joint` → source joint
    back: Vec<Option<usize>>,
    /// `target control` → source control, or its default
    controls_back: Vec<Result<usize, f64>>,
    rest: Vec<glam::DAffine3>,
}

/// Binds may differ by this share of the size, and by as many radians.
const SAME_BIND: f64 = 1e-3;

impl Names {
    /// By name alone.
    pub fn of_rigs(source: &Rig, target: &Rig) -> Self {
        let joints = source.skeleton().joints().iter();
        let control = |name: &str, rig: &Rig| rig.controls().iter().position(|c| c.name == name);
        Self {
            joints: joints
                .map(|j| target.skeleton().joint_named(&j.name).ok_or_else(|| j.name.clone()))
                .collect(),
            controls: source
                .controls()
                .iter()
                .map(|c| control(&c.name, target).ok_or_else(|| c.name.clone()))
                .collect(),
            target_joints: target.skeleton().joints().iter().map(|j| j.name.clone()).collect(),
            back: target.skeleton().joints().iter().map(|j| source.skeleton().joint_named(&j.name)).collect(),
            controls_back: target
                .controls()
                .iter()
                .map(|c| control(&c.name, source).ok_or(c.default))
                .collect(),
            rest: target.skeleton().rest_from_joint().to_vec(),
        }
    }

    /// By name, with the binds of all joints that both have compared and those that the model needs
    /// found.
    pub fn new(model: &Model, target: &Rig) -> Result<Self, TransferError> {
        let source = model.rig();
        let names = Self::of_rigs(source, target);
        for group in model.layers().iter().flat_map(|layer| &layer.driver.groups) {
            match group.source {
                FeatureSource::Joint { joint, reference, .. } => {
                    names.joint(joint)?;
                    names.joint(reference)?;
                }
                FeatureSource::Control { control, .. } => {
                    names.control(control)?;
                }
                FeatureSource::Contact(pair) => {
                    names.joint(pair.own.joint)?;
                    names.joint(pair.other.joint)?;
                }
            }
        }
        let size = source.mesh().size();
        for (joint, found) in names.joints.iter().enumerate() {
            let Ok(found) = found else { continue };
            let (a, b) = (source.skeleton().rest_from_joint()[joint], names.rest[*found]);
            let distance = a.translation.distance(b.translation);
            let turn = rotation_of(a.matrix3).angle_between(rotation_of(b.matrix3));
            if distance > SAME_BIND * size || turn > SAME_BIND.sqrt() {
                let name = source.skeleton().joints()[joint].name.clone();
                return Err(TransferError::OtherBind { name, distance, degrees: turn.to_degrees() });
            }
        }
        Ok(names)
    }

    /// A joint of the source in the target.
    pub fn joint(&self, joint: usize) -> Result<usize, TransferError> {
        self.joints[joint].clone().map_err(|name| TransferError::MissingJoint {
            hint: nearest_name::hint(&name, self.target_joints.iter().map(String::as_str)),
            name,
        })
    }

    fn control(&self, control: usize) -> Result<usize, TransferError> {
        self.controls[control].clone().map_err(|name| TransferError::MissingControl { name })
    }

    /// A pose of the source as one of the target; joints that only the target has rest.
    pub fn pose(&self, pose: &Pose) -> Result<Pose, TransferError> {
        let joint = |(target, source): (usize, &Option<usize>)| match source {
            Some(source) => Ok(pose.world_from_joint[*source]),
            None => Err(TransferError::MissingJoint {
                name: self.target_joints[target].clone(),
                hint: String::new(),
            }),
        };
        Ok(Pose {
            world_from_joint: self.back.iter().enumerate().map(joint).collect::<Result<_, _>>()?,
            controls: self
                .controls_back
                .iter()
                .map(|source| source.map_or_else(|default| default, |control| pose.controls[control]))
                .collect(),
        })
    }

    /// The driver for the target. Names that it needs were found.
    pub fn driver(&self, driver: &Driver) -> Driver {
        let mut driver = driver.clone();
        for group in &mut driver.groups {
            match &mut group.source {
                FeatureSource::Joint { joint, reference, .. } => {
                    *joint = self.joints[*joint].clone().unwrap_or(*joint);
                    *reference = self.joints[*reference].clone().unwrap_or(*reference);
                }
                FeatureSource::Control { control, .. } => {
                    *control = self.controls[*control].clone().unwrap_or(*control);
                }
                FeatureSource::Contact(pair) => {
                    for capsule in [&mut pair.own, &mut pair.other] {
                        capsule.joint = self.joints[capsule.joint].clone().unwrap_or(capsule.joint);
                    }
                }
            }
        }
        driver
    }

    /// The stage for the target; a frame that it lacks becomes the root's.
    pub fn stage(&self, stage: Stage) -> Stage {
        match stage {
            Stage::AfterSkinning { frame: Frame::Joint(joint) } => {
                let frame = self.joints[joint].clone().map_or(Frame::Root, Frame::Joint);
                Stage::AfterSkinning { frame }
            }
            other => other,
        }
    }
}
