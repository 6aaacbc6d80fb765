//! The same shapes in every format give the same model.

use std::sync::Arc;

use eigenskin_core::deformers::Base;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{EigenSkinParams, fit_examples};
use eigenskin_gltf::ReadOptions;
use eigenskin_io::vertex_cache::{write_mdd, write_obj, write_pc2};
use eigenskin_io::{
    examples_from_clip, examples_from_sculpts, examples_from_shape_keys, read_cache, read_examples,
    write_examples,
};

use crate::support::numpy::{npy, write_npz};
use crate::support::scene::{arm_scene, assert_shapes};
use crate::support::sculpts::{write_sculpts, write_shape_keys};

/// What a model fitted to a set shows in some poses.
fn fitted_shapes(set: &ExampleSet, poses: &[Pose]) -> Vec<Vec3> {
    let fit = fit_examples(set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap();
    let mut evaluator = Evaluator::new(Arc::new(fit.model));
    let mut all = Vec::new();
    for pose in poses {
        let mut shape = vec![Vec3::ZERO; set.rig().vertex_count()];
        evaluator.evaluate(pose, &mut shape, None);
        all.extend(shape);
    }
    all
}

#[test]
fn every_format_gives_the_same_model() {
    let (character, scene) = arm_scene();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let frames = scene.frames();
    let objs = path("obj");
    std::fs::create_dir(&objs).unwrap();
    for (frame, positions) in frames.iter().enumerate() {
        // Names that only natural order sorts right.
        let normals = scene.rig().mesh().normals_of(positions);
        write_obj(&objs.join(format!("pose {frame}.obj")), positions, &normals, scene.triangles()).unwrap();
    }
    write_pc2(path("a.pc2"), &frames, 1.0, 1.0).unwrap();
    let times: Vec<f32> = (0..frames.len()).map(|frame| frame as f32 / 24.0).collect();
    write_mdd(path("a.mdd"), &times, &frames).unwrap();
    std::fs::write(path("a.npy"), npy(&frames)).unwrap();
    write_npz(&path("one.npz"), &[("anything", npy(&frames))]);
    write_npz(&path("named.npz"), &[("other", npy(&frames[..1])), ("truth", npy(&frames))]);

    let named = |(key, positions): (usize, &Vec<Vec3>)| Example {
        name: format!("poses {key}"),
        pose: scene.poses[key].clone(),
        positions: positions.clone(),
        normals: None,
        inverted: None,
    };
    let set =
        ExampleSet::new(scene.rig().clone(), scene.shapes.iter().enumerate().map(named).collect()).unwrap();
    write_examples(path("set.glb"), &scene.file, &set).unwrap();
    let (_, from_glb) = read_examples(path("set.glb"), &ReadOptions::default()).unwrap();
    let held_out: Vec<Pose> = character.multi_joint_poses(6, 3).into_iter().map(|named| named.pose).collect();
    let expected = fitted_shapes(&from_glb, &held_out);

    let limit = 1e-6 * scene.rig().mesh().size();
    for name in ["obj", "a.pc2", "a.mdd", "a.npy", "one.npz", "named.npz"] {
        let cache = read_cache(path(name)).unwrap();
        assert_eq!(cache.frames, frames, "{name}");
        let (set, notes) = examples_from_clip(&scene.file, "poses", &cache, 0).unwrap();
        assert_eq!(notes, [""; 0], "{name}");
        assert_shapes(&set, &scene, 0.0);
        let first = if name == "obj" { "pose 1" } else { "poses 0" };
        assert_eq!(set.examples()[0].name, first);
        let found = fitted_shapes(&set, &held_out);
        let furthest =
            found.iter().zip(&expected).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max);
        assert!(furthest <= limit, "{name}: {furthest} of {limit}");
    }

    // The same as nodes of a GLB and as its shape keys.
    write_sculpts(&path("sculpts.glb"), &scene, |_| {});
    write_shape_keys(&path("keys.glb"), &scene, |_| {});
    let from_sculpts = examples_from_sculpts(&scene.file, Some("poses"), &path("sculpts.glb")).unwrap();
    let from_keys =
        examples_from_shape_keys(&scene.file, Some("poses"), &path("keys.glb"), &ReadOptions::default())
            .unwrap();
    // Nodes stand up to two units away and shape keys are differences: some roundings of f32 more.
    for (name, (set, notes)) in [("sculpts", from_sculpts), ("shape keys", from_keys)] {
        assert_eq!(notes, [""; 0], "{name}");
        assert_shapes(&set, &scene, 5e-7);
        let found = fitted_shapes(&set, &held_out);
        let furthest =
            found.iter().zip(&expected).map(|(a, b)| f64::from(a.distance(*b))).fold(0.0, f64::max);
        assert!(furthest <= limit, "{name}: {furthest} of {limit}");
    }
}
