//! C programs, compiled against the header and the static library; and models to run them on.

use std::path::{Path, PathBuf};
use std::process::Command;

use eigenskin_core::glam::{DAffine3, DMat4};
use eigenskin_core::model::Model;
use eigenskin_core::pose::Pose;
use eigenskin_gltf::Document;
use eigenskin_gltf::RigFile;
use eigenskin_gltf::conformance::cases;
use eigenskin_gltf::internals::append::{self, Usage};

/// A model as a file, and poses of it.
pub struct Sample {
    pub name: String,
    pub glb: Vec<u8>,
    pub poses: Vec<Pose>,
}

impl Sample {
    /// A small one with joints and controls.
    pub fn small() -> Self {
        Self::conformance(cases::all().unwrap().iter().find(|case| case.name == "kernels").unwrap())
    }

    pub fn conformance(case: &cases::Case) -> Self {
        let glb = std::fs::read(folder().join(format!("../../conformance/{}.glb", case.name))).unwrap();
        Self { name: case.name.clone(), glb, poses: case.poses.clone() }
    }

    pub fn document(&self) -> Document {
        Document::from_bytes(&self.glb, None).unwrap()
    }

    pub fn read(&self) -> (RigFile, Model) {
        eigenskin_gltf::read_model(&self.glb).unwrap()
    }

    /// What the test program reads: for each pose 16 numbers per joint, then one per control.
    pub fn pose_bytes(&self) -> Vec<u8> {
        let matrix = |joint: &DAffine3| DMat4::from(*joint).to_cols_array();
        let numbers = self.poses.iter().flat_map(|pose| {
            pose.world_from_joint.iter().flat_map(matrix).chain(pose.controls.iter().copied())
        });
        numbers.flat_map(f64::to_ne_bytes).collect()
    }
}

/// The same model with a tangent along x, left-handed, at every vertex; that of the first has no length.
pub fn with_tangents(sample: Sample) -> Sample {
    let (file, model) = sample.read();
    let mut document = sample.document();
    let mut tangents = vec![[2.0, 0.0, 0.0, -1.0]; model.rig().vertex_count()];
    tangents[0] = [0.0, 0.0, 0.0, 1.0];
    let accessor = append::vec4(&mut document, "tangents", &tangents, Usage::Vertices).unwrap();
    document.json["meshes"][file.layout().meshes[0]]["primitives"][0]["attributes"]["TANGENT"] =
        accessor.into();
    Sample { glb: document.to_glb().unwrap(), ..sample }
}

/// Runs the program on a sample and reads what it wrote.
pub fn written_shapes(command: &mut Command, sample: &Sample, storage: &str, place: &Path) -> Vec<f32> {
    let path = |name: &str| place.join(name);
    std::fs::write(path("model.glb"), &sample.glb).unwrap();
    std::fs::write(path("poses"), sample.pose_bytes()).unwrap();
    run(command.arg("shapes").arg(path("model.glb")).arg(storage).arg(path("poses")).arg(path("out")));
    let bytes = std::fs::read(path("out")).unwrap();
    assert!(!bytes.is_empty(), "{}", sample.name);
    bytes.chunks_exact(4).map(|four| f32::from_ne_bytes([four[0], four[1], four[2], four[3]])).collect()
}

/// All of the program's parts about errors, and its threads.
pub fn misuse(program: &dyn Fn() -> Command, place: &Path, step: usize, trials: usize) {
    let sample = Sample::small();
    let (model, rig) = (place.join("model.glb"), place.join("rig.glb"));
    std::fs::write(&model, &sample.glb).unwrap();
    std::fs::write(&rig, eigenskin_gltf::rig_glb(&sample.read().0).unwrap()).unwrap();
    run(program().arg("misuse").arg(&model).arg(&rig));
    run(program().arg("truncated").arg(&model).arg(step.to_string()));
    run(program().arg("damaged").arg(&model).arg(trials.to_string()));
    run(program().arg("threads").arg(&model));
}

/// The folder of this crate.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles C sources with all warnings and links them with the static library.
pub fn compile(sources: &[PathBuf], program: &Path) {
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"]);
    cc.arg("-I").arg(folder().join("include")).args(sources).arg(library());
    cc.args(["-lpthread", "-lm", "-ldl", "-o"]).arg(program);
    run(&mut cc);
}

/// The test program, in `folder`.
pub fn test_program(to: &Path) -> PathBuf {
    let program = to.join("test");
    let parts = ["test.c", "shapes.c", "facts.c", "misuse.c", "threads.c"];
    compile(&parts.map(|part| folder().join("tests/program").join(part)), &program);
    program
}

pub fn run(command: &mut Command) {
    let started = command.output();
    let output = started.unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}; install it"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

/// Cargo builds all kinds of the library before it builds this test, and puts them beside it.
fn library() -> PathBuf {
    let beside = std::env::current_exe().unwrap().with_file_name("libeigenskin_c.a");
    assert!(beside.is_file(), "no static library at {}", beside.display());
    beside
}

/// The header by itself, with all warnings.
pub fn check_header(compiler: &str, language: [&str; 3]) {
    let mut command = Command::new(compiler);
    command.args(language).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]);
    run(command.arg(folder().join("include/eigenskin.h")));
}
