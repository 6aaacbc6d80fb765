//! Pictures that the command paints on a GPU, or on one that the CPU imitates.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::path::Path;

use support::command::eigenskin;
use support::pictures::{arm_files, assert_golden_pictures, decoded, succeeded};

#[test]
fn the_gpu_paints_the_same_picture() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_string();
    let arguments = ["render", &model, "--truth", &poses, "--size", "120x140"];
    let gpu = eigenskin(&[&arguments[..], &["-o", &name("gpu.png")]].concat());
    assert!(gpu.status.success(), "{}", String::from_utf8_lossy(&gpu.stderr));
    assert!(gpu.stderr.is_empty(), "{}", String::from_utf8_lossy(&gpu.stderr));
    succeeded(&[&arguments[..], &["--cpu", "-o", &name("cpu.png")]].concat());
    let (gpu, cpu) = (decoded(&name("gpu.png")), decoded(&name("cpu.png")));
    assert_eq!((gpu.0, gpu.1), (cpu.0, cpu.1));
    let difference: u64 = gpu.3.iter().zip(&cpu.3).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let mean = difference as f64 / cpu.3.len() as f64;
    assert!(mean < 1.5, "{mean} of 255");
    // Lines along edges darken the picture.
    succeeded(&[&arguments[..], &["--wireframe", "-o", &name("lines.png")]].concat());
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    assert!(sum(&decoded(&name("lines.png")).3) < sum(&gpu.3));
}

/// Though they were painted on another GPU, or on the CPU.
#[test]
fn whole_pictures_are_as_they_were() {
    assert_golden_pictures("gpu");
}

/// What must be installed, and that nothing is needed for the pictures of reports.
#[test]
fn without_a_driver_one_sentence_says_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_string();
    let without_drivers = |arguments: &[&str], painter: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_eigenskin"));
        let nowhere = name("nowhere.json");
        command.args(arguments).env("WGPU_BACKEND", "vulkan").env("EIGENSKIN_PAINTER", painter);
        command.env("VK_DRIVER_FILES", &nowhere).env("VK_ICD_FILENAMES", &nowhere).output().unwrap()
    };
    let out = name("out.png");
    let render = without_drivers(&["render", &model, "-o", &out], "");
    let said = String::from_utf8(render.stderr).unwrap();
    assert_eq!(render.status.code(), Some(1));
    assert!(said.contains("mesa-vulkan-drivers") && said.contains("--cpu"), "{said}");
    assert!(!Path::new(&out).exists());
    let report = name("report.html");
    let arguments = ["evaluate", &model, "--truth", &poses, "--report", &report];
    let evaluate = without_drivers(&arguments, "");
    assert!(evaluate.status.success(), "{}", String::from_utf8_lossy(&evaluate.stderr));
    let painted = std::fs::read_to_string(&report).unwrap();
    assert!(without_drivers(&arguments, "cpu").status.success());
    assert_eq!(painted, std::fs::read_to_string(&report).unwrap());
    let gpu = without_drivers(&arguments, "gpu");
    assert!(String::from_utf8(gpu.stderr).unwrap().contains("EIGENSKIN_PAINTER is gpu"));
    let brush = without_drivers(&arguments, "brush");
    assert!(String::from_utf8(brush.stderr).unwrap().contains("\"brush\"; set it to gpu or cpu"));
}

/// The report's pictures are the GPU's where it paints, and show the same.
#[test]
fn reports_are_painted_on_the_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let pictures = ["gpu", "cpu"].map(|painter| {
        let report = folder.path().join(format!("{painter}.html"));
        let arguments = ["evaluate", &model, "--truth", &poses, "--report", report.to_str().unwrap()];
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_eigenskin"));
        let output = command.args(arguments).env("EIGENSKIN_PAINTER", painter).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        pictures_of(&std::fs::read_to_string(report).unwrap())
    });
    let [gpu, cpu] = pictures;
    assert!(gpu.len() == cpu.len() && gpu.len() >= 5, "{} {}", gpu.len(), cpu.len());
    assert_ne!(gpu, cpu, "both were painted on the CPU");
    for (gpu, cpu) in gpu.iter().zip(&cpu) {
        let difference: u64 = gpu.iter().zip(cpu).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        let mean = difference as f64 / cpu.len() as f64;
        assert!(gpu.len() == cpu.len() && mean < 1.5, "{mean} of 255");
    }
}

/// The pixels of all pictures within a page.
fn pictures_of(page: &str) -> Vec<Vec<u8>> {
    use base64::Engine;
    let files = page.split("data:image/png;base64,").skip(1);
    let decoded = files.map(|rest| {
        let text = rest.split('"').next().unwrap();
        let file = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        bytes
    });
    decoded.collect()
}
