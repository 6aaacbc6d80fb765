//! Fits without files: settings, limits, the method that suits best, and their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eigenskin::characters::truth::SweptSkin;
use eigenskin::characters::{Character, arm};
use eigenskin::examples::ExampleSet;
use eigenskin::gltf::{ModelWriteOptions, Profile, RigFile};
use eigenskin::jobs::fit::{Fit, FitJobError, FitSettings, Wanted};
use eigenskin::method::{
    ChoiceParams, DeltaSpace, ErrorLimit, Limits, Method, NotCompared, ParameterizationParams,
    PrototypeParams, PsdParams, SizeLimit,
};
use eigenskin::progress::{Cancelled, Progress, Step, Unwatched};
use eigenskin::solve_weights::SolveWeightsParams;
use serde_json::json;

use crate::stop::Stop;

fn character() -> Character {
    arm(400).unwrap()
}

/// Poses of one joint and of several.
fn examples(character: &Character) -> ExampleSet {
    let poses = character.single_joint_poses(2).into_iter().chain(character.multi_joint_poses(5, 3));
    SweptSkin::new(character).examples(poses).unwrap()
}

fn job(set: ExampleSet, settings: FitSettings) -> Fit {
    let file = RigFile::from_rig(set.rig().clone(), "arm").unwrap();
    Fit::new(file, Arc::new(set), settings).unwrap()
}

fn with_limits(limits: Limits) -> Fit {
    job(examples(&character()), FitSettings { limits, ..FitSettings::default() })
}

#[test]
fn settings_go_through_json() {
    let prototypes = Some(PrototypeParams { count: 3, ..PrototypeParams::default() });
    for method in [
        Wanted::default(),
        Wanted::This(ParameterizationParams { parts: Some(2), ..ParameterizationParams::default() }.into()),
        Wanted::This(PsdParams { prototypes, ..PsdParams::default() }.into()),
        Wanted::Best(ChoiceParams { normals: false, ..ChoiceParams::default() }),
    ] {
        let settings = FitSettings {
            method,
            limits: Limits { targets: Some(32), bytes: None, error: Some(0.1) },
            solve_weights: Some(SolveWeightsParams { influences: 6, ..SolveWeightsParams::default() }),
            leave_one_out: true,
            file: ModelWriteOptions { tolerance: 0.0, profile: Profile::Web, ..ModelWriteOptions::default() },
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<FitSettings>(&text).unwrap(), settings, "{text}");
    }
    assert_eq!(serde_json::from_str::<FitSettings>("{}").unwrap(), FitSettings::default());
    let typed = json!({ "method": { "this": { "method": "psd", "deltas": "inverse" } } });
    let method = serde_json::from_value::<FitSettings>(typed).unwrap().method;
    assert_eq!(
        method,
        Wanted::This(PsdParams { deltas: DeltaSpace::Inverse, ..PsdParams::default() }.into())
    );
    for wrong in [json!({ "leave_out": true }), json!({ "limits": { "morphs": 3 } })] {
        assert!(serde_json::from_value::<FitSettings>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn all_methods_are_told_by_the_same_names() {
    let set = examples(&character());
    let prototypes = Some(PrototypeParams { count: 2, ..PrototypeParams::default() });
    for method in [
        Method::default(),
        PsdParams::default().into(),
        PsdParams { prototypes, ..PsdParams::default() }.into(),
        ParameterizationParams::default().into(),
    ] {
        let name = method.name();
        let settings = FitSettings { method: Wanted::This(method), ..FitSettings::default() };
        let outcome = job(set.clone(), settings).run(&Unwatched).unwrap();
        assert!(outcome.training.relative_error.unwrap() < 0.9, "{name}");
        let told = serde_json::to_value(&outcome).unwrap();
        assert_eq!(told["method"], name);
        assert_eq!(told["components"], outcome.model().component_count());
        assert_eq!((&told["bytes"], &told["auto"]), (&json!(outcome.glb.len()), &json!(null)));
        for key in ["examples", "merged", "most_components_per_vertex", "training", "targets", "warnings"] {
            assert!(!told[key].is_null(), "{name}: {key}");
        }
    }
}

#[test]
fn limits_are_met() {
    let free = with_limits(Limits::default()).run(&Unwatched).unwrap();
    assert!(free.within_limits.is_none() && free.written.targets > 4);
    let few = with_limits(Limits { targets: Some(4), ..Limits::default() }).run(&Unwatched).unwrap();
    let allowed = few.within_limits.unwrap();
    assert!(few.written.targets <= 4 && few.model().component_count() == allowed.components);
    assert_eq!(few.most_components, Some(allowed.components));
    assert_eq!(allowed.unlimited, free.model().component_count());
    assert_eq!((allowed.limited_by, allowed.error), (Some(SizeLimit::Targets(4)), ErrorLimit::Open));

    let wanted = 0.5 * (1.0 + free.training.relative_error.unwrap());
    let coarse = with_limits(Limits { error: Some(wanted), ..Limits::default() }).run(&Unwatched).unwrap();
    assert!(coarse.training.relative_error.unwrap() <= wanted);
    assert!(coarse.model().component_count() < free.model().component_count());
    assert_eq!(coarse.within_limits.unwrap().error, ErrorLimit::Met);

    let missed = Limits { targets: Some(2), error: Some(1e-6), ..Limits::default() };
    let missed = with_limits(missed).run(&Unwatched).unwrap();
    assert!(matches!(missed.within_limits.unwrap().error, ErrorLimit::Missed { best } if best > 1e-6));
    assert_eq!(serde_json::to_value(&missed).unwrap()["budget"]["error_is_met"], false);

    let error = with_limits(Limits { bytes: Some(100), ..Limits::default() }).run(&Unwatched).unwrap_err();
    assert!(matches!(error, FitJobError::LimitBelowRig { limit: SizeLimit::Bytes(100), .. }), "{error}");
}

#[test]
fn the_best_method_is_found() {
    let set = examples(&character());
    let settings = FitSettings::default();
    let outcome = job(set.clone(), settings.clone()).run(&Unwatched).unwrap();
    let choice = outcome.choice.as_ref().unwrap();
    assert_eq!((&outcome.method, outcome.most_components), (&choice.method, None));
    let told = serde_json::to_value(&outcome).unwrap();
    assert_eq!(told["auto"]["chosen"], choice.method.name());
    let best = choice.best().unwrap();
    // Patches may win where another one is ahead by chance.
    let least_of_best = best.left_out_error - 2.0 * best.standard_error;
    assert!(choice.tried.iter().all(|trial| trial.left_out_error >= least_of_best));
    assert!(best.left_out_error < 1.0 && best.standard_error < best.left_out_error && best.examples > 0);
    assert_eq!(told["auto"]["tried"].as_array().unwrap().len(), choice.tried.len());

    // Five examples cannot tell; six can.
    let some = |count: usize| set.select(&(0..count).collect::<Vec<_>>()).unwrap();
    let few = job(some(5), settings.clone()).run(&Unwatched).unwrap();
    let choice = few.choice.as_ref().unwrap();
    assert_eq!((choice.chosen, choice.tried.len()), ("patches", 0));
    assert_eq!(choice.not_compared, Some(NotCompared::FewExamples));
    assert_eq!(serde_json::to_value(&few).unwrap()["auto"]["not_compared"], "few-examples");
    let enough = job(some(6), settings).run(&Unwatched).unwrap().choice.unwrap();
    assert_eq!((enough.not_compared, enough.tried.is_empty()), (None, false));
}

/// Ends work at one of its steps.
struct StopAt(AtomicUsize, usize);

impl Progress for StopAt {
    fn step(&self, _: Step<'_>) -> Result<(), Cancelled> {
        if self.0.fetch_add(1, Ordering::Relaxed) + 1 >= self.1 { Err(Cancelled) } else { Ok(()) }
    }
}

/// Wherever a fit is stopped it says that it was stopped, not what was half done.
#[test]
fn it_can_be_stopped() {
    let set = examples(&character());
    let settings = FitSettings {
        limits: Limits { targets: Some(8), ..Limits::default() },
        solve_weights: Some(SolveWeightsParams::default()),
        leave_one_out: true,
        ..FitSettings::default()
    };
    let job = job(set, settings);
    assert!(matches!(job.run(&Stop), Err(FitJobError::Cancelled(Cancelled))));
    let patient = StopAt(AtomicUsize::new(0), usize::MAX);
    job.run(&patient).unwrap();
    let steps = patient.0.into_inner();
    assert!(steps > 20, "{steps}");
    for last in [2, steps / 4, steps / 2, 3 * steps / 4, steps] {
        let ended = job.run(&StopAt(AtomicUsize::new(0), last));
        assert!(matches!(ended, Err(FitJobError::Cancelled(Cancelled))), "step {last} of {steps}");
    }
}
