//! Papers repeated, on characters as coarse as they go.

use serde_json::Value;

use crate::support::{json_of, lab};

const SHORT: [&str; 11] = [
    "reproduce",
    "eigenskin",
    "--per-degree",
    "1",
    "--validation-poses",
    "1",
    "--no-named-poses",
    "--max-cells",
    "400",
    "--triangles",
    "1500",
];

fn errors(figures: &Value, path: &str) -> Vec<f64> {
    let values =
        figures.pointer(path).and_then(Value::as_array).unwrap_or_else(|| panic!("{path}: {figures}"));
    values.iter().map(|value| value.as_f64().unwrap_or_else(|| panic!("{path}: {figures}"))).collect()
}

#[test]
fn eigenskin_errors_fall_with_eigendisplacements() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("reproduction");
    let figures = json_of(&[&SHORT[..], &["--out", out.to_str().unwrap()]].concat());

    assert_eq!(figures["components_per_joint"], serde_json::json!([0, 1, 2, 3, 4, 5]));
    // 20 degrees of freedom, one pose each; every one is kept or named.
    let kept = |set: &str| figures["poses"][set].as_u64().unwrap();
    let dropped = figures["dropped"].as_array().unwrap();
    assert_eq!(kept("training") + kept("validation") + dropped.len() as u64, 21);
    assert!(dropped.iter().all(|pose| !pose["reason"].as_str().unwrap().is_empty()));

    for path in ["/relative_error/training", "/relative_error/thumb_base"] {
        let errors = errors(&figures, path);
        assert_eq!(errors.len(), 6);
        assert!((errors[0] - 1.0).abs() < 1e-9, "{path}: {errors:?}");
        assert!(errors.windows(2).all(|pair| pair[1] <= pair[0] + 1e-6), "{path}: {errors:?}");
    }
    // The thumb base turns about two axes: one component cannot show both of its poses, two can, up
    // to what the support cuts off.
    let thumb = errors(&figures, "/relative_error/thumb_base");
    assert!(thumb[1] > 2.0 * thumb[2] && thumb[2] < 0.15, "{thumb:?}");

    // The joints' errors make up that of all training poses.
    let joints = figures["joints"].as_object().unwrap();
    assert_eq!(joints.len(), 15);
    let poses: u64 = joints.values().map(|joint| joint["poses"].as_u64().unwrap()).sum();
    assert_eq!(poses, kept("training"));
    let training = errors(&figures, "/relative_error/training");
    let by_joint = |k: usize| joints.values().map(move |joint| joint["relative_error"][k].as_f64().unwrap());
    for k in 0..6 {
        let lowest = by_joint(k).fold(f64::INFINITY, f64::min);
        let highest = by_joint(k).fold(0.0, f64::max);
        assert!(lowest - 1e-9 <= training[k] && training[k] <= highest + 1e-9, "{k}: {figures}");
    }

    let saved: Value =
        serde_json::from_slice(&std::fs::read(out.join("reproduction.json")).unwrap()).unwrap();
    assert_eq!(saved, figures);
    let mut pictures = vec!["thumb-base.png"];
    if kept("validation") > 0 {
        let validation = errors(&figures, "/relative_error/validation");
        assert!((validation[0] - 1.0).abs() < 1e-9 && validation[5] < 1.0, "{validation:?}");
        pictures.push("validation-worst.png");
    }
    for name in pictures {
        assert!(out.join(name).metadata().unwrap().len() > 1000, "{name}");
    }
}

#[test]
fn senseless_wishes_are_refused() {
    for (arguments, word) in [
        (&["--per-degree", "0"][..], "per_degree 0 is not possible"),
        (&["--max-cells", "1"], "max_cells 1 is not possible"),
        (&["--triangles", "1501"], "even number"),
    ] {
        let output = lab(&[&["reproduce", "eigenskin"], arguments].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(word), "{arguments:?}: {message}");
    }
    // Without an experiment, help tells which there are.
    let output = lab(&["reproduce"]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("eigenskin"));
}
