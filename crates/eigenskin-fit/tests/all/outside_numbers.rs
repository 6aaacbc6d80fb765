//! Radial interpolation against scipy (fixtures/make_fixtures.py).

use eigenskin_core::driver::{FeatureGroup, Kernel};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_core::skeleton::Skeleton;
use eigenskin_fit::drivers::{RbfParams, Samples, Smoothing, TailChoice, Width, fit_rbf};
use serde_json::Value;

fn fixture(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn two_controls(rows: &[Vec<f64>]) -> Samples {
    let poses: Vec<Pose> =
        rows.iter().map(|row| Pose { world_from_joint: vec![], controls: row.clone() }).collect();
    let groups = vec![FeatureGroup::control(0, 0.0), FeatureGroup::control(1, 0.0)];
    Samples::measure(groups, &Skeleton::empty(), &poses)
}

#[test]
fn interpolation_equals_scipys() {
    let data = fixture(include_str!("../fixtures/rbf.json"));
    let samples = two_controls(&rows(&data["samples"])[1..]);
    let values: Vec<f64> = rows(&data["values"]).concat();
    let queries = rows(&data["queries"]);
    let cases = data["cases"].as_array().unwrap();
    let mut kernels_seen = std::collections::BTreeSet::new();
    for case in cases {
        let kernel = Kernel::named(case["kernel"].as_str().unwrap()).unwrap();
        kernels_seen.insert(kernel.name());
        let params = RbfParams {
            kernel: kernel.into(),
            width: Width::Fixed(case["width"].as_f64().unwrap()),
            smoothing: Smoothing::Fixed(case["ridge"].as_f64().unwrap()),
            tail: match case["degree"].as_i64().unwrap() {
                -1 => TailChoice::None,
                0 => TailChoice::Constant,
                _ => TailChoice::Linear,
            },
        };
        let driver = fit_rbf(&samples, &values, &params, &Unwatched).unwrap().driver;
        let mut scratch = vec![0.0; driver.scratch_count()];
        let mut found = [0.0; 2];
        for (query, expected) in queries.iter().zip(rows(&case["expected"])) {
            let pose = Pose { world_from_joint: vec![], controls: query.clone() };
            driver.evaluate(&Skeleton::empty(), &pose, &mut scratch, &mut found);
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{kernel:?} {params:?}: {a} instead of {b}");
            }
        }
    }
    assert_eq!(kernels_seen.len(), Kernel::ALL.len());
}

/// The closed form of the leave-one-out error against really leaving examples out.
#[test]
fn leave_one_out_equals_refitting() {
    let data = fixture(include_str!("../fixtures/rbf.json"));
    let samples = two_controls(&rows(&data["samples"])[1..]);
    let values: Vec<f64> = rows(&data["values"]).concat();
    let params = RbfParams { width: Width::Fixed(0.8), ..RbfParams::default() };
    let found = fit_rbf(&samples, &values, &params, &Unwatched).unwrap().leave_one_out;
    let expected = data["leave_one_out"].as_f64().unwrap();
    assert!((found - expected).abs() < 1e-7 * expected, "{found} instead of {expected}");
}

/// With smoothing and a tail the closed form still equals refitting, and rest is never left out.
#[test]
fn leave_one_out_with_smoothing_and_tail_equals_refitting() {
    let data = fixture(include_str!("../fixtures/rbf.json"));
    let all_rows = rows(&data["samples"]);
    let all_values = rows(&data["values"]);
    let samples = two_controls(&all_rows[1..]);
    let params = RbfParams {
        kernel: Kernel::ThinPlate.into(),
        width: Width::Fixed(1.0),
        smoothing: Smoothing::Fixed(0.02),
        tail: TailChoice::Linear,
    };
    let found = fit_rbf(&samples, &all_values.concat(), &params, &Unwatched).unwrap().leave_one_out;
    let mut sum = 0.0;
    for left_out in 1..all_rows.len() {
        let keep: Vec<usize> = (0..all_rows.len()).filter(|&i| i != left_out).collect();
        let values: Vec<f64> = keep.iter().flat_map(|&i| all_values[i].clone()).collect();
        let driver = fit_rbf(&samples.select(&keep), &values, &params, &Unwatched).unwrap().driver;
        let mut predicted = [0.0; 2];
        driver.evaluate_features(samples.features_of(left_out), samples.linear_of(left_out), &mut predicted);
        sum += predicted.iter().zip(&all_values[left_out]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    }
    let expected = (sum / (all_rows.len() - 1) as f64).sqrt();
    assert!((found - expected).abs() < 1e-8 * expected, "{found} instead of {expected}");
}

/// A hinge described by a rotation vector spans one direction of three: the tail of minimum norm
/// interpolates, and does not run away across the hinge.
#[test]
fn thin_plates_on_a_hinge_stay_tame_across_it() {
    let along: Vec<Vec<f64>> = (1..=6).map(|i| vec![f64::from(i) * 0.25, 1e-8 * f64::from(i % 3)]).collect();
    let samples = two_controls(&along);
    let mut values = vec![0.0];
    values.extend(along.iter().map(|row| row[0].sin()));
    let params = RbfParams { kernel: Kernel::ThinPlate.into(), ..RbfParams::default() };
    let driver = fit_rbf(&samples, &values, &params, &Unwatched).unwrap().driver;
    let mut out = [0.0];
    driver.evaluate_features(&[1.0, 0.0], &[1.0, 0.0], &mut out);
    assert!((out[0] - 1f64.sin()).abs() < 1e-6);
    driver.evaluate_features(&[1.0, 0.5], &[1.0, 0.5], &mut out);
    assert!(out[0].abs() < 3.0, "{}", out[0]);
}

/// Two samples in one place cannot be told apart; the error names them.
#[test]
fn coinciding_samples_are_refused() {
    let samples = two_controls(&[vec![0.5, 0.0], vec![0.7, 0.1], vec![0.5, 0.0]]);
    let error = fit_rbf(&samples, &[0.0, 1.0, 2.0, 3.0], &RbfParams::default(), &Unwatched).unwrap_err();
    assert!(error.to_string().contains("poses 1 and 3"), "{error}");
    let smoothed = RbfParams { smoothing: Smoothing::Fixed(1e-3), ..RbfParams::default() };
    assert!(fit_rbf(&samples, &[0.0, 1.0, 2.0, 3.0], &smoothed, &Unwatched).is_ok());
}

/// Many samples of a function that also depends on something unseen, as motion data have them:
/// exact interpolation predicts left-out ones badly, and automatic smoothing is taken. Few samples
/// are always hit exactly. Rest stays exact either way.
#[test]
fn contradictory_motion_gets_a_smoothing_and_few_examples_do_not() {
    let fit = |count: u32| {
        let along = |i: u32| (f64::from(i) * 0.618_034).fract();
        let across = |i: u32| 0.002 * (f64::from(i) * 0.414_214).fract();
        let rows: Vec<Vec<f64>> = (1..=count).map(|i| vec![0.05 + along(i), across(i)]).collect();
        let mut values = vec![0.0];
        values.extend((1..=count).map(|i| (3.0 * along(i)).sin() + 0.02 * (f64::from(i) * 1.732).sin()));
        fit_rbf(&two_controls(&rows), &values, &RbfParams::default(), &Unwatched).unwrap()
    };
    let (crowded, few) = (fit(30), fit(12));
    assert!(crowded.smoothing > 0.0);
    assert_eq!(few.smoothing, 0.0);
    for fit in [crowded, few] {
        let mut out = [1.0];
        fit.driver.evaluate_features(&[0.0, 0.0], &[0.0, 0.0], &mut out);
        assert!(out[0].abs() < 1e-6, "{}", out[0]);
    }
}
