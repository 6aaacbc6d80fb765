//! Examples for tests of pose space deformation on the tube, and how models do on them.

use std::sync::Arc;

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::{DVec3, Vec3};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_fit::drivers::{RbfParams, Smoothing, Width};
use eigenskin_fit::method::PsdInterpolation;

use eigenskin_characters::tube::{set_of, tube};

/// The control's value at rest.
pub const REST: f64 = 0.25;

pub fn shape(model: &Arc<Model>, pose: &Pose) -> Vec<Vec3> {
    let mut positions = vec![Vec3::ZERO; model.rig().vertex_count()];
    Evaluator::new(model.clone()).evaluate(pose, &mut positions, None);
    positions
}

/// Largest distance of the model from the examples, in sizes.
pub fn largest_miss(model: &Arc<Model>, set: &ExampleSet) -> f64 {
    let size = set.rig().mesh().size();
    set.examples()
        .iter()
        .flat_map(|e| {
            let found = shape(model, &e.pose);
            e.positions.iter().zip(found).map(|(a, b)| f64::from(a.distance(b))).collect::<Vec<_>>()
        })
        .fold(0.0, f64::max)
        / size
}

pub fn setting(name: &str, elbow: f64, wrist: f64, heavy: f64) -> (String, DVec3, DVec3, f64) {
    (name.into(), DVec3::Y * elbow, DVec3::Z * wrist, heavy)
}

/// Elbow alone, wrist alone, both, and all three with the control.
pub fn layered() -> ExampleSet {
    set_of(
        &tube(),
        vec![
            setting("both", 1.1, 0.7, REST),
            setting("elbow", 1.1, 0.0, REST),
            setting("wrist", 0.0, 0.8, REST),
            setting("elbow half", 0.5, 0.0, REST),
            setting("all", 0.9, 0.4, 0.8),
            setting("both back", 0.6, -0.5, REST),
            setting("wrist and heavy", 0.0, 0.8, 0.9),
        ],
    )
}

pub fn fixed(width: f64) -> PsdInterpolation {
    PsdInterpolation::Rbf(RbfParams {
        width: Width::Fixed(width),
        smoothing: Smoothing::Fixed(0.0),
        ..RbfParams::default()
    })
}
