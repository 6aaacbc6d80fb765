//! Pose space deformation: what Lewis, Cordner, Fong 2000 and Xian, Lewis 2006 claim.

use serde_json::Value;

use crate::support::{json_of, lab};

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is missing in {value}"))
}

/// What the papers claim, as it is printed.
#[test]
fn lewis_is_reproduced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let figures = json_of(&["reproduce", "lewis", "--triangles", "1500", "--out", out]);
    for section in figures["sections"].as_array().unwrap() {
        let kept = |who: &str| number(section, &format!("/{who}"));
        let at_sculpt = !section["pose"].as_str().unwrap().contains(" at ");
        assert!(!at_sculpt || kept("skinning") < 0.85, "{section}");
        assert!(!at_sculpt || (kept("three_sculpts") - 1.0).abs() < 1e-3, "{section}");
        assert!(kept("three_sculpts") > 0.99 && (kept("six_sculpts") - 1.0).abs() < 0.05, "{section}");
    }
    let row = |name: &str| {
        let rows = figures["interpolants"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    let (gaussians, shepard) = (row("Gaussians"), row("Shepard"));
    for slope in ["/slope_at_rest", "/slope_at_half"] {
        assert!(number(&shepard, slope).abs() < 0.05 && number(&gaussians, slope) > 0.3);
    }
    assert!(
        (number(&shepard, "/far_away") - 0.5).abs() < 1e-3 && number(&gaussians, "/far_away").abs() < 1e-6
    );
    let six = "/rmse_between/six_sculpts";
    assert!(number(&gaussians, six) < 0.7 * number(&shepard, six));
    let face = &figures["expressions"];
    assert!(number(face, "/psd_turn") < 0.25 * number(face, "/shape_interpolation_turn"));
    assert!(number(face, "/miss") < 1e-6);
    for name in
        ["elbow.png", "shoulder.png", "elbow-between.png", "arm.glb", "mouth.glb", "reproduction.json"]
    {
        assert!(folder.path().join(name).metadata().unwrap().len() > 1000, "{name}");
    }
}

#[test]
fn xian_is_reproduced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let short = ["reproduce", "xian", "--max-cells", "400", "--triangles", "1500"];
    let figures = json_of(&[&short[..], &["--out", out]].concat());
    for direction in figures["directions"].as_array().unwrap() {
        let slope = if direction["inverse"] == true { number(direction, "/weight") } else { 0.0 };
        for (place, degrees) in [30.0, 45.0, 60.0].into_iter().enumerate() {
            let found = number(direction, &format!("/turned_back/{place}"));
            assert!((found - slope * (90.0 - degrees)).abs() < 1e-3, "{direction}");
        }
    }
    for place in 0..2 {
        let rmse = |method: &str| number(&figures, &format!("/rmse/{method}/between/{place}"));
        let (inverse, forward, linear) = (rmse("inverse"), rmse("forward"), rmse("linear_blending"));
        assert!(inverse < forward && forward < linear, "{inverse} {forward} {linear}");
    }
    for method in ["forward", "inverse"] {
        assert!(number(&figures, &format!("/rmse/{method}/example")) < 1e-6);
    }
    for name in ["thumb-45.png", "thumb-60.png", "reproduction.json"] {
        assert!(folder.path().join(name).metadata().unwrap().len() > 1000, "{name}");
    }
    let output = lab(&["reproduce", "xian", "--joint", "toe", "--triangles", "1500"]);
    let message = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(!output.status.success() && message.contains("\"toe\"") && message.contains("thumb-metacarpal"));
}
