//! Signals through files.

use eigenskin_characters::hand;
use eigenskin_characters::truth::SweptSkin;
use eigenskin_core::deformers::Base;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::progress::Unwatched;
use eigenskin_fit::method::{ParameterizationParams, fit_examples};
use eigenskin_gltf::{ModelWriteOptions, RigFile, model_glb, model_of};

use crate::support::keep::keep;
use crate::support::{assert_plays_in_a_stock_viewer, document};

/// A hand in parts: written, read back bit for bit, and shown alike by a stock viewer.
#[test]
fn a_hand_in_parts_survives_the_file_and_plays_in_a_stock_viewer() {
    let character = hand(1500).unwrap();
    let skin = SweptSkin::new(&character);
    let examples =
        character.articulation().random(30, 0.6, 21).into_iter().enumerate().map(|(index, angles)| {
            let pose = character.pose(&angles.angles);
            let positions = skin.shape(&pose);
            Example { name: format!("frame {index}"), pose, positions, normals: None, inverted: None }
        });
    let set = ExampleSet::new(character.rig.clone(), examples.collect()).unwrap();
    let fitted =
        fit_examples(&set, &Base::default(), &ParameterizationParams::default().into(), &Unwatched).unwrap();
    assert!(fitted.learnt.parameterization().unwrap().parts.len() > 1);
    let times: Vec<f64> = (0..6).map(f64::from).collect();
    let motion = character.articulation().random(6, 0.6, 22);
    let poses: Vec<_> = motion.iter().map(|angles| character.pose(&angles.angles)).collect();
    let file =
        RigFile::from_rig(character.rig.clone(), "hand").unwrap().with_clip("poses", &times, &poses).unwrap();
    let (bytes, _) = model_glb(&file, &fitted.model, &ModelWriteOptions::default()).unwrap();
    keep("parameterized hand", &bytes);
    assert_eq!(model_of(document(&bytes)).unwrap().1, fitted.model);
    assert_plays_in_a_stock_viewer(&bytes, &times);
}
