//! What several modules need, most of it from the tests of eigenskin-gltf and eigenskin-io.

use eigenskin_core::evaluate::Evaluator;
use eigenskin_core::glam::DVec3;
use eigenskin_gltf::{Document, model_of};

#[path = "../../../../eigenskin-gltf/tests/all/support/compare.rs"]
pub mod compare;
#[path = "../../../../eigenskin-gltf/tests/all/support/keep.rs"]
pub mod keep;
pub mod numpy;
#[path = "../../../../eigenskin-io/tests/all/support/scene.rs"]
pub mod scene;
#[path = "../../../../eigenskin-io/tests/all/support/sculpts.rs"]
pub mod sculpts;
#[path = "../../../../eigenskin-gltf/tests/all/support/viewer.rs"]
pub mod viewer;

pub fn document(glb: &[u8]) -> Document {
    Document::from_bytes(glb, None).unwrap()
}

/// A stock viewer shows the first clip of a model as the reference evaluates it, at these times.
pub fn assert_plays_in_a_stock_viewer(glb: &[u8], times: &[f64]) {
    let (file, model) = model_of(document(glb)).unwrap();
    let scene = file.layout().scene_from_mesh;
    let size = scene.transform_vector3(DVec3::X).length() * model.rig().mesh().size();
    let viewer = viewer::Viewer::open(glb);
    let mut evaluator = Evaluator::new(model);
    for &time in times {
        let mut expected = evaluator.shape(&file.sample(&file.clips()[0], time));
        for (p, n) in expected.positions.iter_mut().zip(&mut expected.normals) {
            *p = scene.transform_point3(p.as_dvec3()).as_vec3();
            *n = scene.transform_vector3(n.as_dvec3()).normalize().as_vec3();
        }
        let (shown, normals, weights) = viewer.show(0, time as f32);
        assert!(weights.iter().all(|w| (0.0..=1.0).contains(w)), "{time}: {weights:?}");
        let off = compare::furthest(&shown, &expected.positions) / size;
        assert!(off < 1e-5, "{time}: {off:e}");
        assert!(compare::largest_angle(&normals, &expected.normals) < 0.1, "{time}");
    }
}
