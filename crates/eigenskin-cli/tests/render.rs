//! `eigenskin render`: what is in the pictures, who paints them, and clear errors.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::path::Path;
use std::process::Output;

use eigenskin::characters::arm;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::gltf::RigFile;
use eigenskin::io::{write_examples, write_rig};
use support::eigenskin;

/// An arm, its true shapes, and a model of them.
fn arm_files(folder: &Path) -> [String; 2] {
    let name = |file: &str| folder.join(file).to_str().unwrap().to_string();
    let character = arm(1500).unwrap();
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    write_rig(name("rig.glb").as_ref(), &file).unwrap();
    let set = SweptSkin::new(&character).examples(character.single_joint_poses(4)).unwrap();
    write_examples(name("poses.glb").as_ref(), &file, &set).unwrap();
    let (rig, poses, model) = (name("rig.glb"), name("poses.glb"), name("model.glb"));
    succeeded(&["fit", &rig, "--examples", &poses, "-o", &model]);
    [model, poses]
}

fn succeeded(arguments: &[&str]) -> String {
    let output = eigenskin(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = eigenskin(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Width, height, frames, and RGB bytes of the first frame.
fn decoded(path: &str) -> (u32, u32, u32, Vec<u8>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    let info = reader.info();
    (info.width, info.height, info.animation_control.map_or(1, |control| control.num_frames), bytes)
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

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_paints_the_same_picture() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_string();
    let arguments = ["render", &model, "--truth", &poses, "--size", "120x140"];
    let gpu = eigenskin(&[&arguments[..], &["-o", &name("gpu.png")]].concat());
    if is_left_out(&gpu) {
        return;
    }
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

/// Whether the command found no GPU; then says so.
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn is_left_out(output: &Output) -> bool {
    let missing =
        !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("there is no GPU");
    if missing {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "a GPU driver is missing");
        eprintln!("left out: pictures painted on a GPU, since there is none");
    }
    missing
}

/// Backgrounds, captions and legends as they were, and shapes between them. GPUs round differently and so do
/// compilers, so a few pixels may differ a little. `EIGENSKIN_WRITE_GOLDEN=1` writes the pictures anew: look
/// at them before they are committed.
#[test]
fn whole_pictures_are_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let out = folder.path().join("out.png").to_str().unwrap().to_string();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let views: [(&str, &[&str]); 3] = [
        ("heat", &["--show", "truth,linear,linear-error,model-error", "--view", "front"]),
        ("dark", &["--up-to", "1", "--columns", "2", "--dark"]),
        ("components", &["--components"]),
    ];
    for (name, more) in views {
        let truth: &[&str] = if name == "components" { &[] } else { &["--truth", &poses] };
        let arguments = [&["render", &model, "--size", "150x130", "-o", &out], truth, more].concat();
        let output = eigenskin(&arguments);
        if is_left_out(&output) {
            return;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let kept = golden.join(format!("{name}.png"));
        if std::env::var_os("EIGENSKIN_WRITE_GOLDEN").is_some() {
            std::fs::create_dir_all(&golden).unwrap();
            std::fs::copy(&out, &kept).unwrap();
            continue;
        }
        let (wanted, found) = (decoded(kept.to_str().unwrap()), decoded(&out));
        assert_eq!((wanted.0, wanted.1), (found.0, found.1), "{name}: another size");
        let paper = &wanted.3[..3];
        let (mut inked, mut far) = (0, 0);
        for (a, b) in wanted.3.chunks_exact(3).zip(found.3.chunks_exact(3)) {
            inked += usize::from(a != paper || b != paper);
            far += usize::from(a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 16));
        }
        // A line of a caption is about two of a hundred.
        assert!(inked > 5000 && far * 200 < inked, "{name}: {far} of {inked} pixels are far off");
    }
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

/// What must be installed, and that nothing is needed for the pictures of reports.
#[cfg(feature = "gpu")]
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
#[cfg(feature = "gpu")]
#[test]
fn reports_are_painted_on_the_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let pictures = ["gpu", "cpu"].map(|painter| {
        let report = folder.path().join(format!("{painter}.html"));
        let arguments = ["evaluate", &model, "--truth", &poses, "--report", report.to_str().unwrap()];
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_eigenskin"));
        let output = command.args(arguments).env("EIGENSKIN_PAINTER", painter).output().unwrap();
        if is_left_out(&output) {
            return None;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(pictures_of(&std::fs::read_to_string(report).unwrap()))
    });
    let [Some(gpu), Some(cpu)] = pictures else { return };
    assert!(gpu.len() == cpu.len() && gpu.len() >= 5, "{} {}", gpu.len(), cpu.len());
    assert_ne!(gpu, cpu, "both were painted on the CPU");
    for (gpu, cpu) in gpu.iter().zip(&cpu) {
        let difference: u64 = gpu.iter().zip(cpu).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        let mean = difference as f64 / cpu.len() as f64;
        assert!(gpu.len() == cpu.len() && mean < 1.5, "{mean} of 255");
    }
}

/// The pixels of all pictures within a page.
#[cfg(feature = "gpu")]
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
