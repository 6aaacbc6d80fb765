//! All that a character's geometry says: skin, bones, lattice, and how they hang together.

use eigenskin_core::progress::{Cancelled, Progress};
use eigenskin_core::rig::Rig;

use crate::bones::{BoneError, BoneParams, BonePlan, Held, hold, plan_bones};
use crate::embedding::{Embedding, embed};
use crate::lattice::{FillError, FillParams, Filling, fill};
use crate::surface::{Surface, SurfaceError};

/// A character ready to be simulated.
#[derive(Debug, Clone)]
pub struct Tissue {
    /// the skin
    pub surface: Surface,
    /// the bones below it
    pub plan: BonePlan,
    /// the cubes within it
    pub filling: Filling,
    /// which cells the vertices follow
    pub embedding: Embedding,
    /// which points the bones hold
    pub held: Held,
}

/// How to make tissue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TissueParams {
    /// the lattice
    pub fill: FillParams,
    /// the bones
    pub bones: BoneParams,
}

/// Why a character has no tissue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TissueError {
    /// The skin bounds nothing.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// No bones.
    #[error(transparent)]
    Bones(#[from] BoneError),
    /// No lattice.
    #[error(transparent)]
    Fill(FillError),
    /// Ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<FillError> for TissueError {
    fn from(error: FillError) -> Self {
        match error {
            FillError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Fill(error),
        }
    }
}

/// What is being done, for who watches.
pub(crate) const FILLING: &str = "filling the skin";

impl Tissue {
    /// Fills a rig. `moving`: per `joint`, whether it ever moves against its reference joint;
    /// `excluded`: empty, or per `vertex`, whether its triangles are no skin.
    pub fn of(
        rig: &Rig,
        moving: &[bool],
        excluded: &[bool],
        params: &TissueParams,
        progress: &dyn Progress,
    ) -> Result<Self, TissueError> {
        progress.doing(FILLING)?;
        let surface = Surface::of(rig.mesh(), excluded)?;
        progress.doing(FILLING)?;
        let plan = plan_bones(rig, &surface, moving, &params.bones)?;
        let filling = fill(&surface, plan.thinnest, &plan.points_below_skin(), &params.fill, progress)?;
        let embedding = embed(&surface, &filling, progress)?;
        let held = hold(rig, &plan, &filling, &embedding, &params.bones, progress)?;
        Ok(Self { surface, plan, filling, embedding, held })
    }
}
