//! What a fit learns from: poses, and what they do to the rest shape.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{ExampleSet, ExamplesError, MergedExample};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;

use super::fields::StoreError;
use super::pulled_back::PullBackError;
use super::set_displacements::{RestDisplacements, rest_displacements};

/// Distinct poses of a rig, none of them rest, and their displacements.
#[derive(Debug, Clone)]
pub struct Observations {
    /// the rig
    pub rig: Arc<Rig>,
    /// `example`
    pub names: Vec<String>,
    /// `example`
    pub poses: Vec<Pose>,
    /// what the displacements are added before
    pub base: Base,
    /// what the examples do to the rest shape
    pub displacements: RestDisplacements,
    /// examples left out since they say nothing new
    pub merged: Vec<MergedExample>,
}

/// Why examples cannot be learnt from.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ObservationsError {
    /// Something about the examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// An example that was not inverted through the deformers.
    #[error(transparent)]
    PullBack(PullBackError),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<PullBackError> for ObservationsError {
    fn from(error: PullBackError) -> Self {
        match error {
            PullBackError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error @ PullBackError::NotInverted { .. } => Self::PullBack(error),
        }
    }
}

impl Observations {
    /// Examples × points of a large set: what a fit leaves of them, held for five folds, is a gigabyte.
    pub(crate) const LARGE: usize = 8 << 20;

    /// Of a set in memory. With `allow_compromise` (smoothing), equal poses may have different shapes.
    ///
    /// ```
    /// use eigenskin_core::deformers::Base;
    /// use eigenskin_core::progress::Unwatched;
    /// use eigenskin_fit::displacements::Observations;
    ///
    /// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
    /// let seen = Observations::of(&examples, &Base::default(), false, &Unwatched)?;
    /// assert_eq!(seen.len(), examples.len());
    /// # Ok::<(), eigenskin_fit::displacements::ObservationsError>(())
    /// ```
    pub fn of(
        set: &ExampleSet,
        base: &Base,
        allow_compromise: bool,
        progress: &dyn Progress,
    ) -> Result<Self, ObservationsError> {
        let (set, merged) = set.for_training(allow_compromise)?;
        Ok(Self {
            rig: set.rig().clone(),
            names: set.examples().iter().map(|example| example.name.clone()).collect(),
            poses: set.examples().iter().map(|example| example.pose.clone()).collect(),
            base: base.clone(),
            displacements: rest_displacements(&set, base, progress)?,
            merged,
        })
    }

    /// Some of the examples, held in memory.
    pub fn select(&self, examples: &[usize]) -> Result<Self, StoreError> {
        let displacements = &self.displacements;
        Ok(Self {
            rig: self.rig.clone(),
            names: examples.iter().map(|&example| self.names[example].clone()).collect(),
            poses: examples.iter().map(|&example| self.poses[example].clone()).collect(),
            base: self.base.clone(),
            displacements: RestDisplacements {
                points: displacements.points.clone(),
                positions: displacements.positions.select(examples)?,
                normals: displacements.normals.select(examples)?,
                residuals: examples.iter().map(|&e| displacements.residuals[e].clone()).collect(),
            },
            merged: Vec::new(),
        })
    }

    /// Whether there is so much that fits leave out searches which look at all of it again and again.
    pub fn is_large(&self) -> bool {
        self.len() * self.displacements.points.group_count() > Self::LARGE
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.poses.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.poses.is_empty()
    }
}
