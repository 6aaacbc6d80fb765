//! Powell's method: known minima, and scipy's on the same functions.

use serde_json::Value;

use super::{Powell, PowellParams};

/// What [`minimise`] found.
#[derive(Debug, Clone, PartialEq)]
struct PowellResult {
    /// the best point tried
    point: Vec<f64>,
    /// the value there; infinite if no trial had a finite one
    value: f64,
    /// how often the function was evaluated
    evaluations: usize,
    /// false: the evaluations were used up first
    converged: bool,
}

/// Along the coordinate axes first.
fn along_axes(start: &[f64], params: &PowellParams) -> Powell {
    let axes = (0..start.len())
        .map(|axis| (0..start.len()).map(|i| if i == axis { 1.0 } else { 0.0 }).collect())
        .collect();
    Powell::along(start, axes, params)
}

/// Minimises `function` from `start`. Values that are not finite are worse than all others.
fn minimise(mut function: impl FnMut(&[f64]) -> f64, start: &[f64], params: &PowellParams) -> PowellResult {
    let mut powell = along_axes(start, params);
    while let Some(trial) = powell.trial() {
        let value = function(trial);
        powell.observe(value);
    }
    PowellResult {
        point: powell.best.at.clone(),
        value: powell.best.value,
        evaluations: powell.evaluations,
        converged: powell.converged(),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2).map(|p| 100.0 * (p[1] - p[0] * p[0]).powi(2) + (1.0 - p[0]).powi(2)).sum()
}

type Function = Box<dyn Fn(&[f64]) -> f64>;

fn function_named(case: &Value) -> Function {
    match case["function"].as_str().unwrap() {
        "rosenbrock" => Box::new(rosenbrock),
        "singular" => Box::new(|x: &[f64]| {
            (x[0] + 10.0 * x[1]).powi(2)
                + 5.0 * (x[2] - x[3]).powi(2)
                + (x[1] - 2.0 * x[2]).powi(4)
                + 10.0 * (x[0] - x[3]).powi(4)
        }),
        "kink" => {
            Box::new(|x: &[f64]| (x[0] - 0.3).abs() + 2.0 * (x[1] + 0.7).abs() + 0.5 * (x[0] - 0.3).powi(2))
        }
        "quartic" => Box::new(|x: &[f64]| (x[0] - 1.3).powi(4) + 0.1 * (x[0] - 1.3).powi(2) + 2.0),
        "wells" => Box::new(|x: &[f64]| (3.0 * x[0]).cos() + 0.5 * x[0] * x[0] + (x[1] - x[0]).powi(2)),
        "quadratic" => {
            let matrix: Vec<Vec<f64>> = case["matrix"].as_array().unwrap().iter().map(numbers).collect();
            let centre = numbers(&case["centre"]);
            Box::new(move |x: &[f64]| {
                let off: Vec<f64> = x.iter().zip(&centre).map(|(a, b)| a - b).collect();
                let product = |row: &[f64]| row.iter().zip(&off).map(|(a, b)| a * b).sum::<f64>();
                off.iter().zip(&matrix).map(|(a, row)| a * product(row)).sum::<f64>() - 1.5
            })
        }
        other => panic!("no function {other}"),
    }
}

#[test]
fn minima_and_evaluations_of_scipy() {
    let data: Value = serde_json::from_str(include_str!("../../tests/fixtures/powell.json")).unwrap();
    let (mut ours, mut theirs) = (0, 0);
    for case in data["cases"].as_array().unwrap() {
        let function = function_named(case);
        let start = numbers(&case["start"]);
        let found = minimise(&function, &start, &PowellParams::default());
        let (expected, value) = (numbers(&case["point"]), case["value"].as_f64().unwrap());
        let evaluations = case["evaluations"].as_u64().unwrap() as usize;
        println!(
            "{:<10} n = {}: value {:.3e} (scipy {value:.3e}), {} evaluations (scipy {evaluations})",
            case["function"].as_str().unwrap(),
            start.len(),
            found.value,
            found.evaluations,
        );
        assert!(found.converged);
        assert_eq!(found.value, function(&found.point), "the value belongs to the point");
        assert!(found.value <= value + 1e-8 * (1.0 + value.abs()), "{case}: {}", found.value);
        // The fourth powers of the singular function leave its minimum flat.
        let near = if case["function"] == "singular" { 2e-2 } else { 1e-4 };
        for (a, b) in found.point.iter().zip(&expected) {
            assert!((a - b).abs() < near, "{case}: {:?}", found.point);
        }
        ours += found.evaluations;
        theirs += evaluations;
    }
    println!("{ours} evaluations in all, scipy {theirs}");
    assert!(ours < 2 * theirs);
}

#[test]
fn rosenbrocks_valley_is_followed_to_its_end() {
    for start in [vec![-1.2, 1.0], vec![0.5, 0.3, -0.2, 0.4]] {
        let found = minimise(rosenbrock, &start, &PowellParams::default());
        assert!(found.point.iter().all(|x| (x - 1.0).abs() < 1e-5), "{found:?}");
    }
}

#[test]
fn a_constant_ends_soon_where_it_began() {
    let found = minimise(|_| 3.0, &[1.0, -2.0, 5.0], &PowellParams::default());
    assert_eq!(found.point, [1.0, -2.0, 5.0]);
    assert!(found.converged && found.evaluations <= 10, "{found:?}");
    let nothing = minimise(|_| 3.0, &[], &PowellParams::default());
    assert!(nothing.converged && nothing.value == 3.0);
}

/// A wall of NaN on one side, −∞ on the other: both are worse than anything.
#[test]
fn what_is_not_finite_is_avoided() {
    let walled = |x: &[f64]| {
        if x[0] < 0.1 {
            f64::NAN
        } else if x[0] > 4.0 {
            f64::NEG_INFINITY
        } else {
            (x[0] - 0.2).powi(2) + (x[1] - x[0]).powi(2)
        }
    };
    let found = minimise(walled, &[3.5, 3.0], &PowellParams::default());
    assert!((found.point[0] - 0.2).abs() < 1e-4 && (found.point[1] - 0.2).abs() < 1e-4, "{found:?}");
    let lost = minimise(|_| f64::NAN, &[1.0, 1.0], &PowellParams::default());
    assert!(lost.point == [1.0, 1.0] && lost.value == f64::INFINITY && lost.evaluations < 10);
}

#[test]
fn falling_for_ever_ends_with_the_evaluations() {
    let params = PowellParams { most_evaluations: 200, ..PowellParams::default() };
    let found = minimise(|x| x[0] - x[1], &[0.0, 0.0], &params);
    assert!(found.evaluations <= 200 && found.value < -1e6);
}

/// Enough is enough: a sum of squares need not be polished below what counts.
#[test]
fn ends_at_a_value_that_is_low_enough() {
    let params = PowellParams { enough: 1e-3, ..PowellParams::default() };
    let found = minimise(rosenbrock, &[-1.2, 1.0], &params);
    let full = minimise(rosenbrock, &[-1.2, 1.0], &PowellParams::default());
    assert!(found.converged && found.value <= 1e-3 && found.value > full.value);
    assert!(found.evaluations < full.evaluations);
}

/// Conjugate directions make a quadratic separable: one round, and one that finds nothing more.
#[test]
fn conjugate_directions_save_rounds() {
    let stretched = |x: &[f64]| (x[0] + 2.0 * x[1] - 3.0).powi(2) + 0.01 * (x[1] - 0.5).powi(2) + 1.0;
    let conjugate = vec![vec![1.0, 0.0], vec![-2.0, 1.0]];
    let mut powell = Powell::along(&[0.0, 0.0], conjugate, &PowellParams::default());
    while let Some(trial) = powell.trial() {
        let value = stretched(trial);
        powell.observe(value);
    }
    let plain = minimise(stretched, &[0.0, 0.0], &PowellParams::default());
    assert!((powell.best.at[0] - 2.0).abs() < 1e-4 && (powell.best.at[1] - 0.5).abs() < 1e-4);
    assert!(powell.evaluations < plain.evaluations, "{} {}", powell.evaluations, plain.evaluations);
}

/// Left between any two values and taken up again, in turns with another: the same numbers.
#[test]
fn in_lock_step_as_alone() {
    let starts = [[-1.2, 1.0], [2.0, 2.0], [0.0, -3.0]];
    let mut together: Vec<Powell> =
        starts.iter().map(|start| along_axes(start, &PowellParams::default())).collect();
    while together.iter().any(|p| p.trial().is_some()) {
        for powell in &mut together {
            if let Some(trial) = powell.trial() {
                let value = rosenbrock(trial);
                powell.observe(value);
            }
        }
    }
    for (powell, start) in together.iter().zip(&starts) {
        let alone = minimise(rosenbrock, start, &PowellParams::default());
        assert_eq!((&powell.best.at, powell.evaluations), (&alone.point, alone.evaluations));
    }
}
