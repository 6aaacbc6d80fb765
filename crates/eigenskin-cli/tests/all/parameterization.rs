//! Signals over joints as a user types it: fit, its options, bad input.

use eigenskin::io::read_model;
use serde_json::Value;

use crate::support::bundle::bar_bundle;
use crate::support::{eigenskin, json_of};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_motion_is_fitted_and_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (bar, model) = (path("bar.npz"), path("model.glb"));
    bar_bundle().write(bar.as_ref());
    let fit = ["fit", &bar, "--examples", &bar, "-o", &model, "--method", "parameterization"];
    let figures = json_of(&fit);
    assert_eq!(figures["method"], "parameterization");
    assert!(number(&figures["training"]["relative_error"]) < 0.2, "{figures}");
    assert!(figures["most_components_per_vertex"].as_u64().unwrap() <= 12);
    let parts = figures["parts"].as_array().unwrap();
    assert!(!parts.is_empty() && parts.iter().all(|part| number(&part["energy_kept"]) > 0.5));
    let evaluated = json_of(&["evaluate", &model, "--truth", &bar]);
    let (fitted, read) =
        (number(&figures["training"]["relative_error"]), number(&evaluated["relative_error"]));
    assert!((fitted - read).abs() < 1e-6, "{fitted} {read}");

    let one = json_of(&[&fit[..], &["--signals", "1", "--parts", "1"]].concat());
    assert_eq!(read_model(&model).unwrap().1.component_count(), 1);
    assert!(number(&one["training"]["relative_error"]) >= fitted - 1e-9);
    let independent = json_of(&[&fit[..], &["--ica"]].concat());
    assert!((number(&independent["training"]["relative_error"]) - fitted).abs() < 0.01 * fitted + 1e-6);
    let by_axis = json_of(&[&fit[..], &["--per-coordinate", "--signals", "none"]].concat());
    assert!(number(&by_axis["training"]["relative_error"]) < 0.2);
    let report = path("report.html");
    json_of(&[&fit[..], &["--max-targets", "4", "--report", &report]].concat());
    let page = std::fs::read_to_string(&report).unwrap();
    let by_signals = page.split_once("Error by number of signals. ").unwrap().1;
    let chart = by_signals.split_once("</svg>").unwrap().0;
    assert!(chart.contains(" (this model)") && chart.contains("on frames it learnt from"), "{chart}");
    assert!(page.contains("Energy left after 1, 2, 3 … components"));
}

#[test]
fn senseless_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (bar, model) = (path("bar.npz"), path("model.glb"));
    bar_bundle().write(bar.as_ref());
    for (options, word) in [
        (&["--method", "psd", "--signals", "4"][..], "--signals only works with --method parameterization"),
        (&["--ica"], "--ica only works with"),
        (
            &["--method", "parameterization", "--per-joint", "3"],
            "--per-joint only works with --method eigenskin",
        ),
        (&["--method", "parameterization", "--signals", "0"], "or none"),
        (&["--method", "parameterization", "--parts", "0"], "parts"),
    ] {
        let output = eigenskin(&[&["fit", &bar, "--examples", &bar, "-o", &model][..], options].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(word), "{options:?}: {message}");
    }
}
