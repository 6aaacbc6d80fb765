//! What the library gives to Rust.

use eigenskin_characters::{arm, truth::true_shape};
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::{DAffine3, Vec3, Vec4};
use eigenskin_core::model::Model;
use eigenskin_core::packed::{Output, PackParams, PackedEvaluator, PackedModel, Storage};
use eigenskin_core::pose::Pose;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{EigenSkinParams, fit_examples};
use eigenskin_gltf::conformance::cases;
use eigenskin_gltf::{ModelWriteOptions, RigFile};

use crate::programs::Sample;

/// The conformance models of the repository, and one that was fitted to a bent arm.
pub fn samples() -> Vec<Sample> {
    cases::all().unwrap().into_iter().map(|case| Sample::conformance(&case)).chain([fitted()]).collect()
}

fn fitted() -> Sample {
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
    let model =
        fit_examples(&set, &Base::default(), &EigenSkinParams::default().into(), &Unwatched).unwrap().model;
    let file = RigFile::from_rig(character.rig.clone(), "arm").unwrap();
    let poses: Vec<Pose> = character.multi_joint_poses(3, 5).into_iter().map(|named| named.pose).collect();
    let glb = eigenskin_gltf::model_glb(&file, &model, &ModelWriteOptions::default()).unwrap().0;
    Sample { name: "fitted".into(), glb, poses }
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
    let mut baked = PackedModel::new(model, &PackParams { storage }).unwrap();
    if let Some(tangents) = tangents {
        baked = baked.with_tangents(tangents).unwrap();
    }
    PackedEvaluator::new(baked.into())
}

/// The pose as a program sees it that computes in single precision.
pub fn rounded(pose: &Pose) -> Pose {
    let round = |joint: &DAffine3| {
        DAffine3::from_cols_array(&joint.to_cols_array().map(|number| f64::from(number as f32)))
    };
    Pose { world_from_joint: pose.world_from_joint.iter().map(round).collect(), ..pose.clone() }
}
