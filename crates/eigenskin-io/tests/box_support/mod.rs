//! What tests of black boxes share.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use eigenskin_core::deformers::BlackBox;
use eigenskin_core::glam::DVec3;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_io::ExternalCommand;

/// One visible line: print macros are silent in tests that pass.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("\n{line}\n").as_bytes());
}

/// A Python that can run `import`, or one visible line that the test is left out.
pub fn python_with(module: &str, test: &str) -> Option<String> {
    let build = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let of_checks = build.join("check-python/bin/python").to_str().unwrap_or_default().to_string();
    let given = std::env::var("EIGENSKIN_PYTHON").unwrap_or_default();
    let found = [given, of_checks, "python3".into(), "python".into()].into_iter().find(|python| {
        let mut trial = Command::new(python);
        trial.args(["-c", &format!("import {module}")]).stdin(Stdio::null());
        !python.is_empty()
            && trial.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    });
    if found.is_none() {
        say(&format!("left out: {test} (no Python with {module}; set EIGENSKIN_PYTHON)"));
    }
    found
}

/// A script of examples/black_box.
pub fn example(script: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/black_box").join(script);
    path.to_str().unwrap().to_string()
}

pub fn command(words: &[&str], seconds: f64) -> ExternalCommand {
    ExternalCommand {
        words: words.iter().map(ToString::to_string).collect(),
        timeout: Duration::from_secs_f64(seconds),
    }
}

pub fn rest_of(rig: &Rig) -> Vec<DVec3> {
    rig.mesh().positions().iter().map(|p| p.as_dvec3()).collect()
}

pub fn run(deformer: &mut dyn BlackBox, pose: &Pose, points: &[DVec3]) -> Vec<DVec3> {
    let mut posed = vec![DVec3::ZERO; points.len()];
    deformer.deform(pose, points, &mut posed).unwrap();
    posed
}

pub fn furthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}
