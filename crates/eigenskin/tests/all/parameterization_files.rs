//! Signals through files.

use eigenskin_core::deformers::Base;
use eigenskin_core::progress::Unwatched;
use std::sync::Arc;

use eigenskin_characters::hand;
use eigenskin_characters::truth::SweptSkin;
use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::examples::{Example, ExampleSet};
use eigenskin_core::glam::Vec3;
use eigenskin_fit::method::{ParameterizationParams, fit_examples};
use eigenskin_gltf::{ModelWriteOptions, RigFile, model_glb, model_of};

use crate::support::compare::{furthest, largest_angle};
use crate::support::document;
use crate::support::keep::keep;
use crate::support::viewer::Viewer;

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
    let (read_file, read) = model_of(document(&bytes)).unwrap();
    assert_eq!(read, fitted.model);

    let scene = read_file.layout().scene_from_mesh;
    let viewer = Viewer::open(&bytes);
    let mut evaluator = Evaluator::new(Arc::new(read));
    let size = character.rig.mesh().size();
    for &time in &times {
        let pose = read_file.sample(&read_file.clips()[0], time);
        let mut positions = vec![Vec3::ZERO; character.rig.vertex_count()];
        let mut normals = positions.clone();
        evaluator.evaluate(&pose, &mut positions, Some(&mut normals));
        for (p, n) in positions.iter_mut().zip(&mut normals) {
            *p = scene.transform_point3(p.as_dvec3()).as_vec3();
            *n = scene.transform_vector3(n.as_dvec3()).normalize().as_vec3();
        }
        let (shown, shown_normals, _) = viewer.show(0, time as f32);
        assert!(
            furthest(&shown, &positions) < 1e-5 * size,
            "{time}: {:e}",
            furthest(&shown, &positions) / size
        );
        assert!(largest_angle(&shown_normals, &normals) < 0.1, "{time}");
    }
}
