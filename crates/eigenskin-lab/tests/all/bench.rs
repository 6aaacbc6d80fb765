//! Figures of made-up characters for people and machines, and clear errors.

use crate::support::lab;

#[test]
fn every_ratio_of_a_tube_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("speed.json");
    let output =
        lab(&["bench", "--processes", "2", "--vertices", "1600,2400", "--json", json.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    for words in [
        "straightforward loop",
        "2,400 vertices: a frame",
        "share of copy bandwidth",
        "EigenSkin 2002",
        "100 characters of 14,000",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    // A dash stands for a figure that was not taken.
    assert!(!said.replace("1,225–4,133", "").contains('–'), "{said}");
    let speed: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(speed["processes"], 2);
    let figures = speed["figures"].as_object().unwrap();
    assert!(figures.values().all(|figure| figure.as_f64().is_some_and(|figure| figure > 0.0)));
    // 12 ways of skinning and 4 × 3 × 2 models with two ratios each, in two sizes; papers; crowds.
    assert_eq!(figures.len(), 2 * (12 + 48) + 2 * 3 + 2 * 3);
    // Blocks of eight lanes against one vertex at a time: far more than noise.
    let of = |name: &str| figures[name].as_f64().unwrap();
    assert!(of("2400/plain/ns") < of("2400/loop/ns"));
    assert!(of("2400/drivers/ns") < of("2400/5 components/ns"));
}

#[test]
fn what_cannot_be_measured_is_named() {
    for (arguments, words) in [
        (&["bench", "--vertices", "100"], "at least 800 vertices"),
        (&["bench", "--kernel", "magic"], "magic"),
    ] {
        let output = lab(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(words), "{error}");
    }
}
