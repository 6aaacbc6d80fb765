//! The methods as one: how to learn, and what was learnt.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{ExampleSet, MergedExample};
use eigenskin_core::model::{Model, ModelError};
use eigenskin_core::rig::{Rig, RigError};
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::method::psd::merge_fields;
use eigenskin_fit::method::{
    EigenSkinFit, EigenSkinParams, FitError, ParameterizationError, ParameterizationFit,
    ParameterizationParams, PsdError, PsdFit, PsdParams, fit_eigenskin, fit_eigenskin_to,
    fit_parameterization, fit_parameterization_to, fit_psd, fit_psd_to,
};

/// Why nothing was learnt.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// By EigenSkin.
    #[error(transparent)]
    EigenSkin(#[from] FitError),
    /// By pose space deformation.
    #[error(transparent)]
    Psd(#[from] PsdError),
    /// By a parameterization.
    #[error(transparent)]
    Parameterization(#[from] ParameterizationError),
    /// Merged fields do not fit the rig; a bug.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// How to learn.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// principal components per joint
    EigenSkin(EigenSkinParams),
    /// one field per example, weighted or not
    Psd(PsdParams),
    /// signals per part of the skin
    Parameterization(ParameterizationParams),
}

/// What was learnt.
#[derive(Debug, Clone)]
pub enum Learnt {
    /// principal components per joint
    EigenSkin(EigenSkinFit),
    /// one field per example, weighted or not
    Psd(PsdFit),
    /// signals per part of the skin
    Parameterization(ParameterizationFit),
}

impl Method {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::EigenSkin(_) => "eigenskin",
            Self::Psd(PsdParams { prototypes: Some(_), .. }) => "weighted-psd",
            Self::Psd(_) => "psd",
            Self::Parameterization(_) => "parameterization",
        }
    }

    /// Learns from a set with at most `most` displacement fields in all.
    pub fn fit(&self, set: &ExampleSet, most: Option<usize>) -> Result<Learnt, LearnError> {
        match self {
            Self::EigenSkin(params) => {
                let mut params = params.clone();
                params.budget.total = most.or(params.budget.total);
                Ok(Learnt::EigenSkin(fit_eigenskin(set, &params)?))
            }
            Self::Psd(params) => {
                let mut fit = fit_psd(set, params)?;
                if let Some(most) = most {
                    fit.model = merge_fields(&fit.model, most)?;
                }
                Ok(Learnt::Psd(fit))
            }
            Self::Parameterization(params) => {
                let mut params = params.clone();
                params.most_signals = most.or(params.most_signals);
                Ok(Learnt::Parameterization(fit_parameterization(set, &params)?))
            }
        }
    }

    /// Learns from what was observed, wherever that is kept; pose space deformation with at most `most`
    /// displacement fields.
    pub fn fit_to(&self, seen: &Observations, most: usize) -> Result<Learnt, LearnError> {
        match self {
            Self::EigenSkin(params) => Ok(Learnt::EigenSkin(fit_eigenskin_to(seen, params)?)),
            Self::Parameterization(params) => {
                Ok(Learnt::Parameterization(fit_parameterization_to(seen, params)?))
            }
            Self::Psd(params) => Ok(Learnt::Psd(fit_psd_to(seen, params, most)?)),
        }
    }

    /// Whether one pose may have two shapes.
    pub fn allows_compromise(&self) -> bool {
        match self {
            Self::EigenSkin(params) => params.allows_compromise(),
            Self::Psd(params) => params.allows_compromise(),
            Self::Parameterization(params) => params.allows_compromise(),
        }
    }

    /// What the corrections sit on.
    pub fn base(&self) -> Base {
        match self {
            Self::EigenSkin(params) => params.base.clone(),
            Self::Psd(params) => params.base.clone(),
            Self::Parameterization(params) => params.base.clone(),
        }
    }

    /// The same on another base.
    #[must_use]
    pub fn on(self, base: Base) -> Self {
        match self {
            Self::EigenSkin(params) => Self::EigenSkin(EigenSkinParams { base, ..params }),
            Self::Psd(params) => Self::Psd(PsdParams { base, ..params }),
            Self::Parameterization(params) => {
                Self::Parameterization(ParameterizationParams { base, ..params })
            }
        }
    }

    /// The same where only some examples are left.
    #[must_use]
    pub fn for_examples(&self, set: &ExampleSet) -> Self {
        match self {
            Self::EigenSkin(params) => Self::EigenSkin(params.clone()),
            Self::Psd(params) => Self::Psd(params.clone().for_examples(set)),
            Self::Parameterization(params) => Self::Parameterization(params.clone()),
        }
    }

    /// What the fields of this method are called.
    pub fn fields(&self) -> [&'static str; 2] {
        match self {
            Self::EigenSkin(_) => ["component", "components"],
            Self::Psd(_) => ["field", "fields"],
            Self::Parameterization(_) => ["signal", "signals"],
        }
    }

    /// How EigenSkin would learn on the same footing.
    pub fn eigenskin(&self) -> EigenSkinParams {
        match self {
            Self::EigenSkin(params) => params.clone(),
            Self::Psd(params) => EigenSkinParams { base: params.base.clone(), ..EigenSkinParams::default() },
            Self::Parameterization(params) => {
                EigenSkinParams { base: params.base.clone(), ..EigenSkinParams::default() }
            }
        }
    }

    /// How pose space deformation would learn on the same footing.
    pub fn psd(&self) -> PsdParams {
        match self {
            Self::EigenSkin(params) => PsdParams { base: params.base.clone(), ..PsdParams::default() },
            Self::Psd(params) => params.clone(),
            Self::Parameterization(params) => PsdParams { base: params.base.clone(), ..PsdParams::default() },
        }
    }
}

impl Learnt {
    /// The model.
    pub fn model(&self) -> &Model {
        match self {
            Self::EigenSkin(fit) => &fit.model,
            Self::Psd(fit) => &fit.model,
            Self::Parameterization(fit) => &fit.model,
        }
    }

    /// The same, whose model remembers the rig that was given.
    pub fn with_input_rig(self, input: &Arc<Rig>) -> Result<Self, RigError> {
        let remember = |model: Model| model.with_input_rig(input.clone());
        Ok(match self {
            Self::EigenSkin(fit) => Self::EigenSkin(EigenSkinFit { model: remember(fit.model)?, ..fit }),
            Self::Psd(fit) => Self::Psd(PsdFit { model: remember(fit.model)?, ..fit }),
            Self::Parameterization(fit) => {
                Self::Parameterization(ParameterizationFit { model: remember(fit.model)?, ..fit })
            }
        })
    }

    /// Examples that said nothing new.
    pub fn merged(&self) -> &[MergedExample] {
        match self {
            Self::EigenSkin(fit) => &fit.merged,
            Self::Psd(fit) => &fit.merged,
            Self::Parameterization(fit) => &fit.merged,
        }
    }

    /// The model, taken out.
    pub fn into_model(self) -> Model {
        match self {
            Self::EigenSkin(fit) => fit.model,
            Self::Psd(fit) => fit.model,
            Self::Parameterization(fit) => fit.model,
        }
    }
}
