//! Cases of the conformance vectors as files and example sets.

use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::skinning::{BaseSkinning, PosedSkinning};
use eigenskin_gltf::conformance::cases::Case;
use eigenskin_gltf::conformance::random::Random;
use eigenskin_gltf::{Document, RigFile};

use super::compare::{furthest, largest_angle};

pub fn document(glb: &[u8]) -> Document {
    Document::from_bytes(glb, None).unwrap()
}

/// The rig of a case with its poses as the clip "clip".
pub fn file_of(case: &Case) -> RigFile {
    let times: Vec<f64> = (0..case.poses.len()).map(|i| 0.25 * i as f64).collect();
    RigFile::from_rig(case.model.rig().clone(), "thing")
        .unwrap()
        .with_clip("clip", &times, &case.poses)
        .unwrap()
}

/// Asserts that a set came back.
pub fn assert_same_set(read: &ExampleSet, written: &ExampleSet) {
    assert_eq!(read.rig(), written.rig());
    assert_eq!(read.len(), written.len());
    let size = written.rig().mesh().size();
    for (read, written) in read.examples().iter().zip(written.examples()) {
        assert_eq!(read.name, written.name);
        assert!(furthest(&read.positions, &written.positions) < 1e-6 * size, "{}", read.name);
        assert_eq!(read.normals.is_some(), written.normals.is_some());
        if let (Some(read), Some(written)) = (&read.normals, &written.normals) {
            assert!(largest_angle(read, written) < 0.01);
        }
        for (a, b) in read.pose.world_from_joint.iter().zip(&written.pose.world_from_joint) {
            assert!(a.abs_diff_eq(*b, 2e-6), "{}: {a:?} {b:?}", read.name);
        }
        for (a, b) in read.pose.controls.iter().zip(&written.pose.controls) {
            assert_eq!(*a as f32, *b as f32);
        }
    }
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
