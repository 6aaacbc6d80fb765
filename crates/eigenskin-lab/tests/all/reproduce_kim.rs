//! Signals over joints, and styles: Kim, Choi, Hoffmann 2011.

use serde_json::Value;

use crate::support::{json_of, lab};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The table on small stand-ins: every row, errors that fall with frames and hardly with signals.
#[test]
fn the_table_of_the_paper_is_printed() {
    let figures = json_of(&["reproduce", "kim-table1", "--share", "0.06"]);
    let rows = figures["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    let of = |frames: u64, limit: u64| {
        let row = rows.iter().find(|row| {
            row["model"] == "male (5a)" && row["frames"] == frames && row["signals_per_coordinate"] == limit
        });
        number(&row.unwrap()["rmse_of_diameter_100"])
    };
    assert!(of(11, 12) > of(28, 12) && of(28, 12) > of(55, 12), "{figures}");
    assert!(of(55, 4) >= of(55, 6) && of(55, 6) >= of(55, 12), "{figures}");
    for row in rows {
        let twice = 2.0 * number(&row["rmse_of_diameter_100"]);
        assert!((number(&row["rmse_of_radius_100"]) - twice).abs() < 1e-12);
        assert!(number(&row["paper"]["rmse"]) > 0.0);
    }
}

#[test]
fn a_share_beyond_all_is_refused() {
    let output = lab(&["reproduce", "kim-table1", "--share", "2"]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("--share"));
}

#[test]
fn figure_4_and_its_rows_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("figure4.png");
    let figures = json_of(&["reproduce", "kim-figure4", "--picture", picture.to_str().unwrap()]);
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    let motions = figures["motions"].as_array().unwrap();
    assert_eq!(motions.len(), 6);
    let number = |value: &Value, key: &str| number(&value[key]);
    for motion in motions {
        for cylinder in motion["cylinders"].as_array().unwrap() {
            let before = &cylinder["untransferred"];
            for (k, errors) in cylinder["transferred"].as_array().unwrap().iter().enumerate() {
                let (rmse, max) = (number(errors, "rmse"), number(errors, "max"));
                let (most, highest) = if k == 0 { (number(before, "rmse"), 9.0) } else { (0.20, 1.3) };
                assert!(rmse <= most && max <= highest, "{motion}");
            }
        }
        // Seven signals hold the bar.
        let bar = &motion["bar_parameterized"];
        assert!(number(&bar["frames"][6], "rmse") < 1e-4, "{bar}");
        assert!(number(&bar["between"][6], "rmse") < number(&bar["frames"][0], "rmse"), "{bar}");
    }
    let table = json_of(&["reproduce", "kim-table1", "--share", "0.03"]);
    let rows = table["rows"].as_array().unwrap();
    let of = |model: &str| -> Vec<&Value> { rows.iter().filter(|row| row["model"] == model).collect() };
    assert_eq!((of("cube (4b)").len(), of("cylinder (4d)").len(), of("female (5c)").len()), (1, 2, 1));
    let before = |row: &Value| number(row, "untransferred_rmse_of_diameter_100");
    for row in [of("cylinder (4d)"), of("male (5b)"), of("female (5c)")].concat() {
        assert!(number(row, "rmse_of_diameter_100") < before(row), "{row}");
    }
    // Few signals carry less than all.
    let male = of("male (5b)");
    assert!(number(male[0], "rmse_of_diameter_100") < number(male[1], "rmse_of_diameter_100"));
}
