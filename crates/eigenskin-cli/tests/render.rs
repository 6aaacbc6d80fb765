//! `eigenskin render`: what is in the pictures, who paints them, and clear errors.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::path::Path;

use eigenskin::characters::arm;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::examples::{Example, ExampleSet};
use eigenskin_io::{RigFile, write_examples, write_rig};
use support::eigenskin;

/// An arm, its true shapes, and a model of them.
fn arm_files(folder: &Path) -> [String; 2] {
    let name = |file: &str| folder.join(file).to_str().unwrap().to_string();
    let character = arm(1500).unwrap();
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    write_rig(name("rig.glb").as_ref(), &file).unwrap();
    let skin = SweptSkin::new(&character);
    let examples = character.single_joint_poses(4).into_iter().map(|posed| Example {
        positions: skin.shape(&posed.pose),
        name: posed.name,
        pose: posed.pose,
        normals: None,
        inverted: None,
    });
    let set = ExampleSet::new(character.rig.clone(), examples.collect()).unwrap();
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
    // One second at two frames; a whole turn takes four.
    let (_, around) = render(&["--turntable", "--rate", "2", "--show", "model"]);
    assert_eq!(around.2, 8);
    assert!(painted(&around.3, [255; 3]) > 200);
}

#[test]
fn the_gpu_paints_the_same_picture() {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_string();
    let arguments = ["render", &model, "--truth", &poses, "--size", "120x140"];
    let gpu = eigenskin(&[&arguments[..], &["-o", &name("gpu.png")]].concat());
    if !gpu.status.success() && String::from_utf8_lossy(&gpu.stderr).contains("there is no GPU") {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "a GPU driver is missing");
        eprintln_left_out();
        return;
    }
    assert!(gpu.status.success(), "{}", String::from_utf8_lossy(&gpu.stderr));
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

#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn eprintln_left_out() {
    eprintln!("left out: pictures painted on a GPU, since there is none");
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
