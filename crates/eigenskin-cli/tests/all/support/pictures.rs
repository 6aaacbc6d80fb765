//! A character to be painted, and its pictures.

use std::path::Path;

use eigenskin::characters::arm;
use eigenskin::characters::truth::SweptSkin;
use eigenskin::gltf::RigFile;
use eigenskin::io::{write_examples, write_rig};

use super::command::eigenskin;

/// An arm, its true shapes, and a model of them.
pub fn arm_files(folder: &Path) -> [String; 2] {
    let name = |file: &str| folder.join(file).to_str().unwrap().to_string();
    let character = arm(1500).unwrap();
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    write_rig(name("rig.glb"), &file).unwrap();
    let set = SweptSkin::new(&character).examples(character.single_joint_poses(4)).unwrap();
    write_examples(name("poses.glb"), &file, &set).unwrap();
    let (rig, poses, model) = (name("rig.glb"), name("poses.glb"), name("model.glb"));
    succeeded(&["fit", &rig, "--examples", &poses, "--method", "eigenskin", "-o", &model]);
    [model, poses]
}

/// What the command prints, which must succeed.
pub fn succeeded(arguments: &[&str]) -> String {
    let output = eigenskin(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Width, height, frames, and RGB bytes of the first frame.
pub fn decoded(path: &str) -> (u32, u32, u32, Vec<u8>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    let info = reader.info();
    (info.width, info.height, info.animation_control.map_or(1, |control| control.num_frames), bytes)
}

/// Asserts for one painter (`cpu` or `gpu`) that backgrounds, captions and legends are as they were, and shapes between them. GPUs round differently and so do
/// compilers, so a few pixels may differ a little. `EIGENSKIN_WRITE_GOLDEN=1` writes the pictures anew: look
/// at them before they are committed.
pub fn assert_golden_pictures(painter: &str) {
    let folder = tempfile::tempdir().unwrap();
    let [model, poses] = arm_files(folder.path());
    let out = folder.path().join("out.png").to_str().unwrap().to_string();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(painter);
    let views: [(&str, &[&str]); 3] = [
        ("heat", &["--show", "truth,linear,linear-error,model-error", "--view", "front"]),
        ("dark", &["--up-to", "1", "--columns", "2", "--dark"]),
        ("components", &["--components"]),
    ];
    for (name, more) in views {
        let truth: &[&str] = if name == "components" { &[] } else { &["--truth", &poses] };
        let arguments = [&["render", &model, "--size", "150x130", "-o", &out], truth, more].concat();
        let output = eigenskin(&arguments);
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
