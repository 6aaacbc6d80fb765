//! What tests of black boxes share.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use eigenskin_core::deformers::BlackBox;
use eigenskin_core::glam::DVec3;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_io::ExternalCommand;

/// A Python that can import a module: EIGENSKIN_PYTHON, that of `./check`, or the system's.
pub fn python_with(module: &str) -> String {
    let build = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let of_checks = build.join("check-python/bin/python").to_str().unwrap_or_default().to_string();
    let given = std::env::var("EIGENSKIN_PYTHON").unwrap_or_default();
    let can_import = |python: &String| {
        let mut trial = Command::new(python);
        trial.args(["-c", &format!("import {module}")]).stdin(Stdio::null());
        !python.is_empty()
            && trial.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let found = [given, of_checks, "python3".into(), "python".into()].into_iter().find(can_import);
    found.unwrap_or_else(|| panic!("set EIGENSKIN_PYTHON to a Python 3 that can import {module}"))
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
