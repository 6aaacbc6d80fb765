//! Solved weights through files.

use std::sync::Arc;

use eigenskin_characters::hand;
use eigenskin_characters::truth::SweptSkin;
use eigenskin_core::deformers::Base;
use eigenskin_core::model::Model;
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{Method, fit_examples};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::solve_weights::{SolveWeightsParams, solve_weights};
use eigenskin_gltf::Document;
use eigenskin_gltf::{ModelWriteOptions, ReadOptions, RigFile, model_glb, model_of, rig_glb, rig_of};

/// The file plays with the new weights, and still has the old ones to the bit.
#[test]
fn a_model_keeps_the_weights_that_were_given() {
    let character = hand(1_500).unwrap();
    let skin = SweptSkin::new(&character);
    let set = skin.examples(character.single_joint_poses(2)).unwrap();
    let params = SolveWeightsParams { influences: 6, ..Default::default() };
    let solved = solve_weights(&set, &params, &Unwatched).unwrap();
    assert!(solved.rig.weights().most_influences() > 4, "the second set of weights is not tested");
    let weighted = set.clone().for_rig(&solved.rig).unwrap();
    let fit = fit_examples(&weighted, &Base::default(), &Method::default(), &Unwatched).unwrap();
    let model: Model = fit.model.with_input_rig(character.rig.clone()).unwrap();

    let file = RigFile::from_rig(character.rig.clone(), "hand").unwrap();
    let (glb, _) = model_glb(&file, &model, &ModelWriteOptions::default()).unwrap();
    let document = || Document::from_bytes(&glb, None).unwrap();
    let (read_file, read) = model_of(document()).unwrap();
    assert_eq!(read.rig().weights(), solved.rig.weights());
    assert_eq!(read.input_rig().weights(), character.rig.weights());
    assert_eq!(read_file.rig().weights(), character.rig.weights());
    assert_eq!(read, model);
    assert_eq!(read_file.counts.influences, solved.rig.weights().most_influences());
    // As a rig it is what it was.
    let as_rig = rig_of(document(), &ReadOptions::default()).unwrap();
    assert_eq!(as_rig.rig().weights(), character.rig.weights());
    assert_eq!(rig_glb(&as_rig).unwrap(), rig_glb(&file).unwrap());
    // Written again, nothing is lost or added.
    let (again, _) = model_glb(&read_file, &read, &ModelWriteOptions::default()).unwrap();
    assert_eq!(again, glb);

    // An independent reader sees the new weights, and the old ones as attributes of our own.
    let gltf::Gltf { document: gltf, blob } = gltf::Gltf::from_slice(&glb).unwrap();
    let primitive = gltf.meshes().next().unwrap().primitives().next().unwrap();
    let reader = primitive.reader(|_| blob.as_deref());
    let weights: Vec<[f32; 4]> = reader.read_weights(0).unwrap().into_f32().collect();
    for (vertex, four) in weights.iter().enumerate() {
        let of_model: Vec<f32> = solved.rig.weights().of(vertex).iter().map(|i| i.weight).collect();
        for (slot, weight) in four.iter().enumerate() {
            assert_eq!(*weight, of_model.get(slot).copied().unwrap_or(0.0));
        }
    }
    // Measured against the rig as it was given.
    let truth = set.clone().for_rig(read.input_rig()).unwrap();
    let evaluation = evaluate_against(&Arc::new(read), &truth, &Unwatched).unwrap();
    assert!((evaluation.skinning.rmse - solved.before.rmse).abs() <= 1e-9 * solved.before.rmse);
    assert!(evaluation.model.rmse < solved.after.rmse);
}
