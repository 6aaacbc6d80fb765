//! What several tests share.

pub mod boxes;
pub mod coupled;
pub mod psd;

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::evaluate::{Evaluator, Shape};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
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

/// Positions and normals of a model in a pose.
pub fn shape(model: &Arc<Model>, pose: &Pose) -> (Vec<Vec3>, Vec<Vec3>) {
    let Shape { positions, normals } = Evaluator::new(model.clone()).shape(pose);
    (positions, normals)
}

/// The largest distance between the same vertex of two shapes.
pub fn furthest(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max)
}
