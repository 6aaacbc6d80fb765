//! Learning by any method: its options, the fit, and what is said of it.

pub mod auto;
pub mod options;
mod parameterization_options;
pub mod parameterization_summary;
mod psd_options;
pub mod psd_summary;
pub mod signal_trials;
pub mod summary;
pub mod viewer;

use std::sync::Arc;

use anyhow::Result;
use eigenskin::deformers::Base;
use eigenskin::displacements::Observations;
use eigenskin::examples::ExampleSet;
use eigenskin::method::{EigenSkinParams, Fit, FitError, FitWarning, Method, PsdParams, fit};
use eigenskin::metrics::{Evaluation, evaluate_against};
use eigenskin::model::Model;
use eigenskin::progress::Unwatched;

use crate::output::{counted, figure};

/// Learns from a set with at most `most` displacement fields in all.
pub fn fit_set(method: &Method, set: &ExampleSet, base: &Base, most: Option<usize>) -> Result<Fit, FitError> {
    let seen = Observations::of(set, base, method.allows_compromise(), &Unwatched)?;
    fit(&seen, method, most, &Unwatched)
}

/// What the fields of a method are called.
pub fn fields(method: &Method) -> [&'static str; 2] {
    match method {
        Method::EigenSkin(_) => ["component", "components"],
        Method::Psd(_) => ["field", "fields"],
        Method::Parameterization(_) => ["signal", "signals"],
    }
}

/// How EigenSkin would learn on the same footing.
pub fn as_eigenskin(method: &Method) -> EigenSkinParams {
    if let Method::EigenSkin(params) = method { params.clone() } else { EigenSkinParams::default() }
}

/// How pose space deformation would learn on the same footing.
pub fn as_psd(method: &Method) -> PsdParams {
    if let Method::Psd(params) = method { params.clone() } else { PsdParams::default() }
}

/// What there is to warn of, one sentence each.
pub fn warnings(fit: &Fit) -> Vec<String> {
    let sentence = |warning: &FitWarning| match warning {
        FitWarning::Unreachable { example, distance } => format!(
            "example {example:?} is missed by up to {} where skinning collapses and has no inverse; --deltas forward reaches it",
            figure(*distance)
        ),
        FitWarning::NotExact { space, miss } => format!(
            "the weights of pose space {space:?} miss its examples by up to {}: it does not interpolate them exactly",
            figure(*miss)
        ),
        FitWarning::ResidualsIgnored { examples } => format!(
            "what skinning cannot reach in {} is left out: signals act before skinning only; --method eigenskin or psd adds it after skinning",
            counted(*examples, "example", "examples")
        ),
    };
    fit.warnings().iter().map(sentence).collect()
}

/// The errors of a model on a set.
pub fn measure(model: &Model, set: &ExampleSet) -> Result<Evaluation> {
    Ok(evaluate_against(&Arc::new(model.clone()), set, &Unwatched)?)
}
