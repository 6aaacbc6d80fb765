//! How pose space deformation learns.

use std::collections::BTreeMap;

use eigenskin_core::driver::{FeatureScale, Representation};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::{Frame, ModelError};
use eigenskin_core::rig::Rig;
use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::prototypes::PrototypeParams;
use super::spaces::check_features;
use crate::drivers::{RbfParams, Smoothing, Width};
use crate::method::FitError;
use crate::names::{FrameName, RepresentationName, ScaleNumbers};

/// How to fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PsdParams {
    /// where deltas live; default [`DeltaSpace::Auto`]
    pub deltas: DeltaSpace,
    /// how weights are interpolated; default radial functions, kernel and width by the number of examples, exact
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
            deltas: DeltaSpace::Auto,
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
    /// Whether one pose may have two shapes: smoothing finds something between them.
    pub fn allows_compromise(&self) -> bool {
        match &self.interpolation {
            PsdInterpolation::Rbf(rbf) => {
                matches!(rbf.smoothing, Smoothing::Fixed(smoothing) if smoothing > 0.0)
            }
            PsdInterpolation::Shepard { .. } | PsdInterpolation::Linear => false,
        }
    }

    /// The same with kernels of one width.
    pub(super) fn with_width(&self, width: f64) -> Self {
        let mut params = self.clone();
        if let PsdInterpolation::Rbf(rbf) = &mut params.interpolation {
            rbf.width = Width::Fixed(width);
        }
        params
    }

    /// The same without radii of examples that are not in the set: some were left out.
    #[must_use]
    pub fn for_examples(mut self, set: &ExampleSet) -> Self {
        self.radii.retain(|name, _| set.examples().iter().any(|example| example.name == *name));
        self
    }
}

/// Where an example's delta is taken and added back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeltaSpace {
    /// as [`DeltaSpace::Inverse`], with [in-betweens](super::InBetweens) on the way to examples in which
    /// linear blending collapses, where they help: by left-out examples, with few of them by a rule
    Auto,
    /// at rest, before skinning: its direction turns with the vertex (Xian §4)
    Inverse,
    /// after skinning: in the root's axes its direction stays fixed (Xian §4.2), in those of the
    /// heaviest joint it turns with that joint (Lewis §4)
    Forward {
        /// whose axes
        #[serde(with = "FrameName")]
        frame: Frame,
    },
}

/// How the examples' weights are found between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PsdInterpolation {
    /// radial functions. Zero smoothing is exact. [`crate::drivers::Width::PerCentre`] is refused: name
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
        Self::Rbf(RbfParams { smoothing: Smoothing::Fixed(0.0), ..RbfParams::default() })
    }
}

/// How a joint or control is described to its pose spaces. Several for one name stand side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoseFeature {
    /// name of the joint or control
    pub name: String,
    /// how it is described
    #[serde(with = "RepresentationName")]
    pub representation: Representation,
    /// factor of a difference: with a kernel width of 1, one over the falloff radius. Per axis or
    /// as a matrix (Mahalanobis) for rotation vectors and translations
    #[serde(with = "ScaleNumbers")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpaceOrder {
    /// Spaces of fewer joints and controls first, equal ones in the rig's order. Does not depend on
    /// the order of the examples, and never ends in a [`FitError::LayerConflict`]: an example that
    /// moves more than a space is told from those of the space by what it moves.
    NarrowFirst,
    /// in the order of the examples: the space of the first example first
    AsGiven,
    /// these first, as lists of names of joints and controls, the others after them, narrow first.
    /// Lists that are the space of no example are passed over
    Listed(Vec<Vec<String>>),
}

impl PsdParams {
    pub(in crate::method) fn check(&self, rig: &Rig) -> Result<(), FitError> {
        let check = |good: bool, what, bound, value| {
            if good { Ok(()) } else { Err(FitError::Parameter { what, bound, value }) }
        };
        let finite = |value: f64, good: bool| value.is_finite() && good;
        let not_negative = "a finite number that is not negative";
        check(finite(self.threshold, self.threshold >= 0.0), "the threshold", not_negative, self.threshold)?;
        FitError::check_clamp_margin(self.clamp_margin)?;
        if let Some(prototypes) = &self.prototypes {
            check(prototypes.count > 0, "the number of prototypes", "at least 1", prototypes.count as f64)?;
            let least = prototypes.least_weight;
            let good = finite(least, least > 0.0 && least <= 1.0);
            check(good, "the least weight", "above 0 and at most 1", least)?;
        }
        if let PsdInterpolation::Shepard { power, epsilon } = self.interpolation {
            check(finite(power, power > 0.0), "Shepard's power", "a finite number above zero", power)?;
            check(finite(epsilon, epsilon >= 0.0), "Shepard's epsilon", not_negative, epsilon)?;
        }
        if let DeltaSpace::Forward { frame: Frame::Joint(joint) } = self.deltas
            && joint >= rig.skeleton().joint_count()
        {
            return Err(ModelError::NoSuchFrame { layer: "forward deltas".to_string(), joint }.into());
        }
        for (example, &radius) in &self.radii {
            if !(radius.is_finite() && radius > 0.0) {
                return Err(FitError::Radius { example: example.clone(), radius });
            }
        }
        check_features(rig, &self.features)
    }

    /// Refuses radii of examples that are not among these names.
    pub(super) fn check_names<'a>(
        &self,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), FitError> {
        match self.radii.keys().find(|named| !names.clone().any(|name| name == named.as_str())) {
            Some(name) => {
                let known = names.collect::<Vec<_>>().join(", ");
                Err(FitError::UnknownExample { name: name.clone(), known })
            }
            None => Ok(()),
        }
    }
}
