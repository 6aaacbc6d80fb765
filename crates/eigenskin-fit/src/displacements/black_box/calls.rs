//! Calls of a black box: counted, and what it answers checked.

use glam::DVec3;

use eigenskin_core::deformers::{BlackBox, BlackBoxError};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Progress, Step};

use crate::displacements::PULLING_BACK;

pub(super) struct Calls<'a> {
    black_box: &'a mut dyn BlackBox,
    pose: &'a Pose,
    progress: &'a dyn Progress,
    pub made: usize,
}

impl<'a> Calls<'a> {
    pub fn new(black_box: &'a mut dyn BlackBox, pose: &'a Pose, progress: &'a dyn Progress) -> Self {
        Self { black_box, pose, progress, made: 0 }
    }

    /// Deforms points near rest (`vertex`).
    pub fn deform(&mut self, near_rest: &[DVec3]) -> Result<Vec<DVec3>, BlackBoxError> {
        let mut posed = vec![DVec3::ZERO; near_rest.len()];
        self.progress.step(Step { doing: PULLING_BACK, done: self.made, count: None })?;
        self.made += 1;
        self.black_box.deform(self.pose, near_rest, &mut posed)?;
        match posed.iter().position(|p| !p.is_finite()) {
            Some(vertex) => Err(BlackBoxError::NotFinite { vertex }),
            None => Ok(posed),
        }
    }
}
