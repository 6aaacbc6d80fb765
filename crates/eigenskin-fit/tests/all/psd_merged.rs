//! Models under a limit of fields, and pose space deformation as a baseline.

use std::sync::Arc;

use eigenskin_characters::tube::{pose, sweeps, tube};
use eigenskin_core::driver::Kernel;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::DVec3;
use eigenskin_core::model::{Frame, Model};
use eigenskin_core::progress::Unwatched;
use eigenskin_core::skinning::BaseSkinning;
use eigenskin_fit::baselines::{Baseline, add_leave_one_out, psd_baselines, skinning_baselines};
use eigenskin_fit::displacements::Observations;
use eigenskin_fit::drivers::{RbfParams, Smoothing};
use eigenskin_fit::method::{
    DeltaSpace, EigenSkinParams, FitError, Method, PrototypeParams, PsdInterpolation, PsdParams, fit,
};
use eigenskin_fit::metrics::{evaluate_against, leave_one_out};

use crate::support::learn;
use crate::support::psd::{REST, largest_miss, layered, shape};

fn weighted() -> PsdParams {
    PsdParams {
        prototypes: Some(PrototypeParams { count: 3, ..PrototypeParams::default() }),
        ..PsdParams::default()
    }
}

const LINEAR: BaseSkinning = BaseSkinning::LinearBlend;

/// The model with at most so many fields.
fn merged_to(most: usize, set: &ExampleSet, params: &PsdParams) -> Model {
    let seen = Observations::of(set, &LINEAR.into(), false, &Unwatched).unwrap();
    fit(&seen, &Method::Psd(params.clone()), Some(most), &Unwatched).unwrap().model
}

#[test]
fn fewer_fields_lose_gradually_and_all_of_them_nothing() {
    let set = layered();
    let thin_plates = PsdInterpolation::Rbf(RbfParams {
        kernel: Kernel::ThinPlate.into(),
        smoothing: Smoothing::Fixed(0.0),
        ..RbfParams::default()
    });
    let shepard = PsdInterpolation::Shepard { power: 2.0, epsilon: 0.0 };
    for params in [
        PsdParams::default(),
        weighted(),
        PsdParams { interpolation: thin_plates, clamp_margin: Some(0.5), ..PsdParams::default() },
        PsdParams { interpolation: shepard, ..PsdParams::default() },
    ] {
        let model = learn(&set, &params).unwrap().model;
        let all = model.component_count();
        assert_eq!(merged_to(all, &set, &params), model);
        let error = |most: usize| {
            let merged = merged_to(most, &set, &params);
            assert!(merged.component_count() <= most);
            evaluate_against(&Arc::new(merged), &set, &Unwatched).unwrap().model.rmse
        };
        let plain = Arc::new(Model::without_corrections(set.rig().clone(), LINEAR));
        let skinned = evaluate_against(&plain, &set, &Unwatched).unwrap().model.rmse;
        assert!((error(0) - skinned).abs() < 1e-9);
        assert!(error(all / 2) < 0.6 * skinned, "{} of {skinned}", error(all / 2));
        assert!(error(all - 1) < error(all / 2) && error(1) < skinned);
    }
}

/// Fields that are multiples of one another need only one: nothing is lost, at any pose.
#[test]
fn dependent_fields_merge_without_loss() {
    let set = sweeps(&tube());
    let same_way: Vec<_> = set
        .examples()
        .iter()
        .enumerate()
        .filter(|(_, example)| example.name.contains("elbow"))
        .map(|(index, _)| index)
        .collect();
    assert!(same_way.len() > 1, "{:?}", set.examples().iter().map(|e| &e.name).collect::<Vec<_>>());
    let params = PsdParams::default();
    let mut examples = set.select(&same_way).unwrap().examples().to_vec();
    let plain = Arc::new(Model::without_corrections(set.rig().clone(), LINEAR));
    for (index, example) in examples.iter_mut().enumerate() {
        // After forward deltas of one field: skinning plus 1, 2, 3… times the same push.
        example.positions = shape(&plain, &example.pose);
        for vertex in 20..60 {
            example.positions[vertex].x += 0.01 * (index + 1) as f32;
        }
    }
    let set = ExampleSet::new(set.rig().clone(), examples).unwrap();
    let forward = PsdParams { deltas: DeltaSpace::Forward { frame: Frame::Root }, ..params };
    let model = learn(&set, &forward).unwrap().model;
    assert!(model.layers().len() == 1 && model.component_count() > 1);
    let merged = Arc::new(merged_to(1, &set, &forward));
    assert_eq!(merged.component_count(), 1);
    assert!(largest_miss(&merged, &set) < 1e-6);
    let somewhere = pose(set.rig(), DVec3::Y * 0.33, DVec3::ZERO, REST);
    let (before, after) = (shape(&Arc::new(model), &somewhere), shape(&merged, &somewhere));
    assert!(before.iter().zip(&after).all(|(a, b)| a.distance(*b) < 1e-6));
}

#[test]
fn baselines_say_what_the_library_says() {
    let set = layered();
    let (mut methods, unmeasured) =
        psd_baselines(&set, LINEAR, &PsdParams::default(), &[&set], &Unwatched).unwrap();
    assert!(unmeasured.is_empty(), "{unmeasured:?}");
    assert_eq!(
        methods.iter().map(|m| m.method).collect::<Vec<_>>(),
        [Baseline::ForwardPsd, Baseline::InversePsd, Baseline::WeightedPsd]
    );
    // Exact at what they learnt from.
    assert!(methods.iter().all(|m| m.on[0].relative_error.unwrap() < 1e-4));
    methods.extend(skinning_baselines(&[&set], &Unwatched).unwrap());
    let unmeasured = add_leave_one_out(
        &mut methods,
        &set,
        LINEAR,
        &EigenSkinParams::default(),
        &PsdParams::default(),
        &Unwatched,
    )
    .unwrap();
    assert!(unmeasured.is_empty(), "{unmeasured:?}");
    let honest = leave_one_out(
        &set,
        |others, _| Ok::<_, FitError>(learn(others, &PsdParams::default())?.model),
        &Unwatched,
    )
    .unwrap();
    let found = methods[1].on[1];
    assert!((found.errors.rmse - honest.model.rmse).abs() < 1e-9);
    assert!((found.relative_error.unwrap() - honest.relative_error.unwrap()).abs() < 1e-6);
    // Skinning has learnt nothing that could be left out.
    assert!(methods[3..].iter().all(|m| m.on.len() == 2 && m.on[0] == m.on[1]));
    // What cannot be learnt has a reason.
    let one = set.select(&[1]).unwrap();
    let (mut methods, _) = psd_baselines(&one, LINEAR, &PsdParams::default(), &[&one], &Unwatched).unwrap();
    let unmeasured = add_leave_one_out(
        &mut methods,
        &one,
        LINEAR,
        &EigenSkinParams::default(),
        &PsdParams::default(),
        &Unwatched,
    )
    .unwrap();
    assert_eq!(unmeasured.len(), 3);
    assert!(unmeasured[0].reason.contains("without example \"elbow\""), "{unmeasured:?}");
}
