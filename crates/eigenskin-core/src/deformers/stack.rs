//! Binding a chain of deformers to a rig, and running it.

use std::fmt;
use std::sync::Arc;

use glam::{DAffine3, DVec3};

use super::lattice::BoundLattice;
use super::smoothing::BoundSmoothing;
use super::wrap::BoundWrap;
use super::{BlackBox, BlackBoxError, Deformer, DeformerStack};
use crate::pose::Pose;
use crate::rig::Rig;
use crate::skinning::{BaseSkinning, dual_quaternion, linear_blend, rigid};

/// Why a chain of deformers does not fit a rig. Steps count from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DeformerError {
    /// Nothing to do.
    #[error("the black box {name:?} has no deformer; give it at least one")]
    NoSteps {
        /// the stack's name
        name: String,
    },
    /// The skin would stay at rest.
    #[error(
        "no deformer of the black box {name:?} carries the skin into the pose; add a skinning, a wrap or an external program"
    )]
    NothingPoses {
        /// the stack's name
        name: String,
    },
    /// Joints would act twice.
    #[error(
        "deformers {first} and {second} both carry the rest shape into the pose; keep one skinning or wrap"
    )]
    PosedTwice {
        /// step that poses the skin
        first: usize,
        /// and another
        second: usize,
    },
    /// A joint that the rig does not have.
    #[error("deformer {step} names joint {name:?}, which the rig does not have{hint}")]
    NoSuchJoint {
        /// the step at fault
        step: usize,
        /// the name
        name: String,
        /// what may have been meant
        hint: String,
    },
    /// A control that the rig does not have.
    #[error("deformer {step} names control {name:?}, which the rig does not have{hint}")]
    NoSuchControl {
        /// the step at fault
        step: usize,
        /// the name
        name: String,
        /// what may have been meant
        hint: String,
    },
    /// Bad settings of a lattice.
    #[error("deformer {step}, a lattice, {what}")]
    Lattice {
        /// the step at fault
        step: usize,
        /// what is wrong, and how to mend it
        what: String,
    },
    /// Bad settings of a smoothing.
    #[error("deformer {step}, a smoothing, {what}")]
    Smoothing {
        /// the step at fault
        step: usize,
        /// what is wrong, and how to mend it
        what: String,
    },
    /// Bad settings of a wrap.
    #[error("deformer {step}, a wrap, {what}")]
    Wrap {
        /// the step at fault
        step: usize,
        /// what is wrong, and how to mend it
        what: String,
    },
    /// A program that nobody said how to start.
    #[error(
        "deformer {step} is the external program {name:?}, and a model does not say how to start it; give its deformer-stack file"
    )]
    NotOpened {
        /// the step at fault
        step: usize,
        /// what it is called
        name: String,
    },
    /// A program that did not start.
    #[error("deformer {step}, the external program {name:?}, did not start: {error}")]
    Open {
        /// the step at fault
        step: usize,
        /// what it is called
        name: String,
        /// what happened
        error: BlackBoxError,
    },
}

/// A black box that may go to another thread: a program that was started, say.
pub type OpenedBox = Box<dyn BlackBox + Send>;

impl DeformerStack {
    /// Whether another program is part of it.
    pub fn has_external(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Deformer::External { .. }))
    }

    /// Checks it against `rig` and prepares all steps. Stacks with an external program need
    /// [`Self::bind_with`].
    pub fn bind(&self, rig: &Arc<Rig>) -> Result<BoundStack, DeformerError> {
        let external = |step: &Deformer| match step {
            Deformer::External { name } => Some(name.clone()),
            _ => None,
        };
        let found = self.steps.iter().enumerate().find_map(|(step, d)| Some((step + 1, external(d)?)));
        if let Some((step, name)) = found {
            return Err(DeformerError::NotOpened { step, name });
        }
        self.bind_with(rig, &mut |name| Err(BlackBoxError::Failed(format!("nothing opens {name:?}"))))
    }

    /// The same, with `open` to start the external programs by their names.
    pub fn bind_with(
        &self,
        rig: &Arc<Rig>,
        open: &mut dyn FnMut(&str) -> Result<OpenedBox, BlackBoxError>,
    ) -> Result<BoundStack, DeformerError> {
        self.check_order(rig)?;
        let mut posed = false;
        let mut steps = Vec::with_capacity(self.steps.len());
        for (index, deformer) in self.steps.iter().enumerate() {
            let step = index + 1;
            steps.push(match deformer {
                Deformer::Skinning(base) => BoundStep::Own(OwnStep::Skinning(*base)),
                Deformer::Lattice(lattice) => {
                    BoundStep::Own(OwnStep::Lattice(lattice.bind(rig, step, posed)?))
                }
                Deformer::Smoothing(smoothing) => {
                    BoundStep::Own(OwnStep::Smoothing(smoothing.bind(rig, step)?))
                }
                Deformer::Wrap(wrap) => BoundStep::Own(OwnStep::Wrap(wrap.bind(rig, step)?)),
                Deformer::External { name } => {
                    let program = open(name).map_err(|error| DeformerError::Open {
                        step,
                        name: name.clone(),
                        error,
                    })?;
                    BoundStep::External {
                        name: name.clone(),
                        program,
                        posed: vec![DVec3::ZERO; rig.vertex_count()],
                    }
                }
            });
            posed |= deformer.poses();
        }
        let joints = Joints {
            posed_from_rest: vec![DAffine3::IDENTITY; rig.skeleton().joint_count()],
            dual_quaternions: dual_quaternion::Joints::new(rig.skeleton()),
        };
        Ok(BoundStack { rig: rig.clone(), steps, joints })
    }

    fn check_order(&self, rig: &Rig) -> Result<(), DeformerError> {
        if self.steps.is_empty() {
            return Err(DeformerError::NoSteps { name: self.name.clone() });
        }
        let mut carrying = self
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| matches!(step, Deformer::Skinning(_) | Deformer::Wrap(_)))
            .map(|(index, _)| index + 1);
        if let (Some(first), Some(second)) = (carrying.next(), carrying.next()) {
            return Err(DeformerError::PosedTwice { first, second });
        }
        if rig.skeleton().joint_count() > 0 && !self.steps.iter().any(Deformer::poses) {
            return Err(DeformerError::NothingPoses { name: self.name.clone() });
        }
        Ok(())
    }
}

impl Deformer {
    /// Whether it carries the rest shape into the pose; of another program that is assumed.
    fn poses(&self) -> bool {
        match self {
            Self::Skinning(_) | Self::Wrap(_) | Self::External { .. } => true,
            Self::Lattice(_) | Self::Smoothing(_) => false,
        }
    }
}

/// A chain of deformers ready to run on one rig. Calls allocate nothing, external programs aside.
pub struct BoundStack {
    rig: Arc<Rig>,
    steps: Vec<BoundStep>,
    joints: Joints,
}

/// A chain without external programs: it cannot fail.
#[derive(Debug)]
pub struct OwnSteps<'a>(&'a mut BoundStack);

#[allow(clippy::large_enum_variant, reason = "a chain has a handful of them")]
enum BoundStep {
    Own(OwnStep),
    External {
        name: String,
        program: OpenedBox,
        /// scratch, `vertex`
        posed: Vec<DVec3>,
    },
}

#[derive(Debug)]
enum OwnStep {
    Skinning(BaseSkinning),
    Lattice(BoundLattice),
    Smoothing(BoundSmoothing),
    Wrap(BoundWrap),
}

/// Scratch: the joints of the pose at hand.
#[derive(Debug)]
struct Joints {
    /// `joint`
    posed_from_rest: Vec<DAffine3>,
    dual_quaternions: dual_quaternion::Joints,
}

impl BoundStack {
    /// The rig it is bound to.
    pub fn rig(&self) -> &Arc<Rig> {
        &self.rig
    }

    /// The same chain as one that cannot fail; none when an external program is part of it.
    pub fn own_steps(&mut self) -> Option<OwnSteps<'_>> {
        self.steps.iter().all(|step| matches!(step, BoundStep::Own(_))).then_some(OwnSteps(self))
    }

    fn check_counts(&self, pose: &Pose, vertices: usize) -> Result<(), BlackBoxError> {
        let expected = self.rig.vertex_count();
        if vertices != expected {
            return Err(BlackBoxError::VertexCount { found: vertices, expected });
        }
        let (joints, controls) = (self.rig.skeleton().joint_count(), self.rig.controls().len());
        if pose.world_from_joint.len() != joints || pose.controls.len() != controls {
            return Err(BlackBoxError::Failed(format!(
                "the pose has {} joints and {} controls, the rig has {joints} and {controls}; give a pose of this rig",
                pose.world_from_joint.len(),
                pose.controls.len()
            )));
        }
        Ok(())
    }
}

impl BlackBox for BoundStack {
    fn deform(&mut self, pose: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError> {
        self.check_counts(pose, near_rest.len())?;
        self.check_counts(pose, posed.len())?;
        posed.copy_from_slice(near_rest);
        self.joints.set(&self.rig, pose);
        for step in &mut self.steps {
            match step {
                BoundStep::Own(step) => step.deform(&self.rig, pose, &mut self.joints, posed),
                BoundStep::External { program, posed: answer, .. } => {
                    program.deform(pose, posed, answer)?;
                    posed.copy_from_slice(answer);
                }
            }
        }
        match posed.iter().position(|p| !p.is_finite()) {
            Some(vertex) => Err(BlackBoxError::NotFinite { vertex }),
            None => Ok(()),
        }
    }
}

impl OwnSteps<'_> {
    /// Carries points near rest (`vertex`, overwritten) into `pose`, both of the rig the chain is bound
    /// to.
    pub fn deform(&mut self, pose: &Pose, points: &mut [DVec3]) {
        let BoundStack { rig, steps, joints } = &mut *self.0;
        assert_eq!(points.len(), rig.vertex_count(), "points of another rig");
        joints.set(rig, pose);
        for step in steps {
            if let BoundStep::Own(step) = step {
                step.deform(rig, pose, joints, points);
            }
        }
    }
}

impl OwnStep {
    fn deform(&mut self, rig: &Rig, pose: &Pose, joints: &mut Joints, points: &mut [DVec3]) {
        match self {
            Self::Skinning(base) => joints.skin(*base, rig, points),
            Self::Lattice(lattice) => lattice.deform(rig, pose, &joints.posed_from_rest, points),
            Self::Smoothing(smoothing) => smoothing.deform(points),
            Self::Wrap(wrap) => wrap.deform(&joints.posed_from_rest, points),
        }
    }
}

impl Joints {
    fn set(&mut self, rig: &Rig, pose: &Pose) {
        for (joint, posed) in self.posed_from_rest.iter_mut().zip(pose.posed_from_rest(rig.skeleton())) {
            *joint = posed;
        }
    }

    fn skin(&mut self, base: BaseSkinning, rig: &Rig, points: &mut [DVec3]) {
        let joints = &self.posed_from_rest;
        if base == BaseSkinning::DualQuaternion {
            self.dual_quaternions.set(rig.skeleton(), joints);
        }
        for (vertex, point) in points.iter_mut().enumerate() {
            let influences = rig.weights().of(vertex);
            let transform = match base {
                BaseSkinning::Rigid => rigid::transform(influences, joints),
                BaseSkinning::LinearBlend => linear_blend::transform(influences, joints),
                BaseSkinning::DualQuaternion => self.dual_quaternions.transform(influences).0,
            };
            *point = transform.transform_point3(*point);
        }
    }
}

impl fmt::Debug for BoundStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundStack").field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// Which step it is, without its data.
impl fmt::Debug for BoundStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(OwnStep::Skinning(base)) => f.debug_tuple("Skinning").field(base).finish(),
            Self::Own(OwnStep::Lattice(_)) => f.write_str("Lattice"),
            Self::Own(OwnStep::Smoothing(_)) => f.write_str("Smoothing"),
            Self::Own(OwnStep::Wrap(_)) => f.write_str("Wrap"),
            Self::External { name, .. } => f.debug_tuple("External").field(name).finish(),
        }
    }
}
