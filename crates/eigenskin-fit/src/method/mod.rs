//! Learning: from what was observed to a model. Methods differ in how they find supports, bases and
//! drivers; what they learn from ([`Observations`]) and what they produce ([`Model`]) is the same.

mod allocation;
mod budget;
mod choice;
mod coordinates;
mod eigenskin;
mod error;
mod isometric;
mod joint_driver;
mod moving_things;
mod parameterization;
pub(crate) mod patches;
mod psd;
mod riding_fields;
mod settings;
mod warning;

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{ExampleSet, MergedExample};
use eigenskin_core::model::Model;
use eigenskin_core::progress::Progress;
use eigenskin_core::rig::{Rig, RigError};

pub use allocation::Budget;
pub(crate) use allocation::allocate;
pub use budget::{Allowed, BudgetError, ErrorLimit, Limits, SizeLimit, WrittenSize, components_within};
pub use choice::{Choice, ChoiceParams, NotCompared, Trial, choose_method, examples_that_race};
pub use eigenskin::{EigenSkinParams, EigenSkinReport, JointReport};
pub use error::{FitError, Interpolated};
pub(crate) use isometric::isometric_coordinates;
pub(crate) use joint_driver::feature_groups;
pub use parameterization::{ParameterizationParams, ParameterizationReport, PartReport, SignalBasis};
pub use patches::{PatchReport, PatchesParams, PatchesReport};
pub use psd::{
    DeltaSpace, DriverReport, ExampleReport, InBetweens, PoseFeature, PrototypeParams, PsdInterpolation,
    PsdParams, PsdReport, SpaceOrder, SpaceReport,
};
use settings::{EIGENSKIN, MethodSettings, PARAMETERIZATION, PATCHES, PSD, WEIGHTED_PSD};
pub use warning::FitWarning;

use serde::{Deserialize, Serialize};

pub use crate::basis::IcaParams;
use crate::displacements::Observations;

/// How to learn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "MethodSettings", into = "MethodSettings")]
pub enum Method {
    /// principal components per joint, over the joint's own motion
    EigenSkin(EigenSkinParams),
    /// one field per example, fading out around its pose; weighted with [`PsdParams::prototypes`]
    Psd(PsdParams),
    /// few signals per part of the skin, over the joints that drive it
    Parameterization(ParameterizationParams),
    /// components per patch of the skin, over all joints that move it, alone and together
    Patches(PatchesParams),
}

/// A model and what was learnt on the way.
#[derive(Debug, Clone)]
pub struct Fit {
    /// the model
    pub model: Model,
    /// examples that said nothing new
    pub merged: Vec<MergedExample>,
    /// examples used
    pub example_count: usize,
    /// what the method tells
    pub learnt: Learnt,
}

/// What a method tells of what it has learnt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Learnt {
    /// of joints
    EigenSkin(EigenSkinReport),
    /// of pose spaces and examples
    Psd(PsdReport),
    /// of parts of the skin
    Parameterization(ParameterizationReport),
    /// of patches of the skin
    Patches(PatchesReport),
}

/// Learns a model from what was observed, wherever that is kept, with at most `most_components` in all;
/// limits of the method hold as well.
///
/// ```
/// use eigenskin_core::{Base, Unwatched};
/// use eigenskin_fit::{Method, Observations, PsdParams, fit};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let method = Method::Psd(PsdParams::default());
/// let seen = Observations::of(&examples, &Base::default(), method.allows_compromise(), &Unwatched)?;
/// let whole = fit(&seen, &method, None, &Unwatched)?.model;
/// let small = fit(&seen, &method, Some(4), &Unwatched)?.model;
/// assert!(small.component_count() == 4 && whole.component_count() > 4);
/// # Ok::<(), eigenskin_fit::FitError>(())
/// ```
pub fn fit(
    seen: &Observations,
    method: &Method,
    most_components: Option<usize>,
    progress: &dyn Progress,
) -> Result<Fit, FitError> {
    method.check(&seen.rig)?;
    progress.doing("fitting")?;
    let mut merged = seen.merged.clone();
    let (layers, learnt) = match method {
        Method::EigenSkin(params) => {
            let total = smaller(most_components, params.budget.total);
            let budget = Budget { total, ..params.budget };
            let params = EigenSkinParams { budget, ..params.clone() };
            let (layers, report) = eigenskin::learn(seen, &params, progress)?;
            (layers, Learnt::EigenSkin(report))
        }
        Method::Psd(params) => {
            let (layers, report, idle) = psd::learn(seen, params, most_components, progress)?;
            merged.extend(idle);
            (layers, Learnt::Psd(report))
        }
        Method::Parameterization(params) => {
            let most_signals = smaller(most_components, params.most_signals);
            let params = ParameterizationParams { most_signals, ..params.clone() };
            let (layers, report) = parameterization::learn(seen, &params, progress)?;
            (layers, Learnt::Parameterization(report))
        }
        Method::Patches(params) => {
            let (layers, report) = patches::learn(seen, params, most_components, progress)?;
            (layers, Learnt::Patches(report))
        }
    };
    let example_count = match &learnt {
        Learnt::Psd(report) => report.examples.len(),
        Learnt::EigenSkin(_) | Learnt::Parameterization(_) | Learnt::Patches(_) => seen.len(),
    };
    let model = Model::new(seen.rig.clone(), seen.base.clone(), layers)?;
    Ok(Fit { model, merged, example_count, learnt })
}

/// Of two limits the one that allows less.
fn smaller(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}

/// Learns a model from examples in memory, whose corrections are added to `base`.
///
/// ```
/// use eigenskin_core::deformers::Base;
/// use eigenskin_core::progress::Unwatched;
/// use eigenskin_fit::method::{Method, fit_examples};
///
/// let examples = eigenskin_characters::tube::sweeps(&eigenskin_characters::tube::tube());
/// let fit = fit_examples(&examples, &Base::default(), &Method::default(), &Unwatched)?;
/// assert!(fit.model.component_count() > 0);
/// # Ok::<(), eigenskin_fit::method::FitError>(())
/// ```
pub fn fit_examples(
    examples: &ExampleSet,
    base: &Base,
    method: &Method,
    progress: &dyn Progress,
) -> Result<Fit, FitError> {
    method.check(examples.rig())?;
    fit(&Observations::of(examples, base, method.allows_compromise(), progress)?, method, None, progress)
}

impl Default for Method {
    /// Patches.
    fn default() -> Self {
        Self::Patches(PatchesParams::default())
    }
}

impl From<EigenSkinParams> for Method {
    fn from(params: EigenSkinParams) -> Self {
        Self::EigenSkin(params)
    }
}

impl From<PsdParams> for Method {
    fn from(params: PsdParams) -> Self {
        Self::Psd(params)
    }
}

impl From<ParameterizationParams> for Method {
    fn from(params: ParameterizationParams) -> Self {
        Self::Parameterization(params)
    }
}

impl From<PatchesParams> for Method {
    fn from(params: PatchesParams) -> Self {
        Self::Patches(params)
    }
}

impl Method {
    /// Its name in settings: "eigenskin", "psd", "weighted-psd", "parameterization" or "patches".
    pub fn name(&self) -> &'static str {
        match self {
            Self::EigenSkin(_) => EIGENSKIN,
            Self::Psd(PsdParams { prototypes: None, .. }) => PSD,
            Self::Psd(_) => WEIGHTED_PSD,
            Self::Parameterization(_) => PARAMETERIZATION,
            Self::Patches(_) => PATCHES,
        }
    }

    /// Whether one pose may have two shapes: smoothing finds something between them.
    pub fn allows_compromise(&self) -> bool {
        match self {
            Self::EigenSkin(params) => params.allows_compromise(),
            Self::Psd(params) => params.allows_compromise(),
            Self::Parameterization(params) => params.allows_compromise(),
            // There is some smoothing, but two shapes of one pose are most often a mistake.
            Self::Patches(_) => false,
        }
    }

    /// The same where only some examples are left: without radii of the others.
    #[must_use]
    pub fn for_examples(&self, set: &ExampleSet) -> Self {
        match self {
            Self::Psd(params) => Self::Psd(params.clone().for_examples(set)),
            other => other.clone(),
        }
    }

    /// Refuses settings that make no sense for a rig.
    fn check(&self, rig: &Rig) -> Result<(), FitError> {
        match self {
            Self::EigenSkin(params) => params.check(),
            Self::Psd(params) => params.check(rig),
            Self::Parameterization(params) => params.check(),
            Self::Patches(params) => params.check(),
        }
    }
}

impl Fit {
    /// The same, whose model remembers the rig that was given.
    pub fn with_input_rig(self, input: &Arc<Rig>) -> Result<Self, RigError> {
        Ok(Self { model: self.model.with_input_rig(input.clone())?, ..self })
    }
}

impl Learnt {
    /// The method's name in settings.
    pub fn method(&self) -> &'static str {
        match self {
            Self::EigenSkin(_) => EIGENSKIN,
            Self::Psd(PsdReport { prototypes: None, .. }) => PSD,
            Self::Psd(_) => WEIGHTED_PSD,
            Self::Parameterization(_) => PARAMETERIZATION,
            Self::Patches(_) => PATCHES,
        }
    }

    /// What EigenSkin tells.
    pub fn eigenskin(&self) -> Option<&EigenSkinReport> {
        if let Self::EigenSkin(report) = self { Some(report) } else { None }
    }

    /// What pose space deformation tells.
    pub fn psd(&self) -> Option<&PsdReport> {
        if let Self::Psd(report) = self { Some(report) } else { None }
    }

    /// What patches tell.
    pub fn patches(&self) -> Option<&PatchesReport> {
        if let Self::Patches(report) = self { Some(report) } else { None }
    }

    /// What parameterization tells.
    pub fn parameterization(&self) -> Option<&ParameterizationReport> {
        if let Self::Parameterization(report) = self { Some(report) } else { None }
    }
}
