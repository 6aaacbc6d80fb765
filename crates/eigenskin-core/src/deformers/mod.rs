//! Deformers: what carries corrected rest shapes into a pose, from one base skinning to a whole
//! chain of a modelling program (Xian, Lewis 2006 §5).
//!
//! A [`BlackBox`] is all that inversion and evaluation ask for. A [`Base`] is what models and files
//! name: a skinning in closed form, or a chain of deformers that can be bound to a rig.

pub mod lattice;
pub mod smoothing;
pub mod stack;
pub mod wrap;

use std::sync::Arc;

use glam::DVec3;

use crate::pose::Pose;
use crate::progress::Cancelled;
use crate::skinning::BaseSkinning;

pub use lattice::{Amount, Lattice, LatticeBasis};
pub use smoothing::{Smoothing, SmoothingWeighting};
pub use stack::{BoundStack, DeformerError, OpenedBox, OwnSteps};
pub use wrap::{Cage, Wrap};

/// One call that deforms a whole mesh in a given pose: SKINNING in Xian §5. What an embedding
/// program implements.
pub trait BlackBox {
    /// Carries points near rest (`vertex`) into `pose` (`vertex`).
    fn deform(&mut self, pose: &Pose, near_rest: &[DVec3], posed: &mut [DVec3]) -> Result<(), BlackBoxError>;
}

/// Why a black box gave no shape.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BlackBoxError {
    /// NaN or infinity.
    #[error(
        "the deformer puts vertex {vertex} at a place that is not a finite number; look at its settings in this pose"
    )]
    NotFinite {
        /// the vertex at fault
        vertex: usize,
    },
    /// A shape of another mesh.
    #[error("the deformer moves {found} vertices, the rig has {expected}; give it the rig's own mesh")]
    VertexCount {
        /// vertices it moves
        found: usize,
        /// vertices of the rig
        expected: usize,
    },
    /// Something outside: a process that died, hung or answered nonsense.
    #[error("{0}")]
    Failed(String),
    /// The work was ended from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What corrections are added to.
#[derive(Debug, Clone, PartialEq)]
pub enum Base {
    /// a skinning in closed form
    Skinning(BaseSkinning),
    /// a chain of deformers, inverted as a black box
    Deformers(Arc<DeformerStack>),
}

impl Base {
    /// The skinning, when that is all.
    pub fn skinning(&self) -> Option<BaseSkinning> {
        match self {
            Self::Skinning(skinning) => Some(*skinning),
            Self::Deformers(_) => None,
        }
    }

    /// For people: the skinning's name, or the chain's.
    pub fn name(&self) -> &str {
        match self {
            Self::Skinning(skinning) => skinning.name(),
            Self::Deformers(stack) => &stack.name,
        }
    }

    /// The skinning, or linear blending for chains of deformers: the base of comparisons, which would
    /// cost too much through a chain, or could not ask another program.
    pub fn closed_form(&self) -> BaseSkinning {
        self.skinning().unwrap_or(BaseSkinning::LinearBlend)
    }
}

impl Default for Base {
    /// Linear blending.
    fn default() -> Self {
        Self::Skinning(BaseSkinning::LinearBlend)
    }
}

impl From<BaseSkinning> for Base {
    fn from(skinning: BaseSkinning) -> Self {
        Self::Skinning(skinning)
    }
}

/// Deformers in the order they act, each on what the one before it gives. The first ones act on the
/// rest shape; some of them (a skinning, a wrap) carry it into the pose.
#[derive(Debug, Clone, PartialEq)]
pub struct DeformerStack {
    /// for people
    pub name: String,
    /// at least one
    pub steps: Vec<Deformer>,
}

/// One deformer of a chain.
#[derive(Debug, Clone, PartialEq)]
pub enum Deformer {
    /// joints carry the skin
    Skinning(BaseSkinning),
    /// a box of control points
    Lattice(Lattice),
    /// delta mush, corrective smoothing
    Smoothing(Smoothing),
    /// another mesh carries the skin
    Wrap(Wrap),
    /// another program; its command is not part of a model, so that no file starts programs
    External {
        /// what it was called where it was set up
        name: String,
    },
}
