//! The commands as a user types them.

use serde_json::{Value, json};

use crate::fit_options::desk::with_second_skin;
use crate::support::bundle::bar_bundle;
use crate::support::{SMALL_DEMO, eigenskin, json_of};

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is missing in {value}"))
}

/// The main job on a coarse hand, whose fingers of one cube stick together.
#[test]
fn demo_reaches_its_figures_and_writes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("demo");
    let report = json_of(&[&["demo", "--out", out.to_str().unwrap()][..], &SMALL_DEMO].concat());
    assert!(number(&report, "/held_out_single_joint/relative_error") <= 0.3);
    assert!(number(&report, "/held_out_multi_joint/relative_error") <= 0.35);
    assert!(number(&report, "/fit/most_components_per_vertex") <= 10.0);
    assert_eq!(number(&report, "/held_out_multi_joint/vertices"), 752.0);

    // 20 degrees of freedom twice and 24 of all joints, as many of one joint between them, 6 named poses and a random one: kept or named.
    let simulated = |part: &str| report["simulation"]["poses"][part].as_array().unwrap().clone();
    let parts = ["training", "held_out_single_joint", "held_out_multi_joint"].map(simulated);
    let dropped = report["simulation"]["dropped"].as_array().unwrap();
    let kept: usize = parts.iter().map(Vec::len).sum();
    assert_eq!(kept + dropped.len(), 64 + 40 + 7);
    assert!((dropped.len() as f64) < 0.05 * 111.0, "{dropped:?}");
    assert_eq!(number(&report, "/held_out_single_joint/poses"), parts[1].len() as f64);
    assert!(parts[2].iter().any(|pose| pose["name"] == "fist"));
    for pose in parts.iter().flatten() {
        assert!((number(pose, "/volume") - 1.0).abs() <= 0.05 && number(pose, "/smallestJ") > 0.0, "{pose}");
    }
    for angles in ["/held_out_single_joint/normal_angle_deg", "/held_out_multi_joint/normal_angle_deg"] {
        let angle = |who: &str| number(&report, &format!("{angles}/{who}"));
        assert!(angle("model_mean") < angle("skinning_mean"));
    }
    for name in ["rig.glb", "examples.glb", "validation.glb", "model.glb", "report.json", "comparison.png"] {
        assert!(out.join(name).metadata().unwrap().len() > 1000, "{name}");
    }
    let saved: Value = serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(saved, report);

    // The report stands alone and shows the same figures.
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.len() < 3_000_000, "report.html has {} bytes", page.len());
    assert!(!page.contains("http://") && !page.contains("https://"));
    let ours = page.split("<tr").find(|row| row.contains(">this model</th>")).unwrap();
    for part in ["/fit/training", "/held_out_single_joint", "/held_out_multi_joint"] {
        let ratio = number(&report, &format!("{part}/relative_error"));
        assert!(ours.contains(&format!("<td>{ratio:.3}</td>")), "{part}: {ratio} is not in {ours}");
    }

    assert!(page.contains("How the poses were made") && page.contains("held out, many joints"));
    // A fist and others press fingers against the palm; moving one joint does not.
    let with_contact = |part: &str| number(&report, &format!("/{part}/groups/with_contact/poses"));
    assert!(with_contact("held_out_multi_joint") >= 1.0);
    assert_eq!(page.matches(">with contact</th>").count(), page.matches(">without contact</th>").count());
    assert!(page.contains(">with contact</th>"));

    // The files say the same as the run: the model on the validation set, from disk.
    let model = out.join("model.glb");
    let validation = out.join("validation.glb");
    let again = json_of(&["evaluate", model.to_str().unwrap(), "--truth", validation.to_str().unwrap()]);
    let squares = |part: &str, who: &str| {
        let poses = number(&report, &format!("/{part}/poses"));
        number(&report, &format!("/{part}/{who}/rmse")).powi(2) * poses
    };
    for who in ["skinning", "model"] {
        let all = squares("held_out_single_joint", who) + squares("held_out_multi_joint", who);
        let expected = (all / number(&again, "/poses")).sqrt();
        let found = number(&again, &format!("/{who}/rmse"));
        assert!((found - expected).abs() < 1e-3 * expected, "{who}: {found} instead of {expected}");
    }
    // The set written for the rig fits the rig again, to the same training error.
    let refitted = folder.path().join("refitted.glb");
    let rig = out.join("rig.glb");
    let examples = out.join("examples.glb");
    let fit = json_of(&[
        "fit",
        rig.to_str().unwrap(),
        "--examples",
        examples.to_str().unwrap(),
        "-o",
        refitted.to_str().unwrap(),
    ]);
    let first = number(&report, "/fit/training/relative_error");
    assert!((number(&fit, "/training/relative_error") - first).abs() < 0.02 * first);
    // How it was simulated travels with the set.
    let record = eigenskin::io::read_simulation(&examples).unwrap().unwrap();
    assert_eq!(record.cubes as f64, number(&report, "/simulation/cubes"));
    assert!(!record.contact && record.poses.len() == parts[0].len());
    assert_eq!(eigenskin::io::read_simulation(&rig).unwrap(), None);
}

/// The contract of `evaluate --json`.
#[test]
fn evaluate_prints_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let (bundle, model) = (folder.path().join("bar.npz"), folder.path().join("model.glb"));
    bar_bundle().write(&bundle);
    let (bundle, model) = (bundle.to_str().unwrap(), model.to_str().unwrap());
    assert!(eigenskin(&["fit", bundle, "--examples", bundle, "-o", model]).status.success());
    let page = folder.path().join("report.html");
    let page = page.to_str().unwrap();
    let found = json_of(&["evaluate", model, "--truth", bundle, "--frames", "1::2", "--report", page]);
    let first = std::fs::read_to_string(page).unwrap();
    assert!(first.contains("<h1>model.glb against bar.npz</h1>"));
    let relative = number(&found, "/relative_error");
    assert!(first.contains(&format!("<td>{relative:.3}</td>")), "{relative}");
    // The same bytes again, and never over an input.
    json_of(&["evaluate", model, "--truth", bundle, "--frames", "1::2", "--report", page]);
    assert_eq!(std::fs::read_to_string(page).unwrap(), first);
    assert!(!eigenskin(&["evaluate", model, "--truth", bundle, "--report", bundle]).status.success());
    let fit = ["fit", bundle, "--examples", bundle, "-o", model, "--leave-one-out", "--report", page];
    assert!(eigenskin(&fit).status.success());
    let fitted = std::fs::read_to_string(page).unwrap();
    assert!(fitted.contains("left out in turn") && fitted.contains("linear map from joints"));
    assert_eq!(number(&found, "/poses"), 2.0);
    assert_eq!(number(&found, "/vertices"), 402.0);
    assert_eq!(found["per_pose"][0]["name"], "pose 1");
    for who in ["skinning", "model"] {
        for what in ["rmse", "max", "p95", "rmse_of_100", "max_of_100"] {
            assert!(number(&found, &format!("/{who}/{what}")) >= 0.0);
        }
        let of_100 = 100.0 * number(&found, &format!("/{who}/rmse")) / number(&found, "/size");
        assert!((number(&found, &format!("/{who}/rmse_of_100")) - of_100).abs() < 1e-9);
    }
    assert!(number(&found, "/relative_error") < 0.2);
    assert!(number(&found, "/per_pose/1/skinning_rmse") > number(&found, "/per_pose/1/model_rmse"));
}

/// What is pooled, the median pose, the 90th percentile and the worst pose, as JSON and as text.
#[test]
fn evaluate_says_how_errors_spread_over_poses() {
    let folder = tempfile::tempdir().unwrap();
    let (bundle, model) = (folder.path().join("bar.npz"), folder.path().join("model.glb"));
    bar_bundle().write(&bundle);
    let (bundle, model) = (bundle.to_str().unwrap(), model.to_str().unwrap());
    // Learnt from two poses of four: the others are worse.
    let fit = eigenskin(&["fit", bundle, "--examples", bundle, "--frames", "0:2", "-o", model]);
    assert!(String::from_utf8(fit.stdout).unwrap().contains("pose by pose: median 0."));
    let found = json_of(&["evaluate", model, "--truth", bundle]);
    let all = |what: &str| number(&found, &format!("/groups/all/{what}"));
    assert_eq!(all("pooled"), number(&found, "/relative_error"));
    let poses = found["per_pose"].as_array().unwrap();
    let mut own: Vec<(f64, &str)> = poses
        .iter()
        .filter_map(|pose| {
            let own = number(pose, "/model_rmse") / number(pose, "/skinning_rmse");
            let told = pose["relative_error"].as_f64()?;
            assert!((told - own).abs() < 1e-12, "{pose}");
            Some((own, pose["name"].as_str().unwrap()))
        })
        .collect();
    own.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = own.len() - 1;
    assert_eq!((all("poses"), all("compared")), (4.0, own.len() as f64));
    assert!((all("median") - 0.5 * (own[last / 2].0 + own[own.len() / 2].0)).abs() < 1e-12, "{own:?}");
    assert_eq!(
        (all("worst"), found["groups"]["all"]["worst_pose"].as_str()),
        (own[last].0, Some(own[last].1))
    );
    assert!(all("p90") > all("median") && all("p90") < all("worst"), "{own:?}");
    // Nothing touches in a bar of two joints.
    assert_eq!(number(&found, "/groups/with_contact/poses"), 0.0);
    assert_eq!(found["groups"]["with_contact"]["pooled"], Value::Null);
    assert_eq!(found["groups"]["without_contact"], found["groups"]["all"]);

    let text = eigenskin(&["evaluate", model, "--truth", bundle]);
    let text = String::from_utf8(text.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("all poses")).unwrap();
    let cells: Vec<&str> = line["all poses".len()..].split_whitespace().take(5).collect();
    let figures = ["pooled", "median", "p90", "worst"].map(|what| format!("{:.3}", all(what)));
    assert_eq!((cells[0], &cells[1..]), ("4", &figures.each_ref().map(String::as_str)[..]), "{text}");
    assert!(line.ends_with(own[last].1), "{line}");
    assert!(text.contains("Pooled over all poses") && !text.contains("with contact"), "{text}");
}

#[test]
fn check_says_what_is_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bar.npz");
    bar_bundle().write(&bundle);
    let found = json_of(&["check", bundle.to_str().unwrap()]);
    assert_eq!(found["kind"], "an example set");
    assert_eq!((number(&found, "/vertices"), number(&found, "/influences")), (402.0, 2.0));
    assert_eq!(found["examples"].as_array().unwrap().len(), 4);
    assert_eq!(found["joints"][1]["reference"], found["joints"][0]["name"]);
    let remarks = found["remarks"].to_string();
    assert!(remarks.contains("metres large"), "{remarks}");
    let limits = found["limits"].as_array().unwrap();
    let bevy = limits.iter().find(|l| l["engine"] == "Bevy" && l["what"] == "influences per vertex").unwrap();
    assert_eq!((&bevy["limit"], &bevy["found"], &bevy["fits"]), (&json!(4), &json!(2), &json!(true)));
}

/// A file with two skins: a bar, and the same bar again as "tail".
fn two_skins(path: &std::path::Path) {
    let bar = eigenskin::characters::square_bar().unwrap();
    let file = eigenskin::gltf::RigFile::from_rig(bar.rig.clone(), "bar").unwrap();
    std::fs::write(path, with_second_skin(&file)).unwrap();
}

#[test]
fn check_lists_the_skins_of_a_file_with_several() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.glb");
    two_skins(&path);
    let rig = path.to_str().unwrap();
    let one = json_of(&["check", rig, "--skin", "tail"]);

    let output = eigenskin(&["check", rig]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("a plain rig with 2 skins") && text.contains("--skin NAME"), "{text}");
    let row = |name: &str| text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    for name in ["bar", "tail"] {
        let words: Vec<&str> = row(name).split_whitespace().collect();
        let joints = one["joints"].as_array().unwrap().len().to_string();
        assert_eq!(words, [name, &joints, &one["vertices"].to_string(), name]);
    }

    // Each of them is checked as if it had been chosen.
    let both = json_of(&["check", rig]);
    assert_eq!(both["kind"], "a plain rig");
    for (skin, name) in both["skins"].as_array().unwrap().iter().zip(["bar", "tail"]) {
        let alone = json_of(&["check", rig, "--skin", name]);
        assert_eq!((&skin["name"], &skin["meshes"]), (&json!(name), &json!([name])));
        for key in ["vertices", "joints", "limits", "remarks", "size"] {
            assert_eq!(skin[key], alone[key], "{key}");
        }
    }

    // What needs one skin says which there are and how to choose.
    let model = folder.path().join("model.glb");
    let refused = eigenskin(&["fit", rig, "--examples", rig, "-o", model.to_str().unwrap()]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.lines().count() == 1, "{message}");
    assert!(message.contains("bar, tail") && message.contains("--skin"), "{message}");
    let refused = eigenskin(&["check", rig, "--pose", "poses.json"]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("--skin"));
}
