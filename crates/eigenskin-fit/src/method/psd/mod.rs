//! Pose space deformation (Lewis, Cordner, Fong 2000; inverse form: Xian, Lewis 2006): sculpted
//! shapes in known poses, interpolated over the joints and controls that moved.
//!
//! ```text
//! sculpt → delta → pose space → interpolate → layer        exact at every example, zero at rest
//! ```
//! Every example becomes one displacement field. Its weight is *cardinal*: 1 at its own pose, 0 at
//! rest and at all others. Examples that move the same joints and controls share a pose space, that
//! is one layer and one factorisation for all vertices. Spaces stand in an order: an example stores
//! what the layers before it leave, and a layer is zero at all earlier examples.
//!
//! Weighted PSD (Kurihara, Miyata 2004) blends several such models, one per prototype of skin
//! weights, by a smooth membership of the vertices ([`PrototypeParams`]).

mod deltas;
mod drivers;
mod error;
mod layers;
mod merge;
mod observed;
mod prototypes;
mod session;
mod spaces;

use std::collections::BTreeMap;

use glam::DVec3;

pub use error::PsdError;
pub use merge::merge_fields;
pub use observed::fit_psd_to;
pub use prototypes::{PrototypeParams, Prototypes};
pub use session::PsdSession;

use crate::drivers::{RbfParams, Ridge};
use eigenskin_core::deformers::Base;
use eigenskin_core::driver::{FeatureScale, Representation};
use eigenskin_core::examples::{ExampleSet, MergedExample};
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::skinning::BaseSkinning;

/// How to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct PsdParams {
    /// what the corrections sit on; default linear blending
    pub base: Base,
    /// where deltas live; default [`DeltaSpace::Inverse`]
    pub deltas: DeltaSpace,
    /// how weights are interpolated; default Gaussians, width by leave-one-out, exact
    pub interpolation: PsdInterpolation,
    /// falloff radius σ of single examples, by name, instead of the width of
    /// [`PsdInterpolation::Rbf`]; ignored by the other interpolants
    pub radii: BTreeMap<String, f64>,
    /// how joints and controls are described where the default is not wanted: rotations by
    /// geodesic angle, translations in sizes of the character, controls by their value
    pub features: Vec<PoseFeature>,
    /// which pose spaces come first; default narrow ones
    pub order: SpaceOrder,
    /// weighted PSD; default none
    pub prototypes: Option<PrototypeParams>,
    /// a vertex takes part in a layer when some example moves it by more than this share of the
    /// size; default 1e-6. Also what an example may be missed by where it was left out
    pub threshold: f64,
    /// how far weights may go above 1, as a share, while they stay above 0; default `None`: kernels that
    /// decay need no clamp, and weights of opposite signs cancel each other between close examples
    pub clamp_margin: Option<f64>,
    /// whether normals are corrected along with positions; default yes. Forward deltas leave
    /// normals to the base skinning
    pub normals: bool,
}

impl Default for PsdParams {
    fn default() -> Self {
        Self {
            base: BaseSkinning::LinearBlend.into(),
            deltas: DeltaSpace::Inverse,
            interpolation: PsdInterpolation::default(),
            radii: BTreeMap::new(),
            features: Vec::new(),
            order: SpaceOrder::NarrowFirst,
            prototypes: None,
            threshold: 1e-6,
            clamp_margin: None,
            normals: true,
        }
    }
}

impl PsdParams {
    /// Whether one pose may have two shapes: a ridge finds something between them.
    pub fn allows_compromise(&self) -> bool {
        match &self.interpolation {
            PsdInterpolation::Rbf(rbf) => matches!(rbf.ridge, Ridge::Fixed(ridge) if ridge > 0.0),
            PsdInterpolation::Shepard { .. } | PsdInterpolation::Linear => false,
        }
    }

    /// The same without radii of examples that are not in the set: some were left out.
    #[must_use]
    pub fn for_examples(mut self, set: &ExampleSet) -> Self {
        self.radii.retain(|name, _| set.examples().iter().any(|example| example.name == *name));
        self
    }
}

/// Where an example's delta is taken and added back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaSpace {
    /// at rest, before skinning: its direction turns with the vertex (Xian §4)
    Inverse,
    /// after skinning: in the root's axes its direction stays fixed (Xian §4.2), in those of the
    /// heaviest joint it turns with that joint (Lewis §4)
    Forward {
        /// whose axes
        frame: Frame,
    },
}

/// How the examples' weights are found between them.
#[derive(Debug, Clone, PartialEq)]
pub enum PsdInterpolation {
    /// radial functions. Zero ridge is exact. [`crate::drivers::Width::PerCentre`] is refused: name
    /// examples in [`PsdParams::radii`]
    Rbf(RbfParams),
    /// Shepard's weighted mean (Lewis §3.1), for comparison: flat at every example, the mean far away
    Shepard {
        /// p
        power: f64,
        /// ε, in squared feature units; 0 is exact
        epsilon: f64,
    },
    /// delta-sum shape interpolation, for comparison: weights are linear in the features, by least
    /// squares. Exact only while no space has more examples than independent features
    Linear,
}

impl Default for PsdInterpolation {
    fn default() -> Self {
        Self::Rbf(RbfParams { ridge: Ridge::Fixed(0.0), ..RbfParams::default() })
    }
}

/// How a joint or control is described to its pose spaces. Several for one name stand side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct PoseFeature {
    /// name of the joint or control
    pub name: String,
    /// how it is described
    pub representation: Representation,
    /// factor of a difference: with a kernel width of 1, one over the falloff radius. Per axis or
    /// as a matrix (Mahalanobis) for rotation vectors and translations
    pub scale: FeatureScale,
}

impl PoseFeature {
    /// A joint's rotation vector with one falloff radius per axis, radians, for a kernel width of 1.
    pub fn radii(joint: &str, radii: DVec3) -> Self {
        Self {
            name: joint.to_string(),
            representation: Representation::RotationVector,
            scale: FeatureScale::PerAxis(radii.recip()),
        }
    }
}

/// The order of pose spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpaceOrder {
    /// Spaces of fewer joints and controls first, equal ones in the rig's order. Does not depend on
    /// the order of the examples, and never ends in a [`PsdError::LayerConflict`]: an example that
    /// moves more than a space is told from those of the space by what it moves.
    NarrowFirst,
    /// in the order of the examples: the space of the first example first
    AsGiven,
    /// these first, as lists of names of joints and controls, the others after them, narrow first.
    /// Lists that are the space of no example are passed over
    Listed(Vec<Vec<String>>),
}

/// A fitted model and what was seen on the way.
#[derive(Debug, Clone)]
pub struct PsdFit {
    /// the model
    pub model: Model,
    /// pose spaces in their order: each stores what the ones before it leave
    pub spaces: Vec<SpaceReport>,
    /// the examples used
    pub examples: Vec<ExampleReport>,
    /// examples that said nothing new
    pub merged: Vec<MergedExample>,
}

/// One pose space.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceReport {
    /// its joints and controls in one line, also the layer's name
    pub name: String,
    /// names of its joints and controls
    pub movers: Vec<String>,
    /// names of its examples
    pub examples: Vec<String>,
    /// earlier examples at whose poses the layer is held at zero; those that look like rest or like
    /// another one from here are not listed
    pub anchors: Vec<String>,
    /// vertices it moves
    pub vertex_count: usize,
    /// one, or one per prototype
    pub drivers: Vec<DriverReport>,
}

/// How the weights of a space are interpolated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriverReport {
    /// width of the kernels without a radius of their own; 0 for other interpolants
    pub width: f64,
    /// condition number of the interpolation; 1 for other interpolants
    pub condition: f64,
    /// leave-one-out error of what the space adds, a displacement norm over all vertices; only for
    /// automatic widths
    pub leave_one_out: f64,
    /// largest error of a weight at an example or anchor: 0 but for rounding when exact
    pub miss: f64,
}

/// One example.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleReport {
    /// its name
    pub name: String,
    /// index of its pose space
    pub space: usize,
    /// its largest delta from the base skinning
    pub largest_delta: f64,
    /// the vertex that has it
    pub vertex: usize,
    /// the largest part of the shape that no delta at rest can reach, where the base skinning
    /// collapses; 0 for forward deltas
    pub unreachable: f64,
}

/// Fits a pose space deformation. To change examples and fit again, use a [`PsdSession`].
pub fn fit_psd(examples: &ExampleSet, params: &PsdParams) -> Result<PsdFit, PsdError> {
    PsdSession::new(examples, params.clone())?.fit()
}
