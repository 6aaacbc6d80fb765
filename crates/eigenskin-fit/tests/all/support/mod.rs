//! What several tests share.

pub mod boxes;
pub mod psd;

use eigenskin_core::deformers::Base;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{Fit, FitError, Method, fit_examples};

/// Learns on linear blending, by EigenSkin, pose space deformation or parameterization: as the
/// parameters are.
pub fn learn(set: &ExampleSet, params: &(impl Clone + Into<Method>)) -> Result<Fit, FitError> {
    learn_on(&Base::default(), set, params)
}

/// The same on another base.
pub fn learn_on(
    base: &Base,
    set: &ExampleSet,
    params: &(impl Clone + Into<Method>),
) -> Result<Fit, FitError> {
    fit_examples(set, base, &params.clone().into(), &Unwatched)
}
