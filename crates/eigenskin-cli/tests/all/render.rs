//! `eigenskin render`: what is in the pictures, who paints them, and clear errors.

use std::path::Path;

use crate::support::eigenskin;
use crate::support::pictures::{arm_files, assert_golden_pictures, decoded, succeeded};

fn refused(arguments: &[&str]) -> String {
    let output = eigenskin(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Pixels that are not of the background.
fn painted(bytes: &[u8], background: [u8; 3]) -> usize {
    bytes.as_chunks::<3>().0.iter().filter(|pixel| **pixel != background).count()
}

#[test]
fn stills_and_animations_are_painted_on_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let out = folder.path().join("out.png").to_str().unwrap().to_string();
    let small = ["--cpu", "--size", "60x70", "-o", &out];
    let render = |more: &[&str]| {
        let said = succeeded(&[&["render", &model], &small[..], more].concat());
        (said, decoded(&out))
    };
    // Truth, skinning, model and two heat maps in a row, and a legend.
    let (said, five) = render(&["--truth", &poses]);
    assert!(said.contains("pose ") && said.contains("CPU"), "{said}");
    assert!(five.0 > 5 * 60 && five.1 > 70 && five.2 == 1);
    assert!(painted(&five.3, [255; 3]) > 2000);
    let (_, three) = render(&["--truth", &poses, "--show", "truth,linear,model", "--dark"]);
    assert!(three.0 < five.0 && painted(&three.3, [22, 24, 29]) > 1000);
    // Truth and 0, 1, 2 components.
    let (_, steps) = render(&["--truth", &poses, "--up-to", "2", "--columns", "2"]);
    assert!(steps.1 > 2 * 70 && steps.0 < five.0);
    let (_, patterns) = render(&["--components"]);
    assert!(painted(&patterns.3, [255; 3]) > 500);
    // Lines along edges darken what is there.
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let (_, plain) = render(&["--show", "model"]);
    let (_, lines) = render(&["--show", "model", "--wireframe"]);
    assert!(sum(&lines.3) < sum(&plain.3) && plain.0 == lines.0);
    // One second at two frames; a whole turn takes four.
    let (_, around) = render(&["--turntable", "--rate", "2", "--show", "model"]);
    assert_eq!(around.2, 8);
    assert!(painted(&around.3, [255; 3]) > 200);
}

#[test]
fn whole_pictures_are_as_they_were() {
    assert_golden_pictures("cpu");
}

/// `--cpu` is not needed then, and the variable cannot ask for what is not there.
#[cfg(not(feature = "gpu"))]
#[test]
fn without_the_feature_everything_is_painted_on_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_string();
    let arguments = ["render", &model, "--truth", &poses, "--size", "60x70", "-o"];
    let (own, cpu) = (name("own.png"), name("cpu.png"));
    assert!(succeeded(&[&arguments[..], &[&own]].concat()).contains("CPU"));
    succeeded(&[&arguments[..], &[&cpu, "--cpu"]].concat());
    assert_eq!(std::fs::read(own).unwrap(), std::fs::read(cpu).unwrap());
    let report = name("report.html");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_eigenskin"));
    command.args(["evaluate", &model, "--truth", &poses, "--report", &report]);
    let output = command.env("EIGENSKIN_PAINTER", "gpu").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("EIGENSKIN_PAINTER is gpu") && error.contains("--features gpu"), "{error}");
}

#[test]
fn what_cannot_be_drawn_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let out = folder.path().join("out.png").to_str().unwrap().to_string();
    let refused = |more: &[&str]| refused(&[&["render", &model, "--cpu", "-o", &out], more].concat());
    let view = refused(&["--view", "sideways"]);
    assert!(view.contains("sideways") && view.contains("front"), "{view}");
    assert!(refused(&["--size", "huge"]).contains("360x420"));
    assert!(refused(&["--size", "0x10"]).contains("0 × 10"));
    assert!(refused(&["--show", "truth"]).contains("--truth"));
    assert!(refused(&["--play", "dance"]).contains("dance"));
    let layer = refused(&["--components", "knee"]);
    assert!(layer.contains("\"knee\"; it has ") && layer.trim_end().len() > 60, "{layer}");
    assert!(refused(&["--truth", &poses, "--example", "nothing like it"]).contains("nothing like it"));
    let own = eigenskin(&["render", &model, "--cpu", "-o", &model]);
    assert!(!own.status.success(), "a model is not overwritten with its picture");
    assert!(!Path::new(&out).exists());
}
