//! Pose space deformation through files.

use eigenskin_characters::arm;
use eigenskin_characters::truth::SweptSkin;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::model::Frame;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::method::{DeltaSpace, PrototypeParams, PsdInterpolation, PsdParams, fit_examples};
use eigenskin_gltf::{ModelWriteOptions, RigFile, model_glb, model_of};

use crate::support::document;

/// Files hold what the fit makes: layers, prototypes, weights of every kind, deltas after skinning.
#[test]
fn fitted_models_come_back_bit_for_bit() {
    let arm = arm(600).unwrap();
    let skin = SweptSkin::new(&arm);
    let angles = [[0.0, -1.0], [0.0, -2.0], [-0.5, 0.0], [-0.5, -1.0]];
    let examples: Vec<Example> = angles
        .iter()
        .map(|&[shoulder, elbow]| {
            let pose = arm.pose(&[shoulder, 0.0, elbow]);
            let name = format!("shoulder {shoulder}, elbow {elbow}");
            Example { name, positions: skin.shape(&pose), pose, normals: None, inverted: None }
        })
        .collect();
    let set = ExampleSet::new(arm.rig.clone(), examples).unwrap();
    let file = RigFile::from_rig(arm.rig.clone(), "arm").unwrap();
    let forward = DeltaSpace::Forward { frame: Frame::HeaviestJoint };
    let prototypes = Some(PrototypeParams { count: 3, ..PrototypeParams::default() });
    let shepard = PsdInterpolation::Shepard { power: 2.0, epsilon: 0.0 };
    let linear = BaseSkinning::LinearBlend;
    for (base, params) in [
        (linear, PsdParams::default()),
        (linear, PsdParams { deltas: forward, clamp_margin: Some(0.5), ..PsdParams::default() }),
        (linear, PsdParams { prototypes, ..PsdParams::default() }),
        (BaseSkinning::DualQuaternion, PsdParams { interpolation: shepard, ..PsdParams::default() }),
        (linear, PsdParams { interpolation: PsdInterpolation::Linear, ..PsdParams::default() }),
    ] {
        let model = fit_examples(&set, &base.into(), &params.clone().into(), &Unwatched).unwrap().model;
        let (glb, _) = model_glb(&file, &model, &ModelWriteOptions::default()).unwrap();
        let (_, read) = model_of(document(&glb)).unwrap();
        assert_eq!(read, model, "{params:?}");
    }
}
