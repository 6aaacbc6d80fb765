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
    write_rig(name("rig.glb").as_ref(), &file).unwrap();
    let set = SweptSkin::new(&character).examples(character.single_joint_poses(4)).unwrap();
    write_examples(name("poses.glb").as_ref(), &file, &set).unwrap();
    let (rig, poses, model) = (name("rig.glb"), name("poses.glb"), name("model.glb"));
    succeeded(&["fit", &rig, "--examples", &poses, "-o", &model]);
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
