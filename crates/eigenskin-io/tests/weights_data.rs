//! Skin weights from the examples of others: a simulated soft bone, and a hand bent by finite
//! elements; and solved weights through files.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::sync::Arc;

use common::data;
use eigenskin_core::examples::ExampleSet;
use eigenskin_core::model::Model;
use eigenskin_core::rig::Rig;
use eigenskin_fit::method::{EigenSkinParams, ParameterizationParams, fit_eigenskin, fit_parameterization};
use eigenskin_fit::metrics::evaluate_against;
use eigenskin_fit::solve_weights::{SolveWeightsParams, skinning_error, solve_weights};
use eigenskin_gltf::Document;
use eigenskin_gltf::{ModelWriteOptions, ReadOptions, RigFile, model_glb, model_of, rig_glb, rig_of};
use eigenskin_io::read_examples;

fn set(test: &str, path: &str) -> Option<ExampleSet> {
    Some(read_examples(&data(test)?.join(path), &ReadOptions::default()).unwrap().1)
}

/// Errors of 100 of skinning and of skinning with 8 signals per vertex learnt from `training`, on
/// both sets.
fn errors(training: &ExampleSet, rig: &Arc<Rig>, held_out: &ExampleSet) -> [[f64; 2]; 2] {
    let params = ParameterizationParams { signals_per_vertex: Some(8), ..ParameterizationParams::default() };
    let model = fit_parameterization(&training.clone().for_rig(rig).unwrap(), &params).unwrap().model;
    let model = Arc::new(model);
    assert!(model.most_tuples_per_vertex() <= 8);
    [training, held_out]
        .map(|set| [skinning_error(rig, set).rmse_of_100, evaluate_against(&model, set).model.rmse_of_100])
}

#[test]
fn solved_weights_are_better_and_a_correction_on_them_is_better_still() {
    let test = "solved_weights_are_better_and_a_correction_on_them_is_better_still";
    let Some(bone) = set(test, "dem-bones/bone_anim.npz") else { return };
    let every = |step: usize, first: usize| (first..bone.len()).step_by(step).collect::<Vec<_>>();
    let odd = bone.select(&every(2, 1)).unwrap();
    let hand = set(test, "fem-hand/train.npz").unwrap();
    let held_out = set(test, "fem-hand/held_out.npz").unwrap().for_rig(hand.rig()).unwrap();
    for (name, training, held_out) in [
        ("bone, even frames", bone.select(&every(2, 0)).unwrap(), &odd),
        ("bone, every tenth", bone.select(&every(10, 0)).unwrap(), &odd),
        ("hand", hand, &held_out),
    ] {
        let solved = solve_weights(&training, &SolveWeightsParams::default()).unwrap();
        let given = errors(&training, training.rig(), held_out);
        let own = errors(&training, &solved.rig, held_out);
        println!("{name}: [skinning, with 8] on training and held out, of 100: {given:.4?} → {own:.4?}");
        for (given, own) in given.iter().zip(&own) {
            assert!(own[0] < given[0] && own[1] < given[1] && own[1] < own[0], "{name}");
        }
        let limited = solve_weights(&training, &SolveWeightsParams { influences: 12, ..Default::default() });
        let limited = limited.unwrap();
        assert!(limited.after.rmse <= limited.before.rmse && solved.after.rmse <= solved.before.rmse);
    }
}

/// The file plays with the new weights, and still has the old ones to the bit.
#[test]
fn a_model_keeps_the_weights_that_were_given() {
    let character = eigenskin_characters::hand(1_500).unwrap();
    let skin = eigenskin_characters::truth::SweptSkin::new(&character);
    let set = skin.examples(character.single_joint_poses(2)).unwrap();
    let solved = solve_weights(&set, &SolveWeightsParams { influences: 6, ..Default::default() }).unwrap();
    assert!(solved.rig.weights().most_influences() > 4, "the second set of weights is not tested");
    let fit = fit_eigenskin(&set.clone().for_rig(&solved.rig).unwrap(), &EigenSkinParams::default()).unwrap();
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
    let (gltf, buffers, _) = gltf::import_slice(&glb).unwrap();
    let primitive = gltf.meshes().next().unwrap().primitives().next().unwrap();
    let reader = primitive.reader(|buffer| Some(&buffers[buffer.index()]));
    let weights: Vec<[f32; 4]> = reader.read_weights(0).unwrap().into_f32().collect();
    for (vertex, four) in weights.iter().enumerate() {
        let of_model: Vec<f32> = solved.rig.weights().of(vertex).iter().map(|i| i.weight).collect();
        for (slot, weight) in four.iter().enumerate() {
            assert_eq!(*weight, of_model.get(slot).copied().unwrap_or(0.0));
        }
    }
    // Measured against the rig as it was given.
    let truth = set.clone().for_rig(read.input_rig()).unwrap();
    let evaluation = evaluate_against(&Arc::new(read), &truth);
    assert!((evaluation.skinning.rmse - solved.before.rmse).abs() <= 1e-9 * solved.before.rmse);
    assert!(evaluation.model.rmse < solved.after.rmse);
}
