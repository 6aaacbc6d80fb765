//! Bad input: a non-zero exit, one sentence that names the culprit, and no output touched.

use std::path::Path;

use crate::support::bundle::{Bundle, bar_bundle};
use crate::support::eigenskin;

const PRECIOUS: &[u8] = b"an earlier model that must survive";

/// Fits and expects one sentence with all of `words`; an existing output stays, a missing one
/// stays missing.
fn fit_fails(rig: &Path, examples: &Path, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let existing = folder.path().join("existing.glb");
    std::fs::write(&existing, PRECIOUS).unwrap();
    let missing = folder.path().join("missing.glb");
    for output in [&existing, &missing] {
        let arguments = [
            "fit",
            rig.to_str().unwrap(),
            "--examples",
            examples.to_str().unwrap(),
            "-o",
            output.to_str().unwrap(),
        ];
        let result = eigenskin(&arguments);
        let message = String::from_utf8(result.stderr).unwrap();
        assert_eq!(result.status.code(), Some(1), "{message}");
        let errors: Vec<&str> = message.lines().collect();
        assert!(errors.len() == 1 && errors[0].starts_with("error: "), "{message}");
        for word in words {
            assert!(message.contains(word), "{word:?} is missing in: {message}");
        }
    }
    assert_eq!(std::fs::read(&existing).unwrap(), PRECIOUS);
    assert!(!missing.exists());
    // Nothing else is left behind, no temporary file either.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The bar's bundle spoilt by `change`, used as rig and examples.
fn spoilt(change: impl Fn(&mut Bundle), words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bar.npz");
    let mut bundle = bar_bundle();
    change(&mut bundle);
    bundle.write(&path);
    fit_fails(&path, &path, &[words, &["bar.npz"]].concat());
}

/// A good rig with examples spoilt by `change`.
fn spoilt_examples(change: impl Fn(&mut Bundle), words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (rig, examples) = (folder.path().join("bar.npz"), folder.path().join("poses.npz"));
    bar_bundle().write(&rig);
    let mut bundle = bar_bundle();
    change(&mut bundle);
    bundle.write(&examples);
    fit_fails(&rig, &examples, &[words, &["poses.npz"]].concat());
}

#[test]
fn the_bundle_itself_is_good() {
    let folder = tempfile::tempdir().unwrap();
    let (path, model) = (folder.path().join("bar.npz"), folder.path().join("model.glb"));
    bar_bundle().write(&path);
    let result = eigenskin(&[
        "fit",
        path.to_str().unwrap(),
        "--examples",
        path.to_str().unwrap(),
        "-o",
        model.to_str().unwrap(),
    ]);
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    assert!(model.exists());
}

#[test]
fn truncated_glb() {
    let folder = tempfile::tempdir().unwrap();
    let (bundle, glb) = (folder.path().join("bar.npz"), folder.path().join("cut.glb"));
    bar_bundle().write(&bundle);
    let model = folder.path().join("model.glb");
    let result = eigenskin(&[
        "fit",
        bundle.to_str().unwrap(),
        "--examples",
        bundle.to_str().unwrap(),
        "-o",
        model.to_str().unwrap(),
    ]);
    assert!(result.status.success());
    let bytes = std::fs::read(&model).unwrap();
    for length in [0, 3, 11, 19, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&glb, &bytes[..length]).unwrap();
        fit_fails(&glb, &bundle, &["cut.glb"]);
    }
}

#[test]
fn wrong_vertex_count() {
    spoilt_examples(|b| b.truth.iter_mut().for_each(|t| t.truncate(400)), &["truth", "400", "402"]);
}

#[test]
fn not_a_number() {
    spoilt(|b| b.rest[17][1] = f32::NAN, &["vertex 17", "not a finite number"]);
    spoilt_examples(|b| b.truth[2][5][0] = f32::INFINITY, &["pose 2", "vertex 5", "not a finite number"]);
    spoilt_examples(|b| b.joint_world[1][1][5] = f32::NAN, &["pose 1", "joint"]);
    spoilt(|b| b.weights[9][0] = f32::NAN, &["vertex 9", "weight"]);
}

#[test]
fn missing_joint() {
    let name = bar_bundle().names[1].clone();
    spoilt_examples(|b| b.names[1] = "somewhere".into(), &[&name, "no joint"]);
}

#[test]
fn two_shapes_at_one_pose() {
    let double = |b: &mut Bundle| {
        b.joint_world[3] = b.joint_world[1].clone();
    };
    spoilt_examples(double, &["pose 1", "pose 3", "same pose", "smoothing"]);
}

#[test]
fn moved_at_rest() {
    spoilt_examples(|b| b.joint_world[0] = b.bind.clone(), &["pose 0", "rest pose", "vertex"]);
}

#[test]
fn cyclic_hierarchy() {
    spoilt(|b| b.parents = vec![1, 0], &["cyclic", "parent"]);
}

#[test]
fn zero_area_triangle() {
    spoilt(|b| b.faces[7] = [3, 3, 4], &["triangle 7", "3, 3, 4", "no area"]);
}

#[test]
fn examples_of_another_rig() {
    spoilt_examples(
        |b| {
            for vertex in &mut b.rest {
                vertex[0] += 2.0;
            }
        },
        &["does not fit the rig", "vertex"],
    );
}

#[test]
fn empty_and_broken_archives() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("bar.npz"), folder.path().join("empty.npz"));
    bar_bundle().write(&good);
    zip::ZipWriter::new(std::fs::File::create(&bad).unwrap()).finish().unwrap();
    fit_fails(&bad, &good, &["empty.npz", "rest"]);
    fit_fails(&good, &bad, &["empty.npz", "rest"]);
    std::fs::write(&bad, b"").unwrap();
    fit_fails(&bad, &good, &["empty.npz"]);
    std::fs::write(&bad, b"not a zip archive at all").unwrap();
    fit_fails(&bad, &good, &["empty.npz"]);
}

#[test]
fn files_that_are_missing_or_of_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("bar.npz");
    bar_bundle().write(&good);
    fit_fails(&folder.path().join("nowhere.glb"), &good, &["nowhere.glb"]);
    let other = folder.path().join("shape.obj");
    std::fs::write(&other, "v 0 0 0\n").unwrap();
    fit_fails(&other, &good, &["shape.obj", ".glb"]);
    let result = eigenskin(&["evaluate", good.to_str().unwrap(), "--truth", good.to_str().unwrap()]);
    let message = String::from_utf8(result.stderr).unwrap();
    assert!(
        !result.status.success() && message.contains("bar.npz") && message.contains("model"),
        "{message}"
    );
}

#[test]
fn an_input_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (bundle, model) = (folder.path().join("bar.npz"), folder.path().join("model.glb"));
    bar_bundle().write(&bundle);
    let fit = |rig: &Path| {
        eigenskin(&[
            "fit",
            rig.to_str().unwrap(),
            "--examples",
            bundle.to_str().unwrap(),
            "-o",
            model.to_str().unwrap(),
        ])
    };
    assert!(fit(&bundle).status.success());
    let before = std::fs::read(&model).unwrap();
    let message = String::from_utf8(fit(&model).stderr).unwrap();
    assert!(message.contains("both input and output"), "{message}");
    assert_eq!(std::fs::read(&model).unwrap(), before);
}

#[test]
fn parameters_that_make_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bar.npz");
    bar_bundle().write(&path);
    let model = folder.path().join("model.glb");
    let base =
        ["fit", path.to_str().unwrap(), "--examples", path.to_str().unwrap(), "-o", model.to_str().unwrap()];
    let base = [&base[..], &["--method", "eigenskin"]].concat();
    for (extra, word) in [
        (["--width", "-1"], "a kernel width must be"),
        (["--smoothing", "NaN"], "the smoothing must be"),
        (["--support-threshold", "2"], "threshold"),
        (["--clamp", "-3"], "clamp"),
        (["--frames", "100:"], "--frames"),
        (["--kernel", "square"], "gaussian"),
    ] {
        let joined = format!("{}={}", extra[0], extra[1]);
        let result = eigenskin(&[&base[..], &[joined.as_str()]].concat());
        let message = String::from_utf8(result.stderr).unwrap();
        assert!(!result.status.success() && message.contains(word), "{extra:?}: {message}");
        assert!(!model.exists());
    }
}
