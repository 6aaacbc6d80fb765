//! Compiles C programs against the header and the static library, and runs them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use eigenskin_characters::{arm, truth::true_shape};
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, DMat4, Vec3, Vec4};
use eigenskin_core::model::Model;
use eigenskin_core::packed::{Output, PackParams, PackedEvaluator, PackedModel, Storage};
use eigenskin_core::pose::Pose;
use eigenskin_fit::method::{EigenSkinParams, fit_eigenskin};
use eigenskin_gltf::conformance::cases;
use eigenskin_gltf::document::Document;
use eigenskin_gltf::{ModelWriteOptions, RigFile};

/// A model as a file, and poses of it.
pub struct Sample {
    pub name: String,
    pub glb: Vec<u8>,
    pub poses: Vec<Pose>,
}

impl Sample {
    /// The conformance models of the repository, and one that was fitted to a bent arm.
    pub fn all() -> Vec<Self> {
        cases::all()
            .unwrap()
            .into_iter()
            .map(|case| Self::conformance(&case))
            .chain([Self::fitted()])
            .collect()
    }

    /// A small one with joints and controls.
    pub fn small() -> Self {
        Self::conformance(cases::all().unwrap().iter().find(|case| case.name == "kernels").unwrap())
    }

    fn conformance(case: &cases::Case) -> Self {
        let glb = std::fs::read(folder().join(format!("../../conformance/{}.glb", case.name))).unwrap();
        Self { name: case.name.clone(), glb, poses: case.poses.clone() }
    }

    fn fitted() -> Self {
        let character = arm(600).unwrap();
        let example = |(index, named): (usize, eigenskin_core::articulation::NamedPose)| Example {
            name: format!("{index}"),
            positions: true_shape(&character, &named.pose),
            pose: named.pose,
            normals: None,
            inverted: None,
        };
        let examples = character.single_joint_poses(2).into_iter().enumerate().map(example).collect();
        let set = ExampleSet::new(character.rig.clone(), examples).unwrap();
        let model = fit_eigenskin(&set, &EigenSkinParams::default()).unwrap().model;
        let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
        let poses: Vec<Pose> =
            character.multi_joint_poses(3, 5).into_iter().map(|named| named.pose).collect();
        let options = ModelWriteOptions { sample_poses: poses.clone(), ..ModelWriteOptions::default() };
        let glb = eigenskin_gltf::model_glb(&file, &model, &options).unwrap().0;
        Self { name: "fitted".into(), glb, poses }
    }

    pub fn document(&self) -> Document {
        Document::from_bytes(&self.glb, None).unwrap()
    }

    pub fn read(&self) -> (RigFile, Model) {
        eigenskin_gltf::model_of(self.document()).unwrap()
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

/// Positions, normals and coordinates as the library gives them to Rust.
pub fn shape(evaluator: &mut PackedEvaluator, pose: &Pose) -> Vec<f32> {
    let mut positions = vec![Vec3::ZERO; evaluator.model().rig().vertex_count()];
    let mut normals = positions.clone();
    evaluator.evaluate(pose, &mut positions, Some(&mut normals));
    let vectors = positions.iter().chain(&normals).flat_map(Vec3::to_array);
    vectors.chain(evaluator.coordinates().iter().copied()).collect()
}

/// Tangents as the library gives them to Rust.
pub fn posed_tangents(evaluator: &mut PackedEvaluator, pose: &Pose) -> Vec<f32> {
    let mut positions = vec![Vec3::ZERO; evaluator.model().rig().vertex_count()];
    let mut tangents = vec![Vec4::ZERO; positions.len()];
    let mut normals = positions.clone();
    let (normals, to) = (Some(&mut normals[..]), Some(&mut tangents[..]));
    evaluator.evaluate_to(pose, Output::Arrays { positions: &mut positions, normals, tangents: to });
    tangents.iter().flat_map(Vec4::to_array).collect()
}

/// The fast evaluator, with these tangents at rest.
pub fn evaluator(model: &Model, storage: Storage, tangents: Option<&[Vec4]>) -> PackedEvaluator {
    let mut packed = PackedModel::new(model, &PackParams { storage }).unwrap();
    if let Some(tangents) = tangents {
        packed = packed.with_tangents(tangents).unwrap();
    }
    PackedEvaluator::new(packed.into())
}

/// The pose as a program sees it that computes in single precision.
pub fn rounded(pose: &Pose) -> Pose {
    let round = |joint: &DAffine3| {
        DAffine3::from_cols_array(&joint.to_cols_array().map(|number| f64::from(number as f32)))
    };
    Pose { world_from_joint: pose.world_from_joint.iter().map(round).collect(), ..pose.clone() }
}

/// The folder of this crate.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Whether a tool is there. If not, one visible line says what is left out; CI must have all of them.
pub fn has(tool: &str, left_out: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{tool} is missing");
        // Straight to the stream, in one piece: the print macros are silent in tests that pass.
        let line = format!("\nleft out: {left_out} ({tool} is not installed)\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    there
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
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

/// Cargo builds all kinds of the library before it builds this test, and puts them beside it.
fn library() -> PathBuf {
    let beside = std::env::current_exe().unwrap().with_file_name("libeigenskin_c.a");
    assert!(beside.is_file(), "no static library at {}", beside.display());
    beside
}
