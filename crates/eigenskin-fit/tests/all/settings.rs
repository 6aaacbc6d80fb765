//! Settings and reports as JSON: by the names that people type, and back again.

use std::collections::BTreeMap;

use eigenskin_core::driver::{FeatureScale, Kernel, Representation};
use eigenskin_core::glam::{DMat3, DVec3};
use eigenskin_core::model::Frame;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::displacements::black_box::InversionParams;
use eigenskin_fit::drivers::{RbfParams, Smoothing, TailChoice, Width};
use eigenskin_fit::method::{
    Budget, DeltaSpace, EigenSkinParams, IcaParams, Limits, Method, ParameterizationParams, PatchesParams,
    PoseFeature, PrototypeParams, PsdInterpolation, PsdParams, SignalBasis, SpaceOrder,
};
use eigenskin_fit::mirror::{MirrorParams, MirrorPlane};
use eigenskin_fit::solve_weights::SolveWeightsParams;
use eigenskin_fit::style::{Form, Regions, Space, StyleParams};
use eigenskin_fit::suggest::SuggestParams;
use eigenskin_fit::supports::{Border, SupportParams};
use eigenskin_fit::transfer::TransferParams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json, to_value};

use crate::support::learn;
use crate::support::psd::layered;

fn again<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(settings: &T) {
    let written = serde_json::to_string(settings).unwrap();
    assert_eq!(serde_json::from_str::<T>(&written).unwrap(), *settings, "{written}");
}

/// All kernels, widths, smoothings and tails.
fn interpolations() -> Vec<RbfParams> {
    let widths = [Width::LeaveOneOut, Width::Fixed(0.7), Width::PerCentre(vec![0.5, 1.0])];
    let tails = [TailChoice::Automatic, TailChoice::None, TailChoice::Constant, TailChoice::Linear];
    Kernel::ALL
        .into_iter()
        .enumerate()
        .map(|(index, kernel)| RbfParams {
            kernel: kernel.into(),
            width: widths[index % 3].clone(),
            smoothing: if index % 2 == 0 { Smoothing::Automatic } else { Smoothing::Fixed(0.01) },
            tail: tails[index % 4],
        })
        .collect()
}

#[test]
fn methods_come_back() {
    for interpolation in interpolations() {
        let params = EigenSkinParams {
            support: SupportParams { threshold: Some(0.1), border: Border::Hard },
            budget: Budget { per_vertex: None, per_joint: Some(3), total: Some(20) },
            interpolation: interpolation.clone(),
            normals: false,
            clamp_margin: None,
        };
        again(&Method::from(params));
        again(&Method::from(PatchesParams { patches: 7, per_vertex: 3, normals: false }));
        again(&Method::from(ParameterizationParams {
            basis: SignalBasis::Independent(IcaParams { seed: 7, ..IcaParams::default() }),
            interpolation,
            parts: Some(3),
            ..ParameterizationParams::default()
        }));
    }
    let representations = [
        Representation::HingeAngle { axis: DVec3::X },
        Representation::Rotation,
        Representation::Swing { axis: DVec3::Y },
        Representation::Twist { axis: DVec3::Z },
        Representation::RotationVector,
        Representation::Translation,
        Representation::Scalar,
    ];
    let scales = [
        FeatureScale::One(2.0),
        FeatureScale::PerAxis(DVec3::new(1.0, 2.0, 3.0)),
        FeatureScale::Matrix(DMat3::from_cols_array(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.5])),
    ];
    let frames = [Frame::Root, Frame::HeaviestJoint, Frame::Joint(4)];
    let orders =
        [SpaceOrder::NarrowFirst, SpaceOrder::AsGiven, SpaceOrder::Listed(vec![vec!["elbow".to_string()]])];
    let interpolations = [
        PsdInterpolation::default(),
        PsdInterpolation::Shepard { power: 2.0, epsilon: 0.1 },
        PsdInterpolation::Linear,
    ];
    for (index, representation) in representations.into_iter().enumerate() {
        let third = index % 3;
        let feature = PoseFeature { name: "elbow".to_string(), representation, scale: scales[third] };
        again(&Method::from(PsdParams {
            deltas: DeltaSpace::Forward { frame: frames[third] },
            interpolation: interpolations[third].clone(),
            radii: BTreeMap::from([("fist".to_string(), 0.4)]),
            features: vec![feature],
            order: orders[third].clone(),
            prototypes: (index % 2 == 0).then(PrototypeParams::default),
            ..PsdParams::default()
        }));
    }
}

#[test]
fn other_settings_come_back() {
    again(&SolveWeightsParams { influences: 8, smooth: 0.5 });
    again(&SuggestParams { count: 3 });
    again(&InversionParams { most_calls: 50, ..InversionParams::default() });
    again(&Limits { targets: Some(32), bytes: None, error: Some(0.1) });
    again(&MirrorParams {
        plane: Some(MirrorPlane { axis: 1, centre: 0.25 }),
        joint_pairs: vec![("a".to_string(), "b".to_string())],
        ..MirrorParams::default()
    });
    for space in [Space::NearestBones, Space::Skinning(BaseSkinning::DualQuaternion)] {
        for (form, regions) in [(Form::Projected, Regions::Whole), (Form::Factored, Regions::joints())] {
            let joint_map = Some(BTreeMap::from([("a".to_string(), "b".to_string())]));
            again(&StyleParams { signals: Some(4), form, regions, space: Some(space), joint_map });
        }
    }
    let carry = to_value(TransferParams { averaging: 0.5, ..TransferParams::default() }).unwrap();
    assert_eq!(to_value(from_value::<TransferParams>(carry.clone()).unwrap()).unwrap(), carry);
}

/// What is left out is as by default; names are those of the command; what is not known is refused.
#[test]
fn settings_are_written_as_people_type_them() {
    let method = |settings: Value| from_value::<Method>(settings);
    assert_eq!(method(json!({ "method": "eigenskin" })).unwrap(), EigenSkinParams::default().into());
    assert_eq!(method(json!({ "method": "patches" })).unwrap(), Method::default());
    assert_eq!(method(json!({ "method": "psd" })).unwrap(), PsdParams::default().into());
    let weighted = method(json!({ "method": "weighted-psd" })).unwrap();
    let prototypes = Some(PrototypeParams::default());
    assert_eq!(weighted, PsdParams { prototypes, ..PsdParams::default() }.into());
    assert_eq!(weighted.name(), "weighted-psd");
    let written = to_value(&weighted).unwrap();
    assert_eq!(written["method"], "weighted-psd");
    assert_eq!(written["deltas"], "auto");
    assert_eq!(written["order"], "narrow-first");
    assert_eq!(written["interpolation"]["rbf"]["smoothing"], 0.0);

    let typed = json!({
        "method": "eigenskin",
        "support": { "border": "hard" },
        "budget": { "per_vertex": 6 },
        "interpolation": { "kernel": "thin-plate", "width": "auto", "smoothing": 0.01 },
        "clamp_margin": null,
    });
    let Method::EigenSkin(params) = method(typed).unwrap() else { panic!("another method") };
    assert_eq!(params.support, SupportParams { border: Border::Hard, ..SupportParams::default() });
    assert_eq!(params.budget, Budget { per_vertex: Some(6), ..Budget::default() });
    let interpolation = RbfParams {
        kernel: Kernel::ThinPlate.into(),
        smoothing: Smoothing::Fixed(0.01),
        ..RbfParams::default()
    };
    assert_eq!((params.interpolation, params.clamp_margin), (interpolation, None));
    for kernel in Kernel::ALL {
        assert_eq!(
            to_value(RbfParams { kernel: kernel.into(), ..RbfParams::default() }).unwrap()["kernel"],
            kernel.name()
        );
    }
    for (settings, named) in [
        (json!({ "method": "auto" }), "auto"),
        (json!({ "method": "psd", "smoothing": 1.0 }), "smoothing"),
        (json!({ "method": "eigenskin", "interpolation": { "kernel": "bell" } }), "bell"),
    ] {
        let refused = method(settings).unwrap_err().to_string();
        assert!(refused.contains(named), "{refused}");
    }
}

/// The names that `--json` has.
#[test]
fn fits_are_told_by_the_same_names() {
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let set = layered();
    let common = ["merged", "components", "most_components_per_vertex"];
    let told = to_value(learn(&set, &EigenSkinParams::default()).unwrap()).unwrap();
    let own = ["method", "examples", "rest_space_error", "support_threshold", "joints"];
    assert_eq!(keys(&told), [&own[..], &common].concat());
    assert_eq!((&told["method"], &told["examples"]), (&json!("eigenskin"), &json!(set.len())));
    let joint = [
        "name",
        "examples",
        "support",
        "components",
        "singular_values",
        "width",
        "smoothing",
        "condition",
        "leave_one_out",
    ];
    assert_eq!(keys(&told["joints"][0]), joint);
    let told = to_value(learn(&set, &PatchesParams::default()).unwrap()).unwrap();
    let own = ["method", "examples", "rest_space_error", "patches"];
    assert_eq!(keys(&told), [&own[..], &common].concat());
    let patch = [
        "name",
        "drivers",
        "strength",
        "power",
        "contacts",
        "contact_strength",
        "contact_length",
        "smoothing",
        "cross_validation",
    ];
    assert_eq!(keys(&told["patches"][0]), patch);

    let weighted = PsdParams { prototypes: Some(PrototypeParams::default()), ..PsdParams::default() };
    let told = to_value(learn(&set, &weighted).unwrap()).unwrap();
    let own = ["method", "examples", "prototypes", "spaces", "deltas", "in_betweens"];
    assert_eq!(keys(&told), [&own[..], &common].concat());
    assert_eq!((&told["method"], &told["prototypes"]), (&json!("weighted-psd"), &json!(8)));
    assert_eq!(keys(&told["spaces"][0]), ["name", "movers", "examples", "anchors", "vertices", "drivers"]);
    assert_eq!(keys(&told["deltas"][0]), ["name", "space", "largest_delta", "vertex", "unreachable"]);
    assert_eq!(told["deltas"][0]["space"], "elbow + wrist");

    let told = to_value(learn(&set, &ParameterizationParams::default()).unwrap()).unwrap();
    let own = ["method", "examples", "rest_space_error", "cross_validation", "residuals_ignored", "parts"];
    assert_eq!(keys(&told), [&own[..], &common].concat());
    let part = [
        "name",
        "drivers",
        "vertices",
        "signals",
        "energy_kept",
        "energies",
        "centres",
        "smoothing",
        "condition",
        "cross_validation",
    ];
    assert_eq!(keys(&told["parts"][0]), part);
}
