//! What pose space deformation refuses, and how it says so.

use std::sync::Arc;

use eigenskin_characters::tube::{set_of, tube};
use eigenskin_core::driver::{FeatureScale, Representation};
use eigenskin_core::examples::{Example, ExampleSet, ExamplesError};
use eigenskin_core::glam::DVec3;
use eigenskin_core::model::Frame;
use eigenskin_fit::drivers::{RbfParams, Smoothing, Width};
use eigenskin_fit::method::{DeltaSpace, PoseFeature, PrototypeParams, PsdInterpolation, SpaceOrder};
use eigenskin_fit::method::{FitError, PsdParams};

use crate::support::learn;
use crate::support::psd::{REST, fixed, setting, shape};

fn refused(settings: Vec<(String, DVec3, DVec3, f64)>, params: &PsdParams) -> FitError {
    learn(&set_of(&tube(), settings), params).unwrap_err()
}

#[test]
fn bad_examples_are_refused_by_name() {
    let rig = tube();
    let pushed = |name: &str, elbow: f64, push: f32| {
        let mut example = set_of(&rig, vec![setting(name, elbow, 0.0, REST)]).examples()[0].clone();
        example.positions[5].z += push;
        example
    };
    let fit = |examples: Vec<Example>| {
        learn(&ExampleSet::new(rig.clone(), examples).unwrap(), &PsdParams::default())
    };
    assert!(matches!(
        fit(vec![pushed("still", 0.0, 0.1), pushed("a", 0.5, 0.0)]).unwrap_err(),
        FitError::Examples(ExamplesError::MovedAtRest { name, vertex: 5, .. }) if name == "still"
    ));
    // Nearly at rest: less than a joint is known to have moved.
    assert!(matches!(
        fit(vec![pushed("nearly still", 5e-5, 0.1), pushed("a", 0.5, 0.0)]).unwrap_err(),
        FitError::Examples(ExamplesError::MovedAtRest { name, .. }) if name == "nearly still"
    ));
    let error = fit(vec![pushed("a", 0.5, 0.0), pushed("b", 0.5, 0.1)]).unwrap_err().to_string();
    assert!(error.contains("\"a\"") && error.contains("\"b\"") && error.contains("vertex 5"), "{error}");
    let merged =
        fit(vec![pushed("a", 0.5, 0.0), pushed("b", 0.5, 1e-5), pushed("r", 0.0, 1e-5)]).unwrap().merged;
    assert_eq!(merged.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["b", "r"]);
    // Smoothing allows the compromise.
    let smoothing =
        PsdInterpolation::Rbf(RbfParams { smoothing: Smoothing::Fixed(1e-3), ..RbfParams::default() });
    let set = ExampleSet::new(rig.clone(), vec![pushed("a", 0.5, 0.0), pushed("b", 0.5, 0.1)]).unwrap();
    let params = PsdParams { interpolation: smoothing, ..PsdParams::default() };
    let model = Arc::new(learn(&set, &params).unwrap().model);
    let between = shape(&model, &set.examples()[0].pose)[5].z - set.examples()[0].positions[5].z;
    assert!((between - 0.05).abs() < 0.005, "{between}");
    assert!(matches!(fit(vec![pushed("r", 0.0, 0.0)]).unwrap_err(), FitError::NothingMoves));
}

#[test]
fn bad_parameters_are_refused_with_what_is_wrong() {
    let bend = || vec![setting("a", 0.5, 0.0, REST), setting("b", 0.9, 0.0, REST)];
    let feature = |name: &str, representation, scale| PsdParams {
        features: vec![PoseFeature { name: name.into(), representation, scale }],
        ..PsdParams::default()
    };
    let one = FeatureScale::One(1.0);
    let unknown = refused(bend(), &feature("elbows", Representation::Rotation, one));
    assert!(matches!(&unknown, FitError::UnknownMover { name, .. } if name == "elbows"));
    assert!(unknown.to_string().contains("elbow, wrist, heavy"), "{unknown}");
    for params in [
        feature("root", Representation::Rotation, one),
        PsdParams { order: SpaceOrder::Listed(vec![vec!["root".into()]]), ..PsdParams::default() },
    ] {
        assert!(matches!(refused(bend(), &params), FitError::UnknownMover { .. }));
    }
    for params in [
        feature("elbow", Representation::Scalar, one),
        feature("heavy", Representation::Rotation, one),
        feature("elbow", Representation::Rotation, FeatureScale::PerAxis(DVec3::ONE)),
        feature("elbow", Representation::Rotation, FeatureScale::One(-1.0)),
        PsdParams { features: vec![PoseFeature::radii("elbow", DVec3::ZERO)], ..PsdParams::default() },
    ] {
        assert!(matches!(refused(bend(), &params), FitError::Feature { .. }), "{params:?}");
    }
    // A hinge about x does not see a bend about y.
    let blind = feature("elbow", Representation::HingeAngle { axis: DVec3::X }, one);
    assert!(
        matches!(refused(bend(), &blind), FitError::Indistinct { first, second, .. } if first == "rest" && second == "a")
    );
    for radius in [0.0, -1.0, f64::NAN] {
        let params = PsdParams { radii: [("a".to_string(), radius)].into(), ..PsdParams::default() };
        assert!(matches!(refused(bend(), &params), FitError::Radius { example, .. } if example == "a"));
        let params = PsdParams { interpolation: fixed(radius), ..PsdParams::default() };
        assert!(matches!(refused(bend(), &params), FitError::Interpolation(_)));
    }
    let params = PsdParams { radii: [("z".to_string(), 1.0)].into(), ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), FitError::UnknownExample { name, .. } if name == "z"));
    let params = PsdParams { interpolation: fixed(1e7), ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), FitError::TooClose { .. }));
    let per_centre =
        PsdInterpolation::Rbf(RbfParams { width: Width::PerCentre(vec![1.0]), ..RbfParams::default() });
    let params = PsdParams { interpolation: per_centre, ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), FitError::WidthPerCentre));
    for params in [
        PsdParams { threshold: -1.0, ..PsdParams::default() },
        PsdParams { clamp_margin: Some(f64::NAN), ..PsdParams::default() },
        PsdParams {
            prototypes: Some(PrototypeParams { count: 0, ..PrototypeParams::default() }),
            ..PsdParams::default()
        },
        PsdParams {
            prototypes: Some(PrototypeParams { least_weight: 0.0, ..PrototypeParams::default() }),
            ..PsdParams::default()
        },
        PsdParams {
            interpolation: PsdInterpolation::Shepard { power: 0.0, epsilon: 0.0 },
            ..PsdParams::default()
        },
    ] {
        assert!(matches!(refused(bend(), &params), FitError::Parameter { .. }), "{params:?}");
    }
    let params = PsdParams { deltas: DeltaSpace::Forward { frame: Frame::Joint(9) }, ..PsdParams::default() };
    assert!(matches!(refused(bend(), &params), FitError::Model(_)));
}
