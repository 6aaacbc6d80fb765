//! All that a window shows, apart from how: pose, clip, camera, choices.

use std::path::PathBuf;
use std::sync::Arc;

use eigenskin_core::bounding_sphere::BoundingSphere;
use eigenskin_core::glam::DVec3;
use eigenskin_core::pose::Pose;

use crate::message::{Shown, Step};
use crate::orbit::Orbit;
use crate::player::ClipPlayer;
use crate::pose_state::PoseState;
use crate::subject::Subject;

/// What is shown.
#[derive(Debug)]
pub struct ViewState {
    /// what is looked at
    pub subject: Arc<Subject>,
    /// its pose
    pub pose: PoseState,
    /// its clips
    pub player: ClipPlayer,
    /// the camera
    pub orbit: Orbit,
    /// what of it
    pub shown: Shown,
    /// lines along the edges
    pub wireframe: bool,
    /// whether the panel is there
    pub panel: bool,
    /// the joint that sliders turn
    pub joint: usize,
    /// the true shape whose pose is shown
    pub example: Option<usize>,
    /// look at the whole character before the next frame
    pub wants_framing: bool,
}

/// What only a window can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// write a picture
    Screenshot(PathBuf),
    /// close
    Quit,
}

impl ViewState {
    /// At rest, framed.
    pub fn new(subject: Arc<Subject>) -> Self {
        let rig = subject.model.rig().clone();
        let skeleton = rig.skeleton();
        // The first joint that bends: turning the root only turns the character.
        let joint = (0..skeleton.joint_count())
            .find(|&joint| skeleton.joints()[joint].reference.is_some())
            .unwrap_or(0);
        let durations = subject.file.clips().iter().map(eigenskin_gltf::Clip::duration).collect();
        let mut orbit = Orbit::new(subject.from_direction, subject.up);
        let bounds = rig.mesh().bounds();
        orbit.frame(bounds.centre, bounds.radius);
        Self {
            pose: PoseState::new(rig),
            player: ClipPlayer::new(durations),
            orbit,
            shown: Shown::Model,
            wireframe: false,
            panel: true,
            joint,
            example: None,
            wants_framing: false,
            subject,
        }
    }

    /// Follows one step of a message.
    pub fn apply(&mut self, step: &Step) -> Option<Effect> {
        match step {
            Step::Reset => self.reset(),
            Step::Clip { clip, time } => {
                self.player.show(*clip, *time);
                self.sample();
            }
            Step::Time(time) => {
                self.player.scrub(*time);
                self.sample();
            }
            Step::Example(example) => self.show_example(*example),
            Step::World(world) => {
                let controls = self.pose.pose().controls.clone();
                self.set_pose(&Pose { world_from_joint: world.clone(), controls });
            }
            Step::Joints(rotations) => {
                self.edited();
                self.pose.set_rotations(rotations);
            }
            Step::Controls(values) => {
                self.edited();
                for &(control, value) in values {
                    self.pose.set_control(control, value);
                }
            }
            Step::View(shown) => self.shown = *shown,
            Step::Wireframe(on) => self.wireframe = *on,
            Step::Camera { yaw, pitch, zoom } => self.orbit.set(*yaw, *pitch, *zoom),
            Step::Frame => self.wants_framing = true,
            Step::Panel(on) => self.panel = *on,
            Step::Screenshot(path) => return Some(Effect::Screenshot(path.clone())),
            Step::Quit => return Some(Effect::Quit),
        }
        None
    }

    /// Lets time pass. Whether the pose has changed.
    pub fn advance(&mut self, seconds: f64) -> bool {
        let moved = self.player.advance(seconds);
        if moved {
            self.sample();
        }
        moved
    }

    /// Takes the pose of the clip that is shown.
    pub fn sample(&mut self) {
        if let Some((clip, time)) = self.player.shown() {
            self.example = None;
            self.pose.set_pose(&self.subject.sample(clip, time));
        }
    }

    /// Takes a pose that is none of a clip's.
    pub fn set_pose(&mut self, pose: &Pose) {
        self.edited();
        self.pose.set_pose(pose);
    }

    /// Takes the pose of a true shape.
    pub fn show_example(&mut self, example: usize) {
        let subject = self.subject.clone();
        if let Some(found) = subject.truth.as_ref().and_then(|truth| truth.examples().get(example)) {
            self.set_pose(&found.pose);
            self.example = Some(example);
        }
    }

    /// Turns the chosen joint, degrees.
    pub fn turn_joint(&mut self, degrees: [f64; 3]) {
        self.edited();
        self.pose.set_angles(self.joint, degrees);
    }

    /// Sets a control.
    pub fn set_control(&mut self, control: usize, value: f64) {
        self.edited();
        self.pose.set_control(control, value);
    }

    /// Back to rest.
    pub fn reset(&mut self) {
        self.edited();
        self.pose.reset();
    }

    /// Looks at a shape that fills the view.
    pub fn frame(&mut self, positions: &[eigenskin_core::glam::Vec3]) {
        let bounds = BoundingSphere::of(positions);
        self.orbit.frame(bounds.centre, bounds.radius);
        self.wants_framing = false;
    }

    /// A sphere that holds the posed shape, generously.
    pub fn bounds(&self) -> (DVec3, f64) {
        let (centre, radius) = self.pose.joint_bounds();
        (centre, radius + self.subject.model.rig().mesh().size())
    }

    /// The pose is now neither a clip's nor a true shape's.
    fn edited(&mut self) {
        self.player.leave();
        self.example = None;
    }
}
