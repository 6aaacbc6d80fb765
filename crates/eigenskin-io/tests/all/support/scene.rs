//! Characters with a clip and the shapes at its keys, and caches to put them into.

use std::sync::Arc;

use eigenskin_characters::{Character, arm, truth::true_shape};
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::glam::Vec3;
use eigenskin_core::pose::Pose;
use eigenskin_core::rig::Rig;
use eigenskin_gltf::RigFile;
use eigenskin_gltf::conformance::random::Random;

/// A rig file with the clip "poses", and the shapes at its keys.
pub struct Scene {
    pub file: RigFile,
    pub poses: Vec<Pose>,
    /// `key × vertex`
    pub shapes: Vec<Vec<Vec3>>,
    pub rest: Vec<Vec3>,
}

impl Scene {
    pub fn new(rig: Arc<Rig>, poses: Vec<Pose>, shapes: Vec<Vec<Vec3>>) -> Self {
        let times: Vec<f64> = (0..poses.len()).map(|key| 0.5 * key as f64).collect();
        let rest = rig.mesh().positions().to_vec();
        let file = RigFile::from_rig(rig, "scene").unwrap().with_clip("poses", &times, &poses).unwrap();
        Self { file, poses, shapes, rest }
    }

    pub fn rig(&self) -> &Arc<Rig> {
        self.file.rig()
    }

    pub fn triangles(&self) -> &[[u32; 3]] {
        self.file.rig().mesh().triangles()
    }

    /// The rest shape and the shape of each key.
    pub fn frames(&self) -> Vec<Vec<Vec3>> {
        std::iter::once(self.rest.clone()).chain(self.shapes.iter().cloned()).collect()
    }
}

/// The arm in single-joint poses, none of them rest.
pub fn arm_scene() -> (Character, Scene) {
    let character = arm(800).unwrap();
    let poses: Vec<Pose> = character.single_joint_poses(3).into_iter().map(|named| named.pose).collect();
    let shapes = poses.iter().map(|pose| true_shape(&character, pose)).collect();
    let scene = Scene::new(character.rig.clone(), poses, shapes);
    (character, scene)
}

/// A random order of `count` things: `new index` → old index.
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

/// Every frame in another vertex order.
pub fn reordered(frames: &[Vec<Vec3>], order: &[usize]) -> Vec<Vec<Vec3>> {
    frames.iter().map(|frame| order.iter().map(|&old| frame[old]).collect()).collect()
}

/// Every vertex of every example is the scene's own.
pub fn assert_shapes(set: &ExampleSet, scene: &Scene, tolerance: f64) {
    assert_eq!(set.len(), scene.shapes.len());
    let limit = tolerance * scene.rig().mesh().size();
    for (example, shape) in set.examples().iter().zip(&scene.shapes) {
        for (vertex, (found, expected)) in example.positions.iter().zip(shape).enumerate() {
            let apart = f64::from(found.distance(*expected));
            assert!(apart <= limit, "{} at {vertex}: {apart:e} of {limit:e}", example.name);
        }
    }
}
