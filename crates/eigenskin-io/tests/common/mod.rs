//! What several test files need.
#![allow(dead_code)]

pub mod viewer;

use std::io::Write;
use std::path::PathBuf;

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_gltf::Document;
use eigenskin_gltf::conformance::cases::Case;
use eigenskin_gltf::conformance::random::Random;

/// The folder with data of others, or one visible line that the test is left out.
pub fn data(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EIGENSKIN_DATA").map(PathBuf::from);
    if folder.is_none() {
        // Straight to the stream, in one piece: the print macros are silent in tests that pass.
        let line = format!("\nleft out: {test} (set EIGENSKIN_DATA to the data folder)\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    folder
}

/// Keeps a written file for the glTF validator when EIGENSKIN_KEEP names a folder.
pub fn keep(name: &str, glb: &[u8]) {
    if let Some(folder) = std::env::var_os("EIGENSKIN_KEEP") {
        std::fs::write(PathBuf::from(folder).join(name), glb).unwrap();
    }
}

pub fn document(glb: &[u8]) -> Document {
    Document::from_bytes(glb, None).unwrap()
}

/// Examples of a case's rig: skinned shapes with random displacements, normals in every other one.
pub fn examples_of(case: &Case, seed: u64) -> ExampleSet {
    let rig = case.model.rig();
    let mut random = Random::new(seed);
    let examples = case
        .poses
        .iter()
        .enumerate()
        .map(|(index, pose)| {
            let skinning = PosedSkinning::new(BaseSkinning::LinearBlend, rig, pose);
            let positions: Vec<Vec3> = (0..rig.vertex_count())
                .map(|v| {
                    let moved = if random.below(2) == 0 { random.vector(0.05) } else { random.vector(0.0) };
                    (skinning.position(v, rig.mesh().positions()[v].as_dvec3()) + moved).as_vec3()
                })
                .collect();
            let normals = (index % 2 == 0).then(|| rig.mesh().normals_of(&positions));
            Example {
                name: format!("example {index}"),
                pose: pose.clone(),
                positions,
                normals,
                inverted: None,
            }
        })
        .collect();
    ExampleSet::new(rig.clone(), examples).unwrap()
}

/// Largest distance between two lists of points.
pub fn furthest(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max)
}

/// Largest angle between two lists of directions, degrees.
pub fn largest_angle(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    let angle = |(a, b): (&Vec3, &Vec3)| {
        let (a, b) = (a.as_dvec3(), b.as_dvec3());
        a.cross(b).length().atan2(a.dot(b)).to_degrees()
    };
    a.iter().zip(b).map(angle).fold(0.0, f64::max)
}
