//! Models that were fitted play in a stock viewer, and survive their file.

use std::sync::Arc;

use eigenskin_characters::arm;
use eigenskin_characters::truth::{coupled_bulge, true_shape};
use eigenskin_core::articulation::NamedPose;
use eigenskin_core::deformers::Base;
use eigenskin_core::driver::Combine;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::DVec3;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{EigenSkinParams, Method, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_gltf::{ModelWriteOptions, Orientation, RigFile, model_glb, model_of};

use crate::support::keep::keep;
use crate::support::{assert_plays_in_a_stock_viewer, document};

/// A model fitted to the built-in arm, in other axes and unit, with a motion: written, read back as
/// the same model with the same errors, and shown alike by the stock viewer.
#[test]
fn a_fitted_arm_survives_the_file_and_plays_in_a_stock_viewer() {
    let character = arm(2000).unwrap();
    let truth = |poses: Vec<NamedPose>| {
        let example = |named: NamedPose| Example {
            positions: true_shape(&character, &named.pose),
            name: named.name,
            pose: named.pose,
            normals: None,
            inverted: None,
        };
        ExampleSet::new(character.rig.clone(), poses.into_iter().map(example).collect()).unwrap()
    };
    let training = truth(character.single_joint_poses(4));
    let held_out = character.multi_joint_poses(6, 7);
    let times: Vec<f64> = (0..held_out.len()).map(|i| i as f64).collect();
    let poses: Vec<_> = held_out.iter().map(|named| named.pose.clone()).collect();
    let fitted = fit_examples(&training, &Base::default(), &EigenSkinParams::default().into(), &Unwatched)
        .unwrap()
        .model;
    let file = RigFile::from_rig(character.rig.clone(), "arm")
        .unwrap()
        .with_clip("poses", &times, &poses)
        .unwrap()
        .with_orientation(Orientation { z_up: true, metres_per_unit: 0.01 })
        .unwrap();
    let (bytes, _) = model_glb(&file, &fitted, &ModelWriteOptions::default()).unwrap();
    keep("fitted arm", &bytes);

    let (read_file, read) = model_of(document(&bytes)).unwrap();
    assert_eq!(read, fitted);
    let held_out = truth(held_out);
    let figures = evaluate_against(&Arc::new(fitted), &held_out, &Unwatched).unwrap();
    assert_eq!(figures, evaluate_against(&Arc::new(read.clone()), &held_out, &Unwatched).unwrap());
    assert!(figures.relative_error.unwrap() < 0.7, "{:?}", figures.relative_error);

    let scene = read_file.layout().scene_from_mesh;
    // z up became y up, centimetres became metres.
    let up = scene.transform_vector3(DVec3::Z);
    assert!((up - 0.01 * DVec3::Y).length() < 1e-9, "{up}");
    assert_plays_in_a_stock_viewer(&bytes, &times);
}

/// The same with layers of several joints: the product of two bulges the arm.
#[test]
fn coupled_joints_survive_the_file_and_play_in_a_stock_viewer() {
    let character = arm(1000).unwrap();
    let rig = &character.rig;
    let held_out = character.multi_joint_poses(6, 8);
    let poses = character.single_joint_poses(4).into_iter().chain(character.multi_joint_poses(20, 7));
    let examples = poses.map(|NamedPose { name, pose }| {
        let positions = coupled_bulge(&character, &pose);
        Example { name, pose, positions, normals: None, inverted: None }
    });
    let training = ExampleSet::new(rig.clone(), examples.collect()).unwrap();
    let fitted = fit_examples(&training, &Base::default(), &Method::default(), &Unwatched).unwrap().model;
    assert!(fitted.layers().iter().any(|layer| layer.driver.combine == Combine::Subsets));

    let times: Vec<f64> = (0..held_out.len()).map(|i| i as f64).collect();
    let poses: Vec<_> = held_out.iter().map(|named| named.pose.clone()).collect();
    let file = RigFile::from_rig(rig.clone(), "arm").unwrap().with_clip("poses", &times, &poses).unwrap();
    let (bytes, _) = model_glb(&file, &fitted, &ModelWriteOptions::default()).unwrap();
    assert_eq!(model_of(document(&bytes)).unwrap().1, fitted);
    assert_plays_in_a_stock_viewer(&bytes, &times);
}
