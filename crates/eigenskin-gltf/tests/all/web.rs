//! The profile `web`: integers in the file, the same model when it is read.

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::Vec3;
use eigenskin_core::model::{Model, Stage};
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_gltf::conformance::cases;
use eigenskin_gltf::internals::table_of;
use eigenskin_gltf::{ModelWarning, ModelWriteOptions, Profile, ReadOptions, model_glb, model_of, rig_of};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::cases::{document, file_of};
use crate::support::compare::furthest;
use crate::support::keep::keep;

const WEB: ModelWriteOptions = ModelWriteOptions { bake_rate: 30.0, tolerance: 0.0, profile: Profile::Web };

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// What is read from integers is the model within their rounding: a step is 1/65534 of the longest extent,
    /// and each component adds half of one for each weight.
    #[test]
    fn a_model_of_integers_is_the_model(seed in 0u64..100_000) {
        let case = cases::random_case(seed).unwrap();
        // Rigid skinning jumps from joint to joint where weights are nearly equal.
        prop_assume!(case.model.base().skinning() != Some(BaseSkinning::Rigid));
        let file = file_of(&case);
        let (glb, report) = model_glb(&file, &case.model, &WEB).unwrap();
        keep(&format!("random-{seed}-web.glb"), &glb);
        let written = document(&glb);
        let has_joints = case.model.rig().skeleton().joint_count() > 0;
        prop_assert_eq!(written.json.get("extensionsRequired").is_some(), has_joints);
        prop_assert_eq!(report.rounding.is_some(), has_joints);
        if !has_joints {
            prop_assert!(report.warnings.iter().any(|warning| matches!(warning, ModelWarning::NotForWeb { .. })), "{:?}", report.warnings);
            return Ok(());
        }
        let is_refused = |warning: &ModelWarning| matches!(warning, ModelWarning::NotForWeb { .. });
        prop_assert!(!report.warnings.iter().any(is_refused));
        for primitive in written.json["meshes"][0]["primitives"].as_array().unwrap() {
            let form = |accessor: &Value| {
                let accessor = &written.json["accessors"][accessor.as_u64().unwrap() as usize];
                (accessor["componentType"].as_u64().unwrap(), accessor["normalized"].as_bool().unwrap_or(false))
            };
            prop_assert_eq!(form(&primitive["attributes"]["POSITION"]), (5122, false));
            prop_assert_eq!(form(&primitive["attributes"]["NORMAL"]), (5120, true));
            prop_assert_eq!(form(&primitive["attributes"]["WEIGHTS_0"]), (5123, true));
            for target in primitive["targets"].as_array().into_iter().flatten() {
                prop_assert_eq!(form(&target["POSITION"]), (5122, false));
            }
        }
        let scales = scales(&written.json);
        let (read, model) = model_of(written).unwrap();
        // The joints are where they were, so drivers measure what they did.
        for (a, b) in model.rig().skeleton().joints().iter().zip(case.model.rig().skeleton().joints()) {
            prop_assert!(a.joint_from_rest.abs_diff_eq(b.joint_from_rest, 1e-5), "{} {}", a.joint_from_rest, b.joint_from_rest);
        }
        let is_morphed = case.model.layers().iter().all(|layer| layer.stage == Stage::BeforeSkinning);
        prop_assume!(is_morphed);
        let extents = |axis: usize| case.model.rig().mesh().positions().iter().map(move |p| p[axis]);
        let extent = |axis| extents(axis).fold(0.0, f32::max) - extents(axis).fold(0.0, f32::min);
        let step = f64::from((0..3).map(extent).fold(0.0, f32::max)) / 65534.0;
        let mut evaluators = [case.model.clone(), model.into()].map(Evaluator::new);
        let mut shapes = [vec![Vec3::ZERO; case.model.rig().vertex_count()], Vec::new()];
        shapes[1] = shapes[0].clone();
        for pose in &case.poses {
            for (evaluator, shape) in evaluators.iter_mut().zip(&mut shapes) {
                evaluator.evaluate(pose, shape, None);
            }
            let alphas = evaluators[0].coordinates().iter().map(|alpha| f64::from(alpha.abs()));
            let weights: f64 = alphas.zip(&scales).map(|(alpha, scale)| alpha / scale).sum();
            // Half a step in each direction for the position and each target. Skin weights are rounded too.
            let reach = shapes[0].iter().map(|p| p.length()).fold(case.model.rig().mesh().size() as f32, f32::max);
            let allowed = 1.2 * 0.87 * step * (1.0 + weights) + 1e-4 * f64::from(reach);
            prop_assert!(furthest(&shapes[0], &shapes[1]) < allowed, "{} of {allowed}", furthest(&shapes[0], &shapes[1]));
        }
        // It is a rig like any other, and becomes a plain model again.
        let rig = rig_of(document(&glb), &ReadOptions::default()).unwrap();
        prop_assert_eq!(rig.rig().vertex_count(), read.rig().vertex_count());
        let (plain, _) = model_glb(&read, evaluators[1].model(), &ModelWriteOptions::default()).unwrap();
        prop_assert!(document(&plain).json.get("extensionsRequired").is_none());
        prop_assert_eq!(model_of(document(&plain)).unwrap().1, evaluators[1].model().as_ref().clone());
    }
}

/// The scale of every component's target, from the table.
fn scales(json: &Value) -> Vec<f64> {
    let table = table_of(json);
    let layers = table["model"]["layers"].as_array().unwrap().iter();
    let components = layers.flat_map(|layer| layer["components"].as_array().unwrap().clone());
    let half =
        |component: Value| ["plus", "minus"].iter().find_map(|half| component[*half]["scale"].as_f64());
    components.map(|component| half(component).unwrap()).collect()
}

/// Another program has quantised the file: other integers, another unit. The table tells it.
#[test]
fn a_unit_that_another_program_chose_is_told_by_the_table() {
    let case = cases::all().unwrap().into_iter().find(|case| case.name == "representations").unwrap();
    assert_eq!(case.model.base().skinning(), Some(BaseSkinning::LinearBlend));
    let (glb, _) = model_glb(&file_of(&case), &case.model, &WEB).unwrap();
    let mut other = document(&glb);
    let bind = table_of(&other.json)["bind"].clone();
    assert_eq!(bind["joint"], case.model.rig().skeleton().joints()[0].name.as_str());
    // Without what the table remembers the mesh is read in steps.
    eigenskin_gltf::internals::edit_table(&mut other.json, |table| {
        table.as_object_mut().unwrap().remove("bind");
    });
    let (file, model) = model_of(other).unwrap();
    assert!(file.rig().mesh().size() > 1000.0 * case.model.rig().mesh().size());
    // Still the same shapes, in that unit: only drivers of translations would notice.
    assert_eq!(model.component_count(), case.model.component_count());
    let (own, _) = model_of(document(&glb)).unwrap();
    let ratio = own.rig().mesh().size() / case.model.rig().mesh().size();
    assert!((ratio - 1.0).abs() < 1e-4, "{ratio}");
    assert!(own.is_quantized && !file_of(&case).is_quantized);
}

/// A layer too small for a step of the integers is written as one that moves nothing, and the model is read again.
#[test]
fn a_layer_that_is_rounded_away_does_not_spoil_the_model() {
    let case = cases::all().unwrap().into_iter().find(|case| case.name == "representations").unwrap();
    let mut layers = case.model.layers().to_vec();
    let tiny = layers.len();
    let mut layer = layers[0].clone();
    layer.name = "tiny".to_string();
    layer.basis.positions.iter_mut().for_each(|displacement| *displacement *= 1e-12);
    layer.basis.normals.iter_mut().for_each(|change| *change *= 1e-12);
    layers.push(layer);
    let model = Model::new(case.model.rig().clone(), case.model.base().clone(), layers).unwrap();
    let (glb, _) = model_glb(&file_of(&case), &model, &WEB).unwrap();
    let (_, read) = model_of(document(&glb)).unwrap();
    assert_eq!(read.layers().len(), model.layers().len());
    let layer = &read.layers()[tiny];
    assert_eq!((layer.name.as_str(), &layer.support), ("tiny", &model.layers()[tiny].support));
    assert!(layer.basis.positions.iter().all(|displacement| *displacement == Vec3::ZERO));
}
